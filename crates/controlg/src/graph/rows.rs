//! A graph's features, in memory or on disk.

use std::sync::Arc;

use super::{Features, StoredFeatures};

/// One row of features per node.
#[derive(Clone, Debug)]
pub(super) enum FeatureRows {
    /// All rows in memory.
    InMemory(Arc<Features>),
    /// Rows read from disk when needed.
    Stored(Arc<StoredFeatures>),
}

impl FeatureRows {
    pub(super) fn n_rows(&self) -> usize {
        match self {
            FeatureRows::InMemory(features) => features.n_rows(),
            FeatureRows::Stored(stored) => stored.n_rows(),
        }
    }

    pub(super) fn n_cols(&self) -> usize {
        match self {
            FeatureRows::InMemory(features) => features.n_cols(),
            FeatureRows::Stored(stored) => stored.n_cols(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            FeatureRows::InMemory(features) => features.memory_bytes(),
            FeatureRows::Stored(stored) => stored.memory_bytes(),
        }
    }

    /// Whether both share the same memory or file.
    pub(super) fn is(&self, other: &FeatureRows) -> bool {
        match (self, other) {
            (FeatureRows::InMemory(a), FeatureRows::InMemory(b)) => Arc::ptr_eq(a, b),
            (FeatureRows::Stored(a), FeatureRows::Stored(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}
