//! `mvgrl`, two structures of one graph: nodes seen through its edges recognize its summary seen through its diffusion,
//! and the other way round.
//!
//! H¹ = f(X, Â), H² = g(X, S) with a second network g and S = α(I − (1 − α)Â)⁻¹; tilde: the same with the rows of X in a
//! random order. sⁱ = σ(mean_v hⁱ_v); L = mean cross-entropy of the scores hᵀWs + b, high for (h², s¹) and (h¹, s²), low
//! for (h̃², s¹) and (h̃¹, s²). The embedding is H¹ + H². H: n×h, W: h×h. A fresh head gives ln 2.
//!
//! The authors train on windows of 2000 consecutive nodes; here each step takes the whole graph. S has up to n² entries:
//! small ones are left out, and graphs with more than `most_nodes` nodes are refused.

use serde::{Deserialize, Serialize};

use super::infomax;
use crate::Real;
use crate::encoder::Pass;
use crate::error::Result;
use crate::graph::{Graph, Operator, Subgraph, diffusion};
use crate::objective::{AuxNetwork, HeadDims, LossInput, Objective, ViewSpec, prepared, unfit};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Params, Tape, Var};

/// On the list of methods of their own.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "mvgrl",
    summary: "two structures: nodes seen through edges and a summary seen through diffusion recognize each other",
    paper: "Hassani and Khasahmadi, Contrastive Multi-View Representation Learning on Graphs, ICML 2020",
    keys: KEYS,
    defaults: || setting::table_of(&MvgrlSettings::default()),
    build: |table| {
        Ok(Box::new(Mvgrl { settings: setting::settings("objective.mvgrl", KEYS, table)?, diffusion: None }))
    },
};

const KEYS: &[Key] = &[
    Key::new("alpha", Range::Number(0.01, 0.99), "how often the diffusion returns to its start"),
    Key::new(
        "threshold",
        Range::Number(0.0, 1.0),
        "entries of the diffusion up to this are left out; 0 for none",
    ),
    Key::new(
        "most_nodes",
        Range::Whole(1, 1 << 24),
        "largest graph that is taken, the diffusion being nodes × nodes",
    ),
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct MvgrlSettings {
    alpha: f64,
    threshold: f64,
    most_nodes: usize,
}

impl Default for MvgrlSettings {
    fn default() -> Self {
        MvgrlSettings { alpha: 0.2, threshold: 1e-3, most_nodes: 20_000 }
    }
}

#[derive(Clone)]
struct Mvgrl {
    settings: MvgrlSettings,
    diffusion: Option<Operator>,
}

impl Objective for Mvgrl {
    fn check(&self, graph: &Graph) -> Result<()> {
        let (n, most) = (graph.n_nodes(), self.settings.most_nodes);
        if n <= most {
            return Ok(());
        }
        // A column and a value an entry.
        let bytes = (n as f64).powi(2) * (size_of::<u32>() + size_of::<Real>()) as f64;
        let found = format!("{n} nodes, whose diffusion takes up to {:.0} MB", (bytes / 1e6).ceil());
        Err(unfit("mvgrl", found, &format!("at most objective.mvgrl.most_nodes = {most}")))
    }

    fn prepare(&mut self, graph: &Graph) -> Result<()> {
        self.diffusion =
            Some(diffusion::ppr(graph.adjacency(), self.settings.alpha, self.settings.threshold));
        Ok(())
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared(Mvgrl { settings: self.settings.clone(), diffusion: None }, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        infomax::init(dims.width, params, group, stream);
    }

    fn buffers(&self, graph: &Graph, width: usize) -> Vec<(usize, usize)> {
        let entries =
            self.diffusion.as_ref().map_or(0, |diffusion| diffusion.memory_bytes() / size_of::<Real>());
        vec![(graph.n_nodes() * width, 6), (graph.n_nodes(), 8), (entries, 1)]
    }

    fn views(&self) -> Vec<ViewSpec> {
        vec![ViewSpec::default(), ViewSpec { shuffle: true, index: 1, ..ViewSpec::default() }]
    }

    fn aux_network(&self) -> Option<AuxNetwork> {
        Some(AuxNetwork::Trained)
    }

    fn aux_operator(&self) -> Option<&Operator> {
        self.diffusion.as_ref()
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, step: LossInput<'a, '_>) -> Var {
        let diffusion = self.diffusion.as_ref().expect("it was prepared");
        let head = tape.group(step.group);
        let [far, far_shuffled] = [0, 1].map(|at: usize| {
            let view = step.augmented[at].view.clone().on(diffusion);
            step.encoder.encode(tape, step.second, &view, Pass::default())
        });
        let (near, near_shuffled) = (step.z[0], step.z[1]);
        let [of_near, of_far] = [near, far].map(|h| infomax::summary(tape, h));
        let terms = [
            (far, of_near, true),
            (near, of_far, true),
            (far_shuffled, of_near, false),
            (near_shuffled, of_far, false),
        ];
        let terms = terms
            .map(|(h, summary, genuine)| (0.25, infomax::cross_entropy(tape, &head, h, summary, genuine)));
        tape.weighted_sum(&terms)
    }
}
