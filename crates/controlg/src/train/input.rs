//! The graph as training sees it: the edges and features that the settings say.

use crate::config::{Config, Edges, Normalise};
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
    /// The edges that may be seen, with normalised features.
    pub graph: Graph,
    /// The part that is sensed on, where the graph is large; the whole where there is none.
    pub probe: Option<Subgraph>,
    /// How the columns were scaled, where they were: new nodes are scaled alike.
    pub scale: Option<ColumnScale>,
}

impl Input {
    /// The part of a graph that the settings allow to be seen.
    pub fn new(graph: &Graph, config: &Config) -> Result<Input> {
        let seen = match config.edges {
            Edges::All => graph.clone(),
            Edges::Train => EdgeSplit::draw(graph, config.seed)?.training_graph(graph)?,
        };
        let scale = (config.normalise == Normalise::Columns).then(|| ColumnScale::of(seen.features()));
        let features = normalised(seen.features(), config.normalise, scale.as_ref());
        let graph = match features {
            Some(features) => seen.with_features(features)?,
            None => seen,
        };
        let probe = match graph.n_nodes() > config.sense.whole_up_to {
            true => {
                let stream = &mut Stream::new(config.seed, "sense", "probe", 0);
                Some(Subgraph::balls(&graph, config.sense.probe_nodes, BALLS, stream)?)
            }
            false => None,
        };
        Ok(Input { graph, probe, scale })
    }
}

/// Normalised features; `None` where they stay as they are.
pub(super) fn normalised(
    features: &Features,
    how: Normalise,
    scale: Option<&ColumnScale>,
) -> Option<Features> {
    match (how, scale) {
        (Normalise::Rows, _) => Some(divide_rows_by_sums(features)),
        (Normalise::Columns, Some(scale)) => Some(scale.apply(features)),
        (Normalise::Columns, None) => Some(ColumnScale::of(features).apply(features)),
        (Normalise::None, _) => None,
    }
}
