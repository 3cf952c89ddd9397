//! Batch normalization: each column is normalized by its mean and variance over all rows.

use super::activation::{Act, ActivationFn, with_activation};
use super::parallel::{SharedSlice, add_chunks, chunk_rows, each, sum_chunks};
use super::scratch;
use super::simd::madd;
use super::sums::{AddRow, sum_rows, sum_rows_of};
use crate::Real;

/// ε, added to the variance before the square root.
pub const EPS: f64 = 1e-5;

/// Mean and population variance of every column.
pub fn column_moments(rows: usize, cols: usize, x: &[Real], mean: &mut [Real], variance: &mut [Real]) {
    assert!(x.len() == rows * cols && mean.len() == cols && variance.len() == cols);
    if rows == 0 {
        mean.fill(0.0);
        return variance.fill(0.0);
    }
    let step = chunk_rows(cols);
    // One pass: sums of x − s and of (x − s)², with s the first row, which avoids cancellation for large means.
    let shift = &x[..cols];
    scratch::with(2 * cols, |total: &mut [f64]| {
        sum_chunks(rows.div_ceil(step), total, |chunk, partial| {
            let span = chunk * step * cols..rows.min((chunk + 1) * step) * cols;
            add_moments(cols, &x[span], shift, partial);
        });
        moments_of(rows, shift, total, mean, variance);
    });
}

fn moments_of(rows: usize, shift: &[Real], total: &[f64], mean: &mut [Real], variance: &mut [Real]) {
    let (cols, share) = (shift.len(), 1.0 / rows as f64);
    for j in 0..cols {
        let off = total[j] * share;
        mean[j] = (f64::from(shift[j]) + off) as Real;
        variance[j] = (total[cols + j] * share - off * off).max(0.0) as Real;
    }
}

/// [`column_moments`] of rows that arrive in blocks, with the same bytes. Every block but the last must hold a multiple of
/// [`Moments::step`] rows.
#[derive(Clone, Debug)]
pub struct Moments {
    rows: usize,
    shift: Vec<Real>,
    total: Vec<f64>,
}

impl Moments {
    /// The moments of no rows.
    pub fn new(cols: usize) -> Self {
        Moments { rows: 0, shift: vec![0.0; cols], total: vec![0.0; 2 * cols] }
    }

    /// Rows per chunk of the sums.
    pub fn step(cols: usize) -> usize {
        chunk_rows(cols)
    }

    /// Adds the next rows.
    pub fn add(&mut self, x: &[Real]) {
        let Moments { rows, shift, total } = self;
        let (cols, step) = (shift.len(), chunk_rows(shift.len()));
        assert!(rows.is_multiple_of(step), "whole chunks in all blocks but the last");
        if *rows == 0 && !x.is_empty() {
            shift.copy_from_slice(&x[..cols]);
        }
        let n = x.len() / cols.max(1);
        add_chunks(n.div_ceil(step), total, |chunk, partial| {
            add_moments(cols, &x[chunk * step * cols..n.min((chunk + 1) * step) * cols], shift, partial);
        });
        *rows += n;
    }

    /// Mean and 1/√(variance + ε) of every column.
    pub fn end(&self) -> (Vec<Real>, Vec<Real>) {
        let cols = self.shift.len();
        let (mut mean, mut variance, mut inv_std) = (vec![0.0; cols], vec![0.0; cols], vec![0.0; cols]);
        if self.rows > 0 {
            moments_of(self.rows, &self.shift, &self.total, &mut mean, &mut variance);
        }
        inverse_std(&variance, &mut inv_std);
        (mean, inv_std)
    }
}

/// 1/√(variance + ε) of every column.
pub fn inverse_std(variance: &[Real], inv_std: &mut [Real]) {
    inv_std.iter_mut().zip(variance).for_each(|(i, &v)| *i = (1.0 / (f64::from(v) + EPS).sqrt()) as Real);
}

/// out = act((x − mean)·inv_std·gamma + beta), with the mean and 1/√(variance + ε) of each column, which are returned in `mean`
/// and `inv_std`.
pub fn batch_norm(
    rows: usize,
    cols: usize,
    x: &[Real],
    gamma: &[Real],
    beta: &[Real],
    act: Act,
    slope: Real,
    out: &mut [Real],
    mean: &mut [Real],
    inv_std: &mut [Real],
) {
    scratch::with(cols, |variance: &mut [Real]| {
        column_moments(rows, cols, x, mean, variance);
        inverse_std(variance, inv_std);
    });
    batch_norm_apply(rows, cols, x, mean, inv_std, gamma, beta, act, slope, out);
}

/// [`batch_norm`] with given statistics.
pub fn batch_norm_apply(
    rows: usize,
    cols: usize,
    x: &[Real],
    mean: &[Real],
    inv_std: &[Real],
    gamma: &[Real],
    beta: &[Real],
    act: Act,
    slope: Real,
    out: &mut [Real],
) {
    assert!(x.len() == rows * cols && out.len() == rows * cols);
    assert!([mean, inv_std, gamma, beta].iter().all(|v| v.len() == cols));
    let step = chunk_rows(cols);
    let shared = SharedSlice::new(out);
    scratch::with(2 * cols, |line: &mut [Real]| {
        let (factor, shift) = line.split_at_mut(cols);
        for j in 0..cols {
            factor[j] = inv_std[j] * gamma[j];
            shift[j] = beta[j] - mean[j] * factor[j];
        }
        let (factor, shift) = (&*factor, &*shift);
        each(rows.div_ceil(step), |chunk| {
            let (from, to) = (chunk * step * cols, rows.min((chunk + 1) * step) * cols);
            // SAFETY: different chunks contain different rows.
            let out = unsafe { shared.slice(from, to - from) };
            apply_rows(cols, &x[from..to], factor, shift, act, slope, out);
        });
    });
}

/// The backward pass of [`batch_norm`], through the statistics: turns the gradient of the output into that of x, in place, and adds
/// to `dgamma`, `dbeta` and `dslope`.
pub fn batch_norm_backward(
    rows: usize,
    cols: usize,
    x: &[Real],
    mean: &[Real],
    inv_std: &[Real],
    gamma: &[Real],
    beta: &[Real],
    act: Act,
    slope: Real,
    gradient: &mut [Real],
    dgamma: &mut [Real],
    dbeta: &mut [Real],
    dslope: Option<&mut Real>,
) {
    assert!(x.len() == rows * cols && gradient.len() == x.len());
    assert!([mean, inv_std, gamma, beta].iter().all(|v| v.len() == cols));
    let step = chunk_rows(cols);
    let columns = ColumnParams { mean, inv_std, gamma, beta, act, slope };
    // First pass: column sums of dy, of dy·x̂ and of the terms of the slope. Second pass: dx. Both compute dy = dout ⊙ act′, which
    // costs less than writing it.
    scratch::with(3 * cols, |total: &mut [f64]| {
        let dout = &*gradient;
        sum_chunks(rows.div_ceil(step), total, |chunk, partial| {
            let (from, to) = (chunk * step * cols, rows.min((chunk + 1) * step) * cols);
            norm_backward_sums(&x[from..to], columns, &dout[from..to], partial);
        });
        if let Some(dslope) = dslope {
            *dslope += total[2 * cols..].iter().sum::<f64>() as Real;
        }
        let share = 1.0 / rows.max(1) as f64;
        scratch::with(3 * cols, |line: &mut [Real]| {
            let (factor, rest) = line.split_at_mut(cols);
            let (offset, along) = rest.split_at_mut(cols);
            for j in 0..cols {
                dbeta[j] += total[j] as Real;
                dgamma[j] += total[cols + j] as Real;
                // dx = γ·inv_std·(dy − mean(dy) − x̂·mean(dy·x̂)), as a linear function of dy and x.
                let (inverse, f) = (f64::from(inv_std[j]), f64::from(gamma[j]) * f64::from(inv_std[j]));
                let slope_in_x = -f * total[cols + j] * share * inverse;
                factor[j] = f as Real;
                along[j] = slope_in_x as Real;
                offset[j] = (-f * total[j] * share) as Real;
            }
            let (factor, offset, along) = (&*factor, &*offset, &*along);
            let shared = SharedSlice::new(gradient);
            each(rows.div_ceil(step), |chunk| {
                let (from, to) = (chunk * step * cols, rows.min((chunk + 1) * step) * cols);
                // SAFETY: different chunks contain different rows.
                let gradient = unsafe { shared.slice(from, to - from) };
                norm_backward_rows(&x[from..to], columns, [factor, offset, along], gradient);
            });
        });
    });
}

#[derive(Clone, Copy)]
struct ColumnParams<'a> {
    mean: &'a [Real],
    inv_std: &'a [Real],
    gamma: &'a [Real],
    beta: &'a [Real],
    act: Act,
    slope: Real,
}

simd! {
    fn add_moments[FMA](cols: usize, x: &[Real], shift: &[Real], partial: &mut [f64]) {
        sum_rows(x.len() / cols.max(1), cols, partial, |i, at, [sums, squares]| {
            let (x, shift) = (&x[i * cols + at..][..sums.len()], &shift[at..][..sums.len()]);
            for (((sum, square), &x), &shift) in sums.iter_mut().zip(squares).zip(x).zip(shift) {
                let off = x - shift;
                *sum += off;
                *square = madd::<FMA>(off, off, *square);
            }
        });
    }
}

simd! {
    with avx512
    fn apply_rows[FMA](
        cols: usize,
        x: &[Real],
        factor: &[Real],
        shift: &[Real],
        act: Act,
        slope: Real,
        out: &mut [Real],
    ) {
        with_activation!(act, slope, act_fn => {
            for (x, out) in x.chunks_exact(cols.max(1)).zip(out.chunks_exact_mut(cols.max(1))) {
                for (((o, &x), &factor), &shift) in out.iter_mut().zip(x).zip(factor).zip(shift) {
                    *o = act_fn.value::<FMA>(madd::<FMA>(x, factor, shift));
                }
            }
        });
    }
}

/// (dy, x̂, term of the slope) of one element, with dy = dout·act′.
#[inline(always)]
fn element<const FMA: bool>(
    act: impl ActivationFn,
    x: Real,
    (mean, inv_std): (Real, Real),
    (gamma, beta): (Real, Real),
    dout: Real,
) -> (Real, Real, Real) {
    let hat = (x - mean) * inv_std;
    let (along, of_slope) = act.derivative::<FMA>(madd::<FMA>(hat, gamma, beta));
    (dout * along, hat, dout * of_slope)
}

/// The first pass: the column sums of dy, of dy·x̂ and of the terms of the slope.
struct BackwardSums<'a, F, const FMA: bool> {
    act: F,
    x: &'a [Real],
    dout: &'a [Real],
    columns: ColumnParams<'a>,
}

impl<F: ActivationFn, const FMA: bool> AddRow<3> for BackwardSums<'_, F, FMA> {
    #[inline(always)]
    fn add(&mut self, i: usize, at: usize, [of_dy, of_dy_x, of_slope]: [&mut [Real]; 3]) {
        let ColumnParams { mean, inv_std, gamma, beta, .. } = self.columns;
        let (start, width) = (i * mean.len() + at, of_dy.len());
        let (x, dout) = (&self.x[start..][..width], &self.dout[start..][..width]);
        let (of_dy_x, of_slope) = (&mut of_dy_x[..width], &mut of_slope[..width]);
        let (mean, inv_std) = (&mean[at..][..width], &inv_std[at..][..width]);
        let (gamma, beta) = (&gamma[at..][..width], &beta[at..][..width]);
        for j in 0..width {
            let (dy, hat, slope) =
                element::<FMA>(self.act, x[j], (mean[j], inv_std[j]), (gamma[j], beta[j]), dout[j]);
            of_slope[j] += slope;
            of_dy[j] += dy;
            of_dy_x[j] = madd::<FMA>(dy, hat, of_dy_x[j]);
        }
    }
}

simd! {
    fn norm_backward_sums[FMA](x: &[Real], columns: ColumnParams<'_>, dout: &[Real], partial: &mut [f64]) {
        let (cols, act, slope) = (columns.mean.len(), columns.act, columns.slope);
        with_activation!(act, slope, act_fn => {
            let sums = BackwardSums::<_, FMA> { act: act_fn, x, dout, columns };
            sum_rows_of(x.len() / cols.max(1), cols, partial, sums);
        });
    }
}

simd! {
    /// The second pass: dx = dy·factor + offset + (x − mean)·along, in place of dout.
    fn norm_backward_rows[FMA](x: &[Real], columns: ColumnParams<'_>, linear: [&[Real]; 3], gradient: &mut [Real]) {
        let ColumnParams { mean, inv_std, gamma, beta, act, slope } = columns;
        let cols = mean.len();
        let (inv_std, gamma, beta) = (&inv_std[..cols], &gamma[..cols], &beta[..cols]);
        let [factor, offset, along] = linear.map(|line| &line[..cols]);
        with_activation!(act, slope, act_fn => {
            for (x, d) in x.chunks_exact(cols.max(1)).zip(gradient.chunks_exact_mut(cols.max(1))) {
                for j in 0..cols {
                    let (dy, ..) =
                        element::<FMA>(act_fn, x[j], (mean[j], inv_std[j]), (gamma[j], beta[j]), d[j]);
                    d[j] = madd::<FMA>(x[j] - mean[j], along[j], madd::<FMA>(dy, factor[j], offset[j]));
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn weighted(y: &[Real], w: &[Real]) -> f64 {
        y.iter().zip(w).map(|(&y, &w)| f64::from(y) * f64::from(w)).sum()
    }

    #[test]
    fn values_and_gradients_equal_the_definition() {
        let (rows, cols) = (40, 23);
        let mut numbers = Numbers::new(12);
        let x: Vec<Real> = numbers.vec(rows * cols).iter().map(|x| x * 2.0 + 0.3).collect();
        let (gamma, beta, weights) = (numbers.vec(cols), numbers.vec(cols), numbers.vec(rows * cols));
        let forward = |x: &[Real], gamma: &[Real], beta: &[Real], slope: Real| {
            let (mut y, mut mean, mut inv) = (vec![0.0; x.len()], vec![0.0; cols], vec![0.0; cols]);
            batch_norm(rows, cols, x, gamma, beta, Act::Prelu, slope, &mut y, &mut mean, &mut inv);
            (y, mean, inv)
        };
        let (y, mean, inv) = forward(&x, &gamma, &beta, 0.25);
        for j in 0..cols {
            let column: Vec<f64> = (0..rows).map(|i| f64::from(x[i * cols + j])).collect();
            let m = column.iter().sum::<f64>() / rows as f64;
            let v = column.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / rows as f64;
            for (i, x) in column.iter().enumerate() {
                let pre = (x - m) / (v + EPS).sqrt() * f64::from(gamma[j]) + f64::from(beta[j]);
                let want = if pre > 0.0 { pre } else { 0.25 * pre };
                assert!((f64::from(y[i * cols + j]) - want).abs() < 1e-5);
            }
        }
        let (mut dx, mut dgamma, mut dbeta, mut dslope) =
            (weights.clone(), vec![0.0; cols], vec![0.0; cols], 0.0);
        batch_norm_backward(
            rows,
            cols,
            &x,
            &mean,
            &inv,
            &gamma,
            &beta,
            Act::Prelu,
            0.25,
            &mut dx,
            &mut dgamma,
            &mut dbeta,
            Some(&mut dslope),
        );
        assert_gradient(&[0.25], &[dslope], |s| weighted(&forward(&x, &gamma, &beta, s[0]).0, &weights));
        if cfg!(feature = "f64") {
            // The large steps that f32 needs would cross the kink of the activation.
            assert_gradient(&gamma, &dgamma, |g| weighted(&forward(&x, g, &beta, 0.25).0, &weights));
            assert_gradient(&beta, &dbeta, |b| weighted(&forward(&x, &gamma, b, 0.25).0, &weights));
            assert_gradient(&x, &dx, |x| weighted(&forward(x, &gamma, &beta, 0.25).0, &weights));
        }
    }

    #[test]
    fn any_thread_count_gives_the_same_bytes() {
        let (rows, cols) = (2500, 33);
        let mut numbers = Numbers::new(14);
        let (x, d) = (numbers.vec(rows * cols), numbers.vec(rows * cols));
        let (gamma, beta) = (numbers.vec(cols), numbers.vec(cols));
        assert_same_at_any_thread_count(|| {
            let (mut y, mut mean, mut inv) = (vec![0.0; x.len()], vec![0.0; cols], vec![0.0; cols]);
            batch_norm(rows, cols, &x, &gamma, &beta, Act::Relu, 0.0, &mut y, &mut mean, &mut inv);
            let (mut dx, mut dg, mut db) = (d.clone(), vec![0.0; cols], vec![0.0; cols]);
            batch_norm_backward(
                rows,
                cols,
                &x,
                &mean,
                &inv,
                &gamma,
                &beta,
                Act::Relu,
                0.0,
                &mut dx,
                &mut dg,
                &mut db,
                None,
            );
            [y, mean, inv, dx, dg, db].concat()
        });
    }
}
