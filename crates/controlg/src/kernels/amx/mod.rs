//! Dense matrix products on Intel AMX (Advanced Matrix Extensions).
//!
//! AMX multiplies tiles of bf16 numbers (sign, exponent and the first 8 bits of an f32) and accumulates in f32, at sixteen
//! times the rate of the vector units. An f32 is split into three bf16 parts, x = x₁ + x₂ + x₃, which keep all 24 bits, and a
//! product is the sum of the six partial products that matter at f32 precision:
//!
//! x·y ≈ x₁y₁ + (x₁y₂ + x₂y₁) + (x₂y₂ + x₁y₃ + x₃y₁),   with an error below 2⁻²⁵ of x·y.
//!
//! The results are as accurate as f32 arithmetic (see the tests) and take less than half of its time. Two things differ:
//! infinities, and numbers within 2⁻⁸ of the largest f32, give NaN; parts below the smallest normal number, about 10⁻³⁸, are
//! flushed to zero.

mod pack;
mod tile;

pub(super) use tile::is_available;

use super::gemm::MatrixRef;
use super::matmul::GemmEpilogue;
use super::parallel::{SharedSlice, each};
use super::rowwise::activate;
use super::scratch;
use pack::{pack_a, pack_b};
use tile::{BLOCK, DEPTH, STEP, TileUnit};

/// Cache blocking: the packed blocks of A (ROWS × INNER) and of B (INNER × COLUMNS) stay in the L2 cache, together with the
/// block of C that they update.
const INNER: usize = 256;
const COLUMNS: usize = 1024;
const ROWS: usize = 128;

/// Whether a product is large enough to fill the tiles.
pub(super) fn is_profitable(m: usize, k: usize, n: usize) -> bool {
    m >= 2 * BLOCK && k >= DEPTH / 2 && n >= BLOCK / 2
}

/// Whether all of B, packed, fits into an L2 cache. Then it is packed once for all threads.
pub(super) fn packed_b_fits(k: usize, n: usize) -> bool {
    const BYTES: usize = 800 << 10;
    n <= COLUMNS && packed_len(k, n) * size_of::<u16>() <= BYTES
}

/// C (m × n) = A·B on all threads, then the epilogue, for a B with [`packed_b_fits`]. With `add`, the product is added to C.
/// The result has the same bytes as that of [`gemm`].
pub(super) fn product(
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
    scratch::with(packed_len(k, n), |packed_b: &mut [u16]| {
        let shared = SharedSlice::new(packed_b);
        let n_panels = n.div_ceil(BLOCK);
        each(n_panels * k.div_ceil(INNER), |task| {
            let p = BlockRange::of(task / n_panels, INNER, k);
            let j = BlockRange::of(task % n_panels, BLOCK, n);
            let length = packed_len(p.count, BLOCK);
            // SAFETY: every task writes its own panel.
            let panel = unsafe { shared.slice(packed_len(p.first, n) + task % n_panels * length, length) };
            pack_b(b.offset(p.first, j.first), p.count, j.count, panel);
        });
        let packed_b = &*packed_b;
        let shared = SharedSlice::new(c);
        each(m.div_ceil(ROWS), |task| {
            let i = BlockRange::of(task, ROWS, m);
            // SAFETY: the row ranges of different tasks are disjoint.
            let c = unsafe { shared.slice(i.first * n, i.count * n) };
            let (unit, a) = (TileUnit::new(), a.offset(i.first, 0));
            scratch::with(packed_len(INNER, ROWS), |packed_a: &mut [u16]| {
                for p in ranges(k, INNER) {
                    let packed_b = &packed_b[packed_len(p.first, n)..][..packed_len(p.count, n)];
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

/// C (m × n) = A·B on this thread, then the epilogue. With `add`, the product is added to C. Rows of C are `stride` apart. The
/// order of summation does not depend on m and n.
pub(super) fn gemm(
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
    let unit = TileUnit::new();
    let (inner, columns) = (k.min(INNER), n.min(COLUMNS));
    scratch::with(packed_len(inner, columns) + packed_len(inner, ROWS), |packed: &mut [u16]| {
        let (packed_b, packed_a) = packed.split_at_mut(packed_len(inner, columns));
        for (j, p) in ranges(n, COLUMNS).flat_map(|j| ranges(k, INNER).map(move |p| (j, p))) {
            let packed_b = &mut packed_b[..packed_len(p.count, j.count)];
            for (panel, at) in
                packed_b.chunks_exact_mut(packed_len(p.count, BLOCK)).zip(ranges(j.count, BLOCK))
            {
                pack_b(b.offset(p.first, j.first + at.first), p.count, at.count, panel);
            }
            for i in ranges(m, ROWS) {
                let epilogue = epilogue.filter(|_| p.first + p.count == k);
                let c = &mut c[i.first * stride..];
                let c = OutputBlock { c, stride, columns: j, add: add || p.first > 0, epilogue };
                c.multiply(&unit, i.count, a.offset(i.first, p.first), p.count, packed_a, packed_b);
            }
        }
    });
}

/// Length of a packed factor of size inner × outer, with all three parts of its numbers.
fn packed_len(inner: usize, outer: usize) -> usize {
    inner.div_ceil(DEPTH) * STEP * outer.div_ceil(BLOCK)
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
    fn multiply(
        self,
        unit: &TileUnit,
        rows: usize,
        a: MatrixRef<'_>,
        inner: usize,
        packed_a: &mut [u16],
        packed_b: &[u16],
    ) {
        let OutputBlock { c, stride, columns, add, epilogue } = self;
        let length = packed_len(inner, BLOCK);
        for (panel, i) in packed_a.chunks_exact_mut(length).zip(ranges(rows, BLOCK)) {
            pack_a(a.offset(i.first, 0), i.count, inner, panel);
        }
        for (b_panel, j) in packed_b.chunks_exact(length).zip(ranges(columns.count, BLOCK)) {
            for (a_panel, i) in packed_a.chunks_exact(length).zip(ranges(rows, BLOCK)) {
                let c = &mut c[i.first * stride + columns.first + j.first..];
                unit.multiply(a_panel, b_panel, i.count, j.count, c, stride, add);
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
mod tests {
    use super::super::rowwise::Act;
    use super::super::testing::Numbers;
    use super::*;

    /// Whether the CPU lacks AMX, so that a test must be skipped.
    fn is_missing() -> bool {
        if !is_available() {
            eprintln!("skipped: AMX is not available");
        }
        !is_available()
    }

    /// The largest error of a product, relative to Σ|a·b|, and that of f32 sums.
    fn errors(m: usize, k: usize, n: usize, a: MatrixRef<'_>, b: MatrixRef<'_>, c: &[f32]) -> [f64; 2] {
        let at = |f: MatrixRef<'_>, row: usize, column: usize| {
            f.data[row * f.row_stride + column * f.column_stride]
        };
        let mut worst = [0.0; 2];
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let terms = (0..k).map(|p| (at(a, i, p), at(b, p, j)));
            let exact: f64 = terms.clone().map(|(x, y)| f64::from(x) * f64::from(y)).sum();
            let size: f64 = terms.clone().map(|(x, y)| (f64::from(x) * f64::from(y)).abs()).sum();
            let single = terms.fold(0.0, |sum: f32, (x, y)| x.mul_add(y, sum));
            for (worst, got) in worst.iter_mut().zip([c[i * n + j], single]) {
                *worst = f64::max(*worst, (f64::from(got) - exact).abs() / size);
            }
        }
        worst
    }

    #[test]
    fn all_forms_are_as_accurate_as_f32() {
        if is_missing() {
            return;
        }
        let mut numbers = Numbers::new(51);
        for (m, k, n) in
            [(64, 32, 16), (70, 40, 17), (131, 300, 33), (160, 256, 1060), (33, 700, 96), (5, 9, 3)]
        {
            // Numbers of one magnitude, and numbers over ten decades.
            for decades in [1, 10] {
                let mut values = |len| -> Vec<f32> {
                    (0..len).map(|_| numbers.real() * 10f32.powi(numbers.below(decades) as i32 - 5)).collect()
                };
                let (a, b) = (values(m * k), values(k * n));
                for (a, b) in [
                    (MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n)),
                    (MatrixRef::column_major(&a, m), MatrixRef::row_major(&b, n)),
                    (MatrixRef::row_major(&a, k), MatrixRef::column_major(&b, k)),
                ] {
                    let mut c = vec![7.0; m * n];
                    gemm(m, k, n, a, b, &mut c, n, false, None);
                    let [ours, single] = errors(m, k, n, a, b, &c);
                    // Short sums average out few errors: allow a unit in the last place.
                    let bound = if k < 100 { f64::max(1.5 * single, 2.4e-7) } else { single };
                    assert!(ours <= bound, "{m}×{k}×{n}: {ours:e}, f32: {single:e}");
                }
            }
        }
    }

    #[test]
    fn add_accumulates_and_leaves_the_rest_of_a_row_alone() {
        if is_missing() {
            return;
        }
        let mut numbers = Numbers::new(52);
        let (m, k, n, stride) = (70, 300, 40, 50);
        let (a, b) = (numbers.vec(m * k), numbers.vec(k * n));
        let (a, b) = (MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n));
        let mut alone = vec![0.0; m * n];
        gemm(m, k, n, a, b, &mut alone, n, false, None);
        let mut c = vec![3.0; m * stride];
        gemm(m, k, n, a, b, &mut c, stride, true, None);
        for (row, alone) in c.chunks(stride).zip(alone.chunks(n)) {
            assert!(row[..n].iter().zip(alone).all(|(c, x)| (c - 3.0 - x).abs() < 1e-5));
            assert!(row[n..].iter().all(|&rest| rest == 3.0));
        }
    }

    #[test]
    fn the_epilogue_runs_after_the_last_block() {
        if is_missing() {
            return;
        }
        let mut numbers = Numbers::new(54);
        // More than one block in each dimension.
        let (m, k, n) = (150, 300, 1060);
        let (a, b, bias) = (numbers.vec(m * k), numbers.vec(k * n), numbers.vec(n));
        let (a, b) = (MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n));
        let (act, slope) = (Act::Prelu, 0.25);
        let (mut fused, mut separate) = (vec![0.0; m * n], vec![0.0; m * n]);
        gemm(m, k, n, a, b, &mut fused, n, false, Some((Some(&bias), act, slope)));
        gemm(m, k, n, a, b, &mut separate, n, false, None);
        activate(n, &mut separate, Some(&bias), act, slope);
        assert!(fused == separate);
    }

    #[test]
    fn any_thread_count_gives_the_same_bytes() {
        if is_missing() {
            return;
        }
        let mut numbers = Numbers::new(55);
        for (m, k, n) in [(150, 300, 100), (400, 20, 256), (129, 600, 130)] {
            assert!(packed_b_fits(k, n), "{k}×{n}");
            let (a, b, bias, before) =
                (numbers.vec(m * k), numbers.vec(k * n), numbers.vec(n), numbers.vec(m * n));
            for (a, b) in [
                (MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n)),
                (MatrixRef::column_major(&a, m), MatrixRef::row_major(&b, n)),
                (MatrixRef::row_major(&a, k), MatrixRef::column_major(&b, k)),
            ] {
                for (add, epilogue) in [(true, None), (false, Some((Some(&bias[..]), Act::Elu, 0.0)))] {
                    let (mut all, mut one) = (before.clone(), before.clone());
                    product(m, k, n, a, b, &mut all, add, epilogue);
                    gemm(m, k, n, a, b, &mut one, n, add, epilogue);
                    assert!(all == one, "{m}×{k}×{n}");
                }
            }
        }
    }

    #[test]
    fn a_row_does_not_depend_on_the_other_rows() {
        if is_missing() {
            return;
        }
        let mut numbers = Numbers::new(53);
        let (m, k, n) = (333, 530, 70);
        let (a, b) = (numbers.vec(m * k), numbers.vec(k * n));
        let (a, b) = (MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n));
        let mut whole = vec![0.0; m * n];
        gemm(m, k, n, a, b, &mut whole, n, false, None);
        for (first, count) in [(0, 64), (100, 97), (333 - 65, 65)] {
            let mut part = vec![0.0; count * n];
            gemm(count, k, n, a.offset(first, 0), b, &mut part, n, false, None);
            assert!(part == whole[first * n..(first + count) * n], "{count} rows from {first}");
        }
    }

    #[test]
    fn nan_and_infinity_give_nan_in_their_row_only() {
        if is_missing() {
            return;
        }
        let (m, k, n) = (64, 32, 32);
        let b = vec![1.0; k * n];
        for bad in
            [f32::NAN, -f32::NAN, f32::INFINITY, f32::from_bits(0xffff_ffff), f32::from_bits(0x7fff_ffff)]
        {
            let mut a = vec![1.0; m * k];
            a[5 * k + 3] = bad;
            let mut c = vec![0.0; m * n];
            gemm(m, k, n, MatrixRef::row_major(&a, k), MatrixRef::row_major(&b, n), &mut c, n, false, None);
            assert!(c[5 * n..6 * n].iter().all(|x| x.is_nan()), "{bad} in a row of A");
            assert!(c[..5 * n].iter().chain(&c[6 * n..]).all(|&x| x == 32.0), "and in no other");
        }
    }
}
