//! Neighbor sampling: random seed nodes, then a fixed number of neighbors per node and hop, one hop per encoder layer
//! (after GraphSAGE; Hamilton et al., NeurIPS 2017), in each relation of a graph with several. The step trains on the subgraph induced by all sampled nodes.
//!
//! It needs no partition, so training starts at once on a graph of any size. All nodes of the subgraph count in the
//! losses, not only the seed nodes.

use super::sampler::Sampler;
use crate::config::Config;
use crate::graph::{Graph, Relations};
use crate::rng::Stream;

/// Samples neighborhoods.
pub(super) struct NeighborSampler {
    seed_nodes: usize,
    fanout: usize,
    hops: usize,
    seed: u64,
}

impl NeighborSampler {
    /// Samples at most about `nodes` nodes per step.
    pub(super) fn new(graph: &Graph, nodes: usize, config: &Config) -> Self {
        let (fanout, hops) = (config.train.fanout, config.encoder.layers());
        // Nodes per seed node: 1 + f + f² + …, where f is the fanout, times the relations that a node can have.
        let reached = fanout.saturating_mul(relations_per_node(graph));
        let mut per_seed = 1usize;
        (0..hops).for_each(|_| per_seed = per_seed.saturating_mul(reached).saturating_add(1));
        NeighborSampler { seed_nodes: (nodes / per_seed).max(1), fanout, hops, seed: config.seed }
    }
}

/// The most relations that a node of any type can have.
fn relations_per_node(graph: &Graph) -> usize {
    let Some(relations) = graph.several_relations() else { return 1 };
    let schema = relations.schema();
    let of_type = |at: usize| schema.relations().iter().filter(|r| r.src == at || r.dst == at).count();
    (0..schema.types().len()).map(of_type).max().unwrap_or(1).max(1)
}

/// The neighbors of a node in each relation.
fn by_relation(graph: &Graph, relations: &Relations, node: u32) -> Vec<Vec<u32>> {
    let mut neighbors = vec![Vec::new(); relations.schema().relations().len()];
    let first = graph.adjacency().offsets()[node as usize];
    for (at, &neighbor) in graph.neighbors(node as usize).iter().enumerate() {
        relations.relations_at(first + at).for_each(|relation| neighbors[relation].push(neighbor));
    }
    neighbors
}

impl NeighborSampler {
    /// Adds all neighbors, or as many as the fanout. With replacement, so a hub costs no more than other nodes.
    fn extend(&self, nodes: &mut Vec<u32>, neighbors: &[u32], stream: &mut Stream) {
        if neighbors.len() <= self.fanout {
            nodes.extend_from_slice(neighbors);
        } else {
            nodes.extend((0..self.fanout).map(|_| neighbors[stream.below(neighbors.len())]));
        }
    }
}

impl Sampler for NeighborSampler {
    fn nodes(&self, graph: &Graph, step: u64) -> Vec<u32> {
        // The stream name is kept from version 0.1: it determines the draws.
        let mut stream = Stream::new(self.seed, "train", "batch/neighbours", step);
        let mut nodes: Vec<u32> =
            (0..self.seed_nodes).map(|_| stream.below(graph.n_nodes()) as u32).collect();
        let mut from = 0;
        for _ in 0..self.hops {
            let frontier = from..nodes.len();
            from = nodes.len();
            for at in frontier {
                let node = nodes[at];
                match graph.several_relations() {
                    None => self.extend(&mut nodes, graph.neighbors(node as usize), &mut stream),
                    Some(relations) => {
                        for neighbors in by_relation(graph, relations, node) {
                            self.extend(&mut nodes, &neighbors, &mut stream);
                        }
                    }
                }
            }
        }
        nodes
    }
}
