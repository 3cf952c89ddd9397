//! Ops by family. Each is one method of [`Tape`](super::Tape): the value, then a closure with its derivative.

mod activation;
mod attention;
mod contrast;
mod correlate;
mod dense;
mod loss;
mod norm;
mod pairs;
mod recon;
mod rows;
mod sparse;

pub use activation::Activation;
pub use attention::Attention;
pub use norm::ColumnStats;

pub use crate::kernels::infonce::Contrast;
pub use crate::kernels::loss::Averaging;
pub use crate::kernels::recon::Distance;
