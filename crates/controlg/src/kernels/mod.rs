//! Bare loops: slices in, slices out.
//!
//! Matrices are row-major slices with their sizes beside them. Every kernel runs on rayon over chunks whose
//! bounds follow from the shapes alone, and adds partial sums in the order of the chunks, so the same bytes come
//! out at any number of threads. Loops that matter are compiled twice, for any processor of the family and for
//! AVX2 with FMA, and the choice is made when the program runs ([`simd`]); dense products know the matrix unit too.
//!
//! Sizes that do not fit together are a mistake of the caller, not of a user: they are asserted.
#![allow(unsafe_code)] // disjoint writes of tasks, AVX entry points, the gemm crate, the matrix unit: each block says why
#![allow(clippy::too_many_arguments)] // slices and their sizes; bundling them would only move the names
#![cfg_attr(feature = "f64", allow(clippy::useless_conversion, clippy::unnecessary_cast))] // Real is f64 there

#[macro_use]
pub mod simd;
mod parallel;
pub mod scratch;
mod sums;

pub mod adam;
#[cfg(all(target_arch = "x86_64", not(feature = "f64")))] // the unit sums in f32
mod amx;
pub mod attention;
pub mod columns;
pub mod correlate;
pub mod feature_dropout;
pub mod infonce;
pub mod layer_norm;
pub mod links;
pub mod loss;
pub mod matmul;
pub mod memory;
pub mod norm;
pub mod pairs;
pub mod recon;
pub mod reduce;
pub mod rows;
pub mod rowwise;
pub mod spectral;
pub mod spmm;
pub mod spmm_chain;
mod strips;
#[cfg(test)]
mod testing;

use crate::Real;

/// A borrowed sparse matrix by rows. Without `values` every stored entry is 1.
#[derive(Clone, Copy, Debug)]
pub struct CsrView<'a> {
    /// Number of rows.
    pub n_rows: usize,
    /// Number of columns.
    pub n_cols: usize,
    /// Where each row starts, and the end of the last.
    pub offsets: &'a [usize],
    /// The columns of all entries, row by row.
    pub columns: &'a [u32],
    /// The values of all entries, row by row.
    pub values: Option<&'a [Real]>,
}

impl<'a> CsrView<'a> {
    /// The columns and the values of a row.
    #[inline(always)]
    pub fn row(&self, row: usize) -> (&'a [u32], Option<&'a [Real]>) {
        let span = self.offsets[row]..self.offsets[row + 1];
        (&self.columns[span.clone()], self.values.map(|values| &values[span]))
    }

    /// The entries of a row as (column, value).
    #[inline(always)]
    pub fn entries(&self, row: usize) -> impl Iterator<Item = (usize, Real)> + 'a {
        let (columns, values) = self.row(row);
        columns.iter().enumerate().map(move |(at, &column)| (column as usize, values.map_or(1.0, |v| v[at])))
    }

    /// Stops when the parts do not fit together.
    fn check(&self) {
        assert_eq!(self.offsets.len(), self.n_rows + 1, "offsets of {} rows", self.n_rows);
        assert_eq!(self.offsets[self.n_rows], self.columns.len(), "offsets end at the number of entries");
        assert!(self.values.is_none_or(|v| v.len() == self.columns.len()), "one value an entry");
    }
}
