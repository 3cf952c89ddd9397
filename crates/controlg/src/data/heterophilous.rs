//! The archives of Platonov et al., A critical look at the evaluation of GNNs under heterophily, ICLR 2023: a single `.npz`.
//!
//! ```text
//! node_features                       n × d numbers
//! node_labels                         n classes
//! edges                               m × 2 nodes, each edge once
//! train_masks, val_masks, test_masks  one row of n booleans per split
//! ```
//!
//! These are the filtered Chameleon and Squirrel, and Roman-empire, Amazon-ratings, Minesweeper, Tolokers and Questions.

use std::path::Path;

use super::arrays::{self, Array, NpzFile};
use super::{FeatureSource, Format, RawDataset, Split, checks};
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::{Csr, Dense, EdgeList, Features, Ids};

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "heterophilous",
    summary: "an archive of heterophilous-graphs (one .npz with node_features, node_labels, edges), or a folder with it",
    recognize: |path| {
        let names = arrays::single_npz(path).map(|file| arrays::member_names(&file)).unwrap_or_default();
        names.iter().any(|name| name == "node_features" || name == "node_labels")
    },
    read,
};

/// The protocol of the splits in the archive.
const PROTOCOL: &str = "platonov-10";

fn read(path: &Path, source: FeatureSource) -> Result<RawDataset> {
    let Some(path) = arrays::single_npz(path) else {
        return Err(Error::input(path, "", "no single .npz file", "an archive of heterophilous-graphs"));
    };
    if !path.exists() {
        return Err(Error::input(&path, "", "no such file", "an archive of heterophilous-graphs"));
    }
    parse(&path, NpzFile::open(&path)?, source)
}

fn parse(path: &Path, mut file: NpzFile, source: FeatureSource) -> Result<RawDataset> {
    let labels = file.array("node_labels")?;
    let n = labels.one_dimension()?;
    if n == 0 || n >= u32::MAX as usize {
        return Err(labels.error("", labels.describe_shape(), "one class per node, for at least one node"));
    }
    let features = match source {
        FeatureSource::Given => Some(read_features(&file.array("node_features")?, n)?),
        FeatureSource::Structural => None,
    };
    Ok(RawDataset {
        edges: read_edges(&file.array("edges")?, n)?,
        features,
        feature_names: None,
        ids: Ids::Numbered(n),
        labels: Some(checks::labels(path, "array 'node_labels'", labels.to_indices(u32::MAX as usize)?)?),
        splits: read_splits(path, &mut file, n)?,
        notes: vec![],
        types: None,
    })
}

/// The features; sparse if most of them are zero, as bags of words are.
fn read_features(array: &Array, n: usize) -> Result<Features> {
    let (rows, d) = array.two_dimensions()?;
    if rows != n || d == 0 {
        return Err(array.error("", array.describe_shape(), format_args!("{n} rows, one per node")));
    }
    let data = array.to_reals()?;
    let nonzeros = data.iter().filter(|&&x| x != 0.0).count();
    // A sparse entry takes twice the memory of a dense one.
    if 2 * nonzeros >= data.len() {
        return Ok(Features::Dense(Dense::from_parts(n, d, data)));
    }
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::<Real>::new());
    for row in data.chunks_exact(d) {
        for (column, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            columns.push(column as u32);
            values.push(x);
        }
        offsets.push(columns.len());
    }
    Ok(Features::Sparse(Csr::from_parts(d, offsets, columns, Some(values))))
}

fn read_edges(array: &Array, n: usize) -> Result<EdgeList> {
    let (_, columns) = array.two_dimensions()?;
    if columns != 2 {
        return Err(array.error("", array.describe_shape(), "two columns, source and target"));
    }
    let ends = array.to_indices(n)?;
    let pairs = ends.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    Ok(EdgeList { pairs, weights: None })
}

/// One split per row of the masks; none if the archive has no masks.
fn read_splits(path: &Path, file: &mut NpzFile, n: usize) -> Result<Vec<Split>> {
    const MASKS: [&str; 3] = ["train_masks", "val_masks", "test_masks"];
    if !MASKS.iter().any(|name| file.contains(name)) {
        return Ok(vec![]);
    }
    let [train, val, test] = MASKS.map(|name| file.array(name));
    let arrays = [train?, val?, test?];
    let (count, _) = arrays[0].two_dimensions()?;
    for array in &arrays {
        if array.shape != [count, n] {
            let expected = format!("{count} × {n}, one row per split and one column per node");
            return Err(array.error("", array.describe_shape(), expected));
        }
    }
    let [train, val, test] = arrays.map(|array| array.to_mask());
    let masks = [train?, val?, test?];
    let split = |index: usize| {
        let rows = [0, 1, 2].map(|part: usize| &masks[part][index * n..][..n]);
        checks::split_of_masks(path, PROTOCOL, index, rows, n)
    };
    (0..count).map(split).collect()
}
