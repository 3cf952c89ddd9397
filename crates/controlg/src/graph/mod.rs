//! The graph that everything works on: who is connected to whom, what is known of each node, and its own name.
//!
//! A [`Graph`] has no labels and no splits. Pretraining takes a `Graph`, so it cannot see what it will be judged by.

mod build;
mod csr;
pub mod diffusion;
mod features;
mod fingerprint;
mod ids;
pub mod norm;
mod operand;
pub mod partition;
mod rows;
mod spectral;
pub mod stats;
mod stored;
pub mod structural;
mod subgraph;
pub mod view;

pub use build::{EdgeCounts, EdgeList};
pub use csr::Csr;
pub use features::{Dense, Features};
pub use ids::Ids;
pub use norm::{GcnRows, Operator, OperatorRows};
pub use operand::Operand;
pub use spectral::Laplacian;
pub use stored::{Stored, StoredLayout};
pub use subgraph::{Subgraph, SubgraphBuilder};
pub use view::{EdgeDropper, EncoderInput, NodeSet, View};

use std::sync::Arc;

use crate::error::{Error, Result};
use rows::FeatureRows;

/// An undirected graph with node features.
///
/// The adjacency is symmetric, each row sorted, without duplicates and without self loops; its values, where it
/// has any, are positive edge weights. Copies share what they have in common: a clone costs nothing.
///
/// The features of a graph from a binary folder stay in their file ([`Stored`]): whoever needs all of them asks for a
/// [`Graph::resident`] copy first, whoever needs some for [`Graph::rows`].
#[derive(Clone, Debug)]
pub struct Graph {
    adjacency: Arc<Csr>,
    features: FeatureRows,
    /// Whether the features say nothing but what the edges say, so that other edges make others.
    features_from_edges: bool,
    ids: Arc<Ids>,
}

impl Graph {
    /// Puts the three parts together after checking that they speak of the same nodes.
    pub fn new(adjacency: Csr, features: Features, ids: Ids) -> Result<Self> {
        Graph::of_parts(Arc::new(adjacency), FeatureRows::InMemory(Arc::new(features)), Arc::new(ids))
    }

    /// The same with features that stay in their file.
    pub fn stored(adjacency: Csr, features: Stored, ids: Ids) -> Result<Self> {
        Graph::of_parts(Arc::new(adjacency), FeatureRows::Stored(Arc::new(features)), Arc::new(ids))
    }

    /// A graph of which nothing but the edges is known: its features are [`structural`].
    pub fn structural(adjacency: Csr, ids: Ids) -> Result<Self> {
        let features = structural::features(&adjacency);
        Ok(Graph::new(adjacency, features, ids)?.with_features_from_edges(true))
    }

    fn of_parts(adjacency: Arc<Csr>, features: FeatureRows, ids: Arc<Ids>) -> Result<Self> {
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
        Ok(Graph { adjacency, features, features_from_edges: false, ids })
    }

    /// Whether its features were made of its edges.
    pub fn has_features_from_edges(&self) -> bool {
        self.features_from_edges
    }

    /// The same, with a word on whether its features were made of its edges.
    pub(crate) fn with_features_from_edges(self, features_from_edges: bool) -> Self {
        Graph { features_from_edges, ..self }
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
    ///
    /// # Panics
    /// When the features stay in their file: a mistake of the caller, who asks for [`Graph::resident`] first.
    pub fn features(&self) -> &Features {
        match &self.features {
            FeatureRows::InMemory(features) => features,
            FeatureRows::Stored(stored) => {
                panic!("the features of {} stay in their file", stored.path().display())
            }
        }
    }

    /// The features that stay in their file, where they do.
    pub fn stored_features(&self) -> Option<&Stored> {
        match &self.features {
            FeatureRows::InMemory(_) => None,
            FeatureRows::Stored(stored) => Some(stored),
        }
    }

    /// What is known of some nodes, in their order.
    pub fn rows(&self, nodes: &[u32]) -> Result<Features> {
        match &self.features {
            FeatureRows::InMemory(features) => Ok(features.rows(nodes)),
            FeatureRows::Stored(stored) => stored.rows(nodes),
        }
    }

    /// The same graph with all features in memory.
    pub fn resident(&self) -> Result<Graph> {
        match &self.features {
            FeatureRows::InMemory(_) => Ok(self.clone()),
            FeatureRows::Stored(stored) => {
                let all: Vec<u32> = (0..self.n_nodes() as u32).collect();
                let features = FeatureRows::InMemory(Arc::new(stored.rows(&all)?));
                let graph = Graph::of_parts(self.adjacency.clone(), features, self.ids.clone())?;
                Ok(graph.with_features_from_edges(self.features_from_edges))
            }
        }
    }

    /// The nodes' names as they came in.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The neighbors of a node, in ascending order.
    pub fn neighbors(&self, node: usize) -> &[u32] {
        self.adjacency.row(node)
    }

    /// Number of neighbors of a node.
    pub fn degree(&self, node: usize) -> usize {
        self.neighbors(node).len()
    }

    /// Every undirected edge once, as (smaller, larger), in ascending order.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.n_nodes() as u32)
            .flat_map(|u| self.neighbors(u as usize).iter().filter(move |&&v| u < v).map(move |&v| (u, v)))
    }

    /// The same nodes and features with other edges between them. Features that were made of the edges are made again, of
    /// these: they would tell of the others.
    pub fn with_adjacency(&self, adjacency: Csr) -> Result<Self> {
        if self.features_from_edges {
            return Graph::structural(adjacency, Ids::clone(&self.ids));
        }
        Graph::of_parts(Arc::new(adjacency), self.features.clone(), self.ids.clone())
    }

    /// The same nodes and edges with other features.
    pub fn with_features(self, features: Features) -> Result<Self> {
        Graph::of_parts(self.adjacency, FeatureRows::InMemory(Arc::new(features)), self.ids)
    }

    /// The same with other features that stay in their file.
    pub fn with_stored(self, features: Stored) -> Result<Self> {
        Graph::of_parts(self.adjacency, FeatureRows::Stored(Arc::new(features)), self.ids)
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        self.adjacency.memory_bytes() + self.features.memory_bytes() + self.ids.memory_bytes()
    }

    /// Bytes held in memory that another graph does not hold already.
    pub fn memory_bytes_beside(&self, other: &Graph) -> usize {
        let edges =
            if Arc::ptr_eq(&self.adjacency, &other.adjacency) { 0 } else { self.adjacency.memory_bytes() };
        let features = if self.features.is(&other.features) { 0 } else { self.features.memory_bytes() };
        edges + features
    }
}
