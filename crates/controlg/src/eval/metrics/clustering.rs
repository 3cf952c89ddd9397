//! Agreement of two partitions of the same items, up to renaming of the clusters.

/// NMI = 2 I(U;V) / (H(U) + H(V)), normalized by the arithmetic mean of the entropies; 0 if both partitions have a single
/// cluster.
pub fn normalized_mutual_info(u: &[u32], v: &[u32]) -> f64 {
    let table = ContingencyTable::new(u, v);
    let entropies = entropy(&table.rows, table.n) + entropy(&table.cols, table.n);
    if entropies <= 0.0 {
        return 0.0;
    }
    let term = |row: usize, col: usize, count: f64| {
        count / table.n * (count * table.n / (table.rows[row] * table.cols[col])).ln()
    };
    (2.0 * table.sum(term) / entropies).clamp(0.0, 1.0)
}

/// Adjusted Rand index: agreement on pairs of items, 0 by chance and 1 for equal partitions.
pub fn adjusted_rand_index(u: &[u32], v: &[u32]) -> f64 {
    let table = ContingencyTable::new(u, v);
    let pairs = |count: f64| count * (count - 1.0) / 2.0;
    let all = |counts: &[f64]| counts.iter().map(|&count| pairs(count)).sum::<f64>();
    let (together, rows, cols) = (table.sum(|_, _, count| pairs(count)), all(&table.rows), all(&table.cols));
    let expected = rows * cols / pairs(table.n).max(1.0);
    let most = (rows + cols) / 2.0;
    // Both have a single cluster, or only clusters of one item: they are equal.
    if (most - expected).abs() < 1e-12 { 1.0 } else { (together - expected) / (most - expected) }
}

/// Clustering accuracy: fraction of items matched by the best one-to-one assignment of clusters; 0 for empty input.
pub fn clustering_accuracy(u: &[u32], v: &[u32]) -> f64 {
    let table = ContingencyTable::new(u, v);
    let side = table.rows.len().max(table.cols.len());
    let mut costs = vec![0.0; side * side];
    for row in 0..table.rows.len() {
        for col in 0..table.cols.len() {
            costs[row * side + col] = -table.counts[row * table.cols.len() + col];
        }
    }
    let matched: f64 =
        min_cost_assignment(side, &costs).iter().enumerate().map(|(r, &c)| -costs[r * side + c]).sum();
    matched / table.n.max(1.0)
}

/// Number of common items for each pair of clusters.
struct ContingencyTable {
    n: f64,
    /// Row-major; rows are clusters of the first partition.
    counts: Vec<f64>,
    rows: Vec<f64>,
    cols: Vec<f64>,
}

impl ContingencyTable {
    fn new(u: &[u32], v: &[u32]) -> Self {
        assert_eq!(u.len(), v.len(), "the same items");
        let ((u, n_rows), (v, n_cols)) = (renumbered(u), renumbered(v));
        let mut table = ContingencyTable {
            n: u.len() as f64,
            counts: vec![0.0; n_rows * n_cols],
            rows: vec![0.0; n_rows],
            cols: vec![0.0; n_cols],
        };
        for (row, col) in u.into_iter().zip(v) {
            table.counts[row * n_cols + col] += 1.0;
            table.rows[row] += 1.0;
            table.cols[col] += 1.0;
        }
        table
    }

    /// Σ over the nonempty cells.
    fn sum(&self, term: impl Fn(usize, usize, f64) -> f64) -> f64 {
        let width = self.cols.len().max(1);
        let cells = self.counts.iter().enumerate().filter(|(_, count)| **count > 0.0);
        cells.map(|(at, &count)| term(at / width, at % width, count)).sum()
    }
}

/// Renumbers the clusters from 0 without gaps, keeping their order.
fn renumbered(parts: &[u32]) -> (Vec<usize>, usize) {
    let mut names = parts.to_vec();
    names.sort_unstable();
    names.dedup();
    (parts.iter().map(|part| names.partition_point(|name| name < part)).collect(), names.len())
}

fn entropy(counts: &[f64], n: f64) -> f64 {
    -counts.iter().map(|count| count / n * (count / n).ln()).sum::<f64>()
}

/// Column of each row in the minimum-cost assignment of a square matrix: Hungarian method with potentials, O(side³).
fn min_cost_assignment(side: usize, costs: &[f64]) -> Vec<usize> {
    // Row 0 and column 0 mean "unassigned"; the others are numbered from 1.
    let (mut of_row, mut of_col) = (vec![0.0; side + 1], vec![0.0; side + 1]);
    let mut row_of = vec![0usize; side + 1];
    for new_row in 1..=side {
        let (mut cheapest, mut done) = (vec![f64::INFINITY; side + 1], vec![false; side + 1]);
        let mut before = vec![0usize; side + 1];
        row_of[0] = new_row;
        let mut col = 0;
        while row_of[col] != 0 {
            done[col] = true;
            let row = row_of[col];
            let (mut next, mut gap) = (0, f64::INFINITY);
            for to in (1..=side).filter(|&to| !done[to]) {
                let reduced = costs[(row - 1) * side + to - 1] - of_row[row] - of_col[to];
                if reduced < cheapest[to] {
                    (cheapest[to], before[to]) = (reduced, col);
                }
                if cheapest[to] < gap {
                    (next, gap) = (to, cheapest[to]);
                }
            }
            for to in 0..=side {
                if done[to] {
                    of_row[row_of[to]] += gap;
                    of_col[to] -= gap;
                } else {
                    cheapest[to] -= gap;
                }
            }
            col = next;
        }
        while col != 0 {
            row_of[col] = row_of[before[col]];
            col = before[col];
        }
    }
    let mut col_of = vec![0; side];
    (1..=side).for_each(|col| col_of[row_of[col] - 1] = col - 1);
    col_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_partitions_score_one() {
        let (u, v) = ([0, 0, 1, 2, 2], [7, 7, 3, 0, 0]);
        for metric in [normalized_mutual_info, adjusted_rand_index, clustering_accuracy] {
            assert!((metric(&u, &v) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_single_cluster_has_no_information() {
        assert!(normalized_mutual_info(&[0; 4], &[0, 1, 0, 1]).abs() < 1e-12);
        assert!(normalized_mutual_info(&[0; 4], &[1; 4]).abs() < 1e-12);
        assert!(adjusted_rand_index(&[0; 4], &[0, 1, 0, 1]).abs() < 1e-12);
        assert!((clustering_accuracy(&[0; 4], &[0, 1, 0, 1]) - 0.5).abs() < 1e-12);
    }

    /// Clustering accuracy by brute force.
    fn brute_force(u: &[u32], v: &[u32], parts: u32) -> f64 {
        fn go(u: &[u32], v: &[u32], parts: u32, names: &mut Vec<u32>) -> usize {
            if names.len() == parts as usize {
                return u.iter().zip(v).filter(|(u, v)| names[**u as usize] == **v).count();
            }
            let free: Vec<u32> = (0..parts).filter(|name| !names.contains(name)).collect();
            let tried = free.into_iter().map(|name| {
                names.push(name);
                let best = go(u, v, parts, names);
                names.pop();
                best
            });
            tried.max().unwrap_or(0)
        }
        go(u, v, parts, &mut Vec::new()) as f64 / u.len() as f64
    }

    proptest! {
        #[test]
        fn metrics_are_symmetric_and_invariant_to_renaming(
            items in prop::collection::vec((0u32..5, 0u32..4), 1..40),
            names in Just((0u32..5).collect::<Vec<_>>()).prop_shuffle())
        {
            let (u, v): (Vec<u32>, Vec<u32>) = items.into_iter().unzip();
            let renamed: Vec<u32> = u.iter().map(|&part| names[part as usize]).collect();
            for metric in [normalized_mutual_info, adjusted_rand_index, clustering_accuracy] {
                let value = metric(&u, &v);
                prop_assert!((metric(&v, &u) - value).abs() < 1e-12);
                prop_assert!((metric(&renamed, &v) - value).abs() < 1e-12);
                prop_assert!(value <= 1.0 + 1e-12);
            }
            prop_assert!((clustering_accuracy(&u, &v) - brute_force(&u, &v, 5)).abs() < 1e-12);
        }
    }
}
