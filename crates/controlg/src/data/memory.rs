//! Graphs from arrays in memory, checked like graphs from files.

use std::path::Path;

use super::arrays::{Array, ArrayData, CsrParts};
use super::{
    Dataset, FeatureSource, Labels, RawDataset, RawNodeType, RawRelation, RawTypes, Split, assemble,
};
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::{Dense, EdgeList, Features, Ids};

/// The name of the features in errors.
const FEATURES: &str = "X";

/// A graph as arrays from another library.
#[derive(Clone, Debug, Default)]
pub struct GraphArrays {
    /// Number of nodes. Default: the number of feature rows or ids, else the largest endpoint plus one.
    pub n_nodes: Option<usize>,
    /// (source, target) of each edge. Duplicates, both directions and self-loops are allowed; see
    /// [`EdgeList::into_adjacency`] for their weights.
    pub edges: Vec<(i64, i64)>,
    /// One positive weight per edge.
    pub weights: Option<Vec<Real>>,
    /// Node features; structural ones are computed if there are none.
    pub features: Option<Features>,
    /// The names of the feature columns. Names that are not distinct are left out, with a note.
    pub feature_names: Option<Vec<String>>,
    /// Node ids. Default: 0, 1, 2, ….
    pub ids: Option<Vec<String>>,
}

impl GraphArrays {
    /// Checks the arrays and builds a data set.
    pub fn into_dataset(self, name: &str, source: FeatureSource) -> Result<Dataset> {
        assemble(name.to_owned(), "arrays", self.into_raw()?, source)
    }

    /// [`GraphArrays::into_dataset`] that keeps the direction of the edges: one node type with one directed relation.
    pub fn into_directed(self, name: &str, source: FeatureSource) -> Result<Dataset> {
        assemble(name.to_owned(), "arrays", self.into_raw()?.directed(), source)
    }

    fn into_raw(self) -> Result<RawDataset> {
        let n = self.count_nodes()?;
        let GraphArrays { edges, weights, features, feature_names, ids, .. } = self;
        let end = |at: usize, side: &str, end: i64| match u32::try_from(end) {
            Ok(node) if (node as usize) < n => Ok(node),
            _ => {
                let place = format!("edge {at}, {side}");
                Err(Error::value(place, end, format_args!("a node in 0..{n}")))
            }
        };
        let pair = |(at, &(u, v)): (usize, &(i64, i64))| Ok((end(at, "source", u)?, end(at, "target", v)?));
        let pairs = edges.iter().enumerate().map(pair).collect::<Result<Vec<_>>>()?;
        if let Some(weights) = &weights {
            check_weights(weights, pairs.len())?;
        }
        Ok(RawDataset {
            edges: EdgeList { pairs, weights },
            features,
            feature_names,
            ids: ids.map_or(Ids::Numbered(n), Ids::from_names),
            labels: None,
            splits: Vec::new(),
            notes: Vec::new(),
            types: None,
        })
    }

    fn count_nodes(&self) -> Result<usize> {
        let rows = self.features.as_ref().map(Features::n_rows);
        let known = [self.n_nodes, rows, self.ids.as_ref().map(Vec::len)];
        let n = match known.into_iter().flatten().next() {
            Some(n) => n,
            None => {
                let largest = self.edges.iter().map(|&(u, v)| u.max(v)).max().unwrap_or(-1);
                // The check of the endpoints reports a number out of range.
                usize::try_from(largest.clamp(-1, i64::from(u32::MAX) - 1) + 1).unwrap_or_default()
            }
        };
        if let Some(rows) = rows.filter(|&rows| rows != n) {
            let expected = format!("{n}, one per node");
            return Err(Error::value(FEATURES, format_args!("{rows} rows"), expected));
        }
        // A handful of edges with endpoints in the billions: ids, not consecutive node numbers.
        let is_guess = self.n_nodes.is_none() && rows.is_none() && self.ids.is_none();
        if is_guess && n > 1 << 20 && n > 64 * self.edges.len() {
            let found = format!("{} edges with endpoints up to {}", self.edges.len(), n - 1);
            return Err(Error::value("edges", found, "nodes numbered 0, 1, 2, …, or the number of nodes"));
        }
        Ok(n)
    }
}

/// A node type in memory.
#[derive(Clone, Debug)]
pub struct TypeArrays {
    /// The name.
    pub name: String,
    /// Number of nodes. Default: the number of feature rows, else the largest endpoint plus one.
    pub n_nodes: Option<usize>,
    /// One row per node.
    pub features: Option<Features>,
}

/// A relation in memory.
#[derive(Clone, Debug)]
pub struct RelationArrays {
    /// The names of source type, relation and destination type.
    pub name: [String; 3],
    /// (source, destination) of each edge, numbered within their types.
    pub edges: Vec<(i64, i64)>,
}

/// A graph with node types and relations as arrays from another library.
#[derive(Clone, Debug, Default)]
pub struct TypedArrays {
    /// The node types, in the order of the nodes.
    pub types: Vec<TypeArrays>,
    /// The relations.
    pub relations: Vec<RelationArrays>,
    /// Whether edges within a type keep their direction.
    pub directed: bool,
}

impl TypedArrays {
    /// Checks the arrays and builds a data set. Ids are like `author:17`.
    pub fn into_dataset(self, name: &str, source: FeatureSource) -> Result<Dataset> {
        let TypedArrays { types, relations, directed } = self;
        let find = |relation: &RelationArrays, end: &str| {
            let found = types.iter().position(|node_type| node_type.name == end);
            found.ok_or_else(|| {
                let names: Vec<&str> = types.iter().map(|node_type| &node_type.name[..]).collect();
                let place = format!("relation {}", relation.name.join("-"));
                Error::value(
                    place,
                    format_args!("the node type {end}"),
                    format_args!("one of {}", names.join(", ")),
                )
            })
        };
        let ends: Vec<(usize, usize)> = relations
            .iter()
            .map(|relation| Ok((find(relation, &relation.name[0])?, find(relation, &relation.name[2])?)))
            .collect::<Result<_>>()?;
        let largest = |node_type: usize| {
            let of = |(relation, &(src, dst)): (&RelationArrays, &(usize, usize))| {
                let ends = relation.edges.iter().map(move |&(u, v)| {
                    (if src == node_type { u } else { -1 }).max(if dst == node_type { v } else { -1 })
                });
                ends.max().unwrap_or(-1)
            };
            let largest = relations.iter().zip(&ends).map(of).max().unwrap_or(-1);
            usize::try_from(largest.clamp(-1, i64::from(u32::MAX) - 1) + 1).unwrap_or_default()
        };
        let mut raw = RawTypes::default();
        for (at, node_type) in types.iter().enumerate() {
            let rows = node_type.features.as_ref().map(Features::n_rows);
            let size = node_type.n_nodes.or(rows).unwrap_or_else(|| largest(at));
            if let Some(rows) = rows.filter(|&rows| rows != size) {
                let place = format!("{FEATURES} of {}", node_type.name);
                return Err(Error::value(
                    place,
                    format_args!("{rows} rows"),
                    format_args!("{size}, one per node"),
                ));
            }
            let (name, features) = (node_type.name.clone(), node_type.features.clone());
            raw.types.push(RawNodeType { name, size, features });
        }
        for (relation, &(src, dst)) in relations.iter().zip(&ends) {
            let end = |at: usize, node_type: usize, end: i64| match u32::try_from(end) {
                Ok(node) if (node as usize) < raw.types[node_type].size => Ok(node),
                _ => {
                    let RawNodeType { name, size, .. } = &raw.types[node_type];
                    let place = format!("relation {}, edge {at}", relation.name.join("-"));
                    Err(Error::value(place, end, format_args!("a node of type {name}, in 0..{size}")))
                }
            };
            let pair = |(at, &(u, v)): (usize, &(i64, i64))| Ok((end(at, src, u)?, end(at, dst, v)?));
            let pairs = relation.edges.iter().enumerate().map(pair).collect::<Result<_>>()?;
            let name = relation.name[1].clone();
            raw.relations.push(RawRelation { src, name, dst, directed, pairs });
        }
        let ids = raw.ids(raw.types.iter().map(|node_type| Ids::Numbered(node_type.size)).collect());
        let raw = RawDataset {
            edges: EdgeList::default(),
            features: None,
            feature_names: None,
            ids,
            labels: None,
            splits: Vec::new(),
            notes: Vec::new(),
            types: Some(raw),
        };
        assemble(name.to_owned(), "arrays", raw, source)
    }
}

fn check_weights(weights: &[Real], n_edges: usize) -> Result<()> {
    if weights.len() != n_edges {
        let found = format!("{} weights", weights.len());
        return Err(Error::value("weights", found, format_args!("{n_edges}, one per edge")));
    }
    match weights.iter().position(|&weight| !(weight > 0.0 && weight.is_finite())) {
        Some(at) => Err(Error::value(format_args!("edge {at}, weight"), weights[at], "a positive weight")),
        None => Ok(()),
    }
}

/// Dense features from a row-major matrix of finite numbers.
pub fn dense_features(n_rows: usize, n_cols: usize, data: Vec<Real>) -> Result<Features> {
    if n_rows == 0 || n_cols == 0 {
        let found = format!("{n_rows} × {n_cols} elements");
        return Err(Error::value(FEATURES, found, "at least one row and one column"));
    }
    if let Some(at) = data.iter().position(|x| !x.is_finite()) {
        let place = format!("{FEATURES}, row {}, column {}", at / n_cols, at % n_cols);
        return Err(Error::value(place, data[at], "a finite number"));
    }
    Ok(Features::Dense(Dense::from_parts(n_rows, n_cols, data)))
}

/// Sparse features from the arrays of a SciPy CSR matrix.
pub fn sparse_features(
    (n_rows, n_cols): (usize, usize),
    indptr: Vec<i64>,
    indices: Vec<i64>,
    data: Vec<f32>,
) -> Result<Features> {
    let array = |name: &str, length: usize, data: ArrayData| {
        Array::new(vec![length], data, Path::new(FEATURES), name)
    };
    let parts = CsrParts {
        n_rows,
        n_cols,
        indptr: array("indptr", indptr.len(), ArrayData::Int(indptr)),
        indices: array("indices", indices.len(), ArrayData::Int(indices)),
        data: array("data", data.len(), ArrayData::Float32(data)),
    };
    parts.check().map(Features::Sparse)
}

/// Labels from one class per node; a negative number means no label.
pub fn labels(classes: &[i64]) -> Result<Labels> {
    let class = |(at, &class): (usize, &i64)| match u32::try_from(class) {
        _ if class < 0 => Ok(Labels::NONE),
        Ok(class) if (class as usize) < classes.len() => Ok(class),
        _ => {
            let expected = "classes 0, 1, 2, …, fewer than nodes; a negative number for no label";
            Err(Error::value(format_args!("labels, element {at}"), class, expected))
        }
    };
    Ok(Labels::numbered(classes.iter().enumerate().map(class).collect::<Result<_>>()?))
}

/// A split from three lists of nodes; see [`Split`] for its protocol and index.
pub fn split(protocol: &str, index: usize, parts: [Vec<i64>; 3], n_nodes: usize) -> Result<Split> {
    let place = format!("split {index}");
    let wrong = |found: String| Error::value(&place, found, "disjoint sets of nodes");
    let mut lists = [const { Vec::new() }; 3];
    for (list, nodes) in lists.iter_mut().zip(parts) {
        for node in nodes {
            let number = u32::try_from(node);
            list.push(number.map_err(|_| wrong(format!("node {node}, but the graph has {n_nodes} nodes")))?);
        }
    }
    Split::new(protocol, index, lists, n_nodes).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(arrays: GraphArrays) -> String {
        arrays.into_dataset("own", FeatureSource::Given).unwrap_err().to_string()
    }

    #[test]
    fn structural_features_are_computed_if_there_are_none() {
        let arrays = GraphArrays { edges: vec![(0, 1), (1, 2), (2, 1)], ..GraphArrays::default() };
        let dataset = arrays.into_dataset("own", FeatureSource::Given).unwrap();
        assert_eq!((dataset.graph.n_nodes(), dataset.graph.n_edges(), dataset.notes.len()), (3, 2, 1));
    }

    #[test]
    fn feature_names_are_kept_if_they_are_distinct() {
        let names = |names: [&str; 2]| {
            let arrays = GraphArrays {
                edges: vec![(0, 1)],
                features: Some(dense_features(2, 2, vec![1.0, 2.0, 3.0, 4.0]).unwrap()),
                feature_names: Some(names.map(str::to_owned).to_vec()),
                ..GraphArrays::default()
            };
            let dataset = arrays.into_dataset("own", FeatureSource::Given).unwrap();
            (dataset.graph.feature_names().map(<[_]>::to_vec), dataset.notes)
        };
        assert_eq!(names(["age", "height"]), (Some(vec!["age".to_owned(), "height".to_owned()]), vec![]));
        let note = "feature names are ignored: found two columns named 'age'".to_owned();
        assert_eq!(names(["age", "age"]), (None, vec![note]));
    }

    #[test]
    fn errors_name_the_wrong_element() {
        let edges = vec![(0, 1), (1, 5)];
        let bad = GraphArrays { n_nodes: Some(3), edges: edges.clone(), ..GraphArrays::default() };
        assert_eq!(message(bad), "edge 1, target: found 5, expected a node in 0..3");
        let bad = GraphArrays { edges: vec![(0, -1)], ..GraphArrays::default() };
        assert_eq!(message(bad), "edge 0, target: found -1, expected a node in 0..1");
        let bad =
            GraphArrays { edges: edges.clone(), weights: Some(vec![1.0, 0.0]), ..GraphArrays::default() };
        assert_eq!(message(bad), "edge 1, weight: found 0, expected a positive weight");
        let bad = GraphArrays { edges: vec![(0, 1 << 40)], ..GraphArrays::default() };
        assert!(message(bad).contains("nodes numbered 0, 1, 2"));
        assert!(message(GraphArrays::default()).contains("at least one node"));
        let error = dense_features(2, 2, vec![0.0, 1.0, f32::NAN as Real, 0.0]).unwrap_err().to_string();
        assert_eq!(error, "X, row 1, column 0: found NaN, expected a finite number");
        assert!(sparse_features((2, 2), vec![0, 1, 2], vec![0, 7], vec![1.0, 1.0]).is_err());
        assert!(labels(&[0, 9]).is_err() && labels(&[0, -1]).unwrap().get(1).is_none());
        assert!(split("own", 0, [vec![0], vec![0], vec![]], 2).is_err());
    }
}
