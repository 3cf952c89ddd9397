//! How an objective wants the encoder to see the graph.

use std::sync::Arc;

use crate::graph::{EdgeDropper, EncoderInput, Graph, NodeSet, View, view};
use crate::rng::Stream;

/// What is left out or replaced in one pass. The default is the clean graph.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ViewSpec {
    /// Share of the undirected edges that is dropped.
    pub drop_edges: f64,
    /// Share of the feature columns that reads as zero.
    pub mask_features: f64,
    /// Share of the nodes whose features are hidden behind the objective's token.
    pub mask_nodes: f64,
    /// Share of those that are shown another node's features instead of the token.
    pub replace: f64,
    /// Whether the nodes are shown each other's features, in a random order.
    pub shuffle: bool,
    /// Tells views of one objective apart that are drawn alike.
    pub index: u8,
}

/// A view as it was drawn.
#[derive(Clone, Debug)]
pub struct AugmentedView<'a> {
    /// What the encoder sees.
    pub view: View<'a>,
    /// The nodes whose features are hidden, behind the token or another node's; `None` when none are.
    pub hidden: Option<Arc<NodeSet>>,
}

impl ViewSpec {
    /// Two independent views with edges dropped and columns masked.
    pub fn equal_views(drop_edges: f64, mask_features: f64) -> Vec<ViewSpec> {
        ViewSpec::two_views([drop_edges; 2], [mask_features; 2])
    }

    /// Two independent views, each with its own rates.
    pub fn two_views(drop_edges: [f64; 2], mask_features: [f64; 2]) -> Vec<ViewSpec> {
        let one = |at: usize| ViewSpec {
            drop_edges: drop_edges[at],
            mask_features: mask_features[at],
            index: at as u8,
            ..ViewSpec::default()
        };
        vec![one(0), one(1)]
    }

    /// Whether the view holds an objective's own token, so that no other can share it.
    pub fn uses_mask_token(&self) -> bool {
        self.mask_nodes > 0.0
    }

    /// Draws the view.
    pub fn draw<'a>(
        &self,
        graph: &'a Graph,
        prepared: &'a EncoderInput<'a>,
        dropper: &mut EdgeDropper,
        stream: &mut Stream,
    ) -> AugmentedView<'a> {
        let n = graph.n_nodes();
        let mut view = prepared.whole();
        if self.drop_edges > 0.0 {
            view = view.on(dropper.drop_edges(graph.adjacency(), self.drop_edges, stream));
        }
        if self.mask_features > 0.0 {
            view = view.with_columns(view::mask_features(graph.n_features(), self.mask_features, stream));
        }
        if self.shuffle {
            view = view.with_order(stream.sample(n, n));
        }
        if !self.uses_mask_token() {
            return AugmentedView { view, hidden: None };
        }
        let drawn = stream.sample(n, (self.mask_nodes * n as f64) as usize);
        let hidden = Arc::new(NodeSet::new(n, &drawn));
        let (replaced, behind) = drawn.split_at((self.replace * drawn.len() as f64) as usize);
        if replaced.is_empty() {
            return AugmentedView { view: view.with_masked(hidden.clone()), hidden: Some(hidden) };
        }
        let mut order: Vec<u32> = (0..n as u32).collect();
        replaced.iter().for_each(|&node| order[node as usize] = stream.below(n) as u32);
        let view = view.with_order(order).with_masked(Arc::new(NodeSet::new(n, behind)));
        AugmentedView { view, hidden: Some(hidden) }
    }
}
