//! The Planetoid citation graphs: `ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index}`.
//!
//! Row i of `allx` is node i; row k of `tx` is the node that line k of `test.index` names. Nodes between them that
//! neither names (15 in CiteSeer) get no features and class 0, which is what the usual treatment, the largest entry
//! of a one-hot row of zeros, comes to. `x` repeats the first rows of `allx` and is not read.

use std::path::Path;

use super::arrays::ArrayData;
use super::{FeatureSource, Format, Labels, RawDataset, checks, geom_gcn, limits, pickle, text};
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::{Csr, EdgeList, Features, Ids};

/// This layout.
pub(super) const FORMAT: Format = Format {
    name: "planetoid",
    summary: "a Planetoid folder (ind.NAME.allx, ind.NAME.graph, …)",
    recognize: |path| !names(path).is_empty(),
    read,
};

/// Nodes after the training nodes that the public split validates on.
const N_VALIDATION: usize = 500;

/// The names NAME for which the folder has an `ind.NAME.graph`.
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
        return Err(Error::input(folder, "", format_args!("{} files ind.NAME.graph", names.len()), "one"));
    };
    let part = |part: &str| folder.join(format!("ind.{name}.{part}"));
    let edges = read_edges(&part("graph"))?;
    let n = edges.n_nodes;
    let (allx, tx) = (read_matrix(&part("allx"))?, read_matrix(&part("tx"))?);
    let (y, ally, ty) = (OneHot::read(&part("y"))?, OneHot::read(&part("ally"))?, OneHot::read(&part("ty"))?);
    let test = read_test_index(&part("test.index"), allx.n_rows(), n)?;

    let agree = |file: &str, what: &str, found: usize, expected: usize| {
        if found == expected {
            return Ok(());
        }
        Err(Error::input(&part(file), "", format_args!("{found} {what}"), expected))
    };
    agree("tx", "columns", tx.n_cols(), allx.n_cols())?;
    agree("tx", "rows", tx.n_rows(), test.len())?;
    agree("ally", "rows", ally.classes.len(), allx.n_rows())?;
    agree("ty", "rows", ty.classes.len(), test.len())?;
    agree("ty", "classes", ty.n_classes, ally.n_classes)?;
    agree("y", "classes", y.n_classes, ally.n_classes)?;
    let n_train = y.classes.len();
    if n_train > allx.n_rows() {
        let expected = format!("at most {}, the rows of allx", allx.n_rows());
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
            "{n_bare} nodes have neither features nor a label in the files: zero features, class 0, in no public split"
        ));
    }
    let validation = n_train..(n_train + N_VALIDATION).min(allx.n_rows());
    let public = [(0..n_train as u32).collect(), validation.map(|node| node as u32).collect(), test.clone()];
    let mut splits = vec![checks::split_of_lists(&part("test.index"), "planetoid-public", 0, public, n)?];
    splits.extend(geom_gcn::read_splits(&folder.join("geom-gcn-splits"), n)?);
    Ok(RawDataset {
        edges: EdgeList { pairs: edges.pairs, weights: None },
        features: Some(Features::Sparse(place_rows(n, &allx, &tx, &test))),
        ids: Ids::Numbered(n),
        labels: Some(Labels::new(classes, class_names)),
        splits,
        notes,
    })
}

struct EdgeCollector {
    n_nodes: usize,
    pairs: Vec<(u32, u32)>,
}

/// The neighbor lists; the keys must be 0..n, in any order.
fn read_edges(path: &Path) -> Result<EdgeCollector> {
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
                return Err(Error::input(path, "", format_args!("node {node} twice"), "each node once"));
            }
            None => {
                let expected = format!("keys 0..{n}, as many as there are");
                return Err(Error::input(path, "", format_args!("node {node}"), expected));
            }
        }
        for neighbor in neighbors {
            if neighbor as usize >= n {
                let place = format!("neighbors of node {node}");
                return Err(Error::input(path, place, neighbor, format_args!("a node of 0..{n}")));
            }
            pairs.push((node, neighbor));
        }
    }
    Ok(EdgeCollector { n_nodes: n, pairs })
}

fn read_matrix(path: &Path) -> Result<Csr> {
    let bytes = limits::read_bytes(path)?;
    pickle::read(&bytes, path)?.csr()
}

struct OneHot {
    classes: Vec<u32>,
    n_classes: usize,
}

impl OneHot {
    fn read(path: &Path) -> Result<Self> {
        let bytes = limits::read_bytes(path)?;
        let array = pickle::read(&bytes, path)?.array()?;
        let (n_rows, n_classes) = array.two_dimensions()?;
        if n_rows == 0 || n_classes == 0 {
            return Err(array.error("", array.shape_in_words(), "at least one row and one class"));
        }
        let ArrayData::Int(entries) = &array.data else {
            return Err(array.error("", array.kind(), "whole numbers"));
        };
        let class = |(row, entries): (usize, &[i64])| {
            let one = entries.iter().position(|&x| x == 1);
            let others_are_zero = entries.iter().filter(|&&x| x != 0).count() == 1;
            one.filter(|_| others_are_zero)
                .map(|class| class as u32)
                .ok_or_else(|| array.error(format_args!("row {row}"), "another row", "one 1 among zeros"))
        };
        let classes = entries.chunks_exact(n_classes).enumerate().map(class).collect::<Result<_>>()?;
        Ok(OneHot { classes, n_classes })
    }
}

/// The nodes of the rows of `tx`: distinct, and none of them a row of `allx`.
fn read_test_index(path: &Path, n_all: usize, n: usize) -> Result<Vec<u32>> {
    if n_all > n {
        let expected = format!("at least {n_all}, the rows of allx");
        return Err(Error::input(path, "", format_args!("a graph of {n} nodes"), expected));
    }
    let test = text::column(path, &limits::read_bytes(path)?, n, "a node")?;
    let mut seen = vec![false; n];
    for (at, &node) in test.iter().enumerate() {
        let place = format_args!("line {}", at + 1);
        if (node as usize) < n_all {
            let expected = format!("a node of {n_all}..{n}, those that allx does not describe");
            return Err(Error::input(path, place, node, expected));
        }
        if std::mem::replace(&mut seen[node as usize], true) {
            return Err(Error::input(path, place, format_args!("node {node} again"), "each node once"));
        }
    }
    Ok(test)
}

/// The rows of `allx` first, then those of `tx` at the nodes they belong to, and empty rows between.
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
    Csr::new(allx.n_cols(), offsets, columns, (!all_ones).then_some(values))
}
