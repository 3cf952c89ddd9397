//! Greedy k-means++ (Arthur and Vassilvitskii, 2007): centers are points drawn with a chance proportional to the
//! squared distance from the centers so far; of 2 + ⌊ln k⌋ draws the one that leaves the smallest sum is taken.

use super::{Points, Real, square};
use crate::graph::Features;
use crate::rng::Stream;
use rayon::prelude::*;

/// The points that start as centers, for each stream.
pub(super) fn seed(points: &Points<'_>, k: usize, streams: Vec<Stream>) -> Vec<Vec<u32>> {
    let trials = 2 + (k as f64).ln() as usize;
    let mut growing: Vec<Growing> = streams.into_iter().map(|stream| Growing::new(points, stream)).collect();
    // The first point of each start, then k − 1 times the best of some draws.
    let first: Vec<u32> = growing.iter().map(|start| start.chosen[0]).collect();
    for (start, fresh) in growing.iter_mut().zip(distances(points, &first)) {
        start.closest.copy_from_slice(&fresh);
    }
    for _ in 1..k {
        let drawn: Vec<u32> = growing.iter_mut().flat_map(|start| start.draw(trials)).collect();
        let fresh = distances(points, &drawn);
        growing
            .par_iter_mut()
            .zip(fresh.par_chunks(trials))
            .zip(drawn.par_chunks(trials))
            .for_each(|((start, fresh), drawn)| start.take_best(fresh, drawn));
    }
    growing.into_iter().map(|start| start.chosen).collect()
}

/// A start whose centers are being drawn.
struct Growing {
    stream: Stream,
    chosen: Vec<u32>,
    /// The squared distance of each point to the nearest center so far.
    closest: Vec<Real>,
}

impl Growing {
    fn new(points: &Points<'_>, mut stream: Stream) -> Self {
        let n = points.squares.len();
        let first = stream.below(n) as u32;
        Growing { stream, chosen: vec![first], closest: vec![0.0; n] }
    }

    /// Points with a chance proportional to their distance; any points where all distances are zero.
    fn draw(&mut self, count: usize) -> Vec<u32> {
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

    fn take_best(&mut self, fresh: &[Vec<Real>], drawn: &[u32]) {
        let left = |fresh: &Vec<Real>| -> f64 {
            fresh.iter().zip(&self.closest).map(|(new, old)| f64::from(new.min(*old))).sum()
        };
        let sums: Vec<f64> = fresh.iter().map(left).collect();
        let best = (1..sums.len()).fold(0, |best, at| if sums[at] < sums[best] { at } else { best });
        self.closest.iter_mut().zip(&fresh[best]).for_each(|(old, new)| *old = old.min(*new));
        self.chosen.push(drawn[best]);
    }
}

/// The squared distance of every point to each of the given ones.
fn distances(points: &Points<'_>, to: &[u32]) -> Vec<Vec<Real>> {
    let centers = rows_of(points.rows, to);
    let squares: Vec<Real> = centers.chunks_exact(points.design.n_cols()).map(square).collect();
    let mut distances = vec![vec![0.0; points.squares.len()]; to.len()];
    points.each_products(&centers, to.len(), |first, products| {
        distances.par_iter_mut().enumerate().for_each(|(at, distances)| {
            for (row, products) in products.chunks_exact(to.len()).enumerate() {
                let square = points.squares[first + row];
                distances[first + row] = (square + squares[at] - 2.0 * products[at]).max(0.0);
            }
            // What rounding leaves must not let a center be drawn again.
            distances[to[at] as usize] = 0.0;
        });
    });
    distances
}

/// Some rows of a matrix, dense.
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
