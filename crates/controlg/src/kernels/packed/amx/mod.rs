//! Intel AMX (Advanced Matrix Extensions).
//!
//! AMX multiplies tiles of bf16 numbers (sign, exponent and the first 8 bits of an f32) and accumulates in f32, at sixteen
//! times the rate of the vector units. An f32 is split into three bf16 parts, x = x₁ + x₂ + x₃, which keep all 24 bits, and a
//! product is the sum of the six partial products that matter at f32 precision:
//!
//! x·y ≈ x₁y₁ + (x₁y₂ + x₂y₁) + (x₂y₂ + x₁y₃ + x₃y₁),   with an error below 2⁻²⁵ of x·y.
//!
//! The results are as accurate as f32 arithmetic (see the tests) and take less than half of its time. Two things differ:
//! infinities, and numbers within 2⁻⁸ of the largest f32, give NaN; parts below the smallest normal number, about 10⁻³⁸, are
//! flushed to zero. For factors rounded to bf16, one product is enough (`bf16.rs`).

mod bf16;
mod pack;
mod tile;

pub(super) use bf16::Bf16TileUnit;
pub(super) use tile::TileUnit;
pub(in super::super) use tile::is_available;

use super::{MatrixRef, Unit};
use tile::{BLOCK, DEPTH, STEP};

impl Unit for TileUnit {
    type Packed = u16;
    const BLOCK: (usize, usize) = (BLOCK, BLOCK);
    const INNER: usize = 256;
    const COLUMNS: usize = 1024;
    const ROWS: usize = 128;
    // All of B fits into an L2 cache.
    const SHARED: (usize, usize) = (1024, 800 << 10);

    fn new() -> Self {
        TileUnit::new()
    }

    fn panel_lens(inner: usize) -> (usize, usize) {
        let length = inner.div_ceil(DEPTH) * STEP;
        (length, length)
    }

    fn pack_a(a: MatrixRef<'_>, rows: usize, inner: usize, out: &mut [u16]) {
        pack::pack_a(a, rows, inner, out);
    }

    fn pack_b(b: MatrixRef<'_>, inner: usize, columns: usize, out: &mut [u16]) {
        pack::pack_b(b, inner, columns, out);
    }

    unsafe fn multiply(&self, a: &[u16], b: &[u16], c: *mut f32, stride: usize, add: bool) {
        assert!(a.len() == b.len() && a.len().is_multiple_of(STEP), "panels with the same number of steps");
        // SAFETY: both panels have a.len() / STEP steps (asserted above); the caller vouches for C.
        unsafe { self.micro_kernel(a.len() / STEP, a.as_ptr(), b.as_ptr(), c, stride, add) }
    }
}
