//! How the nodes of a mini-batch are chosen.

use crate::graph::Graph;

/// Chooses the nodes of each mini-batch.
pub(super) trait Sampler: Send + Sync {
    /// The nodes of a step, in any order; duplicates count once. Depends only on the seed and the step.
    fn nodes(&self, graph: &Graph, step: u64) -> Vec<u32>;
}
