//! Tables on disk, `.csv`, `.tsv` (also gzipped) and `.parquet`, as named columns.
//!
//! A table with a header line keeps every cell as the text it was; a Parquet file has types of its own. Both know
//! the place of a row, so that an error can name it: `line 17` counts the header as line 1, `row 17` counts rows
//! from 1. Spaces around a cell do not belong to it: `ann, bob` are the cells `ann` and `bob`.

mod fence;
mod pages;
mod parquet;
mod separated;

use std::borrow::Cow;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::Real;
use crate::error::{Error, Result};

/// Endings of the files that [`Table::read`] understands.
pub(super) const ENDINGS: [&str; 5] = ["csv", "tsv", "csv.gz", "tsv.gz", "parquet"];

/// Whether a file's name says that it is a table.
pub(super) fn is_table(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    ENDINGS.iter().any(|ending| name.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.')))
}

/// A table read from a file.
#[derive(Debug)]
pub(super) struct Table {
    path: PathBuf,
    n_rows: usize,
    columns: Vec<Column>,
    /// Names of columns that nobody asked for.
    unused: Vec<String>,
}

/// One column of a table.
#[derive(Debug)]
pub(super) struct Column {
    /// Its name in the header.
    pub(super) name: String,
    cells: Cells,
    /// Which cells are empty; no entries when none is. Cells of text are empty when they are "".
    missing: Vec<bool>,
}

#[derive(Debug)]
enum Cells {
    /// All cells one after the other, and where each ends.
    Text { text: String, ends: Vec<usize> },
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Real numbers.
    Real(Vec<f64>),
    /// Lists of numbers one after the other, and where each ends.
    Lists { values: Vec<Real>, ends: Vec<usize> },
}

impl Table {
    /// Reads the columns whose names are `wanted`.
    pub(super) fn read(path: &Path, wanted: impl Fn(&str) -> bool + Sync) -> Result<Table> {
        let name = path.to_string_lossy().to_lowercase();
        let table = match name.trim_end_matches(".gz").rsplit('.').next() {
            Some("parquet") => parquet::read(path, &wanted)?,
            Some("tsv") => separated::read(path, b'\t', &wanted)?,
            _ => separated::read(path, b',', &wanted)?,
        };
        debug_assert!(table.columns.iter().all(|column| column.len() == table.n_rows));
        Ok(table)
    }

    /// The file it came from.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Number of rows, the header not counted.
    pub(super) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The columns that were asked for, in the order of the file.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Names of the columns that were not asked for.
    pub(super) fn unused(&self) -> &[String] {
        &self.unused
    }

    /// The column with one of these names, in capitals or not.
    pub(super) fn find(&self, names: &[&str]) -> Option<&Column> {
        self.columns.iter().find(|column| is_one_of(&column.name, names))
    }

    /// The column with one of these names; an error when there is none.
    pub(super) fn need(&self, names: &[&str]) -> Result<&Column> {
        self.find(names).ok_or_else(|| {
            let there: Vec<_> = self.columns.iter().map(|c| &c.name).chain(&self.unused).take(8).collect();
            let found = match &there[..] {
                [] => "no columns".to_owned(),
                there => format!("columns {there:?}"),
            };
            self.bad_header(found, format_args!("a column {}", names.join(" or ")))
        })
    }

    /// An error about the names or types of the columns.
    pub(super) fn bad_header(&self, found: impl Display, expected: impl Display) -> Error {
        self.error(if self.is_parquet() { "schema" } else { "line 1" }, found, expected)
    }

    /// An error about a cell or row.
    pub(super) fn bad(&self, row: usize, found: impl Display, expected: impl Display) -> Error {
        self.error(&self.place(row), found, expected)
    }

    /// The cell as text without the spaces around it: numbers as they would be written, an empty cell as "".
    pub(super) fn text<'a>(&self, column: &'a Column, row: usize) -> Cow<'a, str> {
        if column.is_missing(row) {
            return Cow::Borrowed("");
        }
        match &column.cells {
            Cells::Text { text, ends } => Cow::Borrowed(trimmed(slice(text, ends, row))),
            Cells::Whole(values) => Cow::Owned(values[row].to_string()),
            Cells::Real(values) => Cow::Owned(values[row].to_string()),
            Cells::Lists { values, ends } => Cow::Owned(format!("{:?}", list(values, ends, row))),
        }
    }

    /// The cell as a finite number.
    pub(super) fn number(&self, column: &Column, row: usize) -> Result<Real> {
        let number = match &column.cells {
            _ if column.is_missing(row) => None,
            Cells::Text { text, ends } => slice(text, ends, row).trim().parse().ok(),
            Cells::Whole(values) => Some(values[row] as Real),
            Cells::Real(values) => Some(values[row] as Real),
            Cells::Lists { .. } => None,
        };
        number.filter(|x: &Real| x.is_finite()).ok_or_else(|| {
            let found = quoted(&self.text(column, row));
            self.bad(row, format_args!("{found} in column '{}'", column.name), "a finite number")
        })
    }

    /// The cell as a list of finite numbers.
    pub(super) fn list<'a>(&self, column: &'a Column, row: usize) -> Result<&'a [Real]> {
        match &column.cells {
            Cells::Lists { values, ends } if !column.is_missing(row) => {
                let list = list(values, ends, row);
                match list.iter().find(|x| !x.is_finite()) {
                    Some(x) => {
                        Err(self.bad(row, format_args!("{x} in column '{}'", column.name), "finite numbers"))
                    }
                    None => Ok(list),
                }
            }
            _ => Err(self.bad(row, format_args!("no list in column '{}'", column.name), "a list of numbers")),
        }
    }

    fn place(&self, row: usize) -> String {
        match self.is_parquet() {
            true => format!("row {}", row + 1),
            false => format!("line {}", separated::line_of(&self.path, row)),
        }
    }

    fn is_parquet(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"))
    }

    fn error(&self, place: &str, found: impl Display, expected: impl Display) -> Error {
        Error::input(&self.path, place, found, expected)
    }
}

impl Column {
    /// Whether its cells are lists.
    pub(super) fn holds_lists(&self) -> bool {
        matches!(self.cells, Cells::Lists { .. })
    }

    fn is_missing(&self, row: usize) -> bool {
        let not_a_number = matches!(&self.cells, Cells::Real(values) if values[row].is_nan());
        not_a_number || self.missing.get(row).is_some_and(|&missing| missing)
    }

    fn len(&self) -> usize {
        match &self.cells {
            Cells::Text { ends, .. } | Cells::Lists { ends, .. } => ends.len(),
            Cells::Whole(values) => values.len(),
            Cells::Real(values) => values.len(),
        }
    }
}

/// Whether a column's name is one of these, in capitals or not.
pub(super) fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// A cell without the spaces around it. Line breaks stay: they are the mark of a quote that was never closed.
pub(super) fn trimmed(cell: &str) -> &str {
    cell.trim_matches(|c: char| c.is_whitespace() && !is_line_break(c))
}

/// Whether a character ends a line in a file with one name a line.
pub(super) fn is_line_break(c: char) -> bool {
    c == '\n' || c == '\r'
}

/// What a cell holds, for an error: quoted, shortened, and `an empty cell` by that name.
pub(super) fn quoted(cell: &str) -> String {
    match cell.char_indices().nth(60) {
        _ if cell.is_empty() => "an empty cell".to_owned(),
        Some((end, _)) => format!("'{}…'", &cell[..end]),
        None => format!("'{cell}'"),
    }
}

fn slice<'a>(text: &'a str, ends: &[usize], row: usize) -> &'a str {
    &text[span(ends, row)]
}

fn list<'a>(values: &'a [Real], ends: &[usize], row: usize) -> &'a [Real] {
    &values[span(ends, row)]
}

fn span(ends: &[usize], row: usize) -> std::ops::Range<usize> {
    let start = if row == 0 { 0 } else { ends[row - 1] };
    start..ends[row]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_known_by_their_endings() {
        for name in ["a.csv", "a.TSV", "x/edges.csv.gz", "b.parquet"] {
            assert!(is_table(Path::new(name)), "{name}");
        }
        for name in ["csv", "a.gz", "edges.npz", "mycsv", "a.parquet.gz"] {
            assert!(!is_table(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn long_cells_are_shortened_at_a_character() {
        assert_eq!(quoted(""), "an empty cell");
        assert_eq!(quoted("é"), "'é'");
        assert_eq!(quoted(&"é".repeat(100)).chars().count(), 63);
    }
}
