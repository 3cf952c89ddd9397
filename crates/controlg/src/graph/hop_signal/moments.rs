//! Moments of the features: how much the ends of edges and the neighbors of a node have in common, and how much structure
//! there is at all.

use rayon::prelude::*;

use super::DIRECTIONS;
use crate::Real;
use crate::error::Result;
use crate::graph::{Features, Graph};
use crate::kernels::matmul;
use crate::rng::Stream;

/// What [`HopWeights`](super::HopWeights) are computed from.
#[derive(Clone, Copy, Debug)]
pub(super) struct FeatureMoments {
    /// Covariance between the ends of an edge, relative to the variance of the features, and its standard error if neighbors
    /// share nothing.
    pub(super) edge: (f64, f64),
    /// The same between two neighbors of a node.
    pub(super) two_hops: (f64, f64),
    /// The variance of the signal, from the correlations between columns; at least what would show.
    pub(super) signal: f64,
    /// Number of columns.
    pub(super) columns: usize,
}

impl FeatureMoments {
    /// The moments of standardized features; `None` if there is nothing to measure.
    pub(super) fn of(graph: &Graph) -> Result<Option<FeatureMoments>> {
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

    /// Bytes that [`FeatureMoments::of`] needs.
    pub(super) fn bytes(graph: &Graph) -> usize {
        let (n, d) = (graph.n_nodes(), graph.n_features());
        let squared = ((BUDGET / d as f64).sqrt() as usize).clamp(2, MAX_SQUARED).min(n);
        let row = match graph.stored_features() {
            None => graph.features().memory_bytes() / n,
            Some(_) => d * size_of::<Real>(),
        };
        let products = squared * (squared.min(SQUARED_ROWS) + d) * size_of::<Real>() + squared * row;
        let reached = (graph.adjacency().n_entries() / n + 1) * BLOCK;
        products.max(reached.min(n) * (row + size_of::<f64>() + size_of::<u32>()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;

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
}
