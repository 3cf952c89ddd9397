//! ControlG pretrains a graph neural network on one graph with several self-supervised objectives, giving each
//! block of steps to one objective, and lets a feedback loop decide which.
//!
//! Modules in reading order: [`graph`] is what everything works on, [`data`] reads it from files or makes it;
//! [`kernels`] are bare loops, [`tensor`] differentiates through them, [`encoder`] builds networks of them;
//! [`coordinator`] decides who learns next; [`eval`] says how good the embeddings are, [`compare`] does so for many runs,
//! and [`report`] shows why.

#![cfg_attr(feature = "f64", allow(clippy::useless_conversion))] // f64::from(x) of a Real

pub mod audit;
pub mod compare;
pub mod config;
pub mod coordinator;
pub mod data;
pub mod encoder;
pub mod error;
pub mod eval;
pub mod files;
pub mod graph;
pub mod kernels;
pub mod objective;
pub mod recorded_scheduler;
pub mod registry;
pub mod report;
pub mod rng;
mod rowfile;
pub mod run_files;
pub mod setting;
pub mod tensor;
pub mod trace;
pub mod train;

pub use data::{Dataset, Labels};
pub use error::{Error, Result};
pub use graph::Graph;

/// The one floating-point type of features, activations and parameters.
#[cfg(not(feature = "f64"))]
pub type Real = f32;
/// The one floating-point type of features, activations and parameters, in the precision of the gradient suite.
#[cfg(feature = "f64")]
pub type Real = f64;
