//! Node features, dense or sparse, never changed from one to the other by loading.

use super::Csr;
use crate::Real;

/// A row-major matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    n_cols: usize,
    data: Vec<Real>,
}

impl Dense {
    /// Builds from row-major data.
    ///
    /// # Panics
    /// When the data is not a whole number of rows.
    pub fn new(n_rows: usize, n_cols: usize, data: Vec<Real>) -> Self {
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

    /// All values, row by row, to keep.
    pub fn into_data(self) -> Vec<Real> {
        self.data
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[Real] {
        &self.data[row * self.n_cols..(row + 1) * self.n_cols]
    }
}

/// What is known of each node.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Every value stored.
    Dense(Dense),
    /// Non-zero values stored, each row's columns ascending.
    Sparse(Csr),
}

impl Features {
    /// Number of nodes described.
    pub fn n_rows(&self) -> usize {
        match self {
            Features::Dense(dense) => dense.n_rows(),
            Features::Sparse(csr) => csr.n_rows(),
        }
    }

    /// Number of features of each node.
    pub fn n_cols(&self) -> usize {
        match self {
            Features::Dense(dense) => dense.n_cols(),
            Features::Sparse(csr) => csr.n_cols(),
        }
    }

    /// Number of values that are not zero.
    pub fn n_nonzeros(&self) -> usize {
        match self {
            Features::Dense(dense) => dense.data().iter().filter(|&&x| x != 0.0).count(),
            Features::Sparse(csr) => match csr.values() {
                Some(values) => values.iter().filter(|&&x| x != 0.0).count(),
                None => csr.n_entries(),
            },
        }
    }

    /// The non-zero values of a row as (column, value).
    pub fn row(&self, row: usize) -> Vec<(u32, Real)> {
        match self {
            Features::Dense(dense) => {
                let numbered = dense.row(row).iter().enumerate();
                numbered.filter(|(_, x)| **x != 0.0).map(|(j, &x)| (j as u32, x)).collect()
            }
            Features::Sparse(csr) => csr.entries(row).filter(|&(_, x)| x != 0.0).collect(),
        }
    }

    /// Some rows, in the order given; sparse features stay sparse.
    pub fn rows(&self, rows: &[u32]) -> Features {
        match self {
            Features::Sparse(csr) => Features::Sparse(csr.rows(rows, csr.n_cols(), Some)),
            Features::Dense(dense) => {
                let mut data = Vec::with_capacity(rows.len() * dense.n_cols());
                rows.iter().for_each(|&row| data.extend_from_slice(dense.row(row as usize)));
                Features::Dense(Dense::new(rows.len(), dense.n_cols(), data))
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
