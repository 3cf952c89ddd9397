//! Times of a run's preparation, steps and sensing, measured on the graph or, if it is large, on a part of it.

use std::time::Instant;

use super::batch::BatchLoader;
use super::{Input, Training};
use crate::config::{BatchMode, Config, EdgeScope};
use crate::error::Result;
use crate::graph::{Graph, Subgraph};
use crate::rng::Stream;

/// Measured seconds.
#[derive(Clone, Debug)]
pub(super) struct MeasuredTimes {
    /// Preparation before the first step, without the clusters of mini-batches.
    pub(super) preparing: f64,
    /// Partitioning the graph into the clusters of mini-batches.
    pub(super) cutting: f64,
    /// A step on one objective on the whole graph, the mean over the objectives.
    pub(super) whole_step: f64,
    /// A sensing on the whole graph.
    pub(super) whole_sensing: Option<f64>,
    /// Seconds per step or sensing on a subgraph, relative to the whole graph and per node.
    per_node: f64,
    /// Nodes of the part that was measured; `None` for the whole graph.
    pub(super) part: Option<usize>,
}

/// Larger graphs are measured on a part.
const WHOLE_NODES: usize = 16_384;
const WHOLE_ENTRIES: usize = 1 << 20;
/// Nodes of the part, and its pieces.
const PART_NODES: usize = 4096;
const PIECES: usize = 8;
/// After this many seconds, no more steps are measured than needed.
const ENOUGH: f64 = 2.0;

impl MeasuredTimes {
    /// Prepares a run with full-graph steps, times at most two steps per objective and one sensing.
    pub(super) fn new(graph: &Graph, config: &Config) -> Result<MeasuredTimes> {
        let (n, entries) = (graph.n_nodes(), graph.adjacency().n_entries());
        let is_part = n > WHOLE_NODES || entries > WHOLE_ENTRIES;
        let part = match is_part {
            true => {
                Subgraph::balls(
                    graph,
                    PART_NODES,
                    PIECES,
                    &mut Stream::new(config.seed, "estimate", "part", 0),
                )?
                .graph
            }
            false => graph.clone(),
        };
        let config = &full_batch(config, part.n_nodes(), is_part);
        let start = Instant::now();
        let input = Input::new(&part, config)?;
        let mut training = Training::new(&input, config)?;
        let preparing = start.elapsed().as_secs_f64();
        let step = step_seconds(&mut training, start)?;
        let start = Instant::now();
        let sensing = match config.sensings() {
            0 => None,
            _ => {
                training.model_mut().measure(0)?;
                Some(start.elapsed().as_secs_f64())
            }
        };
        let cutting = cutting_seconds(&part, config)?;
        let size = |graph: &Graph| work(graph.n_nodes(), graph.adjacency().n_entries(), config);
        let (larger, longer) =
            (size(graph) / size(&part), entries as f64 / part.adjacency().n_entries().max(1) as f64);
        Ok(MeasuredTimes {
            preparing: preparing * larger.max(longer),
            cutting: cutting * longer,
            whole_step: step * larger,
            whole_sensing: sensing.map(|seconds| seconds * larger),
            per_node: 1.0 / (larger * part.n_nodes().max(1) as f64),
            part: is_part.then_some(part.n_nodes()),
        })
    }

    /// The seconds of something on a subgraph, given those on the whole graph.
    pub(super) fn on_nodes(&self, whole: f64, nodes: usize) -> f64 {
        whole * self.per_node * nodes as f64
    }
}

/// The settings for a measurement with full-graph steps.
fn full_batch(config: &Config, nodes: usize, is_part: bool) -> Config {
    let mut config = config.clone();
    config.train.batch = BatchMode::Full;
    config.train.shards = 1;
    config.sense.whole_up_to = nodes;
    if is_part {
        config.edges = EdgeScope::All;
    }
    config
}

/// The mean over the objectives of the seconds of one step. The first step of each allocates its buffers, so the second
/// one counts if there is time for it.
fn step_seconds(training: &mut Training<'_>, start: Instant) -> Result<f64> {
    let model = training.model_mut();
    let k = model.names().len();
    let mut seconds = vec![0.0; k];
    for at in 0..2 * k {
        if at >= k && start.elapsed().as_secs_f64() > ENOUGH {
            break;
        }
        let step = Instant::now();
        model.step(at % k, at as u64)?;
        seconds[at % k] = step.elapsed().as_secs_f64();
    }
    Ok(seconds.iter().sum::<f64>() / k as f64)
}

/// The seconds for partitioning a graph into clusters.
fn cutting_seconds(graph: &Graph, config: &Config) -> Result<f64> {
    let mut config = config.clone();
    config.train.batch = BatchMode::Cluster;
    config.train.batch_nodes = config.train.batch_nodes.min(graph.n_nodes());
    let start = Instant::now();
    BatchLoader::new(graph, &config)?;
    Ok(start.elapsed().as_secs_f64())
}

/// The work of a step in arbitrary units: products with weights for every node, one row per adjacency entry.
fn work(nodes: usize, entries: usize, config: &Config) -> f64 {
    // An entry reads a row from memory, which takes as long as a few products.
    const ROW: f64 = 8.0;
    nodes as f64 * config.encoder.width() as f64 + ROW * entries as f64
}
