//! Parts of the graph with few edges between them, some joined at random for each step (Cluster-GCN; Chiang et al.,
//! KDD 2019): the edges among the joined ones are there, those to the others are not.

use super::Sampler;
use crate::error::Result;
use crate::graph::{Graph, partition};
use crate::rng::Stream;

/// Parts of a step: several small ones, so that the nodes of a step are not all alike.
pub(super) const TOGETHER: usize = 8;

/// The largest part over the mean.
const IMBALANCE: f64 = 1.1;

/// A graph cut into parts.
pub(super) struct ClusterSampler {
    /// All nodes, part by part.
    order: Vec<u32>,
    /// Where each part starts, and the end of the last.
    starts: Vec<usize>,
    together: usize,
    seed: u64,
}

impl ClusterSampler {
    /// Cuts the graph so that a step sees about so many nodes. The cut is the same for every seed, the draws are not.
    pub(super) fn new(graph: &Graph, nodes: usize, seed: u64) -> Result<Self> {
        let n = graph.n_nodes();
        let count = n.div_ceil((nodes / TOGETHER).max(1)).clamp(1, n);
        let part = partition::partition(graph.adjacency(), count, IMBALANCE, 0)?;
        let mut starts = vec![0; count + 1];
        part.iter().for_each(|&part| starts[part as usize + 1] += 1);
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let (mut next, mut order) = (starts.clone(), vec![0; n]);
        for (node, &part) in part.iter().enumerate() {
            order[next[part as usize]] = node as u32;
            next[part as usize] += 1;
        }
        Ok(ClusterSampler { order, starts, together: TOGETHER.min(count), seed })
    }
}

impl Sampler for ClusterSampler {
    /// A round of steps goes over the parts in a random order, the next round in another. What is left at the end of a
    /// round is too little for a step; who that is follows from the order, so no part is left out more than others.
    fn nodes(&self, _: &Graph, step: u64) -> Vec<u32> {
        let count = self.starts.len() - 1;
        let steps = (count / self.together) as u64;
        let mut parts: Vec<u32> = (0..count as u32).collect();
        Stream::new(self.seed, "train", "batch/parts", step / steps).shuffle(&mut parts);
        let first = (step % steps) as usize * self.together;
        let chosen = parts[first..first + self.together].iter().map(|&part| part as usize);
        chosen.flat_map(|part| &self.order[self.starts[part]..self.starts[part + 1]]).copied().collect()
    }
}
