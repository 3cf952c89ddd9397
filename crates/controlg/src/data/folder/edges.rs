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
/// Other names of source and target, used if the table has none of the above.
const OTHER_ENDS: [[&str; 2]; 4] =
    [["from", "to"], ["u", "v"], ["node1", "node2"], ["source_id", "target_id"]];

/// The table of edges.
pub(super) struct EdgeTable {
    table: Table,
    /// The names of source and target, if they are not the usual ones.
    other_ends: Option<[&'static str; 2]>,
}

impl EdgeTable {
    /// Reads the columns of the table.
    pub(super) fn open(path: &Path) -> Result<EdgeTable> {
        let read = |ends: &[&str]| {
            Table::read(path, |name| {
                [&SOURCE[..], &TARGET, &WEIGHT, ends].iter().any(|names| table::is_one_of(name, names))
            })
        };
        let table = read(&[])?;
        if table.find(&SOURCE).is_some() || table.find(&TARGET).is_some() {
            return Ok(EdgeTable { table, other_ends: None });
        }
        let has = |end: &&str| table.unused().iter().any(|name| table::is_one_of(name, &[end]));
        match OTHER_ENDS.iter().find(|ends| ends.iter().all(has)) {
            Some(ends) => Ok(EdgeTable { table: read(ends)?, other_ends: Some(*ends) }),
            None => Ok(EdgeTable { table, other_ends: None }),
        }
    }

    /// A table with the columns `src` and `dst`.
    pub(super) fn of(table: Table) -> EdgeTable {
        EdgeTable { table, other_ends: None }
    }

    /// A table that also has the columns that `more` accepts.
    pub(super) fn open_with(path: &Path, more: &[&str]) -> Result<EdgeTable> {
        let EdgeTable { table, other_ends } = EdgeTable::open(path)?;
        let all: Vec<String> = table.columns().iter().map(|column| column.name.clone()).collect();
        drop(table);
        let wanted = |name: &str| all.iter().any(|known| known == name) || table::is_one_of(name, more);
        Ok(EdgeTable { table: Table::read(path, wanted)?, other_ends })
    }

    /// The table itself.
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// Some of the rows.
    pub(super) fn select(&self, rows: &[usize]) -> EdgeTable {
        EdgeTable { table: self.table.select(rows, |_| true), other_ends: self.other_ends }
    }

    /// The ids of source and target in a row.
    pub(super) fn ids(&self, row: usize) -> Result<[Cow<'_, str>; 2]> {
        let (source, target) = self.ends()?;
        Ok([nodes::id_at(&self.table, source, row)?, nodes::id_at(&self.table, target, row)?])
    }

    /// The columns of source and target.
    fn ends(&self) -> Result<(&Column, &Column)> {
        match self.other_ends {
            Some([source, target]) => Ok((self.table.require(&[source])?, self.table.require(&[target])?)),
            None => Ok((self.table.require(&SOURCE)?, self.table.require(&TARGET)?)),
        }
    }

    /// Remarks for the user.
    pub(super) fn notes(&self) -> Vec<String> {
        let ends = self.other_ends.map(|[source, target]| {
            let file = self.table.path().display();
            format!("{file}: columns '{source}' and '{target}' are read as src and dst")
        });
        self.table.notes().into_iter().chain(ends).collect()
    }
}

/// The edges between the given nodes.
pub(super) fn read(edges: &EdgeTable, nodes: &NodeTable<'_>) -> Result<EdgeList> {
    let (table, (source, target)) = (&edges.table, edges.ends()?);
    let find = |column: &Column, row: usize| {
        let id = nodes::id_at(table, column, row)?;
        nodes.find(&id).map_err(|(found, expected)| table.bad(row, found, expected))
    };
    let pairs = (0..table.n_rows()).map(|row| Ok((find(source, row)?, find(target, row)?)));
    Ok(EdgeList { pairs: pairs.collect::<Result<_>>()?, weights: weights(table)? })
}

/// The edges from nodes of one type to nodes of another, which have no weights.
pub(super) fn read_between(
    edges: &EdgeTable,
    from: &NodeTable<'_>,
    to: &NodeTable<'_>,
) -> Result<Vec<(u32, u32)>> {
    let (table, (source, target)) = (&edges.table, edges.ends()?);
    if let Some(column) = table.find(&WEIGHT) {
        let found = format_args!("column '{}'", column.name);
        return Err(table.bad_header(found, "src,dst; edges between types have no weights"));
    }
    let find = |nodes: &NodeTable<'_>, column: &Column, row: usize| {
        let id = nodes::id_at(table, column, row)?;
        nodes.find(&id).map_err(|(found, expected)| table.bad(row, found, expected))
    };
    (0..table.n_rows()).map(|row| Ok((find(from, source, row)?, find(to, target, row)?))).collect()
}

/// The nodes of the edges in order of appearance, followed by those that only `labeled` or else only `split` has, or all
/// in numeric order if all ids are integers; the edges between them; and the ids that only `labeled` or only `split` has.
pub(super) fn read_with_nodes(
    edges: &EdgeTable,
    labeled: &Ids,
    split: &Ids,
) -> Result<(Ids, EdgeList, [Vec<String>; 2])> {
    let (table, (source, target)) = (&edges.table, edges.ends()?);
    let mut numbers: HashMap<Cow<'_, str>, u32> = HashMap::new();
    let mut number_of = |column, row| -> Result<u32> {
        let next = numbers.len() as u32;
        Ok(*numbers.entry(nodes::id_at(table, column, row)?).or_insert(next))
    };
    let mut pairs = Vec::with_capacity(table.n_rows());
    for row in 0..table.n_rows() {
        pairs.push((number_of(source, row)?, number_of(target, row)?));
    }
    let lone = [labeled, split].map(|others| {
        let mut lone = Vec::new();
        for other in 0..others.len() {
            let next = numbers.len() as u32;
            if *numbers.entry(others.get(other)).or_insert(next) == next {
                lone.push(others.get(other).into_owned());
            }
        }
        lone
    });

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
    Ok((Ids::from_names(names), EdgeList { pairs, weights: weights(table)? }, lone))
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
