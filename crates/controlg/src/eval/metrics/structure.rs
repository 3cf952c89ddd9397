//! How well a partition of the nodes fits the edges; no labels are needed.
//!
//! A node whose part is [`OUTSIDE`] does not count, nor do its edges.

use crate::graph::Graph;

/// The part of a node that is in none.
pub const OUTSIDE: u32 = u32::MAX;

/// Newman's modularity, Σ over the parts of (share of edge weight within) − (share of edge ends)²; 0 without edges.
pub fn modularity(graph: &Graph, parts: &[u32]) -> f64 {
    let volumes = Volumes::new(graph, parts);
    if volumes.total <= 0.0 {
        return 0.0;
    }
    let share = |x: f64| x / volumes.total;
    volumes.parts().map(|(all, within)| share(within) - share(all).powi(2)).sum()
}

/// The mean over the parts of (edge weight that leaves) / (edge ends inside, or outside where those are fewer).
/// Parts without edges, or with all of them, do not count; 0 where none counts. Lower is better.
pub fn conductance(graph: &Graph, parts: &[u32]) -> f64 {
    let volumes = Volumes::new(graph, parts);
    let mut values = Vec::new();
    for (all, within) in volumes.parts() {
        let smaller = all.min(volumes.total - all);
        if smaller > 0.0 {
            values.push((all - within) / smaller);
        }
    }
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The weight of edge ends, of all and of each part.
struct Volumes {
    total: f64,
    all: Vec<f64>,
    within: Vec<f64>,
}

impl Volumes {
    fn new(graph: &Graph, parts: &[u32]) -> Self {
        assert_eq!(parts.len(), graph.n_nodes(), "one part for each node");
        let inside = |part: u32| part != OUTSIDE;
        let n_parts = parts.iter().filter(|&&part| inside(part)).max().map_or(0, |&part| part as usize + 1);
        let mut volumes = Volumes { total: 0.0, all: vec![0.0; n_parts], within: vec![0.0; n_parts] };
        for (node, &part) in parts.iter().enumerate().filter(|(_, part)| inside(**part)) {
            let edges = graph.adjacency().entries(node).filter(|(other, _)| inside(parts[*other as usize]));
            for (other, weight) in edges {
                let weight = f64::from(weight);
                volumes.total += weight;
                volumes.all[part as usize] += weight;
                if parts[other as usize] == part {
                    volumes.within[part as usize] += weight;
                }
            }
        }
        volumes
    }

    fn parts(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
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
    fn values_by_hand() {
        let graph = triangles();
        let halves = [0, 0, 0, 1, 1, 1];
        assert!((modularity(&graph, &halves) - 2.0 * (6.0 / 14.0 - 0.25)).abs() < 1e-12);
        assert!((conductance(&graph, &halves) - 1.0 / 7.0).abs() < 1e-12);
        assert!(modularity(&graph, &[0; 6]).abs() < 1e-12);
        assert!(conductance(&graph, &[0; 6]).abs() < 1e-12);
        // Without node 5 one side is a path of two edges.
        let rest = [0, 0, 0, 1, 1, OUTSIDE];
        assert!((conductance(&graph, &rest) - 1.0 / 3.0).abs() < 1e-12, "{}", conductance(&graph, &rest));
    }
}
