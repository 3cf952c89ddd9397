//! Predicts how much memory a run needs, before it starts.

use serde::Serialize;

use super::batch::BatchLoader;
use super::model::init::InitialModel;
use super::model::{ExtraPasses, Model, ModelSpec};
use super::normalization::{Normalization, column_scale, normalized_graph};
use super::quality::{QualitySample, measures_probe};
use super::readout::EmbeddingReadout;
use crate::Real;
use crate::config::{BatchMode, Config, EdgeScope, FeatureNormalization};
use crate::coordinator::ActiveMethod;
use crate::data::arrays;
use crate::encoder::InputDims;
use crate::error::Result;
use crate::graph::partition::METIS_UP_TO;
use crate::graph::{Dense, Features, Graph, Subgraph};
use crate::kernels;
pub use crate::kernels::allocator::ReusingAllocator;
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
    /// A second model during a search for weights, before the first step.
    pub search: u64,
    /// Computing and writing the embeddings, after the last step.
    pub embedding: u64,
    /// Partitioning the graph, before the first step.
    pub cutting: u64,
}

impl MemoryEstimate {
    /// The peak: partitioning, training and embedding follow each other.
    pub fn total(&self) -> u64 {
        let model = self.prepared + self.parameters;
        let most = self.cutting.max(model + self.passes + self.search).max(model + self.embedding);
        self.program + self.graph + most
    }
}

/// Code, stacks and small allocations.
const PROGRAM: usize = 16 << 20;

/// Working memory of matrix products, per thread.
const PER_THREAD: usize = 3 << 20;

/// Size of the largest mini-batch of clusters relative to the mean.
const LARGEST_BATCH: f64 = 1.1;

/// Pieces of a subgraph that stands for a mini-batch.
const BALLS: usize = 8;

/// Predicts the memory of a run on a graph.
///
/// Runs every objective's step, and the sensing if the method senses, without numbers (see
/// [`Pool::shape_only`](crate::tensor::Pool::shape_only)): objectives and encoders need not know their memory.
pub fn need(graph: &Graph, config: &Config) -> Result<MemoryEstimate> {
    let initial = InitialModel::new(config, InputDims::of(graph));
    let batch = config.train.batch.on(graph.n_nodes());
    let whole = batch == BatchMode::Full;
    let normalize = Normalization::of(config.normalize, graph)?.how;
    // Balls of nodes stand for any mini-batch of their size.
    let subgraph = |nodes: usize| -> Result<Subgraph> {
        let mut stream = Stream::new(config.seed, "sense", "probe", 0);
        let part = Subgraph::balls(graph, nodes, BALLS, &mut stream)?;
        let graph = normalized_shape(part.graph, normalize)?;
        Ok(Subgraph { graph, ..part })
    };
    let probed = !whole || graph.n_nodes() > config.sense.whole_up_to;
    let probe: Option<Subgraph> = probed.then(|| subgraph(config.sense.probe_nodes)).transpose()?;
    let largest = if batch == BatchMode::Cluster { LARGEST_BATCH } else { 1.0 };
    let largest = (largest * config.train.batch_nodes as f64) as usize;
    let step: Option<Subgraph> = (!whole).then(|| subgraph(largest)).transpose()?;
    let seen = if whole { normalized_shape(graph.resident()?, normalize)? } else { graph.clone() };

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
    let parameters = parameter_bytes(&initial, config, encoded)?;
    let (passes, embedding) = pass_bytes(&seen, probe.as_ref(), loader, config)?;
    if config.train.quality && config.total_steps() > 0 {
        let probe = probe.as_ref().filter(|_| measures_probe(&seen, config));
        let measured = probe.map_or(&seen, |probe| &probe.graph);
        // Beside the buffers of the steps, which are kept between them.
        prepared += QualitySample::bytes(measured) + quality_bytes(measured, &initial, config)?;
    }
    Ok(MemoryEstimate {
        program: (PROGRAM + PER_THREAD * rayon::current_num_threads()) as u64,
        graph: graph_bytes(graph, config, normalize, whole) as u64,
        prepared: prepared as u64,
        parameters: parameters as u64,
        passes: passes as u64,
        search: search_bytes(&initial, config, prepared)? as u64,
        embedding: embedding as u64,
        cutting: if cuts { partition_bytes(graph) as u64 } else { 0 },
    })
}

/// The peak of all buffers of the forward and backward passes, and that of computing and writing the embeddings.
fn pass_bytes<'g>(
    graph: &'g Graph,
    probe: Option<&'g Subgraph>,
    loader: Option<BatchLoader<'g>>,
    config: &Config,
) -> Result<(usize, usize)> {
    let method = config.build_method()?;
    let spec = ModelSpec::from_config(config, &method);
    let extra = match &method {
        ActiveMethod::Mix(mixer) => ExtraPasses {
            embeds: mixer.needs().nodes || mixer.uses_lookahead(),
            looks_ahead: mixer.uses_lookahead(),
            ..ExtraPasses::default()
        },
        ActiveMethod::Schedule(coordinator) => ExtraPasses {
            senses: coordinator.needs_warm_up() || coordinator.needs_reading(),
            senses_held_out: coordinator.needs_held_out(),
            // A warm-up trains the objectives in their order first.
            any_order: !coordinator.needs_warm_up(),
            ..ExtraPasses::default()
        },
    };
    let mut model = Model::shape_only(graph, probe, loader, spec)?;
    let embedding = model.embed_bytes(&config.embed, writing_bytes(graph, config));
    let steps = if config.total_steps() > 0 { model.peak_step_bytes(extra)? } else { 0 };
    // Buffers of many sizes fragment the heap.
    Ok([steps, embedding].map(|bytes| bytes + bytes / FRAGMENTS).into())
}

/// Bytes for measuring the quality of the embeddings of a graph: its input to the encoder is made for each measurement.
fn quality_bytes(graph: &Graph, initial: &InitialModel, config: &Config) -> Result<usize> {
    let spec =
        ModelSpec { objectives: Vec::new(), ..ModelSpec::from_config(config, &config.build_method()?) };
    let model = Model::shape_only(graph, None, None, spec)?;
    let passes = model.embed_bytes(&config.embed, 0);
    Ok(passes + passes / FRAGMENTS + prepared_bytes(graph, &[]) + initial.encoder.width() * PER_COLUMN)
}

/// Bytes per column of the embeddings for the rows that are clustered: a copy of each, centers and their sums.
const PER_COLUMN: usize = 3 * 2048 * size_of::<Real>();

/// One of so many bytes of the heap is lost between blocks.
const FRAGMENTS: usize = 12;

/// The second model of a weight search: the first one holds its parameters and gradients meanwhile.
fn search_bytes(initial: &InitialModel, config: &Config, prepared: usize) -> Result<usize> {
    let ActiveMethod::Mix(mixer) = config.build_method()? else { return Ok(0) };
    let gradients = initial.objectives.len() * initial.params.groups()[0].data().len();
    let model = (initial.params.len() + gradients) * size_of::<Real>();
    Ok(if mixer.weight_search().is_some() { prepared + model } else { 0 })
}

/// A row group of the Parquet file and buffers of both files.
fn writing_bytes(graph: &Graph, config: &Config) -> usize {
    let rows = graph.n_nodes().min(arrays::ROW_GROUP);
    let width = EmbeddingReadout::new(graph, &*config.encoder, &config.embed).width();
    rows * width * size_of::<f32>() + (4 << 20)
}

/// The graph with features of the kind that training sees. Scaling columns makes sparse features dense; their values are
/// left zero, so that the system does not back them with memory.
fn normalized_shape(graph: Graph, normalize: FeatureNormalization) -> Result<Graph> {
    match (normalize, graph.features()) {
        (FeatureNormalization::Columns, _) if graph.has_blocks() => {
            let scale = column_scale(&graph, normalize)?;
            normalized_graph(graph, normalize, scale.as_ref())
        }
        (FeatureNormalization::Columns, Features::Sparse(x)) => {
            let dense = Dense::from_parts(x.n_rows(), x.n_cols(), vec![0.0; x.n_rows() * x.n_cols()]);
            graph.with_features(Features::Dense(dense))
        }
        _ => Ok(graph),
    }
}

/// The graph as read, and what the one trained on does not share with it.
fn graph_bytes(graph: &Graph, config: &Config, normalize: FeatureNormalization, whole: bool) -> usize {
    let in_memory = graph.stored_features().is_none();
    let dense = graph.n_nodes() * graph.n_features() * size_of::<Real>();
    let features = if in_memory { graph.features().memory_bytes() } else { 0 };
    let read_in = if in_memory || !whole { 0 } else { dense };
    let normalized = match normalize {
        _ if !in_memory && !whole => 0,
        FeatureNormalization::None | FeatureNormalization::Auto => 0,
        FeatureNormalization::Rows => features.max(read_in),
        // Blocks stay sparse matrices, with an index per number.
        FeatureNormalization::Columns if graph.has_blocks() => 2 * block_numbers(graph) * size_of::<Real>(),
        FeatureNormalization::Columns => dense,
    };
    let edges = if config.edges == EdgeScope::Train { graph.adjacency().memory_bytes() } else { 0 };
    graph.memory_bytes() + read_in + normalized + edges
}

/// Numbers in the blocks of all node types, zeros included.
fn block_numbers(graph: &Graph) -> usize {
    let Some(relations) = graph.relations() else { return 0 };
    let types = relations.schema().types().iter().enumerate();
    types.map(|(at, node_type)| relations.nodes(at).len() * node_type.columns.len()).sum()
}

/// What is prepared once for passes on a graph: its operator and those with edges dropped, the transpose of sparse
/// features or the smoothed dense ones, what the objectives keep.
fn prepared_bytes(graph: &Graph, objectives: &[Box<dyn Objective>]) -> usize {
    let (n, entries) = (graph.n_nodes(), graph.adjacency().n_entries());
    let entry = size_of::<u32>() + size_of::<Real>();
    let operator = match graph.relations() {
        // The means in every direction and their transpose, and a Laplacian per relation.
        Some(relations) => {
            let laplacians =
                relations.schema().relations().len() * n * (size_of::<usize>() + size_of::<f64>());
            3 * relations.n_messages() * entry + 3 * n * size_of::<usize>() + laplacians
        }
        None => (entries + n) * entry + n * size_of::<usize>(),
    };
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
    // Gradients and moments that are never written take no memory.
    let copies = if config.total_steps() > 0 { 2 + 2 * optimizers } else { 1 };
    let shards = shard_numbers(initial, config.train.shards);
    Ok((initial.params.len() * copies + method + shards) * size_of::<Real>())
}

/// Numbers kept while the gradients of the shards of a step are summed: one gradient per level of the tree, and those that
/// ranks exchange.
fn shard_numbers(initial: &InitialModel, shards: usize) -> usize {
    const EXCHANGED: usize = 4;
    let groups = initial.params.groups();
    let head = groups.iter().skip(1).map(|group| group.data().len()).max().unwrap_or(0);
    let levels = shards.next_power_of_two().ilog2() as usize;
    if shards > 1 { (levels + 1 + EXCHANGED) * (groups[0].data().len() + head) } else { 0 }
}

/// METIS keeps one graph per level of coarsening; streaming partitioning keeps a few numbers per node.
fn partition_bytes(graph: &Graph) -> usize {
    let (n, entries) = (graph.n_nodes(), graph.adjacency().n_entries());
    if entries > METIS_UP_TO { 24 * n } else { 28 * entries + 48 * n }
}

/// Makes the allocator of this process return freed memory to the system at once, as predictions assume. For programs, at
/// their start, together with [`ReusingAllocator`]; a library leaves the allocator of its process alone.
pub fn return_freed_blocks() {
    kernels::allocator::return_freed_blocks();
}

/// Free memory of the machine in bytes, where the system reports it.
pub fn available() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemAvailable:")
}

/// Bytes as text, in MB or GB.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// The peak memory of this process so far, in bytes, where the system reports it.
pub fn peak() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// A number of kilobytes in a file of the Linux kernel, in bytes.
fn kilobytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
