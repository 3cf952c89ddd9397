//! Who learns next: numbers in, a decision out.
//!
//! Nothing here knows tensors, graphs or objectives. What was measured comes as a [`feedback::Reading`], what is to
//! be done goes out as the number of a task, so the loop can be replayed, audited and driven by anybody's own
//! training code.

pub mod feedback;
pub mod min_norm;

pub use feedback::{Reading, Scheduler, Settings};
