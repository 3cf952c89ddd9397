//! A graph as objectives see it: all of it, or one part after the other.

use super::batch::Feed;
use crate::graph::{Graph, Laplacian, Prepared};
use crate::objective::Objective;

/// What steps are taken on.
pub(super) enum Ground<'g> {
    /// The whole graph.
    Whole(Scene<'g>),
    /// Parts of it, each objective prepared to be shown them.
    Parts(Feed<'g>, Vec<Box<dyn Objective>>),
}

impl<'g> Ground<'g> {
    pub(super) fn objectives(&self) -> &[Box<dyn Objective>] {
        match self {
            Ground::Whole(scene) => &scene.objectives,
            Ground::Parts(_, objectives) => objectives,
        }
    }

    /// The clean graph as far as it is seen at once: the whole, or the probe where steps see parts.
    pub(super) fn clean<'s>(&'s self, probe: Option<&'s Scene<'g>>) -> &'s Scene<'g> {
        match (self, probe) {
            (Ground::Whole(scene), _) | (Ground::Parts(..), Some(scene)) => scene,
            (Ground::Parts(..), None) => unreachable!("parts come with a probe"),
        }
    }
}

/// A graph with the objectives as they see it.
pub(super) struct Scene<'g> {
    pub(super) graph: &'g Graph,
    pub(super) prepared: Prepared<'g>,
    pub(super) laplacian: Laplacian<'g>,
    pub(super) objectives: Vec<Box<dyn Objective>>,
}

impl<'g> Scene<'g> {
    pub(super) fn new(graph: &'g Graph, objectives: Vec<Box<dyn Objective>>) -> Self {
        let (prepared, laplacian) = (Prepared::new(graph), Laplacian::new(graph.adjacency()));
        Scene { graph, prepared, laplacian, objectives }
    }
}
