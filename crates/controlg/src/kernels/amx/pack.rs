//! Packing: splits the factors into bf16 parts and arranges them in tiles, in the order in which the kernel reads them.
//!
//! AMX multiplies pairs: C(i,j) += A(i,r)·B(r,j) + A(i,s)·B(s,j), where the two numbers of a pair share 32 bits. Any pairing
//! works if both factors use the same one. Here s = r + 16, so that pairs come from two vectors without a shuffle. A tile of A
//! has one line per row i, a tile of B one line per inner index r.

use super::super::gemm::MatrixRef;
use super::tile::{BLOCK, DEPTH, PARTS, SIDE, STEP, TILE};
use std::arch::x86_64::*;

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

/// A matrix in memory; rows are `stride` apart.
#[derive(Clone, Copy)]
struct MatrixLayout {
    data: *const f32,
    stride: usize,
    rows: usize,
    columns: usize,
}

impl MatrixLayout {
    fn new(data: &[f32], stride: usize, rows: usize, columns: usize) -> Self {
        MatrixLayout { data: data.as_ptr(), stride, rows, columns }
    }

    /// Sixteen numbers of a row, padded with zeros.
    ///
    /// # Safety
    /// The data must hold all rows and columns.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn line(self, row: usize, column: usize) -> __m512 {
        let there = if row < self.rows { self.columns.saturating_sub(column).min(SIDE) } else { 0 };
        let mask = ((1u32 << there) - 1) as __mmask16;
        let place = |row: usize| self.data.wrapping_add(row * self.stride + column);
        // The next panel, or the next step, starts this many rows below.
        _mm_prefetch::<_MM_HINT_T1>(place(row + BLOCK).cast());
        // SAFETY: the mask selects numbers within the matrix only, and masked lanes are not read.
        unsafe { _mm512_maskz_loadu_ps(mask, place(row)) }
    }

    /// A block of 16 × 16 numbers, transposed.
    ///
    /// # Safety
    /// As for `line`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn columns(self, (row, column): (usize, usize)) -> [__m512; SIDE] {
        let mut block = [_mm512_setzero_ps(); SIDE];
        for (line, out) in block.iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            *out = unsafe { self.line(row + line, column) };
        }
        transposed(block)
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

/// Transposes a block of 16 × 16 numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(rows: [__m512; SIDE]) -> [__m512; SIDE] {
    // First within each quarter of the vectors, in blocks of 4 × 4 …
    let mut quarters = rows;
    for four in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|row| rows[4 * four + row]);
        let [ab, cd] = [_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d)].map(|x| _mm512_castps_pd(x));
        let [ab_high, cd_high] =
            [_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d)].map(|x| _mm512_castps_pd(x));
        quarters[4 * four] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd));
        quarters[4 * four + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd));
        quarters[4 * four + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab_high, cd_high));
        quarters[4 * four + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab_high, cd_high));
    }
    // … then the quarters.
    const EVEN: i32 = 0x88;
    const ODD: i32 = 0xdd;
    let mut out = rows;
    for column in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|four| quarters[4 * four + column]);
        let (even, even_below) = (_mm512_shuffle_f32x4::<EVEN>(a, b), _mm512_shuffle_f32x4::<EVEN>(c, d));
        let (odd, odd_below) = (_mm512_shuffle_f32x4::<ODD>(a, b), _mm512_shuffle_f32x4::<ODD>(c, d));
        out[column] = _mm512_shuffle_f32x4::<EVEN>(even, even_below);
        out[column + 4] = _mm512_shuffle_f32x4::<EVEN>(odd, odd_below);
        out[column + 8] = _mm512_shuffle_f32x4::<ODD>(even, even_below);
        out[column + 12] = _mm512_shuffle_f32x4::<ODD>(odd, odd_below);
    }
    out
}
