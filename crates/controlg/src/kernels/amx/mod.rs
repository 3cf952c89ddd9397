//! Dense products on the processor's matrix unit (AMX, in Intel's server processors since 2023).
//!
//! The unit multiplies tiles of 16-bit numbers (bf16: the sign, the exponent and the first 8 bits of an f32) and sums
//! in f32, sixteen times as many a cycle as the vector units do. A number is split into three of these, x = x₁ + x₂ + x₃
//! with all 24 bits kept, and a product is the sum of the six products of parts that an f32 can tell:
//!
//! x·y ≈ x₁y₁ + (x₁y₂ + x₂y₁) + (x₂y₂ + x₁y₃ + x₃y₁),   what is left out is below 2⁻²⁵ of x·y.
//!
//! So results are as good as those of f32 arithmetic, which the tests hold them to, in half of its time and less.
//! Two things differ: infinities come out as NaN, and so do numbers within 2⁻⁸ of the largest; parts below the smallest
//! normal number, 10⁻³⁸, are zero.

mod pack;
mod unit;

pub(super) use unit::able;

use super::matmul::{Factor, GemmEpilogue};
use super::parallel::{Shared, each};
use super::rowwise::activate;
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
    m >= 2 * EDGE && k >= DEPTH / 2 && n >= EDGE / 2
}

/// Whether the parts of B are few enough to stay in an L2 cache as a whole: then they are made once for all threads.
pub(super) fn fits(k: usize, n: usize) -> bool {
    const BYTES: usize = 800 << 10;
    n <= COLUMNS && split(k, n) * size_of::<u16>() <= BYTES
}

/// C(m×n) = A·B on all threads, added to C when `add` is set, for a B that [`fits`], and then the tail. Bytes are those of
/// [`block`].
pub(super) fn product(
    m: usize,
    k: usize,
    n: usize,
    a: Factor<'_>,
    b: Factor<'_>,
    c: &mut [f32],
    add: bool,
    tail: Option<GemmEpilogue<'_>>,
) {
    assert!(a.holds(m, k) && b.holds(k, n) && c.len() >= m * n, "factors as long as their sizes say");
    let all = Stretch { first: 0, count: n };
    scratch::with(split(k, n), |packed_b: &mut [u16]| {
        let shared = Shared::new(packed_b);
        let strips = n.div_ceil(EDGE);
        each(strips * k.div_ceil(INNER), |task| {
            let p = Stretch::of(task / strips, INNER, k);
            let at = Stretch::of(task % strips, EDGE, n);
            let length = split(p.count, EDGE);
            // SAFETY: tasks have their own strips.
            let strip = unsafe { shared.part(split(p.first, n) + task % strips * length, length) };
            right(b.from(p.first, at.first), p.count, at.count, strip);
        });
        let packed_b = &*packed_b;
        let shared = Shared::new(c);
        each(m.div_ceil(ROWS), |task| {
            let i = Stretch::of(task, ROWS, m);
            // SAFETY: tasks have their own rows.
            let c = unsafe { shared.part(i.first * n, i.count * n) };
            let (unit, a) = (Unit::new(), a.from(i.first, 0));
            scratch::with(split(INNER, ROWS), |packed_a: &mut [u16]| {
                for p in tiled(k, INNER) {
                    let packed_b = &packed_b[split(p.first, n)..][..split(p.count, n)];
                    let tail = tail.filter(|_| p.first + p.count == k);
                    let c = PackedRows { c: &mut *c, stride: n, columns: all, add: add || p.first > 0, tail };
                    c.multiply(&unit, i.count, a.from(0, p.first), p.count, packed_a, packed_b);
                }
            });
        });
    });
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
    tail: Option<GemmEpilogue<'_>>,
) {
    assert!(
        a.holds(m, k) && b.holds(k, n) && c.len() >= (m - 1) * stride + n,
        "factors as long as their sizes say"
    );
    let unit = Unit::new();
    let (inner, columns) = (k.min(INNER), n.min(COLUMNS));
    scratch::with(split(inner, columns) + split(inner, ROWS), |packed: &mut [u16]| {
        let (packed_b, packed_a) = packed.split_at_mut(split(inner, columns));
        for (j, p) in tiled(n, COLUMNS).flat_map(|j| tiled(k, INNER).map(move |p| (j, p))) {
            let packed_b = &mut packed_b[..split(p.count, j.count)];
            for (strip, at) in packed_b.chunks_exact_mut(split(p.count, EDGE)).zip(tiled(j.count, EDGE)) {
                right(b.from(p.first, j.first + at.first), p.count, at.count, strip);
            }
            for i in tiled(m, ROWS) {
                let tail = tail.filter(|_| p.first + p.count == k);
                let c = &mut c[i.first * stride..];
                let c = PackedRows { c, stride, columns: j, add: add || p.first > 0, tail };
                c.multiply(&unit, i.count, a.from(i.first, p.first), p.count, packed_a, packed_b);
            }
        }
    });
}

/// Numbers that a factor of `inner` by `outer` is split into.
fn split(inner: usize, outer: usize) -> usize {
    inner.div_ceil(DEPTH) * STEP * outer.div_ceil(EDGE)
}

/// Some columns of some rows of C.
struct PackedRows<'a> {
    c: &'a mut [f32],
    stride: usize,
    columns: Stretch,
    add: bool,
    tail: Option<GemmEpilogue<'a>>,
}

impl PackedRows<'_> {
    /// C = A·B for a block of A, which is packed here, and one of B that is packed already; the tail is applied to rows that
    /// are still in the cache.
    fn multiply(
        self,
        unit: &Unit,
        rows: usize,
        a: Factor<'_>,
        inner: usize,
        packed_a: &mut [u16],
        packed_b: &[u16],
    ) {
        let PackedRows { c, stride, columns, add, tail } = self;
        let length = split(inner, EDGE);
        for (strip, at) in packed_a.chunks_exact_mut(length).zip(tiled(rows, EDGE)) {
            left(a.from(at.first, 0), at.count, inner, strip);
        }
        for (b_strip, right) in packed_b.chunks_exact(length).zip(tiled(columns.count, EDGE)) {
            for (a_strip, left) in packed_a.chunks_exact(length).zip(tiled(rows, EDGE)) {
                let c = &mut c[left.first * stride + columns.first + right.first..];
                unit.multiply(a_strip, b_strip, left.count, right.count, c, stride, add);
            }
        }
        if let Some((bias, act, slope)) = tail {
            let columns = columns.first..columns.first + columns.count;
            let bias = bias.map(|bias| &bias[columns.clone()]);
            for row in c.chunks_mut(stride).take(rows) {
                activate(columns.len(), &mut row[columns.clone()], bias, act, slope);
            }
        }
    }
}

/// A stretch of a size.
#[derive(Clone, Copy)]
struct Stretch {
    first: usize,
    count: usize,
}

impl Stretch {
    /// One of those that [`tiled`] gives.
    fn of(at: usize, step: usize, size: usize) -> Self {
        Stretch { first: at * step, count: step.min(size - at * step) }
    }
}

/// A size in stretches of `step`, the last as long as what is left.
fn tiled(size: usize, step: usize) -> impl Iterator<Item = Stretch> {
    (0..size.div_ceil(step)).map(move |at| Stretch::of(at, step, size))
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies are exact, and so are sums of ones
mod tests {
    use super::super::rowwise::Act;
    use super::super::testing::Numbers;
    use super::*;

    /// Tells, where it must, that the processor has no such unit.
    fn missing() -> bool {
        if !able() {
            eprintln!("skipped: this processor has no matrix unit, or the system does not lend it");
        }
        !able()
    }

    /// The worst error of a product among its cells, relative to Σ|a·b|, and that of f32 sums.
    fn errors(m: usize, k: usize, n: usize, a: Factor<'_>, b: Factor<'_>, c: &[f32]) -> [f64; 2] {
        let at = |f: Factor<'_>, row: usize, column: usize| f.data[row * f.row + column * f.column];
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
    fn products_in_all_forms_are_as_good_as_single_precision() {
        if missing() {
            return;
        }
        let mut numbers = Numbers::new(51);
        for (m, k, n) in
            [(64, 32, 16), (70, 40, 17), (131, 300, 33), (160, 256, 1060), (33, 700, 96), (5, 9, 3)]
        {
            // Numbers of one size, and numbers over ten decades.
            for decades in [1, 10] {
                let mut values = |len| -> Vec<f32> {
                    (0..len).map(|_| numbers.real() * 10f32.powi(numbers.below(decades) as i32 - 5)).collect()
                };
                let (a, b) = (values(m * k), values(k * n));
                for (a, b) in [
                    (Factor::rows(&a, k), Factor::rows(&b, n)),
                    (Factor::columns(&a, m), Factor::rows(&b, n)),
                    (Factor::rows(&a, k), Factor::columns(&b, k)),
                ] {
                    let mut c = vec![7.0; m * n];
                    block(m, k, n, a, b, &mut c, n, false, None);
                    let [ours, single] = errors(m, k, n, a, b, &c);
                    // Short sums have too few terms for a fair race: a unit in the last place there.
                    let bound = if k < 100 { f64::max(1.5 * single, 2.4e-7) } else { single };
                    assert!(ours <= bound, "{m}×{k}×{n}: {ours:e}, in single precision {single:e}");
                }
            }
        }
    }

    #[test]
    fn sums_go_on_from_what_is_there_and_leave_the_rest_of_a_row_alone() {
        if missing() {
            return;
        }
        let mut numbers = Numbers::new(52);
        let (m, k, n, stride) = (70, 300, 40, 50);
        let (a, b) = (numbers.vec(m * k), numbers.vec(k * n));
        let (a, b) = (Factor::rows(&a, k), Factor::rows(&b, n));
        let mut alone = vec![0.0; m * n];
        block(m, k, n, a, b, &mut alone, n, false, None);
        let mut c = vec![3.0; m * stride];
        block(m, k, n, a, b, &mut c, stride, true, None);
        for (row, alone) in c.chunks(stride).zip(alone.chunks(n)) {
            assert!(row[..n].iter().zip(alone).all(|(c, x)| (c - 3.0 - x).abs() < 1e-5));
            assert!(row[n..].iter().all(|&rest| rest == 3.0));
        }
    }

    #[test]
    fn a_tail_follows_the_whole_sum() {
        if missing() {
            return;
        }
        let mut numbers = Numbers::new(54);
        // More than one block each way.
        let (m, k, n) = (150, 300, 1060);
        let (a, b, bias) = (numbers.vec(m * k), numbers.vec(k * n), numbers.vec(n));
        let (a, b) = (Factor::rows(&a, k), Factor::rows(&b, n));
        let (act, slope) = (Act::Prelu, 0.25);
        let (mut at_once, mut after) = (vec![0.0; m * n], vec![0.0; m * n]);
        block(m, k, n, a, b, &mut at_once, n, false, Some((Some(&bias), act, slope)));
        block(m, k, n, a, b, &mut after, n, false, None);
        activate(n, &mut after, Some(&bias), act, slope);
        assert!(at_once == after);
    }

    #[test]
    fn all_threads_give_the_bytes_of_one() {
        if missing() {
            return;
        }
        let mut numbers = Numbers::new(55);
        for (m, k, n) in [(150, 300, 100), (400, 20, 256), (129, 600, 130)] {
            assert!(fits(k, n), "{k}×{n}");
            let (a, b, bias, before) =
                (numbers.vec(m * k), numbers.vec(k * n), numbers.vec(n), numbers.vec(m * n));
            for (a, b) in [
                (Factor::rows(&a, k), Factor::rows(&b, n)),
                (Factor::columns(&a, m), Factor::rows(&b, n)),
                (Factor::rows(&a, k), Factor::columns(&b, k)),
            ] {
                for (add, tail) in [(true, None), (false, Some((Some(&bias[..]), Act::Elu, 0.0)))] {
                    let (mut all, mut one) = (before.clone(), before.clone());
                    product(m, k, n, a, b, &mut all, add, tail);
                    block(m, k, n, a, b, &mut one, n, add, tail);
                    assert!(all == one, "{m}×{k}×{n}");
                }
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bytes_in_any_company() {
        if missing() {
            return;
        }
        let mut numbers = Numbers::new(53);
        let (m, k, n) = (333, 530, 70);
        let (a, b) = (numbers.vec(m * k), numbers.vec(k * n));
        let (a, b) = (Factor::rows(&a, k), Factor::rows(&b, n));
        let mut whole = vec![0.0; m * n];
        block(m, k, n, a, b, &mut whole, n, false, None);
        for (first, count) in [(0, 64), (100, 97), (333 - 65, 65)] {
            let mut part = vec![0.0; count * n];
            block(count, k, n, a.from(first, 0), b, &mut part, n, false, None);
            assert!(part == whole[first * n..(first + count) * n], "{count} rows from {first}");
        }
    }

    #[test]
    fn what_is_not_a_number_stays_so() {
        if missing() {
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
            block(m, k, n, Factor::rows(&a, k), Factor::rows(&b, n), &mut c, n, false, None);
            assert!(c[5 * n..6 * n].iter().all(|x| x.is_nan()), "{bad} in a row of A");
            assert!(c[..5 * n].iter().chain(&c[6 * n..]).all(|&x| x == 32.0), "and in no other");
        }
    }
}
