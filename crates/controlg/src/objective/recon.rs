//! `p_recon`, masked feature reconstruction: what does a hidden node look like, judged by its neighbors?
//!
//! L = (1/|M|) Σ_{v∈M} (1 − cos(x̂_v, x_v))^γ, the scaled cosine error of GraphMAE, over the hidden nodes M. The
//! decoder is R = Z·W₀ with R_v = 0 for v ∈ M, x̂ = Â·R·W₁ + b: without that second masking it could copy. Z: n×h,
//! W₀: h×h, W₁: h×d, stored by feature. A fresh head gives about 1.
//!
//! With sparse features x̂ is never formed; see [`Tape::reconstruct`].

use serde::{Deserialize, Serialize};

use super::{HeadDims, LossInput, Objective, ViewSpec, hides_some, prepared};
use crate::error::Result;
use crate::graph::{Features, Graph, Subgraph};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Distance, Init, Params, Tape, Var};

/// On the list of objectives.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "p_recon",
    summary: "masked feature reconstruction: rebuild hidden nodes' features from their neighbors",
    paper: "Hou et al., GraphMAE: Self-Supervised Masked Graph Autoencoders, KDD 2022",
    keys: KEYS,
    defaults: || setting::table_of(&ReconSettings::default()),
    build: |table| Ok(Box::new(Recon { settings: setting::settings("objective.p_recon", KEYS, table)? })),
};

const KEYS: &[Key] = &[
    Key::new("mask", Range::Below(1e-6, 1.0), "share of the nodes whose features are hidden"),
    Key::new(
        "replace",
        Range::Below(0.0, 1.0),
        "share of those that show another node's features, not the token",
    ),
    Key::new("exponent", Range::Number(1.0, 10.0), "power of the cosine error"),
    Key::new("drop_edges", Range::Below(0.0, 1.0), "share of the edges dropped, for encoder and decoder"),
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
        hides_some("p_recon", self.settings.mask, graph)
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared(Recon { settings: self.settings.clone() }, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        params.add(group, "token", (1, dims.n_features), Init::Constant(0.0), stream);
        params.add(group, "0.weight", (dims.width, dims.width), Init::XavierUniform, stream);
        params.add(group, "1.weight", (dims.n_features, dims.width), Init::XavierUniform, stream);
        params.add(group, "1.bias", (1, dims.n_features), Init::Constant(0.0), stream);
    }

    fn buffers(&self, graph: &Graph, width: usize) -> Vec<(usize, usize)> {
        let n = graph.n_nodes();
        let hidden = (self.settings.mask * n as f64) as usize;
        let decoded = match graph.features() {
            // The sparse form keeps the decoder's gradient, the dense one x̂ and its gradient.
            Features::Sparse(_) => (graph.n_features() * width, 1),
            Features::Dense(_) => (hidden * graph.n_features(), 3),
        };
        vec![(n * width, 3), (hidden * width, 4), decoded]
    }

    fn views(&self) -> Vec<ViewSpec> {
        let ReconSettings { mask, replace, drop_edges, .. } = self.settings;
        vec![ViewSpec { mask_nodes: mask, replace, drop_edges, ..ViewSpec::default() }]
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, step: LossInput<'a, '_>) -> Var {
        let head = tape.group(step.group);
        let augmented = &step.augmented[0];
        let hidden = augmented.hidden.as_ref().expect("its sight hides nodes");
        let r = tape.matmul(step.z[0], head[1]);
        let r = tape.mask_rows(r, hidden.clone(), None);
        let r = tape.propagate(augmented.view.operator(), r);
        let r = tape.gather(r, hidden.ids().to_vec());
        let distance = Distance::Cosine { gamma: self.settings.exponent, least: 0.0 };
        tape.reconstruct(r, head[2], Some(head[3]), step.prepared, hidden.ids().to_vec(), distance)
    }
}
