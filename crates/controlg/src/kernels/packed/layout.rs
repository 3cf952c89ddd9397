//! Reads a matrix in vectors of sixteen numbers, by rows or by columns, for packing.

use std::arch::x86_64::*;

/// Numbers in a vector.
pub(super) const LANES: usize = 16;
/// Rows between two panels, or two steps within one: how far ahead lines are prefetched.
const AHEAD: usize = 2 * LANES;

/// A matrix in memory; rows are `stride` apart.
#[derive(Clone, Copy)]
pub(super) struct MatrixLayout {
    data: *const f32,
    stride: usize,
    rows: usize,
    columns: usize,
}

impl MatrixLayout {
    pub(super) fn new(data: &[f32], stride: usize, rows: usize, columns: usize) -> Self {
        MatrixLayout { data: data.as_ptr(), stride, rows, columns }
    }

    /// Sixteen numbers of a row, padded with zeros.
    ///
    /// # Safety
    /// The data must hold all rows and columns.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn line(self, row: usize, column: usize) -> __m512 {
        let there = if row < self.rows { self.columns.saturating_sub(column).min(LANES) } else { 0 };
        let mask = ((1u32 << there) - 1) as __mmask16;
        let place = |row: usize| self.data.wrapping_add(row * self.stride + column);
        // The next panel, or the next step, starts this many rows below.
        _mm_prefetch::<_MM_HINT_T1>(place(row + AHEAD).cast());
        // SAFETY: the mask selects numbers within the matrix only, and masked lanes are not read.
        unsafe { _mm512_maskz_loadu_ps(mask, place(row)) }
    }

    /// Sixteen numbers of each of `COUNT` rows, at most sixteen; the other lines are zero. Equals [`MatrixLayout::line`] of each
    /// row, with one mask for all of them. `FETCH`: prefetches rows further down, which costs more than it saves on Zen 5.
    ///
    /// # Safety
    /// As for `line`, and the CPU must have AVX-512.
    #[inline(always)] // into functions for AVX-512
    pub(super) unsafe fn lines<const COUNT: usize, const FETCH: bool>(
        self,
        row: usize,
        column: usize,
    ) -> [__m512; LANES] {
        let mask = ((1u32 << self.columns.saturating_sub(column).min(LANES)) - 1) as __mmask16;
        let first = self.data.wrapping_add(row * self.stride + column);
        // SAFETY: the mask selects numbers within the matrix only, and masked lanes are not read.
        unsafe {
            let mut lines = [_mm512_setzero_ps(); LANES];
            if row + COUNT <= self.rows {
                for line in 0..COUNT {
                    if FETCH {
                        _mm_prefetch::<_MM_HINT_T1>(first.wrapping_add((AHEAD + line) * self.stride).cast());
                    }
                    lines[line] = _mm512_maskz_loadu_ps(mask, first.wrapping_add(line * self.stride));
                }
            } else {
                for line in 0..self.rows.saturating_sub(row) {
                    lines[line] = _mm512_maskz_loadu_ps(mask, first.wrapping_add(line * self.stride));
                }
            }
            lines
        }
    }

    /// A block of 16 × 16 numbers, transposed.
    ///
    /// # Safety
    /// As for `line`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn columns(self, (row, column): (usize, usize)) -> [__m512; LANES] {
        let mut block = [_mm512_setzero_ps(); LANES];
        for (line, out) in block.iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            *out = unsafe { self.line(row + line, column) };
        }
        transposed(block)
    }
}

/// Transposes a block of 16 × 16 numbers.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn transposed(rows: [__m512; LANES]) -> [__m512; LANES] {
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
