//! Statistics of a data set.

use std::fmt;

use serde::Serialize;

use super::split::random_10_10_80;
use super::{Dataset, Split};
use crate::graph::stats::{self, Degrees};

/// Statistics of a data set, printed by `controlg data info`; with `--json`, a key that does not apply is `null`.
#[derive(Clone, Debug, Serialize)]
pub struct DatasetInfo {
    /// The name in the catalog, or the path.
    pub name: String,
    /// The file format.
    pub format: &'static str,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of undirected edges, each pair once.
    pub edges: usize,
    /// Number of self-loops dropped.
    pub self_loops_dropped: usize,
    /// Number of duplicate edges dropped; with weights, they are merged.
    pub duplicates_dropped: usize,
    /// Number of duplicate edges whose weight was added to that of an earlier edge.
    pub weights_summed: usize,
    /// Number of edges with different weights in the two directions, which get the mean.
    pub weights_averaged: usize,
    /// Whether the files have directed edges (they were made undirected).
    pub directed: bool,
    /// Whether the edges have weights.
    pub weighted: bool,
    /// Number of features per node.
    pub features: usize,
    /// Number of non-zero feature values.
    pub feature_nonzeros: usize,
    /// Number of classes.
    pub classes: Option<usize>,
    /// Edge homophily: the fraction of edges between labeled nodes that join nodes of the same class.
    pub homophily: Option<f64>,
    /// Number of isolated nodes.
    pub isolated: usize,
    /// Number of connected components.
    pub components: usize,
    /// Degree statistics.
    pub degree: Degrees,
    /// The splits in the files; if there are none, the random split of seed 0.
    pub splits: Vec<SplitInfo>,
    /// Size of the graph in memory.
    pub memory_bytes: usize,
    /// Remarks about loading.
    pub notes: Vec<String>,
}

/// Sizes and hash of a split.
#[derive(Clone, Debug, Serialize)]
pub struct SplitInfo {
    /// The protocol.
    pub protocol: String,
    /// The index, or the seed of a random split.
    pub index: usize,
    /// Number of training nodes.
    pub train: usize,
    /// Number of validation nodes.
    pub val: usize,
    /// Number of test nodes.
    pub test: usize,
    /// [`Split::hash`]: equal hashes mean equal splits.
    pub hash: String,
}

impl DatasetInfo {
    /// Computes the statistics.
    pub fn of(data: &Dataset) -> DatasetInfo {
        let Dataset { name, format, graph, labels, splits, edge_counts, notes } = data;
        let drawn: Vec<Split> = match labels {
            Some(labels) if splits.is_empty() => vec![random_10_10_80(labels, 0)],
            _ => Vec::new(),
        };
        DatasetInfo {
            name: name.clone(),
            format,
            nodes: graph.n_nodes(),
            edges: graph.n_edges(),
            self_loops_dropped: edge_counts.self_loops,
            duplicates_dropped: edge_counts.duplicates,
            weights_summed: edge_counts.summed,
            weights_averaged: edge_counts.averaged,
            directed: edge_counts.directed,
            weighted: graph.adjacency().values().is_some(),
            features: graph.n_features(),
            feature_nonzeros: graph.features().n_nonzeros(),
            classes: labels.as_ref().map(|labels| labels.n_classes()),
            homophily: labels.as_ref().and_then(|labels| stats::homophily(graph, |node| labels.get(node))),
            isolated: stats::isolated(graph),
            components: stats::components(graph),
            degree: stats::degrees(graph),
            splits: splits.iter().chain(&drawn).map(SplitInfo::of).collect(),
            memory_bytes: graph.memory_bytes(),
            notes: notes.clone(),
        }
    }
}

impl SplitInfo {
    fn of(split: &Split) -> SplitInfo {
        SplitInfo {
            protocol: split.protocol.clone(),
            index: split.index,
            train: split.train.len(),
            val: split.val.len(),
            test: split.test.len(),
            hash: split.hash(),
        }
    }
}

impl fmt::Display for DatasetInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, value: String| writeln!(f, "{name:<11} {value}");
        row("name", self.name.clone())?;
        row("format", self.format.to_owned())?;
        row("nodes", grouped(self.nodes))?;
        let mut edges = format!("{} undirected", grouped(self.edges));
        for (count, what) in [
            (self.self_loops_dropped, ["self-loop", "dropped"]),
            (self.duplicates_dropped.saturating_sub(self.weights_summed), ["duplicate", "dropped"]),
            (self.weights_summed, ["duplicate", "merged (weights summed)"]),
        ] {
            if count > 0 {
                let [what, fate] = what;
                let plural = if count == 1 { "" } else { "s" };
                edges += &format!(", {} {what}{plural} {fate}", grouped(count));
            }
        }
        edges += if self.directed { ", directed in the files" } else { "" };
        edges += if self.weighted { ", weighted" } else { "" };
        row("edges", edges)?;
        let density = 100.0 * self.feature_nonzeros as f64 / (self.nodes as f64 * self.features as f64);
        row("features", format!("{}, {density:.2} % non-zero", grouped(self.features)))?;
        row("classes", self.classes.map_or("no labels".to_owned(), |classes| classes.to_string()))?;
        if let Some(homophily) = self.homophily {
            row("homophily", format!("{homophily:.4}"))?;
        }
        let Degrees { min, median, mean, max } = self.degree;
        row("degree", format!("min {min}, median {median}, mean {mean:.2}, max {max}"))?;
        row("isolated", grouped(self.isolated))?;
        row("components", grouped(self.components))?;
        for split in &self.splits {
            let SplitInfo { protocol, index, train, val, test, hash } = split;
            row(
                "split",
                format!("{protocol} {index}: {train} train, {val} val, {test} test, {}", &hash[..12]),
            )?;
        }
        row("memory", format!("{:.1} MB", self.memory_bytes as f64 / 1e6))?;
        self.notes.iter().try_for_each(|note| row("note", note.clone()))
    }
}

/// A number with thousands separators: 1,234,567.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_by_commas() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
