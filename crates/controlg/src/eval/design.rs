//! The inputs of a linear model, dense or sparse, a slab of rows at a time.

use std::borrow::Cow;

use super::normalize::dense_data;
use crate::Real;
use crate::graph::{Csr, Dense, Features};
use crate::kernels::{CsrView, matmul, rows, scratch, spmm};
use rayon::prelude::*;

/// Rows of a slab: enough to keep all threads busy, few enough that what is made of them stays in the caches.
const SLAB: usize = 4096;

/// What a linear model reads.
pub(super) enum Design<'a> {
    /// Rows as they are stored.
    Dense { cols: usize, data: Cow<'a, [Real]> },
    /// Sparse rows, each slab with its columns beside it.
    Sparse { n_rows: usize, cols: usize, slabs: Vec<(Csr, Csr)> },
    /// For each pair of nodes the product of their rows, made when it is read: all of them at once would take
    /// many times the memory of the embeddings.
    Products { rows: Cow<'a, Dense>, pairs: &'a [(u32, u32)] },
    /// The same of sparse rows that have much in common.
    SparseProducts { rows: &'a Csr, pairs: &'a [(u32, u32)] },
}

/// Products of sparse rows that are kept from one pass to the next; 16 bytes each.
const KEPT: usize = 1 << 25;

/// A matrix with more than one entry in this many is better multiplied as a dense one.
const FULL: usize = 16;

/// Some rows of a design.
pub(super) enum Slab<'a> {
    Dense { cols: usize, data: &'a [Real] },
    Sparse { rows: CsrView<'a>, columns: CsrView<'a> },
}

impl<'a> Design<'a> {
    /// The chosen rows of a matrix; without a copy when all are chosen in their order.
    pub(super) fn of_rows(matrix: &'a Features, chosen: &[u32]) -> Design<'a> {
        let all =
            chosen.len() == matrix.n_rows() && chosen.iter().enumerate().all(|(i, &row)| row as usize == i);
        match matrix {
            Features::Dense(dense) if all => {
                Design::Dense { cols: dense.n_cols(), data: dense.data().into() }
            }
            Features::Dense(dense) => {
                let mut data = vec![0.0; chosen.len() * dense.n_cols()];
                rows::gather_rows(dense.n_cols(), dense.data(), chosen, &mut data);
                Design::Dense { cols: dense.n_cols(), data: data.into() }
            }
            Features::Sparse(csr) => {
                let slab = |rows: &[u32]| {
                    sparse_slab(csr.n_cols(), rows, |&row, to| to.extend(csr.entries(row as usize)))
                };
                let slabs = chosen.par_chunks(SLAB).map(slab).collect();
                Design::Sparse { n_rows: chosen.len(), cols: csr.n_cols(), slabs }
            }
        }
    }

    /// The products of the rows of each pair.
    pub(super) fn of_pairs(matrix: &'a Features, pairs: &'a [(u32, u32)]) -> Design<'a> {
        match matrix {
            Features::Dense(rows) => Design::Products { rows: Cow::Borrowed(rows), pairs },
            Features::Sparse(rows) => {
                let length = |node: u32| rows.row(node as usize).len();
                let at_most: usize = pairs.iter().map(|&(u, v)| length(u).min(length(v))).sum();
                match at_most <= KEPT {
                    true => {
                        let slabs = product_slabs(rows, pairs, SLAB);
                        Design::Sparse { n_rows: pairs.len(), cols: rows.n_cols(), slabs }
                    }
                    false if FULL * rows.n_entries() > rows.n_rows() * rows.n_cols() => {
                        let data = dense_data(matrix);
                        let rows = Cow::Owned(Dense::from_parts(rows.n_rows(), rows.n_cols(), data));
                        Design::Products { rows, pairs }
                    }
                    false => Design::SparseProducts { rows, pairs },
                }
            }
        }
    }

    pub(super) fn n_rows(&self) -> usize {
        match self {
            Design::Dense { cols, data } => data.len() / cols,
            Design::Sparse { n_rows, .. } => *n_rows,
            Design::Products { pairs, .. } | Design::SparseProducts { pairs, .. } => pairs.len(),
        }
    }

    pub(super) fn n_cols(&self) -> usize {
        match self {
            Design::Dense { cols, .. } | Design::Sparse { cols, .. } => *cols,
            Design::Products { rows, .. } => rows.n_cols(),
            Design::SparseProducts { rows, .. } => rows.n_cols(),
        }
    }

    /// Lends each slab in turn, with the number of its first row.
    pub(super) fn each_slab(&self, mut work: impl FnMut(usize, &Slab<'_>)) {
        match self {
            Design::Dense { cols, data } => {
                for (at, data) in data.chunks(SLAB * cols).enumerate() {
                    work(at * SLAB, &Slab::Dense { cols: *cols, data });
                }
            }
            Design::Sparse { slabs, .. } => {
                lend(0, slabs, &mut work);
            }
            Design::SparseProducts { rows, pairs } => {
                for (at, pairs) in pairs.chunks(SLAB).enumerate() {
                    lend(at * SLAB, &product_slabs(rows, pairs, SLAB / 4), &mut work);
                }
            }
            Design::Products { rows, pairs } => {
                let cols = rows.n_cols();
                for (at, pairs) in pairs.chunks(SLAB).enumerate() {
                    scratch::with(pairs.len() * cols, |data: &mut [Real]| {
                        data.par_chunks_mut(cols).zip(pairs).with_min_len(64).for_each(|(to, &(u, v))| {
                            let (u, v) = (rows.row(u as usize), rows.row(v as usize));
                            to.iter_mut().zip(u).zip(v).for_each(|((to, u), v)| *to = u * v);
                        });
                        work(at * SLAB, &Slab::Dense { cols, data });
                    });
                }
            }
        }
    }
}

impl Slab<'_> {
    pub(super) fn n_rows(&self) -> usize {
        match self {
            Slab::Dense { cols, data } => data.len() / cols,
            Slab::Sparse { rows, .. } => rows.n_rows,
        }
    }

    /// out = rows · w, where w has `width` columns.
    pub(super) fn times(&self, w: &[Real], width: usize, out: &mut [Real]) {
        match self {
            Slab::Dense { cols, data } => matmul::nn(self.n_rows(), *cols, width, data, w, out, false),
            Slab::Sparse { rows, .. } => spmm::spmm(*rows, w, width, out, false),
        }
    }

    /// out = rowsᵀ · d, where d has `width` columns.
    pub(super) fn turned_times(&self, d: &[Real], width: usize, out: &mut [Real]) {
        match self {
            Slab::Dense { cols, data } => matmul::tn(*cols, self.n_rows(), width, data, d, out, false),
            Slab::Sparse { columns, .. } => spmm::spmm(*columns, d, width, out, false),
        }
    }
}

/// Lends sparse slabs, the first row of the first of them being `first`.
fn lend(mut first: usize, slabs: &[(Csr, Csr)], work: &mut impl FnMut(usize, &Slab<'_>)) {
    for (rows, columns) in slabs {
        work(first, &Slab::Sparse { rows: rows.sparse(), columns: columns.sparse() });
        first += rows.n_rows();
    }
}

/// Sparse rows, one for each item, and the same by columns.
fn sparse_slab<T>(cols: usize, items: &[T], entries: impl Fn(&T, &mut Vec<(u32, Real)>)) -> (Csr, Csr) {
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

/// The products of the rows of some pairs.
fn product_slabs(csr: &Csr, pairs: &[(u32, u32)], step: usize) -> Vec<(Csr, Csr)> {
    let slab = |pairs| sparse_slab(csr.n_cols(), pairs, |&(u, v), to| multiply(csr, u, v, to));
    pairs.par_chunks(step).map(slab).collect()
}

/// The products of what two sparse rows have in common.
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
#[allow(clippy::float_cmp)] // small whole numbers are exact
mod tests {
    use super::*;

    fn matrices() -> [Features; 2] {
        let dense = Dense::from_parts(3, 3, vec![1.0, 0.0, 2.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0]);
        let csr = Csr::from_parts(3, vec![0, 2, 4, 4], vec![0, 2, 1, 2], Some(vec![1.0, 2.0, 3.0, 4.0]));
        [Features::Dense(dense), Features::Sparse(csr)]
    }

    fn both_products(design: &Design<'_>) -> (Vec<Real>, Vec<Real>) {
        let (mut times, mut transposed) = (vec![0.0; design.n_rows()], vec![0.0; design.n_cols()]);
        design.each_slab(|_, slab| {
            slab.times(&[1.0, 10.0, 100.0], 1, &mut times);
            slab.turned_times(&vec![1.0; slab.n_rows()], 1, &mut transposed);
        });
        (times, transposed)
    }

    #[test]
    fn dense_and_sparse_rows_give_the_same_products() {
        for matrix in matrices() {
            let design = Design::of_rows(&matrix, &[1, 0, 1]);
            assert_eq!(both_products(&design), (vec![430.0, 201.0, 430.0], vec![1.0, 6.0, 10.0]));
            assert_eq!(Design::of_rows(&matrix, &[0, 1, 2]).n_rows(), 3);
        }
    }

    #[test]
    fn products_of_pairs_hold_what_both_rows_have() {
        for matrix in matrices() {
            let pairs = [(0, 1), (0, 2), (1, 1)];
            let design = Design::of_pairs(&matrix, &pairs);
            assert_eq!(both_products(&design), (vec![800.0, 0.0, 1690.0], vec![0.0, 9.0, 24.0]));
            if let Features::Sparse(rows) = &matrix {
                let anew = Design::SparseProducts { rows, pairs: &pairs };
                assert_eq!(both_products(&anew), both_products(&design));
            }
        }
    }
}
