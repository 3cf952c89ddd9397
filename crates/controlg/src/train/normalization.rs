//! How features are normalized before training, and what `normalize = auto` chooses.

use crate::config::FeatureNormalization;
use crate::error::{Error, Result};
use crate::graph::norm::{ColumnScale, divide_rows_by_signed_sums, divide_rows_by_sums};
use crate::graph::{FeatureKind, Graph};

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
    pub(super) fn note(&self) -> Option<String> {
        let reason = self.chosen_for?.describe();
        let done = match self.how {
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
        (FeatureNormalization::Columns, None) => Ok(Some(ColumnScale::of(graph.features()))),
        _ => Ok(None),
    }
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
