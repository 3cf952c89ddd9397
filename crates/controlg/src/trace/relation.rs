//! A relation in the header of a record.

use serde::{Deserialize, Serialize};

/// A relation of the graph that is trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelationLine {
    /// The name with both ends, as in `author-writes-paper`.
    pub name: String,
    /// Number of edges.
    pub edges: usize,
    /// Its weight in the Rayleigh quotient.
    pub weight: f64,
}
