//! Node splits.

use std::collections::HashSet;
use std::path::Path;

use super::super::Split;
use super::super::table::{self, Column, Table};
use super::nodes::{self, ID, NodeTable};
use crate::error::Result;
use crate::graph::Ids;

/// The protocol of a column named `split`.
const OWN_PROTOCOL: &str = "own";

/// Reads the table of splits.
pub(super) fn open(path: &Path) -> Result<Table> {
    Table::read(path, |name| !table::is_index(name))
}

/// The nodes in the table; none if it has no rows.
pub(super) fn ids(table: &Table) -> Result<Ids> {
    if table.n_rows() == 0 { Ok(Ids::Numbered(0)) } else { nodes::ids_of_column(table) }
}

/// One split per column.
pub(super) fn read(table: &Table, nodes: &NodeTable<'_>) -> Result<Vec<Split>> {
    let rows = nodes.of_rows(table)?;
    let columns = table.columns().iter().filter(|column| !table::is_one_of(&column.name, &ID));
    let splits: Vec<Split> = columns.map(|column| split(table, column, &rows)).collect::<Result<_>>()?;
    let mut seen = HashSet::new();
    if let Some(split) = splits.iter().find(|split| !seen.insert((&split.protocol, split.index))) {
        let found = format!("two columns for split {} of protocol '{}'", split.index, split.protocol);
        return Err(table.bad_header(found, "one column per split"));
    }
    Ok(splits)
}

fn split(table: &Table, column: &Column, rows: &[u32]) -> Result<Split> {
    let (protocol, index) = protocol(&column.name);
    let mut split = Split { protocol, index, train: Vec::new(), val: Vec::new(), test: Vec::new() };
    for (row, &node) in rows.iter().enumerate() {
        match table.text(column, row).as_ref() {
            "train" => split.train.push(node),
            "val" => split.val.push(node),
            "test" => split.test.push(node),
            "" => {}
            other => {
                let found = format!("{} in column '{}'", table::quoted(other), column.name);
                return Err(table.bad(row, found, "train, val, test or an empty cell"));
            }
        }
    }
    for nodes in [&mut split.train, &mut split.val, &mut split.test] {
        nodes.sort_unstable();
    }
    Ok(split)
}

/// Parses a column name: `geomgcn-10:3` is split 3 of protocol `geomgcn-10`; without a number it is split 0.
fn protocol(name: &str) -> (String, usize) {
    match name.rsplit_once(':').map(|(protocol, index)| (protocol, index.parse())) {
        Some((protocol, Ok(index))) if !protocol.is_empty() => (protocol.to_owned(), index),
        _ if name == "split" => (OWN_PROTOCOL.to_owned(), 0),
        _ => (name.to_owned(), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_name_gives_protocol_and_index() {
        assert_eq!(protocol("geomgcn-10:3"), ("geomgcn-10".into(), 3));
        assert_eq!(protocol("split"), ("own".into(), 0));
        assert_eq!(protocol("a:b"), ("a:b".into(), 0));
    }
}
