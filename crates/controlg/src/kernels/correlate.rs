//! Standardized columns and losses on their correlations: Barlow Twins and CCA-SSG.

use super::norm::column_moments;
use super::parallel::{SharedSlice, chunk_rows, each, sum_chunks};
use super::precision::Precision;
use super::simd::madd;
use super::sums::sum_rows;
use super::{reduce, rows as slices, scratch};
use crate::Real;

/// y = (x − mean) / (std + eps) for every column. Returns `std`, which divides by n, or by n − 1 with `sample`.
pub fn standardize(
    rows: usize,
    cols: usize,
    x: &[Real],
    sample: bool,
    eps: Real,
    y: &mut [Real],
    std: &mut [Real],
) {
    assert!(x.len() == rows * cols && y.len() == x.len() && std.len() == cols);
    let step = chunk_rows(cols);
    scratch::with(2 * cols, |line: &mut [Real]| {
        let (mean, inverse) = line.split_at_mut(cols);
        column_moments(rows, cols, x, mean, std);
        let correct = if sample { rows as f64 / (rows as f64 - 1.0).max(1.0) } else { 1.0 };
        for (s, inverse) in std.iter_mut().zip(inverse.iter_mut()) {
            *s = (f64::from(*s) * correct).sqrt() as Real;
            // Without eps, a constant column would be 0/0; it becomes zero instead.
            *inverse = if *s + eps > 0.0 { 1.0 / (*s + eps) } else { 0.0 };
        }
        let (mean, inverse, shared) = (&*mean, &*inverse, SharedSlice::new(y));
        each(rows.div_ceil(step), |chunk| {
            let (from, to) = (chunk * step * cols, rows.min((chunk + 1) * step) * cols);
            // SAFETY: different chunks contain different rows.
            let y = unsafe { shared.slice(from, to - from) };
            for (x, y) in x[from..to].chunks_exact(cols).zip(y.chunks_exact_mut(cols)) {
                (0..cols).for_each(|j| y[j] = (x[j] - mean[j]) * inverse[j]);
            }
        });
    });
}

/// The backward pass of [`standardize`] from its output, through mean and standard deviation.
pub fn standardize_backward(
    rows: usize,
    cols: usize,
    y: &[Real],
    std: &[Real],
    sample: bool,
    eps: Real,
    dy: &[Real],
    dx: &mut [Real],
) {
    assert!(y.len() == rows * cols && dy.len() == y.len() && dx.len() == y.len() && std.len() == cols);
    let step = chunk_rows(cols);
    let span = |chunk: usize| chunk * step * cols..rows.min((chunk + 1) * step) * cols;
    let share = 1.0 / rows.max(1) as f64;
    let share_std = if sample { 1.0 / (rows as f64 - 1.0).max(1.0) } else { share };
    scratch::with(2 * cols, |total: &mut [f64]| {
        sum_chunks(rows.div_ceil(step), total, |chunk, partial| {
            sum_both(cols, &y[span(chunk)], &dy[span(chunk)], partial)
        });
        scratch::with(3 * cols, |line: &mut [Real]| {
            let (factor, rest) = line.split_at_mut(cols);
            let (offset, along) = rest.split_at_mut(cols);
            for j in 0..cols {
                // d std / d x_i = (x_i − mean)/(n·std) = y_i (std + eps)/(n·std)
                let (s, full) = (f64::from(std[j]), f64::from(std[j] + eps));
                let inverse = if full > 0.0 { 1.0 / full } else { 0.0 };
                factor[j] = inverse as Real;
                offset[j] = (-total[j] * share * inverse) as Real;
                along[j] = if s > 0.0 { (-total[cols + j] * share_std / s) as Real } else { 0.0 };
            }
            let (factor, offset, along, shared) = (&*factor, &*offset, &*along, SharedSlice::new(dx));
            each(rows.div_ceil(step), |chunk| {
                let at = span(chunk);
                // SAFETY: different chunks contain different rows.
                let dx = unsafe { shared.slice(at.start, at.len()) };
                linear_rows(cols, &y[at.clone()], &dy[at], factor, offset, along, dx);
            });
        });
    });
}

simd! {
    fn sum_both[FMA](cols: usize, y: &[Real], dy: &[Real], partial: &mut [f64]) {
        sum_rows(y.len() / cols.max(1), cols, partial, |i, at, [of_dy, of_dy_y]| {
            let (y, dy) = (&y[i * cols + at..][..of_dy.len()], &dy[i * cols + at..][..of_dy.len()]);
            for (((of_dy, of_dy_y), &y), &dy) in of_dy.iter_mut().zip(of_dy_y).zip(y).zip(dy) {
                *of_dy += dy;
                *of_dy_y = madd::<FMA>(dy, y, *of_dy_y);
            }
        });
    }
}

simd! {
    fn linear_rows[FMA](cols: usize, y: &[Real], dy: &[Real], factor: &[Real], offset: &[Real], along: &[Real], dx: &mut [Real]) {
        let rows = y.chunks_exact(cols.max(1)).zip(dy.chunks_exact(cols.max(1)));
        for ((y, dy), dx) in rows.zip(dx.chunks_exact_mut(cols.max(1))) {
            for j in 0..cols {
                dx[j] = madd::<FMA>(y[j], along[j], madd::<FMA>(dy[j], factor[j], offset[j]));
            }
        }
    }
}

/// C = Y1ᵀ·Y2 / rows.
fn cross_correlation(
    precision: Precision,
    rows: usize,
    cols: usize,
    y1: &[Real],
    y2: &[Real],
    c: &mut [Real],
) {
    precision.tn(cols, rows, cols, y1, y2, c, false);
    slices::scale(1.0 / rows.max(1) as Real, c);
}

/// Σ_i (1 − C_ii)² + λ Σ_{i≠j} C_ij² with C = Y1ᵀY2/n; `dy1` and `dy2` receive the gradients.
/// `precision` is that of the dense products.
pub fn barlow(
    precision: Precision,
    rows: usize,
    cols: usize,
    y1: &[Real],
    y2: &[Real],
    lambda: f64,
    dy1: &mut [Real],
    dy2: &mut [Real],
) -> f64 {
    assert!([y1.len(), y2.len(), dy1.len(), dy2.len()] == [rows * cols; 4]);
    scratch::with(cols * cols, |c: &mut [Real]| {
        cross_correlation(precision, rows, cols, y1, y2, c);
        let share = 2.0 / rows.max(1) as f64;
        let mut value = 0.0;
        for (i, row) in c.chunks_exact_mut(cols.max(1)).enumerate() {
            for (j, c) in row.iter_mut().enumerate() {
                let (miss, weight) =
                    if i == j { (f64::from(*c) - 1.0, 1.0) } else { (f64::from(*c), lambda) };
                value += weight * miss * miss;
                *c = (share * weight * miss) as Real;
            }
        }
        precision.nt(rows, cols, cols, y2, c, dy1, false);
        precision.nn(rows, cols, cols, y1, c, dy2, false);
        value
    })
}

/// −Σ_i C_ii + λ (‖I − C₁‖² + ‖I − C₂‖²) with C = Y1ᵀY2/n and C_v = YvᵀYv/n; `dy1` and `dy2` receive the gradients.
/// `precision` is that of the dense products.
pub fn cca_ssg(
    precision: Precision,
    rows: usize,
    cols: usize,
    y1: &[Real],
    y2: &[Real],
    lambda: f64,
    dy1: &mut [Real],
    dy2: &mut [Real],
) -> f64 {
    assert!([y1.len(), y2.len(), dy1.len(), dy2.len()] == [rows * cols; 4]);
    let share = 1.0 / rows.max(1) as f64;
    let mut value = -reduce::dot(y1, y2) * share;
    scratch::with(cols * cols, |c: &mut [Real]| {
        for (y, other, dy) in [(y1, y2, dy1), (y2, y1, dy2)] {
            cross_correlation(precision, rows, cols, y, y, c);
            for (at, c) in c.iter_mut().enumerate() {
                let miss = f64::from(*c) - if at % (cols + 1) == 0 { 1.0 } else { 0.0 };
                value += lambda * miss * miss;
                *c = (4.0 * lambda * share * miss) as Real;
            }
            precision.nn(rows, cols, cols, y, c, dy, false);
            slices::axpy(-share as Real, other, dy);
        }
    });
    value
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn standardized_columns_and_their_gradient() {
        let (rows, cols) = (23, 6);
        let mut numbers = Numbers::new(20);
        let mut x = numbers.vec(rows * cols);
        (0..rows).for_each(|i| x[i * cols + 2] = 0.5);
        let weights = numbers.vec(rows * cols);
        for (sample, eps) in [(false, 1e-5), (true, 0.0), (false, 0.3)] {
            let forward = |x: &[Real]| {
                let (mut y, mut std) = (vec![0.0; x.len()], vec![0.0; cols]);
                standardize(rows, cols, x, sample, eps, &mut y, &mut std);
                (y, std)
            };
            let (y, std) = forward(&x);
            assert!((0..rows).all(|i| y[i * cols + 2] == 0.0), "a constant column is zero");
            let mut dx = vec![0.0; x.len()];
            standardize_backward(rows, cols, &y, &std, sample, eps, &weights, &mut dx);
            // A constant column has no useful derivative, so it is excluded.
            let spot = |v: &[Real]| (0..v.len()).filter(|i| i % cols != 2).map(|i| v[i]).collect::<Vec<_>>();
            assert_gradient(&spot(&x), &spot(&dx), |some| {
                let mut all = x.clone();
                (0..all.len()).filter(|i| i % cols != 2).zip(some).for_each(|(i, &s)| all[i] = s);
                forward(&all).0.iter().zip(&weights).map(|(&y, &w)| f64::from(y) * f64::from(w)).sum()
            });
        }
    }

    #[test]
    fn losses_have_the_defined_values_and_gradients() {
        let (rows, cols) = (31, 5);
        let mut numbers = Numbers::new(21);
        let (y1, y2) = (numbers.vec(rows * cols), numbers.vec(rows * cols));
        let cell = |a: &[Real], b: &[Real], i: usize, j: usize| {
            (0..rows).map(|r| f64::from(a[r * cols + i]) * f64::from(b[r * cols + j])).sum::<f64>()
                / rows as f64
        };
        let eye = |i, j| if i == j { 1.0 } else { 0.0 };
        let all = || (0..cols).flat_map(|i| (0..cols).map(move |j| (i, j)));
        let barlow_reference = |a: &[Real], b: &[Real]| -> f64 {
            all().map(|(i, j)| (cell(a, b, i, j) - eye(i, j)).powi(2) * if i == j { 1.0 } else { 0.01 }).sum()
        };
        let cca_reference = |a: &[Real], b: &[Real]| -> f64 {
            let off = |y: &[Real]| all().map(|(i, j)| (cell(y, y, i, j) - eye(i, j)).powi(2)).sum::<f64>();
            0.1 * (off(a) + off(b)) - (0..cols).map(|i| cell(a, b, i, i)).sum::<f64>()
        };
        let (mut d1, mut d2) = (vec![0.0; y1.len()], vec![0.0; y1.len()]);
        let value = barlow(Precision::Full, rows, cols, &y1, &y2, 0.01, &mut d1, &mut d2);
        assert!((value - barlow_reference(&y1, &y2)).abs() < 1e-5);
        assert_gradient(&y1, &d1, |y| barlow_reference(y, &y2));
        assert_gradient(&y2, &d2, |y| barlow_reference(&y1, y));
        let value = cca_ssg(Precision::Full, rows, cols, &y1, &y2, 0.1, &mut d1, &mut d2);
        assert!((value - cca_reference(&y1, &y2)).abs() < 1e-5);
        assert_gradient(&y1, &d1, |y| cca_reference(y, &y2));
        assert_gradient(&y2, &d2, |y| cca_reference(&y1, y));
    }
}
