//! `p_recon`, masked feature reconstruction: predict the features of masked nodes from their neighbors.
//!
//! L = (1/|M|) Σ_{v∈M} (1 − cos(x̂_v, x_v))^γ, the scaled cosine error of GraphMAE, over the masked nodes M. The
//! decoder is R = Z·W₀ with R_v = 0 for v ∈ M (re-masking), x̂ = Â·R·W₁ + b. Z: n×h, W₀: h×h, W₁: h×d, stored transposed.
//! The initial loss is about 1.
//!
//! With sparse features x̂ is never materialized; see [`Tape::reconstruct`].

use serde::{Deserialize, Serialize};

use super::{HeadDims, LossInput, Objective, ViewSpec, check_masked_nodes, prepared_on};
use crate::error::Result;
use crate::graph::{Graph, Subgraph};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Distance, Init, Params, Tape, Var};

/// Entry in the list of objectives.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "p_recon",
    summary: "masked feature reconstruction: predict masked features from neighbors",
    paper: "Hou et al., GraphMAE: Self-Supervised Masked Graph Autoencoders, KDD 2022",
    keys: KEYS,
    defaults: || setting::table_of(&ReconSettings::default()),
    build: |table| Ok(Box::new(Recon { settings: setting::settings("objective.p_recon", KEYS, table)? })),
};

const KEYS: &[Key] = &[
    Key::new("mask", Range::Below(1e-6, 1.0), "fraction of nodes whose features are masked"),
    Key::new(
        "replace",
        Range::Below(0.0, 1.0),
        "fraction of masked nodes that get another node's features instead of the token",
    ),
    Key::new("exponent", Range::Number(1.0, 10.0), "exponent of the scaled cosine error"),
    Key::new("drop_edges", Range::Below(0.0, 1.0), "fraction of edges dropped, for encoder and decoder"),
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct ReconSettings {
    mask: f64,
    replace: f64,
    exponent: f64,
    drop_edges: f64,
}

impl Default for ReconSettings {
    fn default() -> Self {
        ReconSettings { mask: 0.5, replace: 0.0, exponent: 3.0, drop_edges: 0.0 }
    }
}

#[derive(Clone)]
struct Recon {
    settings: ReconSettings,
}

impl Objective for Recon {
    fn check(&self, graph: &Graph) -> Result<()> {
        check_masked_nodes("p_recon", self.settings.mask, graph)
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared_on(Recon { settings: self.settings.clone() }, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        params.add(group, "token", (1, dims.n_features), Init::Constant(0.0), stream);
        params.add(group, "0.weight", (dims.width, dims.width), Init::XavierUniform, stream);
        params.add(group, "1.weight", (dims.n_features, dims.width), Init::XavierUniform, stream);
        params.add(group, "1.bias", (1, dims.n_features), Init::Constant(0.0), stream);
    }

    fn views(&self) -> Vec<ViewSpec> {
        let ReconSettings { mask, replace, drop_edges, .. } = self.settings;
        vec![ViewSpec { mask_nodes: mask, replace, drop_edges, ..ViewSpec::default() }]
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        let head = tape.group(input.group);
        let view = &input.views[0];
        let masked = view.masked.as_ref().expect("its view masks nodes");
        let r = tape.matmul(input.z[0], head[1]);
        let r = tape.mask_rows(r, masked.clone(), None);
        let r = tape.propagate(view.view.operator(), r);
        let r = tape.gather(r, masked.ids().to_vec());
        let distance = Distance::Cosine { gamma: self.settings.exponent, least: 0.0 };
        tape.reconstruct(r, head[2], Some(head[3]), input.prepared, masked.ids().to_vec(), distance)
    }
}
