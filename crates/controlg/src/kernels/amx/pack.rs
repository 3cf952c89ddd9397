//! Factors as the unit reads them: split into parts, tile by tile in the order of use.
//!
//! The unit sums over pairs: C(i,j) += A(i,r)·B(r,j) + A(i,s)·B(s,j), with the two numbers of a pair side by side in 32
//! bits. Any pairing will do when both factors have the same; here s = r + 16, so that pairs are made of two vectors
//! without moving a number sideways. Left tiles have a line for each row i, right tiles one for each r.

use super::super::matmul::Factor;
use super::unit::{DEPTH, EDGE, PARTS, SIDE, STEP, TILE};
use std::arch::x86_64::*;

/// Up to 32 rows of A and `inner` of its columns; what is not there counts as zero.
pub(super) fn left(a: Factor<'_>, rows: usize, inner: usize, out: &mut [u16]) {
    assert!(a.holds(rows, inner) && out.len() == inner.div_ceil(DEPTH) * STEP, "a strip of a factor");
    // SAFETY: the processor has AVX-512, or there would be no unit; the factor holds those rows and columns.
    unsafe {
        match a.column {
            1 => strip::<false, false>(MatrixLayout::new(a.data, a.row, rows, inner), out),
            _ => strip::<true, true>(MatrixLayout::new(a.data, a.column, inner, rows), out),
        }
    }
}

/// Up to 32 columns of B and `inner` of its rows; what is not there counts as zero.
pub(super) fn right(b: Factor<'_>, inner: usize, columns: usize, out: &mut [u16]) {
    assert!(b.holds(inner, columns) && out.len() == inner.div_ceil(DEPTH) * STEP, "a strip of a factor");
    // SAFETY: as in `left`.
    unsafe {
        match b.column {
            1 => strip::<true, false>(MatrixLayout::new(b.data, b.row, inner, columns), out),
            _ => strip::<false, true>(MatrixLayout::new(b.data, b.column, columns, inner), out),
        }
    }
}

/// A matrix as it lies in memory.
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

    /// Sixteen numbers of a row; zeros where the matrix has none.
    ///
    /// # Safety
    /// The data hold all rows and columns.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn line(self, row: usize, column: usize) -> __m512 {
        let there = if row < self.rows { self.columns.saturating_sub(column).min(SIDE) } else { 0 };
        let mask = ((1u32 << there) - 1) as __mmask16;
        let place = |row: usize| self.data.wrapping_add(row * self.stride + column);
        // The strip, or the step, that comes next lies so many rows on.
        _mm_prefetch::<_MM_HINT_T1>(place(row + EDGE).cast());
        // SAFETY: what the mask leaves out is not read.
        unsafe { _mm512_maskz_loadu_ps(mask, place(row)) }
    }

    /// Sixteen columns of sixteen numbers, as lines.
    ///
    /// # Safety
    /// As for `line`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn columns(self, (row, column): (usize, usize)) -> [__m512; SIDE] {
        let mut block = [_mm512_setzero_ps(); SIDE];
        for (line, out) in block.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *out = unsafe { self.line(row + line, column) };
        }
        transposed(block)
    }
}

/// Packs a strip. `DOWN`: the inner size runs down the rows of the matrix as it is stored; `TURN`: the lines of tiles are
/// its columns.
///
/// # Safety
/// The matrix holds all its rows and columns.
#[target_feature(enable = "avx512f")]
unsafe fn strip<const DOWN: bool, const TURN: bool>(stored: MatrixLayout, out: &mut [u16]) {
    for (step, tiles) in out.chunks_exact_mut(STEP).enumerate() {
        for side in 0..2 {
            let place = |half: usize| {
                let (inner, outer) = (step * DEPTH + half * SIDE, side * SIDE);
                if DOWN { (inner, outer) } else { (outer, inner) }
            };
            let (low, high) = (place(0), place(1));
            // SAFETY: the caller's promise; lines that do not exist are read as zeros.
            unsafe {
                if TURN {
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

/// A line of the three parts' tiles: in each 32 bits a number of `low` and, above it, one of `high`.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_parts(mut low: __m512, mut high: __m512, tiles: &mut [u16]) {
    // A part is a number rounded to its upper 16 bits; subtracting it is exact. After two the rest has no more than these,
    // and is taken as it is: rounding would make zero of some that are not a number.
    let upper = _mm512_set1_epi32(0xffff_0000_u32 as i32);
    for (part, tiles) in tiles.chunks_mut(2 * TILE).take(PARTS).enumerate() {
        let half = _mm512_set1_epi32(if part + 1 < PARTS { 0x8000 } else { 0 });
        let rounded_low = _mm512_add_epi32(_mm512_castps_si512(low), half);
        let rounded_high = _mm512_add_epi32(_mm512_castps_si512(high), half);
        const FIRST_OR_SECOND_AND_THIRD: i32 = 0xf8;
        let below = _mm512_srli_epi32::<16>(rounded_low);
        let both = _mm512_ternarylogic_epi32::<FIRST_OR_SECOND_AND_THIRD>(below, rounded_high, upper);
        let line = &mut tiles[..DEPTH];
        // SAFETY: the line has 64 bytes.
        unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), both) };
        low = _mm512_sub_ps(low, _mm512_castsi512_ps(_mm512_and_si512(rounded_low, upper)));
        high = _mm512_sub_ps(high, _mm512_castsi512_ps(_mm512_and_si512(rounded_high, upper)));
    }
}

/// The transpose of 16×16 numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(rows: [__m512; SIDE]) -> [__m512; SIDE] {
    // Within each quarter of the vectors, four rows by four columns …
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
    // … then the quarters among each other.
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
