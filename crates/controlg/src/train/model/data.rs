//! The graphs that a model computes losses on: the full graph, mini-batches of it, or a probe.

use crate::graph::{EncoderInput, Graph, Laplacian, OperatorSpec};
use crate::objective::Objective;
use crate::train::batch::BatchLoader;

/// The data of the training steps.
#[allow(clippy::large_enum_variant)] // a run has one
pub(in crate::train) enum TrainData<'g> {
    /// Full-batch training.
    Full(PreparedGraph<'g>),
    /// Mini-batches, with objectives that are prepared once for all of them.
    Batches(BatchLoader<'g>, Vec<Box<dyn Objective>>),
}

impl<'g> TrainData<'g> {
    pub(in crate::train) fn objectives(&self) -> &[Box<dyn Objective>] {
        match self {
            TrainData::Full(data) => &data.objectives,
            TrainData::Batches(_, objectives) => objectives,
        }
    }

    /// Mini-batches per step; 1 for full-batch training.
    pub(in crate::train) fn n_shards(&self) -> usize {
        match self {
            TrainData::Full(_) => 1,
            TrainData::Batches(loader, _) => loader.n_shards(),
        }
    }

    /// The unaugmented graph: the full graph, or the probe if training uses mini-batches.
    pub(in crate::train) fn clean<'s>(
        &'s self,
        probe: Option<&'s PreparedGraph<'g>>,
    ) -> &'s PreparedGraph<'g> {
        match (self, probe) {
            (TrainData::Full(data), _) | (TrainData::Batches(..), Some(data)) => data,
            (TrainData::Batches(..), None) => unreachable!("mini-batch training has a probe"),
        }
    }
}

/// A graph with everything that is computed once per graph.
pub(in crate::train) struct PreparedGraph<'g> {
    pub(in crate::train) graph: &'g Graph,
    pub(in crate::train) prepared: EncoderInput<'g>,
    pub(in crate::train) laplacian: Laplacian<'g>,
    /// The objectives, prepared for this graph. Empty for a mini-batch, whose one objective is passed separately.
    pub(in crate::train) objectives: Vec<Box<dyn Objective>>,
}

impl<'g> PreparedGraph<'g> {
    /// Prepares a graph for an encoder that propagates with `spec`. With `shape_only`, the encoder's input has no contents.
    pub(in crate::train) fn new(
        graph: &'g Graph,
        spec: OperatorSpec,
        objectives: Vec<Box<dyn Objective>>,
        shape_only: bool,
    ) -> Self {
        let prepared = match shape_only {
            true => EncoderInput::shape_only(graph, spec),
            false => EncoderInput::with_spec(graph, spec),
        };
        let laplacian = Laplacian::new(graph.adjacency());
        PreparedGraph { graph, prepared, laplacian, objectives }
    }
}
