//! `graphmae`, masked autoencoder: hide nodes' features, rebuild them by attention from the codes of their neighbors.
//!
//! L = (1/|M|) Σ_{v∈M} (1 − cos(x̂_v, x_v))^γ over the hidden nodes M. The decoder is one attention layer with one head on
//! codes that are masked again: R = Z·W₀ with R_v = 0 for v ∈ M, x̂_i = Σⱼ αᵢⱼ W₁ rⱼ + b, αᵢⱼ the softmax over i's
//! neighbors and itself of leaky(a·W₁rᵢ + a′·W₁rⱼ). Z: n×h, W₀: h×h, W₁: d×h, a, a′: d.
//!
//! Attention and W₁ can change places, since the weights α add up codes: with a·W₁ for a vector over codes, x̂ = W₁ Σⱼ αᵢⱼ rⱼ
//! is never formed where features are sparse; see [`Tape::reconstruct`].

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::graph::{Features, Graph, Subgraph};
use crate::objective::{HeadDims, LossInput, Objective, Purpose, ViewSpec, hides_some, prepared};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Activation, Attention, Distance, Init, Params, Tape, Var};

/// On the list of methods of their own.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "graphmae",
    summary: "masked autoencoder: rebuild hidden nodes' features by attention from their neighbors' codes",
    paper: "Hou et al., GraphMAE: Self-Supervised Masked Graph Autoencoders, KDD 2022",
    keys: KEYS,
    defaults: || setting::table_of(&GraphMaeSettings::default()),
    build: |table| Ok(Box::new(GraphMae { settings: setting::settings("objective.graphmae", KEYS, table)? })),
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
    Key::new("dropout", Range::Below(0.0, 1.0), "share of the decoder's inputs set to zero in training"),
    Key::new(
        "attention_dropout",
        Range::Below(0.0, 1.0),
        "share of the decoder's attention set to zero in training",
    ),
];

/// The authors' cosine divides by max(‖x̂‖, 10⁻¹²). It matters, and not by design: at the first step the bias is zero, so a
/// hidden node without a visible neighbor has x̂ = 0, and the bias gets a gradient of 10⁹ or so. Adam remembers its square
/// for tens of thousands of steps, and the bias stands still where the first steps have brought it. A still bias gives the
/// codes a scale, which weight decay would shrink without end since the cosine has none. With neither this nor the authors'
/// start, accuracy on Cora was 81.1 instead of 83.5 %.
const LEAST_LENGTH: f64 = 1e-12;

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
        hides_some("graphmae", self.settings.mask, graph)
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared(GraphMae { settings: self.settings.clone() }, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        let HeadDims { n_features, width } = dims;
        params.add(group, "token", (1, n_features), Init::Constant(0.0), stream);
        // As the authors' start, that of an attention layer and of a linear map in PyTorch.
        params.add(group, "0.weight", (width, width), Init::Uniform(1.0 / (width as f64).sqrt()), stream);
        params.add(group, "1.source", (1, n_features), Init::xavier_normal(2 * n_features), stream);
        params.add(group, "1.target", (1, n_features), Init::xavier_normal(2 * n_features), stream);
        params.add(group, "1.weight", (n_features, width), Init::xavier_normal(n_features + width), stream);
        params.add(group, "1.bias", (1, n_features), Init::Constant(0.0), stream);
    }

    fn buffers(&self, graph: &Graph, width: usize) -> Vec<(usize, usize)> {
        let n = graph.n_nodes();
        let hidden = (self.settings.mask * n as f64) as usize;
        let decoded = match graph.features() {
            Features::Sparse(_) => (graph.n_features() * width, 1),
            Features::Dense(_) => (hidden * graph.n_features(), 3),
        };
        let entries = graph.adjacency().n_entries() + n;
        vec![(n * width, 5), (hidden * width, 6), decoded, (entries, 3)]
    }

    fn views(&self) -> Vec<ViewSpec> {
        let GraphMaeSettings { mask, replace, drop_edges, .. } = self.settings;
        vec![ViewSpec { mask_nodes: mask, replace, drop_edges, ..ViewSpec::default() }]
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, step: LossInput<'a, '_>) -> Var {
        let head = tape.group(step.group);
        let augmented = &step.augmented[0];
        let hidden = augmented.hidden.as_ref().expect("its sight hides nodes");
        let mut draws = (step.purpose == Purpose::Training).then_some(step.stream);
        let r = tape.matmul(step.z[0], head[1]);
        let mut r = tape.mask_rows(r, hidden.clone(), None);
        if let Some(stream) = &mut draws {
            r = tape.dropout(r, self.settings.dropout, stream);
        }
        let [source, target] = [head[2], head[3]].map(|a| tape.matmul(a, head[4]));
        let shape = Attention { heads: 1, negative_slope: 0.2, dropout: self.settings.attention_dropout };
        let operator = augmented.view.operator();
        let r = tape.attention(operator, r, source, target, shape, None, Activation::Identity, draws);
        let r = tape.gather(r, hidden.ids().to_vec());
        let distance = Distance::Cosine { gamma: self.settings.exponent, least: LEAST_LENGTH };
        tape.reconstruct(r, head[4], Some(head[5]), step.prepared, hidden.ids().to_vec(), distance)
    }
}
