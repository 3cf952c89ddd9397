//! The processed graphs of Fu et al., MAGNN: Metapath Aggregated Graph Neural Network for Heterogeneous Graph Embedding, WWW 2020:
//! a folder with one adjacency matrix of all nodes.
//!
//! ```text
//! adjM.npz                 n × n, a SciPy CSR matrix, symmetric
//! node_types.npy           the type of each node, 0, 1, 2, …, in ascending order
//! features_T.npz           features of type T, a SciPy CSR matrix
//! labels.npy               classes of type 0
//! train_val_test_idx.npz   train_idx, val_idx and test_idx: nodes of type 0
//! ```

use std::path::Path;

use super::{RawNodeType, RawRelation, RawTypes};
use crate::data::arrays::{self, NpzFile};
use crate::data::{FeatureSource, Format, RawDataset, checks};
use crate::error::{Error, Result};
use crate::graph::{Csr, EdgeList, Features, Ids};

/// The format.
pub(in crate::data) const FORMAT: Format = Format {
    name: "magnn",
    summary: "a MAGNN folder (adjM.npz, node_types.npy, features_0.npz, …): movies, directors and actors",
    recognize: |path| path.join("adjM.npz").is_file() && path.join("node_types.npy").is_file(),
    read,
};

/// The names of the types in IMDB.
const TYPES: [&str; 3] = ["movie", "director", "actor"];

/// The protocol of the split in the folder.
const PROTOCOL: &str = "magnn-400";

fn read(folder: &Path, source: FeatureSource) -> Result<RawDataset> {
    let sizes = read_sizes(&folder.join("node_types.npy"))?;
    let mut types = RawTypes::default();
    for (at, (&size, name)) in sizes.iter().zip(TYPES).enumerate() {
        let file = folder.join(format!("features_{at}.npz"));
        let features = Features::Sparse(NpzFile::open(&file)?.csr("")?);
        if features.n_rows() != size {
            let found = format!("{} rows", features.n_rows());
            return Err(Error::input(&file, "", found, format_args!("{size}, one per {name}")));
        }
        let features = Some(features).filter(|_| source == FeatureSource::Given);
        types.types.push(RawNodeType { name: name.to_owned(), size, features });
    }
    let path = folder.join("adjM.npz");
    let matrix = NpzFile::open(&path)?.csr("")?;
    types.relations = read_relations(&path, &matrix, &types)?;
    let labels = folder.join("labels.npy");
    let array = arrays::read_npy(&labels)?;
    if array.one_dimension()? != sizes[0] {
        return Err(array.error(
            "",
            array.describe_shape(),
            format_args!("{} classes, one per {}", sizes[0], TYPES[0]),
        ));
    }
    let labels = checks::labels(&labels, "", array.to_indices(65_536)?)?;
    let path = folder.join("train_val_test_idx.npz");
    let mut parts = NpzFile::open(&path)?;
    let mut part = |name: &str| parts.array(name)?.to_indices(sizes[0]);
    let parts = [part("train_idx")?, part("val_idx")?, part("test_idx")?];
    let split = checks::split_of_lists(&path, PROTOCOL, 0, parts, types.n_nodes())?;
    Ok(RawDataset {
        edges: EdgeList::default(),
        features: None,
        feature_names: None,
        ids: types.ids(sizes.iter().map(|&size| Ids::Numbered(size)).collect()),
        labels: Some(types.labels(0, &labels)),
        splits: vec![split],
        notes: vec![],
        types: Some(types),
    })
}

/// The number of nodes of each type.
fn read_sizes(path: &Path) -> Result<[usize; 3]> {
    let array = arrays::read_npy(path)?;
    let of_node = array.to_indices(TYPES.len())?;
    if let Some(at) = of_node.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(array.error(array.place(at + 1), of_node[at + 1], "types in ascending order"));
    }
    let mut sizes = [0; TYPES.len()];
    of_node.iter().for_each(|&node_type| sizes[node_type as usize] += 1);
    match sizes.iter().position(|&size| size == 0) {
        Some(empty) => {
            Err(array.error("", format_args!("no node of type {empty}"), "nodes of the types 0, 1 and 2"))
        }
        None => Ok(sizes),
    }
}

/// Edges between movies and the other types, from the rows of the movies.
fn read_relations(path: &Path, matrix: &Csr, types: &RawTypes) -> Result<Vec<RawRelation>> {
    let n = types.n_nodes();
    if (matrix.n_rows(), matrix.n_cols()) != (n, n) {
        let found = format!("a {} × {} matrix", matrix.n_rows(), matrix.n_cols());
        return Err(Error::input(path, "", found, format_args!("{n} × {n}, one row per node")));
    }
    let starts: Vec<usize> = (0..=types.types.len()).map(|at| types.start(at)).collect();
    let type_of = |node: usize| starts.partition_point(|&start| start <= node) - 1;
    let mut pairs = vec![Vec::new(); types.types.len()];
    for row in 0..n {
        for &column in matrix.row(row) {
            let (from, to) = (type_of(row), type_of(column as usize));
            if (from == 0) == (to == 0) {
                let found = format!("an edge from {} to {}", TYPES[from], TYPES[to]);
                return Err(Error::input(
                    path,
                    format_args!("row {row}"),
                    found,
                    "edges that have one end of type movie",
                ));
            }
            if !matrix.contains(column, row as u32) {
                let found = format!("entry ({row}, {column}) without its mirror");
                return Err(Error::input(path, format_args!("row {row}"), found, "a symmetric matrix"));
            }
            if from == 0 {
                pairs[to].push((row as u32, (column as usize - starts[to]) as u32));
            }
        }
    }
    let relation = |(dst, pairs): (usize, Vec<(u32, u32)>)| RawRelation {
        src: 0,
        name: format!("has_{}", TYPES[dst]),
        dst,
        directed: false,
        pairs,
    };
    Ok(pairs.into_iter().enumerate().skip(1).map(relation).collect())
}
