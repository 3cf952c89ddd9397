//! Reductions over slices: sums, dot products, maximum, finiteness. Sums are accumulated in f64.

use super::parallel::{CHUNK, chunk_rows, each, sum_chunks};
use super::scratch;
use super::sums::sum_rows;
use crate::Real;
use std::sync::atomic::{AtomicBool, Ordering};

/// `out[j] = Σ_i x[i][j]`. With `add`, the sums are added to `out`.
pub fn column_sums(rows: usize, cols: usize, x: &[Real], out: &mut [Real], add: bool) {
    assert!(x.len() == rows * cols && out.len() == cols);
    let step = chunk_rows(cols);
    scratch::with(cols, |total: &mut [f64]| {
        sum_chunks(rows.div_ceil(step), total, |chunk, partial| {
            let first = chunk * step;
            add_rows(cols, &x[first * cols..rows.min(first + step) * cols], partial);
        });
        for (o, &t) in out.iter_mut().zip(total.iter()) {
            *o = t as Real + if add { *o } else { 0.0 };
        }
    });
}

/// `Σ x·y`.
pub fn dot(x: &[Real], y: &[Real]) -> f64 {
    assert_eq!(x.len(), y.len());
    sum_of(x.len(), |from, to| dot_chunk(&x[from..to], &y[from..to]))
}

/// The Gram matrix of several slices (all pairwise inner products), in one pass.
pub fn gram(xs: &[Vec<Real>]) -> Vec<Vec<f64>> {
    let (k, n) = (xs.len(), xs.first().map_or(0, Vec::len));
    assert!(xs.iter().all(|x| x.len() == n));
    let pairs: Vec<(usize, usize)> = (0..k).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
    let mut total = vec![0.0; pairs.len()];
    sum_chunks(n.div_ceil(CHUNK), &mut total, |chunk, partial| {
        let span = chunk * CHUNK..n.min((chunk + 1) * CHUNK);
        for (sum, &(a, b)) in partial.iter_mut().zip(&pairs) {
            *sum = dot_chunk(&xs[a][span.clone()], &xs[b][span.clone()]);
        }
    });
    let mut products = vec![vec![0.0; k]; k];
    for (&(a, b), &sum) in pairs.iter().zip(&total) {
        (products[a][b], products[b][a]) = (sum, sum);
    }
    products
}

/// `Σ x²`.
pub fn sum_squares(x: &[Real]) -> f64 {
    dot(x, x)
}

/// `Σ x`.
pub fn sum(x: &[Real]) -> f64 {
    sum_of(x.len(), |from, to| sum_chunk(&x[from..to]))
}

/// The largest absolute value; 0 for an empty slice. NaN is ignored: see [`all_finite`].
pub fn max_abs(x: &[Real]) -> Real {
    x.chunks(CHUNK).map(max_abs_chunk).fold(0.0, Real::max)
}

/// Whether all numbers are finite.
pub fn all_finite(x: &[Real]) -> bool {
    let all = AtomicBool::new(true);
    each(x.len().div_ceil(CHUNK), |chunk| {
        if all.load(Ordering::Relaxed)
            && !all_finite_chunk(&x[chunk * CHUNK..x.len().min((chunk + 1) * CHUNK)])
        {
            all.store(false, Ordering::Relaxed);
        }
    });
    all.into_inner()
}

fn sum_of(n: usize, part: impl Fn(usize, usize) -> f64 + Sync + Send) -> f64 {
    let mut total = [0.0];
    sum_chunks(n.div_ceil(CHUNK), &mut total, |chunk, partial| {
        partial[0] = part(chunk * CHUNK, n.min((chunk + 1) * CHUNK));
    });
    total[0]
}

simd! {
    fn add_rows[FMA](cols: usize, x: &[Real], partial: &mut [f64]) {
        sum_rows(x.len() / cols.max(1), cols, partial, |i, at, [sums]| {
            let x = &x[i * cols + at..][..sums.len()];
            sums.iter_mut().zip(x).for_each(|(sum, &x)| *sum += x);
        });
    }
}

simd! {
    fn dot_chunk[FMA](x: &[Real], y: &[Real]) -> f64 {
        let mut lanes = [0.0f64; 16];
        let (xs, ys) = (x.chunks_exact(16), y.chunks_exact(16));
        let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
        for (x, y) in xs.zip(ys) {
            for i in 0..16 {
                lanes[i] += f64::from(x[i]) * f64::from(y[i]);
            }
        }
        lanes.iter().sum::<f64>() + rest
    }
}

simd! {
    fn sum_chunk[FMA](x: &[Real]) -> f64 {
        let mut lanes = [0.0f64; 16];
        let xs = x.chunks_exact(16);
        let rest: f64 = xs.remainder().iter().map(|&x| f64::from(x)).sum();
        for x in xs {
            for i in 0..16 {
                lanes[i] += f64::from(x[i]);
            }
        }
        lanes.iter().sum::<f64>() + rest
    }
}

simd! {
    fn max_abs_chunk[FMA](x: &[Real]) -> Real {
        let mut lanes = [0.0; 32];
        let xs = x.chunks_exact(32);
        let rest = xs.remainder().iter().fold(0.0, |m: Real, x| m.max(x.abs()));
        for x in xs {
            for i in 0..32 {
                let size = x[i].abs();
                lanes[i] = if size > lanes[i] { size } else { lanes[i] };
            }
        }
        lanes.iter().fold(rest, |m, &x| m.max(x))
    }
}

simd! {
    fn all_finite_chunk[FMA](x: &[Real]) -> bool {
        // 0·x is 0 for finite x, else NaN. A sum vectorizes, an early return would not.
        let mut lanes = [0.0; 32];
        let xs = x.chunks_exact(32);
        let rest = xs.remainder().iter().all(|x| x.is_finite());
        for x in xs {
            for i in 0..32 {
                lanes[i] += x[i] * 0.0;
            }
        }
        rest && lanes.iter().all(|x| x.is_finite())
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn reductions_equal_their_loops_at_any_thread_count() {
        let (rows, cols) = (1003, 37);
        let mut numbers = Numbers::new(2);
        let (x, y) = (numbers.vec(rows * cols), numbers.vec(rows * cols));
        let mut want = vec![0.0f64; cols];
        x.chunks(cols).for_each(|row| want.iter_mut().zip(row).for_each(|(w, &x)| *w += f64::from(x)));
        let mut sums = vec![1.0; cols];
        column_sums(rows, cols, &x, &mut sums, true);
        assert_close(&sums, &want.iter().map(|&w| (w + 1.0) as Real).collect::<Vec<_>>(), 1e-6);
        let plain: f64 = x.iter().zip(&y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
        assert!((dot(&x, &y) - plain).abs() < 1e-9 * plain.abs().max(1.0));
        assert!((sum(&x) - want.iter().sum::<f64>()).abs() < 1e-9);
        assert_eq!(max_abs(&x), x.iter().fold(0.0, |m: Real, x| m.max(x.abs())));
        assert_same_at_any_thread_count(|| {
            let mut sums = vec![0.0; cols];
            column_sums(rows, cols, &x, &mut sums, false);
            sums.extend([dot(&x, &y) as Real, sum(&x) as Real]);
            sums
        });
    }

    #[test]
    fn a_gram_matrix_holds_the_dots() {
        let mut numbers = Numbers::new(4);
        let xs: Vec<Vec<Real>> = (0..3).map(|_| numbers.vec(2 * CHUNK + 11)).collect();
        let products = gram(&xs);
        for a in 0..3 {
            for b in 0..3 {
                assert_eq!(products[a][b], dot(&xs[a], &xs[b]));
            }
        }
        assert!(gram(&[]).is_empty());
    }

    #[test]
    fn one_bad_number_is_found() {
        let mut x = vec![1.0; 3 * CHUNK + 5];
        assert!(all_finite(&x) && all_finite(&[]));
        for at in [0, CHUNK + 3, 3 * CHUNK + 4] {
            for bad in [Real::NAN, Real::INFINITY] {
                let kept = std::mem::replace(&mut x[at], bad);
                assert!(!all_finite(&x), "{bad} at {at}");
                x[at] = kept;
            }
        }
    }
}
