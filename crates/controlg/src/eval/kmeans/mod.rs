//! K-means: k-means++ seeding, Lloyd's iterations, the best of several starts.
//!
//! The starts run side by side: one product of the data with the centers of all of them serves a whole round. Sums
//! of the clusters change only by the points that moved, in f64 and in the order of the points, so the result is the
//! same at any number of threads.

mod seeding;
mod start;

use self::start::Start;
use super::design::Design;
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::Features;
use crate::rng::Stream;
use rayon::prelude::*;

/// How points are clustered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KMeansSettings {
    /// Starts, of which the best counts.
    pub starts: usize,
    /// The most iterations of a start.
    pub max_iterations: usize,
    /// Done when the centers together moved by less than this share of the mean variance of the columns.
    pub tolerance: f64,
}

impl Default for KMeansSettings {
    fn default() -> Self {
        KMeansSettings { starts: 10, max_iterations: 300, tolerance: 1e-4 }
    }
}

/// A partition of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The cluster of each point.
    pub parts: Vec<u32>,
    /// The sum of squared distances to the centers.
    pub inertia: f64,
    /// The iterations it took.
    pub iterations: usize,
}

/// Clusters the rows of a matrix into `k` parts; `seed` numbers the random state.
pub fn cluster(points: &Features, k: usize, seed: u64, settings: &KMeansSettings) -> Result<Clusters> {
    let n = points.n_rows();
    if k == 0 || k > n {
        return Err(Error::value("clusters", k, format_args!("1 to {n}, the number of points")));
    }
    let all: Vec<u32> = (0..n as u32).collect();
    let points = Points { rows: points, design: Design::of_rows(points, &all), squares: squares(points) };
    let streams = (0..settings.starts.max(1) as u64).map(|start| Stream::new(seed, "eval", "kmeans", start));
    let seeds = seeding::seed(&points, k, streams.collect());
    let mut starts: Vec<Start> = seeds.into_iter().map(|seeds| Start::new(&points, &seeds)).collect();
    let still = settings.tolerance * mean_variance(&points);
    while starts.iter().any(|start| !start.done) {
        let mut open: Vec<&mut Start> = starts.iter_mut().filter(|start| !start.done).collect();
        round(&points, k, &mut open);
        open.par_iter_mut().for_each(|start| start.finish_round(&points, still, settings.max_iterations));
    }
    let best =
        starts.into_iter().reduce(|best, start| if start.inertia < best.inertia { start } else { best });
    let Start { parts, inertia, iterations, .. } =
        best.ok_or_else(|| Error::Failed("K-means without a start".into()))?;
    Ok(Clusters { parts, inertia, iterations })
}

/// What is clustered.
struct Points<'a> {
    rows: &'a Features,
    design: Design<'a>,
    /// The squared length of each.
    squares: Vec<Real>,
}

impl Points<'_> {
    /// Adds a row to a sum of rows, `sign` times.
    fn add_row(&self, row: u32, sign: f64, sum: &mut [f64]) {
        match self.rows {
            Features::Dense(dense) => {
                let row = dense.row(row as usize);
                sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += sign * f64::from(x));
            }
            Features::Sparse(csr) => {
                csr.entries(row as usize).for_each(|(at, x)| sum[at as usize] += sign * f64::from(x));
            }
        }
    }

    /// Calls `work(first_row, products)` for each slab, its rows times the centers, which are rows themselves.
    fn each_products(&self, centers: &[Real], width: usize, mut work: impl FnMut(usize, &[Real])) {
        let d = self.design.n_cols();
        let mut transposed = vec![0.0; centers.len()];
        crate::kernels::matmul::transpose(width, d, centers, &mut transposed);
        let mut products = Vec::new();
        self.design.each_slab(|first, slab| {
            products.resize(slab.n_rows() * width, 0.0);
            slab.times(&transposed, width, &mut products);
            work(first, &products);
        });
    }
}

/// Assigns every point to its nearest center, in all open starts.
fn round(points: &Points<'_>, k: usize, open: &mut [&mut Start]) {
    let centers: Vec<Real> = open.iter().flat_map(|start| start.centers.iter().copied()).collect();
    let squares: Vec<Real> = centers.chunks_exact(points.design.n_cols()).map(square).collect();
    let width = open.len() * k;
    let mut nearest: Vec<(u32, Real)> = Vec::new();
    points.each_products(&centers, width, |first, products| {
        let n_rows = products.len() / width;
        nearest.resize(n_rows * open.len(), (0, 0.0));
        let rows = nearest.par_chunks_mut(open.len()).zip(products.par_chunks(width)).with_min_len(64);
        rows.enumerate().for_each(|(row, (nearest, products))| {
            let starts = products.chunks_exact(k).zip(squares.chunks_exact(k));
            for (nearest, (products, squares)) in nearest.iter_mut().zip(starts) {
                let (part, distance) = closest(products, squares);
                *nearest = (part, (points.squares[first + row] + distance).max(0.0));
            }
        });
        let width = open.len();
        open.par_iter_mut().enumerate().for_each(|(at, start)| {
            start.take(first, nearest.iter().skip(at).step_by(width).copied());
        });
    });
}

/// The center for which |c|² − 2 x·c is least, the first of equals, and that number.
fn closest(products: &[Real], squares: &[Real]) -> (u32, Real) {
    let mut best = (0, Real::INFINITY);
    for (part, (&product, &square)) in products.iter().zip(squares).enumerate() {
        let distance = square - 2.0 * product;
        if distance < best.1 {
            best = (part as u32, distance);
        }
    }
    best
}

fn square(row: &[Real]) -> Real {
    row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() as Real
}

fn squares(points: &Features) -> Vec<Real> {
    let sparse =
        |csr: &crate::graph::Csr, row| csr.entries(row).map(|(_, x)| f64::from(x).powi(2)).sum::<f64>();
    match points {
        Features::Dense(dense) => dense.data().par_chunks(dense.n_cols()).map(square).collect(),
        Features::Sparse(csr) => (0..csr.n_rows()).map(|row| sparse(csr, row) as Real).collect(),
    }
}

/// The mean over the columns of their variance: E|x|² − |E x|², over the number of columns.
fn mean_variance(points: &Points<'_>) -> f64 {
    let (n, d) = (points.squares.len(), points.design.n_cols());
    let mut mean = vec![0.0; d];
    (0..n as u32).for_each(|row| points.add_row(row, 1.0, &mut mean));
    let square_of_mean: f64 = mean.iter().map(|sum| (sum / n as f64).powi(2)).sum();
    let mean_of_squares = points.squares.iter().map(|&x| f64::from(x)).sum::<f64>() / n as f64;
    (mean_of_squares - square_of_mean).max(0.0) / d as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::metrics::matched_accuracy;
    use crate::graph::{Csr, Dense};

    /// Four groups of points in the plane, far apart, in a mixed order.
    fn groups(n: usize) -> (Features, Vec<u32>) {
        let mut stream = Stream::new(5, "test", "kmeans", 0);
        let truth: Vec<u32> = (0..n).map(|_| stream.below(4) as u32).collect();
        let mut data = Vec::new();
        for &part in &truth {
            data.push((10.0 * f64::from(part / 2) + stream.normal()) as Real);
            data.push((10.0 * f64::from(part % 2) + stream.normal()) as Real);
        }
        (Features::Dense(Dense::from_parts(n, 2, data)), truth)
    }

    fn as_sparse(points: &Features) -> Features {
        let rows: Vec<_> = (0..points.n_rows()).map(|row| points.row(row)).collect();
        let mut offsets = vec![0];
        rows.iter().for_each(|row| offsets.push(offsets.last().unwrap() + row.len()));
        let (columns, values) = rows.concat().into_iter().unzip();
        Features::Sparse(Csr::from_parts(points.n_cols(), offsets, columns, Some(values)))
    }

    #[test]
    fn groups_far_apart_are_found_dense_or_sparse() {
        let (points, truth) = groups(9000);
        let found = cluster(&points, 4, 0, &KMeansSettings::default()).unwrap();
        assert!(matched_accuracy(&found.parts, &truth) > 0.999);
        let within: f64 = 2.0 * 9000.0;
        assert!((found.inertia / within - 1.0).abs() < 0.05, "{}", found.inertia);
        let sparse = cluster(&as_sparse(&points), 4, 0, &KMeansSettings::default()).unwrap();
        assert!(matched_accuracy(&found.parts, &sparse.parts) > 0.9999);
    }

    #[test]
    fn the_same_clusters_at_any_number_of_threads() {
        let (points, _) = groups(9000);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| cluster(&points, 7, 3, &KMeansSettings::default()).unwrap())
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(4));
    }

    #[test]
    fn no_cluster_stays_empty_while_points_differ() {
        // Twenty points on two places and three single ones; k takes them all.
        let mut data = vec![0.0; 40];
        data[..20].fill(1.0);
        data.extend([5.0, 5.0, 9.0, 1.0, -3.0, 2.0]);
        let points = Features::Dense(Dense::from_parts(23, 2, data));
        let found = cluster(&points, 5, 1, &KMeansSettings::default()).unwrap();
        assert_eq!((0..5).filter(|part| found.parts.contains(part)).count(), 5);
        assert!(found.inertia < 1e-6);
        // Fewer places than clusters: some stay empty, and it ends.
        assert!(cluster(&points, 8, 1, &KMeansSettings::default()).unwrap().inertia < 1e-6);
        assert!(cluster(&points, 24, 1, &KMeansSettings::default()).is_err());
    }
}
