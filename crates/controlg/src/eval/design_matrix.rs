//! DesignMatrix matrix of a linear model, dense or sparse, processed in blocks of rows.

use std::borrow::Cow;

use crate::Real;
use crate::graph::{Csr, Dense, Features};
use crate::kernels::{CsrView, matmul, rows, scratch, spmm};
use rayon::prelude::*;

/// Maximum number of rows per block: enough to keep all threads busy.
const BLOCK_ROWS: usize = 4096;

/// Dense blocks of wide rows have about this many entries: a fit reads every block twice, the second time from the cache.
const WIDE_BLOCK: usize = 1 << 21;

/// Rows per block of a dense matrix.
fn block_rows(cols: usize) -> usize {
    if cols <= 2048 { BLOCK_ROWS } else { (WIDE_BLOCK / cols).max(64) }
}

/// Inputs of a linear model, one row per sample.
pub(super) enum DesignMatrix<'a> {
    /// Dense, row-major.
    Dense { cols: usize, data: Cow<'a, [Real]> },
    /// Sparse; each block is stored by rows and by columns.
    Sparse { n_rows: usize, cols: usize, blocks: Vec<(Csr, Csr)> },
    /// Elementwise products of the rows of node pairs, computed on the fly: storing them would take many times the memory
    /// of the embeddings.
    Products { rows: Cow<'a, Dense>, pairs: &'a [(u32, u32)] },
    /// The same for sparse rows, if the products are too large to store.
    SparseProducts { rows: &'a Csr, pairs: &'a [(u32, u32)] },
}

/// Maximum number of stored entries in products of sparse rows; 16 bytes each.
const MAX_STORED: usize = 1 << 25;

/// A matrix with more than one nonzero in this many entries is faster as a dense matrix.
pub(super) const DENSE_RATIO: usize = 16;

/// A block of rows of a design matrix.
pub(super) enum RowBlock<'a> {
    Dense { cols: usize, data: &'a [Real] },
    Sparse { rows: CsrView<'a>, columns: CsrView<'a> },
}

impl<'a> DesignMatrix<'a> {
    /// The chosen rows of a matrix; borrows the data if all rows are chosen in order.
    pub(super) fn of_rows(matrix: &'a Features, chosen: &[u32]) -> DesignMatrix<'a> {
        let all =
            chosen.len() == matrix.n_rows() && chosen.iter().enumerate().all(|(i, &row)| row as usize == i);
        match matrix {
            Features::Dense(dense) if all => {
                DesignMatrix::Dense { cols: dense.n_cols(), data: dense.data().into() }
            }
            Features::Dense(dense) => {
                let mut data = vec![0.0; chosen.len() * dense.n_cols()];
                rows::gather_rows(dense.n_cols(), dense.data(), chosen, &mut data);
                DesignMatrix::Dense { cols: dense.n_cols(), data: data.into() }
            }
            Features::Sparse(csr) => {
                let block = |rows: &[u32]| {
                    sparse_block(csr.n_cols(), rows, |&row, to| to.extend(csr.entries(row as usize)))
                };
                let blocks = chosen.par_chunks(BLOCK_ROWS).map(block).collect();
                DesignMatrix::Sparse { n_rows: chosen.len(), cols: csr.n_cols(), blocks }
            }
        }
    }

    /// Elementwise products of the rows of each pair.
    pub(super) fn of_pairs(matrix: &'a Features, pairs: &'a [(u32, u32)]) -> DesignMatrix<'a> {
        match matrix {
            Features::Dense(rows) => DesignMatrix::Products { rows: Cow::Borrowed(rows), pairs },
            Features::Sparse(rows) => {
                let length = |node: u32| rows.row(node as usize).len();
                let at_most: usize = pairs.iter().map(|&(u, v)| length(u).min(length(v))).sum();
                if at_most <= MAX_STORED {
                    let blocks = product_blocks(rows, pairs, BLOCK_ROWS);
                    DesignMatrix::Sparse { n_rows: pairs.len(), cols: rows.n_cols(), blocks }
                } else if DENSE_RATIO * rows.n_entries() > rows.n_rows() * rows.n_cols() {
                    let data = matrix.dense_values();
                    let rows = Cow::Owned(Dense::from_parts(rows.n_rows(), rows.n_cols(), data));
                    DesignMatrix::Products { rows, pairs }
                } else {
                    DesignMatrix::SparseProducts { rows, pairs }
                }
            }
        }
    }

    pub(super) fn n_rows(&self) -> usize {
        match self {
            DesignMatrix::Dense { cols, data } => data.len() / cols,
            DesignMatrix::Sparse { n_rows, .. } => *n_rows,
            DesignMatrix::Products { pairs, .. } | DesignMatrix::SparseProducts { pairs, .. } => pairs.len(),
        }
    }

    pub(super) fn n_cols(&self) -> usize {
        match self {
            DesignMatrix::Dense { cols, .. } | DesignMatrix::Sparse { cols, .. } => *cols,
            DesignMatrix::Products { rows, .. } => rows.n_cols(),
            DesignMatrix::SparseProducts { rows, .. } => rows.n_cols(),
        }
    }

    /// Calls `work(first_row, block)` for each block of rows.
    pub(super) fn for_each_block(&self, mut work: impl FnMut(usize, &RowBlock<'_>)) {
        match self {
            DesignMatrix::Dense { cols, data } => {
                let step = block_rows(*cols);
                for (at, data) in data.chunks(step * cols).enumerate() {
                    work(at * step, &RowBlock::Dense { cols: *cols, data });
                }
            }
            DesignMatrix::Sparse { blocks, .. } => {
                visit_sparse(0, blocks, &mut work);
            }
            DesignMatrix::SparseProducts { rows, pairs } => {
                for (at, pairs) in pairs.chunks(BLOCK_ROWS).enumerate() {
                    visit_sparse(at * BLOCK_ROWS, &product_blocks(rows, pairs, BLOCK_ROWS / 4), &mut work);
                }
            }
            DesignMatrix::Products { rows, pairs } => {
                let cols = rows.n_cols();
                let step = block_rows(cols);
                for (at, pairs) in pairs.chunks(step).enumerate() {
                    scratch::with(pairs.len() * cols, |data: &mut [Real]| {
                        data.par_chunks_mut(cols).zip(pairs).with_min_len(64).for_each(|(to, &(u, v))| {
                            let (u, v) = (rows.row(u as usize), rows.row(v as usize));
                            to.iter_mut().zip(u).zip(v).for_each(|((to, u), v)| *to = u * v);
                        });
                        work(at * step, &RowBlock::Dense { cols, data });
                    });
                }
            }
        }
    }
}

impl RowBlock<'_> {
    pub(super) fn n_rows(&self) -> usize {
        match self {
            RowBlock::Dense { cols, data } => data.len() / cols,
            RowBlock::Sparse { rows, .. } => rows.n_rows,
        }
    }

    /// out = rows · w, where w has `width` columns.
    pub(super) fn times(&self, w: &[Real], width: usize, out: &mut [Real]) {
        match self {
            RowBlock::Dense { cols, data } => matmul::nn(self.n_rows(), *cols, width, data, w, out, false),
            RowBlock::Sparse { rows, .. } => spmm::spmm(*rows, w, width, out, false),
        }
    }

    /// out = rowsᵀ · d, where d has `width` columns.
    pub(super) fn transposed_times(&self, d: &[Real], width: usize, out: &mut [Real]) {
        match self {
            RowBlock::Dense { cols, data } => matmul::tn(*cols, self.n_rows(), width, data, d, out, false),
            RowBlock::Sparse { columns, .. } => spmm::spmm(*columns, d, width, out, false),
        }
    }
}

/// Calls `work` for each sparse block; `first` is the index of the first row.
fn visit_sparse(mut first: usize, blocks: &[(Csr, Csr)], work: &mut impl FnMut(usize, &RowBlock<'_>)) {
    for (rows, columns) in blocks {
        work(first, &RowBlock::Sparse { rows: rows.sparse(), columns: columns.sparse() });
        first += rows.n_rows();
    }
}

/// Builds one sparse row per item; returns the matrix and its transpose.
fn sparse_block<T>(cols: usize, items: &[T], entries: impl Fn(&T, &mut Vec<(u32, Real)>)) -> (Csr, Csr) {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut row = Vec::new();
    for item in items {
        row.clear();
        entries(item, &mut row);
        columns.extend(row.iter().map(|&(column, _)| column));
        values.extend(row.iter().map(|&(_, value)| value));
        offsets.push(columns.len());
    }
    let rows = Csr::from_parts(cols, offsets, columns, Some(values));
    let transposed = rows.transposed();
    (rows, transposed)
}

/// Elementwise products of the rows of pairs, in blocks of `step` rows.
fn product_blocks(csr: &Csr, pairs: &[(u32, u32)], step: usize) -> Vec<(Csr, Csr)> {
    let block = |pairs| sparse_block(csr.n_cols(), pairs, |&(u, v), to| multiply(csr, u, v, to));
    pairs.par_chunks(step).map(block).collect()
}

/// Elementwise product of two sparse rows.
fn multiply(csr: &Csr, u: u32, v: u32, to: &mut Vec<(u32, Real)>) {
    let mut others = csr.entries(v as usize).peekable();
    for (column, x) in csr.entries(u as usize) {
        while others.next_if(|&(other, _)| other < column).is_some() {}
        if let Some((_, y)) = others.next_if(|&(other, _)| other == column) {
            to.push((column, x * y));
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // small integers are exact
mod tests {
    use super::*;

    fn matrices() -> [Features; 2] {
        let dense = Dense::from_parts(3, 3, vec![1.0, 0.0, 2.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0]);
        let csr = Csr::from_parts(3, vec![0, 2, 4, 4], vec![0, 2, 1, 2], Some(vec![1.0, 2.0, 3.0, 4.0]));
        [Features::Dense(dense), Features::Sparse(csr)]
    }

    fn both_products(design: &DesignMatrix<'_>) -> (Vec<Real>, Vec<Real>) {
        let (mut times, mut transposed) = (vec![0.0; design.n_rows()], vec![0.0; design.n_cols()]);
        design.for_each_block(|_, block| {
            block.times(&[1.0, 10.0, 100.0], 1, &mut times);
            block.transposed_times(&vec![1.0; block.n_rows()], 1, &mut transposed);
        });
        (times, transposed)
    }

    #[test]
    fn dense_and_sparse_rows_agree() {
        for matrix in matrices() {
            let design = DesignMatrix::of_rows(&matrix, &[1, 0, 1]);
            assert_eq!(both_products(&design), (vec![430.0, 201.0, 430.0], vec![1.0, 6.0, 10.0]));
            assert_eq!(DesignMatrix::of_rows(&matrix, &[0, 1, 2]).n_rows(), 3);
        }
    }

    #[test]
    fn pair_products_agree() {
        for matrix in matrices() {
            let pairs = [(0, 1), (0, 2), (1, 1)];
            let design = DesignMatrix::of_pairs(&matrix, &pairs);
            assert_eq!(both_products(&design), (vec![800.0, 0.0, 1690.0], vec![0.0, 9.0, 24.0]));
            if let Features::Sparse(rows) = &matrix {
                let on_the_fly = DesignMatrix::SparseProducts { rows, pairs: &pairs };
                assert_eq!(both_products(&on_the_fly), both_products(&design));
            }
        }
    }
}
