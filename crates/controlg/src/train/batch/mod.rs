//! Mini-batches for graphs that are too large for full-batch training: each step trains on a sampled subgraph.
//!
//! The subgraph of a step depends only on the seed and the step number, so a run can resume at any step and gives the
//! same bytes with any number of threads. While one step runs, another thread builds the next subgraph.
//!
//! Compared with full-batch training: edges that leave the subgraph are missing in that step, so aggregation and degree
//! normalization are those of the subgraph; contrastive losses draw their negatives within it; batch norms use its
//! statistics. With cluster sampling every node is seen equally often on average. With neighbor sampling nodes are seen
//! roughly in proportion to their degree.

mod cluster;
mod loader;
mod neighbor;
mod sampler;

pub(super) use loader::BatchLoader;
pub use loader::sample_batches;
