//! Settings chosen by trying them, on validation figures only.
//!
//! A grid file has a table for each method, and `[all]` for what every method tries; a key of the run file leads to the
//! values to try:
//!
//! ```toml
//! [all]
//! "train.lr" = [1e-4, 1e-3]
//! [controlg]
//! "control.kp" = [0.5, 1.0, 2.0]
//! ```
//!
//! Every combination is tried with the first seed. The test nodes and edges are not looked at: a [`Trial`] has no place
//! for them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Comparison, Job, edges_of};
use crate::config::{self, EdgeScope};
use crate::error::{Error, Result};
use crate::eval::{Task, floors};
use crate::rng::Stream;

/// Values to try, by method and key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    methods: BTreeMap<String, Vec<(String, Vec<String>)>>,
}

/// What one combination of settings came to: a line of `trials.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridTrial {
    /// The data set.
    pub data: String,
    /// The method.
    pub method: String,
    /// The seed.
    pub seed: u64,
    /// The task whose validation figure it is.
    pub task: Task,
    /// The combination, as `key=value`.
    pub settings: Vec<String>,
    /// The validation figure in percent; `None` of a combination that could not be trained.
    pub validation: Option<f64>,
    /// The hash of the run's settings.
    pub config_hash: String,
    /// The probe whose figure it is.
    #[serde(default)]
    pub probe: String,
    /// What was done to the embeddings before it.
    #[serde(default)]
    pub embedding: String,
    /// The hash of the data set.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data_hash: String,
}

impl GridTrial {
    /// Whether it is of this job in this comparison. Lines of versions that did not write the probe are taken as they are.
    pub fn is_of(&self, job: &Job, comparison: &Comparison) -> bool {
        let same_probe = self.task == Task::Lp
            || self.probe.is_empty()
            || (self.probe == comparison.probe.name() && self.embedding == comparison.embedding.name());
        same_probe
            && comparison.is_of_data(&job.data, &self.data_hash)
            && job.tasks.contains(&self.task)
            && job.subject.hash().is_ok_and(|hash| hash == self.config_hash)
    }
}

/// The combination that did best on validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridChoice {
    /// The data set.
    pub data: String,
    /// The method.
    pub method: String,
    /// The task whose validation figure decided.
    pub task: Task,
    /// The combination, as `key=value`.
    pub settings: Vec<String>,
    /// Its validation figure in percent.
    pub validation: f64,
    /// How many combinations were tried.
    pub trials: usize,
}

/// The table that holds for every method.
const ALL: &str = "all";

/// The grids of the paper.
const PAPER: &str = include_str!("../../grids/paper.toml");

impl Grid {
    /// Reads a grid file; `paper` stands for the paper's grids.
    pub fn read(path: &Path) -> Result<Grid> {
        let table = match path.to_str() {
            Some("paper") if !path.exists() => PAPER.parse().map_err(|error: toml::de::Error| {
                Error::Failed(format!("the grids that come with controlg: {error}"))
            })?,
            _ => config::read(path)?,
        };
        let wrong =
            |place: &str, found: &toml::Value, expected: &str| Error::input(path, place, found, expected);
        let mut methods = BTreeMap::new();
        for (method, keys) in &table {
            let Some(keys) = keys.as_table() else {
                return Err(wrong(method, keys, "a table of keys, each with a list of values"));
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

    /// All combinations for a method, as lists of `key=value`; no more than `limit`, drawn where there are more.
    pub fn combinations(&self, method: &str, limit: Option<usize>) -> Vec<Vec<String>> {
        let of = |name: &str| self.methods.get(name).cloned().unwrap_or_default();
        // What is said for the method counts more than what is said for all.
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

    /// The jobs that try every combination with the first seed, each judged by the task that decides.
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
                for task in deciding(&comparison.tasks) {
                    for settings in &combinations {
                        let edges = edges_of(task);
                        jobs.push(comparison.job(data, method, seed, edges, &[task], settings.clone())?);
                    }
                }
            }
        }
        Ok(jobs)
    }
}

/// The tasks whose validation figures decide: clustering has none of its own and goes with node classification.
fn deciding(tasks: &[Task]) -> Vec<Task> {
    let mut deciding: Vec<Task> =
        tasks.iter().map(|task| if *task == Task::Lp { Task::Lp } else { Task::Nc }).collect();
    deciding.sort();
    deciding.dedup();
    deciding
}

impl GridChoice {
    /// Whether it settles the runs of a method on a data set that see these edges.
    pub fn is_for(&self, data: &str, method: &str, edges: EdgeScope) -> bool {
        self.data == data && self.method == method && edges_of(self.task) == edges
    }
}

/// The best combination for each data set, method and task; `None` while trials are missing. Of equals the one that stands
/// first in the grid is taken; one that could not be trained is no choice, and where none could that is an error.
pub fn choose(
    comparison: &Comparison,
    jobs: &[Job],
    trials: &[GridTrial],
) -> Result<Option<Vec<GridChoice>>> {
    let mut choices: Vec<GridChoice> = Vec::new();
    for job in jobs {
        let own: Vec<&GridTrial> = trials.iter().filter(|trial| trial.is_of(job, comparison)).collect();
        let Some(GridTrial { task, .. }) = own.last() else { return Ok(None) };
        let Some(validation) = own.iter().rev().find_map(|trial| trial.validation) else { continue };
        let known = choices.iter_mut().find(|known| known.is_for(&job.data, &job.method, job.edges));
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
        |job: &&Job| !choices.iter().any(|choice| choice.is_for(&job.data, &job.method, job.edges));
    match jobs.iter().find(unsettled) {
        None => Ok(Some(choices)),
        Some(job) => {
            let place = format!("--grid, {} on {}", job.method, job.data);
            Err(Error::value(place, "no combination that could be trained", "at least one"))
        }
    }
}
