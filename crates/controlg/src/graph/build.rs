//! From a list of edges as they came to a simple undirected adjacency, and a tally of what was mended on the way.

use rayon::prelude::*;

use super::Csr;
use crate::Real;

/// Edges as they stand in a file: directed or not, with repetitions and loops.
#[derive(Clone, Debug, Default)]
pub struct EdgeList {
    /// (source, target) of each edge.
    pub pairs: Vec<(u32, u32)>,
    /// One positive weight an edge; `None` when all weigh 1.
    pub weights: Option<Vec<Real>>,
}

/// What had to be done to make the edges simple and undirected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    /// Nodes with an edge to themselves; those edges were dropped.
    pub self_loops: usize,
    /// Edges that repeat an earlier one with the same source and target, dropped.
    pub duplicates: usize,
    /// Whether some pairs came in both directions and others in one only. A list that holds every pair once, or
    /// every pair in both directions, describes an undirected graph already.
    pub directed: bool,
}

impl EdgeList {
    /// The simple undirected adjacency of these edges on nodes 0..n: both directions stored, loops and duplicates
    /// dropped. Of duplicates the first weight counts; a pair with a weight in each direction gets their mean, as
    /// in (A + Aᵀ)/2.
    ///
    /// # Panics
    /// When an end is not below `n`: loaders check what they read, with the place it stands at, before they come here.
    pub fn into_adjacency(self, n: usize) -> (Csr, EdgeCounts) {
        assert!(self.pairs.iter().all(|&(u, v)| (u as usize) < n && (v as usize) < n), "edge ends below {n}");
        match self.weights {
            None => {
                let entries = self.pairs.into_iter();
                let (rows, tally) = symmetric_rows(n, entries.map(|(u, v)| (u, v, ())), |(), ()| ());
                (Csr::new(n, rows.0, rows.1, None), tally)
            }
            Some(weights) => {
                assert_eq!(weights.len(), self.pairs.len(), "one weight an edge");
                let entries = self.pairs.into_iter().zip(weights);
                let (rows, tally) =
                    symmetric_rows(n, entries.map(|((u, v), w)| (u, v, w)), |a, b| (a + b) / 2.0);
                (Csr::new(n, rows.0, rows.1, Some(rows.2)), tally)
            }
        }
    }
}

type AdjacencyRows<W> = (Vec<usize>, Vec<u32>, Vec<W>);

/// One directed end of an edge in the row of its node: the other end, which direction it came from, its weight.
#[derive(Clone, Copy)]
struct HalfEdge<W> {
    other: u32,
    reverse: bool,
    weight: W,
}

fn symmetric_rows<W: Copy + Send + Sync>(
    n: usize,
    edges: impl Iterator<Item = (u32, u32, W)> + Clone,
    mean: impl Fn(W, W) -> W + Sync,
) -> (AdjacencyRows<W>, EdgeCounts) {
    // Counting sort of both directions by row keeps the file's order within a row, so "the first" is well defined.
    let mut offsets = vec![0usize; n + 1];
    for (u, v, _) in edges.clone() {
        offsets[u as usize + 1] += 1;
        offsets[v as usize + 1] += 1;
    }
    for i in 0..n {
        offsets[i + 1] += offsets[i];
    }
    let mut next = offsets.clone();
    let mut ends: Vec<Option<HalfEdge<W>>> = vec![None; offsets[n]];
    for (u, v, weight) in edges {
        for (row, other, reverse) in [(u, v, false), (v, u, true)] {
            ends[next[row as usize]] = Some(HalfEdge { other, reverse, weight });
            next[row as usize] += 1;
        }
    }
    drop(next);

    let mut rows: Vec<&mut [Option<HalfEdge<W>>]> = Vec::with_capacity(n);
    let mut rest = &mut ends[..];
    for row in 0..n {
        let (head, tail) = rest.split_at_mut(offsets[row + 1] - offsets[row]);
        rows.push(head);
        rest = tail;
    }
    let counts: Vec<RowCount> =
        rows.par_iter_mut().enumerate().map(|(row, ends)| merge_row(row as u32, ends, &mean)).collect();
    drop(rows);

    let mut new_offsets = Vec::with_capacity(n + 1);
    new_offsets.push(0);
    let mut columns = Vec::with_capacity(counts.iter().map(|count| count.kept).sum());
    let mut weights = Vec::with_capacity(columns.capacity());
    for row in 0..n {
        for end in ends[offsets[row]..][..counts[row].kept].iter().flatten() {
            columns.push(end.other);
            weights.push(end.weight);
        }
        new_offsets.push(columns.len());
    }
    let total = |pick: fn(&RowCount) -> usize| counts.iter().map(pick).sum::<usize>();
    let (both_ways, one_way) = (total(|c| c.both_ways), total(|c| c.one_way));
    let tally = EdgeCounts {
        self_loops: total(|c| c.self_loop),
        duplicates: total(|c| c.duplicates),
        directed: both_ways > 0 && one_way > 0,
    };
    ((new_offsets, columns, weights), tally)
}

#[derive(Clone, Copy)]
struct RowCount {
    kept: usize,
    self_loop: usize,
    duplicates: usize,
    both_ways: usize,
    one_way: usize,
}

/// Sorts a row, merges the ends that lead to one neighbor, and moves the survivors to its front.
fn merge_row<W: Copy>(row: u32, ends: &mut [Option<HalfEdge<W>>], mean: impl Fn(W, W) -> W) -> RowCount {
    let key = |end: &Option<HalfEdge<W>>| end.map(|end| (end.other, end.reverse));
    ends.sort_by_key(key); // stable: the file's order survives among equals
    let mut count = RowCount { kept: 0, self_loop: 0, duplicates: 0, both_ways: 0, one_way: 0 };
    let mut at = 0;
    while at < ends.len() {
        let Some(first) = ends[at] else { break };
        let len = ends[at..].iter().take_while(|end| end.is_some_and(|end| end.other == first.other)).count();
        let group = &ends[at..at + len];
        at += len;
        let forward = group.iter().take_while(|end| end.is_some_and(|end| !end.reverse)).count();
        // Each duplicate is seen from both of its ends; only the forward side counts it.
        count.duplicates += forward.saturating_sub(1);
        if first.other == row {
            count.self_loop = 1;
            continue;
        }
        let mut merged = first;
        if 0 < forward && forward < len {
            if let Some(back) = group[forward] {
                merged.weight = mean(first.weight, back.weight);
            }
            count.both_ways += 1;
        } else {
            count.one_way += 1;
        }
        ends[count.kept] = Some(merged);
        count.kept += 1;
    }
    count
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // the weights below are exact
mod tests {
    use super::*;

    fn build(n: usize, pairs: &[(u32, u32)]) -> (Csr, EdgeCounts) {
        EdgeList { pairs: pairs.to_vec(), weights: None }.into_adjacency(n)
    }

    #[test]
    fn loops_and_duplicates_are_counted_and_dropped() {
        let (adjacency, tally) = build(4, &[(0, 1), (1, 0), (0, 1), (2, 2), (2, 2), (1, 2)]);
        assert!(adjacency.is_simple_undirected());
        assert_eq!(adjacency.n_entries() / 2, 2);
        assert_eq!(adjacency.row(3), &[] as &[u32]);
        assert_eq!(tally, EdgeCounts { self_loops: 1, duplicates: 2, directed: true });
    }

    #[test]
    fn a_list_of_single_pairs_or_of_double_pairs_is_undirected() {
        assert!(!build(3, &[(0, 1), (2, 1)]).1.directed);
        assert!(!build(3, &[(0, 1), (2, 1), (1, 2), (1, 0)]).1.directed);
    }

    #[test]
    fn weights_take_the_first_of_duplicates_and_the_mean_of_directions() {
        let list =
            EdgeList { pairs: vec![(0, 1), (0, 1), (1, 0), (1, 2)], weights: Some(vec![1.0, 9.0, 3.0, 5.0]) };
        let (adjacency, _) = list.into_adjacency(3);
        assert_eq!(adjacency.entries(0).collect::<Vec<_>>(), [(1, 2.0)]);
        assert_eq!(adjacency.entries(1).collect::<Vec<_>>(), [(0, 2.0), (2, 5.0)]);
        assert!(adjacency.is_simple_undirected());
    }
}
