//! The quality of embeddings, measured without labels.
//!
//! Three numbers that cost little: how well the embeddings fall into clusters, how well they tell edges from non-edges, and
//! how many directions they use. None of them sees a label. How far they agree with the accuracy of a probe depends on the
//! graph: [`crate::compare`] prints it for the runs of a comparison.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::kmeans::{self, KMeansSettings};
use super::metrics::roc_auc;
use crate::Real;
use crate::error::Result;
use crate::graph::norm::unit_rows;
use crate::graph::{Dense, Features};
use crate::kernels::reduce;

/// Quality of embeddings without labels. A number that cannot be measured is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Calinski–Harabasz index of [`CLUSTERS`] k-means clusters of the L2-normalized rows; missing if there are too few
    /// distinct rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calinski_harabasz: Option<f64>,
    /// ROC-AUC of cosine similarity between held-out edges and pairs without an edge; missing without such edges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_auc: Option<f64>,
    /// [`effective_rank`] of the embeddings; missing if all rows are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_rank: Option<f64>,
}

/// Number of clusters. The number of classes is unknown without labels; a fixed number makes runs on a graph comparable.
pub const CLUSTERS: usize = 10;

/// One start and few iterations: the index moves by less than a percent afterwards.
const KMEANS: KMeansSettings = KMeansSettings { n_init: 1, max_iterations: 20, tolerance: 1e-4 };

/// Rows that the effective rank is computed from, which takes their inner products.
const RANK_ROWS: usize = 512;

/// Node pairs to tell apart: rows of the embeddings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairSample {
    /// Pairs with an edge.
    pub edges: Vec<(u32, u32)>,
    /// Pairs without one.
    pub non_edges: Vec<(u32, u32)>,
}

impl Quality {
    /// Measures embeddings. `nodes` are the rows that are clustered; the first of them give the effective rank.
    pub fn measure(embeddings: &Dense, nodes: &[u32], pairs: &PairSample) -> Result<Quality> {
        let rows = select(embeddings, nodes);
        let n_ranked = nodes.len().min(RANK_ROWS);
        let ranked =
            Dense::from_parts(n_ranked, rows.n_cols(), rows.data()[..n_ranked * rows.n_cols()].to_vec());
        let points = unit_rows(&Features::Dense(rows));
        let calinski_harabasz = if points.n_rows() > CLUSTERS {
            let found = kmeans::cluster(&points, CLUSTERS, 0, &KMEANS)?;
            calinski_harabasz(&points, &found.assignments)
        } else {
            None
        };
        Ok(Quality {
            calinski_harabasz,
            edge_auc: edge_auc(embeddings, pairs),
            effective_rank: effective_rank(&ranked),
        })
    }
}

/// The Calinski–Harabasz index of a clustering, (B / (k − 1)) / (W / (n − k)): B is the sum of squares between the centers of
/// the k clusters that are not empty, W the sum of squares within them. `None` unless 1 < k < n and W > 0.
///
/// Caliński & Harabasz, A dendrite method for cluster analysis, 1974.
pub fn calinski_harabasz(points: &Features, assignments: &[u32]) -> Option<f64> {
    let (n, d) = (points.n_rows(), points.n_cols());
    assert_eq!(assignments.len(), n, "one cluster per point");
    let n_clusters = assignments.iter().max().map_or(0, |&most| most as usize + 1);
    let (mut sums, mut counts) = (vec![0.0; n_clusters * d], vec![0_usize; n_clusters]);
    let mut squares = 0.0;
    for (row, &cluster) in assignments.iter().enumerate() {
        let cluster = cluster as usize;
        counts[cluster] += 1;
        let sum = &mut sums[cluster * d..][..d];
        let mut add = |column: usize, x: Real| {
            let x = f64::from(x);
            sum[column] += x;
            squares += x * x;
        };
        match points {
            Features::Dense(dense) => dense.row(row).iter().enumerate().for_each(|(at, &x)| add(at, x)),
            Features::Sparse(csr) => csr.entries(row).for_each(|(at, x)| add(at as usize, x)),
        }
    }
    let square = |sum: &[f64]| sum.iter().map(|x| x * x).sum::<f64>();
    let total: Vec<f64> = (0..d).map(|column| sums.iter().skip(column).step_by(d).sum()).collect();
    let of_centers: f64 = sums
        .chunks_exact(d)
        .zip(&counts)
        .filter(|(_, n)| **n > 0)
        .map(|(sum, &n)| square(sum) / n as f64)
        .sum();
    let (between, within) = (of_centers - square(&total) / n as f64, squares - of_centers);
    let k = counts.iter().filter(|&&count| count > 0).count();
    // What is left of equal points is rounding.
    let measurable = k > 1 && k < n && within > 1e-9 * squares;
    measurable.then(|| between / (k - 1) as f64 / (within / (n - k) as f64))
}

/// ROC-AUC of the cosine similarity of the ends of pairs; `None` without edges or without non-edges.
pub fn edge_auc(embeddings: &Dense, pairs: &PairSample) -> Option<f64> {
    let norm = |row: &[Real]| reduce::sum_squares(row).sqrt();
    let cosine = |&(u, v): &(u32, u32)| {
        let (u, v) = (embeddings.row(u as usize), embeddings.row(v as usize));
        let length = norm(u) * norm(v);
        if length > 0.0 { (reduce::dot(u, v) / length) as Real } else { 0.0 }
    };
    let scores: Vec<Real> = pairs.edges.par_iter().chain(&pairs.non_edges).map(cosine).collect();
    let is_edge: Vec<bool> = (0..scores.len()).map(|at| at < pairs.edges.len()).collect();
    roc_auc(&scores, &is_edge)
}

/// The effective rank of embeddings, (Σλ)² / Σλ² with the eigenvalues λ of their covariance matrix: the number of directions
/// that they would vary in if they varied alike in each, from 1 to the width. `None` if they do not vary.
///
/// Computed from the inner products K of the centered rows, tr(K)² / ‖K‖², without an eigenvalue decomposition.
pub fn effective_rank(rows: &Dense) -> Option<f64> {
    let (n, d) = (rows.n_rows(), rows.n_cols());
    let mut mean = vec![0.0; d];
    rows.data().chunks_exact(d).for_each(|row| {
        mean.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x) / n as f64);
    });
    let centered: Vec<Real> =
        rows.data().iter().enumerate().map(|(at, &x)| (f64::from(x) - mean[at % d]) as Real).collect();
    let row = |at: usize| &centered[at * d..][..d];
    // Sums by row, which are added in the order of the rows.
    let squares: Vec<(f64, f64)> = (0..n)
        .into_par_iter()
        .map(|a| {
            let own = reduce::sum_squares(row(a));
            let others: f64 = (0..a).map(|b| reduce::dot(row(a), row(b)).powi(2)).sum();
            (own, own * own + 2.0 * others)
        })
        .collect();
    let trace: f64 = squares.iter().map(|(own, _)| own).sum();
    let norm: f64 = squares.iter().map(|(_, sum)| sum).sum();
    let length: f64 = reduce::sum_squares(rows.data());
    // What is left of equal rows is rounding.
    (trace > 1e-9 * length).then(|| trace * trace / norm)
}

/// Rows of a matrix.
fn select(matrix: &Dense, nodes: &[u32]) -> Dense {
    let mut data = Vec::with_capacity(nodes.len() * matrix.n_cols());
    nodes.iter().for_each(|&node| data.extend_from_slice(matrix.row(node as usize)));
    Dense::from_parts(nodes.len(), matrix.n_cols(), data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use proptest::prelude::*;

    fn random(n: usize, d: usize, seed: u64) -> Dense {
        let mut stream = Stream::new(seed, "test", "quality", 0);
        Dense::from_parts(n, d, (0..n * d).map(|_| stream.normal() as Real).collect())
    }

    #[test]
    fn what_cannot_be_measured_is_missing() {
        let equal = Dense::from_parts(30, 3, [0.5, 0.25, 1.0].repeat(30));
        let nodes: Vec<u32> = (0..30).collect();
        let quality = Quality::measure(&equal, &nodes, &PairSample::default()).unwrap();
        assert_eq!(quality, Quality::default());
        assert_eq!(serde_json::to_string(&quality).unwrap(), "{}");
        let few = Quality::measure(&random(8, 3, 0), &nodes[..8], &PairSample::default()).unwrap();
        assert!(few.calinski_harabasz.is_none() && few.effective_rank.is_some());
    }

    #[test]
    fn effective_rank_counts_directions() {
        // Two orthogonal directions of equal variance, then one that has nine times the variance of the other.
        let alike = Dense::from_parts(4, 3, vec![1., 0., 5., -1., 0., 5., 0., 1., 5., 0., -1., 5.]);
        assert!((effective_rank(&alike).unwrap() - 2.0).abs() < 1e-6);
        let unlike = Dense::from_parts(4, 2, vec![3., 0., -3., 0., 0., 1., 0., -1.]);
        assert!((effective_rank(&unlike).unwrap() - 100.0 / 82.0).abs() < 1e-6);
    }

    #[test]
    fn separated_clusters_and_close_neighbors_score_higher() {
        let mut stream = Stream::new(1, "test", "quality", 1);
        let mut embeddings = |apart: f64| {
            let center = |at: usize| if (at / 12) % 10 == at % 12 { apart } else { 0.0 };
            let data = (0..400 * 12).map(|at| (center(at) + stream.normal()) as Real).collect();
            Dense::from_parts(400, 12, data)
        };
        let (near, far) = (embeddings(1.0), embeddings(4.0));
        let nodes: Vec<u32> = (0..400).collect();
        let pairs = PairSample {
            edges: (0..200).map(|node| (node, node + 10)).collect(),
            non_edges: (0..200).map(|node| (node, node + 13)).collect(),
        };
        let [near, far] = [near, far].map(|z| Quality::measure(&z, &nodes, &pairs).unwrap());
        assert!(far.calinski_harabasz > near.calinski_harabasz, "{near:?} {far:?}");
        assert!(far.edge_auc > near.edge_auc && far.edge_auc.unwrap() > 0.9, "{near:?} {far:?}");
    }

    proptest! {
        #[test]
        fn scale_rotation_of_columns_and_threads_do_not_matter(seed in 0_u64..1000, scale in 0.1_f64..10.0) {
            let z = random(60, 5, seed);
            let moved: Vec<Real> = z
                .data()
                .chunks_exact(5)
                .flat_map(|row| (0..5).map(|column| (f64::from(row[(column + 2) % 5]) * scale) as Real))
                .collect();
            let moved = Dense::from_parts(60, 5, moved);
            let nodes: Vec<u32> = (0..60).collect();
            let mut stream = Stream::new(seed, "test", "quality", 2);
            let mut draw = || (0..40).map(|_| (stream.below(60) as u32, stream.below(60) as u32)).collect();
            let pairs = PairSample { edges: draw(), non_edges: draw() };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            let of = |z: &Dense| Quality::measure(z, &nodes, &pairs).unwrap();
            let (one, other) = (of(&z), of(&moved));
            prop_assert_eq!(one, pool.install(|| of(&z)));
            prop_assert!((one.edge_auc.unwrap() - other.edge_auc.unwrap()).abs() < 1e-3);
            prop_assert!((one.effective_rank.unwrap() / other.effective_rank.unwrap() - 1.0).abs() < 1e-4);
            prop_assert!((1.0..=5.0001).contains(&one.effective_rank.unwrap()));
            let fixed: Vec<u32> = (0..60).map(|node| node % 4).collect();
            let index = |z: &Dense| calinski_harabasz(&unit_rows(&Features::Dense(z.clone())), &fixed).unwrap();
            prop_assert!((index(&z) / index(&moved) - 1.0).abs() < 1e-4);
        }
    }
}
