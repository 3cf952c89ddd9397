//! Node labels.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::super::Labels;
use super::super::arrays::{self, Array};
use super::super::table::{self, Table};
use super::nodes::{self, ID, NodeTable};
use crate::error::{Error, Result};
use crate::graph::Ids;

const LABEL: [&str; 2] = ["label", "class"];
/// Marks a node without a label, like an empty cell.
pub(in super::super) const NO_LABEL: &str = "-1";

/// A file of labels.
pub(super) enum LabelFile {
    /// Rows in any order, each with the id of its node.
    Table(Table),
    /// One class per node, in node order.
    Rows(Array),
}

/// A label as read from a file: node, text and row.
struct LabelCell<'a> {
    node: usize,
    text: Cow<'a, str>,
    row: usize,
}

impl LabelFile {
    pub(super) fn open(path: &Path) -> Result<LabelFile> {
        if super::extension(path) == "npy" {
            return Ok(LabelFile::Rows(arrays::read_npy(path)?));
        }
        let wanted = [ID, LABEL].concat();
        Ok(LabelFile::Table(Table::read(path, |name| table::is_one_of(name, &wanted))?))
    }

    /// The table, unless it is an array.
    pub(super) fn table(&self) -> Option<&Table> {
        match self {
            LabelFile::Table(table) => Some(table),
            LabelFile::Rows(_) => None,
        }
    }

    /// The nodes in the file.
    pub(super) fn ids(&self) -> Result<Ids> {
        match self {
            LabelFile::Table(table) => nodes::ids_of_column(table),
            LabelFile::Rows(array) => Ok(Ids::Numbered(array.one_dimension()?)),
        }
    }

    /// The labels of these nodes; `classes` is the file that lists the classes in order.
    pub(super) fn labels(&self, nodes: &NodeTable<'_>, classes: Option<&Path>) -> Result<Labels> {
        let mut cells = self.cells(nodes)?;
        if let Some(cell) = cells.iter().find(|cell| cell.text.contains(table::is_line_break)) {
            return Err(self.bad(cell, "a label on one line"));
        }
        let names = classes.map(|file| nodes::distinct_lines(file, "class")).transpose()?;
        // -1 is a class only if the list of classes says so.
        if !names.iter().flatten().any(|name| name == NO_LABEL) {
            cells.retain(|cell| cell.text != NO_LABEL);
        }
        match (classes, names) {
            (Some(file), Some(names)) => self.listed(nodes, &cells, names, file),
            _ => match integers(&cells) {
                Some(numbers) => self.numbered(nodes, &cells, &numbers),
                None => Ok(sorted(nodes, &cells)),
            },
        }
    }

    /// All labels that are not empty.
    fn cells(&self, nodes: &NodeTable<'_>) -> Result<Vec<LabelCell<'_>>> {
        match self {
            LabelFile::Table(table) => {
                let column = table.require(&LABEL)?;
                let rows = nodes.of_rows(table)?;
                let cell = |(row, node): (usize, u32)| LabelCell {
                    node: node as usize,
                    text: table.text(column, row),
                    row,
                };
                Ok(rows.into_iter().enumerate().map(cell).filter(|cell| !cell.text.is_empty()).collect())
            }
            LabelFile::Rows(array) => {
                let rows = array.one_dimension()?;
                if rows != nodes.len() {
                    let expected = format!("{}, one for each id in {}", nodes.len(), nodes.origin());
                    return Err(array.error("", format_args!("{rows} labels"), expected));
                }
                let cell =
                    |(row, class): (usize, i64)| LabelCell { node: row, text: class.to_string().into(), row };
                Ok(array.to_integers()?.into_iter().enumerate().map(cell).collect())
            }
        }
    }

    fn numbered(&self, nodes: &NodeTable<'_>, cells: &[LabelCell<'_>], numbers: &[i64]) -> Result<Labels> {
        if let Some(at) = numbers.iter().position(|&class| class < 0) {
            return Err(self.bad(&cells[at], "a class number ≥ 0, or -1 for no label"));
        }
        let there: BTreeSet<i64> = numbers.iter().copied().collect();
        if let Some((gap, class)) = (0..).zip(&there).find(|(want, class)| want != *class) {
            let at = numbers.iter().position(|number| number == class).unwrap_or_default();
            let expected = format!("class numbers from 0 without a gap (no node has class {gap})");
            return Err(self.bad(&cells[at], expected));
        }
        let mut classes = vec![Labels::NONE; nodes.len()];
        for (cell, &class) in cells.iter().zip(numbers) {
            classes[cell.node] = u32::try_from(class).unwrap_or(Labels::NONE);
        }
        Ok(Labels::numbered(classes))
    }

    fn listed(
        &self,
        nodes: &NodeTable<'_>,
        cells: &[LabelCell<'_>],
        names: Vec<String>,
        file: &Path,
    ) -> Result<Labels> {
        let numbers: HashMap<&str, u32> =
            names.iter().enumerate().map(|(i, name)| (name.as_str(), i as u32)).collect();
        let mut classes = vec![Labels::NONE; nodes.len()];
        for cell in cells {
            match numbers.get(cell.text.as_ref()) {
                Some(&class) => classes[cell.node] = class,
                None => {
                    let file = file.file_name().unwrap_or_default().to_string_lossy();
                    return Err(self.bad(cell, format_args!("a class listed in {file}")));
                }
            }
        }
        Ok(Labels::new(classes, names))
    }

    fn bad(&self, cell: &LabelCell<'_>, expected: impl std::fmt::Display) -> Error {
        let found = format!("label {}", table::quoted(&cell.text));
        match self {
            LabelFile::Table(table) => table.bad(cell.row, found, expected),
            LabelFile::Rows(array) => array.error(array.place(cell.row), found, expected),
        }
    }
}

/// The labels as integers, if all of them are.
fn integers(cells: &[LabelCell<'_>]) -> Option<Vec<i64>> {
    cells.iter().map(|cell| cell.text.parse().ok()).collect()
}

fn sorted(nodes: &NodeTable<'_>, cells: &[LabelCell<'_>]) -> Labels {
    let names: BTreeSet<&str> = cells.iter().map(|cell| cell.text.as_ref()).collect();
    let numbers: HashMap<&str, u32> = names.iter().enumerate().map(|(i, &name)| (name, i as u32)).collect();
    let mut classes = vec![Labels::NONE; nodes.len()];
    for cell in cells {
        classes[cell.node] = numbers[cell.text.as_ref()];
    }
    Labels::new(classes, names.into_iter().map(str::to_owned).collect())
}
