//! All settings of the run file with defaults, ranges and descriptions.

use serde::{Deserialize, Serialize};

use super::{Config, EdgeScope, EmbedSettings, FeatureNormalization, Preset, TrainSettings};
use crate::coordinator::{ControlSettings, METHODS, Method, PlanSettings, SenseSettings};
use crate::data::FeatureSource;
use crate::encoder::ENCODERS;
use crate::error::{Error, Result};
use crate::objective::{self, OBJECTIVES};
use crate::setting::{self, Key, Range, Scalar};

/// The top-level settings.
pub(super) const TOP: &[Key] = &[
    Key::new("data", Range::Text, "name of a known data set, or a path"),
    Key::new("method", Range::Text, "training method; see `controlg list methods`"),
    Key::new("objectives", Range::Names, "objectives to train; see `controlg list objectives`"),
    Key::new("seed", Range::Whole(0, i64::MAX as u64), "random seed"),
    Key::new(
        "features",
        Range::OneOf(&["given", "structural"]),
        "features from the data, or structural features computed from the edges",
    ),
    Key::new(
        "normalize",
        Range::OneOf(&["auto", "rows", "columns", "none"]),
        "feature normalization: divide rows by their sum, standardize columns, none, or what fits the features",
    ),
    Key::new(
        "edges",
        Range::OneOf(&["all", "train"]),
        "edges to train on: all, or the training edges of the edges-70-10-20 split for link prediction",
    ),
    Key::new(
        "directed",
        Range::Flag,
        "whether edges within a node type keep their direction, as two relations",
    )
    .added_later(Scalar::Flag(false)),
];

/// The choice of presets: a setting of run files, but not of a run, which has complete settings.
pub(super) const PRESET: Key =
    Key::new("preset", Range::OneOf(&["tuned", "paper"]), "where settings that are not given come from");

/// Removes and reads the choice of presets.
pub(super) fn take_preset(table: &mut toml::Table) -> Result<Preset> {
    match table.remove(PRESET.name) {
        None => Ok(Preset::default()),
        Some(toml::Value::String(name)) => name.parse(),
        Some(other) => Err(Error::value(PRESET.name, other, PRESET.range)),
    }
}

/// The tables of the run file.
const TABLES: &[&str] = &["encoder", "train", "embed", "objective", "sense", "plan", "control", "mix"];

/// The values of the top-level settings.
#[derive(Serialize, Deserialize)]
#[serde(default)]
pub(super) struct TopSettings {
    pub(super) data: String,
    pub(super) method: String,
    pub(super) objectives: Vec<String>,
    pub(super) seed: u64,
    pub(super) features: FeatureSource,
    pub(super) normalize: FeatureNormalization,
    pub(super) edges: EdgeScope,
    pub(super) directed: bool,
}

impl Default for TopSettings {
    fn default() -> Self {
        TopSettings {
            data: String::new(),
            method: "controlg".to_owned(),
            objectives: OBJECTIVES.iter().map(|entry| entry.name.to_owned()).collect(),
            seed: 0,
            features: FeatureSource::Given,
            normalize: FeatureNormalization::Auto,
            edges: EdgeScope::All,
            directed: false,
        }
    }
}

/// Rejects unknown top-level names, and values where a table is expected.
pub(super) fn check_top(table: &toml::Table) -> Result<()> {
    for (name, value) in table {
        if TABLES.contains(&name.as_str()) {
            if !value.is_table() {
                return Err(Error::value(name, value, format_args!("a table [{name}]")));
            }
        } else if !TOP.iter().chain([&PRESET]).any(|key| key.name == name) {
            let mut known = TOP.to_vec();
            known.push(PRESET);
            known.extend(TABLES.iter().map(|name| Key::new(name, Range::Text, "")));
            return Err(setting::unknown("", name, &known));
        }
    }
    Ok(())
}

/// Checks the names and ranges of settings, each for itself. `[encoder]` may hold settings of any kind of encoder.
pub(super) fn check_settings(table: &toml::Table) -> Result<()> {
    check_top(table)?;
    for (name, value) in table {
        match value {
            toml::Value::Table(inner) if name == "objective" || name == "mix" => {
                for (entry, settings) in inner {
                    check_table(&format!("{name}.{entry}"), settings)?;
                }
            }
            toml::Value::Table(_) => check_table(name, value)?,
            _ => {
                let single = toml::Table::from_iter([(name.clone(), value.clone())]);
                setting::checked("", &[TOP, &[PRESET]].concat(), single)?;
            }
        }
    }
    Ok(())
}

fn check_table(place: &str, settings: &toml::Value) -> Result<()> {
    let toml::Value::Table(settings) = settings else {
        return Err(Error::value(place, settings, "a table"));
    };
    let listed = tables().into_iter().filter(|(name, ..)| name == place);
    let mut keys: Vec<Key> = listed.flat_map(|(_, keys, _)| keys).copied().collect();
    if place == "encoder" {
        keys.push(ENCODER_KIND);
    }
    if keys.is_empty() {
        let known: Vec<String> = tables().into_iter().map(|(name, ..)| name).collect();
        return Err(Error::unknown("setting", place, known.iter().map(String::as_str)));
    }
    setting::checked(place, &keys, settings.clone()).map(drop)
}

const ENCODER_KIND: Key = Key::new("kind", Range::Text, "encoder; see `controlg list encoders`");

type Defaults = fn() -> Result<toml::Table>;

/// All tables of the run file with their keys and defaults, in the order of the listing; one for each kind of encoder.
pub(super) fn tables() -> Vec<(String, &'static [Key], Defaults)> {
    let mut tables: Vec<(String, &[Key], Defaults)> =
        ENCODERS.iter().map(|entry| ("encoder".to_owned(), entry.keys, entry.defaults)).collect();
    tables.push(("train".to_owned(), TrainSettings::KEYS, || setting::table_of(&TrainSettings::default())));
    tables.push(("embed".to_owned(), EmbedSettings::KEYS, || setting::table_of(&EmbedSettings::default())));
    tables.extend(
        objective::all().map(|entry| (format!("objective.{}", entry.name), entry.keys, entry.defaults)),
    );
    tables.push(("sense".to_owned(), SenseSettings::KEYS, || setting::table_of(&SenseSettings::default())));
    tables.push(("plan".to_owned(), PlanSettings::KEYS, || setting::table_of(&PlanSettings::default())));
    tables.push(("control".to_owned(), ControlSettings::KEYS, || {
        setting::table_of(&ControlSettings::default())
    }));
    let mixers = METHODS.iter().filter_map(Method::mixer);
    tables.extend(mixers.map(|entry| (format!("mix.{}", entry.name), entry.keys, entry.defaults)));
    tables
}

/// A setting as `controlg list config` shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyDoc {
    /// The full name, including its table.
    pub name: String,
    /// The default, as written in TOML.
    pub default: String,
    /// The allowed values.
    pub range: String,
    /// The description.
    pub doc: &'static str,
}

/// All settings.
pub fn documented() -> Result<Vec<KeyDoc>> {
    let mut all = Vec::new();
    let mut add = |place: &str, keys: &[Key], defaults: &toml::Table| {
        for key in keys {
            let name = if place.is_empty() { key.name.to_owned() } else { format!("{place}.{}", key.name) };
            let default = defaults.get(key.name).map(ToString::to_string).unwrap_or_default();
            let doc = KeyDoc { name, default, range: key.range.to_string(), doc: key.doc };
            // A setting of several encoders is listed once; its description says if their defaults differ.
            if !all.iter().any(|listed: &KeyDoc| listed.name == doc.name) {
                all.push(doc);
            }
        }
    };
    add("", TOP, &setting::table_of(&TopSettings::default())?);
    let preset = Preset::default().name();
    add("", &[PRESET], &toml::Table::from_iter([(PRESET.name.to_owned(), preset.into())]));
    add("encoder", &[ENCODER_KIND], &toml::Table::from_iter([("kind".to_owned(), "gcn".into())]));
    for (place, keys, defaults) in tables() {
        add(&place, keys, &defaults()?);
    }
    Ok(all)
}

/// The settings of a run: like [`documented`], with the values of the run in place of the defaults, and without settings that
/// the run does not have.
pub fn documented_values(config: &Config) -> Result<Vec<KeyDoc>> {
    let run = toml::Value::Table(setting::table_of(config)?);
    let with_value = |doc: KeyDoc| {
        let value = doc.name.split('.').try_fold(&run, |value, part| value.get(part))?;
        Some(KeyDoc { default: value.to_string(), ..doc })
    };
    let mut all: Vec<KeyDoc> = documented()?.into_iter().filter_map(with_value).collect();
    // Encoders share the names of settings.
    let mut seen = std::collections::HashSet::new();
    all.retain(|doc| seen.insert(doc.name.clone()));
    Ok(all)
}
