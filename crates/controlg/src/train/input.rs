//! The graph as training sees it: visible edges, normalized features, a probe for sensing.

use crate::config::{BatchMode, Config, EdgeScope, FeatureNormalization};
use crate::data::EdgeSplit;
use crate::error::Result;
use crate::graph::norm::{ColumnScale, divide_rows_by_sums};
use crate::graph::{Features, Graph, Subgraph};
use crate::rng::Stream;

/// Number of balls (breadth-first neighborhoods) in a probe.
const BALLS: usize = 8;

/// A graph ready for training.
#[derive(Clone, Debug)]
pub struct Input {
    /// The visible edges, with normalized features.
    pub graph: Graph,
    /// The subgraph used for sensing; `None` if the full graph is used.
    pub probe: Option<Subgraph>,
    /// Mean and standard deviation of the feature columns, if they were standardized; needed to embed new nodes.
    pub scale: Option<ColumnScale>,
    /// Whether the features are structural, computed from the edges.
    pub structural: bool,
}

impl Input {
    /// Prepares a graph for training with these settings. Features on disk stay there in mini-batch training and are
    /// loaded for full-batch training.
    pub fn new(graph: &Graph, config: &Config) -> Result<Input> {
        let full_batch = config.train.batch.on(graph.n_nodes()) == BatchMode::Full;
        let graph = if full_batch { graph.resident()? } else { graph.clone() };
        let visible = match config.edges {
            EdgeScope::All => graph,
            EdgeScope::Train => EdgeSplit::draw(&graph, config.seed)?.training_graph(&graph)?,
        };
        let structural = visible.has_features_from_edges();
        let scale = match (config.normalize, visible.stored_features()) {
            (FeatureNormalization::Columns, Some(stored)) => Some(ColumnScale::of_stored(stored)?),
            (FeatureNormalization::Columns, None) => Some(ColumnScale::of(visible.features())),
            _ => None,
        };
        let graph = normalized_graph(visible, config.normalize, scale.as_ref())?;
        let probe = if !full_batch || graph.n_nodes() > config.sense.whole_up_to {
            let stream = &mut Stream::new(config.seed, "sense", "probe", 0);
            Some(Subgraph::balls(&graph, config.sense.probe_nodes, BALLS, stream)?)
        } else {
            None
        };
        Ok(Input { graph, probe, scale, structural })
    }
}

/// A graph with normalized features. Features on disk are normalized as they are read.
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

/// Normalized features; `None` if nothing changes.
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
