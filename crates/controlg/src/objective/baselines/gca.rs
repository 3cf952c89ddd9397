//! `gca`, contrast with adaptive augmentation: like `grace`, but important edges and features are dropped less often.
//!
//! The loss is in `contrast.rs`; edges and columns are dropped with the probabilities of `centrality.rs`. The authors drop
//! the two directions of an edge independently, each by its target; here an edge is dropped as a whole, by both endpoints.

use serde::{Deserialize, Serialize};

use super::centrality::{Centrality, Importance};
use super::contrast;
use crate::error::Result;
use crate::graph::{EdgeDropper, EncoderInput, Graph, Subgraph};
use crate::objective::{AugmentedView, HeadDims, LossInput, Objective, ViewSpec, prepared_on, unsuitable};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Params, Tape, Var};

/// Entry in the list of baselines.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "gca",
    summary: "contrast with adaptive augmentation: important edges and features are dropped less often",
    paper: "Zhu et al., Graph Contrastive Learning with Adaptive Augmentation, WWW 2021",
    keys: KEYS,
    defaults: || setting::table_of(&GcaSettings::default()),
    build: |table| {
        Ok(Box::new(Gca { settings: setting::settings("objective.gca", KEYS, table)?, importance: None }))
    },
};

const KEYS: &[Key] = &[
    Key::new("centrality", Range::OneOf(&["degree", "pagerank"]), "node centrality measure"),
    Key::new("limit", Range::Number(0.0, 1.0), "maximum drop probability"),
    Key::new("projector", Range::Whole(1, 65_536), "hidden width of the projection head"),
    Key::new("temperature", Range::Number(1e-3, 100.0), "softmax temperature of the similarities"),
    Key::new("batch", Range::Whole(2, 1 << 20), "maximum number of nodes contrasted per step"),
    Key::new(
        "drop_edges_1",
        Range::Below(0.0, 1.0),
        "mean probability of dropping an edge in the first view",
    ),
    Key::new(
        "drop_edges_2",
        Range::Below(0.0, 1.0),
        "mean probability of dropping an edge in the second view",
    ),
    Key::new(
        "mask_features_1",
        Range::Below(0.0, 1.0),
        "mean probability of masking a column in the first view",
    ),
    Key::new(
        "mask_features_2",
        Range::Below(0.0, 1.0),
        "mean probability of masking a column in the second view",
    ),
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct GcaSettings {
    centrality: Centrality,
    limit: f64,
    projector: usize,
    temperature: f64,
    batch: usize,
    drop_edges_1: f64,
    drop_edges_2: f64,
    mask_features_1: f64,
    mask_features_2: f64,
}

impl Default for GcaSettings {
    fn default() -> Self {
        GcaSettings {
            centrality: Centrality::Degree,
            limit: 0.7,
            projector: 256,
            temperature: 0.4,
            batch: 4096,
            drop_edges_1: 0.2,
            drop_edges_2: 0.3,
            mask_features_1: 0.1,
            mask_features_2: 0.1,
        }
    }
}

#[derive(Clone)]
struct Gca {
    settings: GcaSettings,
    importance: Option<Importance>,
}

impl Objective for Gca {
    fn check(&self, graph: &Graph) -> Result<()> {
        match graph.n_nodes() {
            1 => Err(unsuitable("gca", "one node", "at least two nodes to contrast")),
            _ => Ok(()),
        }
    }

    fn prepare(&mut self, graph: &Graph) -> Result<()> {
        self.importance = Some(Importance::of(graph, self.settings.centrality));
        Ok(())
    }

    fn prepare_shapes(&mut self, graph: &Graph) -> Result<()> {
        self.importance = Some(Importance::placeholder(graph));
        Ok(())
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared_on(Gca { settings: self.settings.clone(), importance: None }, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        contrast::init(dims, self.settings.projector, params, group, stream);
    }

    fn views(&self) -> Vec<ViewSpec> {
        let GcaSettings { drop_edges_1, drop_edges_2, mask_features_1, mask_features_2, .. } = self.settings;
        let views = ViewSpec::two_views([drop_edges_1, drop_edges_2], [mask_features_1, mask_features_2]);
        views.into_iter().map(|view| ViewSpec { custom: true, ..view }).collect()
    }

    fn augment<'a>(
        &'a self,
        spec: &ViewSpec,
        graph: &'a Graph,
        prepared: &'a EncoderInput<'a>,
        dropper: &mut EdgeDropper,
        stream: &mut Stream,
    ) -> AugmentedView<'a> {
        let importance = self.importance.as_ref().expect("it was prepared");
        let limit = self.settings.limit;
        let edges = dropper.keep_edges(graph.adjacency(), |u, v| {
            stream.uniform() >= importance.edge(u, v, spec.drop_edges, limit)
        });
        let columns: Vec<bool> =
            importance.columns(spec.mask_features, limit).map(|rate| stream.uniform() >= rate).collect();
        AugmentedView::from(prepared.whole().on(edges).with_columns(columns))
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        contrast::loss(tape, input, self.settings.temperature, self.settings.batch)
    }
}
