//! What runs cost, estimated from measured costs of their parts.
//!
//! `costs.json` has, for each data set and kind of run, milliseconds of a step on each objective and of a sensing, seconds
//! around the steps and of an evaluation, and peak memory. `measure-costs.py` measured them with the default presets, as
//! CPU times of one thread, so the sum over jobs is in core-seconds.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::compare::{EmbeddingSource, Job};
use crate::config::{Config, EdgeScope};
use crate::coordinator::UNTRAINED;

/// Estimated cost of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobCost {
    /// Core-seconds.
    pub seconds: f64,
    /// Peak memory in MB.
    pub peak_mb: f64,
}

/// Data set → kind of run → measured costs.
type MeasuredCosts = BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>>;

/// The estimated cost of a job; `None` if its data set or one of its objectives was not measured.
pub fn of_job(job: &Job) -> Option<JobCost> {
    let kind = match (&job.source, job.edges) {
        (EmbeddingSource::Run(config), _) if is_gat(config) => "gat",
        (_, EdgeScope::All) => "all",
        (_, EdgeScope::Train) => "train",
    };
    let measured = measured().get(&job.data)?.get(kind)?;
    let evaluation = *measured.get("evaluation")?;
    let around = match &job.source {
        EmbeddingSource::Floor(_) => 0.0,
        EmbeddingSource::Run(config) => measured.get("overhead")? + training(config, measured)?,
    };
    Some(JobCost { seconds: around + evaluation, peak_mb: *measured.get("peak_mb")? })
}

fn is_gat(config: &Config) -> bool {
    config.encoder.settings().get("kind").and_then(toml::Value::as_str) == Some("gat")
        && config.objectives.len() > 1
}

/// Seconds of the steps and sensings. A mixing step takes as long as one step on each objective.
fn training(config: &Config, measured: &BTreeMap<String, f64>) -> Option<f64> {
    if config.method == UNTRAINED {
        return Some(0.0);
    }
    let steps: Option<Vec<f64>> = config.objectives.iter().map(|name| measured.get(name).copied()).collect();
    let (all, k) = (steps?.iter().sum::<f64>(), config.objectives.len() as f64);
    let step = if config.mix.is_empty() { all / k } else { all };
    let sensing = measured.get("sensing").copied().unwrap_or(2.0 * all);
    Some((config.total_steps() as f64 * step + config.sensings() as f64 * sensing) / 1e3)
}

fn measured() -> &'static MeasuredCosts {
    static COSTS: OnceLock<MeasuredCosts> = OnceLock::new();
    COSTS.get_or_init(|| serde_json::from_str(include_str!("costs.json")).expect("costs.json is tested"))
}
