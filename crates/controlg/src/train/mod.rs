//! Pretraining.

mod model;

pub use model::{Model, Parts, Task};
