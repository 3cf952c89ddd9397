//! Dense products of row-major matrices: C = A·B with either factor stored transposed.
//!
//! Tasks are blocks of rows of C, or, where C is small and the inner size long, parts of the inner size whose
//! results are added in order; each is one call of the `gemm` crates' single-threaded product, or one of ours on
//! processors that have a matrix unit. Processors without FMA take plain loops.

use super::parallel::{CHUNK, Shared, chunk_rows, each};
use super::rowwise::{Act, activate};
use super::scratch;
use super::simd::{self, madd};
use crate::Real;
use gemm_common::Parallelism;

#[cfg(not(feature = "f64"))]
use gemm_f32::gemm::f32::get_gemm_fn;
#[cfg(feature = "f64")]
use gemm_f64::gemm::f64::get_gemm_fn;

/// C(m×n) = A(m×k) · B(k×n), added to C when `add` is set.
pub fn nn(m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
    assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n, "sizes of a product {m}×{k}×{n}");
    product(m, k, n, Factor::rows(a, k), Factor::rows(b, n), c, add, None);
}

/// C(m×n) = Aᵀ · B(k×n) with A stored k×m, added to C when `add` is set.
pub fn tn(m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
    assert!(a.len() == k * m && b.len() == k * n && c.len() == m * n, "sizes of a product {m}×{k}×{n}");
    product(m, k, n, Factor::columns(a, m), Factor::rows(b, n), c, add, None);
}

/// C(m×n) = A(m×k) · Bᵀ with B stored n×k, added to C when `add` is set.
pub fn nt(m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
    assert!(a.len() == m * k && b.len() == n * k && c.len() == m * n, "sizes of a product {m}×{k}×{n}");
    product(m, k, n, Factor::rows(a, k), Factor::columns(b, k), c, add, None);
}

/// C = act(A·B + bias): the tail is applied while a block of rows is still in the cache.
pub fn nn_bias_act(
    m: usize,
    k: usize,
    n: usize,
    a: &[Real],
    b: &[Real],
    c: &mut [Real],
    bias: Option<&[Real]>,
    act: Act,
    slope: Real,
) {
    assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n, "sizes of a product {m}×{k}×{n}");
    assert!(bias.is_none_or(|bias| bias.len() == n));
    product(m, k, n, Factor::rows(a, k), Factor::rows(b, n), c, false, Some((bias, act, slope)));
}

/// Products on the calling thread alone, for kernels whose own tasks run side by side.
pub(super) mod alone {
    use super::{Factor, ROWS, Real, block};

    /// [`nn`](super::nn) on this thread.
    pub(in super::super) fn nn(
        m: usize,
        k: usize,
        n: usize,
        a: &[Real],
        b: &[Real],
        c: &mut [Real],
        add: bool,
    ) {
        block(m, k, n, Factor::rows(a, k), Factor::rows(b, n), c, n, add);
    }

    /// [`tn`](super::tn) on this thread, some rows of C at a time: A is copied by columns, and so the copy is small.
    pub(in super::super) fn tn(
        m: usize,
        k: usize,
        n: usize,
        a: &[Real],
        b: &[Real],
        c: &mut [Real],
        add: bool,
    ) {
        for (at, c) in c.chunks_mut(ROWS * n).enumerate() {
            let a = Factor::columns(a, m).from(at * ROWS, 0);
            block(c.len() / n, k, n, a, Factor::rows(b, n), c, n, add);
        }
    }
}

/// A factor and how far apart its rows and its columns lie.
#[derive(Clone, Copy)]
pub(super) struct Factor<'a> {
    pub(super) data: &'a [Real],
    pub(super) row: usize,
    pub(super) column: usize,
}

impl<'a> Factor<'a> {
    /// Stored by rows of this length.
    pub(super) fn rows(data: &'a [Real], length: usize) -> Self {
        Factor { data, row: length, column: 1 }
    }

    /// Stored by columns of this length.
    pub(super) fn columns(data: &'a [Real], length: usize) -> Self {
        Factor { data, row: 1, column: length }
    }

    /// The same without its first rows and columns.
    pub(super) fn from(self, rows: usize, columns: usize) -> Self {
        Factor { data: &self.data[rows * self.row + columns * self.column..], ..self }
    }

    /// Whether so many rows and columns are there.
    pub(super) fn holds(self, rows: usize, columns: usize) -> bool {
        rows == 0 || columns == 0 || (rows - 1) * self.row + (columns - 1) * self.column < self.data.len()
    }
}

/// Rows of a task: the factors are packed for each, so fewer rows would cost more than they balance.
const ROWS: usize = 512;
/// Products of less work than this stay on one thread.
const SMALL: usize = 1 << 19;

/// What follows a product in each row: bias, function and slope.
pub(super) type GemmEpilogue<'a> = (Option<&'a [Real]>, Act, Real);

fn product(
    m: usize,
    k: usize,
    n: usize,
    a: Factor<'_>,
    b: Factor<'_>,
    c: &mut [Real],
    add: bool,
    tail: Option<GemmEpilogue<'_>>,
) {
    if m == 0 || n == 0 {
        return;
    }
    let work = m * k * n;
    if work > SMALL && k >= 4 * m.max(n) && m * n <= ROWS * ROWS && tail.is_none() {
        return by_inner_parts(m, k, n, a, b, c, add);
    }
    if work > SMALL && m < 32 {
        return by_columns(m, k, n, a, b, c, add, tail);
    }
    if b.column != 1 && m > ROWS && m >= 2 * n && !simd::tiled() {
        // Every task would turn B round for itself.
        return scratch::with(k * n, |transposed: &mut [Real]| {
            transpose(n, k, b.data, transposed);
            product(m, k, n, a, Factor::rows(transposed, n), c, add, tail);
        });
    }
    #[cfg(all(target_arch = "x86_64", not(feature = "f64")))]
    if work > SMALL && on_unit(m, k, n) && super::amx::fits(k, n) {
        return super::amx::product(m, k, n, a, b, c, add, tail);
    }
    // An even number of equal tasks, so that two threads end together; none of them is left with a few rows, for which
    // the product would be summed in other pieces: a row's result does not depend on how many rows there are.
    let tasks = match () {
        _ if work <= SMALL => 1,
        // On the matrix unit a row's sums are the same in any company, so that the cut may follow the number of threads: each
        // task splits B for itself.
        _ if on_unit(ROWS, k, n) => (4 * rayon::current_num_threads()).min(m.div_ceil(128)),
        _ => m.div_ceil(ROWS).next_multiple_of(2).min(m),
    };
    let shared = Shared::new(c);
    each(tasks, |task| {
        let first = m * task / tasks;
        let count = m * (task + 1) / tasks - first;
        // SAFETY: tasks have their own rows.
        let c = unsafe { shared.part(first * n, count * n) };
        // The unit applies the tail itself, while rows are in the cache.
        #[cfg(all(target_arch = "x86_64", not(feature = "f64")))]
        if on_unit(count, k, n) {
            return super::amx::block(count, k, n, a.from(first, 0), b, c, n, add, tail);
        }
        block(count, k, n, a.from(first, 0), b, c, n, add);
        if let Some((bias, act, slope)) = tail {
            let step = chunk_rows(n) * n;
            c.chunks_mut(step).for_each(|rows| activate(n, rows, bias, act, slope));
        }
    });
}

/// out(cols×rows) = the transpose of x(rows×cols).
pub fn transpose(rows: usize, cols: usize, x: &[Real], out: &mut [Real]) {
    assert!(x.len() == rows * cols && out.len() == x.len(), "sizes of a transpose {rows}×{cols}");
    // Rows are read from end to end, as memory likes it, and written as columns of a few cache lines.
    const ROWS: usize = 64;
    let shared = Shared::new(out);
    each(rows.div_ceil(ROWS), |task| {
        let (first, count) = (task * ROWS, ROWS.min(rows - task * ROWS));
        for column in 0..cols {
            // SAFETY: tasks have their own columns of the result.
            let out = unsafe { shared.part(column * rows + first, count) };
            let x = x[first * cols + column..].iter().step_by(cols);
            out.iter_mut().zip(x).for_each(|(out, &x)| *out = x);
        }
    });
}

/// Few rows: tasks are strips of columns.
fn by_columns(
    m: usize,
    k: usize,
    n: usize,
    a: Factor<'_>,
    b: Factor<'_>,
    c: &mut [Real],
    add: bool,
    tail: Option<GemmEpilogue<'_>>,
) {
    const COLUMNS: usize = 64;
    scratch::with(n.div_ceil(COLUMNS) * m * COLUMNS, |strips: &mut [Real]| {
        let shared = Shared::new(strips);
        each(n.div_ceil(COLUMNS), |task| {
            let (first, count) = (task * COLUMNS, COLUMNS.min(n - task * COLUMNS));
            // SAFETY: tasks have their own strips.
            let strip = unsafe { shared.part(task * m * COLUMNS, m * count) };
            block(m, k, count, a, b.from(0, first), strip, count, false);
        });
        for (task, strip) in strips.chunks(m * COLUMNS).enumerate() {
            let (first, count) = (task * COLUMNS, COLUMNS.min(n - task * COLUMNS));
            for (c, strip) in c.chunks_exact_mut(n).zip(strip[..m * count].chunks_exact(count)) {
                let c = &mut c[first..first + count];
                c.iter_mut().zip(strip).for_each(|(c, &s)| *c = s + if add { *c } else { 0.0 });
            }
        }
    });
    if let Some((bias, act, slope)) = tail {
        activate(n, c, bias, act, slope);
    }
}

/// A small result of a long sum: tasks are parts of the sum.
fn by_inner_parts(m: usize, k: usize, n: usize, a: Factor<'_>, b: Factor<'_>, c: &mut [Real], add: bool) {
    let parts = (k / 2048).next_multiple_of(2).clamp(2, 8);
    let step = k.div_ceil(parts);
    scratch::with(parts * m * n, |sums: &mut [Real]| {
        let shared = Shared::new(sums);
        each(parts, |part| {
            let (first, count) = (part * step, step.min(k - part * step));
            // SAFETY: tasks have their own sums.
            let sums = unsafe { shared.part(part * m * n, m * n) };
            block(m, count, n, a.from(0, first), b.from(first, 0), sums, n, false);
        });
        let sums = &*sums;
        let shared = Shared::new(c);
        each((m * n).div_ceil(CHUNK), |chunk| {
            let (from, len) = (chunk * CHUNK, CHUNK.min(m * n - chunk * CHUNK));
            // SAFETY: chunks do not overlap.
            let c = unsafe { shared.part(from, len) };
            for part in 0..parts {
                add_sums(&sums[part * m * n + from..][..len], c, add || part > 0);
            }
        });
    });
}

simd! {
    fn add_sums[FMA](x: &[Real], c: &mut [Real], add: bool) {
        if add {
            c.iter_mut().zip(x).for_each(|(c, &x)| *c += x);
        } else {
            c.copy_from_slice(x);
        }
    }
}

/// Whether a product goes to the matrix unit.
fn on_unit(m: usize, k: usize, n: usize) -> bool {
    #[cfg(all(target_arch = "x86_64", not(feature = "f64")))]
    return simd::tiled() && super::amx::worthwhile(m, k, n);
    #[cfg(not(all(target_arch = "x86_64", not(feature = "f64"))))]
    {
        let _ = (m, k, n);
        false
    }
}

/// One product on this thread; rows of C are `stride` apart.
fn block(
    m: usize,
    k: usize,
    n: usize,
    a: Factor<'_>,
    b: Factor<'_>,
    c: &mut [Real],
    stride: usize,
    add: bool,
) {
    if m == 0 || n == 0 {
        return;
    }
    if cfg!(target_arch = "x86_64") && !simd::wide() {
        return plain(m, k, n, a, b, c, stride, add);
    }
    #[cfg(all(target_arch = "x86_64", not(feature = "f64")))]
    if on_unit(m, k, n) {
        return super::amx::block(m, k, n, a, b, c, stride, add, None);
    }
    assert!(
        a.holds(m, k) && b.holds(k, n) && c.len() >= (m - 1) * stride + n,
        "factors as long as their sizes say"
    );
    // The crate prefers results by columns: it is given Cᵀ = Bᵀ·Aᵀ.
    // SAFETY: the three slices hold all that the sizes and strides reach, as just checked.
    unsafe {
        get_gemm_fn()(
            n,
            m,
            k,
            c.as_mut_ptr(),
            stride as isize,
            1,
            add,
            b.data.as_ptr(),
            b.row as isize,
            b.column as isize,
            a.data.as_ptr(),
            a.row as isize,
            a.column as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// The product in plain loops: four rows at a time, so that a row of B is read once for all of them.
fn plain(
    m: usize,
    k: usize,
    n: usize,
    a: Factor<'_>,
    b: Factor<'_>,
    c: &mut [Real],
    stride: usize,
    add: bool,
) {
    for first in (0..m).step_by(4) {
        let rows = 4.min(m - first);
        for i in first..first + rows {
            if !add {
                c[i * stride..i * stride + n].fill(0.0);
            }
        }
        for p in 0..k {
            for i in first..first + rows {
                let x = a.data[i * a.row + p * a.column];
                let c = &mut c[i * stride..i * stride + n];
                if b.column == 1 {
                    let b = &b.data[p * b.row..p * b.row + n];
                    c.iter_mut().zip(b).for_each(|(c, &b)| *c = madd::<false>(x, b, *c));
                } else {
                    let b = b.data[p * b.row..].iter().step_by(b.column);
                    c.iter_mut().zip(b).for_each(|(c, &b)| *c += x * b);
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::super::testing::*;
    use super::*;

    fn twin(
        m: usize,
        k: usize,
        n: usize,
        a: impl Fn(usize, usize) -> Real,
        b: impl Fn(usize, usize) -> Real,
    ) -> Vec<Real> {
        let cell = |i, j| (0..k).map(|p| f64::from(a(i, p)) * f64::from(b(p, j))).sum::<f64>() as Real;
        (0..m * n).map(|at| cell(at / n, at % n)).collect()
    }

    #[test]
    fn the_three_forms_equal_the_definition() {
        let mut numbers = Numbers::new(3);
        for (m, k, n) in [
            (1, 1, 1),
            (5, 3, 7),
            (0, 4, 3),
            (4, 0, 3),
            (33, 65, 17),
            (129, 40, 257),
            (70, 9001, 30),
            (1, 5000, 150),
            (1030, 33, 40),
        ] {
            let (a, b) = (numbers.vec(m * k), numbers.vec(k * n));
            let start = numbers.vec(m * n);
            for add in [false, true] {
                let mut want = [
                    twin(m, k, n, |i, p| a[i * k + p], |p, j| b[p * n + j]),
                    twin(m, k, n, |i, p| a[p * m + i], |p, j| b[p * n + j]),
                    twin(m, k, n, |i, p| a[i * k + p], |p, j| b[j * k + p]),
                ];
                if add {
                    want.iter_mut().for_each(|w| w.iter_mut().zip(&start).for_each(|(w, s)| *w += s));
                }
                for (form, want) in [nn, tn, nt].into_iter().zip(&want) {
                    let mut c = start.clone();
                    form(m, k, n, &a, &b, &mut c, add);
                    assert_close(&c, want, 2e-5);
                }
            }
        }
    }

    #[test]
    fn plain_loops_equal_the_fast_ones() {
        let mut numbers = Numbers::new(29);
        let (m, k, n) = (37, 50, 41);
        let (a, b) = (numbers.vec(m * k), numbers.vec(k * n));
        for (fa, fb) in [
            (Factor::rows(&a, k), Factor::rows(&b, n)),
            (Factor::columns(&a, m), Factor::rows(&b, n)),
            (Factor::rows(&a, k), Factor::columns(&b, k)),
        ] {
            let (mut fast, mut slow) = (vec![1.0; m * n], vec![1.0; m * n]);
            block(m, k, n, fa, fb, &mut fast, n, true);
            plain(m, k, n, fa, fb, &mut slow, n, true);
            assert_close(&fast, &slow, 1e-5);
        }
    }

    #[test]
    fn transposing_moves_every_element() {
        let (rows, cols) = (37, 50);
        let x = Numbers::new(31).vec(rows * cols);
        let mut transposed = vec![0.0; rows * cols];
        transpose(rows, cols, &x, &mut transposed);
        assert!((0..rows * cols).all(|at| transposed[at % cols * rows + at / cols] == x[at]));
    }

    #[test]
    fn the_tail_is_bias_and_activation() {
        let mut numbers = Numbers::new(30);
        for (m, k, n) in [(700, 60, 50), (3, 2000, 200), (5, 6, 7)] {
            let (a, b, bias) = (numbers.vec(m * k), numbers.vec(k * n), numbers.vec(n));
            let (mut got, mut want) = (vec![0.0; m * n], vec![0.0; m * n]);
            nn_bias_act(m, k, n, &a, &b, &mut got, Some(&bias), Act::Prelu, 0.25);
            nn(m, k, n, &a, &b, &mut want, false);
            super::super::rowwise::bias_act_in_place(m, n, &mut want, Some(&bias), Act::Prelu, 0.25);
            assert_close(&got, &want, 1e-6);
        }
    }

    #[test]
    fn any_thread_count_gives_the_same_bytes() {
        let mut numbers = Numbers::new(4);
        for (m, k, n) in [(1301, 123, 130), (60, 9000, 70), (2, 3000, 300)] {
            let (a, b) = (numbers.vec(m * k), numbers.vec(k * n));
            for form in [nn, tn, nt] {
                assert_same_at_any_thread_count(|| {
                    let mut c = vec![0.0; m * n];
                    form(m, k, n, &a, &b, &mut c, false);
                    c
                });
            }
        }
    }
}
