//! Greedy k-means++ (Arthur and Vassilvitskii, 2007): each center is a point sampled with probability proportional to its
//! squared distance to the nearest center; of 2 + ⌊ln k⌋ candidates the one with the smallest inertia is kept.

use super::{Points, Real, square};
use crate::graph::Features;
use crate::rng::Stream;
use rayon::prelude::*;

/// Indices of the initial centers, for each random stream.
pub(super) fn seed(points: &Points<'_>, k: usize, streams: Vec<Stream>) -> Vec<Vec<u32>> {
    let trials = 2 + (k as f64).ln() as usize;
    let mut seedings: Vec<Seeding> = streams.into_iter().map(|stream| Seeding::new(points, stream)).collect();
    // A uniform first center, then k − 1 times the best of several candidates.
    let first: Vec<u32> = seedings.iter().map(|seeding| seeding.chosen[0]).collect();
    for (seeding, distances) in seedings.iter_mut().zip(distances(points, &first)) {
        seeding.closest.copy_from_slice(&distances);
    }
    for _ in 1..k {
        let candidates: Vec<u32> = seedings.iter_mut().flat_map(|seeding| seeding.sample(trials)).collect();
        let distances = distances(points, &candidates);
        seedings
            .par_iter_mut()
            .zip(distances.par_chunks(trials))
            .zip(candidates.par_chunks(trials))
            .for_each(|((seeding, distances), candidates)| seeding.keep_best(distances, candidates));
    }
    seedings.into_iter().map(|seeding| seeding.chosen).collect()
}

/// State of one seeding.
struct Seeding {
    stream: Stream,
    chosen: Vec<u32>,
    /// Squared distance of each point to its nearest center.
    closest: Vec<Real>,
}

impl Seeding {
    fn new(points: &Points<'_>, mut stream: Stream) -> Self {
        let n = points.squares.len();
        let first = stream.below(n) as u32;
        Seeding { stream, chosen: vec![first], closest: vec![0.0; n] }
    }

    /// Samples points with probability proportional to their squared distance; uniformly if all distances are zero.
    fn sample(&mut self, count: usize) -> Vec<u32> {
        let mut sum = 0.0;
        let sums: Vec<f64> = self
            .closest
            .iter()
            .map(|&x| {
                sum += f64::from(x);
                sum
            })
            .collect();
        let last = sums.len() - 1;
        let mut point = || {
            let at = self.stream.uniform() * sum;
            sums.partition_point(|&sum| sum <= at).min(last) as u32
        };
        (0..count).map(|_| point()).collect()
    }

    fn keep_best(&mut self, distances: &[Vec<Real>], candidates: &[u32]) {
        let inertia = |distances: &Vec<Real>| -> f64 {
            distances.iter().zip(&self.closest).map(|(new, old)| f64::from(new.min(*old))).sum()
        };
        let sums: Vec<f64> = distances.iter().map(inertia).collect();
        let best = (1..sums.len()).fold(0, |best, at| if sums[at] < sums[best] { at } else { best });
        self.closest.iter_mut().zip(&distances[best]).for_each(|(old, new)| *old = old.min(*new));
        self.chosen.push(candidates[best]);
    }
}

/// Squared distance of every point to each of the given points.
fn distances(points: &Points<'_>, to: &[u32]) -> Vec<Vec<Real>> {
    let centers = rows_of(points.rows, to);
    let squares: Vec<Real> = centers.chunks_exact(points.design.n_cols()).map(square).collect();
    let mut distances = vec![vec![0.0; points.squares.len()]; to.len()];
    points.for_each_product(&centers, to.len(), |first, products| {
        distances.par_iter_mut().enumerate().for_each(|(at, distances)| {
            for (row, products) in products.chunks_exact(to.len()).enumerate() {
                let square = points.squares[first + row];
                distances[first + row] = (square + squares[at] - 2.0 * products[at]).max(0.0);
            }
            // Rounding must not allow a center to be sampled again.
            distances[to[at] as usize] = 0.0;
        });
    });
    distances
}

/// Rows of a matrix, dense.
pub(super) fn rows_of(matrix: &Features, rows: &[u32]) -> Vec<Real> {
    let mut data = vec![0.0; rows.len() * matrix.n_cols()];
    for (to, &row) in data.chunks_exact_mut(matrix.n_cols()).zip(rows) {
        match matrix {
            Features::Dense(dense) => to.copy_from_slice(dense.row(row as usize)),
            Features::Sparse(csr) => csr.entries(row as usize).for_each(|(at, x)| to[at as usize] = x),
        }
    }
    data
}
