//! Ops by family. Each is one method of [`Tape`](super::Tape): it computes the value and records a closure with the derivative.
//!
//! An op calls kernels only through `compute` and `accumulate_grad_with`, and takes sizes from shapes, never from values: then
//! it also works in a shape pass.

mod activation;
mod attention;
mod columns;
mod contrast;
mod correlate;
mod dense;
mod features;
mod loss;
mod norm;
mod pairs;
mod recon;
mod relations;
mod rows;
mod sparse;

pub use activation::Activation;
pub use attention::{Attention, AttentionParams};
pub use norm::ColumnStats;

pub use crate::kernels::infonce::Contrast;
pub use crate::kernels::loss::Averaging;
pub use crate::kernels::recon::Distance;
