//! Embeddings on a plane: the two directions in which they differ most.

use std::fmt::Write;

use super::axis::Axis;
use super::chart::{Plot, color};
use super::figures::Figure;
use crate::Labels;
use crate::error::Result;
use crate::eval::{EmbeddingNormalization, kmeans};
use crate::graph::{Features, Graph};
use crate::kernels::matmul;
use crate::rng::Stream;

/// The most nodes that are drawn.
const MOST: usize = 3000;
/// Clusters where no classes say how many.
const CLUSTERS: usize = 6;
/// Groups of nodes by degree.
const QUANTILES: usize = 5;

/// Nodes on a plane, and the ways to color them.
pub struct EmbeddingMap {
    nodes: Vec<usize>,
    places: Vec<(f64, f64)>,
    /// Share of the variance that the plane shows.
    shown: f64,
    n_nodes: usize,
    pub(super) layers: Vec<Layer>,
}

/// One way to color nodes.
pub(super) struct Layer {
    pub(super) name: &'static str,
    /// The groups' names.
    pub(super) groups: Vec<String>,
    /// The group of each node that is drawn; none for a node without a class.
    pub(super) of: Vec<Option<usize>>,
}

impl EmbeddingMap {
    /// Places the nodes of a graph by their embeddings.
    pub fn new(embeddings: &Features, graph: &Graph, labels: Option<&Labels>) -> Result<EmbeddingMap> {
        let unit = EmbeddingNormalization::L2.apply(embeddings, &[]);
        let n = graph.n_nodes();
        let mut nodes: Vec<usize> = match n > MOST {
            true => {
                Stream::new(0, "report", "map", 0).sample(n, MOST).into_iter().map(|v| v as usize).collect()
            }
            false => (0..n).collect(),
        };
        nodes.sort_unstable();
        let (all, shown) = plane(&unit);
        let places = nodes.iter().map(|&node| all[node]).collect();
        let mut layers = Vec::new();
        if let Some(labels) = labels {
            let of = nodes.iter().map(|&node| labels.get(node).map(|class| class as usize)).collect();
            layers.push(Layer { name: "class", groups: labels.names().to_vec(), of });
        }
        let k = labels.map_or(CLUSTERS, |labels| labels.names().len()).clamp(1, n);
        let found = kmeans::cluster(&unit, k, 0, &kmeans::KMeansSettings::default())?;
        let of = nodes.iter().map(|&node| Some(found.assignments[node] as usize)).collect();
        layers.push(Layer { name: "cluster", groups: (1..=k).map(|c| format!("cluster {c}")).collect(), of });
        layers.push(by_degree(graph, &nodes));
        Ok(EmbeddingMap { nodes, places, shown, n_nodes: n, layers })
    }

    /// The picture, colored by the first layer.
    pub(super) fn figure(&self, graph: &Graph) -> Figure {
        let axis = |label: &str, of: fn(&(f64, f64)) -> f64| Axis::over(label, self.places.iter().map(of));
        let mut plot =
            Plot::new(640.0, 480.0, axis("first direction", |p| p.0), axis("second direction", |p| p.1));
        let first = &self.layers[0];
        for (at, &node) in self.nodes.iter().enumerate() {
            let group = first.of[at].map_or("none", |group| first.groups[group].as_str());
            let words = format!("{}: {group}", graph.ids().get(node));
            plot.dot(
                first.of[at].unwrap_or(7),
                self.places[at],
                2.5,
                &words.chars().take(120).collect::<String>(),
            );
        }
        let mut csv = "id,x,y".to_owned();
        self.layers.iter().for_each(|layer| csv += &format!(",{}", layer.name));
        csv.push('\n');
        for (at, &node) in self.nodes.iter().enumerate() {
            let (x, y) = self.places[at];
            let _ = write!(csv, "{},{x},{y}", quoted(graph.ids().get(node).as_ref()));
            for layer in &self.layers {
                let group = layer.of[at].map_or("", |group| &layer.groups[group]);
                let _ = write!(csv, ",{}", quoted(group));
            }
            csv.push('\n');
        }
        let drawn = match self.nodes.len() < self.n_nodes {
            true => format!(" {} of {} nodes are drawn.", self.nodes.len(), self.n_nodes),
            false => String::new(),
        };
        Figure {
            name: "map",
            title: "Map of the embeddings".to_owned(),
            caption: format!(
                "The plane of the two directions in which the embeddings, scaled to length one, differ most: {:.0} % of their \
                 variance.{drawn}",
                100.0 * self.shown
            ),
            picture: plot.finish(false),
            csv,
        }
    }

    /// What the page needs to color the dots anew: for each layer its name, its groups with colors, and each dot's group.
    pub(super) fn for_page(&self) -> serde_json::Value {
        let layer = |layer: &Layer| {
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

fn by_degree(graph: &Graph, nodes: &[usize]) -> Layer {
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
    Layer { name: "degree", groups, of }
}

/// Every row's place along the two directions of largest variance, and the share of the variance that they hold.
fn plane(rows: &Features) -> (Vec<(f64, f64)>, f64) {
    let (n, d) = (rows.n_rows(), rows.n_cols());
    let dense: Vec<crate::Real> = match rows {
        Features::Dense(dense) => dense.data().to_vec(),
        Features::Sparse(_) => (0..n)
            .flat_map(|row| {
                let mut line = vec![0.0; d];
                rows.row(row).into_iter().for_each(|(column, value)| line[column as usize] = value);
                line
            })
            .collect(),
    };
    let mut mean = vec![0.0_f64; d];
    dense
        .chunks(d)
        .for_each(|row| row.iter().zip(&mut mean).for_each(|(x, m)| *m += f64::from(*x) / n as f64));
    let mut products = vec![0.0; d * d];
    matmul::tn(d, n, d, &dense, &dense, &mut products, false);
    let covariance: Vec<f64> =
        (0..d * d).map(|at| f64::from(products[at]) / n as f64 - mean[at / d] * mean[at % d]).collect();
    let total: f64 = (0..d).map(|at| covariance[at * d + at]).sum();
    let (first, variance) = direction(&covariance, d, None);
    let (second, next) = direction(&covariance, d, Some(&first));
    let along = |row: &[crate::Real], axis: &[f64]| -> f64 {
        row.iter().zip(axis).zip(&mean).map(|((x, a), m)| (f64::from(*x) - m) * a).sum()
    };
    let places = dense.chunks(d).map(|row| (along(row, &first), along(row, &second))).collect();
    (places, if total > 0.0 { ((variance + next) / total).clamp(0.0, 1.0) } else { 0.0 })
}

/// The direction of largest variance that is orthogonal to another, by power iteration, and its variance.
fn direction(covariance: &[f64], d: usize, other: Option<&[f64]>) -> (Vec<f64>, f64) {
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
    // The sign that makes the largest part positive: the same picture whatever the start.
    let largest = axis.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(1.0);
    let scale = if length > 0.0 { largest.signum() / length } else { 0.0 };
    axis.iter_mut().for_each(|a| *a *= scale);
    (axis, variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Dense;

    #[test]
    fn the_plane_of_a_tilted_ellipse() {
        // Points along (1, 1, 0) with a little of (1, −1, 0), nothing along the third axis.
        let mut data = Vec::new();
        let mut stream = Stream::new(1, "test", "map", 0);
        for _ in 0..500 {
            let (a, b) = (3.0 * stream.normal(), stream.normal());
            data.extend([(a + b) as crate::Real, (a - b) as crate::Real, 0.0]);
        }
        let (places, shown) = plane(&Features::Dense(Dense::from_parts(500, 3, data)));
        assert!(shown > 0.999);
        let spread = |of: fn(&(f64, f64)) -> f64| places.iter().map(|p| of(p).powi(2)).sum::<f64>() / 500.0;
        assert!((spread(|p| p.0) / 18.0 - 1.0).abs() < 0.2 && (spread(|p| p.1) / 2.0 - 1.0).abs() < 0.2);
    }
}
