//! Layer normalization: each row is normalized by its own mean and variance.

use super::norm::EPS;
use super::parallel::{SharedSlice, chunk_rows, each, sum_chunks};
use super::rows::fold_lanes;
use super::rowwise::{Act, SavedActivation, activate, backward_rows};
use super::scratch;
use super::simd::madd;
use super::sums::{ROWS, sum_rows};
use crate::Real;

/// out = act((x − mean)·inv_std·gamma + beta), with the mean and 1/√(variance + ε) of each row, which are returned in `mean` and
/// `inv_std`.
pub fn layer_norm(
    rows: usize,
    cols: usize,
    x: &[Real],
    gamma: &[Real],
    beta: &[Real],
    (act, slope): (Act, Real),
    out: &mut [Real],
    mean: &mut [Real],
    inv_std: &mut [Real],
) {
    assert!(x.len() == rows * cols && out.len() == x.len() && mean.len() == rows && inv_std.len() == rows);
    assert!(gamma.len() == cols && beta.len() == cols);
    let step = chunk_rows(cols);
    let (out, mean, inv_std) = (SharedSlice::new(out), SharedSlice::new(mean), SharedSlice::new(inv_std));
    each(rows.div_ceil(step), |chunk| {
        let (first, last) = (chunk * step, rows.min((chunk + 1) * step));
        // SAFETY: different chunks contain different rows.
        let (out, mean, inv_std) = unsafe {
            (
                out.slice(first * cols, (last - first) * cols),
                mean.slice(first, last - first),
                inv_std.slice(first, last - first),
            )
        };
        layer_rows(cols, &x[first * cols..last * cols], gamma, beta, out, mean, inv_std);
        activate(cols, out, None, act, slope);
    });
}

/// The backward pass of [`layer_norm`], in place: `gradient` holds that of the output and becomes that of x. Adds to `dgamma` and
/// `dbeta`, and returns the derivative with respect to the slope. The activation is differentiated from `saved`.
pub fn layer_norm_backward(
    rows: usize,
    cols: usize,
    x: &[Real],
    mean: &[Real],
    inv_std: &[Real],
    gamma: &[Real],
    (saved, act, slope): (SavedActivation<'_>, Act, Real),
    gradient: &mut [Real],
    dgamma: &mut [Real],
    dbeta: &mut [Real],
) -> Real {
    assert!(x.len() == rows * cols && gradient.len() == x.len());
    assert!(mean.len() == rows && inv_std.len() == rows && gamma.len() == cols);
    let step = chunk_rows(cols);
    let shared = SharedSlice::new(gradient);
    // Two sums of the activation (the second one gives the derivative of the slope), then two of the normalization.
    scratch::with(4 * cols, |total: &mut [f64]| {
        sum_chunks(rows.div_ceil(step), total, |chunk, partial| {
            let (of_act, of_norm) = partial.split_at_mut(2 * cols);
            // A few rows at a time go through all passes while they are in the L1 cache.
            for first in (chunk * step..rows.min((chunk + 1) * step)).step_by(ROWS) {
                let last = rows.min((chunk + 1) * step).min(first + ROWS);
                let span = first * cols..last * cols;
                // SAFETY: different chunks contain different rows.
                let gradient = unsafe { shared.slice(span.start, span.len()) };
                if act != Act::Identity {
                    backward_rows(cols, saved.slice(span.clone()), cols, None, act, slope, gradient, of_act);
                }
                let (mean, inv_std) = (&mean[first..last], &inv_std[first..last]);
                layer_rows_backward(cols, &x[span], mean, inv_std, gamma, gradient, of_norm);
            }
        });
        for j in 0..cols {
            dbeta[j] += total[2 * cols + j] as Real;
            dgamma[j] += total[3 * cols + j] as Real;
        }
        total[cols..2 * cols].iter().sum::<f64>() as Real
    })
}

simd! {
    fn layer_rows[FMA](
        cols: usize,
        x: &[Real],
        gamma: &[Real],
        beta: &[Real],
        out: &mut [Real],
        mean: &mut [Real],
        inv_std: &mut [Real],
    ) {
        let share = 1.0 / cols.max(1) as Real;
        for (i, (x, out)) in x.chunks_exact(cols.max(1)).zip(out.chunks_exact_mut(cols.max(1))).enumerate() {
            let middle = sum_of(x, |x| x) * share;
            let variance = sum_of(x, |x| (x - middle) * (x - middle)) * share;
            let inverse = (1.0 / (f64::from(variance) + EPS).sqrt()) as Real;
            (mean[i], inv_std[i]) = (middle, inverse);
            for (((o, &x), &gamma), &beta) in out.iter_mut().zip(x).zip(gamma).zip(beta) {
                *o = madd::<FMA>((x - middle) * inverse, gamma, beta);
            }
        }
    }
}

/// Σ f(x) over one row, in 32 accumulators.
#[inline(always)]
fn sum_of(x: &[Real], f: impl Fn(Real) -> Real) -> Real {
    const LANES: usize = 32;
    let mut lanes = [0.0; LANES];
    let blocks = x.chunks_exact(LANES);
    blocks.remainder().iter().zip(&mut lanes).for_each(|(&x, lane)| *lane = f(x));
    for block in blocks {
        for j in 0..LANES {
            lanes[j] += f(block[j]);
        }
    }
    fold_lanes(&lanes)
}

simd! {
    fn layer_rows_backward[FMA](
        cols: usize,
        x: &[Real],
        mean: &[Real],
        inv_std: &[Real],
        gamma: &[Real],
        gradient: &mut [Real],
        partial: &mut [f64],
    ) {
        sum_rows(x.len() / cols.max(1), cols, partial, |i, at, [of_dy, of_dy_x]| {
            let (x, dy) = (&x[i * cols + at..][..of_dy.len()], &gradient[i * cols + at..][..of_dy.len()]);
            let (mean, inv_std) = (mean[i], inv_std[i]);
            for (((of_dy, of_dy_x), &x), &dy) in of_dy.iter_mut().zip(of_dy_x).zip(x).zip(dy) {
                *of_dy += dy;
                *of_dy_x = madd::<FMA>(dy, (x - mean) * inv_std, *of_dy_x);
            }
        });
        let share = 1.0 / cols.max(1) as Real;
        let rows = x.chunks_exact(cols.max(1)).zip(gradient.chunks_exact_mut(cols.max(1)));
        for (i, (x, gradient)) in rows.enumerate() {
            let (m, s) = (mean[i], inv_std[i]);
            let (of_g, of_g_x) = two_sums::<FMA>(x, m, s, gamma, gradient);
            let (of_g, of_g_x) = (of_g * share, of_g_x * share);
            for ((d, &x), &gamma) in gradient.iter_mut().zip(x).zip(gamma) {
                *d = s * (*d * gamma - of_g - (x - m) * s * of_g_x);
            }
        }
    }
}

/// Σ dout·γ and Σ dout·γ·x̂ over one row.
#[inline(always)]
fn two_sums<const FMA: bool>(
    x: &[Real],
    mean: Real,
    inv_std: Real,
    gamma: &[Real],
    dout: &[Real],
) -> (Real, Real) {
    const LANES: usize = 32;
    let (mut of_g, mut of_g_x) = ([0.0; LANES], [0.0; LANES]);
    let (xs, gs, ds) = (x.chunks_exact(LANES), gamma.chunks_exact(LANES), dout.chunks_exact(LANES));
    let rest = xs.remainder().iter().zip(gs.remainder()).zip(ds.remainder());
    for (lane, ((&x, &gamma), &d)) in rest.enumerate() {
        of_g[lane] = d * gamma;
        of_g_x[lane] = d * gamma * ((x - mean) * inv_std);
    }
    for ((x, gamma), d) in xs.zip(gs).zip(ds) {
        for j in 0..LANES {
            let g = d[j] * gamma[j];
            of_g[j] += g;
            of_g_x[j] = madd::<FMA>(g, (x[j] - mean) * inv_std, of_g_x[j]);
        }
    }
    (fold_lanes(&of_g), fold_lanes(&of_g_x))
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn weighted(y: &[Real], w: &[Real]) -> f64 {
        y.iter().zip(w).map(|(&y, &w)| f64::from(y) * f64::from(w)).sum()
    }

    #[test]
    fn gradients_equal_finite_differences() {
        let (rows, cols) = (11, 19);
        let mut numbers = Numbers::new(13);
        let (x, weights) = (numbers.vec(rows * cols), numbers.vec(rows * cols));
        let (gamma, beta) = (numbers.vec(cols), numbers.vec(cols));
        let forward = |x: &[Real], gamma: &[Real], beta: &[Real]| {
            let (mut y, mut mean, mut inv) = (vec![0.0; x.len()], vec![0.0; rows], vec![0.0; rows]);
            layer_norm(rows, cols, x, gamma, beta, (Act::Identity, 0.0), &mut y, &mut mean, &mut inv);
            (y, mean, inv)
        };
        let (_, mean, inv) = forward(&x, &gamma, &beta);
        let (mut dx, mut dgamma, mut dbeta) = (weights.clone(), vec![0.0; cols], vec![0.0; cols]);
        let after = (SavedActivation::Input(&x), Act::Identity, 0.0);
        layer_norm_backward(rows, cols, &x, &mean, &inv, &gamma, after, &mut dx, &mut dgamma, &mut dbeta);
        assert_gradient(&x, &dx, |x| weighted(&forward(x, &gamma, &beta).0, &weights));
        assert_gradient(&gamma, &dgamma, |g| weighted(&forward(&x, g, &beta).0, &weights));
        assert_gradient(&beta, &dbeta, |b| weighted(&forward(&x, &gamma, b).0, &weights));
    }

    #[test]
    fn any_thread_count_gives_the_same_bytes() {
        let (rows, cols) = (2500, 33);
        let mut numbers = Numbers::new(34);
        let (x, d) = (numbers.vec(rows * cols), numbers.vec(rows * cols));
        let (gamma, beta) = (numbers.vec(cols), numbers.vec(cols));
        assert_same_at_any_thread_count(|| {
            let (mut y, mut mean, mut inv) = (vec![0.0; x.len()], vec![0.0; rows], vec![0.0; rows]);
            layer_norm(rows, cols, &x, &gamma, &beta, (Act::Prelu, 0.25), &mut y, &mut mean, &mut inv);
            let (mut dx, mut dg, mut db) = (d.clone(), vec![0.0; cols], vec![0.0; cols]);
            let after = (SavedActivation::Output(&y), Act::Prelu, 0.25);
            let ds =
                layer_norm_backward(rows, cols, &x, &mean, &inv, &gamma, after, &mut dx, &mut dg, &mut db);
            [y, mean, inv, dx, dg, db, vec![ds]].concat()
        });
    }
}
