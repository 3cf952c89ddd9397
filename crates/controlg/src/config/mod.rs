//! The settings of a run, complete and checked.
//!
//! A run file gives some settings; [`Config::from_table`] fills in the rest from the presets of the method and the data
//! set and from the defaults, and checks them all. [`Config::for_data`] does the same with typed setters. A [`Config`]
//! holds everything a run depends on: written to `config.toml`, it reproduces the run.
//!
//! ```
//! use controlg::config::{self, Config};
//!
//! let mut table = Config::preset("cora");
//! config::set(&mut table, "train.epochs=4")?;
//! let config = Config::from_table(table)?;
//! assert_eq!((config.train.epochs, config.control.explore), (4, 0.05));
//! assert!(config.to_toml()?.contains("epochs = 4"));
//! # Ok::<(), controlg::Error>(())
//! ```

mod budget;
mod builder;
mod check;
mod choices;
mod component;
mod custom;
mod embed;
mod hash;
mod keys;
mod legacy;
mod method;
mod preset;
mod recorded;
mod resolve;
mod stored;
mod table;
mod train;

pub use builder::ConfigBuilder;
pub use check::check;
pub use choices::{EncoderKind, MethodKind, ObjectiveKind};
pub use component::{Component, EncoderConfig, MixerConfig, ObjectiveConfig};
pub use custom::Custom;
pub use embed::{ChannelWeights, EmbedSettings, FeatureHops};
pub use keys::{KeyDoc, documented, documented_values};
pub use preset::Preset;
pub use recorded::RecordedConfig;
pub(crate) use table::read_toml;
pub use table::{first_difference, merge, read, set};
pub use train::{BatchMode, LrSchedule, Recompute, TrainPrecision, TrainSettings};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::method::MethodSource;
use crate::coordinator::{ControlSettings, PlanSettings, SenseSettings};
use crate::data::FeatureSource;
use crate::error::{Error, Result};

/// Everything a run depends on, complete and checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// The name of a known data set, or a path.
    pub data: String,
    /// The method: a name from [`METHODS`](crate::coordinator::METHODS), an objective's name, or a coordinator of the
    /// user's own.
    pub method: String,
    /// The objectives that take part.
    pub objectives: Vec<String>,
    /// Random seed.
    pub seed: u64,
    /// Where node features come from.
    pub features: FeatureSource,
    /// How features are normalized.
    pub normalize: FeatureNormalization,
    /// The edges that pretraining sees.
    pub edges: EdgeScope,
    /// Whether edges within a node type keep their direction.
    pub directed: bool,
    /// The encoder.
    pub encoder: EncoderConfig,
    /// The training loop and its optimizer.
    pub train: TrainSettings,
    /// The objectives that take part, by name.
    pub objective: BTreeMap<String, ObjectiveConfig>,
    /// How the feedback loop turns measurements into state.
    pub sense: SenseSettings,
    /// How the feedback loop turns state into planned shares.
    pub plan: PlanSettings,
    /// How the feedback loop tracks the plan.
    pub control: ControlSettings,
    /// The mixing method by name; empty for methods that schedule.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mix: BTreeMap<String, MixerConfig>,
    /// How embeddings are read out.
    pub embed: EmbedSettings,
    #[serde(skip)]
    method_source: MethodSource,
}

/// How features are normalized before training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureNormalization {
    /// What fits the features; the record says which.
    Auto,
    /// Divide each row by its sum.
    Rows,
    /// Standardize each column to mean 0 and standard deviation 1.
    Columns,
    /// Use the features as they are.
    None,
}

impl FeatureNormalization {
    /// What [`FeatureNormalization::Auto`] chooses from.
    pub const CHOICES: [FeatureNormalization; 3] =
        [FeatureNormalization::Rows, FeatureNormalization::Columns, FeatureNormalization::None];

    /// The name that run files use.
    pub const fn name(self) -> &'static str {
        match self {
            FeatureNormalization::Auto => "auto",
            FeatureNormalization::Rows => "rows",
            FeatureNormalization::Columns => "columns",
            FeatureNormalization::None => "none",
        }
    }
}

/// The edges that pretraining sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeScope {
    /// All edges.
    All,
    /// The training edges of the seed's `edges-70-10-20` split, as link prediction requires.
    Train,
}

impl Config {
    /// The start of a run file: the name of a data set, to which settings are added. [`Config::from_table`] puts them over
    /// the presets of the data set and the method; [`Preset::settings`] shows those.
    pub fn preset(data: &str) -> toml::Table {
        toml::Table::from_iter([("data".to_owned(), data.into())])
    }

    /// The run file that reproduces this run.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| Error::Failed(error.to_string()))
    }

    /// SHA-256 of the settings, in a canonical form that is stable across versions.
    pub fn hash(&self) -> Result<String> {
        hash::of(self)
    }
}

#[cfg(test)]
mod tests;
