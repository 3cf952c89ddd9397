//! How features are normalized before training, and what `normalize = auto` chooses.

use crate::config::FeatureNormalization;
use crate::error::{Error, Result};
use crate::graph::norm::{ColumnScale, divide_rows_by_signed_sums, divide_rows_by_sums};
use crate::graph::{FeatureKind, Features, Graph, TypeFeatures};

/// The normalization of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Normalization {
    /// Never `Auto`.
    pub(super) how: FeatureNormalization,
    /// The reason, if it was chosen automatically.
    pub(super) chosen_for: Option<FeatureKind>,
}

impl Normalization {
    /// The normalization that a setting means for a graph.
    pub(super) fn of(setting: FeatureNormalization, graph: &Graph) -> Result<Normalization> {
        if setting != FeatureNormalization::Auto {
            return Ok(Normalization { how: setting, chosen_for: None });
        }
        let kind = match graph.stored_features() {
            Some(stored) => FeatureKind::of_stored(stored)?,
            None if graph.has_blocks() => kind_of_blocks(graph),
            None => FeatureKind::of(graph.features()),
        };
        let how = match kind {
            _ if kind.needs_column_scaling() => FeatureNormalization::Columns,
            FeatureKind::Binary | FeatureKind::Shares => FeatureNormalization::None,
            _ => FeatureNormalization::Rows,
        };
        Ok(Normalization { how, chosen_for: Some(kind) })
    }

    /// One line on what was chosen and why; `None` if the setting names it.
    pub(super) fn note(&self, graph: &Graph) -> Option<String> {
        let reason = self.chosen_for?.describe();
        let done = match self.how {
            FeatureNormalization::Columns if graph.has_blocks() => {
                "standardized by columns in some node types"
            }
            FeatureNormalization::Columns => "standardized by columns",
            FeatureNormalization::Rows => "divided by their row sums",
            FeatureNormalization::None | FeatureNormalization::Auto => "used as they are",
        };
        Some(format!("features are {done} ({reason}); to change it, set normalize"))
    }
}

/// The column statistics that standardizing needs; `None` for other normalizations.
pub(super) fn column_scale(graph: &Graph, how: FeatureNormalization) -> Result<Option<ColumnScale>> {
    match (how, graph.stored_features()) {
        (FeatureNormalization::Columns, Some(stored)) => ColumnScale::of_stored(stored).map(Some),
        (FeatureNormalization::Columns, None) if graph.has_blocks() => Ok(Some(scale_of_blocks(graph))),
        (FeatureNormalization::Columns, None) => Ok(Some(ColumnScale::of(graph.features()))),
        _ => Ok(None),
    }
}

/// The types whose features come from the input or the edges, with their kinds. One-hot columns stay as they are.
fn kinds(graph: &Graph) -> Vec<(usize, FeatureKind)> {
    let types = graph.relations().map_or(&[][..], |relations| relations.schema().types()).iter().enumerate();
    let with_features = types.filter(|(_, node_type)| node_type.features != TypeFeatures::OneHot);
    with_features.map(|(at, _)| (at, FeatureKind::of(&graph.block(at)))).collect()
}

/// The kind that decides on the normalization of all types: that of a type with columns to standardize, else of one with rows to
/// divide.
fn kind_of_blocks(graph: &Graph) -> FeatureKind {
    let kinds = kinds(graph);
    let find =
        |decides: fn(FeatureKind) -> bool| kinds.iter().map(|(_, kind)| *kind).find(|&kind| decides(kind));
    find(FeatureKind::needs_column_scaling)
        .or_else(|| find(|kind| !matches!(kind, FeatureKind::Binary | FeatureKind::Shares)))
        .unwrap_or(FeatureKind::Binary)
}

/// Column statistics within each type. Types whose columns do not ask for it keep their features, with mean 0 and deviation 1,
/// unless no type asks for it.
fn scale_of_blocks(graph: &Graph) -> ColumnScale {
    let kinds = kinds(graph);
    let any = kinds.iter().any(|(_, kind)| kind.needs_column_scaling());
    let d = graph.n_features();
    let mut scale = ColumnScale { mean: vec![0.0; d], deviation: vec![1.0; d] };
    let types = graph.relations().map_or(&[][..], |relations| relations.schema().types());
    for (at, _) in kinds.into_iter().filter(|(_, kind)| !any || kind.needs_column_scaling()) {
        let block = ColumnScale::of(&graph.block(at));
        scale.mean[types[at].columns.clone()].copy_from_slice(&block.mean);
        scale.deviation[types[at].columns.clone()].copy_from_slice(&block.deviation);
    }
    scale
}

/// The features with the columns of each type standardized for its nodes.
fn scaled_blocks(graph: &Graph, scale: &ColumnScale) -> Result<Features> {
    let types = graph.relations().map_or(&[][..], |relations| relations.schema().types());
    graph.map_blocks(|at, block| {
        let columns = types[at].columns.clone();
        let (mean, deviation) = (scale.mean[columns.clone()].to_vec(), scale.deviation[columns].to_vec());
        #[allow(clippy::float_cmp)] // exactly these mark features that stay as they are
        let is_identity = mean.iter().all(|&x| x == 0.0) && deviation.iter().all(|&x| x == 1.0);
        Ok(if is_identity { block } else { ColumnScale { mean, deviation }.apply(&block) })
    })
}

/// A graph with normalized features. Features on disk are normalized as they are read.
pub(super) fn normalized_graph(
    graph: Graph,
    how: FeatureNormalization,
    scale: Option<&ColumnScale>,
) -> Result<Graph> {
    match (how, graph.stored_features()) {
        (FeatureNormalization::None, _) => Ok(graph),
        (FeatureNormalization::Rows, Some(stored)) => {
            let stored = stored.with_row_sums();
            graph.with_stored(stored)
        }
        (FeatureNormalization::Rows, None) => {
            let features = if graph.has_features_from_edges() {
                divide_rows_by_signed_sums(graph.features())
            } else {
                divide_rows_by_sums(graph.features())?
            };
            graph.with_features(features)
        }
        (FeatureNormalization::Columns, stored) => {
            let Some(scale) = scale else {
                return Err(Error::value(
                    "normalize",
                    "columns",
                    "the column statistics of the training graph",
                ));
            };
            match stored {
                Some(stored) => {
                    let stored = stored.with_columns(scale.clone());
                    graph.with_stored(stored)
                }
                None if graph.has_blocks() => {
                    let features = scaled_blocks(&graph, scale)?;
                    graph.with_features(features)
                }
                None => {
                    let features = scale.apply(graph.features());
                    graph.with_features(features)
                }
            }
        }
        (FeatureNormalization::Auto, _) => {
            Err(Error::value("normalize", "auto", "the normalization that the run chose"))
        }
    }
}
