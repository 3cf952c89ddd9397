//! What is in a data set, in figures.

use std::fmt;

use serde::Serialize;

use super::split::random_10_10_80;
use super::{Dataset, Split};
use crate::graph::stats::{self, Degrees};

/// The figures of a data set. As JSON: what `controlg data info --json` prints; what does not apply is `null`.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// The catalog's name, or the path.
    pub name: String,
    /// The layout it was read from.
    pub format: &'static str,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of undirected edges, each pair once.
    pub edges: usize,
    /// Nodes whose edge to themselves was dropped.
    pub self_loops_dropped: usize,
    /// Repeated edges that were dropped.
    pub duplicates_dropped: usize,
    /// Whether the edges came with a direction that was given up.
    pub directed: bool,
    /// Whether the edges have weights.
    pub weighted: bool,
    /// Number of features of a node.
    pub features: usize,
    /// Number of feature values that are not zero.
    pub feature_nonzeros: usize,
    /// Number of classes.
    pub classes: Option<usize>,
    /// Share of the edges between labeled nodes whose two ends have the same class.
    pub homophily: Option<f64>,
    /// Number of nodes without a neighbor.
    pub isolated: usize,
    /// Number of connected components.
    pub components: usize,
    /// Quantiles of the degrees.
    pub degree: Degrees,
    /// The splits that came with the files, or else the one that would be drawn from seed 0.
    pub splits: Vec<SplitInfo>,
    /// Bytes that the graph takes once loaded.
    pub memory_bytes: usize,
    /// What a user should know about how it was read.
    pub notes: Vec<String>,
}

/// The figures of a split.
#[derive(Clone, Debug, Serialize)]
pub struct SplitInfo {
    /// Its protocol.
    pub protocol: String,
    /// Its number, or its seed.
    pub index: usize,
    /// Number of nodes a probe is fitted on.
    pub train: usize,
    /// Number of nodes settings are chosen on.
    pub val: usize,
    /// Number of nodes that judge.
    pub test: usize,
    /// [`Split::hash`], to check that one uses the same nodes.
    pub hash: String,
}

impl Info {
    /// Takes the figures.
    pub fn of(data: &Dataset) -> Info {
        let Dataset { name, format, graph, labels, splits, edge_counts, notes } = data;
        let drawn: Vec<Split> = match labels {
            Some(labels) if splits.is_empty() => vec![random_10_10_80(labels, 0)],
            _ => Vec::new(),
        };
        Info {
            name: name.clone(),
            format,
            nodes: graph.n_nodes(),
            edges: graph.n_edges(),
            self_loops_dropped: edge_counts.self_loops,
            duplicates_dropped: edge_counts.duplicates,
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

/// The figures for people to read.
impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, value: String| writeln!(f, "{name:<11} {value}");
        row("name", self.name.clone())?;
        row("format", self.format.to_owned())?;
        row("nodes", grouped(self.nodes))?;
        let mut edges = format!("{} undirected", grouped(self.edges));
        for (count, what) in
            [(self.self_loops_dropped, "self loops"), (self.duplicates_dropped, "duplicates")]
        {
            if count > 0 {
                edges += &format!(", {} {what} dropped", grouped(count));
            }
        }
        edges += if self.directed { ", directions given up" } else { "" };
        edges += if self.weighted { ", weighted" } else { "" };
        row("edges", edges)?;
        let density = 100.0 * self.feature_nonzeros as f64 / (self.nodes as f64 * self.features as f64);
        row("features", format!("{}, {density:.2} % not zero", grouped(self.features)))?;
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
        row("memory", format!("{:.1} MB once loaded", self.memory_bytes as f64 / 1e6))?;
        self.notes.iter().try_for_each(|note| row("note", note.clone()))
    }
}

/// A number with its thousands set apart: 1,234,567.
fn grouped(number: usize) -> String {
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
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
