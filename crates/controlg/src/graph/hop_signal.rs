//! How much of what a node's features say do its neighbors say too? The answer weights features against smoothed features,
//! without labels.
//!
//! The model: the features of a node are a signal of variance s² plus independent noise, and the signals of nodes k edges apart
//! have correlation λᵏ. Then two features of an edge's ends have covariance λs², and those of two neighbors of a node λ²s². With
//! few edges or weak features, both are uncertain; so is s², which shows in the correlations between columns. Together they give
//! a posterior of λ and s².
//!
//! A linear filter W keeps the share a² = (Σ_u W_vu λ^dist(v,u))² of the signal and the share n = Σ_u W_vu² of the noise. Its
//! ratio is E[a²] / (n + κ), where κ is the noise that no smoothing removes: on homophilous graphs smoothing averages noise
//! away; where neighbors share nothing, it loses the signal. The weak signals of features that are mostly noise need smoothing
//! more than strong ones do, so κ falls with s².

use rayon::prelude::*;

use super::{Adjacency, Features, Graph};
use crate::Real;
use crate::error::Result;
use crate::kernels::matmul;
use crate::rng::Stream;

/// The weights of a node's features and of smoothed features, relative to the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HopWeights {
    /// The node's own features X.
    pub(crate) own: f64,
    /// The mean over the neighbors without the node itself, P·X.
    pub(crate) mean: f64,
    /// One step of a graph convolution, Â·X.
    pub(crate) once: f64,
    /// Two steps of a graph convolution, Â²·X.
    pub(crate) twice: f64,
}

/// What [`HopWeights`] are computed from.
#[derive(Clone, Copy, Debug)]
struct FeatureMoments {
    /// Covariance between the ends of an edge, relative to the variance of the features, and its standard error if neighbors
    /// share nothing.
    edge: (f64, f64),
    /// The same between two neighbors of a node.
    two_hops: (f64, f64),
    /// The variance of the signal, from the correlations between columns; at least what would show.
    signal: f64,
    /// Number of columns.
    columns: usize,
}

/// The posterior of λ, as its moments E[λᵏ], and of the signal.
#[derive(Clone, Copy, Debug)]
struct Posterior {
    /// E[λᵏ] for k from 0 to 4.
    lambda: [f64; 5],
    /// The geometric mean of s².
    signal: f64,
}

// The constants from here to SHARPNESS were set by validation accuracy on several graphs (results/README.md, search).

/// The share of noise that smoothing never removes from strong signals, κ.
const FLOOR: f64 = 0.1;
/// The variance of a signal direction, relative to the noise in it, at which κ is half of [`FLOOR`].
const WEAK: f64 = 0.5;
/// Mean and standard deviation of λ's prior.
const PRIOR: (f64, f64) = (0.5, 0.5);
/// Relative error of the covariances under the model: the signals of real graphs are not equally correlated everywhere.
const TOLERANCE: f64 = 0.2;
/// Standard deviation of the logarithm of the signal around what the correlations between columns say.
const SIGNAL_SPREAD: f64 = 1.0;
/// The number of signal directions that the correlations between columns are explained by.
const DIRECTIONS: f64 = 10.0;
/// The weight of a filter is this power of its ratio.
const SHARPNESS: f64 = 1.5;

impl HopWeights {
    /// The weights for a graph. Features that no node differs in, and graphs without edges, keep to the features alone.
    pub(crate) fn of(graph: &Graph) -> Result<HopWeights> {
        let Some(moments) = FeatureMoments::of(graph)? else {
            return Ok(HopWeights { own: 1.0, mean: 0.0, once: 0.0, twice: 0.0 });
        };
        let posterior = moments.posterior();
        let strength = posterior.signal * moments.columns as f64 / DIRECTIONS;
        let floor = FLOOR * strength / (strength + WEAK);
        let ratio = |filter: &FilterShares| filter.signal(&posterior.lambda) / (filter.noise + floor);
        let [mean, once, twice] = filters(graph.adjacency()).map(|filter| ratio(&filter));
        let ratios = [1.0 / (1.0 + floor), mean, once, twice];
        let best = ratios.into_iter().fold(0.0, f64::max);
        let [own, mean, once, twice] = ratios.map(|ratio| (ratio / best).powf(SHARPNESS));
        Ok(HopWeights { own, mean, once, twice })
    }

    /// Bytes that [`HopWeights::of`] needs.
    pub(crate) fn bytes(graph: &Graph) -> usize {
        let (n, d) = (graph.n_nodes(), graph.n_features());
        let squared = ((BUDGET / d as f64).sqrt() as usize).clamp(2, MAX_SQUARED).min(n);
        let row = match graph.stored_features() {
            None => graph.features().memory_bytes() / n,
            Some(_) => d * size_of::<Real>(),
        };
        let products = squared * (squared.min(SQUARED_ROWS) + d) * size_of::<Real>() + squared * row;
        let reached = (graph.adjacency().n_entries() / n + 1) * BLOCK;
        products.max(reached.min(n) * (row + size_of::<f64>() + size_of::<u32>())) + 9 * n * size_of::<f64>()
    }
}

impl FeatureMoments {
    /// The posterior, summed over a grid.
    fn posterior(&self) -> Posterior {
        // Log-likelihood of a covariance.
        let term = |(found, error): (f64, f64), expected: f64| {
            -0.5 * (found - expected).powi(2) / (error.powi(2) + (TOLERANCE * found).powi(2))
        };
        let normal = |deviations: f64| -0.5 * deviations.powi(2);
        let mut points = Vec::new();
        for lambda in (-50..=50).map(|at| f64::from(at) / 50.0) {
            let prior = normal((lambda - PRIOR.0) / PRIOR.1);
            for spread in (-80..=80).map(|at| f64::from(at) / 20.0) {
                let signal = self.signal * f64::exp(SIGNAL_SPREAD * spread);
                let edge = term(self.edge, lambda * signal);
                let two_hops = term(self.two_hops, lambda * lambda * signal);
                points.push((lambda, signal.ln(), prior + normal(spread) + edge + two_hops));
            }
        }
        let best = points.iter().fold(f64::NEG_INFINITY, |best, point| best.max(point.2));
        let (mut total, mut lambda, mut log_signal) = (0.0, [0.0; 5], 0.0);
        for (value, log, likelihood) in points {
            let weight = f64::exp(likelihood - best);
            total += weight;
            log_signal += weight * log;
            lambda.iter_mut().zip(0..).for_each(|(sum, power)| *sum += weight * value.powi(power));
        }
        Posterior { lambda: lambda.map(|sum| sum / total), signal: f64::exp(log_signal / total) }
    }

    /// The moments of standardized features; `None` if there is nothing to measure.
    fn of(graph: &Graph) -> Result<Option<FeatureMoments>> {
        let centers = sampled(graph.n_nodes(), MAX_CENTERS, "centers");
        let columns = Columns::of(graph, &centers)?;
        let (d, n) = (columns.used as f64, centers.len() as f64);
        let degree = |&node: &u32| graph.degree(node as usize).min(MAX_NEIGHBORS) as f64;
        let pairs: f64 = centers.iter().map(degree).sum();
        let siblings: f64 = centers.iter().map(|node| degree(node) * (degree(node) - 1.0)).sum();
        if columns.used == 0 || pairs == 0.0 || n < 3.0 {
            return Ok(None);
        }
        let (mut edge, mut two_hops) = (0.0, 0.0);
        for block in centers.chunks(BLOCK) {
            let (one, two) = columns.covariances(graph, block)?;
            edge += one;
            two_hops += two;
        }
        // Any two different nodes have covariance −1/(n − 1) on average, because columns are centered.
        let by_chance = 1.0 / (n - 1.0);
        let rows = ((BUDGET / d).sqrt() as usize).clamp(2, MAX_SQUARED);
        let rows = spread(&centers, rows);
        let (found, expected) = columns.squared_products(graph, &rows)?;
        if found <= 0.0 {
            return Ok(None);
        }
        // The mean of squares has a relative error of 2 / rows. Two of them are within chance.
        let error = 2.0 / rows.len() as f64 * expected;
        let excess = (found - expected - 2.0 * error).max(error);
        let standard_error = |pairs: f64| (found / (pairs / 2.0)).sqrt() / d;
        Ok(Some(FeatureMoments {
            edge: (edge / (pairs * d) + by_chance, standard_error(pairs)),
            two_hops: (two_hops / (siblings.max(1.0) * d) + by_chance, standard_error(siblings)),
            signal: (DIRECTIONS * excess).sqrt() / d,
            columns: columns.used,
        }))
    }
}

/// Nodes whose neighbors are looked at; all of smaller graphs.
const MAX_CENTERS: usize = 1 << 16;
/// Neighbors of a node that are looked at.
const MAX_NEIGHBORS: usize = 1 << 12;
/// Nodes looked at together.
const BLOCK: usize = 2048;
/// Nodes whose products with each other are squared, at most.
const MAX_SQUARED: usize = 4096;
/// Nodes of these whose products are computed together.
const SQUARED_ROWS: usize = 512;
/// Rows² × columns of these products.
const BUDGET: f64 = 2.5e10;

/// Mean, inverse deviation and kurtosis of the feature columns.
struct Columns {
    mean: Vec<f64>,
    inverse: Vec<f64>,
    kurtosis: Vec<f64>,
    /// Number of columns that vary.
    used: usize,
}

impl Columns {
    fn of(graph: &Graph, nodes: &[u32]) -> Result<Columns> {
        let (d, n) = (graph.n_features(), nodes.len() as f64);
        let mut powers = vec![[0.0; 4]; d];
        for block in nodes.chunks(BLOCK) {
            let rows = graph.rows(block)?;
            for row in 0..block.len() {
                each(&rows, row, |column, x| {
                    let power = &mut powers[column];
                    let squared = x * x;
                    power[0] += x;
                    power[1] += squared;
                    power[2] += x * squared;
                    power[3] += squared * squared;
                });
            }
        }
        let mut columns =
            Columns { mean: vec![0.0; d], inverse: vec![0.0; d], kurtosis: vec![0.0; d], used: 0 };
        for (at, power) in powers.into_iter().enumerate() {
            let [m, second, third, fourth] = power.map(|sum| sum / n);
            let variance = second - m * m;
            if variance > 1e-12 * second.max(f64::MIN_POSITIVE) {
                let central = fourth - 4.0 * m * third + 6.0 * m * m * second - 3.0 * m.powi(4);
                columns.mean[at] = m;
                columns.inverse[at] = variance.powf(-0.5);
                columns.kurtosis[at] = (central / (variance * variance)).max(1.0);
                columns.used += 1;
            }
        }
        Ok(columns)
    }

    /// The sums over some nodes of f_v·Σf_u over neighbors u, and of ‖Σf_u‖² − Σ‖f_u‖², where f are standardized rows.
    fn covariances(&self, graph: &Graph, nodes: &[u32]) -> Result<(f64, f64)> {
        let neighbors = |node: u32| {
            let all = graph.neighbors(node as usize);
            &all[..all.len().min(MAX_NEIGHBORS)]
        };
        let mut reached: Vec<u32> = nodes.iter().flat_map(|&node| neighbors(node)).copied().collect();
        reached.extend_from_slice(nodes);
        reached.sort_unstable();
        reached.dedup();
        let rows = graph.rows(&reached)?;
        let place = |node: u32| reached.binary_search(&node).expect("every node was collected");
        // f = x·s − c, with s the inverse deviations and c = mean·s.
        let shift: Vec<f64> = self.mean.iter().zip(&self.inverse).map(|(mean, s)| mean * s).collect();
        let shift_norm: f64 = shift.iter().map(|c| c * c).sum();
        let norm = |row: usize| {
            let mut sum = shift_norm;
            each(&rows, row, |column, x| {
                let x = x * self.inverse[column];
                sum += x * (x - 2.0 * shift[column]);
            });
            sum
        };
        let norms: Vec<f64> = (0..reached.len()).into_par_iter().map(norm).collect();
        let sums: Vec<(f64, f64)> = nodes
            .par_iter()
            .map_init(
                || vec![0.0; self.mean.len()],
                |total, &node| {
                    let degree = neighbors(node).len() as f64;
                    total.iter_mut().zip(&shift).for_each(|(total, c)| *total = -degree * c);
                    let mut own_norms = 0.0;
                    for &other in neighbors(node) {
                        let row = place(other);
                        own_norms += norms[row];
                        each(&rows, row, |column, x| total[column] += x * self.inverse[column]);
                    }
                    let mut product: f64 = -total.iter().zip(&shift).map(|(total, c)| total * c).sum::<f64>();
                    each(&rows, place(node), |column, x| product += x * self.inverse[column] * total[column]);
                    let squared: f64 = total.iter().map(|x| x * x).sum();
                    (product, squared - own_norms)
                },
            )
            .collect();
        Ok(sums.into_iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y)))
    }

    /// The mean of (f_u·f_v)² over pairs of different nodes, and what it would be if columns were independent.
    fn squared_products(&self, graph: &Graph, nodes: &[u32]) -> Result<(f64, f64)> {
        let (n, d) = (nodes.len(), self.mean.len());
        let rows = graph.rows(nodes)?;
        let mut f = vec![0.0; n * d];
        f.par_chunks_mut(d).enumerate().for_each(|(row, to)| {
            for ((to, mean), s) in to.iter_mut().zip(&self.mean).zip(&self.inverse) {
                *to = (-mean * s) as Real;
            }
            each(&rows, row, |column, x| to[column] += (x * self.inverse[column]) as Real);
        });
        let mut sums = 0.0;
        let mut products = vec![0.0; SQUARED_ROWS.min(n) * n];
        for (block, first) in f.chunks(SQUARED_ROWS * d).zip((0..).step_by(SQUARED_ROWS)) {
            let products = &mut products[..block.len() / d * n];
            matmul::nt(block.len() / d, d, n, block, &f, products, false);
            let of_row = |(at, row): (usize, &[Real])| {
                let all: f64 = row.iter().map(|&x| f64::from(x).powi(2)).sum();
                all - f64::from(row[first + at]).powi(2)
            };
            let of_rows: Vec<f64> = products.par_chunks(n).enumerate().map(of_row).collect();
            sums += of_rows.into_iter().sum::<f64>();
        }
        let pairs = (n * (n - 1)) as f64;
        let all = graph.n_nodes().min(MAX_CENTERS) as f64;
        let varying = self.kurtosis.iter().filter(|&&kurtosis| kurtosis > 0.0);
        let expected: f64 = varying.map(|kurtosis| (all - kurtosis) / (all - 1.0)).sum();
        let centering = (self.used as f64 / (all - 1.0)).powi(2);
        Ok((sums / pairs, expected + centering))
    }
}

/// Calls a function with the nonzero values of a row.
fn each(features: &Features, row: usize, mut visit: impl FnMut(usize, f64)) {
    match features {
        Features::Dense(dense) => {
            dense.row(row).iter().enumerate().for_each(|(column, &x)| visit(column, f64::from(x)));
        }
        Features::Sparse(csr) => {
            csr.entries(row).for_each(|(column, x)| visit(column as usize, f64::from(x)))
        }
    }
}

/// Some of n nodes in ascending order, or all.
fn sampled(n: usize, most: usize, purpose: &str) -> Vec<u32> {
    if n <= most {
        return (0..n as u32).collect();
    }
    let mut nodes = Stream::new(0, "hop signal", purpose, 0).sample(n, most);
    nodes.sort_unstable();
    nodes
}

/// Some of the nodes.
fn spread(nodes: &[u32], most: usize) -> Vec<u32> {
    sampled(nodes.len(), most, "products").into_iter().map(|at| nodes[at as usize]).collect()
}

/// What a filter keeps of signal and noise, as means over nodes.
#[derive(Clone, Copy, Debug, Default)]
struct FilterShares {
    /// a² as a polynomial in λ: the coefficients of λ⁰ to λ⁴.
    signal: [f64; 5],
    /// n.
    noise: f64,
}

impl FilterShares {
    /// a² for powers of λ, or its expectation for their expectations.
    fn signal(&self, powers: &[f64; 5]) -> f64 {
        self.signal.iter().zip(powers).map(|(coefficient, power)| coefficient * power).sum()
    }
}

/// The shares of the filters P, Â and Â². Edges count alike, whatever their weight. Walks of two steps are counted as if they
/// ended at different nodes.
fn filters(adjacency: &Adjacency) -> [FilterShares; 3] {
    let n = adjacency.n_rows();
    let scale: Vec<f64> = (0..n).map(|v| 1.0 / (1.0 + adjacency.row(v).len() as f64)).collect();
    let sum_over =
        |v: usize, f: &dyn Fn(usize) -> f64| -> f64 { adjacency.row(v).iter().map(|&u| f(u as usize)).sum() };
    // Σ_w of 1/√d̃ and of 1/d̃ over the neighbors.
    let roots: Vec<f64> = (0..n).into_par_iter().map(|v| sum_over(v, &|u| scale[u].sqrt())).collect();
    let inverses: Vec<f64> = (0..n).into_par_iter().map(|v| sum_over(v, &|u| scale[u])).collect();
    // (c₀ + c₁λ + c₂λ²)²
    let squared = |[own, near, far]: [f64; 3]| {
        [own * own, 2.0 * own * near, near * near + 2.0 * own * far, 2.0 * near * far, far * far]
    };
    let of_node = |v: usize| {
        let (own, degree) = (scale[v], adjacency.row(v).len() as f64);
        let mean = match degree > 0.0 {
            true => FilterShares { signal: squared([0.0, 1.0, 0.0]), noise: 1.0 / degree },
            false => FilterShares::default(),
        };
        let once = FilterShares {
            signal: squared([own, own.sqrt() * roots[v], 0.0]),
            noise: own * own + own * inverses[v],
        };
        // Entries of Â²: at v itself, at its neighbors, and at nodes two steps away.
        let at_own = own * own + own * inverses[v];
        let near = |u: usize| (own + scale[u]) * (own * scale[u]).sqrt();
        let far = sum_over(v, &|u| own.sqrt() * scale[u] * (roots[u] - own.sqrt()));
        let twice = FilterShares {
            signal: squared([at_own, sum_over(v, &near), far]),
            noise: at_own * at_own
                + sum_over(v, &|u| near(u).powi(2))
                + sum_over(v, &|u| own * scale[u].powi(2) * (inverses[u] - own)),
        };
        [mean, once, twice]
    };
    let all: Vec<[FilterShares; 3]> = (0..n).into_par_iter().map(of_node).collect();
    let mut result = [FilterShares::default(); 3];
    for node in all {
        for (total, shares) in result.iter_mut().zip(node) {
            total.signal.iter_mut().zip(shares.signal).for_each(|(total, x)| *total += x / n as f64);
            total.noise += shares.noise / n as f64;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;

    fn weights(name: &str) -> HopWeights {
        HopWeights::of(&data::load(name, &data::LoadOptions::default()).unwrap().graph).unwrap()
    }

    #[test]
    fn homophilous_graphs_prefer_smoothing_and_heterophilous_ones_the_features() {
        let similar = weights("synthetic:nodes=1500,features=300,homophily=0.9");
        assert!(similar.twice > 0.9 && similar.own < 0.5 * similar.twice, "{similar:?}");
        let unrelated = weights("synthetic:nodes=1500,features=300,homophily=0.15");
        assert!(unrelated.own > 0.99 && unrelated.mean < 0.03, "{unrelated:?}");
    }

    #[test]
    fn precise_covariances_give_lambda_and_imprecise_ones_the_prior() {
        let moments = |edge, two_hops| FeatureMoments { edge, two_hops, signal: 0.01, columns: 100 };
        let mean = |moments: FeatureMoments| moments.posterior().lambda[1];
        let precise = mean(moments((0.006, 1e-6), (0.0036, 1e-6)));
        assert!((precise - 0.6).abs() < 0.1, "{precise}");
        let opposed = mean(moments((-0.006, 1e-6), (0.0036, 1e-6)));
        assert!((opposed + 0.6).abs() < 0.15, "{opposed}");
        let unknown = mean(moments((0.0, 1.0), (0.0, f64::INFINITY)));
        assert!((0.3..0.5).contains(&unknown), "the prior between −1 and 1: {unknown}");
    }

    #[test]
    fn features_without_structure_leave_it_open() {
        let mut stream = Stream::new(5, "test", "hop signal", 0);
        let (n, d) = (500, 200);
        let edges: Vec<(u32, u32)> = (0..1000)
            .map(|_| (stream.below(n) as u32, stream.below(n) as u32))
            .filter(|(u, v)| u != v)
            .collect();
        let data = (0..n * d).map(|_| stream.normal() as Real).collect();
        let graph = Graph::from_edges(n, &edges, Features::dense(n, d, data).unwrap()).unwrap();
        let weights = HopWeights::of(&graph).unwrap();
        // Features with structure would settle it: their neighbors share nothing.
        assert!(weights.own > 0.3 && weights.twice > 0.9, "{weights:?}");
    }

    #[test]
    fn graphs_without_edges_or_without_features_that_differ_keep_the_features() {
        let alone = HopWeights { own: 1.0, mean: 0.0, once: 0.0, twice: 0.0 };
        assert_eq!(weights("synthetic:nodes=50,features=20,degree=0"), alone);
        let same = Features::dense(4, 2, vec![1.0; 8]).unwrap();
        let graph = Graph::from_edges(4, &[(0, 1), (1, 2)], same).unwrap();
        assert_eq!(HopWeights::of(&graph).unwrap(), alone);
    }

    /// The covariances by dense loops over all pairs of nodes.
    #[test]
    fn moments_equal_their_definitions() {
        let graph = data::load("synthetic:nodes=60,features=12,homophily=0.8", &data::LoadOptions::default());
        let graph = graph.unwrap().graph;
        let (n, d) = (graph.n_nodes(), graph.n_features());
        let mut f = vec![vec![0.0; d]; n];
        for (row, to) in f.iter_mut().enumerate() {
            graph.features().row(row).into_iter().for_each(|(column, x)| to[column as usize] = f64::from(x));
        }
        for column in 0..d {
            let mean = f.iter().map(|row| row[column]).sum::<f64>() / n as f64;
            let variance = f.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / n as f64;
            f.iter_mut().for_each(|row| row[column] = (row[column] - mean) / variance.sqrt());
        }
        let dot = |u: usize, v: usize| f[u].iter().zip(&f[v]).map(|(a, b)| a * b).sum::<f64>();
        let (mut edge, mut pairs, mut two, mut siblings) = (0.0, 0.0, 0.0, 0.0);
        for v in 0..n {
            for &u in graph.neighbors(v) {
                edge += dot(u as usize, v);
                pairs += 1.0;
                for &w in graph.neighbors(v).iter().filter(|&&w| w != u) {
                    two += dot(u as usize, w as usize);
                    siblings += 1.0;
                }
            }
        }
        let moments = FeatureMoments::of(&graph).unwrap().unwrap();
        let chance = 1.0 / (n as f64 - 1.0);
        assert!((moments.edge.0 - (edge / pairs / d as f64 + chance)).abs() < 1e-9);
        assert!((moments.two_hops.0 - (two / siblings / d as f64 + chance)).abs() < 1e-9);
        let squares = (0..n).flat_map(|u| (0..n).filter(move |&v| v != u).map(move |v| (u, v)));
        let squares: f64 = squares.map(|(u, v)| dot(u, v).powi(2)).sum::<f64>() / (n * (n - 1)) as f64;
        assert!((moments.edge.1 - (2.0 * squares / pairs).sqrt() / d as f64).abs() < 1e-6);
        assert!((moments.two_hops.1 - (2.0 * squares / siblings).sqrt() / d as f64).abs() < 1e-6);
    }

    /// The filters' shares on a tree, where walks of two steps do end at different nodes, from explicit matrices.
    #[test]
    fn filters_equal_their_definitions_on_a_tree() {
        let edges = [(0, 1), (1, 2), (1, 3), (3, 4), (4, 5)];
        let features = Features::dense(6, 1, (0..6).map(|x| x as Real).collect()).unwrap();
        let graph = Graph::from_edges(6, &edges, features).unwrap();
        let mut hops = [[0i32; 6]; 6];
        for (u, row) in hops.iter_mut().enumerate() {
            let mut seen = vec![u];
            let mut distance = 0;
            while !seen.is_empty() {
                seen.iter().for_each(|&v| row[v] = distance);
                let next = seen.iter().flat_map(|&v| graph.neighbors(v)).map(|&v| v as usize);
                seen = next.filter(|&v| v != u && row[v] == 0).collect();
                distance += 1;
            }
        }
        let scale = |v: usize| (1.0 + graph.degree(v) as f64).powf(-0.5);
        let entry = |u: usize, v: usize| if hops[u][v] <= 1 { scale(u) * scale(v) } else { 0.0 };
        let squared = |u: usize, v: usize| (0..6).map(|w| entry(u, w) * entry(w, v)).sum::<f64>();
        let lambda: f64 = 0.7;
        let share = |matrix: &dyn Fn(usize, usize) -> f64| {
            let of = |u: usize| {
                let kept: f64 = (0..6).map(|v| matrix(u, v) * lambda.powi(hops[u][v])).sum();
                (kept * kept, (0..6).map(|v| matrix(u, v).powi(2)).sum::<f64>())
            };
            (0..6).map(of).fold((0.0, 0.0), |(a, b), (x, y)| (a + x / 6.0, b + y / 6.0))
        };
        let powers = [0, 1, 2, 3, 4].map(|power| lambda.powi(power));
        let found = filters(graph.adjacency());
        for (found, expected) in found[1..].iter().zip([share(&entry), share(&squared)]) {
            let (signal, noise) = (found.signal(&powers), found.noise);
            assert!(
                (signal - expected.0).abs() < 1e-12 && (noise - expected.1).abs() < 1e-12,
                "{found:?} {expected:?}"
            );
        }
    }
}
