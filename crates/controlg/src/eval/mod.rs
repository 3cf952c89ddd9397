//! Evaluation of embeddings.
//!
//! One function per task returns a [`Score`] with its protocol: [`evaluate_nc`] (linear probe), [`evaluate_lp`] (logistic
//! decoder on node pairs) and [`evaluate_cluster`] (K-means). Embeddings are [`Features`], dense or sparse, so the
//! [`floors`] are evaluated like any other embeddings. Scores depend only on the embeddings and the split, not on the
//! number of threads.
//!
//! [`quality`] measures embeddings without labels. [`stats`] and [`ranks`] sum up many scores, and [`paper`] holds the
//! published ones.

mod adam_es;
mod check;
mod cluster;
mod design_matrix;
pub mod floors;
pub mod kmeans;
pub mod lbfgs;
mod link;
mod logistic;
pub mod metrics;
mod metrics_file;
mod normalize;
pub mod paper;
mod probe;
pub mod quality;
pub mod ranks;
mod score;
mod sparse_product;
pub mod stats;
mod task;
pub mod wilcoxon;

pub use adam_es::{DECAYS, EPOCHS};
pub use check::{missing_classes, split as check_split};
pub use cluster::{evaluate_cluster, validate_cluster};
pub use logistic::PENALTIES;
pub use metrics_file::{add_metrics, read_metrics};
pub use normalize::EmbeddingNormalization;
pub use probe::{Probe, ProbeSettings};
pub use score::{Score, ValidationScore};
pub use task::Task;

use std::collections::BTreeSet;
use std::time::Instant;

use crate::data::{EdgeSplit, Labels, Split};
use crate::error::{Error, Result};
use crate::files::hex;
use crate::graph::{Features, Graph, Relations};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Number of K-means random states; the score is their mean.
pub const KMEANS_STATES: u64 = 5;

/// Node classification: mean test accuracy of a linear probe over the splits of one protocol.
pub fn evaluate_nc(
    embeddings: &Features,
    labels: &Labels,
    splits: &[Split],
    settings: &ProbeSettings,
) -> Result<Score> {
    let start = Instant::now();
    check::embeddings(embeddings, labels.classes().len())?;
    let Some(first) = splits.first() else {
        return Err(Error::value("node classification", "no split", "at least one split"));
    };
    if let Some(other) = splits.iter().find(|split| split.protocol != first.protocol) {
        let found = format_args!("splits of {} and of {}", first.protocol, other.protocol);
        return Err(Error::value("node classification", found, "one protocol"));
    }
    let shared = (settings.normalize != EmbeddingNormalization::Zscore)
        .then(|| settings.normalize.apply(embeddings, &first.train));
    let evaluate = |split: &Split| match &shared {
        Some(shared) => probe::evaluate_split(shared, labels, split, settings),
        None => {
            let normalized = settings.normalize.apply(embeddings, &split.train);
            probe::evaluate_split(&normalized, labels, split, settings)
        }
    };
    let results = splits.iter().map(evaluate).collect::<Result<Vec<_>>>()?;

    let percent = |metric: fn(&probe::SplitResult) -> f64| {
        results.iter().map(|result| 100.0 * metric(result)).collect::<Vec<f64>>()
    };
    let test = percent(|result| result.test);
    let chosen = match settings.probe {
        Probe::Lbfgs => "penalties",
        Probe::AdamEs => "decays",
    };
    let score = new_score(&test, &first.protocol, settings.normalize.name(), settings.probe.name())
        .with("splits", splits.len())
        .with("split0", test[0])
        .with("validation", stats::mean(&percent(|result| result.val)))
        .with("macro_f1", stats::mean(&percent(|result| result.macro_f1)))
        .with("missing_classes", names_of_missing_classes(labels, splits))
        .with(chosen, results.iter().map(|result| result.chosen).collect::<Vec<f64>>())
        .with("unfinished_fits", results.iter().map(|result| result.exhausted).sum::<usize>());
    Ok(Score { split_hash: Some(hash_of(splits)), seconds: start.elapsed().as_secs_f64(), ..score })
}

/// Link prediction: ROC-AUC on the test pairs. The caller must make sure that the embeddings were trained on the training
/// edges only.
///
/// On a graph with several relations each has a decoder of its own, and the score is the mean over the relations.
pub fn evaluate_lp(embeddings: &Features, graph: &Graph, split: &EdgeSplit) -> Result<Score> {
    let start = Instant::now();
    check::embeddings(embeddings, graph.n_nodes())?;
    if let Some(relations) = graph.several_relations() {
        let score = relation_links(embeddings, graph, relations, split)?;
        return Ok(Score { seconds: start.elapsed().as_secs_f64(), ..score });
    }
    let result = link::evaluate_links(embeddings, split)?;
    let score = new_score(&[100.0 * result.test], EdgeSplit::PROTOCOL, "l2", "logistic-hadamard")
        .with("validation", 100.0 * result.val)
        .with("average_precision", 100.0 * result.average_precision)
        .with("penalty", result.chosen)
        .with("unfinished_fits", result.exhausted)
        .with("split_seed", split.seed);
    Ok(Score { split_hash: Some(split.hash()), seconds: start.elapsed().as_secs_f64(), ..score })
}

/// The mean over the relations of ROC-AUC on their test pairs, and the ROC-AUC of each. Relations without test edges are left out.
fn relation_links(
    embeddings: &Features,
    graph: &Graph,
    relations: &Relations,
    split: &EdgeSplit,
) -> Result<Score> {
    let mut results = Vec::new();
    for relation in 0..relations.schema().relations().len() {
        let part = split.of_relation(graph, relations, relation);
        if !part.test.is_empty() {
            let name = relations.schema().relation_name(relation);
            results.push((name, link::evaluate_links(embeddings, &part)?));
        }
    }
    let mean = |metric: fn(&link::LinkResult) -> f64| {
        stats::mean(&results.iter().map(|(_, result)| 100.0 * metric(result)).collect::<Vec<f64>>())
    };
    let of_relations: Map<String, Value> =
        results.iter().map(|(name, result)| (name.clone(), (100.0 * result.test).into())).collect();
    let score = new_score(&[mean(|result| result.test)], EdgeSplit::PROTOCOL, "l2", "logistic-hadamard")
        .with("validation", mean(|result| result.val))
        .with("average_precision", mean(|result| result.average_precision))
        .with("relations", of_relations)
        .with("penalties", results.iter().map(|(_, result)| result.chosen).collect::<Vec<f64>>())
        .with("unfinished_fits", results.iter().map(|(_, result)| result.exhausted).sum::<usize>())
        .with("split_seed", split.seed);
    Ok(Score { split_hash: Some(split.hash()), ..score })
}

/// The classes without a training node in at least one of the splits.
fn names_of_missing_classes(labels: &Labels, splits: &[Split]) -> Vec<String> {
    let classes: BTreeSet<u32> = splits.iter().flat_map(|split| missing_classes(labels, split)).collect();
    classes.into_iter().map(|class| labels.names()[class as usize].clone()).collect()
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

/// Hash of one split, or of the hashes of several splits, one per line.
fn hash_of(splits: &[Split]) -> String {
    if let [split] = splits {
        return split.hash();
    }
    let mut hash = Sha256::new();
    splits.iter().for_each(|split| hash.update(format!("{}\n", split.hash())));
    hex(hash.finalize())
}
