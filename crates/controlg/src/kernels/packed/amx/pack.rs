//! Packing: splits the factors into bf16 parts and arranges them in tiles, in the order in which the kernel reads them.
//!
//! AMX multiplies pairs: C(i,j) += A(i,r)·B(r,j) + A(i,s)·B(s,j), where the two numbers of a pair share 32 bits. Any pairing
//! works if both factors use the same one. Here s = r + 16, so that pairs come from two vectors without a shuffle. A tile of A
//! has one line per row i, a tile of B one line per inner index r.

use super::super::MatrixRef;
use super::super::layout::{LANES, MatrixLayout};
use super::tile::{DEPTH, PARTS, SIDE, STEP, TILE};
use std::arch::x86_64::*;

const _: () = assert!(SIDE == LANES, "a line of a tile is one vector");

/// Packs up to 32 rows of A and `inner` of its columns, padded with zeros.
pub(super) fn pack_a(a: MatrixRef<'_>, rows: usize, inner: usize, out: &mut [u16]) {
    assert!(
        a.contains(rows, inner) && out.len() == inner.div_ceil(DEPTH) * STEP,
        "a panel that fits the factor"
    );
    // SAFETY: a CPU with AMX has AVX-512, and the factor holds these rows and columns (asserted above).
    unsafe {
        match a.column_stride {
            1 => pack::<false, false>(MatrixLayout::new(a.data, a.row_stride, rows, inner), out),
            _ => pack::<true, true>(MatrixLayout::new(a.data, a.column_stride, inner, rows), out),
        }
    }
}

/// Packs up to 32 columns of B and `inner` of its rows, padded with zeros.
pub(super) fn pack_b(b: MatrixRef<'_>, inner: usize, columns: usize, out: &mut [u16]) {
    assert!(
        b.contains(inner, columns) && out.len() == inner.div_ceil(DEPTH) * STEP,
        "a panel that fits the factor"
    );
    // SAFETY: as in `pack_a`.
    unsafe {
        match b.column_stride {
            1 => pack::<true, false>(MatrixLayout::new(b.data, b.row_stride, inner, columns), out),
            _ => pack::<false, true>(MatrixLayout::new(b.data, b.column_stride, columns, inner), out),
        }
    }
}

/// Packs a panel. `INNER_ROWS`: the rows of the stored matrix are the inner dimension. `TRANSPOSE`: the lines of tiles are
/// columns of the stored matrix.
///
/// # Safety
/// The matrix must hold all its rows and columns, and the CPU must have AVX-512.
#[target_feature(enable = "avx512f")]
unsafe fn pack<const INNER_ROWS: bool, const TRANSPOSE: bool>(stored: MatrixLayout, out: &mut [u16]) {
    for (step, tiles) in out.chunks_exact_mut(STEP).enumerate() {
        for side in 0..2 {
            let place = |half: usize| {
                let (inner, outer) = (step * DEPTH + half * SIDE, side * SIDE);
                if INNER_ROWS { (inner, outer) } else { (outer, inner) }
            };
            let (low, high) = (place(0), place(1));
            // SAFETY: guaranteed by the caller; lines outside the matrix read as zeros.
            unsafe {
                if TRANSPOSE {
                    let (low, high) = (stored.columns(low), stored.columns(high));
                    for line in 0..SIDE {
                        store_parts(low[line], high[line], &mut tiles[side * TILE + line * DEPTH..]);
                    }
                } else {
                    for line in 0..SIDE {
                        let (low, high) =
                            (stored.line(low.0 + line, low.1), stored.line(high.0 + line, high.1));
                        store_parts(low, high, &mut tiles[side * TILE + line * DEPTH..]);
                    }
                }
            }
        }
    }
}

/// Stores one line of the tiles of all three parts. Each 32 bits hold a number of `low` and, above it, one of `high`.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_parts(mut low: __m512, mut high: __m512, tiles: &mut [u16]) {
    // A part is the number rounded to its upper 16 bits; subtracting it is exact. What is left after two parts fits into 16
    // bits and is truncated: rounding could turn a NaN into zero.
    let upper = _mm512_set1_epi32(0xffff_0000_u32 as i32);
    for (part, tiles) in tiles.chunks_mut(2 * TILE).take(PARTS).enumerate() {
        let half = _mm512_set1_epi32(if part + 1 < PARTS { 0x8000 } else { 0 });
        let rounded_low = _mm512_add_epi32(_mm512_castps_si512(low), half);
        let rounded_high = _mm512_add_epi32(_mm512_castps_si512(high), half);
        const FIRST_OR_SECOND_AND_THIRD: i32 = 0xf8;
        let below = _mm512_srli_epi32::<16>(rounded_low);
        let both = _mm512_ternarylogic_epi32::<FIRST_OR_SECOND_AND_THIRD>(below, rounded_high, upper);
        let line = &mut tiles[..DEPTH];
        // SAFETY: the line has 32 numbers of 2 bytes, which are the 64 bytes stored.
        unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), both) };
        low = _mm512_sub_ps(low, _mm512_castsi512_ps(_mm512_and_si512(rounded_low, upper)));
        high = _mm512_sub_ps(high, _mm512_castsi512_ps(_mm512_and_si512(rounded_high, upper)));
    }
}
