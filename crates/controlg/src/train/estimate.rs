//! Predicts the memory, steps and time of a run (`--dry-run`).

use std::fmt;

use serde::Serialize;

use super::limit::{needs_whole_graph, within};
use super::memory::{self, MemoryEstimate, size};
use super::timing::MeasuredTimes;
use crate::config::{BatchMode, Config};
use crate::coordinator::ActiveMethod;
use crate::error::Result;
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
    /// Free memory of the machine in bytes, if the system reports it.
    pub available_bytes: Option<u64>,
    /// Nodes of the part of the graph on which times were measured; `None` for the whole graph.
    pub measured_nodes: Option<usize>,
    /// Seconds of preparation before the first step.
    pub preparing: f64,
    /// Seconds per step, the mean over the objectives.
    pub step: f64,
    /// Seconds per sensing; `None` for a method that does not sense.
    pub sensing: Option<f64>,
    /// Predicted seconds of the run, without writing the embeddings.
    pub seconds: f64,
    /// Ways to need less memory or time, if full-graph steps need much.
    pub proposals: Vec<Proposal>,
}

/// Options that need less memory or time.
#[derive(Clone, Debug, Serialize)]
pub struct Proposal {
    /// The options of `controlg pretrain`.
    pub options: String,
    /// Approximate number of nodes per step.
    pub batch_nodes: usize,
    /// Predicted peak memory, in bytes.
    pub memory_bytes: u64,
    /// Predicted seconds of the run.
    pub seconds: f64,
}

/// Full-graph training that needs more bytes or seconds gets proposals.
const MUCH_MEMORY: u64 = 1_000_000_000;
const MUCH_TIME: f64 = 300.0;

impl RunEstimate {
    /// Predicts the memory from a pass over shapes, and the time from a few steps on the graph or on a part of it.
    pub fn new(graph: &Graph, config: &Config) -> Result<RunEstimate> {
        config.train.shards_on(graph.n_nodes())?;
        let memory = memory::need(graph, config)?;
        let times = MeasuredTimes::new(graph, config)?;
        let schedule = PlannedTimes::of(graph, config, &times)?;
        let n = graph.n_nodes();
        let mut estimate = RunEstimate {
            nodes: n,
            edges: graph.n_edges(),
            features: graph.n_features(),
            batch: config.train.batch.on(n),
            batch_nodes: schedule.batch_nodes,
            sensed_nodes: schedule.sensed_nodes,
            steps: config.total_steps(),
            evaluations: config.evaluations_on(n),
            memory_bytes: memory.total(),
            memory,
            available_bytes: memory::available(),
            measured_nodes: times.part,
            preparing: schedule.preparing,
            step: schedule.step,
            sensing: schedule.sensing,
            seconds: schedule.seconds,
            proposals: Vec::new(),
        };
        if estimate.needs_much() && needs_whole_graph(config).is_none() {
            estimate.proposals = proposals(graph, config, &times)?;
        }
        Ok(estimate)
    }

    fn needs_much(&self) -> bool {
        let more_than_free = self.available_bytes.is_some_and(|free| self.memory_bytes > free);
        self.batch == BatchMode::Full
            && (self.memory_bytes > MUCH_MEMORY || self.seconds > MUCH_TIME || more_than_free)
    }
}

/// The times of a run with some settings, in seconds.
struct PlannedTimes {
    batch_nodes: usize,
    sensed_nodes: usize,
    preparing: f64,
    step: f64,
    sensing: Option<f64>,
    seconds: f64,
}

impl PlannedTimes {
    fn of(graph: &Graph, config: &Config, times: &MeasuredTimes) -> Result<PlannedTimes> {
        let (n, batch) = (graph.n_nodes(), config.train.batch.on(graph.n_nodes()));
        let whole = batch == BatchMode::Full;
        let batch_nodes = if whole { n } else { config.train.batch_nodes.min(n) };
        let probed = !whole || n > config.sense.whole_up_to;
        let sensed_nodes = if probed { config.sense.probe_nodes.min(n) } else { n };
        let on =
            |seconds: f64, nodes: usize| if nodes == n { seconds } else { times.on_nodes(seconds, nodes) };
        // A mixing method steps on all objectives at once, and may run a weight search first.
        let (per_step, trial) = match config.build_method()? {
            ActiveMethod::Mix(mixer) => {
                (config.objectives.len(), mixer.weight_search().map_or(0, |trial| trial.total_steps()))
            }
            ActiveMethod::Schedule(_) => (1, 0),
        };
        let per_step = per_step * config.train.shards;
        let step = on(times.whole_step, batch_nodes) * per_step as f64;
        let sensing = times.whole_sensing.map(|seconds| on(seconds, sensed_nodes));
        let preparing = times.preparing + if batch == BatchMode::Cluster { times.cutting } else { 0.0 };
        let steps = config.total_steps().saturating_add(trial) as f64;
        let seconds = preparing + steps * step + config.sensings() as f64 * sensing.unwrap_or(0.0);
        Ok(PlannedTimes { batch_nodes, sensed_nodes, preparing, step, sensing, seconds })
    }
}

/// Mini-batches of clusters, and the memory limit that leads to about as much memory.
fn proposals(graph: &Graph, config: &Config, times: &MeasuredTimes) -> Result<Vec<Proposal>> {
    const STEP: u64 = 50_000_000;
    let propose = |options: String, config: &Config| -> Result<Proposal> {
        let PlannedTimes { batch_nodes, seconds, .. } = PlannedTimes::of(graph, config, times)?;
        Ok(Proposal { options, batch_nodes, memory_bytes: memory::need(graph, config)?.total(), seconds })
    };
    let mut clusters = config.clone();
    clusters.train.batch = BatchMode::Cluster;
    let clusters = propose("--set train.batch=cluster".to_owned(), &clusters)?;
    let limit = clusters.memory_bytes.next_multiple_of(STEP);
    let mut free = config.clone();
    free.train.batch = BatchMode::Auto;
    let limited = within(graph, &free, limit)?;
    let limited = propose(format!("--memory {}MB", limit / 1_000_000), &limited)?;
    Ok(vec![clusters, limited])
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
        let free = self.available_bytes.filter(|&free| free < self.memory_bytes);
        let free =
            free.map(|free| format!(", more than the {} that are free", size(free))).unwrap_or_default();
        writeln!(f, "memory:  about {}{free}", size(self.memory_bytes))?;
        for (name, bytes) in [
            ("program", memory.program),
            ("graph", memory.graph),
            ("prepared", memory.prepared),
            ("parameters", memory.parameters),
            ("passes", memory.passes),
            ("weight search, before the first step", memory.search),
            ("partitioning, before the first step", memory.cutting),
            ("embedding, after the last step", memory.embedding),
        ] {
            if bytes > 0 {
                writeln!(f, "         {:>9}  {name}", size(bytes))?;
            }
        }
        writeln!(f, "steps:   {}, {} objective evaluations", self.steps, self.evaluations)?;
        let sensing = self.sensing.map(|s| format!(", {s:.3} s per sensing")).unwrap_or_default();
        let measured = match self.measured_nodes {
            Some(nodes) => format!("estimated from steps on a part of {nodes} nodes"),
            None => "measured on one or two full-graph steps of each objective".to_owned(),
        };
        write!(
            f,
            "time:    about {:.0} s without writing embeddings: {:.1} s to prepare, {:.4} s per step{sensing} ({measured})",
            self.seconds, self.preparing, self.step
        )?;
        for (at, Proposal { options, batch_nodes, memory_bytes, seconds }) in
            self.proposals.iter().enumerate()
        {
            let title = if at == 0 { "smaller:" } else { "        " };
            let memory = size(*memory_bytes);
            write!(f, "\n{title} {options}: steps of about {batch_nodes} nodes, {memory}, {seconds:.0} s")?;
        }
        Ok(())
    }
}
