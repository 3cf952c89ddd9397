//! Numbers in lines of text, parsed from bytes for speed: large files are tens of megabytes of digits.

use std::path::Path;

use rayon::prelude::*;

use crate::Real;
use crate::error::{Error, Result};
use crate::graph::Dense;

/// The lines with their numbers, counted from 1. Empty lines at the end are dropped; others count.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let bytes = bytes.trim_ascii_end();
    let lines = (!bytes.is_empty()).then(|| bytes.split(|&byte| byte == b'\n'));
    let length = |line: &'_ [u8]| line.len() - usize::from(line.ends_with(b"\r"));
    lines.into_iter().flatten().enumerate().map(move |(at, line)| (at + 1, &line[..length(line)]))
}

/// Parses decimal digits; `None` for anything else or a number above `u32::MAX`.
pub(super) fn unsigned(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 10 {
        return None;
    }
    let mut number = 0u64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    u32::try_from(number).ok()
}

/// Parses a number below `limit`; `what` names it in errors.
pub(super) fn below(path: &Path, line: usize, digits: &[u8], limit: usize, what: &str) -> Result<u32> {
    unsigned(digits).filter(|&number| (number as usize) < limit).ok_or_else(|| {
        Error::input(path, format_args!("line {line}"), show(digits), format_args!("{what} in 0..{limit}"))
    })
}

/// Parses one number per line, each below `limit`.
pub(super) fn column(path: &Path, bytes: &[u8], limit: usize, what: &str) -> Result<Vec<u32>> {
    lines(bytes).map(|(line, digits)| below(path, line, digits, limit, what)).collect()
}

/// Parses a matrix of comma-separated numbers with one row per line, `n_rows` in all.
pub(super) fn matrix(path: &Path, bytes: &[u8], n_rows: usize) -> Result<Dense> {
    let counted = lines(bytes).count();
    if counted != n_rows {
        let expected = format!("{n_rows}, one per node");
        return Err(Error::input(path, "", format_args!("{counted} rows"), expected));
    }
    let rows: Vec<&[u8]> = lines(bytes).map(|(_, line)| line).collect();
    let fields = |row: &[u8]| row.split(|&byte| byte == b',').count();
    let n_cols = rows.first().map_or(1, |row| fields(row));
    // Checked before the memory is allocated: all rows are as long as the first.
    let ragged = rows.par_iter().position_first(|row| fields(row) != n_cols);
    if let Some(row) = ragged {
        let place = format!("line {}", row + 1);
        return Err(Error::input(
            path,
            place,
            format_args!("{} values", fields(rows[row])),
            format_args!("{n_cols}, as in the first line"),
        ));
    }
    let mut data = vec![0.0 as Real; rows.len() * n_cols];
    let parse_row = |(row, slots): (usize, &mut [Real])| -> Result<()> {
        for (column, (slot, field)) in slots.iter_mut().zip(rows[row].split(|&byte| byte == b',')).enumerate()
        {
            *slot = real(field).ok_or_else(|| {
                let place = format!("line {}, column {}", row + 1, column + 1);
                Error::input(path, place, show(field), "a finite number")
            })?;
        }
        Ok(())
    };
    // Always reports the first bad row, independent of thread timing.
    let bad = data.par_chunks_mut(n_cols).enumerate().map(parse_row).find_first(Result::is_err);
    bad.unwrap_or(Ok(()))?;
    Ok(Dense::from_parts(rows.len(), n_cols, data))
}

/// A field in an error message: quoted and shortened.
pub(super) fn show(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(&field[..field.len().min(40)]);
    if field.len() > 40 { format!("'{text}…'") } else { format!("'{text}'") }
}

fn real(field: &[u8]) -> Option<Real> {
    std::str::from_utf8(field.trim_ascii()).ok()?.parse().ok().filter(|x: &Real| x.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_trailing_empty_ones_dropped() {
        let all: Vec<_> = lines(b"a\r\n\nb\n\n").collect();
        assert_eq!(all, [(1, &b"a"[..]), (2, b""), (3, b"b")]);
        assert_eq!(lines(b"\n").count(), 0);
    }

    #[test]
    fn only_digits_are_numbers() {
        assert_eq!(unsigned(b"4294967295"), Some(u32::MAX));
        for bad in [&b""[..], b"-1", b"+1", b" 1", b"4294967296", b"99999999999", b"1.0"] {
            assert_eq!(unsigned(bad), None);
        }
    }

    #[test]
    fn matrix_errors_name_line_and_column() {
        let message = |bytes: &[u8]| matrix(Path::new("m"), bytes, 2).unwrap_err().to_string();
        assert_eq!(message(b"1,2\n3\n"), "m:2: found 1 values, expected 2, as in the first line");
        assert_eq!(message(b"1,2\n3,nan\n"), "m:2: column 2: found 'nan', expected a finite number");
        assert_eq!(matrix(Path::new("m"), b"1, 2\n3e0,-4", 2).unwrap().data(), [1.0, 2.0, 3.0, -4.0]);
    }
}
