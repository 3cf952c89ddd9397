//! CSR matrices in SciPy's three arrays, checked before they become a [`Csr`].

use super::Array;
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::Csr;

/// The maximum number of columns. Empty columns take no space in the file but need memory later, so an unrealistic
/// width means a damaged file.
pub(in crate::data) const MAX_SPARSE_WIDTH: usize = 1 << 24;

/// The unchecked parts of a CSR matrix.
pub(in crate::data) struct CsrParts {
    pub(in crate::data) n_rows: usize,
    pub(in crate::data) n_cols: usize,
    /// The start of each row, and the end of the last.
    pub(in crate::data) indptr: Array,
    /// The column of each entry.
    pub(in crate::data) indices: Array,
    /// The value of each entry.
    pub(in crate::data) data: Array,
}

impl CsrParts {
    /// Checks that the parts are consistent, and sorts each row.
    pub(in crate::data) fn check(self) -> Result<Csr> {
        let CsrParts { n_rows, n_cols, indptr, indices, data } = self;
        if n_rows == 0 || n_cols == 0 || n_cols > MAX_SPARSE_WIDTH {
            let found = format!("a {n_rows} × {n_cols} matrix");
            return Err(indptr.error(
                "",
                found,
                format_args!("at least 1 row and 1 to {MAX_SPARSE_WIDTH} columns"),
            ));
        }
        let n_entries = indices.one_dimension()?;
        if data.shape != [n_entries] {
            return Err(data.error("", data.describe_shape(), format_args!("{n_entries}, one per index")));
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
                    format_args!("duplicate column {}", twice[0]),
                    "each column once",
                ));
            }
        }
        #[allow(clippy::float_cmp)] // a matrix without values means exactly 1
        let all_ones = values.iter().all(|&x| x == 1.0);
        Ok(Csr::from_parts(n_cols, offsets, columns, (!all_ones).then_some(values)))
    }
}

fn check_offsets(indptr: &Array, n_rows: usize, n_entries: usize) -> Result<Vec<usize>> {
    if Some(indptr.one_dimension()?) != n_rows.checked_add(1) {
        let expected = format!("{}, one more than there are rows", n_rows as u128 + 1);
        return Err(indptr.error("", indptr.describe_shape(), expected));
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

/// Sorts the entries of a row by column. In most files they are sorted already.
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
