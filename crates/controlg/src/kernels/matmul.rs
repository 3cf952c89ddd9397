//! Dense products of row-major matrices: C = A·B, where either factor may be stored transposed.
//!
//! The work is split by rows of C; by columns if there are few rows; or, if C is small and the inner dimension is long, by the
//! inner dimension (split-K), with the partial products added in order. Each task is one single-threaded product (`gemm.rs`).

use super::gemm::{MatrixRef, gemm, is_packed};
use super::parallel::{CHUNK, SharedSlice, chunk_rows, each};
use super::precision::Precision;
use super::rowwise::{Act, activate};
use super::scratch;
use crate::Real;

/// C (m × n) = A (m × k) · B (k × n). With `add`, the product is added to C.
pub fn nn(m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
    Precision::Full.nn(m, k, n, a, b, c, add);
}

/// C (m × n) = Aᵀ · B (k × n), with A stored as k × m. With `add`, the product is added to C.
pub fn tn(m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
    Precision::Full.tn(m, k, n, a, b, c, add);
}

/// C (m × n) = A (m × k) · Bᵀ, with B stored as n × k. With `add`, the product is added to C.
pub fn nt(m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
    Precision::Full.nt(m, k, n, a, b, c, add);
}

/// C = act(A·B + bias). The epilogue runs while a block of rows is still in the cache.
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
    Precision::Full.nn_bias_act(m, k, n, a, b, c, bias, act, slope);
}

/// Products of factors of this precision.
impl Precision {
    /// `nn` with factors of this precision.
    pub fn nn(self, m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
        assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n, "shapes of a product {m}×{k}×{n}");
        product(self, m, k, n, MatrixRef::row_major(a, k), MatrixRef::row_major(b, n), c, add, None);
    }

    /// `tn` with factors of this precision.
    pub fn tn(self, m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
        assert!(a.len() == k * m && b.len() == k * n && c.len() == m * n, "shapes of a product {m}×{k}×{n}");
        product(self, m, k, n, MatrixRef::column_major(a, m), MatrixRef::row_major(b, n), c, add, None);
    }

    /// `nt` with factors of this precision.
    pub fn nt(self, m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
        assert!(a.len() == m * k && b.len() == n * k && c.len() == m * n, "shapes of a product {m}×{k}×{n}");
        product(self, m, k, n, MatrixRef::row_major(a, k), MatrixRef::column_major(b, k), c, add, None);
    }

    /// `nn_bias_act` with factors of this precision.
    pub fn nn_bias_act(
        self,
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
        assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n, "shapes of a product {m}×{k}×{n}");
        assert!(bias.is_none_or(|bias| bias.len() == n));
        let (a, b) = (MatrixRef::row_major(a, k), MatrixRef::row_major(b, n));
        product(self, m, k, n, a, b, c, false, Some((bias, act, slope)));
    }
}

/// Rows per task. Every task packs the factors again, so smaller tasks would cost more than better balance gains.
pub(super) const ROWS: usize = 512;
/// Products with fewer multiply-adds stay on one thread.
const SMALL: usize = 1 << 19;

/// What is applied to each row of a product: bias, activation and slope.
pub(super) type GemmEpilogue<'a> = (Option<&'a [Real]>, Act, Real);

fn product(
    precision: Precision,
    m: usize,
    k: usize,
    n: usize,
    a: MatrixRef<'_>,
    b: MatrixRef<'_>,
    c: &mut [Real],
    add: bool,
    epilogue: Option<GemmEpilogue<'_>>,
) {
    if m == 0 || n == 0 {
        return;
    }
    let work = m * k * n;
    if work > SMALL && k >= 4 * m.max(n) && m * n <= ROWS * ROWS && epilogue.is_none() {
        return split_inner(precision, m, k, n, a, b, c, add);
    }
    if work > SMALL && m < 32 {
        return split_columns(precision, m, k, n, a, b, c, add, epilogue);
    }
    if b.column_stride != 1 && m > ROWS && m >= 2 * n && !is_packed(precision, m, k, n) {
        // Transpose B once instead of in every task.
        return scratch::with(k * n, |transposed: &mut [Real]| {
            transpose(n, k, b.data, transposed);
            product(precision, m, k, n, a, MatrixRef::row_major(transposed, n), c, add, epilogue);
        });
    }
    #[cfg(all(target_arch = "x86_64", not(feature = "f64")))]
    if let Some(unit) = super::packed::unit(precision, m, k, n)
        && work > SMALL
        && super::packed::shares_b(unit, k, n)
    {
        return super::packed::product(unit, m, k, n, a, b, c, add, epilogue);
    }
    // An even number of equal tasks, so that two threads finish together. No task is left with only a few rows, which would
    // be summed in another order: the result of a row must not depend on the number of rows.
    let tasks = match () {
        _ if work <= SMALL => 1,
        // The result of a row of a packed product never depends on the other rows, so the split may follow the number of
        // threads. Few tasks are better, because each packs B.
        _ if is_packed(precision, ROWS, k, n) => (4 * rayon::current_num_threads()).min(m.div_ceil(128)),
        _ => m.div_ceil(ROWS).next_multiple_of(2).min(m),
    };
    let shared = SharedSlice::new(c);
    each(tasks, |task| {
        let first = m * task / tasks;
        let count = m * (task + 1) / tasks - first;
        // SAFETY: the row ranges of different tasks are disjoint.
        let c = unsafe { shared.slice(first * n, count * n) };
        // A packed product runs the epilogue itself, while rows are in the cache.
        #[cfg(all(target_arch = "x86_64", not(feature = "f64")))]
        if let Some(unit) = super::packed::unit(precision, count, k, n) {
            return super::packed::gemm(unit, count, k, n, a.offset(first, 0), b, c, n, add, epilogue);
        }
        gemm(precision, count, k, n, a.offset(first, 0), b, c, n, add);
        if let Some((bias, act, slope)) = epilogue {
            let step = chunk_rows(n) * n;
            c.chunks_mut(step).for_each(|rows| activate(n, rows, bias, act, slope));
        }
    });
}

/// out (cols × rows) = xᵀ for x (rows × cols).
pub fn transpose(rows: usize, cols: usize, x: &[Real], out: &mut [Real]) {
    assert!(x.len() == rows * cols && out.len() == x.len(), "shapes of a transpose {rows}×{cols}");
    // Rows are read sequentially; each task writes columns of a few cache lines.
    const ROWS: usize = 64;
    let shared = SharedSlice::new(out);
    each(rows.div_ceil(ROWS), |task| {
        let (first, count) = (task * ROWS, ROWS.min(rows - task * ROWS));
        for column in 0..cols {
            // SAFETY: different tasks write disjoint ranges of columns.
            let out = unsafe { shared.slice(column * rows + first, count) };
            let x = x[first * cols + column..].iter().step_by(cols);
            out.iter_mut().zip(x).for_each(|(out, &x)| *out = x);
        }
    });
}

/// For few rows: splits the columns of C.
fn split_columns(
    precision: Precision,
    m: usize,
    k: usize,
    n: usize,
    a: MatrixRef<'_>,
    b: MatrixRef<'_>,
    c: &mut [Real],
    add: bool,
    epilogue: Option<GemmEpilogue<'_>>,
) {
    const COLUMNS: usize = 64;
    scratch::with(n.div_ceil(COLUMNS) * m * COLUMNS, |panels: &mut [Real]| {
        let shared = SharedSlice::new(panels);
        each(n.div_ceil(COLUMNS), |task| {
            let (first, count) = (task * COLUMNS, COLUMNS.min(n - task * COLUMNS));
            // SAFETY: every task writes its own panel.
            let panel = unsafe { shared.slice(task * m * COLUMNS, m * count) };
            gemm(precision, m, k, count, a, b.offset(0, first), panel, count, false);
        });
        for (task, panel) in panels.chunks(m * COLUMNS).enumerate() {
            let (first, count) = (task * COLUMNS, COLUMNS.min(n - task * COLUMNS));
            for (c, panel) in c.chunks_exact_mut(n).zip(panel[..m * count].chunks_exact(count)) {
                let c = &mut c[first..first + count];
                c.iter_mut().zip(panel).for_each(|(c, &s)| *c = s + if add { *c } else { 0.0 });
            }
        }
    });
    if let Some((bias, act, slope)) = epilogue {
        activate(n, c, bias, act, slope);
    }
}

/// For a small C and a long inner dimension: splits the inner dimension and adds the partial products in order.
fn split_inner(
    precision: Precision,
    m: usize,
    k: usize,
    n: usize,
    a: MatrixRef<'_>,
    b: MatrixRef<'_>,
    c: &mut [Real],
    add: bool,
) {
    let parts = (k / 2048).next_multiple_of(2).clamp(2, 8);
    let step = k.div_ceil(parts);
    scratch::with(parts * m * n, |sums: &mut [Real]| {
        let shared = SharedSlice::new(sums);
        each(parts, |part| {
            let (first, count) = (part * step, step.min(k - part * step));
            // SAFETY: every task writes its own partial product.
            let sums = unsafe { shared.slice(part * m * n, m * n) };
            gemm(precision, m, count, n, a.offset(0, first), b.offset(first, 0), sums, n, false);
        });
        let sums = &*sums;
        let shared = SharedSlice::new(c);
        each((m * n).div_ceil(CHUNK), |chunk| {
            let (from, len) = (chunk * CHUNK, CHUNK.min(m * n - chunk * CHUNK));
            // SAFETY: chunks do not overlap.
            let c = unsafe { shared.slice(from, len) };
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

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::super::testing::*;
    use super::*;

    fn reference(
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
                    reference(m, k, n, |i, p| a[i * k + p], |p, j| b[p * n + j]),
                    reference(m, k, n, |i, p| a[p * m + i], |p, j| b[p * n + j]),
                    reference(m, k, n, |i, p| a[i * k + p], |p, j| b[j * k + p]),
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
    fn transposing_moves_every_element() {
        let (rows, cols) = (37, 50);
        let x = Numbers::new(31).vec(rows * cols);
        let mut transposed = vec![0.0; rows * cols];
        transpose(rows, cols, &x, &mut transposed);
        assert!((0..rows * cols).all(|at| transposed[at % cols * rows + at / cols] == x[at]));
    }

    #[test]
    fn the_epilogue_is_bias_and_activation() {
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
