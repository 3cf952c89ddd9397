//! `p_decor`, decorrelation: embedding columns agree between two views and are uncorrelated with each other.
//!
//! Y⁽ⁱ⁾ = standardized columns of head(Z⁽ⁱ⁾), C = Y⁽¹⁾ᵀY⁽²⁾/B, L = Σᵢ(1 − Cᵢᵢ)² + λ Σ_{i≠j} Cᵢⱼ² (Barlow Twins).
//! Z: n×h, head: h→width→width, C: width×width. The initial loss is in the tens, so it dominates a plain sum of losses.

use serde::{Deserialize, Serialize};

use super::head::Head;
use super::{HeadDims, LossInput, Objective, ViewSpec, prepared_on, unsuitable};
use crate::error::Result;
use crate::graph::{Graph, Subgraph};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Params, Tape, Var};

/// Entry in the list of objectives.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "p_decor",
    summary: "decorrelation: columns agree between two views and are otherwise uncorrelated",
    paper: "Zbontar et al., Barlow Twins: Self-Supervised Learning via Redundancy Reduction, ICML 2021",
    keys: KEYS,
    defaults: || setting::table_of(&DecorSettings::default()),
    build: |table| Ok(Box::new(Decor { settings: setting::settings("objective.p_decor", KEYS, table)? })),
};

const KEYS: &[Key] = &[
    Key::new("width", Range::Whole(1, 65_536), "output width of the projection head"),
    Key::new("head", Range::OneOf(&["mlp", "none"]), "projection head: a two-layer MLP or none"),
    Key::new("lambda", Range::Number(0.0, 1e6), "weight of the off-diagonal correlations"),
    Key::new("all_up_to", Range::Whole(0, 1 << 40), "number of nodes up to which all nodes are used"),
    Key::new("batch", Range::Whole(2, 1 << 30), "nodes sampled per step on larger graphs"),
    Key::new("drop_edges", Range::Below(0.0, 1.0), "fraction of edges dropped in each view"),
    Key::new("mask_features", Range::Below(0.0, 1.0), "fraction of feature columns masked in each view"),
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct DecorSettings {
    width: usize,
    head: Head,
    lambda: f64,
    all_up_to: usize,
    batch: usize,
    drop_edges: f64,
    mask_features: f64,
}

impl Default for DecorSettings {
    fn default() -> Self {
        DecorSettings {
            width: 256,
            head: Head::Mlp,
            lambda: 0.01,
            all_up_to: 20_000,
            batch: 10_000,
            drop_edges: 0.3,
            mask_features: 0.3,
        }
    }
}

#[derive(Clone)]
struct Decor {
    settings: DecorSettings,
}

impl Objective for Decor {
    fn check(&self, graph: &Graph) -> Result<()> {
        match graph.n_nodes() {
            1 => Err(unsuitable("p_decor", "one node", "at least two nodes")),
            _ => Ok(()),
        }
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared_on(Decor { settings: self.settings.clone() }, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        self.settings.head.init(dims.width, self.settings.width, params, group, stream);
    }

    fn views(&self) -> Vec<ViewSpec> {
        ViewSpec::equal_views(self.settings.drop_edges, self.settings.mask_features)
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        let n = input.graph.n_nodes();
        let rows = (n > self.settings.all_up_to).then(|| input.stream.sample(n, self.settings.batch));
        let head = tape.group(input.group);
        let [y1, y2] = [input.z[0], input.z[1]].map(|z| {
            let picked = match &rows {
                Some(rows) => tape.gather(z, rows.clone()),
                None => z,
            };
            let projected = self.settings.head.apply(tape, &head, picked);
            tape.standardize_columns(projected, false, 1e-5)
        });
        tape.barlow(y1, y2, self.settings.lambda)
    }
}
