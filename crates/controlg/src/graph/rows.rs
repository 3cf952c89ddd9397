//! Where a graph's features are: in memory with it, or in their file.

use std::sync::Arc;

use super::{Features, Stored};

/// One row a node.
#[derive(Clone, Debug)]
pub(super) enum Rows {
    /// All of them in memory.
    Held(Arc<Features>),
    /// Read when they are asked for.
    Stored(Arc<Stored>),
}

impl Rows {
    pub(super) fn n_rows(&self) -> usize {
        match self {
            Rows::Held(features) => features.n_rows(),
            Rows::Stored(stored) => stored.n_rows(),
        }
    }

    pub(super) fn n_cols(&self) -> usize {
        match self {
            Rows::Held(features) => features.n_cols(),
            Rows::Stored(stored) => stored.n_cols(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Rows::Held(features) => features.memory_bytes(),
            Rows::Stored(stored) => stored.memory_bytes(),
        }
    }

    /// Whether both are the very same memory or file.
    pub(super) fn is(&self, other: &Rows) -> bool {
        match (self, other) {
            (Rows::Held(a), Rows::Held(b)) => Arc::ptr_eq(a, b),
            (Rows::Stored(a), Rows::Stored(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}
