//! Graphs: adjacency, node features and node ids, and the matrices and subgraphs derived from them.
//!
//! A [`Graph`] has no labels and no splits. Pretraining takes a `Graph`, so it cannot see the evaluation data.

mod adjacency;
mod block_features;
mod build;
mod columns;
mod csr;
pub mod diffusion;
mod feature_kind;
mod features;
mod fingerprint;
mod hop_signal;
mod ids;
mod meta_paths;
pub mod norm;
mod operand;
mod operator;
pub mod partition;
mod relations;
mod rows;
mod smooth;
mod spectral;
pub mod stats;
mod stored;
pub mod structural;
mod subgraph;
mod subspace;
mod typed_edges;
pub mod view;

pub use adjacency::Adjacency;
pub use block_features::{ONE_HOT_UP_TO, node_types};
pub use build::{EdgeCounts, EdgeList};
pub(crate) use columns::name_problem;
pub use csr::Csr;
pub use feature_kind::FeatureKind;
pub use features::{Dense, Features};
pub(crate) use hop_signal::HopWeights;
pub use ids::Ids;
pub(crate) use meta_paths::MetaPath;
pub use operand::Operand;
pub use operator::{LazyOperator, Operator, OperatorKind, OperatorRows, OperatorSpec};
pub use relations::{Direction, NodeType, Relation, Relations, Schema, TypeFeatures};
pub(crate) use smooth::Smoothing;
pub use spectral::Laplacian;
pub use stored::StoredFeatures;
pub use subgraph::{Subgraph, SubgraphBuilder};
pub(crate) use subspace::{leading_subspace, project};
pub use typed_edges::TypedEdgeList;
pub use view::{EdgeDropper, EncoderInput, NodeSet, View};

pub use crate::rowfile::{BLOCK_BYTES, BlockHash};

use std::sync::Arc;

use crate::error::{Error, Result};
use rows::FeatureRows;

/// An undirected graph with node features.
///
/// Cloning is cheap: clones share the adjacency, the features and the ids.
///
/// The features of a graph loaded from a binary folder can stay on disk ([`StoredFeatures`]). [`Graph::resident`] reads
/// all of them into memory, [`Graph::rows`] reads some.
///
/// ```
/// use controlg::graph::{Features, Graph};
///
/// // A triangle with a pendant node, two features per node.
/// let features = Features::dense(4, 2, vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0])?;
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], features)?;
/// assert_eq!((graph.n_nodes(), graph.n_edges(), graph.n_features()), (4, 4, 2));
/// assert_eq!(graph.neighbors(2), [0, 1, 3]);
/// # Ok::<(), controlg::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Graph {
    adjacency: Arc<Adjacency>,
    features: FeatureRows,
    /// Whether the features are computed from the edges, so that they change with the edges.
    features_from_edges: bool,
    ids: Arc<Ids>,
    /// The names of the feature columns.
    feature_names: Option<Arc<[String]>>,
}

impl Graph {
    /// A graph on nodes `0..n_nodes` from an edge list.
    ///
    /// Every edge counts in both directions. Self-loops and duplicates are dropped. For edge weights or node names, use
    /// [`EdgeList::into_adjacency`] and [`Graph::new`].
    ///
    /// # Errors
    /// If a node id is not below `n_nodes`, or if the features are not one row of finite numbers per node.
    ///
    /// ```
    /// use controlg::graph::{Features, Graph};
    ///
    /// let features = Features::dense(3, 1, vec![0.1, 0.2, 0.3])?;
    /// let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], features.clone())?;
    /// assert_eq!(graph.n_edges(), 2);
    ///
    /// let error = Graph::from_edges(3, &[(0, 1), (1, 3)], features).unwrap_err();
    /// assert_eq!(error.to_string(), "edge 1: found (1, 3), expected node ids below 3");
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn from_edges(n_nodes: usize, edges: &[(u32, u32)], features: Features) -> Result<Self> {
        let edges = EdgeList { pairs: edges.to_vec(), weights: None };
        Graph::new(edges.into_adjacency(n_nodes)?.0, features, Ids::Numbered(n_nodes))
    }

    /// A graph from its adjacency, features and node ids.
    ///
    /// # Errors
    /// If there are no nodes, if the three parts disagree on the number of nodes, or if a feature is NaN or infinite.
    ///
    /// ```
    /// use controlg::graph::{Adjacency, Csr, Features, Graph, Ids};
    ///
    /// let adjacency = Adjacency::new(Csr::new(2, vec![0, 1, 2], vec![1, 0], Some(vec![0.5, 0.5]))?)?;
    /// let ids = Ids::from_names(vec!["ada".into(), "grace".into()]);
    /// let graph = Graph::new(adjacency, Features::dense(2, 1, vec![1.0, 2.0])?, ids)?;
    /// assert_eq!(graph.ids().get(1), "grace");
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn new(adjacency: Adjacency, features: Features, ids: Ids) -> Result<Self> {
        features.check_finite()?;
        Graph::of_parts(Arc::new(adjacency), FeatureRows::InMemory(Arc::new(features)), Arc::new(ids))
    }

    /// A graph whose features stay on disk.
    ///
    /// # Errors
    /// As for [`Graph::new`]. Feature values are checked when they are read.
    pub fn stored(adjacency: Adjacency, features: StoredFeatures, ids: Ids) -> Result<Self> {
        Graph::of_parts(Arc::new(adjacency), FeatureRows::Stored(Arc::new(features)), Arc::new(ids))
    }

    /// A graph without given features: it gets [`structural`] ones, computed from the edges.
    pub fn structural(adjacency: Adjacency, ids: Ids) -> Result<Self> {
        let features = structural::features(&adjacency);
        Ok(Graph::new(adjacency, features, ids)?.with_features_from_edges(true))
    }

    /// A graph whose features are known to be finite.
    fn of_parts(adjacency: Arc<Adjacency>, features: FeatureRows, ids: Arc<Ids>) -> Result<Self> {
        let n = adjacency.n_rows();
        if n == 0 {
            return Err(Error::value("graph", "no nodes", "at least one node"));
        }
        if features.n_rows() != n {
            let found = format!("{} rows", features.n_rows());
            return Err(Error::value("features", found, format_args!("{n}, one per node")));
        }
        if ids.len() != n {
            return Err(Error::value("ids", ids.len(), format_args!("{n}, one per node")));
        }
        Ok(Graph { adjacency, features, features_from_edges: false, ids, feature_names: None })
    }

    /// Whether the features are structural, that is, computed from the edges.
    pub fn has_features_from_edges(&self) -> bool {
        self.features_from_edges
    }

    /// Sets the structural-features flag.
    pub(crate) fn with_features_from_edges(self, features_from_edges: bool) -> Self {
        Graph { features_from_edges, ..self }
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.adjacency.n_rows()
    }

    /// Number of undirected edges.
    pub fn n_edges(&self) -> usize {
        self.adjacency.n_entries() / 2
    }

    /// Number of features per node.
    pub fn n_features(&self) -> usize {
        self.features.n_cols()
    }

    /// The adjacency matrix.
    pub fn adjacency(&self) -> &Adjacency {
        &self.adjacency
    }

    /// The node types and relations; `None` for a homogeneous graph.
    pub fn relations(&self) -> Option<&Relations> {
        self.adjacency.relations()
    }

    /// The node types and relations, if there are several: then pairs of nodes differ in kind.
    pub fn several_relations(&self) -> Option<&Relations> {
        let count =
            |relations: &Relations| relations.schema().types().len() + relations.schema().relations().len();
        self.relations().filter(|relations| count(relations) > 2)
    }

    /// The feature matrix.
    ///
    /// # Panics
    /// If the features are on disk. Call [`Graph::resident`] first.
    pub fn features(&self) -> &Features {
        match &self.features {
            FeatureRows::InMemory(features) => features,
            FeatureRows::Stored(stored) => {
                panic!("the features in {} are not in memory", stored.path().display())
            }
        }
    }

    /// The features on disk; `None` if they are in memory.
    pub fn stored_features(&self) -> Option<&StoredFeatures> {
        match &self.features {
            FeatureRows::InMemory(_) => None,
            FeatureRows::Stored(stored) => Some(stored),
        }
    }

    /// Whether the features are sparse.
    pub fn has_sparse_features(&self) -> bool {
        match &self.features {
            FeatureRows::InMemory(features) => matches!(**features, Features::Sparse(_)),
            FeatureRows::Stored(stored) => stored.is_sparse(),
        }
    }

    /// The features of selected nodes, in the given order.
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
                let graph = graph.named_like(self.feature_names.clone());
                Ok(graph.with_features_from_edges(self.features_from_edges))
            }
        }
    }

    /// The node ids, as given in the input.
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

    /// The same nodes and features with other edges. Structural features are computed again from the new edges, so that
    /// they reveal nothing about the old ones.
    ///
    /// A graph with types keeps the relations of the edges that remain; its new edges must be among the old ones.
    pub fn with_adjacency(&self, adjacency: Adjacency) -> Result<Self> {
        let adjacency = adjacency.with_relations_of(&self.adjacency);
        if self.features_from_edges
            && adjacency.relations().is_some_and(|relations| relations.schema().types().len() > 1)
        {
            return self.with_structural_blocks(adjacency);
        }
        if self.features_from_edges {
            return Graph::structural(adjacency, Ids::clone(&self.ids));
        }
        let graph = Graph::of_parts(Arc::new(adjacency), self.features.clone(), self.ids.clone())?;
        Ok(graph.named_like(self.feature_names.clone()))
    }

    /// The same nodes and edges with other features.
    pub fn with_features(self, features: Features) -> Result<Self> {
        features.check_finite()?;
        let features = FeatureRows::InMemory(Arc::new(features));
        Ok(Graph::of_parts(self.adjacency, features, self.ids)?.named_like(self.feature_names))
    }

    /// The same nodes and edges with features that stay on disk.
    pub fn with_stored(self, features: StoredFeatures) -> Result<Self> {
        let features = FeatureRows::Stored(Arc::new(features));
        Ok(Graph::of_parts(self.adjacency, features, self.ids)?.named_like(self.feature_names))
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        self.adjacency.memory_bytes() + self.features.memory_bytes() + self.ids.memory_bytes()
    }

    /// Bytes held in memory that are not shared with another graph.
    pub fn memory_bytes_beside(&self, other: &Graph) -> usize {
        let edges =
            if Arc::ptr_eq(&self.adjacency, &other.adjacency) { 0 } else { self.adjacency.memory_bytes() };
        let features = if self.features.is(&other.features) { 0 } else { self.features.memory_bytes() };
        edges + features
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Real;

    fn triangle(features: Features) -> Result<Graph> {
        Graph::from_edges(3, &[(0, 1), (1, 2), (2, 0), (0, 0), (1, 0)], features)
    }

    #[test]
    fn from_edges_drops_self_loops_and_duplicates() {
        let graph = triangle(Features::dense(3, 1, vec![1.0, 2.0, 3.0]).unwrap()).unwrap();
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 2)]);
    }

    #[test]
    fn parts_that_disagree_on_the_number_of_nodes_are_errors() {
        let features = Features::dense(2, 1, vec![1.0, 2.0]).unwrap();
        let message = triangle(features.clone()).unwrap_err().to_string();
        assert_eq!(message, "features: found 2 rows, expected 3, one per node");
        let adjacency = Adjacency::new(Csr::empty(2, 2)).unwrap();
        let message = Graph::new(adjacency, features, Ids::Numbered(3)).unwrap_err().to_string();
        assert_eq!(message, "ids: found 3, expected 2, one per node");
        let nothing = Features::dense(0, 1, vec![]).unwrap();
        assert!(Graph::from_edges(0, &[], nothing).unwrap_err().to_string().contains("no nodes"));
        let message = Features::dense(2, 2, vec![1.0; 3]).unwrap_err().to_string();
        assert_eq!(message, "dense matrix: found 3 numbers, expected 2 × 2, one per row and column");
    }

    #[test]
    fn nan_and_infinite_features_are_errors() {
        for bad in [Real::NAN, Real::NEG_INFINITY] {
            let dense = Features::dense(3, 2, vec![1.0, 1.0, 1.0, bad, 1.0, 1.0]).unwrap();
            let expected = format!("features, row 1, column 1: found {bad}, expected a finite number");
            assert_eq!(triangle(dense.clone()).unwrap_err().to_string(), expected);
            let graph = triangle(Features::dense(3, 1, vec![1.0; 3]).unwrap()).unwrap();
            assert_eq!(graph.with_features(dense).unwrap_err().to_string(), expected);
            let sparse = Features::sparse(9, vec![0, 1, 1, 3], vec![4, 0, 8], Some(vec![1.0, 2.0, bad]));
            let message = triangle(sparse.unwrap()).unwrap_err().to_string();
            assert!(message.contains("features, row 2, column 8"), "{message}");
        }
    }
}
