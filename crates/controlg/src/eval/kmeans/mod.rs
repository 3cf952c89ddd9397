//! K-means: k-means++ seeding, Lloyd iterations, best of several initializations.
//!
//! All initializations run together, so one matrix product per iteration serves them all. Cluster sums are updated in
//! f64 only for points that moved, in the order of the points, so the result does not depend on the number of threads.

mod lloyd;
mod seeding;

use self::lloyd::LloydRun;
use super::design_matrix::DesignMatrix;
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::Features;
use crate::rng::Stream;
use rayon::prelude::*;

/// K-means settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KMeansSettings {
    /// Number of initializations; the best one is kept.
    pub n_init: usize,
    /// Maximum number of iterations.
    pub max_iterations: usize,
    /// Converged when the squared shift of the centers is below this fraction of the mean column variance.
    pub tolerance: f64,
}

impl Default for KMeansSettings {
    fn default() -> Self {
        KMeansSettings { n_init: 10, max_iterations: 300, tolerance: 1e-4 }
    }
}

/// Result of K-means.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustering {
    /// Cluster of each point.
    pub assignments: Vec<u32>,
    /// Sum of squared distances to the nearest center.
    pub inertia: f64,
    /// Number of iterations.
    pub iterations: usize,
}

/// Clusters the rows of a matrix into `k` clusters; `seed` is the random state.
pub fn cluster(points: &Features, k: usize, seed: u64, settings: &KMeansSettings) -> Result<Clustering> {
    let n = points.n_rows();
    if k == 0 || k > n {
        return Err(Error::value("clusters", k, format_args!("1 to {n}, the number of points")));
    }
    let all: Vec<u32> = (0..n as u32).collect();
    let points =
        Points { rows: points, design: DesignMatrix::of_rows(points, &all), squares: squares(points) };
    let streams = (0..settings.n_init.max(1) as u64).map(|run| Stream::new(seed, "eval", "kmeans", run));
    let seeds = seeding::seed(&points, k, streams.collect());
    let mut runs: Vec<LloydRun> = seeds.into_iter().map(|seeds| LloydRun::new(&points, &seeds)).collect();
    let max_shift = settings.tolerance * mean_variance(&points);
    while runs.iter().any(|run| !run.done) {
        let mut open: Vec<&mut LloydRun> = runs.iter_mut().filter(|run| !run.done).collect();
        assign(&points, k, &mut open);
        open.par_iter_mut().for_each(|run| run.update_centers(&points, max_shift, settings.max_iterations));
    }
    let best = runs.into_iter().reduce(|best, run| if run.inertia < best.inertia { run } else { best });
    let LloydRun { assignments, inertia, iterations, .. } =
        best.ok_or_else(|| Error::Failed("K-means without an initialization".into()))?;
    Ok(Clustering { assignments, inertia, iterations })
}

/// The points to cluster.
struct Points<'a> {
    rows: &'a Features,
    design: DesignMatrix<'a>,
    /// Squared norm of each point.
    squares: Vec<Real>,
}

impl Points<'_> {
    /// Adds `sign` times a row to a sum.
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

    /// Calls `work(first_row, products)` for each block of rows; `products` are the inner products with the centers.
    fn for_each_product(&self, centers: &[Real], width: usize, mut work: impl FnMut(usize, &[Real])) {
        let d = self.design.n_cols();
        let mut transposed = vec![0.0; centers.len()];
        crate::kernels::matmul::transpose(width, d, centers, &mut transposed);
        let mut products = Vec::new();
        self.design.for_each_block(|first, block| {
            products.resize(block.n_rows() * width, 0.0);
            block.times(&transposed, width, &mut products);
            work(first, &products);
        });
    }
}

/// Assigns every point to its nearest center, for all unfinished runs.
fn assign(points: &Points<'_>, k: usize, open: &mut [&mut LloydRun]) {
    let centers: Vec<Real> = open.iter().flat_map(|run| run.centers.iter().copied()).collect();
    let squares: Vec<Real> = centers.chunks_exact(points.design.n_cols()).map(square).collect();
    let width = open.len() * k;
    let mut nearest: Vec<(u32, Real)> = Vec::new();
    points.for_each_product(&centers, width, |first, products| {
        let n_rows = products.len() / width;
        nearest.resize(n_rows * open.len(), (0, 0.0));
        let rows = nearest.par_chunks_mut(open.len()).zip(products.par_chunks(width)).with_min_len(64);
        rows.enumerate().for_each(|(row, (nearest, products))| {
            let of_runs = products.chunks_exact(k).zip(squares.chunks_exact(k));
            for (nearest, (products, squares)) in nearest.iter_mut().zip(of_runs) {
                let (cluster, distance) = closest(products, squares);
                *nearest = (cluster, (points.squares[first + row] + distance).max(0.0));
            }
        });
        let width = open.len();
        open.par_iter_mut().enumerate().for_each(|(at, run)| {
            run.record_assignments(first, nearest.iter().skip(at).step_by(width).copied());
        });
    });
}

/// The center that minimizes |c|² − 2 x·c, and that value; ties go to the first.
fn closest(products: &[Real], squares: &[Real]) -> (u32, Real) {
    let mut best = (0, Real::INFINITY);
    for (cluster, (&product, &square)) in products.iter().zip(squares).enumerate() {
        let distance = square - 2.0 * product;
        if distance < best.1 {
            best = (cluster as u32, distance);
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

/// Mean variance of the columns: (E|x|² − |E x|²) / number of columns.
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
    use crate::eval::metrics::clustering_accuracy;
    use crate::graph::{Csr, Dense};

    /// Four well-separated groups of points in the plane, in random order.
    fn groups(n: usize) -> (Features, Vec<u32>) {
        let mut stream = Stream::new(5, "test", "kmeans", 0);
        let truth: Vec<u32> = (0..n).map(|_| stream.below(4) as u32).collect();
        let mut data = Vec::new();
        for &group in &truth {
            data.push((10.0 * f64::from(group / 2) + stream.normal()) as Real);
            data.push((10.0 * f64::from(group % 2) + stream.normal()) as Real);
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
    fn finds_separated_groups_dense_or_sparse() {
        let (points, truth) = groups(9000);
        let found = cluster(&points, 4, 0, &KMeansSettings::default()).unwrap();
        assert!(clustering_accuracy(&found.assignments, &truth) > 0.999);
        let within: f64 = 2.0 * 9000.0;
        assert!((found.inertia / within - 1.0).abs() < 0.05, "{}", found.inertia);
        let sparse = cluster(&as_sparse(&points), 4, 0, &KMeansSettings::default()).unwrap();
        assert!(clustering_accuracy(&found.assignments, &sparse.assignments) > 0.9999);
    }

    #[test]
    fn does_not_depend_on_the_number_of_threads() {
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
    fn fills_empty_clusters() {
        // Twenty points at two locations and three single ones: five distinct locations.
        let mut data = vec![0.0; 40];
        data[..20].fill(1.0);
        data.extend([5.0, 5.0, 9.0, 1.0, -3.0, 2.0]);
        let points = Features::Dense(Dense::from_parts(23, 2, data));
        let found = cluster(&points, 5, 1, &KMeansSettings::default()).unwrap();
        assert_eq!((0..5).filter(|cluster| found.assignments.contains(cluster)).count(), 5);
        assert!(found.inertia < 1e-6);
        // More clusters than distinct points: some stay empty, and it terminates.
        assert!(cluster(&points, 8, 1, &KMeansSettings::default()).unwrap().inertia < 1e-6);
        assert!(cluster(&points, 24, 1, &KMeansSettings::default()).is_err());
    }
}
