//! Compute kernels: plain functions on slices.
//!
//! Matrices are row-major slices, passed with their shapes. Kernels run in parallel on rayon, over chunks that depend only on
//! the shapes, and add partial sums in the order of the chunks: results have the same bytes with any number of threads. Hot
//! loops are compiled for the baseline CPU and for AVX2 with FMA, and selected at run time ([`simd`]). Dense products also use
//! AMX or AVX-512.
//!
//! Mismatched shapes are bugs of the caller and panic.
#![cfg_attr(not(feature = "internals"), allow(unreachable_pub, dead_code))] // public to benchmarks and tests
#![allow(unsafe_code)] // disjoint writes from tasks, AVX entry points, the gemm crate, AMX, AVX-512: each block gives its reason
#![allow(clippy::too_many_arguments)] // slices and their shapes; a struct would only move the names
#![cfg_attr(feature = "f64", allow(clippy::useless_conversion, clippy::unnecessary_cast))] // Real is f64 there

#[macro_use]
pub mod simd;
pub mod allocator;
mod helpers;
mod parallel;
pub mod scratch;
mod sums;

mod activation;
pub mod adam;
pub mod attention;
pub mod column_blocks;
pub mod columns;
pub mod correlate;
pub mod feature_dropout;
mod gemm;
pub mod infonce;
pub mod layer_norm;
pub mod links;
pub mod loss;
pub mod matmul;
pub mod memory;
pub mod norm;
#[cfg(all(target_arch = "x86_64", not(feature = "f64")))] // products of f32 numbers
mod packed;
pub mod pairs;
mod panels;
pub mod precision;
pub mod recon;
pub mod reduce;
pub mod rows;
pub mod rowwise;
pub mod select;
pub mod spectral;
pub mod spmm;
pub mod spmm_chain;
#[cfg(test)]
mod testing;

use crate::Real;

/// A borrowed CSR matrix. Without `values`, every stored entry is 1.
#[derive(Clone, Copy, Debug)]
pub struct CsrView<'a> {
    /// Number of rows.
    pub n_rows: usize,
    /// Number of columns.
    pub n_cols: usize,
    /// The start of each row and the end of the last.
    pub offsets: &'a [usize],
    /// The column indices of all entries, row by row.
    pub columns: &'a [u32],
    /// The values of all entries, row by row.
    pub values: Option<&'a [Real]>,
}

impl<'a> CsrView<'a> {
    /// The column indices and the values of a row.
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

    /// Panics if the arrays do not fit together.
    fn check(&self) {
        assert_eq!(self.offsets.len(), self.n_rows + 1, "offsets of {} rows", self.n_rows);
        assert_eq!(self.offsets[self.n_rows], self.columns.len(), "offsets end at the number of entries");
        assert!(self.values.is_none_or(|v| v.len() == self.columns.len()), "one value per entry");
    }
}
