//! Data sets × methods × seeds × tasks: what is to be run, what is done, and the tables of it.
//!
//! [`Comparison`] says what is compared and lists its [`Job`]s. [`work`] does those that no line of the results
//! ([`JsonlStore`] of [`Cell`]s) tells of yet, several at once, by whatever function is given to run
//! one. [`Report`] makes the tables. [`Grid`] chooses settings on validation figures first.

mod grid;
mod job;
mod jsonl;
mod report;
mod run_jobs;

pub use grid::{Grid, GridChoice, GridTrial, choose};
pub use job::{Job, Subject};
pub use jsonl::JsonlStore;
pub use report::{ComparisonReport, Manifest, TaskTables};
pub use run_jobs::{JobProgress, work};

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::config::{self, Config, EdgeScope};
use crate::coordinator::UNTRAINED;
use crate::data::FeatureSource;
use crate::error::{Error, Result};
use crate::eval::table::ResultCell;
use crate::eval::{EmbeddingNormalization, Probe, Task, floors};
use crate::objective::OBJECTIVES;

/// What is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Data sets, by name or path.
    pub data: Vec<String>,
    /// Methods, floors among them.
    pub methods: Vec<String>,
    /// Seeds of runs and drawn splits.
    pub seeds: Vec<u64>,
    /// What the embeddings are judged by.
    pub tasks: Vec<Task>,
    /// Settings of all runs, over the presets: `key=value`.
    pub set: Vec<String>,
    /// What all methods have the same of.
    pub budget: Budget,
    /// The probe of node classification.
    pub probe: Probe,
    /// What is done to the embeddings before it.
    pub embedding: EmbeddingNormalization,
    /// The hash of each data set as it was when the comparison was made: results on others are not its own.
    #[serde(default)]
    pub data_hashes: BTreeMap<String, String>,
}

/// What all methods have the same of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Budget {
    /// Steps of the optimizer, however many objectives each looks at: those of its settings, which are the data set's but
    /// for methods that have an author's own.
    #[default]
    Steps,
    /// Evaluations of an objective, those of sensing included, as many as its settings have steps: a method that looks at
    /// five objectives a step has a fifth of the steps. Whole epochs only, so a method may have less, never more.
    Evaluations,
}

impl FromStr for Budget {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "steps" => Ok(Budget::Steps),
            "evaluations" => Ok(Budget::Evaluations),
            _ => Err(Error::unknown("budget", name, ["steps", "evaluations"])),
        }
    }
}

/// One of several machines that share a comparison; the first has index 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((index, of)) if 1 <= index && index <= of => Ok(Shard { index, of }),
            _ => Err(Error::value("shard", format_args!("'{text}'"), "i/n with i from 1 to n, e.g. 2/3")),
        }
    }
}

impl Shard {
    /// Whether the job at this place of the list is its own.
    pub fn takes(self, place: usize) -> bool {
        place % self.of == self.index - 1
    }
}

impl Comparison {
    /// Adds what no table goes without: the floors, and the objectives alone where `singles` is set. Repeated names count once.
    pub fn complete(&mut self, singles: bool) {
        let singles = OBJECTIVES.iter().map(|entry| entry.name).filter(|_| singles);
        let missing: Vec<String> = singles.chain(floors::NAMES).map(str::to_owned).collect();
        self.methods.extend(missing);
        for names in [&mut self.methods, &mut self.data] {
            let mut seen = std::collections::HashSet::new();
            names.retain(|name| seen.insert(name.clone()));
        }
        self.tasks.sort();
        self.tasks.dedup();
    }

    /// Every run that it takes, checked before any work: seed by seed, so that a part of the list is a smaller comparison.
    /// `choices` are the settings that a grid search found.
    pub fn jobs(&self, choices: &[GridChoice]) -> Result<Vec<Job>> {
        let mut jobs = Vec::new();
        for &seed in &self.seeds {
            for data in &self.data {
                for method in &self.methods {
                    for edges in [EdgeScope::All, EdgeScope::Train] {
                        let tasks: Vec<Task> =
                            self.tasks.iter().copied().filter(|task| edges_of(*task) == edges).collect();
                        if tasks.is_empty() {
                            continue;
                        }
                        let chosen = choices.iter().find(|choice| choice.is_for(data, method, edges));
                        let settings = chosen.map(|choice| choice.settings.clone()).unwrap_or_default();
                        jobs.push(self.job(data, method, seed, edges, &tasks, settings)?);
                    }
                }
            }
        }
        Ok(jobs)
    }

    fn job(
        &self,
        data: &str,
        method: &str,
        seed: u64,
        edges: EdgeScope,
        tasks: &[Task],
        settings: Vec<String>,
    ) -> Result<Job> {
        let subject = match floors::MADE.into_iter().find(|name| *name == method) {
            Some(floor) => Subject::Floor(floor),
            None => Subject::Run(Box::new(self.config(data, method, seed, edges, &settings)?)),
        };
        let (data, method) = (data.to_owned(), method.to_owned());
        Ok(Job { data, method, seed, edges, tasks: tasks.to_vec(), subject, settings })
    }

    /// Where the node features of all runs on a data set come from, and so those of its floors.
    pub fn features_of(&self, data: &str) -> Result<FeatureSource> {
        Ok(self.config(data, UNTRAINED, 0, EdgeScope::All, &[])?.features)
    }

    fn config(
        &self,
        data: &str,
        method: &str,
        seed: u64,
        edges: EdgeScope,
        settings: &[String],
    ) -> Result<Config> {
        let mut table = toml::Table::new();
        for assignment in self.set.iter().chain(settings) {
            config::set(&mut table, assignment)?;
        }
        let seed = i64::try_from(seed).map_err(|_| Error::value("--seeds", seed, "at most 2⁶³ − 1"))?;
        table.insert("data".to_owned(), data.into());
        table.insert("method".to_owned(), method.into());
        table.insert("seed".to_owned(), seed.into());
        table.insert("edges".to_owned(), if edges == EdgeScope::Train { "train" } else { "all" }.into());
        let config = Config::from_table(table.clone())?;
        let least = config.total_steps();
        if self.budget == Budget::Steps || config.evaluations() <= least {
            return Ok(config);
        }
        // Evaluations grow with the epochs: the most epochs that stay within the budget.
        let with = |epochs: usize| {
            let mut table = table.clone();
            config::set(&mut table, &format!("train.epochs={epochs}"))?;
            Config::from_table(table)
        };
        for epochs in (1..config.train.epochs).rev() {
            let fewer = with(epochs)?;
            if fewer.evaluations() <= least {
                return Ok(fewer);
            }
        }
        let expected = format!("a budget of more than {least} evaluations for {method}: more train.epochs");
        Err(Error::value("--budget", "evaluations", expected))
    }

    /// Whether a line of the results is what this job would give for a task.
    pub fn is_result(&self, job: &Job, task: Task, cell: &ResultCell) -> bool {
        let same_probe =
            task != Task::Nc || (cell.probe == self.probe.name() && cell.embedding == self.embedding.name());
        cell.data == job.data
            && cell.method == job.method
            && cell.seed == job.seed
            && cell.task == task.name()
            && job.subject.hash().is_ok_and(|hash| hash == cell.config_hash)
            && self.is_of_data(&job.data, &cell.data_hash)
            && same_probe
    }

    /// Whether a line with this hash is of a data set as it is now. Lines of versions that wrote none are taken as they are.
    fn is_of_data(&self, data: &str, hash: &str) -> bool {
        hash.is_empty() || self.data_hashes.get(data).is_none_or(|known| known == hash)
    }

    /// The job without the tasks that are done; `None` when nothing is left of it.
    pub fn left_of(&self, job: &Job, done: &[ResultCell]) -> Option<Job> {
        let open = |task: &Task| !done.iter().any(|cell| self.is_result(job, *task, cell));
        let tasks: Vec<Task> = job.tasks.iter().copied().filter(open).collect();
        (!tasks.is_empty()).then(|| Job { tasks, ..job.clone() })
    }

    /// The lines that belong to these jobs, each once: of a cell that was run again the last.
    pub fn results_of(&self, jobs: &[Job], all: &[ResultCell]) -> Vec<ResultCell> {
        let each = jobs.iter().flat_map(|job| job.tasks.iter().map(move |task| (job, *task)));
        each.filter_map(|(job, task)| all.iter().rev().find(|cell| self.is_result(job, task, cell)).cloned())
            .collect()
    }
}

/// The edges that a run for a task may see.
pub fn edges_of(task: Task) -> EdgeScope {
    if task == Task::Lp { EdgeScope::Train } else { EdgeScope::All }
}

#[cfg(test)]
mod tests;
