//! Dense matrix products whose factors are packed first: on AMX tiles, or on AVX-512 vectors, of f32 or bf16 factors.
//!
//! The factors are rearranged into panels, in the order in which a kernel reads them, and cut into blocks that stay in the
//! caches. The order of summation of an element of C depends on the inner dimension alone, so a row of the result does not
//! depend on how many rows there are or how they are split among threads.

mod amx;
mod avx512;
mod avx512_bf16;
mod layout;
mod pairs;

pub(super) use amx::is_available as has_amx;
pub(super) use avx512::is_available as has_avx512;
pub(super) use pairs::is_available as has_bf16;

use super::gemm::MatrixRef;
use super::matmul::GemmEpilogue;
use super::parallel::{SharedSlice, each};
use super::precision::Precision;
use super::rowwise::activate;
use super::scratch::{self, Scratch};
use super::simd;
use amx::{Bf16TileUnit, TileUnit};
use avx512::VectorUnit;
use avx512_bf16::Bf16VectorUnit;

/// A unit of the processor that multiplies packed panels, and the sizes that suit it.
trait Unit {
    /// What panels consist of.
    type Packed: Scratch;
    /// Rows and columns of C that are computed in registers, at most [`MAX_BLOCK`] numbers.
    const BLOCK: (usize, usize);
    /// Inner indices per cache block. The packed blocks of A (`ROWS` × `INNER`) and of B (`INNER` × `COLUMNS`) stay in the L2
    /// cache, together with the block of C that they update.
    const INNER: usize;
    /// Columns of B per cache block.
    const COLUMNS: usize;
    /// Rows of A per cache block.
    const ROWS: usize;
    /// Inner indices that are packed at a time, for all panels of a block, if they are the rows of the stored factor: rows are then
    /// read in longer pieces. `panel_lens` must be linear in multiples of it.
    const PACK_STEP: usize = usize::MAX;
    /// A B with at most this many columns and packed bytes is packed once for all threads, and otherwise by every task.
    const SHARED: (usize, usize);

    /// The unit, ready for use on this thread.
    fn new() -> Self;
    /// Length of a panel of A, and of B.
    fn panel_lens(inner: usize) -> (usize, usize);
    /// Packs up to `BLOCK.0` rows of A and `inner` of its columns, padded with zeros.
    fn pack_a(a: MatrixRef<'_>, rows: usize, inner: usize, out: &mut [Self::Packed]);
    /// Packs up to `BLOCK.1` columns of B and `inner` of its rows, padded with zeros.
    fn pack_b(b: MatrixRef<'_>, inner: usize, columns: usize, out: &mut [Self::Packed]);
    /// One whole block: C = A·B for packed panels of A and B. With `add`, the product is added to C. Rows of C are `stride`
    /// apart.
    ///
    /// # Safety
    /// `c` must hold a whole block.
    unsafe fn multiply(&self, a: &[Self::Packed], b: &[Self::Packed], c: *mut f32, stride: usize, add: bool);
}

/// Largest number of elements of C in a block.
const MAX_BLOCK: usize = 32 * 32;

/// The units of this processor. AMX is the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitKind {
    Amx,
    AmxBf16,
    Avx512,
    Avx512Bf16,
}

/// The unit on which a product is profitable, if any.
pub(super) fn unit(precision: Precision, m: usize, k: usize, n: usize) -> Option<UnitKind> {
    let rounds = precision == Precision::Bf16 && has_bf16();
    if k < 16 || n < 16 {
        None
    } else if simd::has_amx() && m >= 64 {
        Some(if rounds { UnitKind::AmxBf16 } else { UnitKind::Amx })
    } else if simd::has_avx512() && m >= 28 {
        Some(if rounds { UnitKind::Avx512Bf16 } else { UnitKind::Avx512 })
    } else {
        None
    }
}

/// Calls a generic function with the type of a unit.
macro_rules! on {
    ($unit:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $unit {
            UnitKind::Amx => $function::<TileUnit>($($argument),*),
            UnitKind::AmxBf16 => $function::<Bf16TileUnit>($($argument),*),
            UnitKind::Avx512 => $function::<VectorUnit>($($argument),*),
            UnitKind::Avx512Bf16 => $function::<Bf16VectorUnit>($($argument),*),
        }
    };
}

/// Whether B is packed once for all threads by [`product`].
pub(super) fn shares_b(unit: UnitKind, k: usize, n: usize) -> bool {
    on!(unit, fits(k, n))
}

/// C (m × n) = A·B on all threads, then the epilogue, for a B that is packed once ([`shares_b`]). With `add`, the product is
/// added to C. The result has the same bytes as that of [`gemm`].
pub(super) fn product(
    unit: UnitKind,
    m: usize,
    k: usize,
    n: usize,
    a: MatrixRef<'_>,
    b: MatrixRef<'_>,
    c: &mut [f32],
    add: bool,
    epilogue: Option<GemmEpilogue<'_>>,
) {
    on!(unit, product_on(m, k, n, a, b, c, add, epilogue))
}

/// C (m × n) = A·B on this thread, then the epilogue. With `add`, the product is added to C. Rows of C are `stride` apart.
pub(super) fn gemm(
    unit: UnitKind,
    m: usize,
    k: usize,
    n: usize,
    a: MatrixRef<'_>,
    b: MatrixRef<'_>,
    c: &mut [f32],
    stride: usize,
    add: bool,
    epilogue: Option<GemmEpilogue<'_>>,
) {
    on!(unit, gemm_on(m, k, n, a, b, c, stride, add, epilogue))
}

fn fits<U: Unit>(k: usize, n: usize) -> bool {
    let (columns, bytes) = U::SHARED;
    n <= columns && packed_lens::<U>(k, n).1 * size_of::<U::Packed>() <= bytes
}

fn product_on<U: Unit>(
    m: usize,
    k: usize,
    n: usize,
    a: MatrixRef<'_>,
    b: MatrixRef<'_>,
    c: &mut [f32],
    add: bool,
    epilogue: Option<GemmEpilogue<'_>>,
) {
    assert!(a.contains(m, k) && b.contains(k, n) && c.len() >= m * n, "factors that match their shapes");
    let all = BlockRange { first: 0, count: n };
    scratch::with(packed_lens::<U>(k, n).1, |packed_b: &mut [U::Packed]| {
        let shared = SharedSlice::new(packed_b);
        let n_panels = n.div_ceil(U::BLOCK.1);
        each(n_panels * k.div_ceil(U::INNER), |task| {
            let p = BlockRange::of(task / n_panels, U::INNER, k);
            let j = BlockRange::of(task % n_panels, U::BLOCK.1, n);
            let length = U::panel_lens(p.count).1;
            // SAFETY: every task writes its own panel.
            let panel =
                unsafe { shared.slice(packed_lens::<U>(p.first, n).1 + task % n_panels * length, length) };
            U::pack_b(b.offset(p.first, j.first), p.count, j.count, panel);
        });
        let packed_b = &*packed_b;
        let shared = SharedSlice::new(c);
        each(m.div_ceil(U::ROWS), |task| {
            let i = BlockRange::of(task, U::ROWS, m);
            // SAFETY: the row ranges of different tasks are disjoint.
            let c = unsafe { shared.slice(i.first * n, i.count * n) };
            let (unit, a) = (U::new(), a.offset(i.first, 0));
            scratch::with(packed_lens::<U>(U::INNER, U::ROWS).0, |packed_a: &mut [U::Packed]| {
                for p in ranges(k, U::INNER) {
                    let (start, length) = (packed_lens::<U>(p.first, n).1, packed_lens::<U>(p.count, n).1);
                    let packed_b = &packed_b[start..start + length];
                    let epilogue = epilogue.filter(|_| p.first + p.count == k);
                    let c = OutputBlock {
                        c: &mut *c,
                        stride: n,
                        columns: all,
                        add: add || p.first > 0,
                        epilogue,
                    };
                    c.multiply(&unit, i.count, a.offset(0, p.first), p.count, packed_a, packed_b);
                }
            });
        });
    });
}

fn gemm_on<U: Unit>(
    m: usize,
    k: usize,
    n: usize,
    a: MatrixRef<'_>,
    b: MatrixRef<'_>,
    c: &mut [f32],
    stride: usize,
    add: bool,
    epilogue: Option<GemmEpilogue<'_>>,
) {
    assert!(
        a.contains(m, k) && b.contains(k, n) && c.len() >= (m - 1) * stride + n,
        "factors that match their shapes"
    );
    let unit = U::new();
    let (inner, columns) = (k.min(U::INNER), n.min(U::COLUMNS));
    let (len_a, len_b) = (packed_lens::<U>(inner, U::ROWS).0, packed_lens::<U>(inner, columns).1);
    scratch::with(len_b + len_a, |packed: &mut [U::Packed]| {
        let (packed_b, packed_a) = packed.split_at_mut(len_b);
        for (j, p) in ranges(n, U::COLUMNS).flat_map(|j| ranges(k, U::INNER).map(move |p| (j, p))) {
            let packed_b = &mut packed_b[..packed_lens::<U>(p.count, j.count).1];
            let (len, step) = (U::panel_lens(p.count).1, pack_step::<U>(b.column_stride));
            for q in ranges(p.count, step) {
                let part = U::panel_lens(q.first).1..U::panel_lens(q.first + q.count).1;
                for (panel, at) in packed_b.chunks_exact_mut(len).zip(ranges(j.count, U::BLOCK.1)) {
                    let b = b.offset(p.first + q.first, j.first + at.first);
                    U::pack_b(b, q.count, at.count, &mut panel[part.clone()]);
                }
            }
            for i in ranges(m, U::ROWS) {
                let epilogue = epilogue.filter(|_| p.first + p.count == k);
                let c = &mut c[i.first * stride..];
                let c = OutputBlock { c, stride, columns: j, add: add || p.first > 0, epilogue };
                c.multiply(&unit, i.count, a.offset(i.first, p.first), p.count, packed_a, packed_b);
            }
        }
    });
}

/// Lengths of a packed A and of a packed B with these sizes.
fn packed_lens<U: Unit>(inner: usize, outer: usize) -> (usize, usize) {
    let ((rows, columns), (a, b)) = (U::BLOCK, U::panel_lens(inner));
    (a * outer.div_ceil(rows), b * outer.div_ceil(columns))
}

/// Inner indices to pack at a time, for a factor with this stride of its outer dimension.
fn pack_step<U: Unit>(outer_stride: usize) -> usize {
    if outer_stride == 1 { U::PACK_STEP } else { usize::MAX }
}

/// A block of C and what is done with the product.
struct OutputBlock<'a> {
    c: &'a mut [f32],
    stride: usize,
    columns: BlockRange,
    add: bool,
    epilogue: Option<GemmEpilogue<'a>>,
}

impl OutputBlock<'_> {
    /// C = A·B for a block of A, which is packed here, and a packed block of B. The epilogue runs while the rows of C are in
    /// the cache.
    fn multiply<U: Unit>(
        self,
        unit: &U,
        rows: usize,
        a: MatrixRef<'_>,
        inner: usize,
        packed_a: &mut [U::Packed],
        packed_b: &[U::Packed],
    ) {
        let OutputBlock { c, stride, columns, add, epilogue } = self;
        let (len_a, len_b) = U::panel_lens(inner);
        for q in ranges(inner, pack_step::<U>(a.row_stride)) {
            let part = U::panel_lens(q.first).0..U::panel_lens(q.first + q.count).0;
            for (panel, i) in packed_a.chunks_exact_mut(len_a).zip(ranges(rows, U::BLOCK.0)) {
                U::pack_a(a.offset(i.first, q.first), i.count, q.count, &mut panel[part.clone()]);
            }
        }
        for (b_panel, j) in packed_b.chunks_exact(len_b).zip(ranges(columns.count, U::BLOCK.1)) {
            for (a_panel, i) in packed_a.chunks_exact(len_a).zip(ranges(rows, U::BLOCK.0)) {
                let c = &mut c[i.first * stride + columns.first + j.first..];
                multiply_block(unit, a_panel, b_panel, (i.count, j.count), c, stride, add);
            }
        }
        if let Some((bias, act, slope)) = epilogue {
            let columns = columns.first..columns.first + columns.count;
            let bias = bias.map(|bias| &bias[columns.clone()]);
            for row in c.chunks_mut(stride).take(rows) {
                activate(columns.len(), &mut row[columns.clone()], bias, act, slope);
            }
        }
    }
}

/// C = A·B for packed panels, of which `rows` rows and `columns` columns are valid.
fn multiply_block<U: Unit>(
    unit: &U,
    a: &[U::Packed],
    b: &[U::Packed],
    (rows, columns): (usize, usize),
    c: &mut [f32],
    stride: usize,
    add: bool,
) {
    const { assert!(U::BLOCK.0 * U::BLOCK.1 <= MAX_BLOCK) };
    if (rows, columns) == U::BLOCK {
        assert!(c.len() >= (rows - 1) * stride + columns, "rows of C");
        // SAFETY: C holds a whole block, as asserted above.
        return unsafe { unit.multiply(a, b, c.as_mut_ptr(), stride, add) };
    }
    // At the border of C: compute a whole block in a buffer and copy the valid part.
    #[repr(align(64))]
    struct BorderBlock([f32; MAX_BLOCK]);
    let mut buffer = BorderBlock([0.0; MAX_BLOCK]);
    let width = U::BLOCK.1;
    if add {
        for (buffer, c) in buffer.0.chunks_exact_mut(width).zip(c.chunks(stride)).take(rows) {
            buffer[..columns].copy_from_slice(&c[..columns]);
        }
    }
    // SAFETY: the buffer holds the largest block.
    unsafe { unit.multiply(a, b, buffer.0.as_mut_ptr(), width, add) };
    for (c, buffer) in c.chunks_mut(stride).zip(buffer.0.chunks_exact(width)).take(rows) {
        c[..columns].copy_from_slice(&buffer[..columns]);
    }
}

/// A range of rows, columns or inner indices.
#[derive(Clone, Copy)]
struct BlockRange {
    first: usize,
    count: usize,
}

impl BlockRange {
    /// Range number `at` of [`ranges`].
    fn of(at: usize, step: usize, size: usize) -> Self {
        BlockRange { first: at * step, count: step.min(size - at * step) }
    }
}

/// Splits 0..size into ranges of `step`; the last may be shorter.
fn ranges(size: usize, step: usize) -> impl Iterator<Item = BlockRange> {
    (0..size.div_ceil(step)).map(move |at| BlockRange::of(at, step, size))
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies are exact, and so are sums of ones
mod tests;
