//! Graphs from arrays and files.

use std::path::PathBuf;

use controlg::data::memory::{self, GraphArrays, RelationArrays, TypeArrays, TypedArrays};
use controlg::data::{self, Dataset, FeatureSource, LoadOptions};
use controlg::graph::{Features, Ids};
use controlg::{Error, Result};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::settings::{in_pool, to_exception};

/// A graph with features, and labels and splits if its files have them.
#[pyclass(frozen, name = "Graph", module = "controlg._core")]
pub(crate) struct PyGraph {
    pub(crate) dataset: Dataset,
}

/// A CSR matrix: shape, `indptr`, `indices`, `data`.
type PyCsr<'py> =
    ((usize, usize), PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f32>);

/// A node type: name, number of nodes, dense or sparse features.
type PyNodeType<'py> = (String, Option<usize>, Option<PyReadonlyArray2<'py, f32>>, Option<PyCsr<'py>>);

/// A split from Python: protocol, index, and the train, validation and test nodes.
pub(crate) type GivenSplit = (String, usize, Vec<i64>, Vec<i64>, Vec<i64>);

/// Checks a split of a graph with `n` nodes.
pub(crate) fn split_of((protocol, index, train, val, test): GivenSplit, n: usize) -> Result<data::Split> {
    memory::split(&protocol, index, [train, val, test], n)
}

#[pymethods]
impl PyGraph {
    /// Loads a data set by name or path.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        name: &str,
        data_dir: Option<PathBuf>,
        structural: bool,
        directed: bool,
    ) -> PyResult<Self> {
        let options =
            LoadOptions { data_dir, features: source(structural), directed, ..LoadOptions::default() };
        let dataset = py.detach(|| in_pool(None, || data::load(name, &options)));
        Ok(PyGraph { dataset: dataset.map_err(|error| to_exception(&error))? })
    }

    /// Makes a graph from a 2 × E edge array with optional weights, features and ids. Labels and splits are kept for
    /// evaluation.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)] // one per part of a graph
    fn from_arrays(
        py: Python<'_>,
        edges: PyReadonlyArray2<'_, i64>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        n_nodes: Option<usize>,
        dense: Option<PyReadonlyArray2<'_, f32>>,
        sparse: Option<PyCsr<'_>>,
        feature_names: Option<Vec<String>>,
        ids: Option<Vec<String>>,
        labels: Option<Vec<i64>>,
        splits: Vec<GivenSplit>,
        notes: Vec<String>,
        structural: bool,
        directed: bool,
    ) -> PyResult<Self> {
        let pairs = pairs_of(&edges).map_err(|error| to_exception(&error))?;
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let dense = dense.map(|rows| {
            let rows = rows.as_array();
            (rows.nrows(), rows.ncols(), rows.iter().copied().collect::<Vec<f32>>())
        });
        let sparse = sparse.map(|(shape, indptr, indices, data)| {
            let whole = |array: PyReadonlyArray1<'_, i64>| array.as_array().to_vec();
            (shape, whole(indptr), whole(indices), data.as_array().to_vec())
        });
        let build = || -> Result<Dataset> {
            let features = match (dense, sparse) {
                (Some((rows, columns, data)), _) => Some(memory::dense_features(rows, columns, data)?),
                (None, Some((shape, indptr, indices, data))) => {
                    Some(memory::sparse_features(shape, indptr, indices, data)?)
                }
                (None, None) => None,
            };
            let arrays = GraphArrays { n_nodes, edges: pairs, weights, features, feature_names, ids };
            let mut dataset = match directed {
                true => arrays.into_directed("graph", source(structural))?,
                false => arrays.into_dataset("graph", source(structural))?,
            };
            let n = dataset.graph.n_nodes();
            if let Some(classes) = labels {
                if classes.len() != n {
                    return Err(Error::value("y", format_args!("{} labels", classes.len()), n));
                }
                dataset.labels = Some(memory::labels(&classes)?);
            }
            dataset.notes.splice(0..0, notes);
            dataset.splits = splits.into_iter().map(|split| split_of(split, n)).collect::<Result<_>>()?;
            Ok(dataset)
        };
        let dataset = py.detach(|| in_pool(None, build)).map_err(|error| to_exception(&error))?;
        Ok(PyGraph { dataset })
    }

    /// Makes a graph from node types (name, number of nodes, features) and relations (source type, name, destination type,
    /// 2 × E edges). Labels are those of all nodes, type by type.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)] // one per part of a graph
    fn from_types(
        py: Python<'_>,
        types: Vec<PyNodeType<'_>>,
        relations: Vec<(String, String, String, PyReadonlyArray2<'_, i64>)>,
        labels: Option<Vec<i64>>,
        splits: Vec<GivenSplit>,
        directed: bool,
        structural: bool,
    ) -> PyResult<Self> {
        let types = types
            .into_iter()
            .map(|(name, n_nodes, dense, sparse)| {
                Ok(TypeArrays { name, n_nodes, features: features_of(dense, sparse)? })
            })
            .collect::<Result<Vec<_>>>()
            .map_err(|error| to_exception(&error))?;
        let relations = relations
            .into_iter()
            .map(|(src, name, dst, edges)| {
                Ok(RelationArrays { name: [src, name, dst], edges: pairs_of(&edges)? })
            })
            .collect::<Result<Vec<_>>>()
            .map_err(|error| to_exception(&error))?;
        let build = || -> Result<Dataset> {
            let arrays = TypedArrays { types, relations, directed };
            let mut dataset = arrays.into_dataset("graph", source(structural))?;
            let n = dataset.graph.n_nodes();
            dataset.labels = labels.map(|classes| memory::labels(&classes)).transpose()?;
            dataset.splits = splits.into_iter().map(|split| split_of(split, n)).collect::<Result<_>>()?;
            Ok(dataset)
        };
        let dataset = py.detach(|| in_pool(None, build)).map_err(|error| to_exception(&error))?;
        Ok(PyGraph { dataset })
    }

    /// The node types and relations in one line; `None` without types.
    #[getter]
    fn schema(&self) -> Option<String> {
        self.dataset.graph.relations().map(|relations| relations.schema().to_string())
    }

    /// The name or path of the data set.
    #[getter]
    fn name(&self) -> &str {
        &self.dataset.name
    }

    /// Number of nodes.
    #[getter]
    fn n_nodes(&self) -> usize {
        self.dataset.graph.n_nodes()
    }

    /// Number of undirected edges.
    #[getter]
    fn n_edges(&self) -> usize {
        self.dataset.graph.n_edges()
    }

    /// Width of the features.
    #[getter]
    fn n_features(&self) -> usize {
        self.dataset.graph.n_features()
    }

    /// The names of the feature columns; `None` if they have none.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.dataset.graph.feature_names().map(<[String]>::to_vec)
    }

    /// Whether the features were computed from the edges.
    #[getter]
    fn has_features_from_edges(&self) -> bool {
        self.dataset.graph.has_features_from_edges()
    }

    fn __repr__(&self) -> String {
        let graph = &self.dataset.graph;
        let (n, edges, width) = (graph.n_nodes(), graph.n_edges(), graph.n_features());
        format!("<Graph '{}': {n} nodes, {edges} edges, {width} features>", self.dataset.name)
    }

    /// Notes on how the input was read.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.dataset.notes.clone()
    }

    /// The node ids in row order; `None` if the nodes are numbered.
    #[getter]
    fn ids(&self) -> Option<Vec<String>> {
        names(self.dataset.graph.ids())
    }

    /// Source and target of every edge in both directions, as in PyTorch Geometric.
    #[getter]
    fn edge_index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let adjacency = self.dataset.graph.adjacency();
        let sources = (0..adjacency.n_rows()).flat_map(|node| vec![node as i64; adjacency.row(node).len()]);
        let targets = adjacency.columns().iter().map(|&node| i64::from(node));
        PyArray1::from_vec(py, sources.chain(targets).collect()).reshape([2, adjacency.n_entries()])
    }

    /// The features as a dense array, n_nodes × n_features.
    #[getter]
    fn x<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (n, width) = (self.n_nodes(), self.n_features());
        let rows = match self.dataset.graph.features() {
            Features::Dense(rows) => rows.data().to_vec(),
            Features::Sparse(rows) => {
                let mut all = vec![0.0; n * width];
                for node in 0..n {
                    rows.entries(node)
                        .for_each(|(column, value)| all[node * width + column as usize] = value);
                }
                all
            }
        };
        PyArray1::from_vec(py, rows).reshape([n, width])
    }

    /// One class per node, -1 for unlabeled nodes; `None` without labels.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        let labels = self.dataset.labels.as_ref()?;
        let class = |node| labels.get(node).map_or(-1, i64::from);
        Some(PyArray1::from_vec(py, (0..labels.classes().len()).map(class).collect()))
    }

    /// The splits of the files: dictionaries with protocol, index, train, val, test.
    #[getter]
    fn splits<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let split = |split: &data::Split| {
            let entry = PyDict::new(py);
            entry.set_item("protocol", &split.protocol)?;
            entry.set_item("index", split.index)?;
            for (part, nodes) in split.parts() {
                let nodes = nodes.iter().map(|&node| i64::from(node)).collect();
                entry.set_item(part, PyArray1::from_vec(py, nodes))?;
            }
            Ok(entry)
        };
        self.dataset.splits.iter().map(split).collect()
    }
}

/// (source, target) of 2 × E edges.
fn pairs_of(edges: &PyReadonlyArray2<'_, i64>) -> Result<Vec<(i64, i64)>> {
    let edges = edges.as_array();
    if edges.nrows() != 2 {
        let found = format!("{} × {} elements", edges.nrows(), edges.ncols());
        return Err(Error::value("edges", found, "2 × E or E × 2 node numbers"));
    }
    Ok(edges.row(0).iter().copied().zip(edges.row(1).iter().copied()).collect())
}

/// The features of a node type.
fn features_of(
    dense: Option<PyReadonlyArray2<'_, f32>>,
    sparse: Option<PyCsr<'_>>,
) -> Result<Option<Features>> {
    if let Some(rows) = dense {
        let rows = rows.as_array();
        return memory::dense_features(rows.nrows(), rows.ncols(), rows.iter().copied().collect()).map(Some);
    }
    let Some((shape, indptr, indices, data)) = sparse else { return Ok(None) };
    let whole = |array: PyReadonlyArray1<'_, i64>| array.as_array().to_vec();
    memory::sparse_features(shape, whole(indptr), whole(indices), data.as_array().to_vec()).map(Some)
}

fn source(structural: bool) -> FeatureSource {
    if structural { FeatureSource::Structural } else { FeatureSource::Given }
}

/// The node ids; `None` if the nodes are numbered.
pub(crate) fn names(ids: &Ids) -> Option<Vec<String>> {
    match ids {
        Ids::Numbered(_) => None,
        Ids::Named(names) => Some(names.clone()),
    }
}
