//! From what the user gave to a complete [`Config`]: presets and defaults filled in, everything checked and built.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::method::MethodSource;
use super::preset::Base;
use super::{
    Config, Custom, EdgeScope, EmbedSettings, EncoderConfig, MixerConfig, ObjectiveConfig, TrainSettings,
    keys, legacy, merge, preset, stored,
};
use crate::coordinator::{ActiveMethod, ControlSettings, METHODS, Method, PlanSettings, SenseSettings};
use crate::data::FeatureSource;
use crate::encoder::ENCODERS;
use crate::error::{Error, Result};
use crate::objective::{self, OBJECTIVES};
use crate::registry;
use crate::setting::{self, Key};

/// The encoder of a run that names none.
pub(super) const DEFAULT_ENCODER: &str = "gcn";

impl Config {
    /// Resolves a run file. Settings that it does not give come from the preset of its method, then from the [`Preset`](super::Preset) of
    /// its data set that `preset` names, then from the defaults. Complete settings, such as those of a stored run, take none of them: a
    /// setting that did not exist when they were stored has the value that their run had implicitly.
    pub fn from_table(table: Table) -> Result<Config> {
        Config::from_table_with(table, &Custom::default())
    }

    /// Like [`Config::from_table`], for a run file that may name encoders, objectives and coordinators of your own.
    pub fn from_table_with(mut table: Table, custom: &Custom) -> Result<Config> {
        custom.check()?;
        legacy::to_new_names(&mut table);
        let mut merged = if stored::imply_if_complete(&mut table) { table } else { with_presets(table)? };
        merged.remove(keys::PRESET.name);
        keys::check_top(&merged)?;
        let mut take = |name: &str| match merged.remove(name) {
            Some(Value::Table(table)) => table,
            _ => Table::new(),
        };
        let (encoder, train, objective) = (take("encoder"), take("train"), take("objective"));
        let (sense, plan, control) = (take("sense"), take("plan"), take("control"));
        let (mix, embed) = (take("mix"), take("embed"));
        let top: keys::TopSettings = setting::settings("", keys::TOP, merged)?;

        let source = MethodSource::find(&top.method, custom)?;
        let names = participating(&top, custom)?;
        let mut config = Config {
            data: top.data,
            method: top.method,
            seed: top.seed,
            features: top.features,
            normalize: top.normalize,
            edges: top.edges,
            directed: top.directed,
            encoder: resolve_encoder(encoder, custom)?,
            train: setting::settings("train", TrainSettings::KEYS, train)?,
            objective: resolve_objectives(objective, &names, custom)?,
            objectives: names,
            sense: setting::settings("sense", SenseSettings::KEYS, sense)?,
            plan: setting::settings("plan", PlanSettings::KEYS, plan)?,
            control: setting::settings("control", ControlSettings::KEYS, control)?,
            mix: resolve_mixer(mix, source.listed())?,
            embed: setting::settings("embed", EmbedSettings::KEYS, embed)?,
            method_source: source,
        };
        if let Some(method) = config.method_source.listed() {
            let mut settings = config.scheduler();
            method.adjust(&mut settings);
            (config.sense, config.plan, config.control) = (settings.sense, settings.plan, settings.control);
        }
        config.check()?;
        Ok(config)
    }

    /// Checks that the settings fit together, beyond the range of each.
    fn check(&self) -> Result<()> {
        self.train.check()?;
        self.scheduler().check(self.objectives.len())?;
        if self.train.coupled_decay
            && let ActiveMethod::Mix(mixer) = self.build_method()?
            && mixer.uses_lookahead()
        {
            // The lookahead differentiates through a step whose gradient comes from the losses alone.
            let expected = format!("false with method = {}", self.method);
            return Err(Error::value("train.coupled_decay", true, expected));
        }
        #[allow(clippy::float_cmp)] // exactly 0 is none
        if self.senses_held_out() && self.sense.held_out == 0.0 {
            let expected = "more than 0 with plan.mode = gain, which measures gains on held-out samples";
            return Err(Error::value("sense.held_out", self.sense.held_out, expected));
        }
        #[allow(clippy::float_cmp)] // exactly 0 is none
        if self.train.stop_when_flat > 0 && self.sense.held_out == 0.0 {
            let expected = "more than 0 with train.stop_when_flat, which watches losses on held-out samples";
            return Err(Error::value("sense.held_out", self.sense.held_out, expected));
        }
        let warm_up = self.warm_up_steps();
        if warm_up > 0 && warm_up >= self.total_steps() {
            let found = format!("{} rounds of {} steps", self.train.warmup_rounds, self.objectives.len());
            let expected = format!("fewer than the {} steps of the run", self.total_steps());
            return Err(Error::value("train.warmup_rounds", found, expected));
        }
        Ok(())
    }
}

/// Puts the settings over the presets of their data set and method.
fn with_presets(mut table: Table) -> Result<Table> {
    let preset = keys::take_preset(&mut table)?;
    let data = match table.get("data") {
        Some(Value::String(data)) => data.clone(),
        Some(other) => return Err(Error::value("data", other, "a known name or a path")),
        None => return Err(Error::value("data", "nothing", "a known name or a path")),
    };
    let method = table.get("method").and_then(Value::as_str).unwrap_or_default();
    // A value that is not known is refused with the other settings.
    let edges = match table.get("edges").and_then(Value::as_str) {
        Some("train") => EdgeScope::Train,
        _ => EdgeScope::All,
    };
    let Base { settings: mut merged, implied } = preset::base(preset, &data, method, edges);
    if !single_objectives().contains(&method) {
        adapt_to_pool(&mut merged, &table, &data);
        adapt_to_gain(&mut merged, &table, method);
    }
    let flat = table.get("train").and_then(|train| train.get("stop_when_flat")).and_then(Value::as_integer);
    if flat.is_some_and(|epochs| epochs > 0) {
        insert(&mut merged, "sense", "held_out", HELD_OUT);
    }
    drop_foreign_encoder_settings(&mut merged, &table);
    keep_given_width(&mut merged, &table);
    // The normalization of the data set's preset suits its own features.
    if table.get("features").and_then(Value::as_str) == Some(FeatureSource::Structural.name()) {
        merged.remove("normalize");
        merged.extend(preset.for_any_graph().into_iter().filter(|(name, _)| name == "normalize"));
    }
    merge(&mut merged, table);
    if implied {
        stored::imply(&mut merged);
    }
    Ok(merged)
}

/// Adapts the preset of a data set to several objectives: adds the settings that the authors of each objective chose for
/// it (but not for encoder and optimizer, which all objectives share), and lowers the minimum share of an objective.
fn adapt_to_pool(preset: &mut Table, given: &Table, data: &str) {
    let Some(Value::Array(names)) = given.get("objectives") else { return };
    for name in names.iter().filter_map(Value::as_str) {
        merge(preset, preset::of_objective(name, data));
    }
    // At least half of the time is planned, as with the paper's five objectives and a minimum share of a tenth.
    let most = 0.5 / names.len() as f64;
    let Value::Table(plan) = preset.entry("plan").or_insert_with(|| Table::new().into()) else { return };
    let floor = plan.get("floor").and_then(Value::as_float).unwrap_or(PlanSettings::default().floor);
    if names.len() > OBJECTIVES.len() && floor > most {
        plan.insert("floor".to_owned(), most.into());
    }
}

/// Share of the samples that is held out where a setting needs it.
const HELD_OUT: f64 = 0.05;
/// Share of the blocks that planning by expected gain spreads over all objectives.
const EQUAL_SHARE: f64 = 0.25;
/// Nodes on which planning by expected gain senses. Its shares are within 0.05 of those sensed on the whole graph
/// (results/README.md), at a fraction of the cost.
const GAIN_NODES: i64 = 1024;

/// Adapts the preset of a data set to planning by expected gain, which needs held-out samples and senses on a subgraph. It
/// senses the gains of objectives that it does not train, so smaller shares suffice to notice that one has become useful.
fn adapt_to_gain(preset: &mut Table, given: &Table, method: &str) {
    let mode = given.get("plan").and_then(|plan| plan.get("mode")).and_then(Value::as_str);
    let is_gain = METHODS.iter().any(|known| known.name == method && known.plans_by_gain());
    if !is_gain && mode != Some("gain") {
        return;
    }
    let k = given.get("objectives").and_then(Value::as_array).map_or(OBJECTIVES.len(), Vec::len);
    insert(preset, "plan", "floor", EQUAL_SHARE / k.max(1) as f64);
    insert(preset, "sense", "held_out", HELD_OUT);
    insert(preset, "sense", "whole_up_to", GAIN_NODES);
    insert(preset, "sense", "probe_nodes", GAIN_NODES);
}

fn insert(preset: &mut Table, table: &str, name: &str, value: impl Into<Value>) {
    if let Value::Table(inner) = preset.entry(table).or_insert_with(|| Table::new().into()) {
        inner.insert(name.to_owned(), value.into());
    }
}

/// Drops the presets' feature channels if the user chose a width, or an encoder of their own: embeddings then have its width.
fn keep_given_width(preset: &mut Table, given: &Table) {
    let encoder = given.get("encoder");
    let kind = encoder.and_then(|encoder| encoder.get("kind")).and_then(Value::as_str);
    let is_own = kind.is_some_and(|kind| ENCODERS.iter().all(|entry| entry.name != kind));
    let gives_width = encoder.is_some_and(|encoder| encoder.get("width").is_some());
    if (gives_width || is_own)
        && let Some(Value::Table(embed)) = preset.get_mut("embed")
    {
        embed.remove("features");
    }
}

/// Removes the presets' encoder settings that the chosen encoder does not have: the user, or one of the presets, chose
/// another kind than the presets below.
fn drop_foreign_encoder_settings(preset: &mut Table, chosen: &Table) {
    let kind_of =
        |table: &Table| -> Option<String> { Some(table.get("encoder")?.get("kind")?.as_str()?.to_owned()) };
    let kind = kind_of(chosen).or_else(|| kind_of(preset));
    let (Some(kind), Some(Value::Table(encoder))) = (kind, preset.get_mut("encoder")) else { return };
    let keys = ENCODERS.iter().find(|entry| entry.name == kind).map_or(&[][..], |entry| entry.keys);
    encoder.retain(|name, _| name == "kind" || keys.iter().any(|key| key.name == name));
}

/// The objectives that take part: those listed, or the one that the method names.
fn participating(top: &keys::TopSettings, custom: &Custom) -> Result<Vec<String>> {
    if single_objectives().contains(&top.method.as_str()) || custom.objective(&top.method).is_some() {
        return Ok(vec![top.method.clone()]);
    }
    if top.objectives.is_empty() {
        return Err(Error::value("objectives", "none", "at least one"));
    }
    for (at, name) in top.objectives.iter().enumerate() {
        if custom.objective(name).is_none() {
            objective::find(name)?;
        }
        if top.objectives[..at].contains(name) {
            return Err(Error::value("objectives", format_args!("{name} twice"), "each objective once"));
        }
    }
    Ok(top.objectives.clone())
}

/// The names of all objectives that can be trained alone.
pub(super) fn single_objectives() -> Vec<&'static str> {
    objective::all().map(|entry| entry.name).collect()
}

fn resolve_encoder(mut given: Table, custom: &Custom) -> Result<EncoderConfig> {
    let kind = match given.remove("kind") {
        None => DEFAULT_ENCODER.to_owned(),
        Some(Value::String(kind)) => kind,
        Some(other) => return Err(Error::value("encoder.kind", other, "the name of an encoder")),
    };
    let (mut settings, network) = match custom.encoder(&kind) {
        Some(network) => (setting::checked("encoder", &[], given)?, network),
        None => {
            let entry = registry::find("encoder", ENCODERS, &kind)?;
            let settings = completed("encoder", entry.keys, (entry.defaults)()?, given)?;
            (settings.clone(), (entry.build)(settings)?.into())
        }
    };
    settings.insert("kind".to_owned(), kind.into());
    Ok(EncoderConfig::new(settings, network))
}

/// The objectives that take part. Tables of others are checked and dropped.
fn resolve_objectives(
    mut given: Table,
    names: &[String],
    custom: &Custom,
) -> Result<BTreeMap<String, ObjectiveConfig>> {
    let mut resolved = BTreeMap::new();
    let mut take = |name: &str| match given.remove(name) {
        None => Ok(Table::new()),
        Some(Value::Table(table)) => Ok(table),
        Some(other) => Err(Error::value(format_args!("objective.{name}"), other, "a table")),
    };
    for entry in objective::all() {
        let place = format!("objective.{}", entry.name);
        let settings = completed(&place, entry.keys, (entry.defaults)()?, take(entry.name)?)?;
        if names.iter().any(|name| name == entry.name) {
            let objective = (entry.build)(settings.clone())?;
            resolved.insert(entry.name.to_owned(), ObjectiveConfig::new(settings, objective));
        }
    }
    for (name, objective) in custom.objectives() {
        let settings = setting::checked(&format!("objective.{name}"), &[], take(name)?)?;
        if names.contains(name) {
            resolved.insert(name.clone(), ObjectiveConfig::new(settings, objective.clone()));
        }
    }
    match given.keys().next() {
        Some(unknown) => Err(Error::unknown("objective", unknown, single_objectives())),
        None => Ok(resolved),
    }
}

/// The mixer of the method, if it mixes. Tables of other mixers are checked and dropped.
fn resolve_mixer(mut given: Table, method: Option<&Method>) -> Result<BTreeMap<String, MixerConfig>> {
    let mut resolved = BTreeMap::new();
    for entry in METHODS.iter().filter_map(Method::mixer) {
        let place = format!("mix.{}", entry.name);
        let table = match given.remove(entry.name) {
            None => Table::new(),
            Some(Value::Table(table)) => table,
            Some(other) => return Err(Error::value(place, other, "a table")),
        };
        let settings = completed(&place, entry.keys, (entry.defaults)()?, table)?;
        if method.is_some_and(|method| method.name == entry.name) {
            let factory = (entry.build)(settings.clone())?;
            resolved.insert(entry.name.to_owned(), MixerConfig::new(settings, factory));
        }
    }
    if let Some(unknown) = given.keys().next() {
        let known: Vec<String> =
            METHODS.iter().filter_map(Method::mixer).map(|entry| format!("mix.{}", entry.name)).collect();
        return Err(Error::unknown("setting", format!("mix.{unknown}"), known.iter().map(String::as_str)));
    }
    Ok(resolved)
}

fn completed(place: &str, keys: &[Key], mut defaults: Table, given: Table) -> Result<Table> {
    merge(&mut defaults, setting::checked(place, keys, given)?);
    Ok(defaults)
}
