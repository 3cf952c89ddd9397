//! Node features: a table with ids, or an array with one row per node.

use std::path::{Path, PathBuf};

use super::super::FeatureSource;
use super::super::arrays::{self, Array, NpzFile};
use super::super::limits;
use super::super::table::{self, Column, Table};
use super::nodes::{self, ID, NodeTable};
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::{Dense, Features, Ids};

/// Columns that must not be read as features: pretraining must not see labels.
pub(super) const LABELS: [&str; 3] = ["label", "labels", "class"];

/// A file of features.
pub(super) enum FeatureFile {
    /// Rows in any order, each with the id of its node.
    Table(Table),
    /// One row per node, in node order; and the file.
    Rows(Features, PathBuf),
}

/// Opens a file of features. If they are not needed, reads only the ids of a table.
pub(super) fn open(path: &Path, source: FeatureSource) -> Result<FeatureFile> {
    match super::extension(path).as_str() {
        "npy" => Ok(FeatureFile::Rows(Features::Dense(dense(&arrays::read_npy(path)?)?), path.to_owned())),
        "npz" => Ok(FeatureFile::Rows(archive(path)?, path.to_owned())),
        _ => {
            let all = source == FeatureSource::Given;
            let wanted = |name: &str| table::is_one_of(name, &ID) || (all && !table::is_index(name));
            Ok(FeatureFile::Table(Table::read(path, wanted)?))
        }
    }
}

impl FeatureFile {
    /// The nodes with features.
    pub(super) fn ids(&self) -> Result<Ids> {
        match self {
            FeatureFile::Table(table) => nodes::ids_of_column(table),
            FeatureFile::Rows(features, _) => Ok(Ids::Numbered(features.n_rows())),
        }
    }

    /// The table, unless it is an array.
    pub(super) fn table(&self) -> Option<&Table> {
        match self {
            FeatureFile::Table(table) => Some(table),
            FeatureFile::Rows(..) => None,
        }
    }

    /// The names of the columns of a table; those of an array are in `list`, one per line.
    pub(super) fn column_names(&self, list: Option<&Path>) -> Result<Option<Vec<String>>> {
        match self {
            FeatureFile::Table(table) => {
                let columns: Vec<_> = feature_columns(table);
                let named = columns.iter().all(|column| !column.holds_lists());
                Ok(named.then(|| columns.iter().map(|column| column.name.clone()).collect()))
            }
            FeatureFile::Rows(..) => {
                let text = list.map(limits::read_text).transpose()?;
                Ok(text.map(|text| text.lines().map(str::to_owned).collect()))
            }
        }
    }

    /// The features of these nodes, in node order.
    pub(super) fn into_features(self, nodes: &NodeTable<'_>) -> Result<Features> {
        match self {
            FeatureFile::Table(table) => table_rows(&table, nodes).map(Features::Dense),
            FeatureFile::Rows(features, _) if features.n_rows() == nodes.len() => Ok(features),
            FeatureFile::Rows(features, file) => {
                let found = format_args!("{} rows", features.n_rows());
                let expected = format_args!("{}, one for each id in {}", nodes.len(), nodes.origin());
                Err(Error::input(&file, "", found, expected))
            }
        }
    }
}

/// An array as a matrix of finite numbers.
pub(super) fn dense(array: &Array) -> Result<Dense> {
    match array.two_dimensions()? {
        (rows, columns) if rows > 0 && columns > 0 => Ok(Dense::from_parts(rows, columns, array.to_reals()?)),
        _ => Err(array.error("", array.describe_shape(), "at least one row and one column")),
    }
}

fn archive(path: &Path) -> Result<Features> {
    let mut archive = NpzFile::open(path)?;
    match archive.names() {
        [name] => {
            let name = name.clone();
            Ok(Features::Dense(dense(&archive.array(&name)?)?))
        }
        names if names.iter().any(|name| name == "indptr") => archive.csr("").map(Features::Sparse),
        names => {
            let found = format!("the arrays {}", names.join(", "));
            Err(Error::input(path, "", found, "one array, or a CSR matrix written by scipy.sparse.save_npz"))
        }
    }
}

/// All columns but that of the ids.
fn feature_columns(table: &Table) -> Vec<&Column> {
    table.columns().iter().filter(|column| !table::is_one_of(&column.name, &ID)).collect()
}

fn table_rows(table: &Table, nodes: &NodeTable<'_>) -> Result<Dense> {
    if let Some(column) = table.find(&LABELS) {
        let found = format_args!("column '{}'", column.name);
        return Err(table.bad_header(found, "no labels among the features; move the column to labels.csv"));
    }
    let rows = nodes.of_rows(table)?;
    let columns = feature_columns(table);
    let lists = columns.iter().filter(|column| column.holds_lists()).count();
    let width = match &columns[..] {
        [column] if lists == 1 && table.n_rows() > 0 => table.list(column, 0)?.len(),
        columns if lists == 0 => columns.len(),
        _ => {
            let found = format!("{lists} columns of lists among {} columns", columns.len());
            return Err(table.bad_header(found, "numeric columns, or one column of lists"));
        }
    };
    if width == 0 {
        return Err(Error::input(table.path(), "", "no features", "at least one number per node"));
    }
    if rows.len() < nodes.len() {
        let mut has = vec![false; nodes.len()];
        rows.iter().for_each(|&node| has[node as usize] = true);
        let without = has.iter().position(|has| !has).unwrap_or_default();
        let found = format!("no row for node {}", table::quoted(&nodes.name(without)));
        let expected = format!("one row for each id in {}", nodes.origin());
        return Err(Error::input(table.path(), "", found, expected));
    }

    let mut data: Vec<Real> = vec![0.0; nodes.len() * width];
    for (row, &node) in rows.iter().enumerate() {
        let to = &mut data[node as usize * width..][..width];
        if lists == 1 {
            let list = table.list(columns[0], row)?;
            if list.len() != width {
                let found = format_args!("{} numbers", list.len());
                return Err(table.bad(row, found, format_args!("{width}, as in the first row")));
            }
            to.copy_from_slice(list);
        } else {
            for (to, column) in to.iter_mut().zip(&columns) {
                *to = table.number(column, row)?;
            }
        }
    }
    Ok(Dense::from_parts(nodes.len(), width, data))
}
