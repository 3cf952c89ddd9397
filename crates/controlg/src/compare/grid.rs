//! Grid search over settings, on validation scores only.
//!
//! A grid file has one table per method and `[all]` for every method; each entry lists the values of one setting. Settings
//! that belong together are variants:
//!
//! ```toml
//! [all]
//! "train.lr" = [1e-4, 1e-3]
//! [controlg]
//! "control.kp" = [0.5, 1.0, 2.0]
//! [[all.variants]]
//! encoder = { kind = "gcn", width = 512 }
//! [[all.variants]]
//! encoder = { kind = "gat", width = 256, heads = 8 }
//! ```
//!
//! Every combination is run: each variant with each value of every list. Test scores cannot leak into the choice: a
//! [`GridTrial`] has no field for them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Comparison, Job, edge_scope};
use crate::config;
use crate::error::{Error, Result};
use crate::eval::{Task, floors};
use crate::rng::Stream;

/// Candidate settings by method.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    methods: BTreeMap<String, Vec<Dimension>>,
    /// Complete grids of single data sets, which are used instead.
    by_data: BTreeMap<String, Grid>,
}

/// One dimension of a grid: the values of a setting, or the variants.
#[derive(Clone, Debug, PartialEq)]
struct Dimension {
    /// The name of the setting, or [`VARIANTS`].
    name: String,
    /// The choices, each as a list of `key=value`.
    choices: Vec<Vec<String>>,
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
    /// The named protocols of node classification, over which the validation score is the mean.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<String>,
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
        // Data set and method are part of the hash; comparing them first saves hashing.
        (self.data == job.data && self.method == job.method && self.seed == job.seed)
            && same_probe
            && (self.task != Task::Nc || self.protocols == comparison.protocols)
            && comparison.matches_data(&job.data, &self.data_hash)
            && job.tasks.contains(&self.task)
            && job.source.hash().is_ok_and(|hash| hash == self.config_hash)
    }
}

/// Table that applies to every method.
const ALL: &str = "all";

/// Settings that belong together, in the table of a method.
const VARIANTS: &str = "variants";

/// The candidates of `pretrain --auto`.
const AUTO: &str = include_str!("../../grids/auto.toml");

/// Grids of the paper, and the one of a data set with a grid of its own.
const PAPER: &str = include_str!("../../grids/paper.toml");
const PAPER_ARXIV: (&str, &str) = ("ogbn-arxiv", include_str!("../../grids/paper-arxiv.toml"));

impl Grid {
    /// Reads a grid file; `paper` selects the built-in grids of the paper.
    pub fn read(path: &Path) -> Result<Grid> {
        match path.to_str() {
            Some("paper") if !path.exists() => Ok(Grid::paper()),
            _ => Grid::from_table(&config::read_toml(path)?, path),
        }
    }

    /// The built-in grids of the paper.
    pub fn paper() -> Grid {
        let (data, text) = PAPER_ARXIV;
        let general = built_in("paper", PAPER);
        // What the grid of a data set does not name is searched as everywhere.
        let mut own = general.clone();
        own.methods.extend(built_in("paper", text).methods);
        Grid { by_data: BTreeMap::from([(data.to_owned(), own)]), ..general }
    }

    /// The built-in candidates of `pretrain --auto`.
    pub fn auto() -> Grid {
        built_in("auto", AUTO)
    }

    /// The grid for a data set.
    fn on(&self, data: &str) -> &Grid {
        self.by_data.get(data).unwrap_or(self)
    }

    fn from_table(table: &toml::Table, path: &Path) -> Result<Grid> {
        let wrong =
            |place: &str, found: &toml::Value, expected: &str| Error::input(path, place, found, expected);
        let mut methods = BTreeMap::new();
        for (method, keys) in table {
            let Some(keys) = keys.as_table() else {
                return Err(wrong(method, keys, "a table of settings, each with a list of values"));
            };
            let mut dimensions = Vec::new();
            for (key, values) in keys.iter().filter(|(key, _)| *key != VARIANTS) {
                match values.as_array() {
                    Some(list) if !list.is_empty() => {
                        let choices = list.iter().map(|value| vec![format!("{key}={value}")]).collect();
                        dimensions.push(Dimension { name: key.clone(), choices });
                    }
                    _ => {
                        return Err(wrong(&format!("{method}.\"{key}\""), values, "a list of values to try"));
                    }
                }
            }
            if let Some(variants) = keys.get(VARIANTS) {
                let place = format!("{method}.{VARIANTS}");
                let each = variants.as_array().filter(|each| !each.is_empty());
                let tables = each.and_then(|each| each.iter().map(toml::Value::as_table).collect());
                let Some(tables): Option<Vec<&toml::Table>> = tables else {
                    return Err(wrong(&place, variants, "tables of settings"));
                };
                let choices: Vec<Vec<String>> = tables.into_iter().map(assignments).collect();
                // A setting in two places would be set twice, and one of its values be ignored.
                let listed = |choice: &String| {
                    dimensions.iter().any(|list| choice.starts_with(&format!("{}=", list.name)))
                };
                if let Some(twice) = choices.iter().flatten().find(|choice| listed(choice)) {
                    return Err(Error::input(path, place, twice, "settings that have no list of values"));
                }
                dimensions.push(Dimension { name: VARIANTS.to_owned(), choices });
            }
            methods.insert(method.clone(), dimensions);
        }
        Ok(Grid { methods, by_data: BTreeMap::new() })
    }

    /// All combinations for a method on a data set, as lists of `key=value`; a random sample if there are more than `limit`.
    pub fn combinations(&self, data: &str, method: &str, limit: Option<usize>) -> Vec<Vec<String>> {
        let of = |name: &str| self.on(data).methods.get(name).cloned().unwrap_or_default();
        // The method's own table overrides `[all]`.
        let own = of(method);
        let mut dimensions = of(ALL);
        dimensions.retain(|general| !own.iter().any(|known| known.name == general.name));
        dimensions.extend(own);
        product(&dimensions, method, limit)
    }

    /// The same without the settings that the grid has for all methods.
    pub fn own_combinations(&self, data: &str, method: &str, limit: Option<usize>) -> Vec<Vec<String>> {
        let own = self.on(data).methods.get(method).cloned().unwrap_or_default();
        product(&own, method, limit)
    }

    /// Jobs that run every combination with the first `seeds` seeds, each evaluated on a selection task.
    pub fn jobs(&self, comparison: &Comparison, limit: Option<usize>, seeds: usize) -> Result<Vec<Job>> {
        let mut jobs = Vec::new();
        for data in &comparison.data {
            for method in comparison.methods.iter().filter(|method| !floors::NAMES.contains(&method.as_str()))
            {
                let combinations = self.combinations(data, method, limit);
                if combinations.len() < 2 {
                    continue;
                }
                for task in selection_tasks(&comparison.tasks) {
                    for &seed in comparison.seeds.iter().take(seeds) {
                        for settings in &combinations {
                            let edges = edge_scope(task);
                            jobs.push(comparison.job(
                                data,
                                method,
                                None,
                                seed,
                                edges,
                                &[task],
                                settings.clone(),
                            )?);
                        }
                    }
                }
            }
        }
        Ok(jobs)
    }
}

fn built_in(name: &str, text: &str) -> Grid {
    let table = text.parse().expect("the built-in grids are tested");
    Grid::from_table(&table, Path::new(name)).expect("the built-in grids are tested")
}

/// All combinations of some dimensions, or a random sample of them, always the same one.
fn product(dimensions: &[Dimension], method: &str, limit: Option<usize>) -> Vec<Vec<String>> {
    let lengths = dimensions.iter().map(|dimension| dimension.choices.len());
    let count = lengths.into_iter().try_fold(1_usize, usize::checked_mul).unwrap_or(usize::MAX);
    let nth = |mut place: usize| {
        let mut combination = Vec::new();
        for Dimension { choices, .. } in dimensions {
            combination.extend(choices[place % choices.len()].iter().cloned());
            place /= choices.len();
        }
        combination
    };
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

/// The settings of a variant as `key=value`, sorted by name.
fn assignments(variant: &toml::Table) -> Vec<String> {
    fn walk(prefix: &str, table: &toml::Table, into: &mut Vec<String>) {
        for (key, value) in table {
            let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            match value {
                toml::Value::Table(inner) => walk(&name, inner, into),
                value => into.push(format!("{name}={value}")),
            }
        }
    }
    let mut all = Vec::new();
    walk("", variant, &mut all);
    all
}

/// Tasks whose validation scores select the settings; clustering has none and uses node classification.
fn selection_tasks(tasks: &[Task]) -> Vec<Task> {
    let mut selection: Vec<Task> =
        tasks.iter().map(|task| if *task == Task::Lp { Task::Lp } else { Task::Nc }).collect();
    selection.sort();
    selection.dedup();
    selection
}
