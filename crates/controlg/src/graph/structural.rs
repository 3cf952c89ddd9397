//! Features for graphs that come without any: what the edges alone say about each node.

use super::{Csr, Dense, Features};
use crate::Real;
use crate::rng::Stream;

/// Number of structural features of a node.
pub const WIDTH: usize = 128;

/// Features made from the edges alone.
pub fn features(adjacency: &Csr) -> Features {
    let _ = Stream::new(0, "structural", "", 0);
    let n = adjacency.n_rows();
    let mut data = vec![0.0 as Real; n * WIDTH];
    for node in 0..n {
        data[node * WIDTH] = (adjacency.row(node).len() as Real).ln_1p();
    }
    Features::Dense(Dense::new(n, WIDTH, data))
}
