//! Which nodes there are, and how they are found by their ids.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use super::super::table::{self, Column, Table};
use super::super::{checks, limits};
use crate::error::{Error, Result};
use crate::graph::Ids;

/// Names a column of ids may have.
pub(super) const ID: [&str; 2] = ["id", "nid"];

/// The nodes of a graph, by id.
pub(super) struct NodeTable<'a> {
    ids: &'a Ids,
    by_name: HashMap<&'a str, u32>,
    /// The file that says which nodes there are.
    origin: String,
}

impl<'a> NodeTable<'a> {
    /// Nodes with these ids, no two alike, as listed in a file.
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
        Ok(NodeTable { ids, by_name, origin })
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn name(&self, node: usize) -> Cow<'_, str> {
        self.ids.get(node)
    }

    /// The node of that id, spaces around it aside, or what is wrong with it: what was found, what was expected.
    pub(super) fn find(&self, id: &str) -> std::result::Result<u32, (String, String)> {
        let id = table::trimmed(id);
        let node = match self.ids {
            Ids::Numbered(n) => number(id).filter(|&node| (node as usize) < *n),
            Ids::Named(_) => self.by_name.get(id).copied(),
        };
        node.ok_or_else(|| {
            let expected = match self.ids {
                Ids::Numbered(n) => format!("an id of {}, 0 to {}", self.origin, n - 1),
                Ids::Named(_) => format!("an id that stands in {}", self.origin),
            };
            (format!("node {}", table::quoted(id)), expected)
        })
    }

    /// The node of each row of a table, each at most once.
    pub(super) fn of_rows(&self, table: &Table) -> Result<Vec<u32>> {
        let ids = table.need(&ID)?;
        let mut seen = vec![false; self.len()];
        let mut nodes = Vec::with_capacity(table.n_rows());
        for row in 0..table.n_rows() {
            let id = id_at(table, ids, row)?;
            let node = self.find(&id).map_err(|(found, expected)| table.bad(row, found, expected))?;
            if std::mem::replace(&mut seen[node as usize], true) {
                return Err(table.bad(row, format_args!("id {} again", table::quoted(&id)), "each id once"));
            }
            nodes.push(node);
        }
        Ok(nodes)
    }

    /// Where the nodes come from, in words for an error.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }
}

/// The id in a cell.
pub(super) fn id_at<'a>(table: &Table, column: &'a Column, row: usize) -> Result<Cow<'a, str>> {
    let id = table.text(column, row);
    match checks::fault_of_id(&id) {
        None => Ok(id),
        Some(found) => Err(table.bad(row, found, "an id on one line")),
    }
}

/// The ids of a file with one a line.
pub(super) fn names_of_lines(path: &Path) -> Result<Ids> {
    let lines = distinct_lines(path, "id")?;
    Ok(Ids::from_names(lines))
}

/// The lines of a file without the spaces around them, none empty, no two alike.
pub(super) fn distinct_lines(path: &Path, what: &str) -> Result<Vec<String>> {
    let text = limits::read_text(path)?;
    let lines = || text.lines().map(table::trimmed);
    let mut seen = HashMap::new();
    for (at, line) in lines().enumerate() {
        let found = match seen.insert(line, at + 1) {
            Some(before) => format!("{what} {} again, as on line {before}", table::quoted(line)),
            None if line.is_empty() => "an empty line".to_owned(),
            // Some editors break lines by '\r' alone: what looks like many lines would be one.
            None if line.contains(table::is_line_break) => "a line break of '\\r' alone".to_owned(),
            None => continue,
        };
        return Err(Error::input(
            path,
            format_args!("line {}", at + 1),
            found,
            format_args!("one {what} a line, each once"),
        ));
    }
    match seen.is_empty() {
        true => Err(Error::input(path, "line 1", "an empty file", format_args!("one {what} a line"))),
        false => Ok(lines().map(str::to_owned).collect()),
    }
}

/// The ids in a table's column of ids.
pub(super) fn names_of_column(table: &Table) -> Result<Ids> {
    let column = table.need(&ID)?;
    let names: Vec<Cow<'_, str>> =
        (0..table.n_rows()).map(|row| id_at(table, column, row)).collect::<Result<_>>()?;
    let mut seen = HashMap::with_capacity(names.len());
    for (row, name) in names.iter().enumerate() {
        if seen.insert(name.as_ref(), row).is_some() {
            return Err(table.bad(row, format_args!("id {} again", table::quoted(name)), "each id once"));
        }
    }
    if names.is_empty() {
        return Err(Error::input(table.path(), "", "no rows below the header", "one row for each node"));
    }
    Ok(Ids::from_names(names.into_iter().map(Cow::into_owned).collect()))
}

/// A whole number written as such: digits without a sign or leading zeros.
fn number(id: &str) -> Option<u32> {
    let plain = !id.starts_with('+') && (id == "0" || !id.starts_with('0'));
    id.parse().ok().filter(|_| plain)
}
