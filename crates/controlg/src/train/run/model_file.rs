//! The content of `model.safetensors`: parameters, batch-norm statistics, feature scaling and metadata.

use std::path::Path;

use super::feature_match::{mark_structural, write_features};
use super::safetensors::TensorFile;
use crate::config::{Config, FeatureNormalization};
use crate::error::{Error, Result};
use crate::graph::norm::ColumnScale;
use crate::tensor::ColumnStats;
use crate::train::input::Input;
use crate::train::model::{EmbedStats, Model};
use crate::train::readout::ReadoutState;

/// The tensor with the factors of the readout's channels.
const CHANNELS: &str = "readout/channels";

/// The tensor with the basis that the readout projects features to.
const BASIS: &str = "readout/basis";

/// Metadata key of the normalization that `normalize = auto` chose.
const NORMALIZE: &str = "normalize";

/// The settings and data that a model or checkpoint belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::train) struct RunIdentity {
    /// Hash of the settings.
    pub(in crate::train) config: String,
    /// Hash of the graph.
    pub(in crate::train) data: String,
    /// Whether the features are structural, computed from the edges.
    pub(in crate::train) structural: bool,
}

impl RunIdentity {
    /// The identity of a run.
    pub(in crate::train) fn of(config: &Config, input: &Input) -> Result<RunIdentity> {
        let (data, structural) = (input.data_hash.clone(), input.structural);
        Ok(RunIdentity { config: config.hash()?, data, structural })
    }

    /// Writes ownership metadata and the digest into the file.
    pub(in crate::train) fn sign(&self, tensors: &mut TensorFile<'_>) -> Result<()> {
        for (name, text) in
            [("version", env!("CARGO_PKG_VERSION")), ("config_hash", &self.config), ("data_hash", &self.data)]
        {
            tensors.metadata.insert(name.to_owned(), text.to_owned());
        }
        if self.structural {
            mark_structural(tensors);
        }
        tensors.seal()
    }
}

/// Everything that embedding another graph needs, and the heads.
pub(in crate::train) fn model_file<'t>(
    model: &'t Model<'_>,
    stats: &'t EmbedStats,
    input: &'t Input,
) -> TensorFile<'t> {
    let mut tensors = TensorFile::default();
    tensors.add_params(model.params());
    for (at, ColumnStats { mean, inverse_std }) in stats.norms.iter().enumerate() {
        tensors.add(format!("norm/{at}.mean"), &[mean.len()], mean);
        tensors.add(format!("norm/{at}.inverse_std"), &[inverse_std.len()], inverse_std);
    }
    let ReadoutState { factors, basis } = &stats.readout;
    if !factors.is_empty() {
        tensors.add_doubles(CHANNELS.to_owned(), factors);
    }
    if !basis.is_empty() {
        let rows = input.graph.n_features();
        tensors.add(BASIS.to_owned(), &[rows, basis.len() / rows], basis);
    }
    if let Some(ColumnScale { mean, deviation }) = &input.scale {
        tensors.add_doubles("features/mean".to_owned(), mean);
        tensors.add_doubles("features/deviation".to_owned(), deviation);
    }
    write_features(&mut tensors, &input.graph);
    if input.normalization.chosen_for.is_some() {
        tensors.metadata.insert(NORMALIZE.to_owned(), input.normalization.how.name().to_owned());
    }
    tensors
}

/// The batch-norm statistics of a model.
pub(in crate::train) fn read_stats(path: &Path, tensors: &TensorFile<'_>) -> Result<Vec<ColumnStats>> {
    let mut stats = Vec::new();
    while let Some(len) = tensors.len_of(&format!("norm/{}.mean", stats.len())) {
        let at = stats.len();
        stats.push(ColumnStats {
            mean: tensors.values(path, &format!("norm/{at}.mean"), len)?,
            inverse_std: tensors.values(path, &format!("norm/{at}.inverse_std"), len)?,
        });
    }
    Ok(stats)
}

/// The state of a model's readout.
pub(in crate::train) fn read_readout(path: &Path, tensors: &TensorFile<'_>) -> Result<ReadoutState> {
    let mut state = ReadoutState::default();
    if let Some(bytes) = tensors.len_of(CHANNELS) {
        state.factors = tensors.doubles(path, CHANNELS, bytes)?;
    }
    if let Some(len) = tensors.len_of(BASIS) {
        state.basis = tensors.values(path, BASIS, len)?;
    }
    Ok(state)
}

/// How the features of a model's training graph were normalized.
pub(in crate::train) fn normalization(
    path: &Path,
    tensors: &TensorFile<'_>,
    setting: FeatureNormalization,
) -> Result<FeatureNormalization> {
    if setting != FeatureNormalization::Auto {
        return Ok(setting);
    }
    let chosen = tensors.metadata.get(NORMALIZE).map_or("nothing", String::as_str);
    FeatureNormalization::CHOICES
        .into_iter()
        .find(|choice| choice.name() == chosen)
        .ok_or_else(|| Error::input(path, NORMALIZE, chosen, "rows, columns or none"))
}
