//! Sparse-dense matrix product (SpMM): out = S·h, with S in CSR form and h row-major.
//!
//! It computes Â·H, X·W, Xᵀ·dH and the backward pass of pairwise dot products. A row of the result is accumulated in
//! registers, one panel of columns at a time, and written once. If rows of `h` are read often and `h` exceeds the caches,
//! `panels.rs` packs panels of it first.

use super::CsrView;
use super::panels;
use super::parallel::{SharedSlice, each, each_chunk};
use super::rowwise::{Act, activate};
use super::simd::{has_avx512, madd, prefetch};
use crate::Real;
use std::ops::Range;

/// out (n_rows × width) = S · h (n_cols × width). With `add`, the product is added to `out`.
pub fn spmm(s: CsrView<'_>, h: &[Real], width: usize, out: &mut [Real], add: bool) {
    product(s, h, width, out, add, None);
}

/// out = act(S·h + bias). The epilogue runs while a row of the result is still in the cache.
pub fn spmm_bias_act(
    s: CsrView<'_>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    bias: Option<&[Real]>,
    act: Act,
    slope: Real,
) {
    assert!(bias.is_none_or(|bias| bias.len() == width));
    product(s, h, width, out, false, Some(SpmmEpilogue { bias, act, slope }));
}

/// One hop of Horner's rule: out = factor·(base + S·h). With `rows`, only these rows of the result, in their order.
pub fn spmm_onto(
    s: CsrView<'_>,
    h: &[Real],
    base: &[Real],
    factor: Real,
    rows: Option<&[u32]>,
    width: usize,
    out: &mut [Real],
) {
    s.check();
    let n = rows.map_or(s.n_rows, <[u32]>::len);
    assert!(h.len() == s.n_cols * width && base.len() == s.n_rows * width, "sizes of a sparse product");
    assert_eq!(out.len(), n * width, "size of the result");
    if rows.is_none() && panels::is_profitable(s, width) {
        super::rows::copy(base, out);
        panels::product(s, h, width, out, true, None);
        return super::rows::scale(factor, out);
    }
    const ROWS: usize = 32;
    each_chunk(out, ROWS * width.max(1), |start, out| {
        let multiply = if has_avx512() { onto_rows::<WIDE_PANEL> } else { onto_rows::<PANEL> };
        multiply(s, start / width, rows, h, base, factor, width, out);
    });
}

/// Elements of the scratch buffers that [`spmm`] uses at the same time.
pub fn scratch_lens(s: CsrView<'_>, width: usize) -> Vec<usize> {
    if panels::is_profitable(s, width) { panels::scratch_lens(s, width) } else { Vec::new() }
}

/// Columns accumulated in registers at a time: eight AVX2 registers of f32, or sixteen of AVX-512.
pub(crate) const PANEL: usize = 64;
const WIDE_PANEL: usize = 256;
/// Prefetch distance, in entries.
pub(crate) const PREFETCH_DISTANCE: usize = 4;

/// What is applied to each row of the product: act(x + bias).
#[derive(Clone, Copy)]
pub(super) struct SpmmEpilogue<'a> {
    pub(super) bias: Option<&'a [Real]>,
    pub(super) act: Act,
    pub(super) slope: Real,
}

impl<'a> SpmmEpilogue<'a> {
    pub(super) fn new((bias, act, slope): (Option<&'a [Real]>, Act, Real)) -> Self {
        SpmmEpilogue { bias, act, slope }
    }

    /// The epilogue of a range of columns.
    pub(super) fn columns(self, columns: Range<usize>) -> Self {
        SpmmEpilogue { bias: self.bias.map(|bias| &bias[columns]), ..self }
    }
}

pub(super) fn product(
    s: CsrView<'_>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    add: bool,
    epilogue: Option<SpmmEpilogue<'_>>,
) {
    s.check();
    assert!(h.len() == s.n_cols * width && out.len() == s.n_rows * width, "sizes of a sparse product");
    if width == 0 {
        return;
    }
    if panels::is_profitable(s, width) {
        return panels::product(s, h, width, out, add, epilogue);
    }
    let chunks = RowChunks::new(s, (1 << 17) / width);
    let shared = SharedSlice::new(out);
    each(chunks.count, |task| {
        let rows = chunks.rows(s, task);
        // SAFETY: the row ranges of different tasks are disjoint.
        let out = unsafe { shared.slice(rows.start * width, rows.len() * width) };
        let multiply = if has_avx512() { direct_rows::<WIDE_PANEL> } else { direct_rows::<PANEL> };
        multiply(s, rows, h, width, out, add);
        if let Some(SpmmEpilogue { bias, act, slope }) = epilogue {
            activate(width, out, bias, act, slope);
        }
    });
}

/// Splits the rows of S into tasks with about the same number of entries. The split depends only on the shape, not on
/// the number of threads.
#[derive(Clone, Copy)]
pub(super) struct RowChunks {
    pub(super) count: usize,
    total: usize,
}

impl RowChunks {
    /// Tasks with about `entries` entries each.
    pub(super) fn new(s: CsrView<'_>, entries: usize) -> Self {
        // Each row adds a fixed cost: its result is written.
        let total = s.columns.len() + s.n_rows;
        RowChunks { count: total.div_ceil(entries.max(1)).clamp(1, s.n_rows.max(1)), total }
    }

    pub(super) fn rows(self, s: CsrView<'_>, task: usize) -> Range<usize> {
        let start = |task: usize| {
            let work = self.total * task / self.count;
            // Binary search for the first row with at least this much work before it.
            let (mut low, mut high) = (0, s.n_rows);
            while low < high {
                let middle = (low + high) / 2;
                if s.offsets[middle] + middle < work { low = middle + 1 } else { high = middle }
            }
            low
        };
        start(task)..if task + 1 == self.count { s.n_rows } else { start(task + 1) }
    }
}

simd! {
    with avx512
    fn direct_rows[FMA, const WIDE: usize](
        s: CsrView<'_>,
        rows: Range<usize>,
        h: &[Real],
        width: usize,
        out: &mut [Real],
        add: bool,
    ) {
        for (row, out) in rows.clone().zip(out.chunks_exact_mut(width)) {
            let (columns, values) = s.row(row);
            let ahead = columns_ahead::<PREFETCH_DISTANCE>(s, row, rows.end);
            match values {
                Some(values) => {
                    row_panels::<FMA, WIDE>(columns, |e| values[e], ahead, h, width, 0..width, out, add);
                }
                None => row_panels::<FMA, WIDE>(columns, |_| 1.0, ahead, h, width, 0..width, out, add),
            }
        }
    }
}

simd! {
    with avx512
    /// The rows of [`spmm_onto`] from `first` on, as many as `out` holds.
    fn onto_rows[FMA, const WIDE: usize](
        s: CsrView<'_>,
        first: usize,
        rows: Option<&[u32]>,
        h: &[Real],
        base: &[Real],
        factor: Real,
        width: usize,
        out: &mut [Real],
    ) {
        for (at, out) in (first..).zip(out.chunks_exact_mut(width)) {
            let row = rows.map_or(at, |rows| rows[at] as usize);
            let (columns, values) = s.row(row);
            let ahead = columns_ahead::<PREFETCH_DISTANCE>(s, row, s.n_rows);
            out.copy_from_slice(&base[row * width..(row + 1) * width]);
            match values {
                Some(values) => {
                    row_panels::<FMA, WIDE>(columns, |e| values[e], ahead, h, width, 0..width, out, true);
                }
                None => row_panels::<FMA, WIDE>(columns, |_| 1.0, ahead, h, width, 0..width, out, true),
            }
            out.iter_mut().for_each(|x| *x *= factor);
        }
    }
}

/// The columns to prefetch while a row is summed: those `BY` entries ahead, which may belong to the following rows.
#[inline(always)]
pub(crate) fn columns_ahead<const BY: usize>(s: CsrView<'_>, row: usize, end: usize) -> &[u32] {
    let last = s.offsets[end];
    &s.columns[(s.offsets[row] + BY).min(last)..(s.offsets[row + 1] + BY).min(last)]
}

/// One row of the product, restricted to the columns in `range`: Σₑ value(e)·h[columns[e]], panel by panel. Rows of `h`
/// listed in `ahead` are prefetched meanwhile.
#[inline(always)]
pub(crate) fn row_panels<const FMA: bool, const WIDE: usize>(
    columns: &[u32],
    value: impl Fn(usize) -> Real + Copy,
    ahead: &[u32],
    h: &[Real],
    width: usize,
    range: Range<usize>,
    out: &mut [Real],
    add: bool,
) {
    let mut at = range.start;
    while range.end - at >= WIDE {
        panel::<FMA, WIDE>(columns, value, ahead, h, width, at, out, add);
        at += WIDE;
    }
    while range.end - at >= PANEL {
        panel::<FMA, PANEL>(columns, value, ahead, h, width, at, out, add);
        at += PANEL;
    }
    if range.end - at >= 32 {
        panel::<FMA, 32>(columns, value, ahead, h, width, at, out, add);
        at += 32;
    }
    if range.end - at >= 16 {
        panel::<FMA, 16>(columns, value, ahead, h, width, at, out, add);
        at += 16;
    }
    if range.end - at >= 8 {
        panel::<FMA, 8>(columns, value, ahead, h, width, at, out, add);
        at += 8;
    }
    while at < range.end {
        panel::<FMA, 1>(columns, value, &[], h, width, at, out, add);
        at += 1;
    }
}

/// N columns of one row of the product, starting at column `at`.
#[inline(always)]
fn panel<const FMA: bool, const N: usize>(
    columns: &[u32],
    value: impl Fn(usize) -> Real,
    ahead: &[u32],
    h: &[Real],
    width: usize,
    at: usize,
    out: &mut [Real],
    add: bool,
) {
    let out = &mut out[at..at + N];
    let mut sums = [0.0; N];
    if add {
        sums.copy_from_slice(out);
    }
    for (e, &column) in columns.iter().enumerate() {
        if let Some(&next) = ahead.get(e) {
            prefetch(h, next as usize * width + at, N);
        }
        add_row::<FMA, N>(value(e), &h[column as usize * width + at..], &mut sums);
    }
    out.copy_from_slice(&sums);
}

#[inline(always)]
fn add_row<const FMA: bool, const N: usize>(value: Real, source: &[Real], sums: &mut [Real; N]) {
    let source = &source[..N];
    for j in 0..N {
        sums[j] = madd::<FMA>(value, source[j], sums[j]);
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests;
