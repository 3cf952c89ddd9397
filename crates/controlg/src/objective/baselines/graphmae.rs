//! `graphmae`, masked graph autoencoder: reconstruct masked features with an attention decoder.
//!
//! L = (1/|M|) Σ_{v∈M} (1 − cos(x̂_v, x_v))^γ over the masked nodes M. The decoder is one single-head attention layer on
//! re-masked codes: R = Z·W₀ with R_v = 0 for v ∈ M, x̂_i = Σⱼ αᵢⱼ W₁ rⱼ + b, αᵢⱼ the softmax over i's
//! neighbors and itself of leaky(a·W₁rᵢ + a′·W₁rⱼ). Z: n×h, W₀: h×h, W₁: d×h, a, a′: d.
//!
//! Attention commutes with W₁: attending over codes with the vector a·W₁ gives x̂ = W₁ Σⱼ αᵢⱼ rⱼ, which is never materialized
//! for sparse features; see [`Tape::reconstruct`].

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::graph::{Graph, Subgraph};
use crate::objective::{HeadDims, LossInput, Objective, Purpose, ViewSpec, check_masked_nodes, prepared_on};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Activation, Attention, AttentionParams, Distance, Init, Params, Tape, Var};

/// Entry in the list of baselines.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "graphmae",
    summary: "masked autoencoder: reconstruct masked features with an attention decoder",
    paper: "Hou et al., GraphMAE: Self-Supervised Masked Graph Autoencoders, KDD 2022",
    keys: KEYS,
    defaults: || setting::table_of(&GraphMaeSettings::default()),
    build: |table| Ok(Box::new(GraphMae { settings: setting::settings("objective.graphmae", KEYS, table)? })),
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
    Key::new("dropout", Range::Below(0.0, 1.0), "dropout on the decoder's inputs"),
    Key::new("attention_dropout", Range::Below(0.0, 1.0), "dropout on the decoder's attention weights"),
];

/// The authors' cosine divides by max(‖x̂‖, 10⁻¹²), which affects training: at the first step the bias is zero, so a masked
/// node without a visible neighbor has x̂ = 0, and the gradient of the bias is about 10⁹. Adam's second moment stays large
/// for tens of thousands of steps, so the bias hardly moves afterwards. A fixed bias sets the scale of the codes; the cosine
/// is scale-invariant, so without it weight decay would shrink them without bound. Without this epsilon and the authors'
/// initialization, accuracy on Cora is 81.1 % instead of 83.5 %.
const MIN_NORM: f64 = 1e-12;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct GraphMaeSettings {
    mask: f64,
    replace: f64,
    exponent: f64,
    drop_edges: f64,
    dropout: f64,
    attention_dropout: f64,
}

impl Default for GraphMaeSettings {
    fn default() -> Self {
        GraphMaeSettings {
            mask: 0.5,
            replace: 0.05,
            exponent: 3.0,
            drop_edges: 0.0,
            dropout: 0.2,
            attention_dropout: 0.1,
        }
    }
}

#[derive(Clone)]
struct GraphMae {
    settings: GraphMaeSettings,
}

impl Objective for GraphMae {
    fn check(&self, graph: &Graph) -> Result<()> {
        check_masked_nodes("graphmae", self.settings.mask, graph)
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared_on(GraphMae { settings: self.settings.clone() }, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        let HeadDims { n_features, width } = dims;
        params.add(group, "token", (1, n_features), Init::Constant(0.0), stream);
        // The authors' initialization: PyTorch's for attention and linear layers.
        params.add(group, "0.weight", (width, width), Init::Uniform(1.0 / (width as f64).sqrt()), stream);
        params.add(group, "1.source", (1, n_features), Init::xavier_normal(2 * n_features), stream);
        params.add(group, "1.target", (1, n_features), Init::xavier_normal(2 * n_features), stream);
        params.add(group, "1.weight", (n_features, width), Init::xavier_normal(n_features + width), stream);
        params.add(group, "1.bias", (1, n_features), Init::Constant(0.0), stream);
    }

    fn views(&self) -> Vec<ViewSpec> {
        let GraphMaeSettings { mask, replace, drop_edges, .. } = self.settings;
        vec![ViewSpec { mask_nodes: mask, replace, drop_edges, ..ViewSpec::default() }]
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        let head = tape.group(input.group);
        let view = &input.views[0];
        let masked = view.masked.as_ref().expect("its view masks nodes");
        let mut dropout = (input.purpose == Purpose::Training).then_some(input.stream);
        let r = tape.matmul(input.z[0], head[1]);
        let mut r = tape.mask_rows(r, masked.clone(), None);
        if let Some(stream) = &mut dropout {
            r = tape.dropout(r, self.settings.dropout, stream);
        }
        let [source, target] = [head[2], head[3]].map(|a| tape.matmul(a, head[4]));
        let shape = Attention { heads: 1, negative_slope: 0.2, dropout: self.settings.attention_dropout };
        let operator = view.view.operator();
        let params = AttentionParams { source, target, bias: None, activation: Activation::Identity };
        let r = tape.attention(operator, r, params, shape, dropout);
        let r = tape.gather(r, masked.ids().to_vec());
        let distance = Distance::Cosine { gamma: self.settings.exponent, least: MIN_NORM };
        tape.reconstruct(r, head[4], Some(head[5]), input.prepared, masked.ids().to_vec(), distance)
    }
}
