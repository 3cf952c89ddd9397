//! Comparisons: data sets × methods × seeds × tasks.
//!
//! A [`Comparison`] lists its [`Job`]s. [`run_jobs`] runs those without a result ([`ResultCell`]s in a [`JsonlStore`])
//! in parallel. [`ComparisonReport`] builds the tables. A [`Grid`] chooses settings on validation scores first.

mod cell;
mod choice;
pub(crate) mod curve;
mod grid;
mod job;
mod jsonl;
mod label_free;
mod manifest;
mod pool;
mod protocols;
mod run_jobs;
pub mod table;
mod tables;

pub use cell::ResultCell;
pub use choice::{ChooseBy, GridChoice, choose};
pub use curve::{Curve, CurvePoint};
pub use grid::{Grid, GridTrial};
pub use job::{EmbeddingSource, Job};
pub use jsonl::JsonlStore;
pub use manifest::Manifest;
pub use pool::{ObjectivePool, PoolSuite};
pub use run_jobs::{JobProgress, run_jobs};
pub use tables::{ComparisonReport, TaskTables};

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::config::{self, Config, EdgeScope, Preset};
use crate::coordinator::UNTRAINED;
use crate::data::{FeatureSource, PROTOCOLS};
use crate::error::{Error, Result};
use crate::eval::{EmbeddingNormalization, Probe, Task, floors};
use crate::objective::{self, OBJECTIVES};

/// Definition of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Data sets, by name or path.
    pub data: Vec<String>,
    /// Methods, including floors.
    pub methods: Vec<String>,
    /// Seeds of the runs and of random splits.
    pub seeds: Vec<u64>,
    /// Downstream tasks.
    pub tasks: Vec<Task>,
    /// Protocols of node classification, each with results of its own from the same runs; if there are none, that of each data
    /// set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<String>,
    /// The pools of objectives to train; if there are none, the one of the settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<ObjectivePool>,
    /// The presets of the data sets. A comparison without this field was made by version 0.1.
    #[serde(default = "paper")]
    pub preset: Preset,
    /// Settings of all runs on top of the presets, as `key=value`.
    pub set: Vec<String>,
    /// Budget shared by all methods.
    pub budget: Budget,
    /// Probe of node classification.
    pub probe: Probe,
    /// Normalization of the embeddings before the probe.
    #[serde(rename = "embedding")]
    pub normalize: EmbeddingNormalization,
    /// Hash of each data set; results with another hash do not belong to this comparison.
    #[serde(default)]
    pub data_hashes: BTreeMap<String, String>,
    /// Number of nodes of each data set: with `budget = evaluations`, a sensing on a subgraph counts by its share of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, usize>,
    /// Points along every run at which quality and cost are measured; 0 for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub curve: u64,
    /// Revision of the defaults of the runs, which a comparison keeps. 0, up to version 0.2: centered integrals of the
    /// controller, `controlg-gain` senses on the whole graph, and `train.epochs` in `set` counts epochs of the length that a
    /// method's own preset gives them. 1: the paper's integrals, `controlg-gain` senses on a subgraph, and `train.epochs` in
    /// `set` means the same number of steps for every method. 2: with `budget = evaluations`, a sensing on a subgraph counts
    /// by its share of the nodes.
    #[serde(default)]
    pub defaults: u32,
}

/// Budget shared by all methods of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Budget {
    /// Optimizer steps as set by the run's settings, no matter how many objectives a step evaluates.
    #[default]
    Steps,
    /// Evaluations of an objective, including sensing; at most as many as the settings have steps. A method that evaluates
    /// five objectives per step gets a fifth of the steps. Rounded down to whole epochs.
    Evaluations,
}

impl Budget {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Budget::Steps => "steps",
            Budget::Evaluations => "evaluations",
        }
    }
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

/// Part of a comparison that one of several machines runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Index, starting at 1.
    pub index: usize,
    /// Number of shards.
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
    /// Whether the job with this index in the list belongs to the shard.
    pub fn contains(self, index: usize) -> bool {
        index % self.of == self.index - 1
    }
}

impl Comparison {
    /// The revision of the defaults that new comparisons have.
    pub const DEFAULTS: u32 = 2;

    /// Adds the floors and, if `singles` is set, every single objective; removes duplicates.
    pub fn add_baselines(&mut self, singles: bool) {
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

    /// All jobs with validated settings, ordered by seed, so that a prefix of the list is a smaller comparison. `choices` are
    /// the settings found by a grid search.
    pub fn jobs(&self, choices: &[GridChoice]) -> Result<Vec<Job>> {
        let mut jobs = Vec::new();
        for &seed in &self.seeds {
            for data in &self.data {
                for method in &self.methods {
                    for pool in self.pools_of(method) {
                        for edges in [EdgeScope::All, EdgeScope::Train] {
                            let tasks: Vec<Task> = self
                                .tasks
                                .iter()
                                .copied()
                                .filter(|task| edge_scope(*task) == edges)
                                .collect();
                            if tasks.is_empty() {
                                continue;
                            }
                            let chosen = choices.iter().find(|choice| choice.applies_to(data, method, edges));
                            let settings = chosen.map(|choice| choice.settings.clone()).unwrap_or_default();
                            jobs.push(self.job(data, method, pool, seed, edges, &tasks, settings)?);
                        }
                    }
                }
            }
        }
        Ok(jobs)
    }

    /// The pools that a method trains: none of them for what trains no pool.
    fn pools_of(&self, method: &str) -> Vec<Option<&ObjectivePool>> {
        let is_floor = floors::NAMES.contains(&method);
        if self.pools.is_empty() || is_floor || objective::find(method).is_ok() {
            return vec![None];
        }
        self.pools.iter().map(Some).collect()
    }

    /// One job with validated settings.
    #[allow(clippy::too_many_arguments)] // the coordinates of a job
    pub(crate) fn job(
        &self,
        data: &str,
        method: &str,
        pool: Option<&ObjectivePool>,
        seed: u64,
        edges: EdgeScope,
        tasks: &[Task],
        settings: Vec<String>,
    ) -> Result<Job> {
        let source = match floors::COMPUTED.into_iter().find(|name| *name == method) {
            Some(floor) => EmbeddingSource::Floor(floor),
            None => EmbeddingSource::Run(Box::new(self.config(data, method, pool, seed, edges, &settings)?)),
        };
        let (data, method) = (data.to_owned(), method.to_owned());
        let pool = pool.map(|pool| pool.name.clone()).unwrap_or_default();
        Ok(Job { data, method, pool, seed, edges, tasks: tasks.to_vec(), source, settings })
    }

    /// Feature source of all runs and floors on a data set.
    pub fn feature_source(&self, data: &str) -> Result<FeatureSource> {
        Ok(self.config(data, UNTRAINED, None, 0, EdgeScope::All, &[])?.features)
    }

    fn config(
        &self,
        data: &str,
        method: &str,
        pool: Option<&ObjectivePool>,
        seed: u64,
        edges: EdgeScope,
        settings: &[String],
    ) -> Result<Config> {
        let mut table = toml::Table::from_iter([("preset".to_owned(), self.preset.name().into())]);
        if self.defaults == 0 {
            for setting in ["control.integral=centered", "sense.whole_up_to=50000", "sense.probe_nodes=20000"]
            {
                config::set(&mut table, setting)?;
            }
        }
        for assignment in self.equal_epochs(data, method, edges)?.iter().chain(&self.set).chain(settings) {
            config::set(&mut table, assignment)?;
        }
        let seed = i64::try_from(seed).map_err(|_| Error::value("--seeds", seed, "at most 2⁶³ − 1"))?;
        table.insert("data".to_owned(), data.into());
        table.insert("method".to_owned(), method.into());
        if let Some(pool) = pool {
            table.insert("objectives".to_owned(), pool.objectives.clone().into());
        }
        table.insert("seed".to_owned(), seed.into());
        table.insert("edges".to_owned(), if edges == EdgeScope::Train { "train" } else { "all" }.into());
        let config = Config::from_table(table.clone())?;
        let budget = config.total_steps();
        if self.budget == Budget::Steps || self.evaluations(&config) <= budget {
            return Ok(config);
        }
        // Find the largest number of epochs within the budget; evaluations grow with the epochs.
        let with = |epochs: usize| {
            let mut table = table.clone();
            config::set(&mut table, &format!("train.epochs={epochs}"))?;
            Config::from_table(table)
        };
        for epochs in (1..config.train.epochs).rev() {
            let fewer = with(epochs)?;
            if self.evaluations(&fewer) <= budget {
                return Ok(fewer);
            }
        }
        let expected =
            format!("a budget of more than {budget} evaluations for {method}: increase train.epochs");
        Err(Error::value("--budget", "evaluations", expected))
    }

    /// The number of objective evaluations of a run, as the comparison counts them.
    pub fn evaluations(&self, config: &Config) -> u64 {
        match self.nodes.get(&config.data).filter(|_| self.defaults >= 2) {
            Some(&nodes) => config.evaluations_on(nodes),
            None => config.evaluations(),
        }
    }

    /// The protocols of a task that the comparison names; `None` stands for that of the data set.
    pub fn protocols_of(&self, task: Task) -> Vec<Option<&str>> {
        match &self.protocols[..] {
            named @ [_, ..] if task == Task::Nc => named.iter().map(|name| Some(&name[..])).collect(),
            _ => vec![None],
        }
    }

    /// Whether a result belongs to this job and task, by any of the comparison's protocols, and has the curve that the comparison
    /// asks for.
    pub fn is_result(&self, job: &Job, task: Task, cell: &ResultCell) -> bool {
        let same_probe =
            task != Task::Nc || (cell.probe == self.probe.name() && cell.embedding == self.normalize.name());
        let same_protocol = |named: &Option<&str>| named.is_none_or(|name| name == cell.protocol);
        cell.data == job.data
            && cell.method == job.method
            && cell.pool == job.pool
            && cell.seed == job.seed
            && cell.task == task.name()
            && job.source.hash().is_ok_and(|hash| hash == cell.config_hash)
            && self.matches_data(&job.data, &cell.data_hash)
            && same_probe
            && self.protocols_of(task).iter().any(same_protocol)
            && (self.curve == 0
                || !job.is_run()
                || cell.curve.as_ref().is_some_and(|c| c.points == self.curve))
    }

    /// The results of a job and task, one for each protocol that has one; if it was run twice, the last one.
    pub fn results_for<'c>(&self, job: &Job, task: Task, all: &'c [ResultCell]) -> Vec<&'c ResultCell> {
        let of_protocol = |named: Option<&str>| {
            let is_own = |cell: &&ResultCell| {
                named.is_none_or(|name| name == cell.protocol) && self.is_result(job, task, cell)
            };
            all.iter().rev().find(is_own)
        };
        self.protocols_of(task).into_iter().filter_map(of_protocol).collect()
    }

    /// The results of a floor, taken from another seed: only link prediction and splits that are drawn depend on the seed.
    ///
    /// Empty unless all protocols have one.
    pub fn results_of_another_seed(&self, job: &Job, task: Task, done: &[ResultCell]) -> Vec<ResultCell> {
        if !matches!(job.source, EmbeddingSource::Floor(_)) || task == Task::Lp {
            return Vec::new();
        }
        let is_drawn = |protocol: &str| PROTOCOLS.iter().any(|p| p.name == protocol && p.draw.is_some());
        let of_seed = |&seed: &u64| {
            let found = self.results_for(&Job { seed, ..job.clone() }, task, done);
            let complete = found.len() == self.protocols_of(task).len();
            let fixed = |cell: &&ResultCell| task == Task::Cluster || !is_drawn(&cell.protocol);
            (complete && found.iter().all(fixed)).then_some(found)
        };
        let seeds: BTreeSet<u64> = done.iter().map(|cell| cell.seed).collect();
        let found = seeds.iter().find_map(of_seed).unwrap_or_default();
        found.into_iter().map(|cell| ResultCell { seed: job.seed, ..cell.clone() }).collect()
    }

    /// Whether a result with this hash belongs to the current data set. Early versions wrote no hash; it then matches.
    fn matches_data(&self, data: &str, hash: &str) -> bool {
        hash.is_empty() || self.data_hashes.get(data).is_none_or(|known| known == hash)
    }

    /// The job without its finished tasks; `None` if all are done.
    pub fn remaining(&self, job: &Job, done: &[ResultCell]) -> Option<Job> {
        let open = |task: &Task| self.results_for(job, *task, done).len() < self.protocols_of(*task).len();
        let tasks: Vec<Task> = job.tasks.iter().copied().filter(open).collect();
        (!tasks.is_empty()).then(|| Job { tasks, ..job.clone() })
    }

    /// The results of these jobs; if a cell was run twice, the last one.
    pub fn results_of(&self, jobs: &[Job], all: &[ResultCell]) -> Vec<ResultCell> {
        let each = jobs.iter().flat_map(|job| job.tasks.iter().map(move |task| (job, *task)));
        each.flat_map(|(job, task)| self.results_for(job, task, all)).cloned().collect()
    }
}

impl Comparison {
    /// What `train.epochs` in `set` implies, so that a method with a preset of its own takes as many steps as the others:
    /// epochs of the same length, and a warm-up of the learning rate over the same share of the run as in the preset.
    fn equal_epochs(&self, data: &str, method: &str, edges: EdgeScope) -> Result<Vec<String>> {
        let sets =
            |key: &str| self.set.iter().any(|one| one.split('=').next().is_some_and(|k| k.trim() == key));
        if self.defaults == 0 || !sets("train.epochs") {
            return Ok(Vec::new());
        }
        let with = |assignments: &[String]| {
            let mut table = toml::Table::from_iter([("preset".to_owned(), self.preset.name().into())]);
            table.insert("data".to_owned(), data.into());
            table.insert("method".to_owned(), method.into());
            table.insert("edges".to_owned(), if edges == EdgeScope::Train { "train" } else { "all" }.into());
            assignments.iter().try_for_each(|assignment| config::set(&mut table, assignment))?;
            Config::from_table(table)
        };
        let mut implied = Vec::new();
        if !sets("train.batches_per_epoch") {
            let preset = self.preset.settings(data, edges);
            let given = preset.get("train").and_then(|train| train.get("batches_per_epoch")?.as_integer());
            let steps = given.unwrap_or(config::TrainSettings::default().batches_per_epoch as i64);
            implied.push(format!("train.batches_per_epoch={steps}"));
        }
        let authors = with(&[])?;
        if authors.train.warmup_steps > 0 {
            let length: Vec<String> =
                implied.iter().chain(&self.set).filter(|one| one.starts_with("train.")).cloned().collect();
            let share = with(&length)?.total_steps() as f64 / authors.total_steps().max(1) as f64;
            let steps = (authors.train.warmup_steps as f64 * share).round();
            implied.push(format!("train.warmup_steps={steps}"));
        }
        Ok(implied)
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn paper() -> Preset {
    Preset::Paper
}

/// Edges on which a run for this task may train.
pub fn edge_scope(task: Task) -> EdgeScope {
    if task == Task::Lp { EdgeScope::Train } else { EdgeScope::All }
}

#[cfg(test)]
mod tests;
