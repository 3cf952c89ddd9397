//! The Rayleigh quotient of signals on a graph: low for smooth signals, high for rough ones.

use std::ops::Range;
use std::sync::OnceLock;

use super::{Adjacency, Csr, Relation, operator};
use crate::Real;
use crate::kernels::{reduce, spectral};

/// The normalized Laplacian L = I − D^-½ A D^-½, for the Rayleigh quotient RQ(H) = tr(Hᵀ L H) / ‖H‖² of a signal H on the
/// nodes. RQ is in [0, 2]; white noise gives about 1.
///
/// Each relation of a graph with types has a Laplacian of its own on the nodes of its two types.
#[derive(Clone, Debug)]
pub struct Laplacian<'g> {
    adjacency: &'g Adjacency,
    scale: Vec<f64>,
    relations: OnceLock<Vec<RelationLaplacian>>,
}

/// The Laplacian of one relation.
#[derive(Clone, Debug)]
struct RelationLaplacian {
    matrix: Csr,
    scale: Vec<f64>,
    /// The nodes of its types; none for all nodes.
    nodes: Vec<Range<usize>>,
}

impl<'g> Laplacian<'g> {
    /// The Laplacian of a graph.
    pub fn new(adjacency: &'g Adjacency) -> Self {
        let scale = operator::inverse_sqrt_degrees(adjacency);
        Laplacian { adjacency, scale, relations: OnceLock::new() }
    }

    /// The Rayleigh quotient of H, given as blocks of columns, each n × width. The quotient of H = 0 is 0.
    pub fn rayleigh(&self, parts: &[&[Real]]) -> f64 {
        quotient(self.adjacency, &self.scale, &[], parts)
    }

    /// The Rayleigh quotient of H in each relation: tr(Hᵀ Lᵣ H) / ‖H‖² with H restricted to the nodes of the relation's types. Edges
    /// of a directed relation count in both directions, (A + Aᵀ)/2. Empty for a homogeneous graph.
    pub fn rayleigh_by_relation(&self, parts: &[&[Real]]) -> Vec<f64> {
        let of = |laplacian: &RelationLaplacian| {
            quotient(&laplacian.matrix, &laplacian.scale, &laplacian.nodes, parts)
        };
        self.relations.get_or_init(|| self.of_relations()).iter().map(of).collect()
    }

    fn of_relations(&self) -> Vec<RelationLaplacian> {
        let Some(relations) = self.adjacency.relations() else { return Vec::new() };
        let of = |(at, relation): (usize, &Relation)| {
            let matrix = relations.matrix_of(self.adjacency, at);
            let nodes = match relations.schema().types().len() {
                1 => Vec::new(),
                _ if relation.src == relation.dst => vec![relations.nodes(relation.src)],
                _ => vec![relations.nodes(relation.src), relations.nodes(relation.dst)],
            };
            RelationLaplacian { scale: operator::inverse_sqrt_degrees(&matrix), matrix, nodes }
        };
        relations.schema().relations().iter().enumerate().map(of).collect()
    }
}

/// The quotient on some nodes, or on all if `nodes` is empty; other nodes must have no edges.
fn quotient(adjacency: &Csr, scale: &[f64], nodes: &[Range<usize>], parts: &[&[Real]]) -> f64 {
    let n = adjacency.n_rows();
    let (mut energy, mut norm) = (0.0, 0.0);
    for part in parts {
        let width = part.len() / n.max(1);
        let (e, s) = spectral::dirichlet_energy(adjacency.sparse(), scale, part, width);
        let square = |range: &Range<usize>| {
            let rows = &part[range.start * width..range.end * width];
            reduce::dot(rows, rows)
        };
        energy += e;
        norm += if nodes.is_empty() { s } else { nodes.iter().map(square).sum() };
    }
    // Losses are means over nodes, so the norm of a gradient may be as small as 1e-8. The guard is far below that.
    energy / (norm + 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::EdgeList;
    use crate::rng::Stream;
    use proptest::prelude::*;

    fn graph(n: usize, pairs: Vec<(u32, u32)>) -> Adjacency {
        EdgeList { pairs, weights: None }.into_adjacency(n).unwrap().0
    }

    fn quotient(adjacency: &Adjacency, signal: &[f64]) -> f64 {
        let signal: Vec<Real> = signal.iter().map(|&x| x as Real).collect();
        Laplacian::new(adjacency).rayleigh(&[&signal])
    }

    #[test]
    fn known_signals() {
        // A cycle of six nodes with a pendant node, which is bipartite; node 7 is isolated.
        let cycle = (0..6).map(|u| (u, (u + 1) % 6)).chain([(0, 6)]).collect();
        let adjacency = graph(8, cycle);
        let root = |node: usize| (adjacency.row(node).len() as f64).sqrt();
        let smooth: Vec<f64> = (0..8).map(root).collect();
        assert!(quotient(&adjacency, &smooth) < 1e-9);
        let sign = |node: usize| if [1, 3, 5, 6].contains(&node) { -1.0 } else { 1.0 };
        let rough: Vec<f64> = (0..8).map(|node| sign(node) * root(node)).collect();
        assert!((quotient(&adjacency, &rough) - 2.0).abs() < 1e-6);
        let mut one = vec![0.0; 8];
        one[2] = -3.0;
        assert!((quotient(&adjacency, &one) - 1.0).abs() < 1e-9);
        assert!(quotient(&adjacency, &[0.0; 8]).abs() < 1e-12);
        let mut isolated = vec![0.0; 8];
        isolated[7] = 1.0;
        assert!(quotient(&adjacency, &isolated).abs() < 1e-12);
    }

    #[test]
    fn the_quotient_of_noise_is_about_one() {
        let mut stream = Stream::new(3, "test", "noise", 0);
        let n = 400;
        let pairs = (0..1600).map(|_| (stream.below(n) as u32, stream.below(n) as u32)).collect();
        let adjacency = graph(n, pairs);
        let signal: Vec<f64> = (0..n * 30).map(|_| stream.normal()).collect();
        assert!((quotient(&adjacency, &signal) - 1.0).abs() < 0.05);
    }

    proptest! {
        #[test]
        fn quotients_are_between_zero_and_two(seed in 0u64..10_000, n in 2usize..30, edges in 0usize..60) {
            let mut stream = Stream::new(seed, "test", "rq", 0);
            let pairs = (0..edges).map(|_| (stream.below(n) as u32, stream.below(n) as u32)).collect();
            let adjacency = graph(n, pairs);
            let signal: Vec<f64> = (0..n * 3).map(|_| stream.normal()).collect();
            let rq = quotient(&adjacency, &signal);
            prop_assert!((0.0..=2.0 + 1e-9).contains(&rq), "{}", rq);
        }
    }
}
