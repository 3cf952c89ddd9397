//! A graph as objectives see it: all of it, or one part after the other.

use crate::graph::{EncoderInput, Graph, Laplacian};
use crate::objective::Objective;
use crate::train::batch::BatchLoader;

/// What steps are taken on.
pub(in crate::train) enum TrainData<'g> {
    /// The whole graph.
    Full(PreparedGraph<'g>),
    /// Parts of it, each objective prepared to be shown them.
    Batches(BatchLoader<'g>, Vec<Box<dyn Objective>>),
}

impl<'g> TrainData<'g> {
    pub(in crate::train) fn objectives(&self) -> &[Box<dyn Objective>] {
        match self {
            TrainData::Full(scene) => &scene.objectives,
            TrainData::Batches(_, objectives) => objectives,
        }
    }

    /// The clean graph as far as it is seen at once: the whole, or the probe where steps see parts.
    pub(in crate::train) fn clean<'s>(
        &'s self,
        probe: Option<&'s PreparedGraph<'g>>,
    ) -> &'s PreparedGraph<'g> {
        match (self, probe) {
            (TrainData::Full(scene), _) | (TrainData::Batches(..), Some(scene)) => scene,
            (TrainData::Batches(..), None) => unreachable!("parts come with a probe"),
        }
    }
}

/// A graph with the objectives as they see it.
pub(in crate::train) struct PreparedGraph<'g> {
    pub(in crate::train) graph: &'g Graph,
    pub(in crate::train) prepared: EncoderInput<'g>,
    pub(in crate::train) laplacian: Laplacian<'g>,
    pub(in crate::train) objectives: Vec<Box<dyn Objective>>,
}

impl<'g> PreparedGraph<'g> {
    pub(in crate::train) fn new(graph: &'g Graph, objectives: Vec<Box<dyn Objective>>) -> Self {
        let (prepared, laplacian) = (EncoderInput::new(graph), Laplacian::new(graph.adjacency()));
        PreparedGraph { graph, prepared, laplacian, objectives }
    }
}
