//! Text tables: a header line, then rows of cells separated by commas or tabs, or as the header shows ([`Dialect`]).
//!
//! A quoted cell may contain separators, line breaks and doubled quotes. Empty lines are skipped. Every row must have
//! as many cells as the header.

use std::collections::HashSet;
use std::path::Path;

use csv::{Reader, ReaderBuilder, StringRecord};

use super::dialect::Dialect;
use super::{CellData, Column, Table};
use crate::data::limits;
use crate::error::{Error, Result};

/// Reads the columns that `wanted` accepts; `usual` is the separator by the name of the file.
pub(super) fn read(path: &Path, usual: u8, wanted: &dyn Fn(&str) -> bool) -> Result<Table> {
    let file_text = limits::read_text(path)?;
    let mut dialect = Dialect::of_header(&file_text, usual);
    let separator = dialect.separator;
    let mut reader = reader(&file_text, separator);
    let mut record = StringRecord::new();
    if !next(&mut reader, &mut record, path)? {
        return Err(Error::input(path, "line 1", "an empty file", "a header line with column names"));
    }
    let mut names: Vec<String> = record.iter().map(|name| name.trim().to_owned()).collect();
    dialect.name_index(&mut names);
    check_names(path, &names)?;
    let takes: Vec<bool> = names.iter().map(|name| wanted(name)).collect();
    let width = names.len();

    let mut cells: Vec<(String, Vec<usize>)> =
        takes.iter().filter(|&&take| take).map(|_| Default::default()).collect();
    let mut n_rows = 0;
    while next(&mut reader, &mut record, path)? {
        if record.len() != width {
            let line = line_of_row(&file_text, separator, n_rows);
            let found = format_args!("{} cells", record.len());
            let expected = format_args!("{width}, as in the header");
            return Err(Error::input(path, format_args!("line {line}"), found, expected));
        }
        n_rows += 1;
        let taken = record.iter().zip(&takes).filter(|(_, take)| **take).map(|(cell, _)| cell);
        for (cell, (text, ends)) in taken.zip(&mut cells) {
            if has_space_before_quote(cell) {
                let line = line_of_row(&file_text, separator, n_rows - 1);
                let found = format_args!("{}, a quote after a space", super::quoted(cell));
                let expected = "the quote at the start of the cell";
                return Err(Error::input(path, format_args!("line {line}"), found, expected));
            }
            text.push_str(cell);
            ends.push(text.len());
        }
    }

    let (used, unused): (Vec<_>, Vec<_>) = names.into_iter().zip(takes).partition(|(_, take)| *take);
    let columns = used.into_iter().zip(cells).map(|((name, _), (text, ends))| Column {
        name,
        cells: CellData::Text { text, ends },
        missing: Vec::new(),
    });
    let mut table = Table {
        path: path.to_owned(),
        n_rows,
        columns: columns.collect(),
        unused: unused.into_iter().map(|(name, _)| name).collect(),
        dialect,
        rows: None,
    };
    table.find_decimal_mark()?;
    Ok(table)
}

/// Whether a cell has a space before its quote, as in `ann, "bob"`: the quotes would become part of the cell.
fn has_space_before_quote(cell: &str) -> bool {
    cell.starts_with(' ') && super::trimmed(cell).starts_with('"')
}

/// The line on which a row starts. Reads the file again: errors are rare, so rows do not store their line.
pub(super) fn line_of(path: &Path, separator: u8, row: usize) -> usize {
    limits::read_text(path).map_or(0, |text| line_of_row(&text, separator, row))
}

fn line_of_row(text: &str, separator: u8, row: usize) -> usize {
    let mut reader = reader(text, separator);
    let mut record = StringRecord::new();
    for _ in 0..=row {
        if !matches!(reader.read_record(&mut record), Ok(true)) {
            break;
        }
    }
    // The reader stands after the previous row, maybe inside its line break or before empty lines.
    let at = reader.position().byte() as usize;
    let blank = text[at..].len() - text[at..].trim_start_matches(['\r', '\n']).len();
    1 + text[..at + blank].bytes().filter(|&byte| byte == b'\n').count()
}

pub(super) fn reader(text: &str, separator: u8) -> Reader<&[u8]> {
    ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator).from_reader(text.as_bytes())
}

fn next(reader: &mut Reader<&[u8]>, record: &mut StringRecord, path: &Path) -> Result<bool> {
    reader.read_record(record).map_err(|error| {
        let line = reader.position().line();
        Error::input(path, format_args!("line {line}"), error, "cells of UTF-8 text")
    })
}

fn check_names(path: &Path, names: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    for (at, name) in names.iter().enumerate() {
        let found = match name {
            name if name.is_empty() => format!("no name for column {}", at + 1),
            name if !seen.insert(name) => format!("two columns named '{name}'"),
            _ => continue,
        };
        return Err(Error::input(path, "line 1", found, "a distinct name for each column"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_count_quoted_line_breaks_and_blank_lines() {
        for text in [
            "a,b\n\"x\ny\",1\n\n\nz,2\n",
            "a,b\r\n\"x\r\ny\",1\r\n\r\n\r\nz,2\r\n",
            "a,b\n\"x\ny\",1\n\n\nz,2",
        ] {
            assert_eq!(line_of_row(text, b',', 0), 2, "{text:?}");
            assert_eq!(line_of_row(text, b',', 1), 6, "{text:?}");
        }
    }
}
