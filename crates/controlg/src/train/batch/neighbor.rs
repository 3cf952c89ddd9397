//! Random nodes, some neighbors of each, some of theirs, as many times as the encoder has layers (after GraphSAGE;
//! Hamilton et al., NeurIPS 2017); the step sees all edges among them.
//!
//! Nothing is cut beforehand, so a graph of any size can start at once. Each node of the part counts in the losses, not
//! only those that the draw began with.

use super::Sampler;
use crate::config::Config;
use crate::graph::Graph;
use crate::rng::Stream;

/// How neighborhoods are drawn.
pub(super) struct NeighborSampler {
    starts: usize,
    fanout: usize,
    hops: usize,
    seed: u64,
}

impl NeighborSampler {
    /// So that a step sees no more than so many nodes.
    pub(super) fn new(nodes: usize, config: &Config) -> Self {
        let (fanout, hops) = (config.train.fanout, config.encoder.layers());
        // One start, its neighbors, theirs, …
        let mut around = 1usize;
        (0..hops).for_each(|_| around = around.saturating_mul(fanout).saturating_add(1));
        NeighborSampler { starts: (nodes / around).max(1), fanout, hops, seed: config.seed }
    }
}

impl Sampler for NeighborSampler {
    fn nodes(&self, graph: &Graph, step: u64) -> Vec<u32> {
        let mut stream = Stream::new(self.seed, "train", "batch/neighbours", step);
        let mut nodes: Vec<u32> = (0..self.starts).map(|_| stream.below(graph.n_nodes()) as u32).collect();
        let mut from = 0;
        for _ in 0..self.hops {
            let frontier = from..nodes.len();
            from = nodes.len();
            for at in frontier {
                let neighbors = graph.neighbors(nodes[at] as usize);
                match neighbors.len() <= self.fanout {
                    true => nodes.extend_from_slice(neighbors),
                    // With repetitions: what matters is that a hub costs no more than others.
                    false => nodes.extend((0..self.fanout).map(|_| neighbors[stream.below(neighbors.len())])),
                }
            }
        }
        nodes
    }
}
