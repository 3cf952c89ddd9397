//! Parts of a graph: the nodes around a few centers, and the edges among them.

use std::sync::Arc;

use super::rows::FeatureRows;
use super::{Adjacency, Graph, Ids};
use crate::error::Result;
use crate::rng::Stream;

/// The part of a graph between some of its nodes.
#[derive(Clone, Debug)]
pub struct Subgraph {
    /// Those nodes, renumbered in ascending order, with the edges among them.
    pub graph: Graph,
    /// Their numbers in the whole graph, ascending.
    pub nodes: Vec<u32>,
}

impl Subgraph {
    /// Of these nodes; repetitions count once.
    ///
    /// # Panics
    /// When a node is not in the graph.
    pub fn induced(of: &Graph, nodes: &[u32]) -> Result<Self> {
        SubgraphBuilder::new(of.n_nodes()).induced(of, nodes)
    }

    /// About `size` nodes in `balls` pieces, each grown breadth first from a random center; all nodes where there are
    /// no more than that. Where a center's component is used up the next one goes on.
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

/// Memory for cutting many parts out of one graph: the cost of each is that of the part, not of the graph.
#[derive(Clone, Debug)]
pub struct SubgraphBuilder {
    /// The place of each node within the part, of those that are in it.
    places: Vec<u32>,
    /// A bit for each node, set for those in the part: hubs have many neighbors and few of them are, and the bits of all nodes
    /// stay in a cache that their places do not fit into.
    members: Vec<u64>,
}

impl SubgraphBuilder {
    /// For parts of a graph with so many nodes.
    pub fn new(n: usize) -> Self {
        SubgraphBuilder { places: vec![0; n], members: vec![0; n.div_ceil(64)] }
    }

    /// The part between these nodes; repetitions count once.
    ///
    /// # Panics
    /// When a node is not in the graph.
    pub fn induced(&mut self, of: &Graph, nodes: &[u32]) -> Result<Subgraph> {
        let mut nodes = nodes.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        for (at, &node) in nodes.iter().enumerate() {
            self.places[node as usize] = at as u32;
            self.members[node as usize / 64] |= 1 << (node % 64);
        }
        let adjacency = of.adjacency().rows(&nodes, nodes.len(), |column| {
            let is_member = self.members[column as usize / 64] >> (column % 64) & 1 == 1;
            is_member.then(|| self.places[column as usize])
        });
        nodes.iter().for_each(|&node| self.members[node as usize / 64] = 0);
        let ids =
            Ids::from_names(nodes.iter().map(|&node| of.ids().get(node as usize).into_owned()).collect());
        let features = FeatureRows::InMemory(Arc::new(of.rows(&nodes)?));
        let adjacency = Arc::new(Adjacency::new_unchecked(adjacency));
        Ok(Subgraph { graph: Graph::of_parts(adjacency, features, Arc::new(ids))?, nodes })
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
    fn balls_have_the_size_asked_for_and_hang_together() {
        let graph = ring(100);
        let part = Subgraph::balls(&graph, 40, 4, &mut Stream::new(0, "test", "", 0)).unwrap();
        assert_eq!(part.nodes.len(), 40);
        // Four arcs of ten nodes, some perhaps side by side, one perhaps cut short by the node that stands alone.
        assert!(part.graph.n_edges() >= 34, "{}", part.graph.n_edges());
        let all = Subgraph::balls(&graph, 1000, 4, &mut Stream::new(0, "test", "", 0)).unwrap();
        assert_eq!(all.nodes.len(), 101);
    }
}
