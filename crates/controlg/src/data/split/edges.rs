//! Edge splits for link prediction: the protocol `edges-70-10-20`.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::{by_relation, hash_line, hex};
use crate::error::{Error, Result};
use crate::graph::{EdgeList, Graph, Relations};
use crate::rng::Stream;

/// Node pairs (u, v) with u < v.
pub(super) type Pairs = Vec<(u32, u32)>;

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
    ///
    /// On a graph with several relations every relation is split by itself, and its negatives join nodes of its types. An edge of
    /// several relations is split with the first of them.
    pub fn draw(graph: &Graph, seed: u64) -> Result<EdgeSplit> {
        if let Some(relations) = graph.several_relations() {
            return by_relation::draw(graph, relations, seed);
        }
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

    /// The pairs of one relation: its edges, and the negatives that join nodes of its types.
    pub fn of_relation(&self, graph: &Graph, relations: &Relations, relation: usize) -> EdgeSplit {
        let edges = |pairs: &Pairs| {
            let is_of = |&&(u, v): &&(u32, u32)| {
                by_relation::first_relation(graph, relations, (u, v)) == Some(relation)
            };
            pairs.iter().filter(is_of).copied().collect()
        };
        let types = by_relation::types_of(relations, relation);
        let negatives = |pairs: &Pairs| {
            let is_of = |&&(u, v): &&(u32, u32)| types == [relations.type_of(u), relations.type_of(v)];
            pairs.iter().filter(is_of).copied().collect()
        };
        EdgeSplit {
            seed: self.seed,
            train: edges(&self.train),
            val: edges(&self.val),
            test: edges(&self.test),
            train_negatives: negatives(&self.train_negatives),
            val_negatives: negatives(&self.val_negatives),
            test_negatives: negatives(&self.test_negatives),
        }
    }

    /// The graph with the training edges only, for pretraining. Structural features are computed again.
    ///
    /// # Errors
    /// If a validation or test edge is also a training edge, in either direction.
    pub fn training_graph(&self, graph: &Graph) -> Result<Graph> {
        let is_trained = |&&(u, v): &&(u32, u32)| self.train.binary_search(&(u.min(v), u.max(v))).is_ok();
        if let Some(&(u, v)) = self.val.iter().chain(&self.test).find(is_trained) {
            let [a, b] = [u, v].map(|node| graph.ids().get(node as usize).into_owned());
            let found = format!("the edge {a}, {b} among the training edges and among the others");
            return Err(Error::value(Self::PROTOCOL, found, "each edge in one part, its reverse included"));
        }
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
