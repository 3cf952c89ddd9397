//! Node features, dense or sparse. Loading never converts one into the other.

use super::Csr;
use crate::Real;
use crate::error::{Error, Result};
use crate::kernels::reduce;

/// A dense row-major matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    n_cols: usize,
    data: Vec<Real>,
}

impl Dense {
    /// Builds a matrix from row-major data.
    ///
    /// # Errors
    /// If there are no columns, or not `n_rows * n_cols` numbers.
    pub fn new(n_rows: usize, n_cols: usize, data: Vec<Real>) -> Result<Self> {
        if n_cols == 0 {
            return Err(Error::value("dense matrix", "no columns", "at least one column"));
        }
        if n_rows.checked_mul(n_cols) != Some(data.len()) {
            let found = format!("{} numbers", data.len());
            let expected = format!("{n_rows} × {n_cols}, one per row and column");
            return Err(Error::value("dense matrix", found, expected));
        }
        Ok(Dense { n_cols, data })
    }

    /// Builds a matrix from row-major data that this crate made.
    ///
    /// # Panics
    /// If the shape does not match the data.
    pub(crate) fn from_parts(n_rows: usize, n_cols: usize, data: Vec<Real>) -> Self {
        assert!(n_cols > 0, "at least one column");
        assert_eq!(data.len(), n_rows * n_cols, "{n_rows} rows of {n_cols}");
        Dense { n_cols, data }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.data.len() / self.n_cols
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// All values, row by row.
    pub fn data(&self) -> &[Real] {
        &self.data
    }

    /// All values, row by row, by value.
    pub fn into_data(self) -> Vec<Real> {
        self.data
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[Real] {
        &self.data[row * self.n_cols..(row + 1) * self.n_cols]
    }
}

/// The feature matrix of a graph: n_nodes × n_features, dense or sparse.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Every value stored.
    Dense(Dense),
    /// Only nonzero values stored, columns ascending in each row.
    Sparse(Csr),
}

impl Features {
    /// Dense features from row-major data: `n_rows` nodes with `n_cols` features each.
    ///
    /// # Errors
    /// If there are no columns, or not `n_rows * n_cols` numbers.
    ///
    /// ```
    /// use controlg::graph::Features;
    ///
    /// let features = Features::dense(3, 2, vec![1.0, 0.0, 0.5, 2.0, 0.0, 1.0])?;
    /// assert_eq!((features.n_rows(), features.n_cols()), (3, 2));
    /// assert!(Features::dense(3, 2, vec![1.0]).is_err());
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn dense(n_rows: usize, n_cols: usize, data: Vec<Real>) -> Result<Self> {
        Ok(Features::Dense(Dense::new(n_rows, n_cols, data)?))
    }

    /// Sparse features from CSR arrays, as in [`Csr::new`]. Without `values`, every stored entry is 1.
    ///
    /// # Errors
    /// If the arrays are not a valid CSR matrix with sorted rows.
    ///
    /// ```
    /// use controlg::graph::Features;
    ///
    /// // Bag-of-words features of two nodes: words {0, 3} and {1}.
    /// let features = Features::sparse(4, vec![0, 2, 3], vec![0, 3, 1], None)?;
    /// assert_eq!(features.row(0), [(0, 1.0), (3, 1.0)]);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn sparse(
        n_cols: usize,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Option<Vec<Real>>,
    ) -> Result<Self> {
        Ok(Features::Sparse(Csr::new(n_cols, offsets, columns, values)?))
    }

    /// Returns an error naming the first value that is NaN or infinite.
    pub(super) fn check_finite(&self) -> Result<()> {
        let values = match self {
            Features::Dense(dense) => dense.data(),
            Features::Sparse(csr) => csr.values().unwrap_or_default(),
        };
        if reduce::all_finite(values) {
            return Ok(());
        }
        let Some(at) = values.iter().position(|x| !x.is_finite()) else { return Ok(()) };
        let (row, column) = match self {
            Features::Dense(dense) => (at / dense.n_cols(), at % dense.n_cols()),
            Features::Sparse(csr) => {
                (csr.offsets().partition_point(|&offset| offset <= at) - 1, csr.columns()[at] as usize)
            }
        };
        let place = format_args!("features, row {row}, column {column}");
        Err(Error::value(place, values[at], "a finite number"))
    }

    /// Number of rows (nodes).
    pub fn n_rows(&self) -> usize {
        match self {
            Features::Dense(dense) => dense.n_rows(),
            Features::Sparse(csr) => csr.n_rows(),
        }
    }

    /// Number of columns (features per node).
    pub fn n_cols(&self) -> usize {
        match self {
            Features::Dense(dense) => dense.n_cols(),
            Features::Sparse(csr) => csr.n_cols(),
        }
    }

    /// Number of nonzero values.
    pub fn n_nonzeros(&self) -> usize {
        match self {
            Features::Dense(dense) => dense.data().iter().filter(|&&x| x != 0.0).count(),
            Features::Sparse(csr) => match csr.values() {
                Some(values) => values.iter().filter(|&&x| x != 0.0).count(),
                None => csr.n_entries(),
            },
        }
    }

    /// The nonzero values of a row as (column, value).
    pub fn row(&self, row: usize) -> Vec<(u32, Real)> {
        match self {
            Features::Dense(dense) => {
                let numbered = dense.row(row).iter().enumerate();
                numbered.filter(|(_, x)| **x != 0.0).map(|(j, &x)| (j as u32, x)).collect()
            }
            Features::Sparse(csr) => csr.entries(row).filter(|&(_, x)| x != 0.0).collect(),
        }
    }

    /// Selected rows, in the given order. Sparse features stay sparse.
    pub fn rows(&self, rows: &[u32]) -> Features {
        match self {
            Features::Sparse(csr) => Features::Sparse(csr.rows(rows, csr.n_cols(), Some)),
            Features::Dense(dense) => {
                let mut data = Vec::with_capacity(rows.len() * dense.n_cols());
                rows.iter().for_each(|&row| data.extend_from_slice(dense.row(row as usize)));
                Features::Dense(Dense::from_parts(rows.len(), dense.n_cols(), data))
            }
        }
    }

    /// All values, row-major.
    pub(crate) fn dense_values(&self) -> Vec<Real> {
        match self {
            Features::Dense(dense) => dense.data().to_vec(),
            Features::Sparse(csr) => {
                let mut data = vec![0.0; csr.n_rows() * csr.n_cols()];
                for (row, to) in data.chunks_exact_mut(csr.n_cols()).enumerate() {
                    csr.entries(row).for_each(|(column, x)| to[column as usize] = x);
                }
                data
            }
        }
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Features::Dense(dense) => size_of_val(dense.data()),
            Features::Sparse(csr) => csr.memory_bytes(),
        }
    }
}
