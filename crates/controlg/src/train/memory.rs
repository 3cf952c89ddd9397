//! Predicts how much memory a run needs, before it starts.

use serde::Serialize;

use super::batch::BatchLoader;
use super::model::init::InitialModel;
use super::model::{Model, ModelSpec};
use super::normalization::Normalization;
use crate::Real;
use crate::config::{BatchMode, Config, EdgeScope, FeatureNormalization};
use crate::coordinator::ActiveMethod;
use crate::error::Result;
use crate::graph::partition::METIS_UP_TO;
use crate::graph::{Dense, Features, Graph, Subgraph};
use crate::objective::Objective;
use crate::rng::Stream;

/// The predicted peak of a run, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryEstimate {
    /// The program itself, its threads and their scratch space.
    pub program: u64,
    /// The graph as read and as trained on.
    pub graph: u64,
    /// What is computed from the graph once and kept: operators, clusters, the probe.
    pub prepared: u64,
    /// Parameters with gradients and two moments, and one gradient per objective where the method compares or mixes them.
    pub parameters: u64,
    /// Buffers of the forward and backward passes, from a pass over shapes.
    pub passes: u64,
    /// Partitioning the graph, before the first step.
    pub cutting: u64,
}

impl MemoryEstimate {
    /// The peak. Partitioning is over when training starts.
    pub fn total(&self) -> u64 {
        let training = self.prepared + self.parameters + self.passes;
        self.program + self.graph + training.max(self.cutting)
    }
}

/// Code, stacks and small allocations.
const PROGRAM: usize = 20 << 20;

/// Working memory of matrix products, per thread.
const PER_THREAD: usize = 4 << 20;

/// Pieces of a subgraph that stands for a mini-batch.
const BALLS: usize = 8;

/// Predicts the memory of a run on a graph.
///
/// Runs every objective's step, and the sensing if the method senses, without numbers (see
/// [`Pool::shape_only`](crate::tensor::Pool::shape_only)): objectives and encoders need not know their memory.
pub fn need(graph: &Graph, config: &Config) -> Result<MemoryEstimate> {
    let initial = InitialModel::new(config, graph.n_features());
    let batch = config.train.batch.on(graph.n_nodes());
    let whole = batch == BatchMode::Full;
    // Balls of nodes stand for any mini-batch of their size.
    let subgraph = |nodes: usize| -> Result<Subgraph> {
        let mut stream = Stream::new(config.seed, "sense", "probe", 0);
        let part = Subgraph::balls(graph, nodes, BALLS, &mut stream)?;
        let graph = normalized_shape(part.graph, config)?;
        Ok(Subgraph { graph, ..part })
    };
    let probed = !whole || graph.n_nodes() > config.sense.whole_up_to;
    let probe: Option<Subgraph> = probed.then(|| subgraph(config.sense.probe_nodes)).transpose()?;
    let step: Option<Subgraph> = (!whole).then(|| subgraph(config.train.batch_nodes)).transpose()?;
    let seen = if whole { normalized_shape(graph.resident()?, config)? } else { graph.clone() };

    let mut prepared = 0;
    if let Some(probe) = &probe {
        prepared += probe.graph.memory_bytes() + prepared_bytes(&probe.graph, &initial.objectives);
    }
    prepared += match &step {
        // The current mini-batch and the prefetched one.
        Some(step) => {
            2 * step.graph.memory_bytes()
                + prepared_bytes(&step.graph, &initial.objectives)
                + 12 * graph.n_nodes()
        }
        None => prepared_bytes(&seen, &initial.objectives),
    };
    let encoded = probe.as_ref().filter(|_| !whole).map_or(graph, |probe| &probe.graph).n_nodes();
    let loader = step.map(|step| BatchLoader::constant(&seen, step));
    let cuts = batch == BatchMode::Cluster || config.objectives.iter().any(|name| name == "p_par");
    Ok(MemoryEstimate {
        program: (PROGRAM + PER_THREAD * rayon::current_num_threads()) as u64,
        graph: graph_bytes(graph, config, whole)? as u64,
        prepared: prepared as u64,
        parameters: parameter_bytes(&initial, config, encoded)? as u64,
        passes: pass_bytes(&seen, probe.as_ref(), loader, config)? as u64,
        cutting: if cuts { partition_bytes(graph) as u64 } else { 0 },
    })
}

/// The peak of all buffers of the forward and backward passes.
fn pass_bytes<'g>(
    graph: &'g Graph,
    probe: Option<&'g Subgraph>,
    loader: Option<BatchLoader<'g>>,
    config: &Config,
) -> Result<usize> {
    let method = config.build_method()?;
    let spec = ModelSpec::from_config(config, &method);
    let senses = match &method {
        ActiveMethod::Mix(_) => false,
        ActiveMethod::Schedule(coordinator) => coordinator.needs_warm_up() || coordinator.needs_reading(),
    };
    let peak = Model::shape_only(graph, probe, loader, spec)?.peak_step_bytes(senses)?;
    // Buffers of many sizes fragment the heap.
    Ok(peak + peak / 10)
}

/// The graph with features of the kind that training sees. Scaling columns makes sparse features dense; their values are
/// left zero, so that the system does not back them with memory.
fn normalized_shape(graph: Graph, config: &Config) -> Result<Graph> {
    match (Normalization::of(config.normalize, &graph)?.how, graph.features()) {
        (FeatureNormalization::Columns, Features::Sparse(x)) => {
            let dense = Dense::from_parts(x.n_rows(), x.n_cols(), vec![0.0; x.n_rows() * x.n_cols()]);
            graph.with_features(Features::Dense(dense))
        }
        _ => Ok(graph),
    }
}

/// The graph as read, and what the one trained on does not share with it.
fn graph_bytes(graph: &Graph, config: &Config, whole: bool) -> Result<usize> {
    let in_memory = graph.stored_features().is_none();
    let dense = graph.n_nodes() * graph.n_features() * size_of::<Real>();
    let features = if in_memory { graph.features().memory_bytes() } else { 0 };
    let read_in = if in_memory || !whole { 0 } else { dense };
    let normalized = match Normalization::of(config.normalize, graph)?.how {
        _ if !in_memory && !whole => 0,
        FeatureNormalization::None | FeatureNormalization::Auto => 0,
        FeatureNormalization::Rows => features.max(read_in),
        FeatureNormalization::Columns => dense,
    };
    let edges = if config.edges == EdgeScope::Train { graph.adjacency().memory_bytes() } else { 0 };
    Ok(graph.memory_bytes() + read_in + normalized + edges)
}

/// What is prepared once for passes on a graph: its operator and those with edges dropped, the transpose of sparse
/// features or the smoothed dense ones, what the objectives keep.
fn prepared_bytes(graph: &Graph, objectives: &[Box<dyn Objective>]) -> usize {
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

/// Parameters, gradients, moments and what the method keeps; `encoded` is the number of nodes whose representations it
/// looks at.
fn parameter_bytes(initial: &InitialModel, config: &Config, encoded: usize) -> Result<usize> {
    let k = initial.objectives.len();
    let one = initial.params.groups()[0].data().len();
    let representations = encoded * initial.encoder.width();
    let (optimizers, method) = match config.build_method()? {
        ActiveMethod::Mix(mixer) => {
            let nodes = if mixer.needs().nodes { 2 * representations } else { 0 };
            // The combined gradient and its influence; representations, their copy and their gradient.
            let lookahead = if mixer.uses_lookahead() { 2 * one + 3 * representations } else { 0 };
            (1, k * one + nodes + lookahead)
        }
        ActiveMethod::Schedule(_) => (if config.train.per_task_moments { k } else { 1 }, 0),
    };
    Ok((initial.params.len() * (2 + 2 * optimizers) + method) * size_of::<Real>())
}

/// METIS keeps one graph per level of coarsening; streaming partitioning keeps a few numbers per node.
fn partition_bytes(graph: &Graph) -> usize {
    let (n, entries) = (graph.n_nodes(), graph.adjacency().n_entries());
    if entries > METIS_UP_TO { 24 * n } else { 28 * entries + 48 * n }
}

/// The peak memory of this process so far, in bytes, where the system reports it.
pub fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
