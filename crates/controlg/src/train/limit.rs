//! Adapts settings to a memory limit.

use super::memory::{self, MemoryEstimate, size};
use crate::config::{BatchMode, Config, Recompute};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::objective::AuxNetwork;

/// The smallest mini-batch that a memory limit leads to.
const MIN_BATCH_NODES: usize = 512;

/// Adapts settings to a memory limit in bytes. Keeps them if they fit; else leaves out the measures of quality and turns on
/// gradient checkpointing, which change no result; else uses the largest mini-batches that fit. Reports how much memory is
/// needed if none do.
pub fn within(graph: &Graph, config: &Config, limit: u64) -> Result<Config> {
    let mut least: Option<(MemoryEstimate, Config)> = None;
    for candidate in candidates(graph, config).into_iter().flat_map(with_and_without_quality) {
        let need = memory::need(graph, &candidate)?;
        if need.total() <= limit {
            return Ok(candidate);
        }
        if least.as_ref().is_none_or(|(least, _)| need.total() < least.total()) {
            least = Some((need, candidate));
        }
    }
    match least {
        Some((need, candidate)) => Err(refusal(graph, config, limit, &need, &candidate)),
        None => Ok(config.clone()),
    }
}

/// The settings, and the same without measuring quality after each epoch.
fn with_and_without_quality(with: Config) -> impl Iterator<Item = Config> {
    let mut without = with.clone();
    without.train.quality = false;
    let without = with.train.quality.then_some(without);
    std::iter::once(with).chain(without)
}

/// The settings to try, from the given ones to the smallest mini-batches.
fn candidates(graph: &Graph, config: &Config) -> Vec<Config> {
    let mut candidates = vec![config.clone()];
    let mut smaller = config.clone();
    if smaller.train.recompute == Recompute::Auto {
        smaller.train.recompute = Recompute::Always;
        candidates.push(smaller.clone());
    }
    if smaller.train.batch == BatchMode::Auto {
        smaller.train.batch = BatchMode::Cluster;
    }
    if smaller.train.batch == BatchMode::Full || needs_whole_graph(config).is_some() {
        return candidates;
    }
    let wanted = config.train.batch_nodes.min(graph.n_nodes());
    let halves =
        std::iter::successors(Some(wanted), |nodes| (nodes / 2 >= MIN_BATCH_NODES).then_some(nodes / 2));
    for nodes in halves {
        for probe in [config.sense.probe_nodes, 2 * nodes] {
            smaller.train.batch_nodes = nodes.max(64);
            smaller.sense.probe_nodes = probe.min(config.sense.probe_nodes);
            candidates.push(smaller.clone());
        }
    }
    candidates.dedup();
    candidates
}

/// The objective that cannot be trained in mini-batches, if there is one.
pub(super) fn needs_whole_graph(config: &Config) -> Option<&str> {
    let whole = |name: &&String| config.objective[*name].aux_network() == Some(AuxNetwork::Trained);
    config.objectives.iter().find(whole).map(String::as_str)
}

/// The error that says how much memory the smallest of the settings needs.
fn refusal(graph: &Graph, config: &Config, limit: u64, need: &MemoryEstimate, nearest: &Config) -> Error {
    let with = match (nearest.train.batch.on(graph.n_nodes()), needs_whole_graph(config)) {
        (_, Some(name)) => format!("full-graph steps, which {name} requires"),
        _ if config.train.batch == BatchMode::Full => "train.batch = full".to_owned(),
        (BatchMode::Full, _) => "full-graph steps".to_owned(),
        _ => format!("steps of {} nodes", nearest.train.batch_nodes),
    };
    let mut expected = format!("at least {} with {with}", size(need.total()));
    if graph.stored_features().is_none() && 2 * need.graph > limit {
        expected += &format!(
            ", of which the graph takes {}; `controlg data convert --to binary` keeps its features on disk",
            size(need.graph)
        );
    }
    Error::value("--memory", size(limit), expected)
}
