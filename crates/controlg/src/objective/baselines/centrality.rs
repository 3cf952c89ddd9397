//! Importance of edges and feature columns in GCA, based on node centrality.
//!
//! The importance of an edge is the mean of log φ at its endpoints; that of a column is log Σ_v |x_vc|·φ_v. An element of
//! importance s is dropped with probability min(rate·(max − s)/(max − mean), limit).

use serde::{Deserialize, Serialize};

use crate::graph::{Csr, Features, Graph};

/// Node centrality φ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Centrality {
    /// Degree.
    Degree,
    /// PageRank, ten iterations with damping 0.85.
    Pagerank,
}

/// The importance of the edges and feature columns of a graph.
#[derive(Clone)]
pub(super) struct Importance {
    /// log φ of each node; −∞ for isolated nodes, which have no edges to look up.
    node: Vec<f64>,
    edges: ImportanceScale,
    /// The importance of each column; `None` for all-zero columns.
    column: Vec<Option<f64>>,
    columns: ImportanceScale,
}

/// Maximum and mean of the importances.
#[derive(Clone, Copy)]
struct ImportanceScale {
    max: f64,
    mean: f64,
}

impl ImportanceScale {
    fn of(values: impl Iterator<Item = f64>) -> ImportanceScale {
        let (max, sum, count) =
            values.fold((f64::MIN, 0.0, 0.0), |(max, sum, count), x| (x.max(max), sum + x, count + 1.0));
        ImportanceScale { max, mean: sum / f64::max(count, 1.0) }
    }

    /// The drop probability of an element.
    fn probability(self, importance: f64, rate: f64, limit: f64) -> f64 {
        let spread = self.max - self.mean;
        // All are equally important.
        let weight = if spread > 1e-12 { (self.max - importance) / spread } else { 1.0 };
        (rate * weight).min(limit)
    }
}

impl Importance {
    /// Equal importance of everything, for shape passes.
    pub(super) fn placeholder(graph: &Graph) -> Importance {
        let scale = ImportanceScale { max: 0.0, mean: 0.0 };
        Importance {
            node: vec![0.0; graph.n_nodes()],
            edges: scale,
            column: vec![None; graph.n_features()],
            columns: scale,
        }
    }

    pub(super) fn of(graph: &Graph, centrality: Centrality) -> Importance {
        let central = match centrality {
            Centrality::Degree => degrees(graph.adjacency()),
            Centrality::Pagerank => pagerank(graph.adjacency()),
        };
        let node: Vec<f64> = central.iter().map(|c| c.ln()).collect();
        let edges =
            ImportanceScale::of(graph.edges().map(|(u, v)| (node[u as usize] + node[v as usize]) / 2.0));
        let column: Vec<Option<f64>> = column_sums(graph.features(), &central)
            .into_iter()
            .map(|sum| (sum > 0.0).then(|| sum.ln()))
            .collect();
        let columns = ImportanceScale::of(column.iter().flatten().copied());
        Importance { node, edges, column, columns }
    }

    /// The drop probability of an edge.
    pub(super) fn edge(&self, u: u32, v: u32, rate: f64, limit: f64) -> f64 {
        self.edges.probability((self.node[u as usize] + self.node[v as usize]) / 2.0, rate, limit)
    }

    /// The mask probability of each column.
    pub(super) fn columns(&self, rate: f64, limit: f64) -> impl Iterator<Item = f64> {
        let one = move |s: &Option<f64>| s.map_or(0.0, |s| self.columns.probability(s, rate, limit));
        self.column.iter().map(one)
    }
}

fn degrees(adjacency: &Csr) -> Vec<f64> {
    (0..adjacency.n_rows()).map(|node| adjacency.row(node).len() as f64).collect()
}

fn pagerank(adjacency: &Csr) -> Vec<f64> {
    const DAMPING: f64 = 0.85;
    let degree = degrees(adjacency);
    let mut rank = vec![1.0; adjacency.n_rows()];
    for _ in 0..10 {
        let given: Vec<f64> = rank.iter().zip(&degree).map(|(rank, degree)| rank / degree.max(1.0)).collect();
        let taken = |node: usize| adjacency.row(node).iter().map(|&from| given[from as usize]).sum::<f64>();
        rank = (0..rank.len()).map(|node| (1.0 - DAMPING) * rank[node] + DAMPING * taken(node)).collect();
    }
    rank
}

/// Σ_v |x_vc|·weight_v of each column c.
fn column_sums(features: &Features, weight: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; features.n_cols()];
    for (node, weight) in weight.iter().enumerate() {
        for (column, x) in features.row(node) {
            sums[column as usize] += f64::from(x).abs() * weight;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Dense, EdgeList, Ids};

    /// A star of four nodes with a tail, and an isolated node; only the tail has the second feature, no node the third.
    fn star() -> Graph {
        let pairs = vec![(0, 1), (0, 2), (0, 3), (3, 4)];
        let (adjacency, _) = EdgeList { pairs, weights: None }.into_adjacency(6).unwrap();
        let mut data = vec![0.0; 18];
        (0..6).for_each(|node| data[3 * node] = 1.0);
        data[3 * 4 + 1] = -1.0;
        Graph::new(adjacency, Features::Dense(Dense::from_parts(6, 3, data)), Ids::Numbered(6)).unwrap()
    }

    #[test]
    fn degrees_by_hand() {
        let importance = Importance::of(&star(), Centrality::Degree);
        // log φ is ln 3 at the center, ln 2 at node 3, 0 at the leaves.
        let s = [3f64.ln() / 2.0, 3f64.ln() / 2.0, 6f64.ln() / 2.0, 2f64.ln() / 2.0];
        let mean = s.iter().sum::<f64>() / 4.0;
        let expected = 0.2 * (s[2] - s[0]) / (s[2] - mean);
        assert!((importance.edge(0, 1, 0.2, 0.7) - expected).abs() < 1e-12);
        assert!(importance.edge(0, 3, 0.2, 0.7).abs() < 1e-12);
        assert!((importance.edge(3, 4, 0.9, 0.7) - 0.7).abs() < 1e-12);
        // The column sums are 3 + 1 + 1 + 2 + 1 = 8 and 1; an all-zero column is never masked.
        let columns: Vec<f64> = importance.columns(0.3, 0.7).collect();
        assert!(columns[0].abs() < 1e-12 && (columns[1] - 0.6).abs() < 1e-12 && columns[2].abs() < 1e-12);
    }

    #[test]
    fn pagerank_preserves_its_sum_and_favors_the_center() {
        let rank = pagerank(star().adjacency());
        assert!((rank[..5].iter().sum::<f64>() - 5.0).abs() < 1e-9);
        assert!((1..5).all(|node| rank[0] > rank[node]));
        let ring = (0..5).map(|u| (u, (u + 1) % 5)).collect();
        let (ring, _) = EdgeList { pairs: ring, weights: None }.into_adjacency(5).unwrap();
        assert!(pagerank(&ring).iter().all(|rank| (rank - 1.0).abs() < 1e-12));
    }
}
