//! `dgi`, Deep Graph Infomax: nodes recognize the summary of their graph, and nodes with shuffled features do not.
//!
//! H = f(X, Â), H̃ = f(X with its rows in a random order, Â), s = σ(mean_v h_v),
//! L = −(1/2n) Σ_v [log σ(h_vᵀWs + b) + log(1 − σ(h̃_vᵀWs + b))]. H: n×h, W: h×h. A fresh head gives ln 2.

use serde::{Deserialize, Serialize};

use super::infomax;
use crate::error::Result;
use crate::graph::{Graph, Subgraph};
use crate::objective::{HeadDims, LossInput, Objective, ViewSpec, prepared};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key};
use crate::tensor::{Params, Tape, Var};

/// On the list of methods of their own.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "dgi",
    summary: "Deep Graph Infomax: tell nodes from shuffled ones by a summary of the graph",
    paper: "Veličković et al., Deep Graph Infomax, ICLR 2019",
    keys: KEYS,
    defaults: || setting::table_of(&DgiSettings::default()),
    build: |table| {
        setting::settings::<DgiSettings>("objective.dgi", KEYS, table)?;
        Ok(Box::new(Dgi))
    },
};

const KEYS: &[Key] = &[];

/// There is nothing to choose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct DgiSettings {}

#[derive(Clone)]
struct Dgi;

impl Objective for Dgi {
    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared(Dgi, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        infomax::init(dims.width, params, group, stream);
    }

    fn buffers(&self, graph: &Graph, width: usize) -> Vec<(usize, usize)> {
        vec![(graph.n_nodes() * width, 2), (graph.n_nodes(), 4)]
    }

    fn views(&self) -> Vec<ViewSpec> {
        vec![ViewSpec::default(), ViewSpec { shuffle: true, index: 1, ..ViewSpec::default() }]
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, step: LossInput<'a, '_>) -> Var {
        let head = tape.group(step.group);
        let summary = infomax::summary(tape, step.z[0]);
        let genuine = infomax::cross_entropy(tape, &head, step.z[0], summary, true);
        let shuffled = infomax::cross_entropy(tape, &head, step.z[1], summary, false);
        tape.weighted_sum(&[(0.5, genuine), (0.5, shuffled)])
    }
}
