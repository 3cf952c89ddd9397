//! Map of the embeddings: projection on the first two principal components.

use std::fmt::Write;

use super::axis::Axis;
use super::chart::{Plot, WIDTH, color};
use super::figures::Figure;
use super::nearest;
use crate::Labels;
use crate::data::info::grouped;
use crate::error::Result;
use crate::eval::{EmbeddingNormalization, kmeans};
use crate::graph::{Features, Graph};
use crate::kernels::matmul;
use crate::rng::Stream;

/// Maximum number of nodes drawn.
const MAX_NODES: usize = 3000;
/// Number of clusters without labels.
const CLUSTERS: usize = 6;
/// Number of nearest nodes, and maximum number of neighbors in the graph, that the page lists for a node.
const NEAREST: usize = 8;
const MAX_NEIGHBORS: usize = 30;
/// Maximum number of characters of an id on the page.
const MAX_ID: usize = 120;
/// Number of degree groups.
const QUANTILES: usize = 5;

/// Positions of the nodes, and several colorings.
pub struct EmbeddingMap {
    nodes: Vec<usize>,
    positions: Vec<(f64, f64)>,
    /// Fraction of the variance explained by the two components.
    explained: f64,
    n_nodes: usize,
    /// Nearest drawn nodes of each drawn node, as indices, with their cosine similarity.
    nearest: Vec<Vec<(usize, crate::Real)>>,
    pub(super) layers: Vec<MapLayer>,
}

/// One coloring of the nodes.
pub(super) struct MapLayer {
    pub(super) name: &'static str,
    /// Names of the groups.
    pub(super) groups: Vec<String>,
    /// Group of each drawn node; `None` for a node without a label.
    pub(super) of: Vec<Option<usize>>,
}

impl EmbeddingMap {
    /// Projects the embeddings of a graph.
    pub fn new(embeddings: &Features, graph: &Graph, labels: Option<&Labels>) -> Result<EmbeddingMap> {
        let unit = EmbeddingNormalization::L2.apply(embeddings, &[]);
        let n = graph.n_nodes();
        let mut nodes: Vec<usize> = if n > MAX_NODES {
            Stream::new(0, "report", "map", 0).sample(n, MAX_NODES).into_iter().map(|v| v as usize).collect()
        } else {
            (0..n).collect()
        };
        nodes.sort_unstable();
        let dense = dense(&unit);
        let (all, explained) = project(&dense, unit.n_rows(), unit.n_cols());
        let drawn: Vec<crate::Real> = nodes
            .iter()
            .flat_map(|node| dense[node * unit.n_cols()..][..unit.n_cols()].iter().copied())
            .collect();
        let nearest = nearest::nearest(&drawn, nodes.len(), NEAREST);
        let positions = nodes.iter().map(|&node| all[node]).collect();
        let mut layers = Vec::new();
        if let Some(labels) = labels {
            let of = nodes.iter().map(|&node| labels.get(node).map(|class| class as usize)).collect();
            layers.push(MapLayer { name: "class", groups: labels.names().to_vec(), of });
        }
        let k = labels.map_or(CLUSTERS, |labels| labels.names().len()).clamp(1, n);
        let found = kmeans::cluster(&unit, k, 0, &kmeans::KMeansSettings::default())?;
        let of = nodes.iter().map(|&node| Some(found.assignments[node] as usize)).collect();
        layers.push(MapLayer {
            name: "cluster",
            groups: (1..=k).map(|c| format!("cluster {c}")).collect(),
            of,
        });
        layers.push(by_degree(graph, &nodes));
        Ok(EmbeddingMap { nodes, positions, explained, n_nodes: n, nearest, layers })
    }

    /// The figure, colored by the first layer.
    pub(super) fn figure(&self, graph: &Graph) -> Figure {
        let axis = |label: &str, of: fn(&(f64, f64)) -> f64| Axis::over(label, self.positions.iter().map(of));
        let mut plot = Plot::new(
            WIDTH,
            430.0,
            axis("first principal component", |p| p.0),
            axis("second principal component", |p| p.1),
        );
        let first = &self.layers[0];
        for (at, &node) in self.nodes.iter().enumerate() {
            let group = first.of[at].map_or("none", |group| first.groups[group].as_str());
            let tooltip = format!("{}: {group}", graph.ids().get(node));
            plot.dot(
                first.of[at].unwrap_or(7),
                self.positions[at],
                2.5,
                &tooltip.chars().take(MAX_ID).collect::<String>(),
            );
        }
        let mut csv = "id,x,y".to_owned();
        self.layers.iter().for_each(|layer| csv += &format!(",{}", layer.name));
        csv.push('\n');
        for (at, &node) in self.nodes.iter().enumerate() {
            let (x, y) = self.positions[at];
            let _ = write!(csv, "{},{x},{y}", quoted(graph.ids().get(node).as_ref()));
            for layer in &self.layers {
                let group = layer.of[at].map_or("", |group| &layer.groups[group]);
                let _ = write!(csv, ",{}", quoted(group));
            }
            csv.push('\n');
        }
        Figure {
            name: "map",
            title: "Map of the embeddings".to_owned(),
            caption: format!(
                "Each dot is a node, at the first two principal components of its L2-normalized embedding, which explain {:.0} % of \
                 the variance. Where dots of one color lie together, the embeddings separate that group from the others.{}",
                100.0 * self.explained,
                self.cap()
            ),
            image: plot.finish(false),
            csv,
        }
    }

    /// A sentence on the nodes that are not drawn.
    fn cap(&self) -> String {
        if self.nodes.len() == self.n_nodes {
            return String::new();
        }
        let [drawn, all] = [self.nodes.len(), self.n_nodes].map(grouped);
        format!(
            " The page holds {drawn} of {all} nodes, drawn at random; neighbors among the others are not listed."
        )
    }

    /// The choice of the layer, its legend, and the search box.
    pub(super) fn controls(&self) -> String {
        "<div class=\"layers\" role=\"group\" aria-label=\"Colors of the map\"></div><div class=\"groups\"></div>\n\
         <form class=\"find\" role=\"search\"><label for=\"find-node\">Find a node by its id</label>\
         <input id=\"find-node\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\"><button>Find</button></form>\n\
         <div id=\"node\" tabindex=\"-1\" aria-live=\"polite\"><p>Shows its neighbors in the graph and its nearest nodes in the \
         embedding. You can also click on a dot.</p></div>\n"
            .to_owned()
    }

    /// Data for the search: ids, degrees, neighbors in the graph and nearest nodes in the embedding, as indices of dots.
    pub(super) fn node_data(&self, graph: &Graph) -> serde_json::Value {
        let ids: Vec<String> =
            self.nodes.iter().map(|&node| graph.ids().get(node).chars().take(MAX_ID).collect()).collect();
        let degree: Vec<usize> = self.nodes.iter().map(|&node| graph.degree(node)).collect();
        let drawn = |other: &u32| self.nodes.binary_search(&(*other as usize)).ok();
        let neighbors: Vec<Vec<usize>> = self
            .nodes
            .iter()
            .map(|&node| graph.neighbors(node).iter().filter_map(drawn).take(MAX_NEIGHBORS).collect())
            .collect();
        let rounded =
            |(other, cosine): &(usize, crate::Real)| (*other, (f64::from(*cosine) * 1e3).round() / 1e3);
        let nearest: Vec<Vec<(usize, f64)>> =
            self.nearest.iter().map(|near| near.iter().map(rounded).collect()).collect();
        serde_json::json!({
            "total": self.n_nodes, "ids": ids, "degree": degree, "neighbors": neighbors, "nearest": nearest,
        })
    }

    /// Data for the layers: name, groups with colors, and the group of each dot.
    pub(super) fn layer_data(&self) -> serde_json::Value {
        let layer = |layer: &MapLayer| {
            let groups: Vec<_> = layer
                .groups
                .iter()
                .enumerate()
                .take(40)
                .map(|(at, name)| (name.chars().take(60).collect::<String>(), color(at)))
                .collect();
            let of: Vec<i64> = layer.of.iter().map(|group| group.map_or(-1, |group| group as i64)).collect();
            serde_json::json!({ "name": layer.name, "groups": groups, "of": of })
        };
        self.layers.iter().map(layer).collect()
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn by_degree(graph: &Graph, nodes: &[usize]) -> MapLayer {
    let degrees: Vec<usize> = (0..graph.n_nodes()).map(|node| graph.degree(node)).collect();
    let mut sorted = degrees.clone();
    sorted.sort_unstable();
    let mut tops: Vec<usize> =
        (1..=QUANTILES).map(|q| sorted[(q * sorted.len() / QUANTILES).max(1) - 1]).collect();
    tops.dedup();
    let mut low = 0;
    let mut groups = Vec::new();
    for &top in &tops {
        groups.push(if low == top { format!("degree {top}") } else { format!("degree {low} to {top}") });
        low = top + 1;
    }
    let of = nodes.iter().map(|&node| tops.iter().position(|top| degrees[node] <= *top)).collect();
    MapLayer { name: "degree", groups, of }
}

/// The rows as a dense matrix.
fn dense(rows: &Features) -> Vec<crate::Real> {
    match rows {
        Features::Dense(dense) => dense.data().to_vec(),
        Features::Sparse(_) => (0..rows.n_rows())
            .flat_map(|row| {
                let mut line = vec![0.0; rows.n_cols()];
                rows.row(row).into_iter().for_each(|(column, value)| line[column as usize] = value);
                line
            })
            .collect(),
    }
}

/// Projects n rows of width d on their first two principal components; also returns the explained fraction of the variance.
fn project(dense: &[crate::Real], n: usize, d: usize) -> (Vec<(f64, f64)>, f64) {
    let mut mean = vec![0.0_f64; d];
    dense
        .chunks(d)
        .for_each(|row| row.iter().zip(&mut mean).for_each(|(x, m)| *m += f64::from(*x) / n as f64));
    let mut products = vec![0.0; d * d];
    matmul::tn(d, n, d, dense, dense, &mut products, false);
    let covariance: Vec<f64> =
        (0..d * d).map(|at| f64::from(products[at]) / n as f64 - mean[at / d] * mean[at % d]).collect();
    let total: f64 = (0..d).map(|at| covariance[at * d + at]).sum();
    let (first, variance) = principal_component(&covariance, d, None);
    let (second, next) = principal_component(&covariance, d, Some(&first));
    let along = |row: &[crate::Real], axis: &[f64]| -> f64 {
        row.iter().zip(axis).zip(&mean).map(|((x, a), m)| (f64::from(*x) - m) * a).sum()
    };
    let positions = dense.chunks(d).map(|row| (along(row, &first), along(row, &second))).collect();
    (positions, if total > 0.0 { ((variance + next) / total).clamp(0.0, 1.0) } else { 0.0 })
}

/// Leading principal component orthogonal to `other`, by power iteration, and its variance.
fn principal_component(covariance: &[f64], d: usize, other: Option<&[f64]>) -> (Vec<f64>, f64) {
    let mut stream = Stream::new(0, "report", "direction", u64::from(other.is_some()));
    let mut axis: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
    let mut variance = 0.0;
    for _ in 0..200 {
        if let Some(other) = other {
            let along: f64 = axis.iter().zip(other).map(|(a, b)| a * b).sum();
            axis.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
        }
        let length = axis.iter().map(|a| a * a).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        axis.iter_mut().for_each(|a| *a /= length);
        let next: Vec<f64> =
            covariance.chunks(d).map(|row| row.iter().zip(&axis).map(|(c, a)| c * a).sum()).collect();
        variance = next.iter().zip(&axis).map(|(x, a)| x * a).sum();
        if next.iter().all(|x| *x == 0.0) {
            break;
        }
        axis = next;
    }
    if let Some(other) = other {
        let along: f64 = axis.iter().zip(other).map(|(a, b)| a * b).sum();
        axis.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
    }
    let length = axis.iter().map(|a| a * a).sum::<f64>().sqrt();
    // Fix the sign: the largest component is positive.
    let largest = axis.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(1.0);
    let scale = if length > 0.0 { largest.signum() / length } else { 0.0 };
    axis.iter_mut().for_each(|a| *a *= scale);
    (axis, variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_a_tilted_ellipse() {
        // Points along (1, 1, 0) with small noise along (1, −1, 0).
        let mut data = Vec::new();
        let mut stream = Stream::new(1, "test", "map", 0);
        for _ in 0..500 {
            let (a, b) = (3.0 * stream.normal(), stream.normal());
            data.extend([(a + b) as crate::Real, (a - b) as crate::Real, 0.0]);
        }
        let (positions, explained) = project(&data, 500, 3);
        assert!(explained > 0.999);
        let spread =
            |of: fn(&(f64, f64)) -> f64| positions.iter().map(|p| of(p).powi(2)).sum::<f64>() / 500.0;
        assert!((spread(|p| p.0) / 18.0 - 1.0).abs() < 0.2 && (spread(|p| p.1) / 2.0 - 1.0).abs() < 0.2);
    }
}
