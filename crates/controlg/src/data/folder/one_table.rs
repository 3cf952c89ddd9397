//! Node types and relations in one table each.
//!
//! ```text
//! nodes.csv   id,type[,label],<any names>   a type has the features whose cells its rows fill
//! edges.csv   src,dst,relation              SRC-RELATION-DST; or a plain name, if no two types share an id
//! ```

use std::collections::HashMap;
use std::path::Path;

use super::super::FeatureSource;
use super::super::table::{self, Table};
use super::super::typed::{RawNodeType, RawRelation};
use super::edges::EdgeTable;
use super::features::{self, FeatureFile};
use super::labels::LabelFile;
use super::nodes::{self, ID, NodeTable};
use super::typed::{TypeTable, name_and_ends, relation_between};
use super::{entries_in, only_file};
use crate::error::Result;

/// Names of the column with the type of a node.
pub(super) const TYPE: [&str; 2] = ["type", "node_type"];
/// Names of the column with the relation of an edge.
pub(super) const RELATION: [&str; 2] = ["relation", "edge_type"];

/// Whether the table of a part has a column with one of these names.
pub(super) fn has_column(folder: &Path, part: &str, names: &[&str]) -> bool {
    let table = only_file(folder, &entries_in(folder), part)
        .ok()
        .flatten()
        .and_then(|file| Table::read(&file, |_| false).ok());
    table.is_some_and(|table| table.unused().iter().any(|name| table::is_one_of(name, names)))
}

/// The node types of a table, in the order in which they first occur.
pub(super) fn types(file: &Path, source: FeatureSource, notes: &mut Vec<String>) -> Result<Vec<TypeTable>> {
    let all = Table::read(file, |name| !table::is_index(name))?;
    notes.extend(all.dialect_note());
    let is_label = |name: &str| table::is_one_of(name, &features::LABELS);
    let read = |(name, rows): (String, Vec<usize>)| {
        let own = all.select(&rows, |column| {
            let is_special = table::is_one_of(&column.name, &TYPE) || is_label(&column.name);
            !is_special && (table::is_one_of(&column.name, &ID) || !all.is_empty_in(column, &rows))
        });
        let ids = nodes::ids_of_column(&own)?;
        let of_type = NodeTable::new(&ids, file)?;
        let has_features = own.columns().len() > 1;
        let labeled = all.columns().iter().find(|column| is_label(&column.name));
        let labels = match labeled.filter(|column| !all.is_empty_in(column, &rows)) {
            Some(label) => {
                let wanted = |name: &str| table::is_one_of(name, &ID) || name == label.name;
                let table = all.select(&rows, |column| wanted(&column.name));
                let table = table.renamed(&[(&label.name[..], "label")]);
                Some(LabelFile::Table(table).labels(&of_type, None)?)
            }
            None => None,
        };
        let features = match (source, has_features) {
            (FeatureSource::Given, true) => Some(FeatureFile::Table(own).into_features(&of_type)?),
            _ => None,
        };
        drop(of_type);
        let raw = RawNodeType { name, size: ids.len(), features };
        Ok(TypeTable { file: file.to_owned(), ids, raw, labels })
    };
    groups(&all, &TYPE, "a node type")?.into_iter().map(read).collect()
}

/// The relations of a table, in the order in which they first occur.
pub(super) fn relations(
    file: &Path,
    types: &[TypeTable],
    notes: &mut Vec<String>,
) -> Result<Vec<RawRelation>> {
    let all = EdgeTable::open_with(file, &RELATION)?;
    notes.extend(all.notes());
    let mut by_id: Option<HashMap<String, Option<usize>>> = None;
    let read = |(name, rows): (String, Vec<usize>)| {
        let own = all.select(&rows);
        if let Some(ends) = name_and_ends(&name) {
            return relation_between(file, ends, &[own], types);
        }
        // A plain name: the ids of the first edge tell the types.
        let by_id = by_id.get_or_insert_with(|| types_by_id(types));
        let mut ends = [0; 2];
        for (end, id) in ends.iter_mut().zip(own.ids(0)?) {
            let expected = "an id of one type in the table of nodes, or relations like author-writes-paper";
            *end = match by_id.get(table::trimmed(&id)) {
                Some(Some(node_type)) => *node_type,
                Some(None) => {
                    let found = format_args!("node {}, an id of several types", table::quoted(&id));
                    return Err(own.table().bad(0, found, expected));
                }
                None => {
                    return Err(own.table().bad(0, format_args!("node {}", table::quoted(&id)), expected));
                }
            };
        }
        let [src, dst] = ends.map(|end| &types[end].raw.name[..]);
        relation_between(file, [src, &name, dst], &[own], types)
    };
    groups(all.table(), &RELATION, "a relation")?.into_iter().map(read).collect()
}

/// The rows with each value of a column, in the order in which the values first occur.
fn groups(all: &Table, names: &[&str], expected: &str) -> Result<Vec<(String, Vec<usize>)>> {
    let column = all.require(names)?;
    let (mut groups, mut known) = (Vec::<(String, Vec<usize>)>::new(), HashMap::new());
    for row in 0..all.n_rows() {
        let name = all.text(column, row);
        if name.is_empty() || name.contains(table::is_line_break) {
            let found = format_args!("{} in column '{}'", table::quoted(&name), column.name);
            return Err(all.bad(row, found, expected));
        }
        let at = *known.entry(name.to_string()).or_insert_with(|| {
            groups.push((name.to_string(), Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(row);
    }
    match groups.is_empty() {
        true => Err(all.bad_header("no rows after the header", expected)),
        false => Ok(groups),
    }
}

/// The type of each id; `None` for an id of several types.
fn types_by_id(types: &[TypeTable]) -> HashMap<String, Option<usize>> {
    let mut by_id = HashMap::new();
    for (at, node_type) in types.iter().enumerate() {
        for node in 0..node_type.ids.len() {
            let of_id = by_id.entry(node_type.ids.get(node).into_owned()).or_insert(Some(at));
            if *of_id != Some(at) {
                *of_id = None;
            }
        }
    }
    by_id
}
