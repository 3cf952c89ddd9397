//! `dgi`, Deep Graph Infomax: tell nodes from nodes with shuffled features, given a summary of the graph.
//!
//! H = f(X, Â), H̃ = f(X with shuffled rows, Â), s = σ(mean_v h_v),
//! L = −(1/2n) Σ_v [log σ(h_vᵀWs + b) + log(1 − σ(h̃_vᵀWs + b))]. H: n×h, W: h×h. The initial loss is ln 2.

use serde::{Deserialize, Serialize};

use super::infomax;
use crate::error::Result;
use crate::graph::Subgraph;
use crate::objective::{HeadDims, LossInput, Objective, ViewSpec, prepared_on};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key};
use crate::tensor::{Params, Tape, Var};

/// Entry in the list of baselines.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "dgi",
    summary: "Deep Graph Infomax: tell nodes from shuffled ones, given a summary of the graph",
    paper: "Veličković et al., Deep Graph Infomax, ICLR 2019",
    keys: KEYS,
    defaults: || setting::table_of(&DgiSettings::default()),
    build: |table| {
        setting::settings::<DgiSettings>("objective.dgi", KEYS, table)?;
        Ok(Box::new(Dgi))
    },
};

const KEYS: &[Key] = &[];

/// It has no settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct DgiSettings {}

#[derive(Clone)]
struct Dgi;

impl Objective for Dgi {
    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared_on(Dgi, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        infomax::init(dims.width, params, group, stream);
    }

    fn views(&self) -> Vec<ViewSpec> {
        vec![ViewSpec::default(), ViewSpec { shuffle: true, index: 1, ..ViewSpec::default() }]
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        let head = tape.group(input.group);
        let summary = infomax::summary(tape, input.z[0]);
        let positive = infomax::cross_entropy(tape, &head, input.z[0], summary, true);
        let shuffled = infomax::cross_entropy(tape, &head, input.z[1], summary, false);
        tape.weighted_sum(&[(0.5, positive), (0.5, shuffled)])
    }
}
