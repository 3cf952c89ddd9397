//! Runs on disk: the run folder, its checkpoints and its files.

pub(super) mod checkpoint;
pub(super) mod event;
pub(super) mod feature_match;
pub(super) mod files;
pub(super) mod folder;
pub(super) mod model_file;
mod output;
pub(super) mod results;
pub(super) mod safetensors;
mod same_run;
pub(super) mod snapshots;
