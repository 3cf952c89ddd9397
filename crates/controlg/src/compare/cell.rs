//! The schema of `results.jsonl`.

use serde::{Deserialize, Serialize};

use super::Curve;
use crate::eval::quality::Quality;

/// Score of one method on one data set, seed and task: a line of `results.jsonl`.
///
/// The field names are the JSON keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultCell {
    /// Data set.
    pub data: String,
    /// Method.
    pub method: String,
    /// Name of the pool of objectives, in a comparison over pools.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pool: String,
    /// Seed.
    pub seed: u64,
    /// `nc`, `lp` or `cluster`.
    pub task: String,
    /// Score in percent.
    pub value: f64,
    /// Protocol of the evaluation.
    pub protocol: String,
    /// Hash of the split, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_hash: Option<String>,
    /// Probe.
    #[serde(default)]
    pub probe: String,
    /// Normalization of the embeddings; see [`EmbeddingNormalization`](crate::eval::EmbeddingNormalization).
    #[serde(default)]
    pub embedding: String,
    /// Macro-F1 in percent, for node classification; accuracy is micro-F1. `None` in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub macro_f1: Option<f64>,
    /// Validation score in percent, if the task has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// Quality of the embeddings without labels, after the last epoch; `None` for floors and results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<Quality>,
    /// Mean over the objectives of the last held-out loss relative to the first; `None` if nothing was held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<f64>,
    /// Quality and cost along the run, with `--curve`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
    /// Classes without a training node in some split; their nodes count as missed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_classes: Vec<String>,
    /// Settings chosen by a grid search, as `key=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Hash of the settings.
    #[serde(default)]
    pub config_hash: String,
    /// Hash of the data set.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data_hash: String,
    /// Optimizer steps.
    #[serde(default)]
    pub steps: u64,
    /// Evaluations of an objective, with or without gradients.
    #[serde(default)]
    pub evaluations: u64,
    /// Training time in seconds.
    #[serde(default)]
    pub seconds: f64,
    /// Peak memory in MB.
    #[serde(default)]
    pub peak_mb: f64,
    /// Number of threads; `seconds` depends on it.
    #[serde(default)]
    pub threads: usize,
    /// Version of controlg.
    #[serde(default)]
    pub version: String,
}
