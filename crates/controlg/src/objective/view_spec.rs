//! Augmentation of the graph for a forward pass.

use std::sync::Arc;

use super::held_out::{Hidden, NodeSplit};
use crate::graph::{EdgeDropper, EncoderInput, Graph, NodeSet, View, view};
use crate::rng::Stream;

/// The augmentation of one view. The default is the clean graph.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ViewSpec {
    /// Fraction of undirected edges that are dropped.
    pub drop_edges: f64,
    /// Fraction of undirected edges that are hidden from the encoder for the objective to predict. Unlike dropped edges they
    /// are exactly this fraction, and the objective gets to know them.
    pub hide_edges: f64,
    /// Fraction of feature columns that are set to zero.
    pub mask_features: f64,
    /// Fraction of nodes whose features are replaced by the objective's mask token.
    pub mask_nodes: f64,
    /// Fraction of the masked nodes that get another node's features instead of the token.
    pub replace: f64,
    /// Whether the rows of the features are shuffled.
    pub shuffle: bool,
    /// Distinguishes independent views with the same augmentation.
    pub index: u8,
    /// Whether the objective draws the view in its own [`augment`](super::Objective::augment).
    pub custom: bool,
}

/// A sampled view.
#[derive(Clone, Debug)]
pub struct AugmentedView<'a> {
    /// The input of the encoder.
    pub view: View<'a>,
    /// The masked nodes, including those with another node's features; `None` if nodes are not masked.
    pub masked: Option<Arc<NodeSet>>,
    /// The hidden edges (smaller, larger) in ascending order; empty if edges are not hidden.
    pub hidden_edges: Arc<[(u32, u32)]>,
}

impl<'a> From<View<'a>> for AugmentedView<'a> {
    /// A view without masked nodes and hidden edges.
    fn from(view: View<'a>) -> Self {
        AugmentedView { view, masked: None, hidden_edges: Arc::from([]) }
    }
}

impl ViewSpec {
    /// Two independent views with the same rates of dropped edges and masked columns.
    pub fn equal_views(drop_edges: f64, mask_features: f64) -> Vec<ViewSpec> {
        ViewSpec::two_views([drop_edges; 2], [mask_features; 2])
    }

    /// Two independent views, each with its own rates of dropped edges and masked columns.
    pub fn two_views(drop_edges: [f64; 2], mask_features: [f64; 2]) -> Vec<ViewSpec> {
        let one = |at: usize| ViewSpec {
            drop_edges: drop_edges[at],
            mask_features: mask_features[at],
            index: at as u8,
            ..ViewSpec::default()
        };
        vec![one(0), one(1)]
    }

    /// Whether objectives with equal views can share a sample of it.
    pub fn is_shareable(&self) -> bool {
        !self.uses_mask_token() && !self.custom
    }

    /// Whether the view contains an objective's mask token.
    pub fn uses_mask_token(&self) -> bool {
        self.mask_nodes > 0.0
    }

    /// Samples the view.
    pub fn sample<'a>(
        &self,
        graph: &'a Graph,
        prepared: &'a EncoderInput<'a>,
        dropper: &mut EdgeDropper,
        stream: &mut Stream,
    ) -> AugmentedView<'a> {
        self.sample_without(Hidden::default(), graph, prepared, dropper, stream)
    }

    /// Samples the view without what is held out: those edges are gone, and those nodes are masked in addition to the sampled
    /// ones.
    pub(super) fn sample_without<'a>(
        &self,
        hidden: Hidden<'_>,
        graph: &'a Graph,
        prepared: &'a EncoderInput<'a>,
        dropper: &mut EdgeDropper,
        stream: &mut Stream,
    ) -> AugmentedView<'a> {
        let n = graph.n_nodes();
        let mut view = prepared.whole();
        let mut hidden_edges: Arc<[(u32, u32)]> = Arc::from([]);
        if self.hide_edges > 0.0 || !hidden.edges.is_empty() {
            let (operator, sampled) =
                dropper.hide_edges(graph.adjacency(), self.hide_edges, hidden.edges, stream);
            view = view.on(operator);
            hidden_edges = sampled.into();
        } else if self.drop_edges > 0.0 {
            view = view.on(dropper.drop_edges(graph.adjacency(), self.drop_edges, stream));
        }
        if self.mask_features > 0.0 {
            view = view.with_columns(view::mask_features(graph.n_features(), self.mask_features, stream));
        }
        if self.shuffle {
            view = view.with_order(stream.sample(n, n));
        }
        if !self.uses_mask_token() {
            return AugmentedView { view, masked: None, hidden_edges };
        }
        // The first `count` nodes are sampled, the others always masked.
        let (mut drawn, count) = match hidden.nodes {
            None => {
                let count = (self.mask_nodes * n as f64) as usize;
                (stream.sample(n, count), count)
            }
            Some(NodeSplit { trained, .. }) => {
                // At least one, so that there is a loss to train on.
                let count = ((self.mask_nodes * trained.len() as f64) as usize).max(1);
                let drawn = stream.sample(trained.len(), count);
                (drawn.into_iter().map(|at| trained[at as usize]).collect(), count)
            }
        };
        drawn.extend(hidden.nodes.into_iter().flat_map(|split| &split.held_out));
        let masked = Arc::new(NodeSet::new(n, &drawn));
        let (replaced, tokens) = drawn.split_at((self.replace * count as f64) as usize);
        if replaced.is_empty() {
            let view = view.with_masked(masked.clone());
            return AugmentedView { view, masked: Some(masked), hidden_edges };
        }
        let mut order: Vec<u32> = (0..n as u32).collect();
        replaced.iter().for_each(|&node| order[node as usize] = other_node(n, hidden.nodes, stream));
        let view = view.with_order(order).with_masked(Arc::new(NodeSet::new(n, tokens)));
        AugmentedView { view, masked: Some(masked), hidden_edges }
    }
}

/// A node whose features may be seen.
fn other_node(n: usize, split: Option<&NodeSplit>, stream: &mut Stream) -> u32 {
    match split {
        None => stream.below(n) as u32,
        Some(split) => split.trained[stream.below(split.trained.len())],
    }
}
