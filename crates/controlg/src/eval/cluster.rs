//! Clustering by K-means.

use std::time::Instant;

use super::{
    KMEANS_STATES, Score, ValidationScore, check, hash_of, kmeans, metrics, new_score, normalize, stats,
};
use crate::data::{Labels, Split};
use crate::error::{Error, Result};
use crate::graph::norm::unit_rows;
use crate::graph::{Features, Graph};

/// Clustering: mean NMI of K-means over several random states, with one cluster per class, on the labeled nodes.
/// With a graph, modularity and conductance are computed on the subgraph of these nodes.
pub fn evaluate_cluster<'g>(
    embeddings: &Features,
    labels: &Labels,
    graph: impl Into<Option<&'g Graph>>,
) -> Result<Score> {
    let start = Instant::now();
    let LabeledClusters { nodes, truth, classes, clusterings } = LabeledClusters::of(embeddings, labels)?;
    let each = |metric: fn(&[u32], &[u32]) -> f64| {
        clusterings.iter().map(|found| 100.0 * metric(&found.assignments, &truth)).collect::<Vec<f64>>()
    };
    let nmi = each(metrics::normalized_mutual_info);
    let on_graph = |graph: &Graph, metric: fn(&Graph, &[u32]) -> f64| {
        let clusters_of_nodes = |found: &kmeans::Clustering| {
            let mut clusters = vec![metrics::UNASSIGNED; graph.n_nodes()];
            nodes
                .iter()
                .zip(&found.assignments)
                .for_each(|(&node, &cluster)| clusters[node as usize] = cluster);
            clusters
        };
        let values = clusterings.iter().map(|found| metric(graph, &clusters_of_nodes(found)));
        stats::mean(&values.collect::<Vec<f64>>())
    };
    let inertias: Vec<f64> = clusterings.iter().map(|found| found.inertia).collect();
    let mut score = new_score(&nmi, "kmeans-k", "l2", "kmeans")
        .with("clusters", classes)
        .with("random_states", clusterings.len())
        .with("starts", kmeans::KMeansSettings::default().n_init)
        .with("ari", stats::mean(&each(metrics::adjusted_rand_index)))
        .with("accuracy", stats::mean(&each(metrics::clustering_accuracy)));
    if let Some(graph) = graph.into() {
        score = score
            .with("modularity", on_graph(graph, metrics::modularity))
            .with("conductance", on_graph(graph, metrics::conductance));
    }
    let score = score.with("inertia", stats::mean(&inertias));
    Ok(Score { seconds: start.elapsed().as_secs_f64(), ..score })
}

/// Clustering judged by validation labels, to choose settings: all labeled nodes are clustered as in [`evaluate_cluster`], and
/// the NMI is that of the validation nodes, mean over splits and random states.
pub fn validate_cluster(embeddings: &Features, labels: &Labels, splits: &[Split]) -> Result<ValidationScore> {
    let LabeledClusters { nodes, truth, clusterings, .. } = LabeledClusters::of(embeddings, labels)?;
    let on_split = |split: &Split| {
        let places: Vec<usize> = split.val.iter().filter_map(|node| nodes.binary_search(node).ok()).collect();
        let select = |of: &[u32]| places.iter().map(|&place| of[place]).collect::<Vec<u32>>();
        let truth = select(&truth);
        let nmi = |found: &kmeans::Clustering| {
            100.0 * metrics::normalized_mutual_info(&select(&found.assignments), &truth)
        };
        stats::mean(&clusterings.iter().map(nmi).collect::<Vec<f64>>())
    };
    let labeled = |split: &Split| split.val.iter().any(|&node| labels.get(node as usize).is_some());
    let Some(first) = splits.first().filter(|_| splits.iter().all(labeled)) else {
        return Err(Error::value("clustering", "no labeled validation nodes", "a split that has some"));
    };
    Ok(ValidationScore {
        validation: stats::mean(&splits.iter().map(on_split).collect::<Vec<f64>>()),
        protocol: first.protocol.clone(),
        split_hash: Some(hash_of(splits)),
        embedding: "l2".to_owned(),
        probe: "kmeans".to_owned(),
    })
}

/// K-means on the labeled nodes, with as many clusters as classes.
struct LabeledClusters {
    /// The labeled nodes, ascending.
    nodes: Vec<u32>,
    /// Their classes.
    truth: Vec<u32>,
    /// Number of classes among them.
    classes: usize,
    /// A clustering for each random state.
    clusterings: Vec<kmeans::Clustering>,
}

impl LabeledClusters {
    fn of(embeddings: &Features, labels: &Labels) -> Result<LabeledClusters> {
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
        let unit = unit_rows(embeddings);
        let points = if nodes.len() == unit.n_rows() { unit } else { normalize::select_rows(&unit, &nodes) };
        let settings = kmeans::KMeansSettings::default();
        let clusterings =
            (0..KMEANS_STATES).map(|state| kmeans::cluster(&points, present.len(), state, &settings));
        let clusterings = clusterings.collect::<Result<Vec<_>>>()?;
        Ok(LabeledClusters { nodes, truth, classes: present.len(), clusterings })
    }
}
