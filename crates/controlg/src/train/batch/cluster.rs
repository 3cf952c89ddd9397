//! Cluster sampling: the graph is partitioned once, each step trains on the subgraph induced by a few random clusters
//! (Cluster-GCN; Chiang et al., KDD 2019). Edges between the clusters of a step are kept.

use super::sampler::Sampler;
use crate::error::Result;
use crate::graph::{Graph, partition};
use crate::rng::Stream;

/// Clusters per step: several small ones, so that the nodes of a step differ.
const CLUSTERS_PER_STEP: usize = 8;

/// Size of the largest cluster relative to the mean.
const IMBALANCE: f64 = 1.1;

/// A partitioned graph.
pub(super) struct ClusterSampler {
    /// All nodes, cluster by cluster.
    order: Vec<u32>,
    /// Where each cluster starts in `order`, and the end of the last.
    starts: Vec<usize>,
    per_step: usize,
    seed: u64,
}

impl ClusterSampler {
    /// Partitions the graph for steps of about `nodes` nodes. The partition does not depend on the seed, the draws do.
    pub(super) fn new(graph: &Graph, nodes: usize, seed: u64) -> Result<Self> {
        let n = graph.n_nodes();
        let count = n.div_ceil((nodes / CLUSTERS_PER_STEP).max(1)).clamp(1, n);
        let cluster_of = partition::partition(graph.adjacency(), count, IMBALANCE, 0)?;
        let mut starts = vec![0; count + 1];
        cluster_of.iter().for_each(|&cluster| starts[cluster as usize + 1] += 1);
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let (mut next, mut order) = (starts.clone(), vec![0; n]);
        for (node, &cluster) in cluster_of.iter().enumerate() {
            order[next[cluster as usize]] = node as u32;
            next[cluster as usize] += 1;
        }
        Ok(ClusterSampler { order, starts, per_step: CLUSTERS_PER_STEP.min(count), seed })
    }
}

impl Sampler for ClusterSampler {
    /// Each round shuffles the clusters and visits them in that order. Clusters left over at the end of a round, too few
    /// for a step, are skipped; they depend on the shuffle, so no cluster is skipped more often than others.
    fn nodes(&self, _: &Graph, step: u64) -> Vec<u32> {
        let count = self.starts.len() - 1;
        let steps_per_round = (count / self.per_step) as u64;
        let mut clusters: Vec<u32> = (0..count as u32).collect();
        Stream::new(self.seed, "train", "batch/parts", step / steps_per_round).shuffle(&mut clusters);
        let first = (step % steps_per_round) as usize * self.per_step;
        let chosen = clusters[first..first + self.per_step].iter().map(|&cluster| cluster as usize);
        chosen
            .flat_map(|cluster| &self.order[self.starts[cluster]..self.starts[cluster + 1]])
            .copied()
            .collect()
    }
}
