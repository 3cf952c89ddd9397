//! AVX-512 vectors of sixteen pairs of bf16 numbers: twice the multiply-adds of f32 vectors.
//!
//! The block of C in registers is that of `avx512.rs`. A packed factor has one line per pair of inner indices, with the pairs
//! of all its rows or columns.

use super::avx512::{COLUMNS, ROWS, VECTORS};
use super::layout::{LANES, MatrixLayout};
use super::pairs::{self, DEPTH, is_available};
use super::{MatrixRef, Unit};
use std::arch::x86_64::*;
use std::mem::transmute;

/// The vector unit; its existence proves that the CPU has AVX-512 with bf16.
pub(super) struct Bf16VectorUnit(());

impl Unit for Bf16VectorUnit {
    type Packed = u32;
    const BLOCK: (usize, usize) = (ROWS, COLUMNS);
    const INNER: usize = 512;
    const COLUMNS: usize = 512;
    const ROWS: usize = 8 * ROWS;
    const PACK_STEP: usize = 32;
    const SHARED: (usize, usize) = (1024, 8 << 20);

    fn new() -> Self {
        assert!(is_available(), "AVX-512 with bf16 is available");
        Bf16VectorUnit(())
    }

    fn panel_lens(inner: usize) -> (usize, usize) {
        let pairs = inner.div_ceil(DEPTH) * LANES;
        (pairs * ROWS, pairs * COLUMNS)
    }

    fn pack_a(a: MatrixRef<'_>, rows: usize, inner: usize, out: &mut [u32]) {
        let fits = a.contains(rows, inner) && out.len() == Self::panel_lens(inner).0;
        assert!(is_available() && fits, "a panel that fits");
        // SAFETY: the CPU has AVX-512 with bf16, and the factor holds these rows and columns (asserted above).
        unsafe {
            match a.column_stride {
                1 => pack::<ROWS, false>(MatrixLayout::new(a.data, a.row_stride, rows, inner), out),
                _ => pack::<ROWS, true>(MatrixLayout::new(a.data, a.column_stride, inner, rows), out),
            }
        }
    }

    fn pack_b(b: MatrixRef<'_>, inner: usize, columns: usize, out: &mut [u32]) {
        let fits = b.contains(inner, columns) && out.len() == Self::panel_lens(inner).1;
        assert!(is_available() && fits, "a panel that fits");
        // SAFETY: as in `pack_a`.
        unsafe {
            match b.column_stride {
                1 => pack::<COLUMNS, true>(MatrixLayout::new(b.data, b.row_stride, inner, columns), out),
                _ => pack::<COLUMNS, false>(MatrixLayout::new(b.data, b.column_stride, columns, inner), out),
            }
        }
    }

    unsafe fn multiply(&self, a: &[u32], b: &[u32], c: *mut f32, stride: usize, add: bool) {
        let pairs = a.len() / ROWS;
        assert!(a.len() == pairs * ROWS && b.len() == pairs * COLUMNS, "panels of the same depth");
        // SAFETY: `self` proves that the CPU has AVX-512 with bf16; both panels have this depth; the caller vouches for C.
        unsafe { micro_kernel(pairs, a.as_ptr(), b.as_ptr(), c, stride, add) }
    }
}

/// # Safety
/// The CPU must have AVX-512 with bf16; `a` must hold `pairs` × 14 and `b` `pairs` × 32 pairs; `c` must hold 14 rows of 32
/// numbers, `stride` apart.
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn micro_kernel(pairs: usize, a: *const u32, b: *const u32, c: *mut f32, stride: usize, add: bool) {
    let mut sums = [[_mm512_setzero_ps(); VECTORS]; ROWS];
    // SAFETY: all reads and writes lie within the buffers guaranteed by the caller. Vectors of integers and of bf16 numbers
    // have the same size, and every bit pattern is valid.
    unsafe {
        for p in 0..pairs {
            let (a, b) = (a.add(p * ROWS), b.add(p * COLUMNS));
            let columns = [_mm512_loadu_si512(b.cast()), _mm512_loadu_si512(b.add(LANES).cast())];
            let columns = transmute::<[__m512i; VECTORS], [__m512bh; VECTORS]>(columns);
            for row in 0..ROWS {
                let x = transmute::<__m512i, __m512bh>(_mm512_set1_epi32(*a.add(row) as i32));
                for vector in 0..VECTORS {
                    sums[row][vector] = _mm512_dpbf16_ps(sums[row][vector], x, columns[vector]);
                }
            }
        }
        for row in 0..ROWS {
            for vector in 0..VECTORS {
                let place = c.add(row * stride + vector * LANES);
                let before = if add { _mm512_loadu_ps(place) } else { _mm512_setzero_ps() };
                _mm512_storeu_ps(place, _mm512_add_ps(before, sums[row][vector]));
            }
        }
    }
}

/// Packs a panel: for each pair of inner indices, the pairs of `WIDTH` outer indices. `INNER_ROWS`: the rows of the stored
/// matrix are the inner dimension.
///
/// # Safety
/// The matrix must hold all its rows and columns, and the CPU must have AVX-512 with bf16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn pack<const WIDTH: usize, const INNER_ROWS: bool>(stored: MatrixLayout, out: &mut [u32]) {
    for (step, out) in out.chunks_exact_mut(LANES * WIDTH).enumerate() {
        for outer in (0..WIDTH).step_by(LANES) {
            let mask = ((1u32 << LANES.min(WIDTH - outer)) - 1) as __mmask16;
            // SAFETY: guaranteed by the caller.
            let lines = unsafe {
                match WIDTH {
                    ROWS => pairs::by_inner::<INNER_ROWS, ROWS, false>(stored, step, outer),
                    _ => pairs::by_inner::<INNER_ROWS, LANES, false>(stored, step, outer),
                }
            };
            for (line, out) in lines.iter().zip(out.chunks_exact_mut(WIDTH)) {
                // SAFETY: the mask selects pairs before the end of this line only.
                unsafe { _mm512_mask_storeu_epi32(out.as_mut_ptr().add(outer).cast(), mask, *line) };
            }
        }
    }
}
