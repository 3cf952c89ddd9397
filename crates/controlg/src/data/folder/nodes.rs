//! The nodes of a graph and their ids.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use super::super::table::{self, Column, Table};
use super::super::{checks, limits};
use crate::error::{Error, Result};
use crate::graph::Ids;

pub(super) use super::super::table::ID;

/// Finds the nodes of a graph by id.
pub(super) struct NodeTable<'a> {
    ids: &'a Ids,
    by_name: HashMap<&'a str, u32>,
    /// The file that lists the nodes.
    origin: String,
    /// The type of the nodes, for errors; empty if the graph has none.
    node_type: &'a str,
}

impl<'a> NodeTable<'a> {
    /// Creates the table from distinct ids; `origin` is the file that lists them.
    pub(super) fn new(ids: &'a Ids, origin: &Path) -> Result<Self> {
        if ids.is_empty() || ids.len() >= u32::MAX as usize {
            let found = format_args!("{} nodes", ids.len());
            return Err(Error::input(origin, "", found, format_args!("1 to {} nodes", u32::MAX - 1)));
        }
        let by_name = match ids {
            Ids::Numbered(_) => HashMap::new(),
            Ids::Named(names) => {
                names.iter().enumerate().map(|(node, name)| (table::trimmed(name), node as u32)).collect()
            }
        };
        let origin = origin.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(NodeTable { ids, by_name, origin, node_type: "" })
    }

    /// [`NodeTable::new`] for the nodes of a type.
    pub(super) fn of_type(ids: &'a Ids, origin: &Path, node_type: &'a str) -> Result<Self> {
        Ok(NodeTable { node_type, ..NodeTable::new(ids, origin)? })
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn name(&self, node: usize) -> Cow<'_, str> {
        self.ids.get(node)
    }

    /// The node with this id, ignoring surrounding spaces; else (found, expected) for an error.
    pub(super) fn find(&self, id: &str) -> std::result::Result<u32, (String, String)> {
        let id = table::trimmed(id);
        let node = match self.ids {
            Ids::Numbered(n) => number(id).filter(|&node| (node as usize) < *n),
            Ids::Named(_) => self.by_name.get(id).copied(),
        };
        node.ok_or_else(|| {
            let expected = match self.ids {
                Ids::Numbered(n) => format!("an id from 0 to {}, as in {}", n - 1, self.origin),
                Ids::Named(_) if self.node_type.is_empty() => format!("an id listed in {}", self.origin),
                Ids::Named(_) => format!("an id of type {}, listed in {}", self.node_type, self.origin),
            };
            (format!("node {}", table::quoted(id)), expected)
        })
    }

    /// The node of each row of a table. No node may have two rows.
    pub(super) fn of_rows(&self, table: &Table) -> Result<Vec<u32>> {
        let ids = table.require(&ID)?;
        let mut seen = vec![false; self.len()];
        let mut nodes = Vec::with_capacity(table.n_rows());
        for row in 0..table.n_rows() {
            let id = id_at(table, ids, row)?;
            let node = self.find(&id).map_err(|(found, expected)| table.bad(row, found, expected))?;
            if std::mem::replace(&mut seen[node as usize], true) {
                return Err(table.bad(
                    row,
                    format_args!("duplicate id {}", table::quoted(&id)),
                    "each id once",
                ));
            }
            nodes.push(node);
        }
        Ok(nodes)
    }

    /// The file that lists the nodes, for errors.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }
}

/// The id in a cell.
pub(super) fn id_at<'a>(table: &Table, column: &'a Column, row: usize) -> Result<Cow<'a, str>> {
    let id = table.text(column, row);
    match checks::id_problem(&id) {
        None => Ok(id),
        Some(found) => Err(table.bad(row, found, "an id on one line")),
    }
}

/// The ids in a file with one id per line.
pub(super) fn ids_of_lines(path: &Path) -> Result<Ids> {
    let lines = distinct_lines(path, "id")?;
    Ok(Ids::from_names(lines))
}

/// The trimmed lines of a file. Empty and duplicate lines are errors.
pub(super) fn distinct_lines(path: &Path, what: &str) -> Result<Vec<String>> {
    let text = limits::read_text(path)?;
    let lines = || text.lines().map(table::trimmed);
    let mut seen = HashMap::new();
    for (at, line) in lines().enumerate() {
        let found = match seen.insert(line, at + 1) {
            Some(before) => format!("duplicate {what} {}, first on line {before}", table::quoted(line)),
            None if line.is_empty() => "an empty line".to_owned(),
            // Old Mac line endings: what looks like many lines is one.
            None if line.contains(table::is_line_break) => "a carriage return without a line feed".to_owned(),
            None => continue,
        };
        return Err(Error::input(
            path,
            format_args!("line {}", at + 1),
            found,
            format_args!("one {what} per line, each once"),
        ));
    }
    if seen.is_empty() {
        return Err(Error::input(path, "line 1", "an empty file", format_args!("one {what} per line")));
    }
    Ok(lines().map(str::to_owned).collect())
}

/// The ids in the id column of a table.
pub(super) fn ids_of_column(table: &Table) -> Result<Ids> {
    let column = table.require(&ID)?;
    let names: Vec<Cow<'_, str>> =
        (0..table.n_rows()).map(|row| id_at(table, column, row)).collect::<Result<_>>()?;
    let mut seen = HashMap::with_capacity(names.len());
    for (row, name) in names.iter().enumerate() {
        if seen.insert(name.as_ref(), row).is_some() {
            return Err(table.bad(row, format_args!("duplicate id {}", table::quoted(name)), "each id once"));
        }
    }
    if names.is_empty() {
        return Err(Error::input(table.path(), "", "no rows after the header", "one row per node"));
    }
    Ok(Ids::from_names(names.into_iter().map(Cow::into_owned).collect()))
}

/// A number in canonical form: digits without a sign or leading zeros.
fn number(id: &str) -> Option<u32> {
    let plain = !id.starts_with('+') && (id == "0" || !id.starts_with('0'));
    id.parse().ok().filter(|_| plain)
}
