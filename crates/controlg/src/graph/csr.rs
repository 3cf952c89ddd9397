//! Compressed sparse row (CSR) matrices: adjacency matrices and sparse features.

use rayon::prelude::*;

use crate::Real;
use crate::error::{Error, Result};
use crate::kernels::CsrView;

/// A sparse matrix in compressed sparse row (CSR) format. Without `values`, every stored entry is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    n_cols: usize,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Option<Vec<Real>>,
}

impl Csr {
    /// Builds a matrix from its three CSR arrays: row offsets, column indices and values.
    ///
    /// `offsets` has one number per row and one more; row `i` owns the entries `offsets[i]..offsets[i + 1]`.
    ///
    /// # Errors
    /// If the offsets do not ascend from 0 to the number of entries, if a column is out of range, if the columns of a
    /// row are not strictly ascending, or if there is not one value per entry.
    ///
    /// ```
    /// use controlg::graph::Csr;
    ///
    /// // [[1, 0, 2],
    /// //  [0, 3, 0]]
    /// let matrix = Csr::new(3, vec![0, 2, 3], vec![0, 2, 1], Some(vec![1.0, 2.0, 3.0]))?;
    /// assert_eq!(matrix.entries(0).collect::<Vec<_>>(), [(0, 1.0), (2, 2.0)]);
    /// assert!(Csr::new(3, vec![0, 2, 3], vec![0, 3, 1], None).is_err()); // column 3 of 3
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn new(
        n_cols: usize,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Option<Vec<Real>>,
    ) -> Result<Self> {
        check_offsets(&offsets, columns.len())?;
        check_columns(n_cols, &offsets, &columns)?;
        if let Some(values) = values.as_ref().filter(|values| values.len() != columns.len()) {
            let expected = format!("{}, one per entry", columns.len());
            return Err(Error::value("CSR values", values.len(), expected));
        }
        Ok(Csr { n_cols, offsets, columns, values })
    }

    /// Builds a matrix from arrays that this crate made. Rows need not be sorted.
    ///
    /// # Panics
    /// If the arrays do not fit together.
    pub(crate) fn from_parts(
        n_cols: usize,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Option<Vec<Real>>,
    ) -> Self {
        assert_eq!(offsets.first(), Some(&0), "offsets start at 0");
        assert_eq!(offsets.last(), Some(&columns.len()), "offsets end at the number of entries");
        assert!(offsets.windows(2).all(|w| w[0] <= w[1]), "offsets ascend");
        assert!(columns.iter().all(|&c| (c as usize) < n_cols), "columns are below {n_cols}");
        assert!(values.as_ref().is_none_or(|v| v.len() == columns.len()), "one value per entry");
        Csr { n_cols, offsets, columns, values }
    }

    /// A matrix of zeros.
    ///
    /// # Panics
    /// If there are more rows than memory can hold.
    pub fn empty(n_rows: usize, n_cols: usize) -> Self {
        let n_offsets = n_rows.checked_add(1).expect("rows that fit into memory");
        Csr { n_cols, offsets: vec![0; n_offsets], columns: Vec::new(), values: None }
    }

    /// A stand-in of this shape for a pass over shapes: its entries have no meaning and are never read, so that the system
    /// does not back them with memory.
    pub(crate) fn shape_only(n_rows: usize, n_cols: usize, n_entries: usize) -> Self {
        let mut offsets = vec![0; n_rows + 1];
        offsets[n_rows] = n_entries;
        Csr { n_cols, offsets, columns: vec![0; n_entries], values: None }
    }

    /// The three arrays, to build another matrix in the same memory.
    pub(super) fn into_parts(self) -> (Vec<usize>, Vec<u32>, Option<Vec<Real>>) {
        (self.offsets, self.columns, self.values)
    }

    /// The borrowed form that kernels take.
    pub fn sparse(&self) -> CsrView<'_> {
        CsrView {
            n_rows: self.n_rows(),
            n_cols: self.n_cols,
            offsets: &self.offsets,
            columns: &self.columns,
            values: self.values.as_deref(),
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Number of stored entries.
    pub fn n_entries(&self) -> usize {
        self.columns.len()
    }

    /// The start of each row and the end of the last: `n_rows + 1` numbers.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The column indices of all entries, row by row.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The values of all entries, row by row; `None` if all are 1.
    pub fn values(&self) -> Option<&[Real]> {
        self.values.as_deref()
    }

    /// The column indices of a row.
    pub fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.offsets[row]..self.offsets[row + 1]]
    }

    /// The entries of a row as (column, value).
    pub fn entries(&self, row: usize) -> impl Iterator<Item = (u32, Real)> + '_ {
        let span = self.offsets[row]..self.offsets[row + 1];
        span.map(|at| (self.columns[at], self.values.as_ref().map_or(1.0, |values| values[at])))
    }

    /// The transposed matrix. Its rows are sorted.
    pub fn transposed(&self) -> Csr {
        let mut offsets = vec![0usize; self.n_cols + 1];
        for &column in &self.columns {
            offsets[column as usize + 1] += 1;
        }
        for i in 0..self.n_cols {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut columns = vec![0u32; self.columns.len()];
        let mut values = self.values.as_ref().map(|v| vec![0.0; v.len()]);
        for row in 0..self.n_rows() {
            for at in self.offsets[row]..self.offsets[row + 1] {
                let slot = &mut next[self.columns[at] as usize];
                columns[*slot] = row as u32;
                if let (Some(to), Some(from)) = (&mut values, &self.values) {
                    to[*slot] = from[at];
                }
                *slot += 1;
            }
        }
        Csr { n_cols: self.n_rows(), offsets, columns, values }
    }

    /// Selected rows, in the given order. `rename` maps each column to its index in the result, which has `n_cols`
    /// columns; entries for which it returns `None` are dropped.
    pub(crate) fn rows(&self, rows: &[u32], n_cols: usize, rename: impl Fn(u32) -> Option<u32>) -> Csr {
        let (mut offsets, mut columns, mut values) =
            (Vec::with_capacity(rows.len() + 1), Vec::new(), Vec::new());
        offsets.push(0);
        for &row in rows {
            for at in self.offsets[row as usize]..self.offsets[row as usize + 1] {
                if let Some(column) = rename(self.columns[at]) {
                    columns.push(column);
                    if let Some(of) = &self.values {
                        values.push(of[at]);
                    }
                }
            }
            offsets.push(columns.len());
        }
        Csr::from_parts(n_cols, offsets, columns, self.values.is_some().then_some(values))
    }

    /// Whether an entry is stored. Searches the row, which must be sorted.
    pub fn contains(&self, row: u32, column: u32) -> bool {
        self.row(row as usize).binary_search(&column).is_ok()
    }

    /// The position of an entry. Searches the row, which must be sorted.
    pub(crate) fn entry(&self, row: u32, column: u32) -> Option<usize> {
        let at = self.row(row as usize).binary_search(&column).ok()?;
        Some(self.offsets[row as usize] + at)
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&self.offsets[..])
            + size_of_val(&self.columns[..])
            + self.values.as_ref().map_or(0, |values| size_of_val(&values[..]))
    }
}

fn check_offsets(offsets: &[usize], n_entries: usize) -> Result<()> {
    let place = "CSR offsets";
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
        return Err(Error::value(place, "an empty array", "one offset per row and one more"));
    };
    if *first != 0 {
        return Err(Error::value(place, format_args!("{first} first"), "0"));
    }
    let descends = |at: &usize| offsets[*at] > offsets[at + 1];
    if let Some(row) = (0..offsets.len() - 1).into_par_iter().find_first(descends) {
        let found = format!("{} after {}", offsets[row + 1], offsets[row]);
        return Err(Error::value(format_args!("{place}, row {row}"), found, "ascending offsets"));
    }
    if *last != n_entries {
        let expected = format!("{n_entries}, the number of entries");
        return Err(Error::value(place, format_args!("{last} last"), expected));
    }
    if u32::try_from(offsets.len()).is_err() {
        return Err(Error::value(
            place,
            format_args!("{} rows", offsets.len() - 1),
            "fewer than 2^32 - 1 rows",
        ));
    }
    Ok(())
}

fn check_columns(n_cols: usize, offsets: &[usize], columns: &[u32]) -> Result<()> {
    let check_row = |row: usize| {
        let columns = &columns[offsets[row]..offsets[row + 1]];
        let place = format_args!("CSR columns, row {row}");
        if let Some(column) = columns.iter().find(|&&column| column as usize >= n_cols) {
            return Some(Error::value(place, column, format_args!("column indices below {n_cols}")));
        }
        let pair = columns.windows(2).find(|pair| pair[0] >= pair[1])?;
        let found = format!("column {} after {}", pair[1], pair[0]);
        Some(Error::value(place, found, "strictly ascending columns"))
    };
    (0..offsets.len() - 1).into_par_iter().find_map_first(check_row).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_twice_gives_the_matrix_back() {
        let matrix = Csr::new(3, vec![0, 2, 2, 3], vec![0, 2, 1], Some(vec![1.0, 2.0, 3.0])).unwrap();
        let transposed = matrix.transposed();
        assert_eq!(transposed.entries(2).collect::<Vec<_>>(), [(0, 2.0)]);
        assert_eq!(transposed.transposed(), matrix);
    }

    #[test]
    fn inconsistent_arrays_are_errors() {
        let message = |offsets: &[usize], columns: &[u32], values: Option<Vec<Real>>| {
            Csr::new(3, offsets.to_vec(), columns.to_vec(), values).unwrap_err().to_string()
        };
        assert!(message(&[], &[], None).contains("found an empty array"));
        assert!(message(&[1, 1], &[0], None).contains("found 1 first, expected 0"));
        assert!(message(&[0, 2, 1, 3], &[0, 1, 2], None).contains("row 1: found 1 after 2"));
        assert!(message(&[0, 1], &[0, 1], None).contains("found 1 last, expected 2, the number of entries"));
        assert!(message(&[0, 0, 1], &[3], None).contains("row 1: found 3, expected column indices below 3"));
        assert!(message(&[0, 2], &[1, 0], None).contains("row 0: found column 0 after 1"));
        assert!(message(&[0, 2], &[1, 1], None).contains("strictly ascending"));
        let values = message(&[0, 1], &[0], Some(vec![1.0, 2.0]));
        assert_eq!(values, "CSR values: found 2, expected 1, one per entry");
    }
}
