//! Tables with named columns: `.csv`, `.tsv` (also gzipped) and `.parquet`.
//!
//! Cells of a text table are kept as text; a Parquet file has typed columns. Errors name the place of a row: `line 17`
//! in a text table, where the header is line 1, and `row 17` in a Parquet file, counted from 1. Spaces around a cell
//! are ignored: `ann, bob` are the cells `ann` and `bob`.

mod delimited;
mod dialect;
mod panic_guard;
mod parquet;
mod parquet_limits;

use std::borrow::Cow;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use self::dialect::Dialect;
use crate::Real;
use crate::error::{Error, Result};

/// File extensions that [`Table::read`] accepts.
pub(super) const EXTENSIONS: [&str; 5] = ["csv", "tsv", "csv.gz", "tsv.gz", "parquet"];

/// Whether a file is a table, by its extension.
pub(super) fn is_table(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    EXTENSIONS.iter().any(|extension| name.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.')))
}

/// Possible names of the id column.
pub(super) const ID: [&str; 2] = ["id", "nid"];

/// A table read from a file.
#[derive(Debug)]
pub(super) struct Table {
    path: PathBuf,
    n_rows: usize,
    columns: Vec<Column>,
    /// Names of columns that were not read.
    unused: Vec<String>,
    /// How a text table is written; the default for Parquet.
    dialect: Dialect,
    /// The rows of the file, if the table holds only some.
    rows: Option<Vec<usize>>,
}

/// One column of a table.
#[derive(Debug)]
pub(super) struct Column {
    /// The name in the header.
    pub(super) name: String,
    cells: CellData,
    /// Which cells are empty; no entries if none is. A text cell is empty if it is "".
    missing: Vec<bool>,
}

#[derive(Debug)]
enum CellData {
    /// All cells concatenated, and the end of each.
    Text { text: String, ends: Vec<usize> },
    /// Integers.
    Integers(Vec<i64>),
    /// Real numbers.
    Reals(Vec<f64>),
    /// Lists of numbers concatenated, and the end of each.
    Lists { values: Vec<Real>, ends: Vec<usize> },
}

impl Table {
    /// Reads the columns that `wanted` accepts.
    pub(super) fn read(path: &Path, wanted: impl Fn(&str) -> bool + Sync) -> Result<Table> {
        let name = path.to_string_lossy().to_lowercase();
        let table = match name.trim_end_matches(".gz").rsplit('.').next() {
            Some("parquet") => parquet::read(path, &wanted)?,
            Some("tsv") => delimited::read(path, b'\t', &wanted)?,
            _ => delimited::read(path, b',', &wanted)?,
        };
        debug_assert!(table.columns.iter().all(|column| column.len() == table.n_rows));
        Ok(table)
    }

    /// The same table with other names of some columns, given as (old, new).
    pub(super) fn renamed(mut self, names: &[(&str, &str)]) -> Table {
        for column in &mut self.columns {
            if let Some((_, new)) = names.iter().find(|(old, _)| *old == column.name) {
                column.name = (*new).to_owned();
            }
        }
        self
    }

    /// Some rows of the table, without the columns that `keep` refuses. Errors name the rows of the file.
    pub(super) fn select(&self, rows: &[usize], keep: impl Fn(&Column) -> bool) -> Table {
        let kept = self.columns.iter().filter(|column| keep(column));
        Table {
            path: self.path.clone(),
            n_rows: rows.len(),
            columns: kept.map(|column| column.select(rows)).collect(),
            unused: Vec::new(),
            dialect: self.dialect,
            rows: Some(rows.to_vec()),
        }
    }

    /// Whether a column has no cell with content in these rows.
    pub(super) fn is_empty_in(&self, column: &Column, rows: &[usize]) -> bool {
        rows.iter().all(|&row| self.text(column, row).is_empty())
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Number of rows without the header.
    pub(super) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The columns that were read, in file order.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Names of the columns that were not read.
    pub(super) fn unused(&self) -> &[String] {
        &self.unused
    }

    /// What the user should know about how the table was read.
    pub(super) fn notes(&self) -> Vec<String> {
        let unused = (!self.unused.is_empty())
            .then(|| format!("{}: ignored columns {}", self.path.display(), self.unused.join(", ")));
        self.dialect_note().into_iter().chain(unused).collect()
    }

    /// A note if a text table is not written in the usual way.
    pub(super) fn dialect_note(&self) -> Option<String> {
        self.dialect.note().map(|note| format!("{}: {note}", self.path.display()))
    }

    /// The column with one of these names, ignoring case.
    pub(super) fn find(&self, names: &[&str]) -> Option<&Column> {
        self.columns.iter().find(|column| is_one_of(&column.name, names))
    }

    /// The column with one of these names, or an error.
    pub(super) fn require(&self, names: &[&str]) -> Result<&Column> {
        self.find(names).ok_or_else(|| {
            let existing: Vec<_> = self.columns.iter().map(|c| &c.name).chain(&self.unused).take(8).collect();
            let found = match &existing[..] {
                [] => "no columns".to_owned(),
                existing => format!("columns {existing:?}"),
            };
            self.bad_header(found, format_args!("a column named {}", names.join(" or ")))
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

    /// The cell as text without surrounding spaces. Numbers are formatted; an empty cell is "".
    pub(super) fn text<'a>(&self, column: &'a Column, row: usize) -> Cow<'a, str> {
        if column.is_missing(row) {
            return Cow::Borrowed("");
        }
        match &column.cells {
            CellData::Text { text, ends } => Cow::Borrowed(trimmed(slice(text, ends, row))),
            CellData::Integers(values) => Cow::Owned(values[row].to_string()),
            CellData::Reals(values) => Cow::Owned(values[row].to_string()),
            CellData::Lists { values, ends } => Cow::Owned(format!("{:?}", list(values, ends, row))),
        }
    }

    /// The cell as a finite number.
    pub(super) fn number(&self, column: &Column, row: usize) -> Result<Real> {
        let number = match &column.cells {
            _ if column.is_missing(row) => None,
            CellData::Text { text, ends } => self.dialect.number(slice(text, ends, row)),
            CellData::Integers(values) => Some(values[row] as Real),
            CellData::Reals(values) => Some(values[row] as Real),
            CellData::Lists { .. } => None,
        };
        number.filter(|x: &Real| x.is_finite()).ok_or_else(|| {
            let text = self.text(column, row);
            let found = format!("{} in column '{}'", quoted(&text), column.name);
            let has_comma = dialect::has_decimal_comma(&text);
            self.bad(row, found, if has_comma { "a number with a decimal point" } else { "a finite number" })
        })
    }

    /// The cell as a list of finite numbers.
    pub(super) fn list<'a>(&self, column: &'a Column, row: usize) -> Result<&'a [Real]> {
        match &column.cells {
            CellData::Lists { values, ends } if !column.is_missing(row) => {
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
        let row = self.rows.as_ref().map_or(row, |rows| rows[row]);
        if self.is_parquet() {
            format!("row {}", row + 1)
        } else {
            format!("line {}", delimited::line_of(&self.path, self.dialect.separator, row))
        }
    }

    fn is_parquet(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
    }

    fn error(&self, place: &str, found: impl Display, expected: impl Display) -> Error {
        Error::input(&self.path, place, found, expected)
    }
}

impl Column {
    /// Whether the cells are lists.
    pub(super) fn holds_lists(&self) -> bool {
        matches!(self.cells, CellData::Lists { .. })
    }

    fn select(&self, rows: &[usize]) -> Column {
        let cells = match &self.cells {
            CellData::Text { text, ends } => {
                let (mut selected, mut new_ends) = (String::new(), Vec::with_capacity(rows.len()));
                for &row in rows {
                    selected.push_str(slice(text, ends, row));
                    new_ends.push(selected.len());
                }
                CellData::Text { text: selected, ends: new_ends }
            }
            CellData::Integers(values) => CellData::Integers(rows.iter().map(|&row| values[row]).collect()),
            CellData::Reals(values) => CellData::Reals(rows.iter().map(|&row| values[row]).collect()),
            CellData::Lists { values, ends } => {
                let (mut selected, mut new_ends) = (Vec::new(), Vec::with_capacity(rows.len()));
                for &row in rows {
                    selected.extend_from_slice(list(values, ends, row));
                    new_ends.push(selected.len());
                }
                CellData::Lists { values: selected, ends: new_ends }
            }
        };
        let missing = match self.missing.is_empty() {
            true => Vec::new(),
            false => rows.iter().map(|&row| self.missing[row]).collect(),
        };
        Column { name: self.name.clone(), cells, missing }
    }

    fn is_missing(&self, row: usize) -> bool {
        let not_a_number = matches!(&self.cells, CellData::Reals(values) if values[row].is_nan());
        not_a_number || self.missing.get(row).is_some_and(|&missing| missing)
    }

    fn len(&self) -> usize {
        match &self.cells {
            CellData::Text { ends, .. } | CellData::Lists { ends, .. } => ends.len(),
            CellData::Integers(values) => values.len(),
            CellData::Reals(values) => values.len(),
        }
    }
}

/// Whether a column is an index that pandas wrote: `__index_level_0__`.
pub(super) fn is_index(name: &str) -> bool {
    let level = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    level.is_some_and(|level| level.parse::<u32>().is_ok())
}

/// Whether a column name is one of `names`, ignoring case.
pub(super) fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// A cell without surrounding spaces. Line breaks stay: they indicate a quote that was never closed.
pub(super) fn trimmed(cell: &str) -> &str {
    cell.trim_matches(|c: char| c.is_whitespace() && !is_line_break(c))
}

/// Whether a character ends a line.
pub(super) fn is_line_break(c: char) -> bool {
    c == '\n' || c == '\r'
}

/// A cell in an error message: quoted and shortened, or `an empty cell`.
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
    fn tables_are_recognized_by_extension() {
        for name in ["a.csv", "a.TSV", "x/edges.csv.gz", "b.parquet"] {
            assert!(is_table(Path::new(name)), "{name}");
        }
        for name in ["csv", "a.gz", "edges.npz", "mycsv", "a.parquet.gz"] {
            assert!(!is_table(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn long_cells_are_shortened_at_a_character_boundary() {
        assert_eq!(quoted(""), "an empty cell");
        assert_eq!(quoted("é"), "'é'");
        assert_eq!(quoted(&"é".repeat(100)).chars().count(), 63);
    }
}
