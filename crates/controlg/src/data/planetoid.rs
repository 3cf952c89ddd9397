//! The Planetoid citation graphs (Cora, CiteSeer, PubMed).
//!
//! ```text
//! ind.NAME.graph        pickled dictionary: node -> list of neighbors
//! ind.NAME.allx, ally   pickled features (CSR) and one-hot labels; row i is node i
//! ind.NAME.tx, ty       the same for the test nodes; row k is the node on line k of test.index
//! ind.NAME.test.index   one test node per line
//! ind.NAME.y            one-hot labels of the training nodes, the first rows of ally
//! geom-gcn-splits/      the splits of Geom-GCN (optional)
//! ```
//!
//! `ind.NAME.x` repeats the first rows of `allx` and is not read. Nodes in neither `allx` nor `test.index` (15 in
//! CiteSeer) have no features and get class 0, as in other implementations, where the argmax of a zero row is 0.

use std::path::Path;

use super::arrays::ArrayData;
use super::{FeatureSource, Format, Labels, RawDataset, checks, geom_gcn, limits, pickle, text};
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::{Csr, EdgeList, Features, Ids};

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "planetoid",
    summary: "a Planetoid folder (ind.NAME.allx, ind.NAME.graph, …)",
    recognize: |path| !names(path).is_empty(),
    read,
};

/// Size of the validation set of the public split: the nodes after the training nodes.
const N_VALIDATION: usize = 500;

/// The names for which the folder has an `ind.NAME.graph`.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter_map(|name| Some(name.strip_prefix("ind.")?.strip_suffix(".graph")?.to_owned()))
        .collect();
    names.sort();
    names
}

fn read(folder: &Path, _: FeatureSource) -> Result<RawDataset> {
    let names = names(folder);
    let [name] = &names[..] else {
        return Err(Error::input(
            folder,
            "",
            format_args!("{} files ind.NAME.graph", names.len()),
            "one such file",
        ));
    };
    let part = |part: &str| folder.join(format!("ind.{name}.{part}"));
    let edges = read_edges(&part("graph"))?;
    let n = edges.n_nodes;
    let (allx, tx) = (read_matrix(&part("allx"))?, read_matrix(&part("tx"))?);
    let (y, ally, ty) = (
        OneHotLabels::read(&part("y"))?,
        OneHotLabels::read(&part("ally"))?,
        OneHotLabels::read(&part("ty"))?,
    );
    let test = read_test_index(&part("test.index"), allx.n_rows(), n)?;

    let check_equal = |file: &str, what: &str, found: usize, expected: usize| {
        if found == expected {
            return Ok(());
        }
        Err(Error::input(&part(file), "", format_args!("{found} {what}"), expected))
    };
    check_equal("tx", "columns", tx.n_cols(), allx.n_cols())?;
    check_equal("tx", "rows", tx.n_rows(), test.len())?;
    check_equal("ally", "rows", ally.classes.len(), allx.n_rows())?;
    check_equal("ty", "rows", ty.classes.len(), test.len())?;
    check_equal("ty", "classes", ty.n_classes, ally.n_classes)?;
    check_equal("y", "classes", y.n_classes, ally.n_classes)?;
    let n_train = y.classes.len();
    if n_train > allx.n_rows() {
        let expected = format!("at most {}, the number of rows of allx", allx.n_rows());
        return Err(Error::input(&part("y"), "", format_args!("{n_train} rows"), expected));
    }

    let mut classes = ally.classes;
    classes.resize(n, 0);
    for (&node, class) in test.iter().zip(ty.classes) {
        classes[node as usize] = class;
    }
    let class_names = (0..ally.n_classes).map(|class| class.to_string()).collect();
    let mut notes = Vec::new();
    let n_bare = n - allx.n_rows() - test.len();
    if n_bare > 0 {
        notes.push(format!(
            "{n_bare} nodes have no features and no label in the files; they get zero features and class 0 and are in no part of the public split"
        ));
    }
    let validation = n_train..(n_train + N_VALIDATION).min(allx.n_rows());
    let public = [(0..n_train as u32).collect(), validation.map(|node| node as u32).collect(), test.clone()];
    let mut splits = vec![checks::split_of_lists(&part("test.index"), "planetoid-public", 0, public, n)?];
    splits.extend(geom_gcn::read_splits(&folder.join("geom-gcn-splits"), n)?);
    Ok(RawDataset {
        edges: EdgeList { pairs: edges.pairs, weights: None },
        features: Some(Features::Sparse(place_rows(n, &allx, &tx, &test))),
        feature_names: None,
        ids: Ids::Numbered(n),
        labels: Some(Labels::new(classes, class_names)),
        splits,
        notes,
        types: None,
    })
}

/// The edges in the graph file.
struct NeighborLists {
    n_nodes: usize,
    pairs: Vec<(u32, u32)>,
}

/// Reads the neighbor lists. The keys must be 0..n, in any order.
fn read_edges(path: &Path) -> Result<NeighborLists> {
    let bytes = limits::read_bytes(path)?;
    let lists = pickle::read(&bytes, path)?.lists()?;
    let n = lists.len();
    if n == 0 {
        return Err(Error::input(path, "", "no nodes", "at least one node"));
    }
    let mut seen = vec![false; n];
    let mut pairs = Vec::with_capacity(lists.iter().map(|(_, neighbors)| neighbors.len()).sum());
    for (node, neighbors) in lists {
        match seen.get_mut(node as usize) {
            Some(slot) if !*slot => *slot = true,
            Some(_) => {
                return Err(Error::input(path, "", format_args!("duplicate node {node}"), "each node once"));
            }
            None => {
                let expected = format!("keys 0..{n}, the number of keys");
                return Err(Error::input(path, "", format_args!("node {node}"), expected));
            }
        }
        for neighbor in neighbors {
            if neighbor as usize >= n {
                let place = format!("neighbors of node {node}");
                return Err(Error::input(path, place, neighbor, format_args!("a node in 0..{n}")));
            }
            pairs.push((node, neighbor));
        }
    }
    Ok(NeighborLists { n_nodes: n, pairs })
}

fn read_matrix(path: &Path) -> Result<Csr> {
    let bytes = limits::read_bytes(path)?;
    pickle::read(&bytes, path)?.csr()
}

/// Labels stored as a one-hot matrix.
struct OneHotLabels {
    classes: Vec<u32>,
    n_classes: usize,
}

impl OneHotLabels {
    fn read(path: &Path) -> Result<Self> {
        let bytes = limits::read_bytes(path)?;
        let array = pickle::read(&bytes, path)?.array()?;
        let (n_rows, n_classes) = array.two_dimensions()?;
        if n_rows == 0 || n_classes == 0 {
            return Err(array.error("", array.describe_shape(), "at least one row and one class"));
        }
        let ArrayData::Int(entries) = &array.data else {
            return Err(array.error("", array.kind(), "whole numbers"));
        };
        let class = |(row, entries): (usize, &[i64])| {
            let one = entries.iter().position(|&x| x == 1);
            let others_are_zero = entries.iter().filter(|&&x| x != 0).count() == 1;
            one.filter(|_| others_are_zero).map(|class| class as u32).ok_or_else(|| {
                array.error(format_args!("row {row}"), "no one-hot row", "a single 1, else zeros")
            })
        };
        let classes = entries.chunks_exact(n_classes).enumerate().map(class).collect::<Result<_>>()?;
        Ok(OneHotLabels { classes, n_classes })
    }
}

/// The node of each row of `tx`. The nodes must be distinct and not in `allx`.
fn read_test_index(path: &Path, n_all: usize, n: usize) -> Result<Vec<u32>> {
    if n_all > n {
        let expected = format!("at least {n_all}, the number of rows of allx");
        return Err(Error::input(path, "", format_args!("a graph of {n} nodes"), expected));
    }
    let test = text::column(path, &limits::read_bytes(path)?, n, "a node")?;
    let mut seen = vec![false; n];
    for (at, &node) in test.iter().enumerate() {
        let place = format_args!("line {}", at + 1);
        if (node as usize) < n_all {
            let expected = format!("a node in {n_all}..{n}, not one in allx");
            return Err(Error::input(path, place, node, expected));
        }
        if std::mem::replace(&mut seen[node as usize], true) {
            return Err(Error::input(path, place, format_args!("duplicate node {node}"), "each node once"));
        }
    }
    Ok(test)
}

/// Merges the features: rows of `allx` first, rows of `tx` at their nodes, and empty rows for all others.
fn place_rows(n: usize, allx: &Csr, tx: &Csr, test: &[u32]) -> Csr {
    let mut row_of = vec![None; n];
    for (row, &node) in test.iter().enumerate() {
        row_of[node as usize] = Some(row);
    }
    let n_entries = allx.n_entries() + tx.n_entries();
    let mut offsets = Vec::with_capacity(n + 1);
    let mut columns = Vec::with_capacity(n_entries);
    let mut values: Vec<Real> = Vec::with_capacity(n_entries);
    offsets.push(0);
    for (node, row) in row_of.into_iter().enumerate() {
        let row = match row {
            Some(row) => Some((tx, row)),
            None => (node < allx.n_rows()).then_some((allx, node)),
        };
        if let Some((matrix, row)) = row {
            columns.extend_from_slice(matrix.row(row));
            values.extend(matrix.entries(row).map(|(_, value)| value));
        }
        offsets.push(columns.len());
    }
    let all_ones = allx.values().is_none() && tx.values().is_none();
    Csr::from_parts(allx.n_cols(), offsets, columns, (!all_ones).then_some(values))
}
