//! How good embeddings are, by protocols that are spelled out with every number.
//!
//! Three tasks, each a plain function from embeddings to a [`Score`]: [`evaluate_nc`] classifies nodes with a linear
//! probe, [`evaluate_lp`] foretells edges with a logistic decoder, [`evaluate_cluster`] runs K-means. Embeddings are
//! [`Features`], dense or sparse, so that the [`floors`] are judged in the same way as anybody's embeddings. All of it
//! depends on the embeddings and the split alone, never on the number of threads.
//!
//! [`stats`] and [`ranks`] sum up many scores, and [`paper`] holds the published ones.

mod adam_es;
mod check;
mod design;
pub mod floors;
pub mod kmeans;
pub mod lbfgs;
mod link;
mod logistic;
pub mod metrics;
mod normalize;
pub mod paper;
mod probe;
pub mod ranks;
mod score;
pub mod stats;
mod task;

pub use adam_es::{DECAYS, EPOCHS};
pub use logistic::PENALTIES;
pub use normalize::EmbeddingNormalization;
pub use probe::{Probe, ProbeSettings};
pub use score::Score;
pub use task::Task;

use std::time::Instant;

use crate::data::{EdgeSplit, Labels, Split};
use crate::error::{Error, Result};
use crate::files::hex;
use crate::graph::{Features, Graph};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Random states of K-means whose mean counts.
pub const KMEANS_STATES: u64 = 5;

/// Node classification: the mean test accuracy of the probe over the splits, all of one protocol.
pub fn evaluate_nc(
    embeddings: &Features,
    labels: &Labels,
    splits: &[Split],
    settings: &ProbeSettings,
) -> Result<Score> {
    let begun = Instant::now();
    check::embeddings(embeddings, labels.classes().len())?;
    let Some(first) = splits.first() else {
        return Err(Error::value("node classification", "no split", "at least one split of the nodes"));
    };
    if let Some(other) = splits.iter().find(|split| split.protocol != first.protocol) {
        let found = format_args!("splits of {} and of {}", first.protocol, other.protocol);
        return Err(Error::value("node classification", found, "one protocol"));
    }
    let shared = (settings.normalize != EmbeddingNormalization::Zscore)
        .then(|| settings.normalize.apply(embeddings, &first.train));
    let judge = |split: &Split| match &shared {
        Some(shared) => probe::judge(shared, labels, split, settings),
        None => probe::judge(&settings.normalize.apply(embeddings, &split.train), labels, split, settings),
    };
    let judged = splits.iter().map(judge).collect::<Result<Vec<_>>>()?;

    let percent =
        |of: fn(&probe::Judgment) -> f64| judged.iter().map(|j| 100.0 * of(j)).collect::<Vec<f64>>();
    let test = percent(|j| j.test);
    let chosen = match settings.probe {
        Probe::Lbfgs => "penalties",
        Probe::AdamEs => "decays",
    };
    let score = new_score(&test, &first.protocol, settings.normalize.name(), settings.probe.name())
        .with("splits", splits.len())
        .with("split0", test[0])
        .with("validation", stats::mean(&percent(|j| j.val)))
        .with("macro_f1", stats::mean(&percent(|j| j.macro_f1)))
        .with(chosen, judged.iter().map(|j| j.chosen).collect::<Vec<f64>>())
        .with("unfinished_fits", judged.iter().map(|j| j.exhausted).sum::<usize>());
    Ok(Score { split_hash: Some(hash_of(splits)), seconds: begun.elapsed().as_secs_f64(), ..score })
}

/// Link prediction: the area under the ROC curve on the test pairs. The embeddings must come from a run that saw
/// the training edges alone; whoever calls this knows.
pub fn evaluate_lp(embeddings: &Features, graph: &Graph, split: &EdgeSplit) -> Result<Score> {
    let begun = Instant::now();
    check::embeddings(embeddings, graph.n_nodes())?;
    let judged = link::judge(embeddings, split)?;
    let score = new_score(&[100.0 * judged.test], EdgeSplit::PROTOCOL, "l2", "logistic-hadamard")
        .with("validation", 100.0 * judged.val)
        .with("average_precision", 100.0 * judged.average_precision)
        .with("penalty", judged.chosen)
        .with("unfinished_fits", judged.exhausted)
        .with("split_seed", split.seed);
    Ok(Score { split_hash: Some(split.hash()), seconds: begun.elapsed().as_secs_f64(), ..score })
}

/// Clustering: the mean NMI over the random states of K-means, with as many clusters as classes, on the labeled
/// nodes. Modularity and conductance are those of the clusters in the graph between these nodes.
pub fn evaluate_cluster(embeddings: &Features, labels: &Labels, graph: &Graph) -> Result<Score> {
    let begun = Instant::now();
    check::embeddings(embeddings, labels.classes().len())?;
    let nodes: Vec<u32> =
        (0..labels.classes().len() as u32).filter(|&n| labels.get(n as usize).is_some()).collect();
    let truth: Vec<u32> = nodes.iter().map(|&node| labels.classes()[node as usize]).collect();
    let mut present = truth.clone();
    present.sort_unstable();
    present.dedup();
    if present.len() < 2 {
        let found = format_args!("{} classes among the labels", present.len());
        return Err(Error::value("clustering", found, "at least two"));
    }
    let unit = normalize::unit_rows(embeddings);
    let points = if nodes.len() == unit.n_rows() { unit } else { normalize::chosen_rows(&unit, &nodes) };
    let settings = kmeans::KMeansSettings::default();
    let states = (0..KMEANS_STATES).map(|state| kmeans::cluster(&points, present.len(), state, &settings));
    let states = states.collect::<Result<Vec<_>>>()?;

    let each = |of: fn(&[u32], &[u32]) -> f64| {
        states.iter().map(|found| 100.0 * of(&found.parts, &truth)).collect::<Vec<f64>>()
    };
    let nmi = each(metrics::mutual_information);
    let of_graph = |of: fn(&Graph, &[u32]) -> f64| {
        let parts = |found: &kmeans::Clusters| {
            let mut parts = vec![metrics::OUTSIDE; graph.n_nodes()];
            nodes.iter().zip(&found.parts).for_each(|(&node, &part)| parts[node as usize] = part);
            parts
        };
        stats::mean(&states.iter().map(|found| of(graph, &parts(found))).collect::<Vec<f64>>())
    };
    let inertias: Vec<f64> = states.iter().map(|found| found.inertia).collect();
    let score = new_score(&nmi, "kmeans-k", "l2", "kmeans")
        .with("clusters", present.len())
        .with("random_states", states.len())
        .with("starts", settings.starts)
        .with("ari", stats::mean(&each(metrics::adjusted_rand)))
        .with("accuracy", stats::mean(&each(metrics::matched_accuracy)))
        .with("modularity", of_graph(metrics::modularity))
        .with("conductance", of_graph(metrics::conductance))
        .with("inertia", stats::mean(&inertias));
    Ok(Score { seconds: begun.elapsed().as_secs_f64(), ..score })
}

fn new_score(values: &[f64], protocol: &str, embedding: &str, probe: &str) -> Score {
    Score {
        value: stats::mean(values),
        std: stats::sample_std(values),
        protocol: protocol.to_owned(),
        split_hash: None,
        embedding: embedding.to_owned(),
        probe: probe.to_owned(),
        more: Map::<String, Value>::new(),
        seconds: 0.0,
    }
}

/// The hash of one split, or of the hashes of several, each on a line of its own.
fn hash_of(splits: &[Split]) -> String {
    if let [split] = splits {
        return split.hash();
    }
    let mut hash = Sha256::new();
    splits.iter().for_each(|split| hash.update(format!("{}\n", split.hash())));
    hex(hash.finalize())
}
