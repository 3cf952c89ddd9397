//! Induced subgraphs, and subgraphs grown by breadth-first search.

use std::sync::Arc;

use super::rows::FeatureRows;
use super::{Adjacency, Graph, Ids};
use crate::error::Result;
use crate::rng::Stream;

/// The subgraph induced by a set of nodes.
#[derive(Clone, Debug)]
pub struct Subgraph {
    /// The induced graph. Its nodes are renumbered in ascending order.
    pub graph: Graph,
    /// The original node of each node of the subgraph, ascending.
    pub nodes: Vec<u32>,
}

impl Subgraph {
    /// The subgraph induced by these nodes. Duplicates are ignored.
    ///
    /// # Panics
    /// If a node is not in the graph.
    pub fn induced(of: &Graph, nodes: &[u32]) -> Result<Self> {
        SubgraphBuilder::new(of.n_nodes()).induced(of, nodes)
    }

    /// A subgraph of about `size` nodes in `balls` pieces, each grown by breadth-first search from a random center. If the
    /// component of a center is exhausted, the next center continues. A graph with at most `size` nodes is returned whole.
    pub fn balls(of: &Graph, size: usize, balls: usize, stream: &mut Stream) -> Result<Self> {
        let n = of.n_nodes();
        let size = size.min(n);
        let mut centers: Vec<u32> = (0..n as u32).collect();
        stream.shuffle(&mut centers);
        let (mut taken, mut nodes) = (vec![false; n], Vec::with_capacity(size));
        let share = size.div_ceil(balls.max(1));
        for center in centers {
            if nodes.len() >= size {
                break;
            }
            if taken[center as usize] {
                continue;
            }
            let (start, end) = (nodes.len(), size.min(nodes.len() + share));
            taken[center as usize] = true;
            nodes.push(center);
            let mut at = start;
            while at < nodes.len() && nodes.len() < end {
                for &next in of.neighbors(nodes[at] as usize) {
                    if nodes.len() < end && !std::mem::replace(&mut taken[next as usize], true) {
                        nodes.push(next);
                    }
                }
                at += 1;
            }
        }
        Subgraph::induced(of, &nodes)
    }
}

/// Builds many subgraphs of one graph. Each costs time proportional to the subgraph, not to the whole graph.
#[derive(Clone, Debug)]
pub struct SubgraphBuilder {
    /// The index of each node in the subgraph, valid for its members only.
    index: Vec<u32>,
    /// One bit per node, set for members. Most neighbors of hubs are not members, and the bits of all nodes fit into a cache,
    /// unlike their indices.
    members: Vec<u64>,
}

impl SubgraphBuilder {
    /// A builder for a graph with `n` nodes.
    pub fn new(n: usize) -> Self {
        SubgraphBuilder { index: vec![0; n], members: vec![0; n.div_ceil(64)] }
    }

    /// The subgraph induced by these nodes. Duplicates are ignored.
    ///
    /// # Panics
    /// If a node is not in the graph.
    pub fn induced(&mut self, of: &Graph, nodes: &[u32]) -> Result<Subgraph> {
        let mut nodes = nodes.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        for (at, &node) in nodes.iter().enumerate() {
            self.index[node as usize] = at as u32;
            self.members[node as usize / 64] |= 1 << (node % 64);
        }
        let is_member = |column: u32| self.members[column as usize / 64] >> (column % 64) & 1 == 1;
        let renamed = |column| is_member(column).then(|| self.index[column as usize]);
        let adjacency = Adjacency::new_unchecked(of.adjacency().rows(&nodes, nodes.len(), renamed));
        let adjacency = match of.relations() {
            Some(relations) => adjacency.with_relations(relations.induced(of.adjacency(), &nodes, is_member)),
            None => adjacency,
        };
        nodes.iter().for_each(|&node| self.members[node as usize / 64] = 0);
        let ids =
            Ids::from_names(nodes.iter().map(|&node| of.ids().get(node as usize).into_owned()).collect());
        let features = FeatureRows::InMemory(Arc::new(of.rows(&nodes)?));
        let graph = Graph::of_parts(Arc::new(adjacency), features, Arc::new(ids))?;
        Ok(Subgraph { graph: graph.named_like(of.feature_names.clone()), nodes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Csr, EdgeList, Features};

    fn ring(n: u32) -> Graph {
        let pairs = (0..n).map(|u| (u, (u + 1) % n)).collect();
        let (adjacency, _) = EdgeList { pairs, weights: None }.into_adjacency(n as usize + 1).unwrap();
        let features =
            Csr::from_parts(3, (0..=n as usize + 1).collect(), (0..=n).map(|u| u % 3).collect(), None);
        Graph::new(adjacency, Features::Sparse(features), Ids::Numbered(n as usize + 1)).unwrap()
    }

    #[test]
    fn edges_and_features_follow_their_nodes() {
        let part = Subgraph::induced(&ring(10), &[4, 3, 9, 0, 4]).unwrap();
        assert_eq!(part.nodes, [0, 3, 4, 9]);
        assert_eq!(part.graph.edges().collect::<Vec<_>>(), [(0, 3), (1, 2)]);
        assert_eq!(part.graph.features().row(2), [(1, 1.0)]);
        assert_eq!(part.graph.ids().get(3), "9");
    }

    #[test]
    fn balls_have_the_requested_size_and_are_connected() {
        let graph = ring(100);
        let part = Subgraph::balls(&graph, 40, 4, &mut Stream::new(0, "test", "", 0)).unwrap();
        assert_eq!(part.nodes.len(), 40);
        // Four arcs of ten nodes, possibly adjacent; one may be shorter because of the isolated node.
        assert!(part.graph.n_edges() >= 34, "{}", part.graph.n_edges());
        let all = Subgraph::balls(&graph, 1000, 4, &mut Stream::new(0, "test", "", 0)).unwrap();
        assert_eq!(all.nodes.len(), 101);
    }
}
