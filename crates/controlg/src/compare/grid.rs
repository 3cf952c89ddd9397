//! Grid search over settings, on validation scores only.
//!
//! A grid file has one table per method and `[all]` for every method; each entry lists the values of one setting:
//!
//! ```toml
//! [all]
//! "train.lr" = [1e-4, 1e-3]
//! [controlg]
//! "control.kp" = [0.5, 1.0, 2.0]
//! ```
//!
//! Every combination is run with the first seed. Test scores cannot leak into the choice: a [`GridTrial`] has no field
//! for them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Comparison, Job, edge_scope};
use crate::config::{self, EdgeScope};
use crate::error::{Error, Result};
use crate::eval::{Task, floors};
use crate::rng::Stream;

/// Candidate values by method and setting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    methods: BTreeMap<String, Vec<(String, Vec<String>)>>,
}

/// Validation score of one combination of settings: a line of `trials.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridTrial {
    /// Data set.
    pub data: String,
    /// Method.
    pub method: String,
    /// Seed.
    pub seed: u64,
    /// Task of the validation score.
    pub task: Task,
    /// Settings, as `key=value`.
    pub settings: Vec<String>,
    /// Validation score in percent; `None` if training failed.
    pub validation: Option<f64>,
    /// Hash of the settings.
    pub config_hash: String,
    /// Probe.
    #[serde(default)]
    pub probe: String,
    /// Normalization of the embeddings.
    #[serde(default)]
    pub embedding: String,
    /// Hash of the data set.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data_hash: String,
}

impl GridTrial {
    /// Whether the trial belongs to this job. Early versions wrote no probe; it then matches.
    pub fn matches(&self, job: &Job, comparison: &Comparison) -> bool {
        let same_probe = self.task == Task::Lp
            || self.probe.is_empty()
            || (self.probe == comparison.probe.name() && self.embedding == comparison.normalize.name());
        same_probe
            && comparison.matches_data(&job.data, &self.data_hash)
            && job.tasks.contains(&self.task)
            && job.source.hash().is_ok_and(|hash| hash == self.config_hash)
    }
}

/// Best combination on validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridChoice {
    /// Data set.
    pub data: String,
    /// Method.
    pub method: String,
    /// Task of the validation score.
    pub task: Task,
    /// Settings, as `key=value`.
    pub settings: Vec<String>,
    /// Validation score in percent.
    pub validation: f64,
    /// Number of successful trials.
    pub trials: usize,
}

/// Table that applies to every method.
const ALL: &str = "all";

/// Grids of the paper.
const PAPER: &str = include_str!("../../grids/paper.toml");

impl Grid {
    /// Reads a grid file; `paper` selects the built-in grids of the paper.
    pub fn read(path: &Path) -> Result<Grid> {
        let table = match path.to_str() {
            Some("paper") if !path.exists() => PAPER
                .parse()
                .map_err(|error: toml::de::Error| Error::Failed(format!("the built-in grids: {error}")))?,
            _ => config::read_toml(path)?,
        };
        let wrong =
            |place: &str, found: &toml::Value, expected: &str| Error::input(path, place, found, expected);
        let mut methods = BTreeMap::new();
        for (method, keys) in &table {
            let Some(keys) = keys.as_table() else {
                return Err(wrong(method, keys, "a table of settings, each with a list of values"));
            };
            let mut lists = Vec::new();
            for (key, values) in keys {
                let place = format!("{method}.\"{key}\"");
                match values.as_array() {
                    Some(list) if !list.is_empty() => {
                        lists.push((key.clone(), list.iter().map(ToString::to_string).collect()));
                    }
                    _ => return Err(wrong(&place, values, "a list of values to try")),
                }
            }
            methods.insert(method.clone(), lists);
        }
        Ok(Grid { methods })
    }

    /// All combinations for a method, as lists of `key=value`; a random sample if there are more than `limit`.
    pub fn combinations(&self, method: &str, limit: Option<usize>) -> Vec<Vec<String>> {
        let of = |name: &str| self.methods.get(name).cloned().unwrap_or_default();
        // The method's own table overrides `[all]`.
        let own = of(method);
        let mut keys = of(ALL);
        keys.retain(|(key, _)| !own.iter().any(|(known, _)| known == key));
        keys.extend(own);
        let count = keys.iter().try_fold(1_usize, |product, (_, values)| product.checked_mul(values.len()));
        let nth = |mut place: usize| {
            let mut combination = Vec::new();
            for (key, values) in &keys {
                combination.push(format!("{key}={}", values[place % values.len()]));
                place /= values.len();
            }
            combination
        };
        let count = count.unwrap_or(usize::MAX);
        match limit {
            Some(limit) if limit < count => {
                let mut stream = Stream::new(0, "grid", method, 0);
                let mut places = std::collections::BTreeSet::new();
                while places.len() < limit {
                    places.insert(stream.below(count));
                }
                places.into_iter().map(nth).collect()
            }
            _ => (0..count).map(nth).collect(),
        }
    }

    /// Jobs that run every combination with the first seed, each evaluated on the selection task.
    pub fn jobs(&self, comparison: &Comparison, limit: Option<usize>) -> Result<Vec<Job>> {
        let seed = comparison.seeds.first().copied().unwrap_or_default();
        let mut jobs = Vec::new();
        for data in &comparison.data {
            for method in comparison.methods.iter().filter(|method| !floors::NAMES.contains(&method.as_str()))
            {
                let combinations = self.combinations(method, limit);
                if combinations.len() < 2 {
                    continue;
                }
                for task in selection_tasks(&comparison.tasks) {
                    for settings in &combinations {
                        let edges = edge_scope(task);
                        jobs.push(comparison.job(data, method, seed, edges, &[task], settings.clone())?);
                    }
                }
            }
        }
        Ok(jobs)
    }
}

/// Tasks whose validation scores select the settings; clustering has none and uses node classification.
fn selection_tasks(tasks: &[Task]) -> Vec<Task> {
    let mut selection: Vec<Task> =
        tasks.iter().map(|task| if *task == Task::Lp { Task::Lp } else { Task::Nc }).collect();
    selection.sort();
    selection.dedup();
    selection
}

impl GridChoice {
    /// Whether the choice applies to runs of a method on a data set with these training edges.
    pub fn applies_to(&self, data: &str, method: &str, edges: EdgeScope) -> bool {
        self.data == data && self.method == method && edge_scope(self.task) == edges
    }
}

/// The best combination for each data set, method and task; `None` while trials are missing. Ties go to the first in the
/// grid. Failed trials are skipped; it is an error if all failed.
pub fn choose(
    comparison: &Comparison,
    jobs: &[Job],
    trials: &[GridTrial],
) -> Result<Option<Vec<GridChoice>>> {
    let mut choices: Vec<GridChoice> = Vec::new();
    for job in jobs {
        let own: Vec<&GridTrial> = trials.iter().filter(|trial| trial.matches(job, comparison)).collect();
        let Some(GridTrial { task, .. }) = own.last() else { return Ok(None) };
        let Some(validation) = own.iter().rev().find_map(|trial| trial.validation) else { continue };
        let known = choices.iter_mut().find(|known| known.applies_to(&job.data, &job.method, job.edges));
        match known {
            Some(known) => {
                known.trials += 1;
                if validation > known.validation {
                    known.validation = validation;
                    known.settings.clone_from(&job.settings);
                }
            }
            None => choices.push(GridChoice {
                data: job.data.clone(),
                method: job.method.clone(),
                task: *task,
                settings: job.settings.clone(),
                validation,
                trials: 1,
            }),
        }
    }
    let unsettled =
        |job: &&Job| !choices.iter().any(|choice| choice.applies_to(&job.data, &job.method, job.edges));
    match jobs.iter().find(unsettled) {
        None => Ok(Some(choices)),
        Some(job) => {
            let place = format!("--grid, {} on {}", job.method, job.data);
            Err(Error::value(place, "no combination that trains", "at least one"))
        }
    }
}
