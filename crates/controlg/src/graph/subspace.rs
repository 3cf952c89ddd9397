//! The leading subspace of feature rows, so that wide features fit in a narrow embedding: subspace iteration from random
//! directions (Halko, Martinsson and Tropp, Finding structure with randomness, 2011).

use rayon::prelude::*;

use super::Features;
use crate::Real;
use crate::kernels::{matmul, spmm};
use crate::rng::Stream;

/// Iterations; two bring the subspace close to that of the leading singular vectors.
const ITERATIONS: usize = 2;

/// An orthonormal basis B, columns × `rank`, of a subspace that holds most of tr(FᵀMF), for features F and a symmetric positive
/// semidefinite M that `weigh` multiplies a rows × `rank` matrix by. Columns beyond the rank of FᵀMF are zero.
pub(crate) fn leading_subspace(
    features: &Features,
    rank: usize,
    weigh: impl Fn(Vec<Real>) -> Vec<Real>,
) -> Vec<Real> {
    let d = features.n_cols();
    let transposed = match features {
        Features::Sparse(csr) => Some(csr.transposed()),
        Features::Dense(_) => None,
    };
    let mut stream = Stream::new(0, "readout", "subspace", 0);
    let mut basis: Vec<Real> = (0..d * rank).map(|_| stream.normal() as Real).collect();
    for _ in 0..ITERATIONS {
        let rows = weigh(project(features, &basis, rank));
        match (&transposed, features) {
            (Some(transposed), _) => spmm::spmm(transposed.sparse(), &rows, rank, &mut basis, false),
            (None, Features::Dense(dense)) => {
                matmul::tn(d, dense.n_rows(), rank, dense.data(), &rows, &mut basis, false);
            }
            (None, Features::Sparse(_)) => unreachable!("sparse features are transposed"),
        }
        orthonormalize(&mut basis, d, rank);
    }
    basis
}

/// F·B, rows × `rank`.
pub(crate) fn project(features: &Features, basis: &[Real], rank: usize) -> Vec<Real> {
    let mut rows = vec![0.0; features.n_rows() * rank];
    match features {
        Features::Sparse(csr) => spmm::spmm(csr.sparse(), basis, rank, &mut rows, false),
        Features::Dense(dense) => {
            matmul::nn(dense.n_rows(), dense.n_cols(), rank, dense.data(), basis, &mut rows, false);
        }
    }
    rows
}

/// Makes the columns of a d × `rank` matrix orthonormal by Gram–Schmidt, twice per column. A column that depends on the ones
/// before it becomes zero.
fn orthonormalize(basis: &mut [Real], d: usize, rank: usize) {
    let mut columns = vec![0.0; basis.len()];
    matmul::transpose(d, rank, basis, &mut columns);
    for at in 0..rank {
        let (done, rest) = columns.split_at_mut(at * d);
        let column = &mut rest[..d];
        let before = dot(column, column).sqrt();
        for _ in 0..2 {
            let products: Vec<Real> = done.par_chunks(d).map(|other| dot(other, column)).collect();
            column.par_chunks_mut(PART).enumerate().for_each(|(part, column)| {
                for (other, product) in done.chunks(d).zip(&products) {
                    let other = &other[part * PART..][..column.len()];
                    column.iter_mut().zip(other).for_each(|(x, y)| *x -= product * y);
                }
            });
        }
        let norm = dot(column, column).sqrt();
        let scale = if norm > DEPENDENT * before { 1.0 / norm } else { 0.0 };
        column.iter_mut().for_each(|x| *x *= scale);
    }
    matmul::transpose(rank, d, &columns, basis);
}

/// Numbers of a column that are updated together.
const PART: usize = 512;
/// A column that keeps less than this part of its length depends on the others.
const DEPENDENT: Real = 1e-4;

/// The inner product, in eight partial sums.
fn dot(a: &[Real], b: &[Real]) -> Real {
    let mut sums = [0.0; 8];
    let (a, rest_a) = a.as_chunks::<8>();
    let (b, rest_b) = b.as_chunks::<8>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<Real>() + rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum::<Real>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Csr, Dense};

    /// 60 rows of 30 columns: three strong directions and noise. Sparse with the zeros stored.
    fn example() -> (Dense, Csr) {
        let mut stream = Stream::new(1, "test", "subspace", 0);
        let mut normal = move || stream.normal() as Real;
        let strong: Vec<Vec<Real>> = (0..3).map(|_| (0..30).map(|_| normal()).collect()).collect();
        let mut data = Vec::new();
        for _ in 0..60 {
            let factors: Vec<Real> = (0..3).map(|_| 5.0 * normal()).collect();
            for column in 0..30 {
                data.push((0..3).map(|k| factors[k] * strong[k][column]).sum::<Real>() + 0.01 * normal());
            }
        }
        let offsets = (0..=60).map(|row| 30 * row).collect();
        let columns = (0..60).flat_map(|_| 0..30).collect();
        (Dense::from_parts(60, 30, data.clone()), Csr::from_parts(30, offsets, columns, Some(data)))
    }

    #[test]
    fn keeps_the_strong_directions_and_is_orthonormal() {
        let (dense, sparse) = example();
        let total: Real = dense.data().iter().map(|x| x * x).sum();
        for features in [Features::Dense(dense), Features::Sparse(sparse)] {
            let basis = leading_subspace(&features, 3, |rows| rows);
            let mut gram = vec![0.0; 9];
            matmul::tn(3, 30, 3, &basis, &basis, &mut gram, false);
            for (at, x) in gram.iter().enumerate() {
                assert!((x - if at % 4 == 0 { 1.0 } else { 0.0 }).abs() < 1e-5, "{gram:?}");
            }
            let kept: Real = project(&features, &basis, 3).iter().map(|x| x * x).sum();
            assert!(kept > 0.999 * total, "{kept} of {total}");
        }
    }

    #[test]
    fn columns_beyond_the_rank_are_zero() {
        let (dense, _) = example();
        // Two different rows, many times.
        let rows: Vec<Real> = (0..40).flat_map(|at| dense.row(at % 2).to_vec()).collect();
        let features = Features::Dense(Dense::from_parts(40, 30, rows));
        let basis = leading_subspace(&features, 5, |rows| rows);
        let norm = |column: usize| (0..30).map(|row| basis[row * 5 + column].powi(2)).sum::<Real>();
        let norms: Vec<Real> = (0..5).map(norm).collect();
        assert!(norms[..2].iter().all(|norm| (norm - 1.0).abs() < 1e-4), "{norms:?}");
        assert!(norms[2..].iter().all(|&norm| norm == 0.0), "{norms:?}");
    }

    #[test]
    fn weights_choose_the_rows_that_count() {
        let (dense, _) = example();
        // Only the first row counts, so its direction is found.
        let basis = leading_subspace(&Features::Dense(dense.clone()), 1, |mut rows| {
            rows[1..].fill(0.0);
            rows
        });
        let row = dense.row(0);
        let along: Real = row.iter().zip(&basis).map(|(x, y)| x * y).sum();
        assert!((along.abs() / row.iter().map(|x| x * x).sum::<Real>().sqrt() - 1.0).abs() < 1e-4);
    }
}
