//! AVX-512 vectors of sixteen f32 numbers.
//!
//! A block of C, 14 rows of two vectors, stays in 28 of the 32 registers. Each inner index loads two vectors of B and
//! broadcasts 14 numbers of A. Sums are fused multiply-adds in the order of the inner index.

use super::layout::{LANES, MatrixLayout, transposed};
use super::{MatrixRef, Unit};
use std::arch::x86_64::*;

/// Rows of C in registers.
pub(super) const ROWS: usize = 14;
/// Vectors per row of C.
pub(super) const VECTORS: usize = 2;
/// Columns of C in registers.
pub(super) const COLUMNS: usize = VECTORS * LANES;

/// Whether the CPU has AVX-512.
pub(in super::super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl")
}

/// The vector unit; its existence proves that the CPU has AVX-512.
pub(super) struct VectorUnit(());

impl Unit for VectorUnit {
    type Packed = f32;
    const BLOCK: (usize, usize) = (ROWS, COLUMNS);
    const INNER: usize = 256;
    const COLUMNS: usize = 512;
    const ROWS: usize = 8 * ROWS;
    const PACK_STEP: usize = 32;
    // Packing again in every task costs more than reading from a shared cache.
    const SHARED: (usize, usize) = (1024, 8 << 20);

    fn new() -> Self {
        assert!(is_available(), "AVX-512 is available");
        VectorUnit(())
    }

    fn panel_lens(inner: usize) -> (usize, usize) {
        (inner * ROWS, inner * COLUMNS)
    }

    fn pack_a(a: MatrixRef<'_>, rows: usize, inner: usize, out: &mut [f32]) {
        assert!(is_available() && a.contains(rows, inner) && out.len() == inner * ROWS, "a panel that fits");
        // SAFETY: the CPU has AVX-512, and the factor holds these rows and columns (asserted above).
        unsafe {
            match a.column_stride {
                1 => pack::<ROWS, true>(MatrixLayout::new(a.data, a.row_stride, rows, inner), out),
                _ => pack::<ROWS, false>(MatrixLayout::new(a.data, a.column_stride, inner, rows), out),
            }
        }
    }

    fn pack_b(b: MatrixRef<'_>, inner: usize, columns: usize, out: &mut [f32]) {
        assert!(
            is_available() && b.contains(inner, columns) && out.len() == inner * COLUMNS,
            "a panel that fits"
        );
        // SAFETY: as in `pack_a`.
        unsafe {
            match b.column_stride {
                1 => pack::<COLUMNS, false>(MatrixLayout::new(b.data, b.row_stride, inner, columns), out),
                _ => pack::<COLUMNS, true>(MatrixLayout::new(b.data, b.column_stride, columns, inner), out),
            }
        }
    }

    unsafe fn multiply(&self, a: &[f32], b: &[f32], c: *mut f32, stride: usize, add: bool) {
        let inner = a.len() / ROWS;
        assert!(a.len() == inner * ROWS && b.len() == inner * COLUMNS, "panels of the same depth");
        // SAFETY: `self` proves that the CPU has AVX-512; both panels have this depth; the caller vouches for C.
        unsafe { micro_kernel(inner, a.as_ptr(), b.as_ptr(), c, stride, add) }
    }
}

/// # Safety
/// The CPU must have AVX-512; `a` must hold `inner` × 14 and `b` `inner` × 32 numbers; `c` must hold 14 rows of 32 numbers,
/// `stride` apart.
#[target_feature(enable = "avx512f")]
unsafe fn micro_kernel(inner: usize, a: *const f32, b: *const f32, c: *mut f32, stride: usize, add: bool) {
    let mut sums = [[_mm512_setzero_ps(); VECTORS]; ROWS];
    // SAFETY: all reads and writes lie within the buffers guaranteed by the caller.
    unsafe {
        for p in 0..inner {
            let (a, b) = (a.add(p * ROWS), b.add(p * COLUMNS));
            let columns = [_mm512_loadu_ps(b), _mm512_loadu_ps(b.add(LANES))];
            for row in 0..ROWS {
                let x = _mm512_set1_ps(*a.add(row));
                for vector in 0..VECTORS {
                    sums[row][vector] = _mm512_fmadd_ps(x, columns[vector], sums[row][vector]);
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

/// Packs a panel: for each inner index, `WIDTH` numbers of the outer dimension. `OUTER_ROWS`: the rows of the stored matrix are
/// the outer dimension.
///
/// # Safety
/// The matrix must hold all its rows and columns, and the CPU must have AVX-512.
#[target_feature(enable = "avx512f")]
unsafe fn pack<const WIDTH: usize, const OUTER_ROWS: bool>(stored: MatrixLayout, out: &mut [f32]) {
    // A panel of 14 rows needs no more of them; one of 32 columns has two blocks of 16.
    const { assert!(WIDTH == ROWS || WIDTH.is_multiple_of(LANES)) };
    for (step, out) in out.chunks_mut(LANES * WIDTH).enumerate() {
        for outer in (0..WIDTH).step_by(LANES) {
            let mask = ((1u32 << LANES.min(WIDTH - outer)) - 1) as __mmask16;
            // SAFETY: guaranteed by the caller; what lies outside the matrix reads as zeros.
            let block = unsafe {
                match (OUTER_ROWS, WIDTH) {
                    (true, ROWS) => transposed(stored.lines::<ROWS, false>(outer, step * LANES)),
                    (true, _) => transposed(stored.lines::<LANES, false>(outer, step * LANES)),
                    (false, _) => stored.lines::<LANES, false>(step * LANES, outer),
                }
            };
            for (vector, out) in block.iter().zip(out.chunks_exact_mut(WIDTH)) {
                // SAFETY: the mask selects numbers before the end of this index's numbers only.
                unsafe { _mm512_mask_storeu_ps(out.as_mut_ptr().add(outer), mask, *vector) };
            }
        }
    }
}
