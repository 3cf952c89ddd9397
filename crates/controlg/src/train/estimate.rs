//! Predicts the memory, steps and time of a run, and adapts settings to a memory limit.

use std::fmt;
use std::time::Instant;

use serde::Serialize;

use super::memory::{self, MemoryEstimate};
use super::{Input, Training};
use crate::config::{BatchMode, Config, Recompute};
use crate::coordinator::ActiveMethod;
use crate::error::{Error, Result};
use crate::graph::Graph;

/// The estimate of a run (`--dry-run`).
#[derive(Clone, Debug, Serialize)]
pub struct RunEstimate {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of edges.
    pub edges: usize,
    /// Number of features.
    pub features: usize,
    /// Full graph or mini-batches.
    pub batch: BatchMode,
    /// Approximate number of nodes per step.
    pub batch_nodes: usize,
    /// Approximate number of nodes of a sensing.
    pub sensed_nodes: usize,
    /// Number of optimizer steps.
    pub steps: u64,
    /// Number of objective evaluations, in steps and sensings.
    pub evaluations: u64,
    /// Predicted memory by purpose, in bytes.
    pub memory: MemoryEstimate,
    /// Predicted peak memory, in bytes.
    pub memory_bytes: u64,
    /// Measured seconds of preparation before the first step.
    pub preparing: f64,
    /// Measured seconds per step, the mean over the objectives.
    pub step: f64,
    /// Measured seconds per sensing; `None` for a method that does not sense.
    pub sensing: Option<f64>,
    /// Predicted seconds of the run, without writing the embeddings.
    pub seconds: f64,
}

impl RunEstimate {
    /// Predicts the memory, then prepares the run and times two steps per objective and one sensing.
    pub fn new(graph: &Graph, config: &Config) -> Result<RunEstimate> {
        let memory = memory::need(graph, config)?;
        let start = Instant::now();
        let input = Input::new(graph, config)?;
        let mut training = Training::new(&input, config)?;
        let preparing = start.elapsed().as_secs_f64();
        let model = training.model_mut();
        let k = config.objectives.len();
        let mut step = 0.0;
        for at in 0..2 * k {
            let start = Instant::now();
            model.step(at % k, at as u64)?;
            step += if at < k { 0.0 } else { start.elapsed().as_secs_f64() / k as f64 };
        }
        let start = Instant::now();
        let sensings = config.sensings();
        let sensing = match sensings {
            0 => None,
            _ => {
                model.measure(0)?;
                Some(start.elapsed().as_secs_f64())
            }
        };
        let batch = config.train.batch.on(graph.n_nodes());
        let (steps, n) = (config.total_steps(), graph.n_nodes());
        // A mixing method steps on all objectives at once, and may run a weight search first.
        let (per_step, trial) = match config.build_method()? {
            ActiveMethod::Mix(mixer) => {
                (k as f64, mixer.weight_search().map_or(0, |trial| trial.total_steps()))
            }
            ActiveMethod::Schedule(_) => (1.0, 0),
        };
        let all_steps = steps.saturating_add(trial) as f64;
        Ok(RunEstimate {
            nodes: n,
            edges: graph.n_edges(),
            features: graph.n_features(),
            batch,
            batch_nodes: if batch == BatchMode::Full { n } else { config.train.batch_nodes.min(n) },
            sensed_nodes: input.probe.as_ref().map_or(n, |probe| probe.graph.n_nodes()),
            steps,
            evaluations: config.evaluations(),
            memory_bytes: memory.total(),
            memory,
            preparing,
            step: step * per_step,
            sensing,
            seconds: preparing + all_steps * step * per_step + sensings as f64 * sensing.unwrap_or(0.0),
        })
    }
}

impl fmt::Display for RunEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunEstimate { nodes, edges, features, memory, .. } = self;
        let seen = match self.batch {
            BatchMode::Full | BatchMode::Auto => "the whole graph".to_owned(),
            BatchMode::Cluster => format!("METIS clusters, about {} nodes", self.batch_nodes),
            BatchMode::Neighbor => format!("sampled neighborhoods, up to {} nodes", self.batch_nodes),
        };
        writeln!(f, "graph:   {nodes} nodes, {edges} edges, {features} features")?;
        writeln!(f, "step:    {seen}; sensing on {} nodes", self.sensed_nodes)?;
        writeln!(f, "memory:  about {}", size(self.memory_bytes))?;
        for (name, bytes) in [
            ("program", memory.program),
            ("graph", memory.graph),
            ("prepared", memory.prepared),
            ("parameters", memory.parameters),
            ("passes", memory.passes),
            ("partitioning, before the first step", memory.cutting),
        ] {
            writeln!(f, "         {:>9}  {name}", size(bytes))?;
        }
        writeln!(f, "steps:   {}, {} objective evaluations", self.steps, self.evaluations)?;
        let sensing = self.sensing.map(|s| format!(", {s:.3} s per sensing")).unwrap_or_default();
        write!(
            f,
            "time:    about {:.0} s without writing embeddings: {:.1} s to prepare, {:.4} s per step{sensing} (measured on \
             two steps of each objective)",
            self.seconds, self.preparing, self.step
        )
    }
}

/// The smallest mini-batch that a memory limit leads to.
const MIN_BATCH_NODES: usize = 512;

/// Adapts settings to a memory limit in bytes. Keeps them if they fit; else turns on gradient checkpointing, which changes
/// no result; else uses the largest mini-batches that fit. Reports how much memory is needed if none do.
pub fn within(graph: &Graph, config: &Config, limit: u64) -> Result<Config> {
    let mut least = (memory::need(graph, config)?, config.clone());
    // Whether settings fit. The smallest so far are remembered for the error message.
    let mut fits = |config: &Config| -> Result<bool> {
        let need = memory::need(graph, config)?;
        if need.total() < least.0.total() {
            least = (need, config.clone());
        }
        Ok(least.0.total() <= limit)
    };
    if fits(config)? {
        return Ok(config.clone());
    }
    let mut smaller = config.clone();
    if smaller.train.recompute == Recompute::Auto {
        smaller.train.recompute = Recompute::Always;
        if fits(&smaller)? {
            return Ok(smaller);
        }
    }
    if smaller.train.batch == BatchMode::Auto {
        smaller.train.batch = BatchMode::Cluster;
    }
    if smaller.train.batch != BatchMode::Full {
        let wanted = config.train.batch_nodes.min(graph.n_nodes());
        let halves =
            std::iter::successors(Some(wanted), |nodes| (nodes / 2 >= MIN_BATCH_NODES).then_some(nodes / 2));
        for nodes in halves {
            for probe in [config.sense.probe_nodes, 2 * nodes] {
                smaller.train.batch_nodes = nodes.max(64);
                smaller.sense.probe_nodes = probe.min(config.sense.probe_nodes);
                if fits(&smaller)? {
                    return Ok(smaller);
                }
            }
        }
    }
    let (least, nearest) = least;
    let with = match nearest.train.batch.on(graph.n_nodes()) {
        _ if config.train.batch == BatchMode::Full => "train.batch = full".to_owned(),
        BatchMode::Full => "full-graph steps".to_owned(),
        _ => format!("steps of {} nodes", nearest.train.batch_nodes),
    };
    let mut expected = format!("at least {} with {with}", size(least.total()));
    if graph.stored_features().is_none() && 2 * least.graph > limit {
        expected += &format!(
            ", of which the graph takes {}; `controlg data convert --to binary` keeps its features on disk",
            size(least.graph)
        );
    }
    Err(Error::value("--memory", size(limit), expected))
}

/// Bytes as text, in MB or GB.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
