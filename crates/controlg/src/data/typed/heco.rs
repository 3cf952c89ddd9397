//! The heterogeneous graphs of Wang et al., Self-supervised Heterogeneous Graph Neural Network with Co-contrastive Learning, KDD
//! 2021 (HeCo): a folder of papers and what they are linked to.
//!
//! ```text
//! pX.txt                            paper <tab> node of type X, both numbered from 0: pa.txt, ps.txt, pt.txt, pc.txt
//! X_feat.npz                        features: a SciPy CSR or COO matrix, or a plain .npy
//! labels.npy                        classes of the papers or of another type, recognized by its number of nodes
//! train_N.npy, val_N.npy, test_N.npy   nodes of the labeled type; N labels per class
//! ```

use std::path::{Path, PathBuf};

use super::{RawNodeType, RawRelation, RawTypes};
use crate::data::arrays::{self, ArrayData, NpzFile};
use crate::data::{FeatureSource, Format, Labels, RawDataset, Split, checks, limits, text};
use crate::error::{Error, Result};
use crate::graph::{Csr, EdgeList, Features, Ids};

/// The format.
pub(in crate::data) const FORMAT: Format = Format {
    name: "heco",
    summary: "a HeCo folder (pa.txt, p_feat.npz, labels.npy, …): papers and what they are linked to",
    recognize: |path| path.join("p_feat.npz").is_file() && !relations(path).is_empty(),
    read,
};

/// The letters of the node types, papers first.
const TYPES: [(char, &str); 5] =
    [('p', "paper"), ('a', "author"), ('s', "subject"), ('t', "term"), ('c', "conference")];

/// Labels per class of the published splits, and their protocols.
const SPLITS: [(usize, &str); 3] = [(20, "per-class-20"), (40, "per-class-40"), (60, "per-class-60")];

/// The letters that papers have a file of edges to.
fn relations(folder: &Path) -> Vec<(char, &'static str)> {
    let has_edges = |(letter, _): &(char, &str)| folder.join(format!("p{letter}.txt")).is_file();
    TYPES[1..].iter().copied().filter(has_edges).collect()
}

fn read(folder: &Path, source: FeatureSource) -> Result<RawDataset> {
    let ends = relations(folder);
    let edges: Vec<Vec<(u32, u32)>> = ends
        .iter()
        .map(|(letter, _)| read_edges(&folder.join(format!("p{letter}.txt"))))
        .collect::<Result<_>>()?;
    let papers = 1 + edges.iter().flatten().map(|edge| edge.0 as usize).max().unwrap_or(0);
    let others = edges.iter().map(|edges| 1 + edges.iter().map(|edge| edge.1 as usize).max().unwrap_or(0));
    let mut types = RawTypes::default();
    for ((letter, name), named) in
        std::iter::once(TYPES[0]).chain(ends.iter().copied()).zip(std::iter::once(papers).chain(others))
    {
        let file = folder.join(format!("{letter}_feat.npz"));
        let features = if file.is_file() { Some(read_features(&file)?) } else { None };
        let size = features.as_ref().map_or(named, Features::n_rows);
        if size < named {
            return Err(Error::input(
                &file,
                "",
                format_args!("{size} rows"),
                format_args!("{named}, one per {name} in the edges"),
            ));
        }
        // A few edges with a huge number: without features, it would be believed.
        if features.is_none() && size > 1 << 20 && size > 64 * edges.iter().map(Vec::len).sum::<usize>() {
            let found = format!("a {name} numbered {}", size - 1);
            return Err(Error::input(
                &folder.join(format!("p{letter}.txt")),
                "",
                found,
                "nodes numbered 0, 1, 2, …",
            ));
        }
        let features = features.filter(|_| source == FeatureSource::Given);
        types.types.push(RawNodeType { name: name.to_owned(), size, features });
    }
    for ((at, (_, name)), pairs) in ends.iter().enumerate().zip(edges) {
        types.relations.push(RawRelation {
            src: 0,
            name: format!("has_{name}"),
            dst: at + 1,
            directed: false,
            pairs,
        });
    }
    let (labeled, labels) = read_labels(&folder.join("labels.npy"), &types)?;
    let splits = read_splits(folder, &types, labeled, labels.classes().len())?;
    let ids = types.ids(types.types.iter().map(|node_type| Ids::Numbered(node_type.size)).collect());
    Ok(RawDataset {
        edges: EdgeList::default(),
        features: None,
        feature_names: None,
        ids,
        labels: Some(types.labels(labeled, &labels)),
        splits,
        notes: vec![],
        types: Some(types),
    })
}

/// Two numbers per line, separated by a tab.
fn read_edges(path: &Path) -> Result<Vec<(u32, u32)>> {
    let bytes = limits::read_bytes(path)?;
    let edge = |(line, fields): (usize, &[u8])| {
        let mut numbers = fields.split(|&byte| byte == b'\t').map(text::unsigned);
        match (numbers.next().flatten(), numbers.next().flatten(), numbers.next()) {
            (Some(u), Some(v), None) if u.max(v) < u32::MAX - 1 => Ok((u, v)),
            _ => Err(Error::input(
                path,
                format_args!("line {line}"),
                text::show(fields),
                "two numbers separated by a tab",
            )),
        }
    };
    let edges: Vec<(u32, u32)> = text::lines(&bytes).map(edge).collect::<Result<_>>()?;
    match edges.is_empty() {
        true => Err(Error::input(path, "", "no edges", "two numbers per line")),
        false => Ok(edges),
    }
}

/// A SciPy matrix in CSR or COO format, or an array that is named `.npz` although it is none.
fn read_features(path: &Path) -> Result<Features> {
    if limits::first_bytes(path, 6) == b"\x93NUMPY" {
        let array = arrays::read_npy(path)?;
        let (rows, columns) = array.two_dimensions()?;
        return Features::dense(rows, columns, array.to_reals()?);
    }
    let mut archive = NpzFile::open(path)?;
    if !archive.contains("row") {
        return archive.csr("").map(Features::Sparse);
    }
    let shape = archive.array("shape")?;
    let [rows, columns] = match shape.to_integers()?[..] {
        [rows, columns] if (1..1 << 31).contains(&rows) && (1..1 << 24).contains(&columns) => {
            [rows as usize, columns as usize]
        }
        ref other => return Err(shape.error("", format_args!("{other:?}"), "rows and columns")),
    };
    let (row, column) = (archive.array("row")?.to_indices(rows)?, archive.array("col")?.to_indices(columns)?);
    let data = archive.array("data")?;
    let values = data.to_reals()?;
    if row.len() != column.len() || row.len() != values.len() {
        let expected = format!("{} of each of row, col and data", row.len());
        return Err(data.error("", format_args!("{} entries", values.len()), expected));
    }
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_unstable_by_key(|&at| (row[at], column[at]));
    let mut offsets = vec![0; rows + 1];
    row.iter().for_each(|&row| offsets[row as usize + 1] += 1);
    (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
    let columns_of = order.iter().map(|&at| column[at]).collect();
    let csr = Csr::new(columns, offsets, columns_of, Some(order.iter().map(|&at| values[at]).collect()));
    csr.map(Features::Sparse).map_err(|error| Error::input(path, "", error, "each entry once"))
}

/// The labeled type and its labels.
fn read_labels(path: &Path, types: &RawTypes) -> Result<(usize, Labels)> {
    let array = arrays::read_npy(path)?;
    let n = array.one_dimension()?;
    let of_size: Vec<usize> = (0..types.types.len()).filter(|&at| types.types[at].size == n).collect();
    let [labeled] = of_size[..] else {
        let sizes: Vec<String> = types.types.iter().map(|t| format!("{} {}", t.size, t.name)).collect();
        return Err(array.error(
            "",
            format_args!("{n} labels"),
            format_args!("one for each node of one type ({})", sizes.join(", ")),
        ));
    };
    // Some files store classes as floats.
    let classes: Vec<u32> = match &array.data {
        ArrayData::Float32(_) | ArrayData::Float64(_) => {
            let reals = array.to_reals()?;
            let class = |(at, &x): (usize, &crate::Real)| {
                let whole = x >= 0.0 && x.fract() == 0.0 && x < 65_536.0;
                if whole { Ok(x as u32) } else { Err(array.error(array.place(at), x, "a class number")) }
            };
            reals.iter().enumerate().map(class).collect::<Result<_>>()?
        }
        _ => array.to_indices(65_536)?,
    };
    Ok((labeled, checks::labels(path, "", classes)?))
}

fn read_splits(folder: &Path, types: &RawTypes, labeled: usize, n: usize) -> Result<Vec<Split>> {
    let start = types.start(labeled) as u32;
    let mut splits = Vec::new();
    for (labels, protocol) in SPLITS {
        let files: [PathBuf; 3] =
            ["train", "val", "test"].map(|part| folder.join(format!("{part}_{labels}.npy")));
        if files.iter().all(|file| !file.is_file()) {
            continue;
        }
        let read = |file: &PathBuf| -> Result<Vec<u32>> {
            Ok(arrays::read_npy(file)?.to_indices(n)?.into_iter().map(|node| start + node).collect())
        };
        let parts = [read(&files[0])?, read(&files[1])?, read(&files[2])?];
        splits.push(checks::split_of_lists(folder, protocol, 0, parts, types.n_nodes())?);
    }
    Ok(splits)
}
