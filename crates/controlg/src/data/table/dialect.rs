//! How a text table is written: its separator, its decimal mark, and whether its first column is an index.
//!
//! Spreadsheets in many countries separate cells by semicolons, because the comma is their decimal mark. pandas writes
//! an index as a first column without a name.

use csv::StringRecord;

use super::{CellData, Column, ID, Table, delimited, is_one_of, quoted, slice};
use crate::Real;
use crate::error::Result;

/// The separators of text tables.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// How a text table is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dialect {
    /// Between two cells.
    pub(super) separator: u8,
    /// Whether the separator is another one than the name of the file says.
    unusual: bool,
    /// Whether numbers have a comma for the decimal point.
    decimal_comma: bool,
    /// Whether the first column has no name and was read as the id.
    unnamed_id: bool,
}

impl Dialect {
    /// The separator in the header: the usual one, unless the header is a single cell with another one in it.
    pub(super) fn of_header(text: &str, usual: u8) -> Dialect {
        let mut header = StringRecord::new();
        let is_read = matches!(delimited::reader(text, usual).read_record(&mut header), Ok(true));
        let cell = header.get(0).filter(|_| is_read && header.len() == 1).unwrap_or_default();
        let others: Vec<u8> =
            SEPARATORS.into_iter().filter(|other| cell.as_bytes().contains(other)).collect();
        match others[..] {
            [other] if other != usual => Dialect { separator: other, unusual: true, ..Dialect::default() },
            _ => Dialect { separator: usual, ..Dialect::default() },
        }
    }

    /// Names a first column without a name: `id`, or as an index if there is a column of ids.
    pub(super) fn name_index(&mut self, names: &mut [String]) {
        let Some((first, others)) = names.split_first_mut() else { return };
        if !first.is_empty() || others.is_empty() {
            return;
        }
        self.unnamed_id = !others.iter().any(|name| is_one_of(name, &ID));
        *first = if self.unnamed_id { ID[0].to_owned() } else { "__index_level_0__".to_owned() };
    }

    /// The number in a cell.
    pub(super) fn number(self, cell: &str) -> Option<Real> {
        let cell = cell.trim();
        if self.decimal_comma { cell.replace(',', ".").parse().ok() } else { cell.parse().ok() }
    }

    /// What the user should know.
    pub(super) fn note(self) -> Option<String> {
        let separator = match self.separator {
            b';' => "semicolons",
            b'\t' => "tabs",
            _ => "commas",
        };
        let mut parts = Vec::new();
        if self.unusual {
            let decimals = if self.decimal_comma { ", decimal commas in numbers" } else { "" };
            parts.push(format!("cells are separated by {separator}{decimals}"));
        }
        if self.unnamed_id {
            parts.push("the first column has no name and is read as id".to_owned());
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Whether a cell is a number with a decimal comma.
pub(super) fn has_decimal_comma(cell: &str) -> bool {
    let cell = cell.trim();
    cell.matches(',').count() == 1 && !cell.contains('.') && cell.replace(',', ".").parse::<Real>().is_ok()
}

/// Whether a cell is a number with a decimal point.
fn has_decimal_point(cell: &str) -> bool {
    cell.contains('.') && cell.trim().parse::<Real>().is_ok()
}

impl Table {
    /// Finds out whether the numbers of a table with semicolons have decimal commas. A table with both marks is
    /// ambiguous: 1.000 may be one or a thousand.
    pub(super) fn find_decimal_mark(&mut self) -> Result<()> {
        if self.dialect.separator != b';' {
            return Ok(());
        }
        let numeric: Vec<&Column> = self.columns.iter().filter(|column| is_numeric(column)).collect();
        let first = |has: fn(&str) -> bool| {
            (0..self.n_rows).find_map(|row| {
                numeric
                    .iter()
                    .find(|column| has(&self.text(column, row)))
                    .map(|column| (row, self.text(column, row)))
            })
        };
        match (first(has_decimal_comma), first(has_decimal_point)) {
            (Some((row, comma)), Some((_, point))) => {
                let found = format!("{}, but elsewhere {}", quoted(&comma), quoted(&point));
                Err(self.bad(row, found, "decimal commas or decimal points, not both"))
            }
            (comma, _) => {
                self.dialect.decimal_comma = comma.is_some();
                Ok(())
            }
        }
    }
}

/// Whether a column is meant to hold numbers: at least half of its cells do, with one decimal mark or the other.
fn is_numeric(column: &Column) -> bool {
    let CellData::Text { text, ends } = &column.cells else { return false };
    let cells = (0..ends.len()).map(|row| slice(text, ends, row).trim()).filter(|cell| !cell.is_empty());
    let (mut all, mut numbers) = (0, 0);
    for cell in cells {
        all += 1;
        numbers += usize::from(has_decimal_comma(cell) || cell.parse::<Real>().is_ok());
    }
    2 * numbers >= all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_shows_the_separator() {
        let separator = |text: &str, usual| Dialect::of_header(text, usual).separator;
        assert_eq!(separator("src;dst\n1;2\n", b','), b';');
        assert_eq!(separator("\"src\";\"dst\"\n1;2\n", b','), b';');
        assert_eq!(separator("src\tdst\n", b','), b'\t');
        assert_eq!(separator("src,dst\n", b'\t'), b',');
        // A comma in the header, no separator, or two candidates: as usual.
        for text in ["src;dst,x\n", "src\n", "", "a;b\tc\n"] {
            assert_eq!(separator(text, b','), b',', "{text}");
        }
    }

    #[test]
    fn decimal_commas_are_recognized() {
        for number in ["0,5", "-1,25e3", ",5", " 3,0 "] {
            assert!(has_decimal_comma(number), "{number}");
        }
        for other in ["1,234,567", "1.234,5", "a,b", "5", "", ","] {
            assert!(!has_decimal_comma(other), "{other}");
        }
    }
}
