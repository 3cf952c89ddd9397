//! The run file: from what was written to settings that are complete and checked.
//!
//! Settings come in layers, each over the one before: the defaults, the preset of a known data set, the settings that a
//! method's authors chose, a run file, single keys. What comes out is everything a run depends on; written down, it repeats the run.
//!
//! ```
//! use controlg::config::Config;
//!
//! let mut table = Config::preset("cora");
//! controlg::config::set(&mut table, "train.epochs=4").unwrap();
//! let config = Config::from_table(table).unwrap();
//! assert_eq!((config.train.epochs, config.control.explore), (4, 0.05));
//! assert!(config.to_toml().unwrap().contains("epochs = 4"));
//! ```

mod hash;
mod keys;
mod legacy;
mod preset;
mod train;

pub use keys::{KeyDoc, documented};
pub use train::{BatchMode, LrSchedule, Recompute, TrainSettings};

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::coordinator::{
    ActiveMethod, ControlSettings, METHODS, Method, MixerContext, PlanSettings, SchedulerSettings,
    SenseSettings, UNTRAINED,
};
use crate::data::{FeatureSource, limits};
use crate::encoder;
use crate::error::{Error, Result};
use crate::objective::{self, OBJECTIVES};
use crate::registry;
use crate::setting::{self, Key};

/// Everything a run depends on. [`Config::from_table`] makes it and checks it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// A known name or a path.
    pub data: String,
    /// The method, on [`METHODS`] or an objective's name.
    pub method: String,
    /// The objectives that take part.
    pub objectives: Vec<String>,
    /// Where every draw starts.
    pub seed: u64,
    /// Where node features come from.
    pub features: FeatureSource,
    /// What is done to them first.
    #[serde(alias = "normalise")]
    pub normalize: FeatureNormalization,
    /// Which edges pretraining sees.
    pub edges: EdgeScope,
    /// The encoder's table, complete.
    pub encoder: toml::Table,
    /// How training goes.
    pub train: TrainSettings,
    /// The objectives' tables, complete.
    pub objective: BTreeMap<String, toml::Table>,
    /// How measurements become state.
    pub sense: SenseSettings,
    /// How state becomes shares.
    pub plan: PlanSettings,
    /// How shares become decisions.
    pub control: ControlSettings,
    /// The table of a method that mixes, complete; none for the others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mix: BTreeMap<String, toml::Table>,
}

/// What is done to the features first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureNormalization {
    /// Each row is divided by its sum.
    Rows,
    /// Each column gets mean 0 and deviation 1.
    Columns,
    /// Nothing.
    None,
}

/// Which edges pretraining sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeScope {
    /// All.
    All,
    /// The training edges of the seed's `edges-70-10-20` split: what link prediction may be judged on.
    Train,
}

impl Config {
    /// The preset of a known data set as a table with its name, to be overridden; for others the name alone.
    pub fn preset(data: &str) -> toml::Table {
        let mut table = preset::find(data);
        table.insert("data".to_owned(), data.into());
        table
    }

    /// Complete, checked settings from what a run file says; what it does not say comes from the preset of its data
    /// set with that of its method over it, else from the defaults.
    pub fn from_table(mut table: toml::Table) -> Result<Config> {
        legacy::modernize(&mut table);
        let data = match table.get("data") {
            Some(toml::Value::String(data)) => data.clone(),
            Some(other) => return Err(Error::value("data", other, "a known name or a path")),
            None => return Err(Error::value("data", "nothing", "a known name or a path")),
        };
        let mut merged = Config::preset(&data);
        if let Some(toml::Value::String(method)) = table.get("method") {
            merge(&mut merged, preset::of_method(method, &data));
        }
        forget_other_kind(&mut merged, &table);
        merge(&mut merged, table);
        keys::check_top(&merged)?;

        let mut take = |name: &str| match merged.remove(name) {
            Some(toml::Value::Table(table)) => table,
            _ => toml::Table::new(),
        };
        let (encoder, train, objective) = (take("encoder"), take("train"), take("objective"));
        let (sense, plan, control) = (take("sense"), take("plan"), take("control"));
        let mix = take("mix");
        let top: keys::TopSettings = setting::settings("", keys::TOP, merged)?;
        let method = Method::find(&top.method, &names())?;
        let objectives = pool_of(&top)?;

        let mut config = Config {
            data: top.data,
            method: top.method,
            seed: top.seed,
            features: top.features,
            normalize: top.normalize,
            edges: top.edges,
            encoder: completed_encoder(encoder)?,
            train: setting::settings("train", TrainSettings::KEYS, train)?,
            objective: completed_objectives(objective, &objectives)?,
            objectives,
            sense: setting::settings("sense", SenseSettings::KEYS, sense)?,
            plan: setting::settings("plan", PlanSettings::KEYS, plan)?,
            control: setting::settings("control", ControlSettings::KEYS, control)?,
            mix: completed_mix(mix, &method)?,
        };
        let mut settings = config.scheduler();
        method.adjust(&mut settings);
        (config.sense, config.plan, config.control) = (settings.sense, settings.plan, settings.control);
        config.check()?;
        Ok(config)
    }

    /// What single settings cannot show: how they fit together.
    fn check(&self) -> Result<()> {
        self.train.check()?;
        self.scheduler().check(self.objectives.len())?;
        encoder::build(self.encoder.clone())?;
        for (name, table) in &self.objective {
            objective::build(name, table.clone())?;
        }
        if self.train.coupled_decay
            && let ActiveMethod::Mix(mixer) = self.decider()?
            && mixer.looks_ahead()
        {
            // Looking ahead differentiates a step whose gradient is that of the losses alone.
            let expected = format!("false with method = {}", self.method);
            return Err(Error::value("train.coupled_decay", true, expected));
        }
        let warm_up = self.warm_up_steps()?;
        if warm_up > 0 && warm_up >= self.total_steps() {
            let found = format!("{} rounds of {} steps", self.train.warmup_rounds, self.objectives.len());
            let expected = format!("fewer than the {} steps of the run", self.total_steps());
            return Err(Error::value("train.warmup_rounds", found, expected));
        }
        Ok(())
    }

    /// Its method, at the start of a run.
    pub fn decider(&self) -> Result<ActiveMethod> {
        let setup = MixerContext {
            n_tasks: self.objectives.len(),
            seed: self.seed,
            rate: self.train.lr,
            width: encoder::build(self.encoder.clone())?.width(),
        };
        let table = self.mix.get(&self.method).cloned().unwrap_or_default();
        Method::find(&self.method, &names())?.build(self.objectives.clone(), &self.scheduler(), table, &setup)
    }

    /// The settings of the loop.
    pub fn scheduler(&self) -> SchedulerSettings {
        SchedulerSettings {
            seed: self.seed,
            blocks_per_epoch: self.train.blocks_per_epoch(),
            sense: self.sense.clone(),
            plan: self.plan.clone(),
            control: self.control.clone(),
        }
    }

    /// Steps of a block, counted from 1 in its epoch, after `done` steps of the run: the last block of an epoch and of
    /// the run may be shorter.
    pub fn steps_of_block(&self, block: usize, done: u64) -> u64 {
        let TrainSettings { batches_per_epoch, block: whole, .. } = self.train;
        let left_in_epoch = (batches_per_epoch - (block - 1) * whole) as u64;
        (whole as u64).min(left_in_epoch).min(self.total_steps() - done)
    }

    /// Steps of the whole run.
    pub fn total_steps(&self) -> u64 {
        if self.method == UNTRAINED {
            return 0;
        }
        self.train.epochs as u64 * self.train.batches_per_epoch as u64
    }

    /// Evaluations of an objective, with gradients or without, in the whole run: one a step, or all objectives where the
    /// method mixes them; and all objectives in every round of the warm-up, at every sensing and at every step of trial
    /// runs. Not among them are the further passes of `was` (one without gradient at every step) and `autossl` (one with,
    /// every `meta_every` steps), which evaluate no objective.
    pub fn evaluations(&self) -> Result<u64> {
        let (steps, k) = (self.total_steps(), self.objectives.len() as u64);
        let coordinator = match self.decider()? {
            ActiveMethod::Mix(mixer) => {
                let trial = mixer.trial().map_or(0, |trial| trial.total_steps());
                return Ok(steps.saturating_add(trial).saturating_mul(k));
            }
            ActiveMethod::Schedule(coordinator) => coordinator,
        };
        let rounds = if coordinator.wants_warm_up() { self.train.warmup_rounds as u64 + 1 } else { 0 };
        Ok(steps + k * (rounds + self.sensings()?))
    }

    /// Measurements of losses and gradients in the whole run; none for a method that does without.
    pub fn sensings(&self) -> Result<u64> {
        match self.decider()? {
            ActiveMethod::Schedule(coordinator) if coordinator.wants_reading() => {
                let TrainSettings { batches_per_epoch, block, .. } = self.train;
                let in_steps = |steps: u64| steps.div_ceil(block as u64).div_ceil(self.sense.period as u64);
                let (scheduled, epoch) =
                    (self.total_steps() - self.warm_up_steps()?, batches_per_epoch as u64);
                Ok(scheduled / epoch * in_steps(epoch) + in_steps(scheduled % epoch))
            }
            _ => Ok(0),
        }
    }

    /// Steps of the warm-up, which count among them; none for a method that does without.
    pub fn warm_up_steps(&self) -> Result<u64> {
        let rounds = if self.decider()?.wants_warm_up() { self.train.warmup_rounds } else { 0 };
        Ok(rounds as u64 * self.objectives.len() as u64)
    }

    /// The run file that repeats this run.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| Error::Failed(error.to_string()))
    }

    /// SHA-256 of the settings in a canonical form that does not change between versions.
    pub fn hash(&self) -> Result<String> {
        hash::of(self)
    }
}

/// Reads a run file, without completing it. What is wrong in it is said with its name.
pub fn read(path: &Path) -> Result<toml::Table> {
    let text = limits::read_text(path)?;
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        let place = line.map(|line| format!("line {line}")).unwrap_or_default();
        Error::input(path, place, error.message(), "TOML")
    })
}

/// Puts `key=value` into a table; the key's dots lead into the tables of the run file. What is not a TOML value is
/// text, and where a list is wanted `a,b` is one.
pub fn set(table: &mut toml::Table, assignment: &str) -> Result<()> {
    let Some((key, text)) = assignment.split_once('=') else {
        return Err(Error::value("--set", format_args!("'{assignment}'"), "key=value"));
    };
    let (key, text) = (key.trim(), text.trim());
    let value = match format!("x = {text}").parse::<toml::Table>() {
        Ok(mut parsed) => parsed.remove("x").unwrap_or_else(|| text.into()),
        Err(_) if key == "objectives" => {
            text.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>().into()
        }
        Err(_) => text.into(),
    };
    let mut at = &mut *table;
    let mut path: Vec<&str> = key.split('.').collect();
    let last = path.pop().filter(|name| !name.is_empty());
    let Some(last) = last else {
        return Err(Error::value("--set", format_args!("'{assignment}'"), "key=value"));
    };
    for part in path {
        let inner = at.entry(part).or_insert_with(|| toml::Table::new().into());
        let found = inner.to_string();
        let Some(inner) = inner.as_table_mut() else {
            return Err(Error::value(
                format_args!("--set {key}"),
                format_args!("{part} = {found}"),
                "a table",
            ));
        };
        at = inner;
    }
    at.insert(last.to_owned(), value);
    legacy::modernize(table);
    Ok(())
}

/// Lays one table over another.
pub fn merge(under: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) => merge(under, over),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// Removes what a preset says of another kind of encoder than the one that is wanted.
fn forget_other_kind(preset: &mut toml::Table, wanted: &toml::Table) {
    let kind = wanted.get("encoder").and_then(|encoder| encoder.get("kind")).and_then(toml::Value::as_str);
    let entry = encoder::ENCODERS.iter().find(|entry| Some(entry.name) == kind);
    if let (Some(entry), Some(toml::Value::Table(encoder))) = (entry, preset.get_mut("encoder")) {
        encoder.retain(|name, _| entry.keys.iter().any(|key| key.name == name));
    }
}

/// The first key in which two settings differ, with both values.
pub fn first_difference(a: &Config, b: &Config) -> Result<Option<(String, String, String)>> {
    fn look(place: &str, a: &toml::Table, b: &toml::Table) -> Option<(String, String, String)> {
        let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        keys.into_iter().find_map(|key| {
            let name = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
            let shown =
                |table: &toml::Table| table.get(key).map_or("nothing".to_owned(), ToString::to_string);
            match (a.get(key), b.get(key)) {
                (Some(toml::Value::Table(a)), Some(toml::Value::Table(b))) => look(&name, a, b),
                (x, y) if x == y => None,
                _ => Some((name, shown(a), shown(b))),
            }
        })
    }
    Ok(look("", &setting::table_of(a)?, &setting::table_of(b)?))
}

/// The names of all that can be trained alone.
fn names() -> Vec<&'static str> {
    objective::all().map(|entry| entry.name).collect()
}

/// The objectives of a run: those named, or the one that the method names.
fn pool_of(top: &keys::TopSettings) -> Result<Vec<String>> {
    if names().contains(&top.method.as_str()) {
        return Ok(vec![top.method.clone()]);
    }
    if top.objectives.is_empty() {
        return Err(Error::value("objectives", "none", "at least one"));
    }
    for (at, name) in top.objectives.iter().enumerate() {
        registry::find("objective", OBJECTIVES, name)?;
        if top.objectives[..at].contains(name) {
            return Err(Error::value("objectives", format_args!("{name} twice"), "each objective once"));
        }
    }
    Ok(top.objectives.clone())
}

fn completed_encoder(mut given: toml::Table) -> Result<toml::Table> {
    let kind = match given.remove("kind") {
        None => "gcn".to_owned(),
        Some(toml::Value::String(kind)) => kind,
        Some(other) => return Err(Error::value("encoder.kind", other, "the name of an encoder")),
    };
    let entry = registry::find("encoder", encoder::ENCODERS, &kind)?;
    let mut table = completed("encoder", entry.keys, (entry.defaults)()?, given)?;
    table.insert("kind".to_owned(), kind.into());
    Ok(table)
}

fn completed_objectives(given: toml::Table, pool: &[String]) -> Result<BTreeMap<String, toml::Table>> {
    let mut tables = BTreeMap::new();
    for (name, table) in given {
        if !names().contains(&name.as_str()) {
            return Err(Error::unknown("objective", name, names()));
        }
        let toml::Value::Table(table) = table else {
            return Err(Error::value(format_args!("objective.{name}"), table, "a table"));
        };
        tables.insert(name, table);
    }
    // Tables of objectives that do not take part are checked and left out.
    for entry in objective::all() {
        let given = tables.remove(entry.name).unwrap_or_default();
        let place = format!("objective.{}", entry.name);
        let table = completed(&place, entry.keys, (entry.defaults)()?, given)?;
        if pool.iter().any(|name| name == entry.name) {
            tables.insert(entry.name.to_owned(), table);
        }
    }
    Ok(tables)
}

/// The table of a method that mixes. Those of other methods are checked and left out.
fn completed_mix(given: toml::Table, method: &Method) -> Result<BTreeMap<String, toml::Table>> {
    let mut tables = BTreeMap::new();
    for (name, table) in given {
        let mixers = || METHODS.iter().filter(|method| method.mixes());
        let Some(known) = mixers().find(|method| method.name == name) else {
            let known: Vec<String> = mixers().map(|known| format!("mix.{}", known.name)).collect();
            return Err(Error::unknown("setting", format!("mix.{name}"), known.iter().map(String::as_str)));
        };
        let place = format!("mix.{name}");
        let toml::Value::Table(table) = table else { return Err(Error::value(place, table, "a table")) };
        let table = completed(&place, known.keys(), known.defaults()?, table)?;
        if known.name == method.name {
            tables.insert(name, table);
        }
    }
    if method.mixes() && !tables.contains_key(method.name) {
        tables.insert(method.name.to_owned(), method.defaults()?);
    }
    Ok(tables)
}

fn completed(place: &str, keys: &[Key], defaults: toml::Table, given: toml::Table) -> Result<toml::Table> {
    setting::checked(place, keys, given).map(|given| {
        let mut table = defaults;
        merge(&mut table, given);
        table
    })
}

#[cfg(test)]
mod tests;
