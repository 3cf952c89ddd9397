//! Personalized PageRank (PPR) diffusion as an operator.

use super::{Adjacency, Csr, Operator};
use crate::Real;
use crate::kernels::spmm;

/// Columns computed at a time.
const COLUMNS: usize = 64;
/// Bound of the truncation error of the series.
const ERROR: f64 = 1e-7;

/// S = α(I − (1 − α)Â)⁻¹ = α Σₖ (1 − α)ᵏ Âᵏ, with the GCN operator Â. Entries up to `threshold` are dropped.
pub fn ppr(adjacency: &Adjacency, alpha: f64, threshold: f64) -> Operator {
    let walk = Operator::gcn(adjacency);
    let n = adjacency.n_rows();
    // S is symmetric, so its columns are its rows. Only the upper triangle is used: rounding makes the two differ.
    let mut upper: Vec<Vec<(u32, Real)>> = Vec::with_capacity(n);
    for first in (0..n).step_by(COLUMNS) {
        let width = COLUMNS.min(n - first);
        let sources: Vec<usize> = (first..first + width).collect();
        let sum = columns(&walk, &sources, alpha);
        upper.extend((0..width).map(|at| {
            let row = (first + at..n).map(|node| (node as u32, sum[node * width + at]));
            row.filter(|(_, value)| f64::from(*value) > threshold).collect()
        }));
    }
    Operator::symmetric_unchecked(from_upper_triangle(&upper))
}

/// The expected number of entries of [`ppr`], from a sample of its columns.
pub fn expected_entries(adjacency: &Adjacency, alpha: f64, threshold: f64) -> usize {
    let n = adjacency.n_rows();
    let sources: Vec<usize> = (0..n).step_by(n.div_ceil(COLUMNS).max(1)).collect();
    let sampled = columns(&Operator::gcn(adjacency), &sources, alpha);
    let found = sampled.iter().filter(|&&value| f64::from(value) > threshold).count();
    found * n / sources.len().max(1)
}

/// The columns of S that belong to some nodes, n × sources.
fn columns(walk: &Operator, sources: &[usize], alpha: f64) -> Vec<Real> {
    let (n, width) = (walk.matrix().n_rows(), sources.len());
    let rounds = (ERROR.ln() / (1.0 - alpha).ln()).ceil() as usize;
    let mut sum = vec![0.0; n * width];
    let mut next = vec![0.0; n * width];
    // Horner's rule: sum ← αe + (1 − α)Â·sum.
    for _ in 0..=rounds {
        spmm::spmm(walk.forward(), &sum, width, &mut next, false);
        next.iter_mut().for_each(|x| *x *= (1.0 - alpha) as Real);
        sources.iter().enumerate().for_each(|(at, source)| next[source * width + at] += alpha as Real);
        std::mem::swap(&mut sum, &mut next);
    }
    sum
}

/// The symmetric matrix with this upper triangle, given by rows and including the diagonal.
fn from_upper_triangle(upper: &[Vec<(u32, Real)>]) -> Csr {
    let n = upper.len();
    let mut offsets = vec![0usize; n + 1];
    for (row, entries) in upper.iter().enumerate() {
        offsets[row + 1] += entries.len();
        for &(column, _) in entries.iter().filter(|entry| entry.0 as usize != row) {
            offsets[column as usize + 1] += 1;
        }
    }
    (0..n).for_each(|row| offsets[row + 1] += offsets[row]);
    let mut next = offsets.clone();
    let (mut columns, mut values) = (vec![0; offsets[n]], vec![0.0; offsets[n]]);
    // Row by row: the entries of a row below the diagonal are placed before those above, both in ascending order.
    for (row, entries) in upper.iter().enumerate() {
        for &(column, value) in entries {
            let mut put = |row: usize, column: u32| {
                (columns[next[row]], values[next[row]]) = (column, value);
                next[row] += 1;
            };
            put(row, column);
            if column as usize != row {
                put(column as usize, row as u32);
            }
        }
    }
    Csr::from_parts(n, offsets, columns, Some(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::EdgeList;

    #[test]
    fn ppr_is_the_defined_inverse() {
        let pairs = (0..70).map(|u| (u, (u * u + 1) % 71)).filter(|(u, v)| u != v).collect();
        let (adjacency, _) = EdgeList { pairs, weights: None }.into_adjacency(72).unwrap();
        let (n, alpha) = (72, 0.2);
        let (s, walk) = (ppr(&adjacency, alpha, 0.0), Operator::gcn(&adjacency));
        let spread = |matrix: &Csr, row: usize| {
            let mut dense = vec![0.0; n];
            matrix.entries(row).for_each(|(column, x)| dense[column as usize] = f64::from(x));
            dense
        };
        // S − (1 − α)Â·S = αI
        for row in 0..n {
            let mut left = spread(s.matrix(), row);
            for (from, weight) in walk.matrix().entries(row) {
                let other = spread(s.matrix(), from as usize);
                left.iter_mut().zip(other).for_each(|(x, y)| *x -= (1.0 - alpha) * f64::from(weight) * y);
            }
            left[row] -= alpha;
            assert!(left.iter().all(|x| x.abs() < 1e-5), "row {row}");
        }
        assert_eq!(s.matrix(), &s.matrix().transposed());
        assert!(ppr(&adjacency, alpha, 1e-2).matrix().n_entries() < s.matrix().n_entries());
    }
}
