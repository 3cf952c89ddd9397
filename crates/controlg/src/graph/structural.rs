//! Structural features for graphs without node features, computed from the edges.
//!
//! The first columns describe the role of a node: its degree, the mean degree of its neighbors, and its core number (standardized
//! logarithms). The others describe its position: a random projection of its random walks of one to three steps, as in FastRP
//! (Chen et al., CIKM 2019), with rows of norm 1, so that nodes with common neighborhoods get similar features. The projection
//! is the same for every run.

use rayon::prelude::*;

use super::{Adjacency, Csr, Dense, Features};
use crate::Real;
use crate::rng::Stream;

/// Number of structural features per node.
pub const WIDTH: usize = 128;
const ROLES: usize = 3;
const POSITIONS: usize = WIDTH - ROLES;
/// Rows per random stream.
const CHUNK: usize = 1 << 12;

/// Computes the structural features of a graph, n × [`WIDTH`].
pub fn features(adjacency: &Adjacency) -> Features {
    let n = adjacency.n_rows();
    let (roles, positions) = (roles(adjacency), positions(adjacency));
    let mut data = vec![0.0; n * WIDTH];
    data.par_chunks_mut(WIDTH).enumerate().for_each(|(node, row)| {
        for (cell, column) in row.iter_mut().zip(&roles) {
            *cell = column[node];
        }
        row[ROLES..].copy_from_slice(&positions[node * POSITIONS..(node + 1) * POSITIONS]);
    });
    Features::Dense(Dense::from_parts(n, WIDTH, data))
}

/// Degree, mean degree of the neighbors and core number, as standardized logarithms.
fn roles(adjacency: &Csr) -> [Vec<Real>; ROLES] {
    let degree = |node: usize| adjacency.row(node).len() as f64;
    let nodes = 0..adjacency.n_rows();
    let of_neighbors = |node: usize| {
        let total: f64 = adjacency.row(node).iter().map(|&other| degree(other as usize)).sum();
        total / degree(node).max(1.0)
    };
    let cores = core_numbers(adjacency);
    [
        standardized(nodes.clone().map(|node| degree(node).ln_1p()).collect()),
        standardized(nodes.clone().map(|node| of_neighbors(node).ln_1p()).collect()),
        standardized(nodes.map(|node| f64::from(cores[node]).ln_1p()).collect()),
    ]
}

fn standardized(column: Vec<f64>) -> Vec<Real> {
    let n = column.len() as f64;
    let mean = column.iter().sum::<f64>() / n;
    let deviation = (column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    column.iter().map(|x| ((x - mean) / (deviation + 1e-8)) as Real).collect()
}

/// The core number of each node: the largest k such that the node is in a subgraph of minimum degree k (peeling by buckets of
/// equal remaining degree, Batagelj and Zaveršnik).
fn core_numbers(adjacency: &Csr) -> Vec<u32> {
    let n = adjacency.n_rows();
    let mut remaining: Vec<u32> = (0..n).map(|node| adjacency.row(node).len() as u32).collect();
    let max_degree = remaining.iter().max().map_or(0, |&degree| degree as usize);
    let mut buckets = vec![Vec::new(); max_degree + 1];
    for (node, &degree) in remaining.iter().enumerate() {
        buckets[degree as usize].push(node as u32);
    }
    let mut done = vec![false; n];
    for core in 0..=max_degree {
        while let Some(node) = buckets[core].pop() {
            // A node stays in every bucket that it has passed through; only its last entry counts.
            if std::mem::replace(&mut done[node as usize], true) {
                continue;
            }
            remaining[node as usize] = core as u32;
            for &other in adjacency.row(node as usize) {
                let left = &mut remaining[other as usize];
                if !done[other as usize] && *left as usize > core {
                    *left -= 1;
                    buckets[*left as usize].push(other);
                }
            }
        }
    }
    remaining
}

/// The sum of the random projections after one, two and three random-walk steps, with rows of norm 1 (0 for isolated nodes).
fn positions(adjacency: &Csr) -> Vec<Real> {
    let n = adjacency.n_rows();
    let mut at = vec![0.0; n * POSITIONS];
    at.par_chunks_mut(CHUNK * POSITIONS).enumerate().for_each(|(chunk, rows)| {
        let mut stream = Stream::new(0, "structural", "projection", chunk as u64);
        for cells in rows.chunks_mut(64) {
            let signs = stream.bits();
            for (bit, cell) in cells.iter_mut().enumerate() {
                *cell = if signs >> bit & 1 == 0 { -1.0 } else { 1.0 };
            }
        }
    });
    let mut sum = vec![0.0; n * POSITIONS];
    let mut next = vec![0.0; n * POSITIONS];
    for _ in 0..3 {
        next.par_chunks_mut(POSITIONS).zip(sum.par_chunks_mut(POSITIONS)).enumerate().for_each(
            |(node, (row, sum))| {
                row.fill(0.0);
                let neighbors = adjacency.row(node);
                let share = 1.0 / neighbors.len().max(1) as Real;
                for &other in neighbors {
                    let other = &at[other as usize * POSITIONS..][..POSITIONS];
                    row.iter_mut().zip(other).for_each(|(cell, x)| *cell += share * x);
                }
                // Normalize, so that every walk length has the same weight.
                let norm = row.iter().map(|x| x * x).sum::<Real>().sqrt().max(1e-8);
                sum.iter_mut().zip(&*row).for_each(|(total, x)| *total += x / norm);
            },
        );
        std::mem::swap(&mut at, &mut next);
    }
    sum.par_chunks_mut(POSITIONS).for_each(|row| {
        let norm = row.iter().map(|x| x * x).sum::<Real>().sqrt().max(1e-8);
        row.iter_mut().for_each(|x| *x /= norm);
    });
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::EdgeList;

    fn adjacency(n: usize, pairs: &[(u32, u32)]) -> Adjacency {
        EdgeList { pairs: pairs.to_vec(), weights: None }.into_adjacency(n).unwrap().0
    }

    #[test]
    fn core_numbers_of_a_triangle_with_a_tail() {
        let graph = adjacency(6, &[(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]);
        assert_eq!(core_numbers(&graph), [2, 2, 2, 1, 1, 0]);
    }

    #[test]
    fn rows_are_finite_and_equal_neighborhoods_give_equal_rows() {
        // Nodes 1 and 2 have the same neighbors; node 5 has none.
        let graph = adjacency(6, &[(0, 1), (0, 2), (3, 1), (3, 2), (3, 4)]);
        let Features::Dense(dense) = features(&graph) else { panic!("dense") };
        assert!(dense.data().iter().all(|x| x.is_finite()));
        assert_eq!(dense.row(1), dense.row(2));
        assert_ne!(dense.row(1), dense.row(4));
        assert!(dense.row(5)[ROLES..].iter().all(|&x| x == 0.0));
    }
}
