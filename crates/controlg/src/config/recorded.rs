//! The settings in the header of a record.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Table;

use super::{Config, EdgeScope, EmbedSettings, FeatureNormalization, TrainSettings, legacy, stored};
use crate::coordinator::{ControlSettings, PlanSettings, SenseSettings, UNTRAINED};
use crate::data::FeatureSource;
use crate::error::{Error, Result};
use crate::setting;

/// The settings in the header of a record, as they were written: plain data without implementations. They may come from
/// another version or name encoders and objectives that only their author has; [`RecordedConfig::resolve`] checks them.
///
/// Settings that were added later and that the record lacks are read as the values that the run had implicitly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")] // the derived functions are wrapped below
#[allow(missing_docs)] // the fields of `Config`
pub struct RecordedConfig {
    pub data: String,
    pub method: String,
    pub objectives: Vec<String>,
    pub seed: u64,
    pub features: FeatureSource,
    // The alias is kept from version 0.1: stored in records.
    #[serde(alias = "normalise")]
    pub normalize: FeatureNormalization,
    pub edges: EdgeScope,
    pub directed: bool,
    pub encoder: Table,
    pub train: TrainSettings,
    pub objective: BTreeMap<String, Table>,
    pub sense: SenseSettings,
    pub plan: PlanSettings,
    pub control: ControlSettings,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mix: BTreeMap<String, Table>,
    pub embed: EmbedSettings,
}

impl Serialize for RecordedConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        RecordedConfig::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for RecordedConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let mut table = Table::deserialize(deserializer)?;
        stored::imply(&mut table);
        RecordedConfig::deserialize(table).map_err(|error| D::Error::custom(error.message()))
    }
}

impl RecordedConfig {
    /// The settings as a table, under the names of this version.
    pub fn to_table(&self) -> Result<Table> {
        let mut table = setting::table_of(self)?;
        legacy::to_new_names(&mut table);
        Ok(table)
    }

    /// The settings as a run file.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| Error::Failed(error.to_string()))
    }

    /// The complete settings, checked.
    pub fn resolve(&self) -> Result<Config> {
        Config::from_table(self.to_table()?)
    }

    /// The number of training steps.
    pub fn total_steps(&self) -> u64 {
        if self.method == UNTRAINED { 0 } else { self.train.total_steps() }
    }
}

impl From<&Config> for RecordedConfig {
    fn from(config: &Config) -> Self {
        let config = config.clone();
        RecordedConfig {
            data: config.data,
            method: config.method,
            objectives: config.objectives,
            seed: config.seed,
            features: config.features,
            normalize: config.normalize,
            edges: config.edges,
            directed: config.directed,
            encoder: config.encoder.settings().clone(),
            train: config.train,
            objective: config
                .objective
                .into_iter()
                .map(|(name, one)| (name, one.settings().clone()))
                .collect(),
            sense: config.sense,
            plan: config.plan,
            control: config.control,
            mix: config.mix.into_iter().map(|(name, one)| (name, one.settings().clone())).collect(),
            embed: config.embed,
        }
    }
}
