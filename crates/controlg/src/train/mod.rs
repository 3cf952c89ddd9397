//! Pretraining: the training loop, run folders, and embedding with a trained encoder.
//!
//! - [`pretrain`] trains in memory and returns a [`TrainedModel`].
//! - [`RunFolder`] trains into a folder: it writes the record while training, saves checkpoints, and resumes.
//! - [`Training`] is the loop itself, one warm-up round or block at a time.
//! - [`Model`] is one step lower: training steps and sensing, without a method that chooses the objective.
//! - [`RunEstimate`] predicts memory and time before a run.
//! - [`WorkCounter`] counts what a run has cost, from its record.

mod batch;
mod embed;
mod estimate;
mod input;
mod limit;
pub mod memory;
mod mixing;
mod model;
mod normalization;
mod pretrain;
mod quality;
mod readout;
mod run;
mod step_times;
mod timing;
mod trained_model;
mod training;
mod work;

pub use batch::sample_batches;
pub use embed::{embed, embed_into, match_features};
pub use estimate::{Proposal, RunEstimate};
pub use input::Input;
pub use limit::within;
pub use memory::size;
pub use model::{EmbedStats, Model, ModelSpec, NamedObjective};
pub use pretrain::{pretrain, pretrain_until, pretrain_with};
pub use run::event::RunEvent;
pub use run::feature_match::MatchedGraph;
pub use run::files::{is_own_embeddings, write_embeddings};
pub use run::folder::{RunFolder, RunSummary};
pub(crate) use run::folder::{has_files, remove_run};
pub use run::results::{hashes_of_model, write_results};
pub use run::snapshots::snapshots_of;
pub use step_times::step_times;
pub use trained_model::{TrainedModel, TrainedModelParts, embed_from_bytes, match_features_from_bytes};
pub use training::{Timings, TrainProgress, Training};
pub use work::{RunWork, WorkCounter};
