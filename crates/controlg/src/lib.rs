//! ControlG pretrains a graph neural network on one graph with several self-supervised objectives. A feedback loop
//! senses how hard each objective is and how much they conflict, plans the share of training that each one gets, and
//! schedules them block by block. The result is one embedding per node.
//!
//! # Tour
//!
//! Load a graph, choose settings, pretrain, use the embeddings:
//!
//! ```
//! use controlg::{Config, Graph, TrainedModel};
//! use controlg::graph::Features;
//!
//! // A graph from arrays; `controlg::data::load` reads data sets and files.
//! let features = Features::dense(4, 2, vec![1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.5])?;
//! let small = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], features)?;
//! assert_eq!((small.n_nodes(), small.n_edges()), (4, 3));
//! let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
//!
//! // Settings that are not given come from the data set's preset and from the defaults.
//! let config = Config::for_data("synthetic")?.width(16).epochs(1).steps_per_epoch(30).seed(7);
//!
//! // The embeddings are an n × width matrix, in the order of `model.ids()`.
//! let model = controlg::pretrain(&graph, &config)?;
//! assert_eq!((model.embeddings().n_rows(), model.embeddings().n_cols()), (200, 16));
//!
//! // A saved model embeds other graphs with the same features.
//! # let home = tempfile::tempdir().unwrap();
//! # let dir = home.path().join("run");
//! model.save(&dir)?;
//! let larger = controlg::data::load("synthetic:nodes=300", &Default::default())?.graph;
//! assert_eq!(TrainedModel::load(&dir)?.embed(&larger)?.n_rows(), 300);
//!
//! // The record explains every decision of the schedule, and the audit recomputes them.
//! assert!(controlg::audit::audit(&dir)?.blocks > 0);
//! # Ok::<(), controlg::Error>(())
//! ```
//!
//! # Where to go from here
//!
//! - [`pretrain_with`] reports progress, [`pretrain_until`] can stop early; [`train::RunFolder`] writes a run folder with
//!   checkpoints and resumes it.
//! - [`config::ConfigBuilder`] has all typed setters, and takes encoders, objectives and coordinators of your own.
//! - [`eval`] scores embeddings on node classification, link prediction and clustering.
//! - [`coordinator::Scheduler`] and [`recorded_scheduler::RecordedScheduler`] are the feedback loop without any tensors,
//!   for training loops of your own.
//!
//! The folder `examples/` has a short program for each: `embed_dataset`, `own_arrays`, `new_objective` and
//! `training_loop`.
//!
//! # Modules in reading order
//!
//! | module | content |
//! |---|---|
//! | [`graph`], [`data`] | graphs in memory; reading, splitting and converting data sets |
//! | [`config`], [`setting`], [`registry`] | the settings of a run, and the lists of implementations they choose from |
//! | [`train`] | the training loop, run folders, trained models |
//! | [`trace`], [`audit`](mod@audit), [`run_files`] | the record of a run and its audit; the files of a run folder |
//! | [`objective`], [`encoder`] | self-supervised objectives and graph neural networks |
//! | [`coordinator`], [`recorded_scheduler`] | methods that schedule or mix objectives |
//! | [`tensor`], [`rng`] | automatic differentiation; named random streams |
//! | [`eval`], [`compare`], [`report`] | evaluation, comparisons of many runs, HTML reports |
//! | [`auto`] | choosing settings without labels |
//! | [`collective`] | a run on several processes |
//! | [`error`], [`files`] | errors; atomic writes |

#![cfg_attr(feature = "f64", allow(clippy::useless_conversion))] // f64::from(x) of a Real

pub mod audit;
pub mod auto;
pub mod collective;
pub mod compare;
pub mod config;
pub mod coordinator;
pub mod data;
pub mod encoder;
pub mod error;
pub mod eval;
pub mod files;
pub mod graph;
#[cfg(not(feature = "internals"))]
mod kernels;
/// Not part of the public API: for the benchmarks and tests of this workspace.
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod kernels;
pub mod objective;
pub mod recorded_scheduler;
pub mod registry;
pub mod report;
pub mod reproduce;
pub mod rng;
mod rowfile;
pub mod run_files;
pub mod setting;
pub mod tensor;
pub mod trace;
pub mod train;

pub use config::Config;
pub use data::{Dataset, Labels};
pub use error::{Error, Result};
pub use graph::Graph;
pub use train::{TrainedModel, pretrain, pretrain_until, pretrain_with};

/// The floating-point type of features, activations and parameters.
#[cfg(not(feature = "f64"))]
pub type Real = f32;
/// The floating-point type of features, activations and parameters, in double precision for gradient checks.
#[cfg(feature = "f64")]
pub type Real = f64;
