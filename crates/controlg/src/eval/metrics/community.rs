//! Community quality of a clustering of the nodes; no labels are needed.
//!
//! Nodes in the cluster [`UNASSIGNED`] and their edges are ignored.

use crate::graph::Graph;

/// Cluster of nodes that are ignored.
pub const UNASSIGNED: u32 = u32::MAX;

/// Newman's modularity: Σ over clusters of (fraction of edge weight inside) − (fraction of volume)²; 0 without edges.
pub fn modularity(graph: &Graph, clusters: &[u32]) -> f64 {
    let volumes = ClusterVolumes::new(graph, clusters);
    if volumes.total <= 0.0 {
        return 0.0;
    }
    let share = |x: f64| x / volumes.total;
    volumes.clusters().map(|(all, within)| share(within) - share(all).powi(2)).sum()
}

/// Mean conductance of the clusters: cut weight / min(volume, volume of the rest). Clusters without edges or with all
/// edges are skipped; 0 if all are. Lower is better.
pub fn conductance(graph: &Graph, clusters: &[u32]) -> f64 {
    let volumes = ClusterVolumes::new(graph, clusters);
    let mut values = Vec::new();
    for (all, within) in volumes.clusters() {
        let smaller = all.min(volumes.total - all);
        if smaller > 0.0 {
            values.push((all - within) / smaller);
        }
    }
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Total volume, and volume and inner weight of each cluster.
struct ClusterVolumes {
    total: f64,
    all: Vec<f64>,
    within: Vec<f64>,
}

impl ClusterVolumes {
    fn new(graph: &Graph, clusters: &[u32]) -> Self {
        assert_eq!(clusters.len(), graph.n_nodes(), "one cluster per node");
        let inside = |cluster: u32| cluster != UNASSIGNED;
        let n_clusters = clusters
            .iter()
            .filter(|&&cluster| inside(cluster))
            .max()
            .map_or(0, |&cluster| cluster as usize + 1);
        let mut volumes =
            ClusterVolumes { total: 0.0, all: vec![0.0; n_clusters], within: vec![0.0; n_clusters] };
        for (node, &cluster) in clusters.iter().enumerate().filter(|(_, cluster)| inside(**cluster)) {
            let edges =
                graph.adjacency().entries(node).filter(|(other, _)| inside(clusters[*other as usize]));
            for (other, weight) in edges {
                let weight = f64::from(weight);
                volumes.total += weight;
                volumes.all[cluster as usize] += weight;
                if clusters[other as usize] == cluster {
                    volumes.within[cluster as usize] += weight;
                }
            }
        }
        volumes
    }

    fn clusters(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.all.iter().copied().zip(self.within.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Dense, EdgeList, Features, Ids};

    /// Two triangles joined by an edge.
    fn triangles() -> Graph {
        let pairs = vec![(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)];
        let features = Features::Dense(Dense::from_parts(6, 1, vec![1.0; 6]));
        let (adjacency, _) = EdgeList { pairs, weights: None }.into_adjacency(6).unwrap();
        Graph::new(adjacency, features, Ids::Numbered(6)).unwrap()
    }

    #[test]
    fn matches_values_computed_by_hand() {
        let graph = triangles();
        let halves = [0, 0, 0, 1, 1, 1];
        assert!((modularity(&graph, &halves) - 2.0 * (6.0 / 14.0 - 0.25)).abs() < 1e-12);
        assert!((conductance(&graph, &halves) - 1.0 / 7.0).abs() < 1e-12);
        assert!(modularity(&graph, &[0; 6]).abs() < 1e-12);
        assert!(conductance(&graph, &[0; 6]).abs() < 1e-12);
        // Without node 5 the second cluster is a single edge.
        let rest = [0, 0, 0, 1, 1, UNASSIGNED];
        assert!((conductance(&graph, &rest) - 1.0 / 3.0).abs() < 1e-12, "{}", conductance(&graph, &rest));
    }
}
