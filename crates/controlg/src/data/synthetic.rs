//! Graphs made by a rule.

use super::{Dataset, FeatureSource};
use crate::error::{Error, Result};

/// Settings of a synthetic graph.
pub struct Settings;

/// The settings in a name that starts with `synthetic`.
pub fn settings_of(_name: &str) -> Option<Result<Settings>> {
    None
}

/// Makes the graph.
pub fn dataset(_name: &str, _settings: &Settings, _features: FeatureSource) -> Result<Dataset> {
    Err(Error::Failed("to come".into()))
}
