//! `grace`, graph contrastive learning: match each node with itself in another view.
//!
//! The loss is in `contrast.rs`; each view has its own rates of dropped edges and masked feature columns. Z: n×h.
//!
//! The authors contrast all pairs of nodes, which costs n²; here graphs with more than `batch` nodes are sampled.

use serde::{Deserialize, Serialize};

use super::contrast;
use crate::error::Result;
use crate::graph::{Graph, Subgraph};
use crate::objective::{HeadDims, LossInput, Objective, ViewSpec, prepared_on, unsuitable};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Params, Tape, Var};

/// Entry in the list of baselines.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "grace",
    summary: "contrast: match each node with itself in another view, with negatives from both views",
    paper: "Zhu et al., Deep Graph Contrastive Representation Learning, 2020",
    keys: KEYS,
    defaults: || setting::table_of(&GraceSettings::default()),
    build: |table| Ok(Box::new(Grace { settings: setting::settings("objective.grace", KEYS, table)? })),
};

const KEYS: &[Key] = &[
    Key::new("projector", Range::Whole(1, 65_536), "hidden width of the projection head"),
    Key::new("temperature", Range::Number(1e-3, 100.0), "softmax temperature of the similarities"),
    Key::new("batch", Range::Whole(2, 1 << 20), "maximum number of nodes contrasted per step"),
    Key::new("drop_edges_1", Range::Below(0.0, 1.0), "fraction of edges dropped in the first view"),
    Key::new("drop_edges_2", Range::Below(0.0, 1.0), "fraction of edges dropped in the second view"),
    Key::new(
        "mask_features_1",
        Range::Below(0.0, 1.0),
        "fraction of feature columns masked in the first view",
    ),
    Key::new(
        "mask_features_2",
        Range::Below(0.0, 1.0),
        "fraction of feature columns masked in the second view",
    ),
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct GraceSettings {
    projector: usize,
    temperature: f64,
    batch: usize,
    drop_edges_1: f64,
    drop_edges_2: f64,
    mask_features_1: f64,
    mask_features_2: f64,
}

impl Default for GraceSettings {
    fn default() -> Self {
        GraceSettings {
            projector: 128,
            temperature: 0.4,
            batch: 4096,
            drop_edges_1: 0.2,
            drop_edges_2: 0.4,
            mask_features_1: 0.3,
            mask_features_2: 0.4,
        }
    }
}

#[derive(Clone)]
struct Grace {
    settings: GraceSettings,
}

impl Objective for Grace {
    fn check(&self, graph: &Graph) -> Result<()> {
        match graph.n_nodes() {
            1 => Err(unsuitable("grace", "one node", "at least two nodes to contrast")),
            _ => Ok(()),
        }
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared_on(Grace { settings: self.settings.clone() }, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        contrast::init(dims, self.settings.projector, params, group, stream);
    }

    fn views(&self) -> Vec<ViewSpec> {
        let GraceSettings { drop_edges_1, drop_edges_2, mask_features_1, mask_features_2, .. } =
            self.settings;
        ViewSpec::two_views([drop_edges_1, drop_edges_2], [mask_features_1, mask_features_2])
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        contrast::loss(tape, input, self.settings.temperature, self.settings.batch)
    }
}
