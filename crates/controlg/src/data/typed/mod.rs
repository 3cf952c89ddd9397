//! Graphs with node types and relations: what readers return, and how it becomes a graph.

pub(super) mod heco;
pub(super) mod magnn;
pub(super) mod write;

use super::{Dataset, FeatureSource, Labels, RawDataset};
use crate::error::Result;
use crate::graph::{EdgeCounts, Features, Graph, Ids, Relation, Schema, TypedEdgeList, node_types};

/// The types and relations in a data set's files. Nodes are numbered type by type.
#[derive(Clone, Debug, Default)]
pub struct RawTypes {
    /// The node types.
    pub types: Vec<RawNodeType>,
    /// The relations.
    pub relations: Vec<RawRelation>,
}

/// A node type.
#[derive(Clone, Debug)]
pub struct RawNodeType {
    /// The name.
    pub name: String,
    /// Number of nodes.
    pub size: usize,
    /// One row per node, if the files have features of this type.
    pub features: Option<Features>,
}

/// A relation.
#[derive(Clone, Debug)]
pub struct RawRelation {
    /// Index of the source type.
    pub src: usize,
    /// The name.
    pub name: String,
    /// Index of the destination type.
    pub dst: usize,
    /// Whether an edge within one type differs from its reverse.
    pub directed: bool,
    /// (source, destination) of each edge, numbered within their types.
    pub pairs: Vec<(u32, u32)>,
}

impl RawTypes {
    /// The first node of a type.
    pub fn start(&self, node_type: usize) -> usize {
        self.types[..node_type].iter().map(|node_type| node_type.size).sum()
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.start(self.types.len())
    }

    /// Ids of all nodes from those of each type, such as `author:17`. A graph with one type keeps its ids.
    pub fn ids(&self, of_types: Vec<Ids>) -> Ids {
        match &of_types[..] {
            [alone] => alone.clone(),
            _ => {
                let named = self.types.iter().zip(&of_types);
                let names = named.flat_map(|(node_type, ids)| {
                    (0..ids.len()).map(|node| format!("{}:{}", node_type.name, ids.get(node)))
                });
                Ids::from_names(names.collect())
            }
        }
    }

    /// Labels of all nodes from those of one type.
    pub fn labels(&self, node_type: usize, labels: &Labels) -> Labels {
        let mut classes = vec![Labels::NONE; self.n_nodes()];
        let start = self.start(node_type);
        classes[start..start + labels.classes().len()].copy_from_slice(labels.classes());
        Labels::new(classes, labels.names().to_vec())
    }
}

impl RawDataset {
    /// The same data set with directed relations: an edge within one type then has a forward and a reverse direction. A
    /// homogeneous graph becomes one type, `node`, with one relation, `edge`.
    #[must_use]
    pub fn directed(mut self) -> RawDataset {
        let types = self.types.get_or_insert_with(|| {
            let (size, features) = (self.ids.len(), self.features.take());
            let pairs = std::mem::take(&mut self.edges.pairs);
            let relation = RawRelation { src: 0, name: "edge".to_owned(), dst: 0, directed: true, pairs };
            let node_type = RawNodeType { name: "node".to_owned(), size, features };
            RawTypes { types: vec![node_type], relations: vec![relation] }
        });
        types.relations.iter_mut().for_each(|relation| relation.directed = true);
        if self.edges.weights.take().is_some() {
            self.notes.push("edge weights are ignored: edges of relations have none".to_owned());
        }
        self
    }
}

/// Builds a data set with types: merges duplicates, drops self-loops, and puts the features side by side.
pub(super) fn assemble(
    name: String,
    format: &'static str,
    raw: RawDataset,
    source: FeatureSource,
) -> Result<Dataset> {
    let RawDataset { types, ids, labels, splits, mut notes, .. } = raw;
    let RawTypes { types, relations } = types.expect("a data set with types");
    let sizes: Vec<usize> = types.iter().map(|node_type| node_type.size).collect();
    let given: Vec<Option<Features>> = match source {
        FeatureSource::Given => types.iter().map(|node_type| node_type.features.clone()).collect(),
        FeatureSource::Structural => vec![None; types.len()],
    };
    let widths: Vec<Option<usize>> = given.iter().map(|given| given.as_ref().map(Features::n_cols)).collect();
    let names = types.into_iter().map(|node_type| node_type.name).collect();
    let (ends, pairs) = relations
        .into_iter()
        .map(|RawRelation { src, name, dst, directed, pairs }| (Relation { src, name, dst, directed }, pairs))
        .unzip();
    let schema = Schema::new(node_types(names, &sizes, &widths), ends)?;
    notes.extend(schema.types().iter().filter_map(feature_note));
    let (adjacency, relation_counts) = TypedEdgeList { schema, sizes, pairs }.into_adjacency()?;
    let mut edge_counts = EdgeCounts::default();
    for counts in &relation_counts {
        edge_counts.self_loops += counts.self_loops;
        edge_counts.duplicates += counts.duplicates;
        edge_counts.directed |= counts.directed;
    }
    let graph = Graph::typed(adjacency, &given, ids)?;
    Ok(Dataset { name, format, graph, labels, splits, edge_counts, relation_counts, notes })
}

/// Says which features a type without any gets.
fn feature_note(node_type: &crate::graph::NodeType) -> Option<String> {
    use crate::graph::TypeFeatures;
    let name = &node_type.name;
    match node_type.features {
        TypeFeatures::Given => None,
        TypeFeatures::OneHot => {
            Some(format!("{name}: no features are given; the encoder learns an embedding per node"))
        }
        TypeFeatures::Structural => {
            Some(format!("{name}: features are structural, computed from the edges alone"))
        }
    }
}
