//! `bgrl`, bootstrapped graph latents: predict a target network's embedding of another view.
//!
//! q = prelu(z·W₀ + b₀)·W₁ + b₁, L = 2 − mean_v cos(q(f_θ(G₁))_v, f_ξ(G₂)_v) − mean_v cos(q(f_θ(G₂))_v, f_ξ(G₁)_v).
//! The target network ξ is initialized independently and gets no gradient; after each step ξ ← ξ + r(θ − ξ), where r decays
//! from `rate` to 0 along a half cosine. Z: n×h.

use serde::{Deserialize, Serialize};

use crate::encoder::Pass;
use crate::error::Result;
use crate::graph::Subgraph;
use crate::objective::{AuxNetwork, HeadDims, LossInput, Objective, ViewSpec, prepared_on};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Activation, Init, Params, Tape, Var};

/// Entry in the list of baselines.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "bgrl",
    summary: "bootstrapping: predict a target network's embedding of another view",
    paper: "Thakoor et al., Large-Scale Representation Learning on Graphs via Bootstrapping, ICLR 2022",
    keys: KEYS,
    defaults: || setting::table_of(&BgrlSettings::default()),
    build: |table| Ok(Box::new(Bgrl { settings: setting::settings("objective.bgrl", KEYS, table)? })),
};

const KEYS: &[Key] = &[
    Key::new("predictor", Range::Whole(1, 65_536), "hidden width of the predictor"),
    Key::new("rate", Range::Number(0.0, 1.0), "initial EMA update rate of the target network"),
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
struct BgrlSettings {
    predictor: usize,
    rate: f64,
    drop_edges_1: f64,
    drop_edges_2: f64,
    mask_features_1: f64,
    mask_features_2: f64,
}

impl Default for BgrlSettings {
    fn default() -> Self {
        BgrlSettings {
            predictor: 512,
            rate: 0.01,
            drop_edges_1: 0.2,
            drop_edges_2: 0.3,
            mask_features_1: 0.2,
            mask_features_2: 0.1,
        }
    }
}

#[derive(Clone)]
struct Bgrl {
    settings: BgrlSettings,
}

impl Objective for Bgrl {
    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared_on(Bgrl { settings: self.settings.clone() }, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        let hidden = self.settings.predictor;
        params.add(group, "0.weight", (dims.width, hidden), Init::XavierUniform, stream);
        params.add(group, "0.bias", (1, hidden), Init::Constant(0.0), stream);
        params.add(group, "0.slope", (1, 1), Init::Constant(0.25), stream);
        params.add(group, "1.weight", (hidden, dims.width), Init::XavierUniform, stream);
        params.add(group, "1.bias", (1, dims.width), Init::Constant(0.0), stream);
    }

    fn views(&self) -> Vec<ViewSpec> {
        let BgrlSettings { drop_edges_1, drop_edges_2, mask_features_1, mask_features_2, .. } = self.settings;
        ViewSpec::two_views([drop_edges_1, drop_edges_2], [mask_features_1, mask_features_2])
    }

    fn aux_network(&self) -> Option<AuxNetwork> {
        Some(AuxNetwork::Ema { rate: self.settings.rate })
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        let head = tape.group(input.group);
        let [first, second] = [0, 1].map(|at: usize| {
            let other = &input.views[1 - at].view;
            let target = tape.without_gradient(|tape| {
                let target = input.encoder.encode(tape, input.aux_group, other, Pass::default());
                tape.normalize_rows(target)
            });
            let hidden = tape.linear(input.z[at], head[0], Some(head[1]), Activation::Prelu(head[2]));
            let predicted = tape.linear(hidden, head[3], Some(head[4]), Activation::Identity);
            let predicted = tape.normalize_rows(predicted);
            tape.mean_row_dot(predicted, target)
        });
        let two = tape.constant(1, 1, vec![2.0]);
        tape.weighted_sum(&[(1.0, two), (-1.0, first), (-1.0, second)])
    }
}
