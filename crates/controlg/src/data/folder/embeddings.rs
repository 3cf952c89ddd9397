//! Embeddings from any tool, matched to the nodes of a graph by id.
//!
//! ```text
//! *.parquet, .csv, .tsv   a column nid (or id), and one column of lists or numeric columns; rows in any order
//! *.npz                   one array of n rows; optionally an array ids (or nid, id) with the id of each row
//! *.npy                   n rows, in the order of an ids.txt in the same folder, else in node order
//! ```
//!
//! Every node of the graph needs exactly one row; rows of other nodes are an error.

use std::path::Path;

use super::super::arrays::{self, Array, ArrayData, NpzFile};
use super::super::table;
use super::super::{FeatureSource, Ids};
use super::features::{self, FeatureFile, dense};
use super::nodes::{self, ID, NodeTable};
use crate::error::{Error, Result};
use crate::graph::{Dense, Features};

/// Reads embeddings from a file and returns them in node order. Errors call the graph `graph_name`.
pub fn read_embeddings(path: &Path, ids: &Ids, graph_name: &str) -> Result<Features> {
    let nodes = NodeTable::new(ids, Path::new(graph_name))?;
    match super::extension(path).as_str() {
        "npy" => {
            let rows = dense(&arrays::read_npy(path)?)?;
            let list = path.with_file_name("ids.txt");
            // A link to nothing is an error, not a missing list.
            if list.symlink_metadata().is_ok() {
                by_id(path, &rows, &names(&nodes::ids_of_lines(&list)?), &nodes)
            } else {
                in_order(path, rows, &nodes)
            }
        }
        "npz" => archive(path, &nodes),
        _ if table::is_table(path) => match features::open(path, FeatureSource::Given)? {
            given @ FeatureFile::Table(_) => given.into_features(&nodes),
            FeatureFile::Rows(rows, _) => Ok(rows),
        },
        _ => Err(Error::input(path, "", "an unknown file type", ".npy, .npz, .parquet, .csv or .tsv")),
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
            Err(Error::input(path, "", found, "one array of embeddings and optionally an array ids"))
        }
    }
}

/// Ids from an array of integers or strings.
fn names_of(array: &Array) -> Result<Vec<String>> {
    array.one_dimension()?;
    match &array.data {
        ArrayData::Int(items) => Ok(items.iter().map(i64::to_string).collect()),
        ArrayData::Text(items) => Ok(items.clone()),
        _ => Err(array.error("", array.kind(), "ids (integers or strings)")),
    }
}

fn names(ids: &Ids) -> Vec<String> {
    (0..ids.len()).map(|row| ids.get(row).into_owned()).collect()
}

fn in_order(path: &Path, rows: Dense, nodes: &NodeTable<'_>) -> Result<Features> {
    FeatureFile::Rows(Features::Dense(rows), path.to_owned()).into_features(nodes)
}

/// Sorts rows into node order.
fn by_id(path: &Path, rows: &Dense, ids: &[String], nodes: &NodeTable<'_>) -> Result<Features> {
    if rows.n_rows() != ids.len() {
        let found = format_args!("{} rows and {} ids", rows.n_rows(), ids.len());
        return Err(Error::input(path, "", found, "one id per row"));
    }
    let width = rows.n_cols();
    let mut data = vec![0.0; nodes.len() * width];
    let mut seen = vec![false; nodes.len()];
    for (row, id) in ids.iter().enumerate() {
        let place = || format!("row {row}");
        let node =
            nodes.find(id).map_err(|(found, expected)| Error::input(path, place(), found, expected))?;
        if std::mem::replace(&mut seen[node as usize], true) {
            let found = format_args!("duplicate id {}", table::quoted(id));
            return Err(Error::input(path, place(), found, "each id once"));
        }
        data[node as usize * width..][..width].copy_from_slice(rows.row(row));
    }
    if let Some(node) = seen.iter().position(|seen| !seen) {
        let found = format!("no row for node {}", table::quoted(&nodes.name(node)));
        return Err(Error::input(path, "", found, format_args!("one row for each id in {}", nodes.origin())));
    }
    Ok(Features::Dense(Dense::from_parts(nodes.len(), width, data)))
}
