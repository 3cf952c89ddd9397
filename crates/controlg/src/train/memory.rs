//! How much memory a run takes, said before it starts.

use serde::Serialize;

use super::model::init::{InitialModel, pass_bytes};
use crate::Real;
use crate::config::{BatchMode, Config, EdgeScope, FeatureNormalization};
use crate::coordinator::ActiveMethod;
use crate::error::Result;
use crate::graph::partition::METIS_UP_TO;
use crate::graph::{Features, Graph, Subgraph};
use crate::objective::Objective;
use crate::rng::Stream;

/// What a run needs at its peak, in bytes, within about a quarter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryEstimate {
    /// The program itself, its threads and their scratch space.
    pub program: u64,
    /// The graph as it was read and as it is seen.
    pub graph: u64,
    /// What is computed of it once, and kept: operators, parts, the probe.
    pub prepared: u64,
    /// Parameters with gradients and two moments, and one gradient an objective when they are compared or mixed.
    pub parameters: u64,
    /// What one pass and its way back hold.
    pub passes: u64,
    /// What cutting the graph into parts takes, before the first step.
    pub cutting: u64,
}

impl MemoryEstimate {
    /// All of it at once, as far as it is there at once.
    pub fn total(&self) -> u64 {
        let training = self.prepared + self.parameters + self.passes;
        self.program + self.graph + training.max(self.cutting)
    }
}

/// The program itself, its threads and their scratch space.
const PROGRAM: usize = 14 << 20;

/// What a run on a graph will need.
pub fn need(graph: &Graph, config: &Config) -> Result<MemoryEstimate> {
    let outfit = InitialModel::new(config, graph.n_features());
    let batch = config.train.batch.on(graph.n_nodes());
    let passes_on =
        |graph: &Graph| pass_bytes(&*outfit.encoder, &outfit.objectives, graph, config.train.recompute);
    let whole = batch == BatchMode::Full;
    let probed = !whole || graph.n_nodes() > config.sense.whole_up_to;
    // A ball stands for any part of its size.
    let part =
        |nodes: usize| Subgraph::balls(graph, nodes, 8, &mut Stream::new(config.seed, "sense", "probe", 0));
    let probe = if probed { Some(part(config.sense.probe_nodes)?.graph) } else { None };
    let (mut prepared, mut passes) = (0, 0);
    let mut clean = graph.n_nodes();
    if let Some(probe) = &probe {
        prepared += probe.memory_bytes() + scene_bytes(probe, &outfit.objectives);
        // A graph that is shown whole to the steps needs the larger buffers there.
        passes += if whole { 0 } else { passes_on(probe) };
    }
    match (&probe, whole) {
        (Some(probe), false) => {
            let step = part(config.train.batch_nodes)?.graph;
            // The part of this step and of the next.
            prepared +=
                2 * step.memory_bytes() + scene_bytes(&step, &outfit.objectives) + 12 * graph.n_nodes();
            passes += passes_on(&step);
            clean = probe.n_nodes();
        }
        _ => {
            let seen = graph.resident()?;
            prepared += scene_bytes(&seen, &outfit.objectives);
            passes += passes_on(&seen);
        }
    }
    let cuts = batch == BatchMode::Cluster || config.objectives.iter().any(|name| name == "p_par");
    Ok(MemoryEstimate {
        program: PROGRAM as u64,
        graph: graph_bytes(graph, config, whole) as u64,
        prepared: prepared as u64,
        parameters: parameter_bytes(&outfit, config, clean)? as u64,
        passes: passes as u64,
        cutting: if cuts { cutting_bytes(graph) as u64 } else { 0 },
    })
}

/// The graph as read, and what is not shared with it of the one that is seen.
fn graph_bytes(graph: &Graph, config: &Config, whole: bool) -> usize {
    let held = graph.stored_features().is_none();
    let dense = graph.n_nodes() * graph.n_features() * size_of::<Real>();
    let features = if held { graph.features().memory_bytes() } else { 0 };
    let read_in = if held || !whole { 0 } else { dense };
    let normalized = match config.normalize {
        _ if !held && !whole => 0,
        FeatureNormalization::None => 0,
        FeatureNormalization::Rows => features.max(read_in),
        FeatureNormalization::Columns => dense,
    };
    let edges = if config.edges == EdgeScope::Train { graph.adjacency().memory_bytes() } else { 0 };
    graph.memory_bytes() + read_in + normalized + edges
}

/// What is prepared of a graph for passes on it: its operator and those with edges dropped, the transpose of sparse
/// features or the smoothed dense ones, what the objectives keep.
fn scene_bytes(graph: &Graph, objectives: &[Box<dyn Objective>]) -> usize {
    let (n, entries) = (graph.n_nodes(), graph.adjacency().n_entries());
    let operator = (entries + n) * (size_of::<u32>() + size_of::<Real>()) + n * size_of::<usize>();
    let drops = objectives.iter().flat_map(|objective| objective.views()).any(|spec| spec.drop_edges > 0.0);
    let dropped = if drops { 2 * operator + entries + n * size_of::<usize>() } else { 0 };
    let features = match graph.features() {
        Features::Sparse(csr) => csr.memory_bytes(),
        Features::Dense(dense) => size_of_val(dense.data()),
    };
    let kept: usize = objectives.iter().map(|objective| objective.prepared_bytes(graph)).sum();
    operator + dropped + features + kept
}

fn parameter_bytes(outfit: &InitialModel, config: &Config, clean: usize) -> Result<usize> {
    let k = outfit.objectives.len();
    let one = outfit.params.groups()[0].data().len();
    let representations = clean * outfit.encoder.width();
    let (optimizers, method) = match config.build_method()? {
        ActiveMethod::Mix(mixer) => {
            let seen = if mixer.needs().nodes { 2 * representations } else { 0 };
            // The gradient stepped along and its influence; representations, their copy and their gradient.
            let ahead = if mixer.uses_lookahead() { 2 * one + 3 * representations } else { 0 };
            (1, k * one + seen + ahead)
        }
        ActiveMethod::Schedule(_) => {
            let compared = if config.is_feedback_loop() { k * one } else { 0 };
            (if config.train.per_task_moments { k } else { 1 }, compared)
        }
    };
    Ok((outfit.params.len() * (2 + 2 * optimizers) + method) * size_of::<Real>())
}

/// METIS keeps the graph once for each of its levels; the stream over a larger one keeps a few numbers a node.
fn cutting_bytes(graph: &Graph) -> usize {
    let (n, entries) = (graph.n_nodes(), graph.adjacency().n_entries());
    if entries > METIS_UP_TO { 24 * n } else { 28 * entries + 48 * n }
}

/// The most memory that this process has taken so far, in bytes, where the system tells.
pub fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
