//! The graph that everything works on: who is connected to whom, what is known of each node, and its own name.
//!
//! A [`Graph`] has no labels and no splits. Pretraining takes a `Graph`, so it cannot see what it will be judged by.

mod build;
mod csr;
pub mod diffusion;
mod features;
mod fingerprint;
mod held;
mod ids;
pub mod norm;
pub mod partition;
mod spectral;
pub mod stats;
pub mod structural;
mod subgraph;
pub mod view;

pub use build::{EdgeList, Tally};
pub use csr::Csr;
pub use features::{Dense, Features};
pub use held::Held;
pub use ids::Ids;
pub use norm::Operator;
pub use spectral::Laplacian;
pub use subgraph::Subgraph;
pub use view::{EdgeDropper, NodeSet, Prepared, View};

use crate::error::{Error, Result};

/// An undirected graph with node features.
///
/// The adjacency is symmetric, each row sorted, without duplicates and without self loops; its values, where it
/// has any, are positive edge weights.
#[derive(Clone, Debug)]
pub struct Graph {
    adjacency: Csr,
    features: Features,
    ids: Ids,
}

impl Graph {
    /// Puts the three parts together after checking that they speak of the same nodes.
    pub fn new(adjacency: Csr, features: Features, ids: Ids) -> Result<Self> {
        let n = adjacency.n_rows();
        if n == 0 {
            return Err(Error::value("graph", "no nodes", "at least one node"));
        }
        if features.n_rows() != n {
            return Err(Error::value(
                "features",
                format_args!("{} rows", features.n_rows()),
                format_args!("{n}, one for each node"),
            ));
        }
        if ids.len() != n {
            return Err(Error::value("ids", ids.len(), format_args!("{n}, one for each node")));
        }
        debug_assert!(adjacency.is_simple_undirected());
        Ok(Graph { adjacency, features, ids })
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.adjacency.n_rows()
    }

    /// Number of undirected edges, each pair counted once.
    pub fn n_edges(&self) -> usize {
        self.adjacency.n_entries() / 2
    }

    /// Width of the features.
    pub fn n_features(&self) -> usize {
        self.features.n_cols()
    }

    /// The symmetric adjacency without self loops.
    pub fn adjacency(&self) -> &Csr {
        &self.adjacency
    }

    /// What is known of each node.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The nodes' names as they came in.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The neighbours of a node, in ascending order.
    pub fn neighbours(&self, node: usize) -> &[u32] {
        self.adjacency.row(node)
    }

    /// Number of neighbours of a node.
    pub fn degree(&self, node: usize) -> usize {
        self.neighbours(node).len()
    }

    /// Every undirected edge once, as (smaller, larger), in ascending order.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.n_nodes() as u32)
            .flat_map(|u| self.neighbours(u as usize).iter().filter(move |&&v| u < v).map(move |&v| (u, v)))
    }

    /// The same nodes and features with other edges between them.
    pub fn with_adjacency(&self, adjacency: Csr) -> Result<Self> {
        Graph::new(adjacency, self.features.clone(), self.ids.clone())
    }

    /// The same nodes and edges with other features.
    pub fn with_features(self, features: Features) -> Result<Self> {
        Graph::new(self.adjacency, features, self.ids)
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        self.adjacency.memory_bytes() + self.features.memory_bytes() + self.ids.memory_bytes()
    }
}
