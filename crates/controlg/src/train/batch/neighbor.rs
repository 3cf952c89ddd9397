//! Neighbor sampling: random seed nodes, then a fixed number of neighbors per node and hop, one hop per encoder layer
//! (after GraphSAGE; Hamilton et al., NeurIPS 2017). The step trains on the subgraph induced by all sampled nodes.
//!
//! It needs no partition, so training starts at once on a graph of any size. All nodes of the subgraph count in the
//! losses, not only the seed nodes.

use super::sampler::Sampler;
use crate::config::Config;
use crate::graph::Graph;
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
    pub(super) fn new(nodes: usize, config: &Config) -> Self {
        let (fanout, hops) = (config.train.fanout, config.encoder.layers());
        // Nodes per seed node: 1 + fanout + fanout² + …
        let mut per_seed = 1usize;
        (0..hops).for_each(|_| per_seed = per_seed.saturating_mul(fanout).saturating_add(1));
        NeighborSampler { seed_nodes: (nodes / per_seed).max(1), fanout, hops, seed: config.seed }
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
                let neighbors = graph.neighbors(nodes[at] as usize);
                if neighbors.len() <= self.fanout {
                    nodes.extend_from_slice(neighbors);
                } else {
                    // With replacement, so a hub costs no more than other nodes.
                    nodes.extend((0..self.fanout).map(|_| neighbors[stream.below(neighbors.len())]));
                }
            }
        }
        nodes
    }
}
