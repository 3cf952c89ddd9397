//! The edges, and the nodes if no other file lists them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use super::super::table::{self, Column, Table};
use super::nodes::{self, NodeTable};
use crate::error::Result;
use crate::graph::{EdgeList, Ids};

const SOURCE: [&str; 2] = ["src", "source"];
const TARGET: [&str; 2] = ["dst", "target"];
const WEIGHT: [&str; 1] = ["weight"];

/// Reads the columns of the table of edges.
pub(super) fn open(path: &Path) -> Result<Table> {
    Table::read(path, |name| {
        [&SOURCE[..], &TARGET, &WEIGHT].iter().any(|names| table::is_one_of(name, names))
    })
}

/// The edges between the given nodes.
pub(super) fn read(table: &Table, nodes: &NodeTable<'_>) -> Result<EdgeList> {
    let (source, target) = ends(table)?;
    let find = |column: &Column, row: usize| {
        let id = nodes::id_at(table, column, row)?;
        nodes.find(&id).map_err(|(found, expected)| table.bad(row, found, expected))
    };
    let pairs = (0..table.n_rows()).map(|row| Ok((find(source, row)?, find(target, row)?)));
    Ok(EdgeList { pairs: pairs.collect::<Result<_>>()?, weights: weights(table)? })
}

/// The nodes of the edges in order of appearance, followed by those of `others` that have no edge, or all in numeric
/// order if all ids are integers; and the edges between them.
pub(super) fn read_with_nodes(table: &Table, others: &Ids) -> Result<(Ids, EdgeList)> {
    let (source, target) = ends(table)?;
    let mut numbers: HashMap<Cow<'_, str>, u32> = HashMap::new();
    let mut number_of = |column, row| -> Result<u32> {
        let next = numbers.len() as u32;
        Ok(*numbers.entry(nodes::id_at(table, column, row)?).or_insert(next))
    };
    let mut pairs = Vec::with_capacity(table.n_rows());
    for row in 0..table.n_rows() {
        pairs.push((number_of(source, row)?, number_of(target, row)?));
    }
    for other in 0..others.len() {
        let next = numbers.len() as u32;
        numbers.entry(others.get(other)).or_insert(next);
    }

    let mut names = vec![String::new(); numbers.len()];
    for (name, number) in numbers {
        names[number as usize] = name.into_owned();
    }
    if let Some(values) = names.iter().map(|name| integer(name)).collect::<Option<Vec<_>>>() {
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_unstable_by_key(|&old| values[old]);
        let mut moved = vec![0; names.len()];
        for (new, &old) in order.iter().enumerate() {
            moved[old] = new as u32;
        }
        names = order.iter().map(|&old| std::mem::take(&mut names[old])).collect();
        for (u, v) in &mut pairs {
            (*u, *v) = (moved[*u as usize], moved[*v as usize]);
        }
    }
    Ok((Ids::from_names(names), EdgeList { pairs, weights: weights(table)? }))
}

fn ends(table: &Table) -> Result<(&Column, &Column)> {
    Ok((table.require(&SOURCE)?, table.require(&TARGET)?))
}

fn weights(table: &Table) -> Result<Option<Vec<crate::Real>>> {
    let Some(column) = table.find(&WEIGHT) else { return Ok(None) };
    let weight = |row| match table.number(column, row) {
        Ok(weight) if weight > 0.0 => Ok(weight),
        _ => {
            let found = format!("{} in column '{}'", table::quoted(&table.text(column, row)), column.name);
            Err(table.bad(row, found, "a positive number"))
        }
    };
    (0..table.n_rows()).map(weight).collect::<Result<Vec<_>>>().map(Some)
}

/// An integer in canonical form, so that `7` and `07` stay different ids.
fn integer(name: &str) -> Option<i64> {
    let digits = name.strip_prefix('-').unwrap_or(name);
    let canonical = name == "0" || (!digits.starts_with('0') && !name.starts_with('+'));
    name.parse().ok().filter(|_| canonical)
}
