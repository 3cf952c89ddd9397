//! Held-out samples: nodes or edges that an objective keeps aside and never trains on.
//!
//! An objective hides what it keeps aside in all of its views where the encoder would otherwise see the answer, also while it
//! trains: the held-out loss is then about samples that nothing in this objective has ever seen.

use super::unsuitable;
use crate::error::Result;
use crate::graph::{Graph, Subgraph};
use crate::rng::Stream;

/// The nodes of a graph, split into those that an objective trains on and those that it keeps aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeSplit {
    /// Held-out nodes, ascending.
    pub(super) held_out: Vec<u32>,
    /// All others, ascending.
    pub(super) trained: Vec<u32>,
}

impl NodeSplit {
    /// Keeps a share of the nodes aside, at least `least` and leaving at least as many. `name` is the objective's.
    pub(super) fn draw(
        name: &str,
        graph: &Graph,
        share: f64,
        least: usize,
        stream: &mut Stream,
    ) -> Result<NodeSplit> {
        let n = graph.n_nodes();
        let count = ((share * n as f64).ceil() as usize).max(least);
        if n < count + least {
            let found = format!("{n} nodes with sense.held_out = {share}");
            let expected = format!("at least {least} held out and {least} to train on");
            return Err(unsuitable(name, found, &expected));
        }
        let mut is_held_out = vec![false; n];
        stream.sample(n, count).into_iter().for_each(|node| is_held_out[node as usize] = true);
        let (held_out, trained) = (0..n as u32).partition(|&node| is_held_out[node as usize]);
        Ok(NodeSplit { held_out, trained })
    }

    /// The same split of the nodes of a batch.
    pub(super) fn on_batch(&self, batch: &Subgraph) -> NodeSplit {
        let is_held_out = |at: &u32| self.contains(batch.nodes[*at as usize]);
        let (held_out, trained) = (0..batch.nodes.len() as u32).partition(is_held_out);
        NodeSplit { held_out, trained }
    }

    /// Whether a node is held out.
    pub(super) fn contains(&self, node: u32) -> bool {
        self.held_out.binary_search(&node).is_ok()
    }

    /// The held-out nodes, or the others.
    pub(super) fn nodes(&self, held_out: bool) -> &[u32] {
        if held_out { &self.held_out } else { &self.trained }
    }
}

/// What is hidden in every view of an objective because it is held out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hidden<'h> {
    /// Nodes whose features are masked.
    pub(super) nodes: Option<&'h NodeSplit>,
    /// Edges (smaller, larger) in ascending order.
    pub(super) edges: &'h [(u32, u32)],
}

/// Edges that an objective keeps aside, and non-edges to tell them from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PairSplit {
    /// Held-out edges (smaller, larger) in ascending order.
    pub(super) edges: Vec<(u32, u32)>,
    /// Held-out non-edges (smaller, larger) in ascending order, at most as many.
    pub(super) non_edges: Vec<(u32, u32)>,
}

impl PairSplit {
    /// The same split of a batch: pairs with both ends in it, under its numbers.
    pub(super) fn on_batch(&self, batch: &Subgraph) -> PairSplit {
        let number = |node: u32| batch.nodes.binary_search(&node).ok().map(|at| at as u32);
        let inside = |pairs: &[(u32, u32)]| {
            pairs.iter().filter_map(|&(u, v)| Some((number(u)?, number(v)?))).collect()
        };
        // Nodes of a batch are numbered in ascending order, so the pairs stay sorted.
        PairSplit { edges: inside(&self.edges), non_edges: inside(&self.non_edges) }
    }

    /// Whether an edge (smaller, larger) is held out.
    pub(super) fn has_edge(&self, pair: (u32, u32)) -> bool {
        self.edges.binary_search(&pair).is_ok()
    }

    /// Whether a non-edge is held out.
    pub(super) fn has_non_edge(&self, (u, v): (u32, u32)) -> bool {
        self.non_edges.binary_search(&(u.min(v), u.max(v))).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;

    fn graph(nodes: usize) -> Graph {
        data::load(&format!("synthetic:nodes={nodes}"), &Default::default()).unwrap().graph
    }

    #[test]
    fn every_node_is_on_one_side_and_batches_keep_the_split() {
        let graph = graph(60);
        let split =
            NodeSplit::draw("p_par", &graph, 0.1, 1, &mut Stream::new(0, "held-out", "p_par", 0)).unwrap();
        assert_eq!((split.held_out.len(), split.trained.len()), (6, 54));
        assert!((0..60).all(|node| split.contains(node) != split.trained.contains(&node)));
        let nodes: Vec<u32> = (20..50).collect();
        let batch = Subgraph::induced(&graph, &nodes).unwrap();
        let inner = split.on_batch(&batch);
        assert_eq!(inner.held_out.len() + inner.trained.len(), 30);
        assert!((0..30).all(|node| inner.contains(node) == split.contains(node + 20)));
    }

    #[test]
    fn a_graph_that_is_too_small_is_an_error() {
        let graph = graph(20);
        let draw =
            |share| NodeSplit::draw("p_decor", &graph, share, 4, &mut Stream::new(0, "held-out", "", 0));
        assert_eq!(draw(0.05).unwrap().held_out.len(), 4);
        let message = "objective p_decor: found 20 nodes with sense.held_out = 0.9, expected at least 4 held out and 4 to \
                       train on";
        assert_eq!(draw(0.9).unwrap_err().to_string(), message);
    }
}
