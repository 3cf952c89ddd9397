//! Products of factors rounded to bf16: one product of tiles instead of six.

use super::super::layout::{LANES, MatrixLayout};
use super::super::{MatrixRef, Unit, pairs};
use super::tile::{BLOCK, DEPTH, SIDE, TILE, TileUnit};
use std::arch::asm;
use std::arch::x86_64::*;

const _: () = assert!(SIDE == LANES && DEPTH == pairs::DEPTH, "a line of a tile is one vector of pairs");

/// Numbers of a packed factor per step: two tiles.
const STEP: usize = 2 * TILE;

/// Whether this CPU multiplies tiles and converts vectors to bf16.
pub(in super::super) fn is_available() -> bool {
    super::is_available() && pairs::is_available()
}

/// The tile registers, for factors rounded to bf16.
pub(in super::super) struct Bf16TileUnit(TileUnit);

impl Unit for Bf16TileUnit {
    type Packed = u16;
    const BLOCK: (usize, usize) = (BLOCK, BLOCK);
    const INNER: usize = 512;
    const COLUMNS: usize = 1024;
    const ROWS: usize = 128;
    const SHARED: (usize, usize) = TileUnit::SHARED;

    fn new() -> Self {
        assert!(is_available(), "AMX and AVX-512 with bf16 are available");
        Bf16TileUnit(TileUnit::new())
    }

    fn panel_lens(inner: usize) -> (usize, usize) {
        let length = inner.div_ceil(DEPTH) * STEP;
        (length, length)
    }

    fn pack_a(a: MatrixRef<'_>, rows: usize, inner: usize, out: &mut [u16]) {
        let fits = a.contains(rows, inner) && out.len() == Self::panel_lens(inner).0;
        assert!(is_available() && fits, "a panel that fits");
        // SAFETY: the CPU has AVX-512 with bf16, and the factor holds these rows and columns (asserted above).
        unsafe {
            match a.column_stride {
                1 => pack::<false, false>(MatrixLayout::new(a.data, a.row_stride, rows, inner), out),
                _ => pack::<true, false>(MatrixLayout::new(a.data, a.column_stride, inner, rows), out),
            }
        }
    }

    fn pack_b(b: MatrixRef<'_>, inner: usize, columns: usize, out: &mut [u16]) {
        let fits = b.contains(inner, columns) && out.len() == Self::panel_lens(inner).1;
        assert!(is_available() && fits, "a panel that fits");
        // SAFETY: as in `pack_a`.
        unsafe {
            match b.column_stride {
                1 => pack::<true, true>(MatrixLayout::new(b.data, b.row_stride, inner, columns), out),
                _ => pack::<false, true>(MatrixLayout::new(b.data, b.column_stride, columns, inner), out),
            }
        }
    }

    unsafe fn multiply(&self, a: &[u16], b: &[u16], c: *mut f32, stride: usize, add: bool) {
        assert!(a.len() == b.len() && a.len().is_multiple_of(STEP), "panels with the same number of steps");
        // SAFETY: both panels have a.len() / STEP steps (asserted above); the caller vouches for C. `self` holds the
        // configured tile registers.
        unsafe { micro_kernel(&self.0, a.len() / STEP, a.as_ptr(), b.as_ptr(), c, stride, add) }
    }
}

/// Packs a panel: for each step two tiles, whose lines are inner indices (B) or outer ones (A). `INNER_ROWS`: the rows of the
/// stored matrix are the inner dimension.
///
/// # Safety
/// The matrix must hold all its rows and columns, and the CPU must have AVX-512 with bf16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn pack<const INNER_ROWS: bool, const INNER_LINES: bool>(stored: MatrixLayout, out: &mut [u16]) {
    for (step, tiles) in out.chunks_exact_mut(STEP).enumerate() {
        for (side, tile) in tiles.chunks_exact_mut(TILE).enumerate() {
            // SAFETY: guaranteed by the caller.
            let lines = unsafe {
                if INNER_LINES {
                    pairs::by_inner::<INNER_ROWS, LANES, true>(stored, step, side * SIDE)
                } else {
                    pairs::by_outer::<INNER_ROWS>(stored, step, side * SIDE)
                }
            };
            for (line, out) in lines.iter().zip(tile.chunks_exact_mut(DEPTH)) {
                // SAFETY: the line has 32 numbers of 2 bytes, which are the 64 bytes stored.
                unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), *line) };
            }
        }
    }
}

/// The micro-kernel of `tile.rs` with one product instead of six.
///
/// # Safety
/// `a` and `b` must hold `steps` steps; `c` must hold 32 rows of 32 numbers, `stride` apart.
#[inline(always)]
unsafe fn micro_kernel(
    _configured: &TileUnit,
    steps: usize,
    a: *const u16,
    b: *const u16,
    c: *mut f32,
    stride: usize,
    add: bool,
) {
    // SAFETY: all memory that is read and written lies within the buffers guaranteed by the caller. The first argument proves
    // that the tile registers are configured on this thread, and no other code uses them.
    unsafe {
        asm!(
            "test {add:e}, {add:e}",
            "jz 2f",
            "tileloadd tmm0, [{c} + {stride}]",
            "tileloadd tmm1, [{c} + {stride} + 64]",
            "tileloadd tmm2, [{low} + {stride}]",
            "tileloadd tmm3, [{low} + {stride} + 64]",
            "jmp 3f",
            "2:",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "3:",
            "test {steps}, {steps}",
            "jz 5f",
            "4:",
            "tileloadd tmm4, [{a} + {line}]",
            "tileloadd tmm6, [{b} + {line}]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm7, [{b} + {line} + 1024]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tileloadd tmm5, [{a} + {line} + 1024]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {a}, 2048",
            "add {b}, 2048",
            "dec {steps}",
            "jnz 4b",
            "5:",
            "tilestored [{c} + {stride}], tmm0",
            "tilestored [{c} + {stride} + 64], tmm1",
            "tilestored [{low} + {stride}], tmm2",
            "tilestored [{low} + {stride} + 64], tmm3",
            c = in(reg) c,
            low = in(reg) c.wrapping_add(SIDE * stride),
            stride = in(reg) 4 * stride,
            add = in(reg) u32::from(add),
            a = inout(reg) a => _,
            b = inout(reg) b => _,
            steps = inout(reg) steps => _,
            line = in(reg) 4 * SIDE,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack)
        );
    }
}
