//! Pairs of bf16 numbers, from which products with bf16 factors are computed.
//!
//! These products add pairs: c += a(r)·b(r) + a(s)·b(s), where the two numbers of a pair share 32 bits. Any pairing works if
//! both factors use the same one. Here s = r + 16, so that pairs come from two vectors.

use super::layout::{LANES, MatrixLayout, transposed};
use std::arch::x86_64::*;
use std::mem::transmute;

/// Inner indices per step: sixteen pairs.
pub(super) const DEPTH: usize = 2 * LANES;

/// Whether the CPU multiplies pairs of bf16 numbers and converts to them.
pub(in super::super) fn is_available() -> bool {
    super::has_avx512() && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512bf16")
}

/// Sixteen lines, one per pair of a step. A line has the pairs of sixteen outer indices, of which the first `OUTER` are needed.
/// `INNER_ROWS`: the rows of the stored matrix are the inner dimension. `FETCH`: see [`MatrixLayout::lines`].
///
/// # Safety
/// The matrix must hold all its rows and columns, and the CPU must have AVX-512 with bf16.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn by_inner<const INNER_ROWS: bool, const OUTER: usize, const FETCH: bool>(
    stored: MatrixLayout,
    step: usize,
    outer: usize,
) -> [__m512i; LANES] {
    // SAFETY: guaranteed by the caller.
    let lines = unsafe { as_stored::<INNER_ROWS, OUTER, FETCH>(stored, step, outer) };
    if INNER_ROWS { lines } else { transposed_pairs(lines) }
}

/// Sixteen lines, one per outer index. A line has the pairs of a step.
///
/// # Safety
/// As for [`by_inner`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn by_outer<const INNER_ROWS: bool>(
    stored: MatrixLayout,
    step: usize,
    outer: usize,
) -> [__m512i; LANES] {
    // SAFETY: guaranteed by the caller.
    let lines = unsafe { as_stored::<INNER_ROWS, LANES, true>(stored, step, outer) };
    if INNER_ROWS { transposed_pairs(lines) } else { lines }
}

/// Sixteen lines that follow the rows of the stored matrix, of which `OUTER` outer indices are needed.
///
/// # Safety
/// As for [`by_inner`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn as_stored<const INNER_ROWS: bool, const OUTER: usize, const FETCH: bool>(
    stored: MatrixLayout,
    step: usize,
    outer: usize,
) -> [__m512i; LANES] {
    let first = step * DEPTH;
    // SAFETY: guaranteed by the caller; what lies outside the matrix reads as zeros.
    let (low, high) = unsafe {
        if INNER_ROWS {
            (stored.lines::<LANES, FETCH>(first, outer), stored.lines::<LANES, FETCH>(first + LANES, outer))
        } else {
            (stored.lines::<OUTER, FETCH>(outer, first), stored.lines::<OUTER, FETCH>(outer, first + LANES))
        }
    };
    let mut lines = [_mm512_setzero_si512(); LANES];
    for (line, (low, high)) in lines.iter_mut().zip(low.into_iter().zip(high)) {
        *line = rounded_pairs(low, high);
    }
    lines
}

/// Each 32 bits hold a number of `low` and, above it, one of `high`, rounded to the nearest bf16, ties to even. Numbers below
/// the smallest normal number become zero.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn rounded_pairs(low: __m512, high: __m512) -> __m512i {
    const INTERLEAVED: [u16; 2 * LANES] = {
        let mut order = [0; 2 * LANES];
        let mut at = 0;
        while at < LANES {
            order[2 * at] = at as u16;
            order[2 * at + 1] = (LANES + at) as u16;
            at += 1;
        }
        order
    };
    // SAFETY: both types have 64 bytes, and every bit pattern is valid.
    let (order, halves) = unsafe {
        (
            transmute::<[u16; 2 * LANES], __m512i>(INTERLEAVED),
            transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low)),
        )
    };
    _mm512_permutexvar_epi16(order, halves)
}

/// Transposes a block of 16 × 16 pairs.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed_pairs(lines: [__m512i; LANES]) -> [__m512i; LANES] {
    // SAFETY: vectors of integers and of f32 numbers have the same size, and every bit pattern is valid.
    unsafe {
        let lines = transmute::<[__m512i; LANES], [__m512; LANES]>(lines);
        transmute::<[__m512; LANES], [__m512i; LANES]>(transposed(lines))
    }
}
