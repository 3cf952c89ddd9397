//! Graph statistics: degrees, connected components, homophily.

use super::Graph;

/// Summary of the node degrees.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Degrees {
    /// Minimum.
    pub min: usize,
    /// Median (the lower one of two).
    pub median: usize,
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: usize,
}

/// Summary of the node degrees.
pub fn degrees(graph: &Graph) -> Degrees {
    summary((0..graph.n_nodes()).map(|node| graph.degree(node)).collect())
}

/// Summary of at least one degree.
pub(crate) fn summary(mut degrees: Vec<usize>) -> Degrees {
    degrees.sort_unstable();
    let n = degrees.len();
    Degrees {
        min: degrees[0],
        median: degrees[(n - 1) / 2],
        mean: degrees.iter().sum::<usize>() as f64 / n as f64,
        max: degrees[n - 1],
    }
}

/// Number of isolated nodes.
pub fn isolated(graph: &Graph) -> usize {
    (0..graph.n_nodes()).filter(|&node| graph.degree(node) == 0).count()
}

/// Number of connected components, isolated nodes included.
pub fn components(graph: &Graph) -> usize {
    let mut seen = vec![false; graph.n_nodes()];
    let mut stack = Vec::new();
    let mut count = 0;
    for start in 0..graph.n_nodes() {
        if seen[start] {
            continue;
        }
        count += 1;
        seen[start] = true;
        stack.push(start as u32);
        while let Some(node) = stack.pop() {
            for &next in graph.neighbors(node as usize) {
                if !std::mem::replace(&mut seen[next as usize], true) {
                    stack.push(next);
                }
            }
        }
    }
    count
}

/// Edge homophily: the fraction of edges between labeled nodes that connect nodes of the same class. `None` if there are no
/// such edges.
pub fn homophily(graph: &Graph, class: impl Fn(usize) -> Option<u32>) -> Option<f64> {
    let (mut same, mut labeled) = (0usize, 0usize);
    for (u, v) in graph.edges() {
        if let (Some(a), Some(b)) = (class(u as usize), class(v as usize)) {
            labeled += 1;
            same += usize::from(a == b);
        }
    }
    (labeled > 0).then(|| same as f64 / labeled as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Dense, EdgeList, Features, Ids};

    #[test]
    fn statistics_of_a_path_and_an_isolated_node() {
        let list = EdgeList { pairs: vec![(0, 1), (1, 2)], weights: None };
        let features = Features::Dense(Dense::from_parts(4, 1, vec![0.0; 4]));
        let graph = Graph::new(list.into_adjacency(4).unwrap().0, features, Ids::Numbered(4)).unwrap();
        assert_eq!(degrees(&graph), Degrees { min: 0, median: 1, mean: 1.0, max: 2 });
        assert_eq!((isolated(&graph), components(&graph)), (1, 2));
        let class = |node: usize| [Some(0), Some(0), Some(1), None][node];
        assert_eq!(homophily(&graph, class), Some(0.5));
        assert_eq!(homophily(&graph, |_| None), None);
    }
}
