//! Edge splits for link prediction: the protocol `edges-70-10-20`.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::{hash_line, hex};
use crate::error::{Error, Result};
use crate::graph::{EdgeList, Graph};
use crate::rng::Stream;

/// Node pairs (u, v) with u < v.
type Pairs = Vec<(u32, u32)>;

/// Train, validation and test edges, with one negative (a pair without an edge) for each.
///
/// Of E undirected edges, ⌊0.1·E⌋ are for validation, ⌊0.2·E⌋ for testing and the rest for training. Pretraining for
/// link prediction sees the training edges only ([`EdgeSplit::training_graph`]). Negatives are distinct pairs drawn
/// uniformly from the non-edges of the whole graph; no pair is in two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeSplit {
    /// The random seed.
    pub seed: u64,
    /// Training edges; pretraining sees no others.
    pub train: Pairs,
    /// Validation edges.
    pub val: Pairs,
    /// Test edges.
    pub test: Pairs,
    /// Training negatives.
    pub train_negatives: Pairs,
    /// Validation negatives.
    pub val_negatives: Pairs,
    /// Test negatives.
    pub test_negatives: Pairs,
}

impl EdgeSplit {
    /// The protocol's name.
    pub const PROTOCOL: &str = "edges-70-10-20";

    /// Splits the edges of a graph at random, determined by `seed`.
    pub fn draw(graph: &Graph, seed: u64) -> Result<EdgeSplit> {
        let n_edges = graph.n_edges();
        let n_pairs = graph.n_nodes() * (graph.n_nodes() - 1) / 2;
        if n_edges < 10 || n_pairs - n_edges < n_edges {
            return Err(Error::value(
                Self::PROTOCOL,
                format_args!("{n_edges} edges and {} non-edges", n_pairs - n_edges),
                "at least 10 edges and as many non-edges",
            ));
        }
        let mut train: Pairs = graph.edges().collect();
        Stream::new(seed, "split", Self::PROTOCOL, 0).shuffle(&mut train);
        let mut val = train.split_off(n_edges - n_edges / 10);
        let mut test = train.split_off(train.len() - n_edges / 5);

        let mut taken = HashSet::new();
        let mut draw = |part: u64, count: usize| {
            let mut stream = Stream::new(seed, "split", "edges-70-10-20/negatives", part);
            let mut pairs = Pairs::with_capacity(count);
            while pairs.len() < count {
                let (a, b) = (stream.below(graph.n_nodes()) as u32, stream.below(graph.n_nodes()) as u32);
                let (u, v) = (a.min(b), a.max(b));
                if u != v && !graph.adjacency().contains(u, v) && taken.insert((u, v)) {
                    pairs.push((u, v));
                }
            }
            pairs.sort_unstable();
            pairs
        };
        let (test_negatives, val_negatives) = (draw(0, test.len()), draw(1, val.len()));
        let train_negatives = draw(2, train.len());
        for pairs in [&mut train, &mut val, &mut test] {
            pairs.sort_unstable();
        }
        Ok(EdgeSplit { seed, train, val, test, train_negatives, val_negatives, test_negatives })
    }

    /// The graph with the training edges only, for pretraining. Structural features are computed again.
    pub fn training_graph(&self, graph: &Graph) -> Result<Graph> {
        let weights = graph.adjacency().values().map(|_| {
            let weight = |&(u, v): &(u32, u32)| {
                let at = graph.adjacency().row(u as usize).partition_point(|&other| other < v);
                graph.adjacency().entries(u as usize).nth(at).map_or(1.0, |(_, weight)| weight)
            };
            self.train.iter().map(weight).collect()
        });
        let (adjacency, _) =
            EdgeList { pairs: self.train.clone(), weights }.into_adjacency(graph.n_nodes())?;
        graph.with_adjacency(adjacency)
    }

    /// SHA-256 of the protocol and the pairs of each part, in hexadecimal. The hashed text has the form of
    /// [`super::Split::hash`], with pairs written as `u-v`.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{}\n", Self::PROTOCOL));
        let parts = [
            ("train", &self.train),
            ("val", &self.val),
            ("test", &self.test),
            ("train_negatives", &self.train_negatives),
            ("val_negatives", &self.val_negatives),
            ("test_negatives", &self.test_negatives),
        ];
        for (part, pairs) in parts {
            hash_line(&mut hash, part, pairs.iter().map(|(u, v)| format!("{u}-{v}")));
        }
        hex(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Dense, Features, Ids};

    /// A ring of 50 nodes with edge weights 1, 2, 3, ….
    fn ring() -> Graph {
        let list = EdgeList {
            pairs: (0..50).map(|i| (i, (i + 1) % 50)).collect(),
            weights: Some((1..=50).map(|i| i as crate::Real).collect()),
        };
        let features = Features::Dense(Dense::from_parts(50, 1, vec![1.0; 50]));
        Graph::new(list.into_adjacency(50).unwrap().0, features, Ids::Numbered(50)).unwrap()
    }

    #[test]
    fn parts_are_disjoint_and_have_the_documented_sizes() {
        let (graph, split) = (ring(), EdgeSplit::draw(&ring(), 4).unwrap());
        assert_eq!([split.train.len(), split.val.len(), split.test.len()], [35, 5, 10]);
        let edges: HashSet<_> = [&split.train, &split.val, &split.test].into_iter().flatten().collect();
        assert_eq!(edges.len(), 50);
        assert!(edges.iter().all(|(u, v)| u < v && graph.adjacency().contains(*u, *v)));
        let negatives = [&split.train_negatives, &split.val_negatives, &split.test_negatives];
        assert_eq!(negatives.map(Vec::len), [35, 5, 10]);
        let distinct: HashSet<_> = negatives.into_iter().flatten().collect();
        assert_eq!(distinct.len(), 50);
        assert!(distinct.iter().all(|(u, v)| u < v && !graph.adjacency().contains(*u, *v)));
    }

    #[test]
    fn the_training_graph_keeps_the_training_edges_and_their_weights() {
        let (graph, split) = (ring(), EdgeSplit::draw(&ring(), 4).unwrap());
        let training = split.training_graph(&graph).unwrap();
        assert_eq!(training.edges().collect::<Pairs>(), split.train);
        for (u, _) in &split.train {
            for entry in training.adjacency().entries(*u as usize) {
                assert!(graph.adjacency().entries(*u as usize).any(|same| same == entry));
            }
        }
    }

    #[test]
    fn structural_features_of_the_training_graph_use_training_edges_only() {
        let split = EdgeSplit::draw(&ring(), 4).unwrap();
        let known = Graph::structural(ring().adjacency().clone(), Ids::Numbered(50)).unwrap();
        let training = split.training_graph(&known).unwrap();
        let list = EdgeList { pairs: split.train.clone(), weights: None };
        let degrees = |graph: &Graph| (0..50).map(|node| graph.degree(node)).collect::<Vec<_>>();
        let (alone, _) = list.into_adjacency(50).unwrap();
        assert_eq!(degrees(&training), (0..50).map(|node| alone.row(node).len()).collect::<Vec<_>>());
        let made = crate::graph::structural::features(training.adjacency());
        assert_eq!(training.features(), &made);
        assert_ne!(training.features(), known.features());
        assert!(training.has_features_from_edges());
        // Given features stay as they are.
        assert_eq!(split.training_graph(&ring()).unwrap().features(), ring().features());
    }

    #[test]
    fn a_graph_with_too_few_edges_or_non_edges_is_an_error() {
        let pairs: Pairs = (0..6).flat_map(|u| (0..u).map(move |v| (v, u))).collect();
        let features = Features::Dense(Dense::from_parts(6, 1, vec![1.0; 6]));
        let (adjacency, _) = EdgeList { pairs, weights: None }.into_adjacency(6).unwrap();
        let graph = Graph::new(adjacency, features, Ids::Numbered(6)).unwrap();
        assert!(EdgeSplit::draw(&graph, 0).unwrap_err().to_string().contains("15 edges and 0 non-edges"));
    }

    #[test]
    fn published_hashes_never_change() {
        assert_eq!(
            EdgeSplit::draw(&ring(), 0).unwrap().hash(),
            "c541fac593ffabb95712eb4625289de8eb0794fbf0c725fb4185c78361b3b8a6"
        );
    }
}
