//! Compressed sparse rows: the layout of adjacencies and of sparse features.

use crate::Real;
use crate::kernels::CsrView;

/// A sparse matrix by rows. Without `values` every stored entry is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    n_cols: usize,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Option<Vec<Real>>,
}

impl Csr {
    /// Builds from its parts.
    ///
    /// # Panics
    /// When the parts do not fit together: loaders check what they read before they come here.
    pub fn new(n_cols: usize, offsets: Vec<usize>, columns: Vec<u32>, values: Option<Vec<Real>>) -> Self {
        assert_eq!(offsets.first(), Some(&0), "offsets start at 0");
        assert_eq!(offsets.last(), Some(&columns.len()), "offsets end at the number of entries");
        assert!(offsets.windows(2).all(|w| w[0] <= w[1]), "offsets ascend");
        assert!(columns.iter().all(|&c| (c as usize) < n_cols), "columns lie below {n_cols}");
        assert!(values.as_ref().is_none_or(|v| v.len() == columns.len()), "one value an entry");
        Csr { n_cols, offsets, columns, values }
    }

    /// A matrix without entries.
    pub fn empty(n_rows: usize, n_cols: usize) -> Self {
        Csr { n_cols, offsets: vec![0; n_rows + 1], columns: Vec::new(), values: None }
    }

    /// The parts it was built from, to build another in the same memory.
    pub(super) fn into_parts(self) -> (Vec<usize>, Vec<u32>, Option<Vec<Real>>) {
        (self.offsets, self.columns, self.values)
    }

    /// The matrix as kernels take it.
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

    /// Where each row starts, and the end of the last: `n_rows + 1` numbers.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The columns of all entries, row by row.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The values of all entries, row by row; `None` when all are 1.
    pub fn values(&self) -> Option<&[Real]> {
        self.values.as_deref()
    }

    /// The columns stored in a row.
    pub fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.offsets[row]..self.offsets[row + 1]]
    }

    /// The entries of a row as (column, value).
    pub fn entries(&self, row: usize) -> impl Iterator<Item = (u32, Real)> + '_ {
        let span = self.offsets[row]..self.offsets[row + 1];
        span.map(|at| (self.columns[at], self.values.as_ref().map_or(1.0, |values| values[at])))
    }

    /// The same matrix with columns as rows; the entries of each new row ascend.
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

    /// Some rows, in the order given, their columns renamed or left out; the result has `n_cols` columns.
    pub fn rows(&self, rows: &[u32], n_cols: usize, rename: impl Fn(u32) -> Option<u32>) -> Csr {
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
        Csr::new(n_cols, offsets, columns, self.values.is_some().then_some(values))
    }

    /// Whether the entry is stored, by binary search; rows must be sorted.
    pub fn contains(&self, row: u32, column: u32) -> bool {
        self.row(row as usize).binary_search(&column).is_ok()
    }

    /// Square, symmetric, rows strictly ascending, nothing on the diagonal.
    pub fn is_simple_undirected(&self) -> bool {
        self.n_rows() == self.n_cols
            && (0..self.n_rows()).all(|u| {
                let row = self.row(u);
                row.windows(2).all(|w| w[0] < w[1])
                    && row.iter().all(|&v| v as usize != u && self.contains(v, u as u32))
            })
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&self.offsets[..])
            + size_of_val(&self.columns[..])
            + self.values.as_ref().map_or(0, |values| size_of_val(&values[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_twice_gives_the_matrix_back() {
        let matrix = Csr::new(3, vec![0, 2, 2, 3], vec![0, 2, 1], Some(vec![1.0, 2.0, 3.0]));
        let transposed = matrix.transposed();
        assert_eq!(transposed.entries(2).collect::<Vec<_>>(), [(0, 2.0)]);
        assert_eq!(transposed.transposed(), matrix);
    }

    #[test]
    fn simple_undirected_means_symmetric_sorted_and_loop_free() {
        assert!(Csr::new(2, vec![0, 1, 2], vec![1, 0], None).is_simple_undirected());
        assert!(!Csr::new(2, vec![0, 1, 1], vec![1], None).is_simple_undirected());
        assert!(!Csr::new(1, vec![0, 1], vec![0], None).is_simple_undirected());
    }
}
