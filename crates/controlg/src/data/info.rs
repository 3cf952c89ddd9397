//! Statistics of a data set.

use std::fmt;

use serde::Serialize;

use super::split::random_10_10_80;
use super::{Dataset, Split};
use crate::graph::stats::{self, Degrees};
use crate::graph::{EdgeCounts, Graph, NodeType, Relation, Relations};

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
    /// The node types; `null` for a homogeneous graph.
    pub types: Option<Vec<NodeTypeInfo>>,
    /// The relations; `null` for a homogeneous graph.
    pub relations: Option<Vec<RelationInfo>>,
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
        let Dataset { name, format, graph, labels, splits, edge_counts, relation_counts, notes } = data;
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
            types: graph.relations().map(NodeTypeInfo::all),
            relations: graph
                .relations()
                .map(|relations| RelationInfo::all(graph, relations, relation_counts)),
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
        self.types.iter().flatten().try_for_each(|node_type| row("type", node_type.to_string()))?;
        self.relations.iter().flatten().try_for_each(|relation| row("relation", relation.to_string()))?;
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

/// A node type.
#[derive(Clone, Debug, Serialize)]
pub struct NodeTypeInfo {
    /// The name.
    pub name: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of features.
    pub features: usize,
    /// Where the features come from: `given`, `one-hot` (a learned embedding per node) or `structural`.
    pub source: &'static str,
}

impl NodeTypeInfo {
    fn all(relations: &Relations) -> Vec<NodeTypeInfo> {
        let types = relations.schema().types().iter().enumerate();
        let of = |(at, node_type): (usize, &NodeType)| NodeTypeInfo {
            name: node_type.name.clone(),
            nodes: relations.nodes(at).len(),
            features: node_type.columns.len(),
            source: node_type.features.name(),
        };
        types.map(of).collect()
    }
}

impl fmt::Display for NodeTypeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeTypeInfo { name, nodes, features, source } = self;
        write!(f, "{name}: {} nodes, {} features ({source})", grouped(*nodes), grouped(*features))
    }
}

/// A relation.
#[derive(Clone, Debug, Serialize)]
pub struct RelationInfo {
    /// The name with both ends, as in `author-writes-paper`.
    pub name: String,
    /// Whether an edge within one type differs from its reverse.
    pub directed: bool,
    /// Number of edges.
    pub edges: usize,
    /// Number of self-loops dropped.
    pub self_loops_dropped: usize,
    /// Number of duplicate edges dropped.
    pub duplicates_dropped: usize,
    /// Degrees of the nodes of the source type, in this relation.
    pub src_degree: Degrees,
    /// Degrees of the nodes of the destination type, in this relation.
    pub dst_degree: Degrees,
}

impl RelationInfo {
    fn all(graph: &Graph, relations: &Relations, counts: &[EdgeCounts]) -> Vec<RelationInfo> {
        let edges = relations.n_edges(graph.adjacency());
        let degrees = relations.degrees(graph.adjacency());
        let of = |(at, relation): (usize, &Relation)| {
            let degree_of = |node_type| stats::summary(degrees[at][relations.nodes(node_type)].to_vec());
            let dropped = counts.get(at).copied().unwrap_or_default();
            RelationInfo {
                name: relations.schema().relation_name(at),
                directed: relation.directed,
                edges: edges[at],
                self_loops_dropped: dropped.self_loops,
                duplicates_dropped: dropped.duplicates,
                src_degree: degree_of(relation.src),
                dst_degree: degree_of(relation.dst),
            }
        };
        relations.schema().relations().iter().enumerate().map(of).collect()
    }
}

impl fmt::Display for RelationInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} edges", self.name, grouped(self.edges))?;
        f.write_str(if self.directed { ", directed" } else { "" })?;
        for (count, what) in
            [(self.self_loops_dropped, "self-loops"), (self.duplicates_dropped, "duplicates")]
        {
            if count > 0 {
                write!(f, ", {} {what} dropped", grouped(count))?;
            }
        }
        let [src, dst] =
            [&self.src_degree, &self.dst_degree].map(|d| format!("{:.2} (max {})", d.mean, d.max));
        write!(f, ", mean degree {src} to {dst}")
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
