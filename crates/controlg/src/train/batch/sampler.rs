//! How the nodes of a mini-batch are chosen.

use crate::graph::Graph;

/// Chooses the nodes of each mini-batch.
pub(super) trait Sampler: Send + Sync {
    /// The nodes of a mini-batch, in any order; duplicates count once. Depends only on the seed and the number.
    fn nodes(&self, graph: &Graph, number: u64) -> Vec<u32>;
}
