//! Small graphs and seeded random numbers.

use controlg::Real;
use controlg::graph::{Csr, Dense, EdgeList, Features, Graph, Ids};
use controlg::rng::Stream;

/// Standard normal random numbers.
pub fn numbers(seed: u64, len: usize) -> Vec<Real> {
    let mut stream = Stream::new(seed, "test", "numbers", 0);
    (0..len).map(|_| stream.normal() as Real).collect()
}

/// The edges of twelve nodes: a ring with chords, and two isolated nodes.
pub fn edges() -> Vec<(u32, u32)> {
    let mut pairs: Vec<(u32, u32)> = (0..10).map(|u| (u, (u + 1) % 10)).collect();
    pairs.extend([(0, 5), (2, 7), (3, 9), (1, 4)]);
    pairs
}

/// A graph with these edges and features.
pub fn graph(edges: Vec<(u32, u32)>, features: Features) -> Graph {
    let n = features.n_rows();
    let (adjacency, _) = EdgeList { pairs: edges, weights: None }.into_adjacency(n).unwrap();
    Graph::new(adjacency, features, Ids::Numbered(n)).expect("a valid graph")
}

/// Dense features of twelve nodes.
pub fn dense_features(width: usize) -> Features {
    Features::dense(12, width, numbers(1, 12 * width)).unwrap()
}

/// Sparse features of twelve nodes; node 4 has none.
pub fn sparse_features(width: usize) -> Features {
    let mut stream = Stream::new(2, "test", "features", 0);
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for node in 0..12 {
        for column in 0..width as u32 {
            if node != 4 && stream.uniform() < 0.4 {
                columns.push(column);
                values.push(stream.normal() as Real);
            }
        }
        offsets.push(columns.len());
    }
    Features::sparse(width, offsets, columns, Some(values)).unwrap()
}

/// The same features as a dense matrix.
pub fn spread(features: &Features) -> Features {
    let (n, width) = (features.n_rows(), features.n_cols());
    let mut data = vec![0.0; n * width];
    for node in 0..n {
        features.row(node).into_iter().for_each(|(column, x)| data[node * width + column as usize] = x);
    }
    Features::dense(n, width, data).unwrap()
}
