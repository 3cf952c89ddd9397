//! Sparse rows as SciPy keeps them in three arrays, checked before they become a [`Csr`].

use super::Array;
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::Csr;

/// The widest sparse matrix that is read. Columns that no entry uses cost nothing in the file but memory later on,
/// so a width beyond anything real is a damaged file.
pub(in crate::data) const MAX_SPARSE_WIDTH: usize = 1 << 24;

/// The parts of a sparse matrix as they were read.
pub(in crate::data) struct CsrParts {
    pub(in crate::data) n_rows: usize,
    pub(in crate::data) n_cols: usize,
    /// Where each row starts, and the end of the last.
    pub(in crate::data) indptr: Array,
    /// The column of each entry.
    pub(in crate::data) indices: Array,
    /// The value of each entry.
    pub(in crate::data) data: Array,
}

impl CsrParts {
    /// Checks that the parts fit together and sorts each row.
    pub(in crate::data) fn check(self) -> Result<Csr> {
        let CsrParts { n_rows, n_cols, indptr, indices, data } = self;
        if n_rows == 0 || n_cols == 0 || n_cols > MAX_SPARSE_WIDTH {
            let found = format!("a matrix of {n_rows} × {n_cols}");
            return Err(indptr.error(
                "",
                found,
                format_args!("at least 1 row, 1 to {MAX_SPARSE_WIDTH} columns"),
            ));
        }
        let n_entries = indices.one_dimension()?;
        if data.shape != [n_entries] {
            return Err(data.error(
                "",
                data.shape_in_words(),
                format_args!("{n_entries}, one for each index"),
            ));
        }
        let offsets = check_offsets(&indptr, n_rows, n_entries)?;
        let mut columns = indices.to_indices(n_cols)?;
        let mut values = data.to_reals()?;
        for row in 0..n_rows {
            let span = offsets[row]..offsets[row + 1];
            sort_row(&mut columns[span.clone()], &mut values[span]);
            if let Some(twice) = columns[offsets[row]..offsets[row + 1]].windows(2).find(|w| w[0] == w[1]) {
                let place = format_args!("row {row}");
                return Err(indices.error(
                    place,
                    format_args!("column {} twice", twice[0]),
                    "each column once",
                ));
            }
        }
        #[allow(clippy::float_cmp)] // exactly 1 is what a matrix without values stands for
        let all_ones = values.iter().all(|&x| x == 1.0);
        Ok(Csr::new(n_cols, offsets, columns, (!all_ones).then_some(values)))
    }
}

fn check_offsets(indptr: &Array, n_rows: usize, n_entries: usize) -> Result<Vec<usize>> {
    if Some(indptr.one_dimension()?) != n_rows.checked_add(1) {
        let expected = format!("{n_rows} rows and one more");
        return Err(indptr.error("", indptr.shape_in_words(), expected));
    }
    let numbers = indptr.to_integers()?;
    let wrong =
        |at: usize, expected: String| -> Error { indptr.error(indptr.place(at), numbers[at], expected) };
    if numbers[0] != 0 {
        return Err(wrong(0, "0".into()));
    }
    if let Some(at) = (1..numbers.len()).find(|&at| numbers[at] < numbers[at - 1]) {
        return Err(wrong(at, format!("at least {}", numbers[at - 1])));
    }
    if numbers[n_rows] != n_entries as i64 {
        return Err(wrong(n_rows, format!("{n_entries}, the number of entries")));
    }
    Ok(numbers.into_iter().map(|x| x as usize).collect())
}

/// Puts the entries of a row in the order of their columns; most files have them so already.
fn sort_row(columns: &mut [u32], values: &mut [Real]) {
    if columns.is_sorted() {
        return;
    }
    let mut entries: Vec<(u32, Real)> = columns.iter().copied().zip(values.iter().copied()).collect();
    entries.sort_by_key(|entry| entry.0);
    for (at, (column, value)) in entries.into_iter().enumerate() {
        columns[at] = column;
        values[at] = value;
    }
}
