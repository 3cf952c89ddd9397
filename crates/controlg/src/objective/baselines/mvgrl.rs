//! `mvgrl`, multi-view contrast: match nodes of the graph with the summary of its diffusion, and vice versa.
//!
//! H¹ = f(X, Â), H² = g(X, S) with an auxiliary network g and S = α(I − (1 − α)Â)⁻¹; a tilde marks shuffled rows of X.
//! sⁱ = σ(mean_v hⁱ_v); L = mean cross-entropy of the scores hᵀWs + b, with positives (h², s¹) and (h¹, s²) and negatives
//! (h̃², s¹) and (h̃¹, s²). The embedding is H¹ + H². H: n×h, W: h×h. The initial loss is ln 2.
//!
//! The authors train on windows of 2000 consecutive nodes; here each step uses the whole graph. S has up to n² entries:
//! small ones are dropped, and graphs with more than `most_nodes` nodes are rejected.

use serde::{Deserialize, Serialize};

use super::infomax;
use crate::Real;
use crate::encoder::Pass;
use crate::error::Result;
use crate::graph::{Graph, Operator, OperatorKind, Subgraph, diffusion};
use crate::objective::{AuxNetwork, HeadDims, LossInput, Objective, ViewSpec, prepared_on, unsuitable};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Params, Tape, Var};

/// Entry in the list of baselines.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "mvgrl",
    summary: "multi-view contrast between the graph and its diffusion",
    paper: "Hassani and Khasahmadi, Contrastive Multi-View Representation Learning on Graphs, ICML 2020",
    keys: KEYS,
    defaults: || setting::table_of(&MvgrlSettings::default()),
    build: |table| {
        Ok(Box::new(Mvgrl { settings: setting::settings("objective.mvgrl", KEYS, table)?, diffusion: None }))
    },
};

const KEYS: &[Key] = &[
    Key::new(
        "alpha",
        Range::Number(0.01, 0.99),
        "restart probability of the diffusion (personalized PageRank)",
    ),
    Key::new(
        "threshold",
        Range::Number(0.0, 1.0),
        "drop entries of the diffusion up to this value; 0 keeps all",
    ),
    Key::new(
        "most_nodes",
        Range::Whole(1, 1 << 24),
        "maximum number of nodes; the diffusion is nodes × nodes",
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
        let (n, max) = (graph.n_nodes(), self.settings.most_nodes);
        if n <= max {
            return Ok(());
        }
        // A column index and a value per entry.
        let bytes = (n as f64).powi(2) * (size_of::<u32>() + size_of::<Real>()) as f64;
        let found = format!("{n} nodes, whose diffusion needs up to {:.0} MB", (bytes / 1e6).ceil());
        Err(unsuitable("mvgrl", found, &format!("at most objective.mvgrl.most_nodes = {max}")))
    }

    fn prepare(&mut self, graph: &Graph) -> Result<()> {
        self.diffusion =
            Some(diffusion::ppr(graph.adjacency(), self.settings.alpha, self.settings.threshold));
        Ok(())
    }

    fn prepare_shapes(&mut self, graph: &Graph) -> Result<()> {
        self.diffusion = Some(Operator::shape_only(
            graph.n_nodes(),
            self.expected_entries(graph),
            OperatorKind::Symmetric,
        ));
        Ok(())
    }

    fn prepared_bytes(&self, graph: &Graph) -> usize {
        // A column and a value per entry.
        self.expected_entries(graph) * (size_of::<u32>() + size_of::<Real>())
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        prepared_on(Mvgrl { settings: self.settings.clone(), diffusion: None }, batch)
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        infomax::init(dims.width, params, group, stream);
    }

    fn needs_square_operator(&self) -> bool {
        true
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

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        let diffusion = self.diffusion.as_ref().expect("it was prepared");
        let head = tape.group(input.group);
        let [diffused, diffused_shuffled] = [0, 1].map(|at: usize| {
            let view = input.views[at].view.clone().on(diffusion);
            input.encoder.encode(tape, input.aux_group, &view, Pass::default())
        });
        let (local, local_shuffled) = (input.z[0], input.z[1]);
        let [local_summary, diffused_summary] = [local, diffused].map(|h| infomax::summary(tape, h));
        let terms = [
            (diffused, local_summary, true),
            (local, diffused_summary, true),
            (diffused_shuffled, local_summary, false),
            (local_shuffled, diffused_summary, false),
        ];
        let terms = terms
            .map(|(h, summary, positive)| (0.25, infomax::cross_entropy(tape, &head, h, summary, positive)));
        tape.weighted_sum(&terms)
    }
}

impl Mvgrl {
    fn expected_entries(&self, graph: &Graph) -> usize {
        diffusion::expected_entries(graph.adjacency(), self.settings.alpha, self.settings.threshold)
    }
}
