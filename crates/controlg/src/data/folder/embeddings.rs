//! Anybody's embeddings of a graph's nodes, matched to them by id.
//!
//! ```text
//! any.parquet, .csv, .tsv   a column nid (or id), and a column of lists or columns of numbers; rows in any order
//! any.npz                   one array of n rows; beside it an array ids (or nid, id) where their order is another
//! any.npy                   n rows in the order of ids.txt where such a file lies beside it, else in the graph's
//! ```
//!
//! Every node of the graph must have one row, and no row may be of any other node.

use std::path::Path;

use super::super::arrays::{self, Array, ArrayData, NpzFile};
use super::super::table;
use super::super::{FeatureSource, Ids};
use super::features::{self, FeatureFile, dense};
use super::nodes::{self, ID, NodeTable};
use crate::error::{Error, Result};
use crate::graph::{Dense, Features};

/// Reads embeddings from a file, in the order of the graph's nodes; `graph_name` is what errors call the graph.
pub fn read_embeddings(path: &Path, ids: &Ids, graph_name: &str) -> Result<Features> {
    let nodes = NodeTable::new(ids, Path::new(graph_name))?;
    match super::ending(path).as_str() {
        "npy" => {
            let rows = dense(&arrays::read_npy(path)?)?;
            let list = path.with_file_name("ids.txt");
            match list.is_file() {
                true => by_id(path, &rows, &names(&nodes::names_of_lines(&list)?), &nodes),
                false => in_order(path, rows, &nodes),
            }
        }
        "npz" => archive(path, &nodes),
        _ if table::is_table(path) => match features::open(path, FeatureSource::Given)? {
            given @ FeatureFile::Table(_) => given.of(&nodes),
            FeatureFile::Rows(rows, _) => Ok(rows),
        },
        _ => Err(Error::input(path, "", "a file of another kind", ".npy, .npz, .parquet, .csv or .tsv")),
    }
}

fn archive(path: &Path, nodes: &NodeTable<'_>) -> Result<Features> {
    let mut archive = NpzFile::open(path)?;
    let names = archive.names().to_vec();
    let (ids, rows): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| *name == "ids" || table::is_one_of(name, &ID));
    match (&ids[..], &rows[..]) {
        ([], [rows]) => in_order(path, dense(&archive.array(rows)?)?, nodes),
        ([ids], [rows]) => {
            let (ids, rows) = (names_of(&archive.array(ids)?)?, dense(&archive.array(rows)?)?);
            by_id(path, &rows, &ids, nodes)
        }
        _ => {
            let found = format!("the arrays {}", names.join(", "));
            Err(Error::input(
                path,
                "",
                found,
                "one array of embeddings, and beside it at most one called ids",
            ))
        }
    }
}

/// Ids from an array of whole numbers or text.
fn names_of(array: &Array) -> Result<Vec<String>> {
    array.one_dimension()?;
    match &array.data {
        ArrayData::Int(items) => Ok(items.iter().map(i64::to_string).collect()),
        ArrayData::Text(items) => Ok(items.clone()),
        _ => Err(array.error("", array.kind(), "ids, whole numbers or text")),
    }
}

fn names(ids: &Ids) -> Vec<String> {
    (0..ids.len()).map(|row| ids.get(row).into_owned()).collect()
}

fn in_order(path: &Path, rows: Dense, nodes: &NodeTable<'_>) -> Result<Features> {
    FeatureFile::Rows(Features::Dense(rows), path.to_owned()).of(nodes)
}

/// Puts rows in the order of the nodes.
fn by_id(path: &Path, rows: &Dense, ids: &[String], nodes: &NodeTable<'_>) -> Result<Features> {
    if rows.n_rows() != ids.len() {
        let found = format_args!("{} rows and {} ids", rows.n_rows(), ids.len());
        return Err(Error::input(path, "", found, "one id for each row"));
    }
    let width = rows.n_cols();
    let mut data = vec![0.0; nodes.len() * width];
    let mut seen = vec![false; nodes.len()];
    for (row, id) in ids.iter().enumerate() {
        let place = || format!("row {row}");
        let node =
            nodes.find(id).map_err(|(found, expected)| Error::input(path, place(), found, expected))?;
        if std::mem::replace(&mut seen[node as usize], true) {
            let found = format_args!("id {} again", table::quoted(id));
            return Err(Error::input(path, place(), found, "each id once"));
        }
        data[node as usize * width..][..width].copy_from_slice(rows.row(row));
    }
    if let Some(node) = seen.iter().position(|seen| !seen) {
        let found = format!("no row for node {}", table::quoted(&nodes.name(node)));
        return Err(Error::input(path, "", found, format_args!("one row for each id of {}", nodes.origin())));
    }
    Ok(Features::Dense(Dense::new(nodes.len(), width, data)))
}
