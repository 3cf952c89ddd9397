//! Losses over logits. The gradient is computed together with the loss: the upstream gradient of a scalar is only a factor.

use super::parallel::{CHUNK, SharedSlice, sum_chunks};
use super::rows::fold_lanes;
use super::simd::exp;
use crate::Real;

/// How the terms of positives and negatives are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Averaging {
    /// Mean over the positives + mean over the negatives.
    Separate,
    /// One mean over both.
    Joint,
}

impl Averaging {
    /// The weights of a positive and of a negative term, if the first `n_positive` of `n` are positive.
    pub(super) fn shares(self, n_positive: usize, n: usize) -> [f64; 2] {
        let sizes = match self {
            Averaging::Separate => [n_positive, n - n_positive],
            Averaging::Joint => [n, n],
        };
        sizes.map(|size| 1.0 / size.max(1) as f64)
    }
}

/// The mean of −log σ(s) over the first `n_positive` logits and −log(1 − σ(s)) over the others; `dlogits` receives the gradient.
/// An empty side contributes nothing.
pub fn bce_with_logits(logits: &[Real], n_positive: usize, mean: Averaging, dlogits: &mut [Real]) -> f64 {
    assert!(n_positive <= logits.len() && dlogits.len() == logits.len());
    let [of_positive, of_negative] = mean.shares(n_positive, logits.len());
    let (d_positive, d_negative) = dlogits.split_at_mut(n_positive);
    bce_side(&logits[..n_positive], -1.0, of_positive, d_positive)
        + bce_side(&logits[n_positive..], 1.0, of_negative, d_negative)
}

/// weight·Σ softplus(sign·s), and its gradient.
fn bce_side(logits: &[Real], sign: Real, weight: f64, d: &mut [Real]) -> f64 {
    let shared = SharedSlice::new(d);
    let mut total = [0.0];
    sum_chunks(logits.len().div_ceil(CHUNK), &mut total, |chunk, partial| {
        let (from, to) = (chunk * CHUNK, logits.len().min((chunk + 1) * CHUNK));
        // SAFETY: different tasks write different chunks.
        let d = unsafe { shared.slice(from, to - from) };
        partial[0] = softplus_chunk(&logits[from..to], sign, weight as Real, d);
    });
    total[0] * weight
}

simd! {
    fn softplus_chunk[FMA](logits: &[Real], sign: Real, weight: Real, d: &mut [Real]) -> f64 {
        let mut total = 0.0;
        for (&s, d) in logits.iter().zip(d.iter_mut()) {
            let (sigmoid, small) = sigmoid::<FMA>(s * sign);
            *d = sign * weight * sigmoid;
            total += softplus(s * sign, small);
        }
        total
    }
}

/// σ(x) and e^−|x|, without overflow.
#[inline(always)]
pub(super) fn sigmoid<const FMA: bool>(x: Real) -> (Real, Real) {
    let small = exp::<FMA>(-x.abs());
    (if x > 0.0 { 1.0 } else { small } / (1.0 + small), small)
}

/// ln(1 + eˣ) = max(x, 0) + ln(1 + small), with small = e^−|x|.
#[inline(always)]
pub(super) fn softplus(x: Real, small: Real) -> f64 {
    f64::from(if x > 0.0 { x } else { 0.0 * x }) + f64::from(small).ln_1p()
}

/// The mean over the rows of `−log softmax(logits)[target]`; `dlogits` receives the gradient.
///
/// # Panics
/// If a target is not below `classes`.
pub fn softmax_cross_entropy(
    rows: usize,
    classes: usize,
    logits: &[Real],
    targets: &[u32],
    dlogits: &mut [Real],
) -> f64 {
    assert!(logits.len() == rows * classes && dlogits.len() == logits.len() && targets.len() == rows);
    if rows == 0 {
        return 0.0;
    }
    const STEP: usize = 512;
    let shared = SharedSlice::new(dlogits);
    let mut total = [0.0];
    sum_chunks(rows.div_ceil(STEP), &mut total, |chunk, partial| {
        let (first, last) = (chunk * STEP, rows.min((chunk + 1) * STEP));
        // SAFETY: different chunks contain different rows.
        let d = unsafe { shared.slice(first * classes, (last - first) * classes) };
        let logits = &logits[first * classes..last * classes];
        partial[0] = softmax_rows(classes, logits, &targets[first..last], 1.0 / rows as Real, d);
    });
    total[0] / rows as f64
}

simd! {
    fn softmax_rows[FMA](classes: usize, logits: &[Real], targets: &[u32], weight: Real, d: &mut [Real]) -> f64 {
        let mut total = 0.0;
        for ((logits, d), &target) in logits.chunks_exact(classes).zip(d.chunks_exact_mut(classes)).zip(targets) {
            let target = target as usize;
            let (max, sum) = exponentials::<FMA>(logits, d);
            total += f64::from(sum).ln() + f64::from(max) - f64::from(logits[target]);
            let share = weight / sum;
            d.iter_mut().for_each(|d| *d *= share);
            d[target] -= weight;
        }
        total
    }
}

/// out = exp(x − max x). Returns the maximum and the sum.
#[inline(always)]
pub(crate) fn exponentials<const FMA: bool>(x: &[Real], out: &mut [Real]) -> (Real, Real) {
    out.copy_from_slice(x);
    let max = maximum(out);
    (max, exponentials_in_place::<FMA>(out, max, 1.0))
}

/// The maximum; −∞ for an empty slice.
#[inline(always)]
pub(crate) fn maximum(x: &[Real]) -> Real {
    const LANES: usize = 32;
    let mut top = [Real::NEG_INFINITY; LANES];
    let blocks = x.chunks_exact(LANES);
    let rest = blocks.remainder().iter().fold(Real::NEG_INFINITY, |m, &x| m.max(x));
    for block in blocks {
        for i in 0..LANES {
            top[i] = if block[i] > top[i] { block[i] } else { top[i] };
        }
    }
    largest(&top).max(rest)
}

/// Not inlined, for the same reason as [`fold_lanes`].
#[inline(never)]
fn largest(lanes: &[Real]) -> Real {
    lanes.iter().fold(Real::NEG_INFINITY, |m, &x| m.max(x))
}

/// x = exp((x − max)·factor), in place. Returns the sum.
#[inline(always)]
pub(crate) fn exponentials_in_place<const FMA: bool>(x: &mut [Real], max: Real, factor: Real) -> Real {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let mut blocks = x.chunks_exact_mut(LANES);
    for block in &mut blocks {
        for i in 0..LANES {
            block[i] = exp::<FMA>((block[i] - max) * factor);
            sums[i] += block[i];
        }
    }
    let mut rest = 0.0;
    for x in blocks.into_remainder() {
        *x = exp::<FMA>((*x - max) * factor);
        rest += *x;
    }
    fold_lanes(&sums) + rest
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn bce_equals_its_definition_and_survives_large_logits() {
        let mut numbers = Numbers::new(16);
        let n = CHUNK + 100;
        let mut logits: Vec<Real> = numbers.vec(n).iter().map(|x| x * 5.0).collect();
        (logits[0], logits[n - 1]) = (-500.0, 500.0);
        for (mean, weights) in [(Averaging::Joint, [n, n]), (Averaging::Separate, [70, n - 70])] {
            let mut d = vec![0.0; n];
            let value = bce_with_logits(&logits, 70, mean, &mut d);
            let mut want = 0.0;
            let mut want_d = Vec::new();
            for (i, &s) in logits.iter().enumerate() {
                let (sign, weight) = if i < 70 { (-1.0, weights[0]) } else { (1.0, weights[1]) };
                let x = f64::from(s) * sign;
                want += if x > 30.0 { x } else { x.exp().ln_1p() } / weight as f64;
                want_d.push((sign / (1.0 + (-x).exp()) / weight as f64) as Real);
            }
            assert!((value - want).abs() < 1e-6 * want, "{value} {want}");
            assert_close(
                &d.iter().map(|d| d * n as Real).collect::<Vec<_>>(),
                &want_d.iter().map(|d| d * n as Real).collect::<Vec<_>>(),
                1e-6,
            );
        }
        assert_eq!(bce_with_logits(&[], 0, Averaging::Separate, &mut []), 0.0);
        assert_same_at_any_thread_count(|| {
            let mut d = vec![0.0; n];
            let value = bce_with_logits(&logits, 70, Averaging::Joint, &mut d);
            d.push(value as Real);
            d
        });
    }

    #[test]
    fn cross_entropy_equals_its_definition() {
        let mut numbers = Numbers::new(17);
        for (rows, classes) in [(1, 1), (1300, 20), (7, 33)] {
            let logits: Vec<Real> = numbers.vec(rows * classes).iter().map(|x| x * 30.0).collect();
            let targets: Vec<u32> = (0..rows).map(|_| numbers.below(classes) as u32).collect();
            let mut d = vec![0.0; logits.len()];
            let value = softmax_cross_entropy(rows, classes, &logits, &targets, &mut d);
            let (mut want, mut want_d) = (0.0, Vec::new());
            for (row, &target) in logits.chunks(classes).zip(&targets) {
                let max = row.iter().fold(f64::MIN, |m, &x| m.max(f64::from(x)));
                let sum: f64 = row.iter().map(|&x| (f64::from(x) - max).exp()).sum();
                want += (max + sum.ln() - f64::from(row[target as usize])) / rows as f64;
                want_d.extend(row.iter().enumerate().map(|(j, &x)| {
                    let p = (f64::from(x) - max).exp() / sum;
                    ((p - if j == target as usize { 1.0 } else { 0.0 }) / rows as f64) as Real
                }));
            }
            assert!((value - want).abs() < 1e-6 * want.max(1.0), "{value} {want}");
            let larger = |d: &[Real]| d.iter().map(|d| d * rows as Real).collect::<Vec<_>>();
            assert_close(&larger(&d), &larger(&want_d), 1e-6);
        }
    }
}
