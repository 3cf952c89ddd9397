//! Parts of a graph: the nodes around a few centres, and the edges among them.

use super::{Csr, Features, Graph, Ids};
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
        let mut nodes = nodes.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        let mut place = vec![u32::MAX; of.n_nodes()];
        nodes.iter().enumerate().for_each(|(at, &node)| place[node as usize] = at as u32);
        let adjacency = rows(of.adjacency(), &nodes, nodes.len(), |column| {
            Some(place[column as usize]).filter(|&place| place != u32::MAX)
        });
        let features = match of.features() {
            Features::Sparse(csr) => Features::Sparse(rows(csr, &nodes, csr.n_cols(), Some)),
            Features::Dense(dense) => {
                let data = nodes.iter().flat_map(|&node| dense.row(node as usize)).copied().collect();
                Features::Dense(super::Dense::new(nodes.len(), dense.n_cols(), data))
            }
        };
        let ids =
            Ids::from_names(nodes.iter().map(|&node| of.ids().get(node as usize).into_owned()).collect());
        Ok(Subgraph { graph: Graph::new(adjacency, features, ids)?, nodes })
    }

    /// About `size` nodes in `balls` pieces, each grown breadth first from a random centre; all nodes where there are
    /// no more than that. Where a centre's component is used up the next one goes on.
    pub fn balls(of: &Graph, size: usize, balls: usize, stream: &mut Stream) -> Result<Self> {
        let n = of.n_nodes();
        let size = size.min(n);
        let mut centres: Vec<u32> = (0..n as u32).collect();
        stream.shuffle(&mut centres);
        let (mut taken, mut nodes) = (vec![false; n], Vec::with_capacity(size));
        let share = size.div_ceil(balls.max(1));
        for centre in centres {
            if nodes.len() >= size {
                break;
            }
            if taken[centre as usize] {
                continue;
            }
            let (start, end) = (nodes.len(), size.min(nodes.len() + share));
            taken[centre as usize] = true;
            nodes.push(centre);
            let mut at = start;
            while at < nodes.len() && nodes.len() < end {
                for &next in of.neighbours(nodes[at] as usize) {
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

/// Some rows of a matrix, their columns renamed or left out.
fn rows(of: &Csr, nodes: &[u32], n_cols: usize, rename: impl Fn(u32) -> Option<u32>) -> Csr {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for &node in nodes {
        for (column, value) in of.entries(node as usize) {
            if let Some(column) = rename(column) {
                columns.push(column);
                values.push(value);
            }
        }
        offsets.push(columns.len());
    }
    Csr::new(n_cols, offsets, columns, of.values().map(|_| values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::EdgeList;

    fn ring(n: u32) -> Graph {
        let pairs = (0..n).map(|u| (u, (u + 1) % n)).collect();
        let (adjacency, _) = EdgeList { pairs, weights: None }.into_adjacency(n as usize + 1);
        let features = Csr::new(3, (0..=n as usize + 1).collect(), (0..=n).map(|u| u % 3).collect(), None);
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
