//! The gnn-benchmark archives (Coauthor, Amazon, …): a single `.npz`.
//!
//! ```text
//! adj_shape, adj_indptr, adj_indices, adj_data       the adjacency matrix (CSR)
//! attr_shape, attr_indptr, attr_indices, attr_data   the features (CSR; optional)
//! labels                                             one class per node (optional)
//! node_names                                         node ids (optional)
//! ```
//!
//! `class_names` is a pickled object array and is not read.

use std::collections::HashSet;
use std::path::Path;

use super::arrays::{self, NpzFile};
use super::{FeatureSource, Format, RawDataset, checks, limits};
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::{Csr, EdgeList, Features, Ids};

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "gnn-benchmark",
    summary: "a gnn-benchmark archive (one .npz with adj_*, attr_*, labels), or a folder with it",
    recognize: |path| arrays::single_npz(path).is_some_and(|file| limits::first_bytes(&file, 2) == b"PK"),
    read,
};

fn read(path: &Path, _: FeatureSource) -> Result<RawDataset> {
    let Some(path) = arrays::single_npz(path) else {
        return Err(Error::input(path, "", "no single .npz file", "a gnn-benchmark archive"));
    };
    parse(&path, NpzFile::open(&path)?)
}

fn parse(path: &Path, mut file: NpzFile) -> Result<RawDataset> {
    let adjacency = file.csr("adj_")?;
    let n = adjacency.n_rows();
    if adjacency.n_cols() != n {
        let found = format!("{n} × {}", adjacency.n_cols());
        return Err(Error::input(path, "array 'adj_shape'", found, "a square matrix"));
    }
    let features = if file.contains("attr_shape") { Some(file.csr("attr_")?) } else { None };
    if let Some(features) = features.as_ref().filter(|features| features.n_rows() != n) {
        let found = format!("{} rows", features.n_rows());
        return Err(Error::input(path, "array 'attr_shape'", found, format_args!("{n}, one per node")));
    }
    let labels = if file.contains("labels") { Some(read_classes(&mut file, n)?) } else { None };
    Ok(RawDataset {
        edges: read_edges(path, &adjacency)?,
        features: features.map(Features::Sparse),
        feature_names: None,
        ids: if file.contains("node_names") { read_ids(&mut file, n)? } else { Ids::Numbered(n) },
        labels: labels.map(|classes| checks::labels(path, "array 'labels'", classes)).transpose()?,
        splits: vec![],
        notes: vec![],
        types: None,
    })
}

fn read_edges(path: &Path, adjacency: &Csr) -> Result<EdgeList> {
    let mut pairs = Vec::with_capacity(adjacency.n_entries());
    for row in 0..adjacency.n_rows() {
        pairs.extend(adjacency.row(row).iter().map(|&column| (row as u32, column)));
    }
    let weights: Option<Vec<Real>> = adjacency.values().map(<[Real]>::to_vec);
    if let Some(at) = weights.iter().flatten().position(|&weight| weight <= 0.0) {
        let place = format!("array 'adj_data', element {at}");
        return Err(Error::input(
            path,
            place,
            adjacency.values().unwrap_or_default()[at],
            "a positive weight",
        ));
    }
    Ok(EdgeList { pairs, weights })
}

fn read_classes(file: &mut NpzFile, n: usize) -> Result<Vec<u32>> {
    let labels = file.array("labels")?;
    if labels.shape != [n] {
        return Err(labels.error("", labels.describe_shape(), format_args!("{n}, one per node")));
    }
    labels.to_indices(u32::MAX as usize)
}

fn read_ids(file: &mut NpzFile, n: usize) -> Result<Ids> {
    let names = file.array("node_names")?;
    if names.shape != [n] {
        return Err(names.error("", names.describe_shape(), format_args!("{n}, one per node")));
    }
    let texts = names.to_texts()?;
    for (at, name) in texts.iter().enumerate() {
        if let Some(found) = checks::id_problem(name) {
            return Err(names.error(names.place(at), found, "an id on one line"));
        }
    }
    let mut seen = HashSet::with_capacity(n);
    match texts.iter().position(|name| !seen.insert(name)) {
        None => Ok(Ids::from_names(texts.to_vec())),
        Some(at) => Err(names.error(
            names.place(at),
            format_args!("duplicate name '{}'", texts[at]),
            "each name once",
        )),
    }
}
