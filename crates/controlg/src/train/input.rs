//! The graph as training sees it: the edges and features that the settings say.

use crate::config::{BatchMode, Config, EdgeScope, FeatureNormalization};
use crate::data::EdgeSplit;
use crate::error::Result;
use crate::graph::norm::{ColumnScale, divide_rows_by_sums};
use crate::graph::{Features, Graph, Subgraph};
use crate::rng::Stream;

/// Pieces of a probe.
const BALLS: usize = 8;

/// A graph ready for training.
#[derive(Clone, Debug)]
pub struct Input {
    /// The edges that may be seen, with normalized features.
    pub graph: Graph,
    /// The part that is sensed on, where the graph is large; the whole where there is none.
    pub probe: Option<Subgraph>,
    /// How the columns were scaled, where they were: new nodes are scaled alike.
    pub scale: Option<ColumnScale>,
    /// Whether the features were made of the edges.
    pub structural: bool,
}

impl Input {
    /// The part of a graph that the settings allow to be seen. Features stay in their file where they are and steps see
    /// parts of the graph.
    pub fn new(graph: &Graph, config: &Config) -> Result<Input> {
        let whole = config.train.batch.on(graph.n_nodes()) == BatchMode::Full;
        let graph = if whole { graph.resident()? } else { graph.clone() };
        let seen = match config.edges {
            EdgeScope::All => graph,
            EdgeScope::Train => EdgeSplit::draw(&graph, config.seed)?.training_graph(&graph)?,
        };
        let structural = seen.has_features_from_edges();
        let scale = match (config.normalize, seen.stored_features()) {
            (FeatureNormalization::Columns, Some(stored)) => Some(ColumnScale::of_stored(stored)?),
            (FeatureNormalization::Columns, None) => Some(ColumnScale::of(seen.features())),
            _ => None,
        };
        let graph = normalized_graph(seen, config.normalize, scale.as_ref())?;
        let probe = match !whole || graph.n_nodes() > config.sense.whole_up_to {
            true => {
                let stream = &mut Stream::new(config.seed, "sense", "probe", 0);
                Some(Subgraph::balls(&graph, config.sense.probe_nodes, BALLS, stream)?)
            }
            false => None,
        };
        Ok(Input { graph, probe, scale, structural })
    }
}

/// A graph with normalized features; those that stay in their file are normalized as they are read.
pub(super) fn normalized_graph(
    graph: Graph,
    how: FeatureNormalization,
    scale: Option<&ColumnScale>,
) -> Result<Graph> {
    let Some(stored) = graph.stored_features() else {
        return match normalized(graph.features(), how, scale) {
            Some(features) => graph.with_features(features),
            None => Ok(graph),
        };
    };
    let stored = match (how, scale) {
        (FeatureNormalization::Rows, _) => stored.with_row_sums(),
        (FeatureNormalization::Columns, Some(scale)) => stored.with_columns(scale.clone()),
        (FeatureNormalization::Columns, None) => stored.with_columns(ColumnScale::of_stored(stored)?),
        (FeatureNormalization::None, _) => return Ok(graph),
    };
    graph.with_stored(stored)
}

/// Normalized features; `None` where they stay as they are.
fn normalized(
    features: &Features,
    how: FeatureNormalization,
    scale: Option<&ColumnScale>,
) -> Option<Features> {
    match (how, scale) {
        (FeatureNormalization::Rows, _) => Some(divide_rows_by_sums(features)),
        (FeatureNormalization::Columns, Some(scale)) => Some(scale.apply(features)),
        (FeatureNormalization::Columns, None) => Some(ColumnScale::of(features).apply(features)),
        (FeatureNormalization::None, _) => None,
    }
}
