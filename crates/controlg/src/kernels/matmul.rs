//! Dense products of row-major matrices: C = A·B with either factor stored transposed.

use super::parallel::chunk_rows;
use super::simd::{self, madd};
use crate::Real;
use gemm::Parallelism;
use rayon::prelude::*;

/// C(m×n) = A(m×k) · B(k×n), added to C when `add` is set.
pub fn nn(m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
    assert!(a.len() == m * k && b.len() == k * n && c.len() == m * n, "sizes of a product {m}×{k}×{n}");
    product(m, k, n, a, (k, 1), b, (n, 1), c, add);
}

/// C(m×n) = Aᵀ · B(k×n) with A stored k×m, added to C when `add` is set.
pub fn tn(m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
    assert!(a.len() == k * m && b.len() == k * n && c.len() == m * n, "sizes of a product {m}×{k}×{n}");
    product(m, k, n, a, (1, m), b, (n, 1), c, add);
}

/// C(m×n) = A(m×k) · Bᵀ with B stored n×k, added to C when `add` is set.
pub fn nt(m: usize, k: usize, n: usize, a: &[Real], b: &[Real], c: &mut [Real], add: bool) {
    assert!(a.len() == m * k && b.len() == n * k && c.len() == m * n, "sizes of a product {m}×{k}×{n}");
    product(m, k, n, a, (k, 1), b, (1, k), c, add);
}

/// The product with strides (of a row, of a column) for both factors.
fn product(
    m: usize,
    k: usize,
    n: usize,
    a: &[Real],
    ra: (usize, usize),
    b: &[Real],
    rb: (usize, usize),
    c: &mut [Real],
    add: bool,
) {
    if m == 0 || n == 0 {
        return;
    }
    if cfg!(target_arch = "x86_64") && !simd::wide() {
        return plain(m, k, n, a, ra, b, rb, c, add);
    }
    // SAFETY: the callers checked that the three slices hold what the sizes and strides reach.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n as isize,
            add,
            a.as_ptr(),
            ra.1 as isize,
            ra.0 as isize,
            b.as_ptr(),
            rb.1 as isize,
            rb.0 as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::Rayon(0),
        );
    }
}

/// The product in plain loops, for processors without FMA.
fn plain(
    m: usize,
    k: usize,
    n: usize,
    a: &[Real],
    ra: (usize, usize),
    b: &[Real],
    rb: (usize, usize),
    c: &mut [Real],
    add: bool,
) {
    let step = chunk_rows(n);
    debug_assert_eq!(c.len(), m * n);
    c.par_chunks_mut(step * n).enumerate().for_each(|(chunk, c)| {
        if !add {
            c.fill(0.0);
        }
        for p in 0..k {
            for (i, c) in c.chunks_exact_mut(n).enumerate() {
                let x = a[(chunk * step + i) * ra.0 + p * ra.1];
                if rb.1 == 1 {
                    let b = &b[p * rb.0..p * rb.0 + n];
                    c.iter_mut().zip(b).for_each(|(c, &b)| *c = madd::<false>(x, b, *c));
                } else {
                    c.iter_mut().enumerate().for_each(|(j, c)| *c += x * b[p * rb.0 + j * rb.1]);
                }
            }
        }
    });
}

#[cfg(test)]
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
        for (m, k, n) in
            [(1, 1, 1), (5, 3, 7), (0, 4, 3), (4, 0, 3), (33, 65, 17), (129, 40, 257), (70, 600, 30)]
        {
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
                    assert_close(&c, want, 1e-5);
                    let mut c = start.clone();
                    form(m, k, n, &a, &b, &mut c, add);
                    assert_close(&c, want, 1e-5);
                }
            }
        }
    }

    #[test]
    fn any_thread_count_gives_the_same_bytes() {
        let mut numbers = Numbers::new(4);
        let (m, k, n) = (301, 1023, 130);
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
