//! Dense products on the processor's matrix unit (AMX, in Intel's server processors since 2023).
//!
//! The unit multiplies tiles of 16-bit numbers (bf16: the sign, the exponent and the first 8 bits of an f32) and sums
//! in f32, sixteen times as many a cycle as the vector units do. A number is split into three of these, x = x₁ + x₂ + x₃
//! with all 24 bits kept, and a product is the sum of the six products of parts that an f32 can tell:
//!
//! x·y ≈ x₁y₁ + (x₁y₂ + x₂y₁) + (x₂y₂ + x₁y₃ + x₃y₁),   what is left out is below 2⁻²⁵ of x·y.
//!
//! So results are as good as those of f32 arithmetic (the tests hold them to half of its error) in a third of its time.
//! Two things differ: infinities come out as NaN, and so do numbers within 2⁻⁸ of the largest; parts below the smallest
//! normal number, 10⁻³⁸, are zero.

mod pack;
mod unit;

pub(super) use unit::able;

use super::matmul::Factor;
use super::scratch;
use pack::{left, right};
use unit::{DEPTH, EDGE, STEP, Unit};

/// The inner size of a block, columns of a block of B, rows of a block of A: the blocks of both factors, split, stay in
/// the L2 cache, and so does the result between two of them.
const INNER: usize = 256;
const COLUMNS: usize = 1024;
const ROWS: usize = 128;

/// Whether a product is large enough to fill tiles.
pub(super) fn worthwhile(m: usize, k: usize, n: usize) -> bool {
    m >= 2 * EDGE && k >= DEPTH && n >= EDGE / 2
}

/// C(m×n) = A·B on this thread, added to C when `add` is set; rows of C are `stride` apart. A sum is taken in the same
/// order whatever m and n are.
pub(super) fn block(
    m: usize,
    k: usize,
    n: usize,
    a: Factor<'_>,
    b: Factor<'_>,
    c: &mut [f32],
    stride: usize,
    add: bool,
) {
    assert!(a.holds(m, k) && b.holds(k, n) && c.len() >= (m - 1) * stride + n,
        "factors as long as their sizes say"
    );
    let unit = Unit::new();
    let strip = |inner: usize| inner.div_ceil(DEPTH) * STEP;
    let (inner, columns) = (k.min(INNER), n.min(COLUMNS));
    let lengths = [columns.div_ceil(EDGE), ROWS / EDGE].map(|strips| strips * strip(inner));
    scratch::with(lengths[0] + lengths[1], |packed: &mut [u16]| {
        let (packed_b, packed_a) = packed.split_at_mut(lengths[0]);
        for (j, p) in tiled(n, COLUMNS).flat_map(|j| tiled(k, INNER).map(move |p| (j, p))) {
            let length = strip(p.count);
            for (b_strip, at) in packed_b.chunks_exact_mut(length).zip(tiled(j.count, EDGE)) {
                right(b.from(p.first, j.first + at.first), p.count, at.count, b_strip);
            }
            for i in tiled(m, ROWS) {
                for (a_strip, at) in packed_a.chunks_exact_mut(length).zip(tiled(i.count, EDGE)) {
                    left(a.from(i.first + at.first, p.first), at.count, p.count, a_strip);
                }
                for (b_strip, right) in packed_b.chunks_exact(length).zip(tiled(j.count, EDGE)) {
                    for (a_strip, left) in packed_a.chunks_exact(length).zip(tiled(i.count, EDGE)) {
                        let c = &mut c[(i.first + left.first) * stride + j.first + right.first..];
                        unit.multiply(a_strip, b_strip, left.count, right.count, c, stride, add || p.first > 0);
                    }
                }
            }
        }
    });
}

/// A stretch of a size.
#[derive(Clone, Copy)]
struct Stretch {
    first: usize,
    count: usize,
}

/// A size in stretches of `step`, the last as long as what is left.
fn tiled(size: usize, step: usize) -> impl Iterator<Item = Stretch> {
    (0..size).step_by(step).map(move |first| Stretch { first, count: step.min(size - first) })
}
