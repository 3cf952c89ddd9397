//! AdamW (Adam with decoupled weight decay) over a flat slice of parameters, in one pass.
//!
//! m = β₁m + (1−β₁)g,  v = β₂v + (1−β₂)g²,  p = p(1 − lr·decay) − lr/(1−β₁ᵗ) · m / (√v/√(1−β₂ᵗ) + ε)

use super::parallel::{CHUNK, SharedSlice, each_chunk};
use super::simd::madd;
use crate::Real;

/// The hyperparameters of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamWParams {
    /// Number of the step, starting at 1.
    pub step: u64,
    /// Learning rate.
    pub lr: f64,
    /// Decay rate β₁ of the first moment.
    pub beta1: f64,
    /// Decay rate β₂ of the second moment.
    pub beta2: f64,
    /// ε, added to the divisor.
    pub eps: f64,
    /// Decoupled weight decay; 0 is Adam.
    pub decay: f64,
}

/// One step: updates the parameters and both moments.
pub fn adamw(settings: AdamWParams, params: &mut [Real], grads: &[Real], m: &mut [Real], v: &mut [Real]) {
    assert!(grads.len() == params.len() && m.len() == params.len() && v.len() == params.len());
    let AdamWParams { step, lr, beta1, beta2, eps, decay } = settings;
    let correct1 = 1.0 - beta1.powf(step as f64);
    let correct2 = 1.0 - beta2.powf(step as f64);
    let factors = Factors {
        beta1: beta1 as Real,
        rest1: (1.0 - beta1) as Real,
        beta2: beta2 as Real,
        rest2: (1.0 - beta2) as Real,
        keep: (1.0 - lr * decay) as Real,
        rate: (lr / correct1) as Real,
        root: (1.0 / correct2.sqrt()) as Real,
        eps: eps as Real,
    };
    let (m, v) = (SharedSlice::new(m), SharedSlice::new(v));
    each_chunk(params, CHUNK, |start, params| {
        // SAFETY: chunks do not overlap.
        let [m, v] = [&m, &v].map(|moments| unsafe { moments.slice(start, params.len()) });
        update(factors, params, &grads[start..], m, v);
    });
}

/// What a gradient moves the parameters by, in the end: `out` = lr·g/(√v′/√(1−β₂ᵗ) + ε), v′ = β₂v + (1−β₂)g², with the second
/// moment `v` before the step. The first moment spreads this over the steps that follow, whose shares add up to one.
pub fn preconditioned(settings: AdamWParams, grads: &[Real], v: &[Real], out: &mut [Real]) {
    assert!(grads.len() == v.len() && grads.len() == out.len());
    let AdamWParams { step, lr, beta2, eps, .. } = settings;
    let root = (1.0 / (1.0 - beta2.powf(step as f64)).sqrt()) as Real;
    let (lr, beta2, rest2, eps) = (lr as Real, beta2 as Real, (1.0 - beta2) as Real, eps as Real);
    each_chunk(out, CHUNK, |start, out| {
        for ((out, &g), &v) in out.iter_mut().zip(&grads[start..]).zip(&v[start..]) {
            let square = beta2 * v + rest2 * g * g;
            *out = lr * g / (square.sqrt() * root + eps);
        }
    });
}

/// Differentiates through a step: `out` = ∂L/∂g = ∂L/∂θ ⊙ ∂θ/∂g, where L is a loss after the step and g the gradient that the
/// step used.
///
/// `slopes` is ∂L/∂θ after the step, `grads` is g, and `m` and `v` are the moments after the step. With D = √v/√(1−β₂ᵗ) + ε:
/// ∂θ/∂g = −lr/(1−β₁ᵗ) · [(1−β₁)/D − m (1−β₂) g / (√v √(1−β₂ᵗ) D²)].
pub fn influence(
    settings: AdamWParams,
    slopes: &[Real],
    grads: &[Real],
    m: &[Real],
    v: &[Real],
    out: &mut [Real],
) {
    let n = out.len();
    assert!(slopes.len() == n && grads.len() == n && m.len() == n && v.len() == n);
    each_chunk(out, CHUNK, |start, out| {
        for (at, out) in (start..).zip(out) {
            let moments = (f64::from(m[at]), f64::from(v[at]));
            let moved = by_gradient(settings, f64::from(grads[at]), moments);
            *out = (f64::from(slopes[at]) * moved) as Real;
        }
    });
}

/// ∂θ/∂g for one parameter.
fn by_gradient(settings: AdamWParams, g: f64, (m, v): (f64, f64)) -> f64 {
    let AdamWParams { step, lr, beta1, beta2, eps, .. } = settings;
    let correct1 = 1.0 - beta1.powf(step as f64);
    let correct2 = (1.0 - beta2.powf(step as f64)).sqrt();
    // Avoids a division by zero for parameters that never had a gradient.
    let root = (v + 1e-32).sqrt();
    let divisor = root / correct2 + eps;
    -lr / correct1
        * ((1.0 - beta1) / divisor - m * (1.0 - beta2) * g / (root * correct2) / (divisor * divisor))
}

#[derive(Clone, Copy)]
struct Factors {
    beta1: Real,
    rest1: Real,
    beta2: Real,
    rest2: Real,
    keep: Real,
    rate: Real,
    root: Real,
    eps: Real,
}

simd! {
    with avx512
    fn update[FMA](f: Factors, params: &mut [Real], grads: &[Real], m: &mut [Real], v: &mut [Real]) {
        for (((p, &g), m), v) in params.iter_mut().zip(grads).zip(m).zip(v) {
            *m = madd::<FMA>(f.rest1, g, f.beta1 * *m);
            *v = madd::<FMA>(f.rest2 * g, g, f.beta2 * *v);
            let divisor = madd::<FMA>(v.sqrt(), f.root, f.eps);
            *p = madd::<FMA>(*p, f.keep, -(f.rate * *m / divisor));
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn three_steps_follow_the_formula_and_any_thread_count() {
        let n = 3 * CHUNK + 7;
        let run = || {
            let mut numbers = Numbers::new(1);
            let (mut p, mut m, mut v) = (numbers.vec(n), vec![0.0; n], vec![0.0; n]);
            let mut reference: Vec<[f64; 3]> = p.iter().map(|&p| [f64::from(p), 0.0, 0.0]).collect();
            for step in 1..=3 {
                let settings =
                    AdamWParams { step, lr: 1e-2, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 1e-2 };
                let g = numbers.vec(n);
                adamw(settings, &mut p, &g, &mut m, &mut v);
                for ([p, m, v], &g) in reference.iter_mut().zip(&g) {
                    let g = f64::from(g);
                    *m = 0.9 * *m + 0.1 * g;
                    *v = 0.999 * *v + 0.001 * g * g;
                    let (mean, square) =
                        (*m / (1.0 - 0.9f64.powi(step as i32)), *v / (1.0 - 0.999f64.powi(step as i32)));
                    *p = *p * (1.0 - 1e-4) - 1e-2 * mean / (square.sqrt() + 1e-8);
                }
            }
            assert_close(&p, &reference.iter().map(|t| t[0] as Real).collect::<Vec<_>>(), 1e-5);
            p
        };
        assert_same_at_any_thread_count(run);
    }

    #[test]
    fn influence_equals_finite_differences() {
        let settings = AdamWParams { step: 7, lr: 0.03, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.0 };
        let (m, v) = (0.02, 3e-4);
        let after = |g: f64| (0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g);
        let moved = |g: f64| {
            let (m, v) = after(g);
            -0.03 / (1.0 - 0.9f64.powi(7)) * m / (v.sqrt() / (1.0 - 0.999f64.powi(7)).sqrt() + 1e-8)
        };
        for g in [-0.4, -0.01, 0.0, 0.2, 1.5] {
            let expected = (moved(g + 1e-6) - moved(g - 1e-6)) / 2e-6;
            let found = by_gradient(settings, g, after(g));
            assert!((found - expected).abs() < 1e-8 * expected.abs().max(1e-2), "{found} against {expected}");
        }
        let mut out = [9.0; 3];
        let zeros = [0.0; 3];
        influence(settings, &[1.0, 2.0, 0.0], &zeros, &zeros, &zeros, &mut out);
        assert!(out.iter().all(|x| x.is_finite()) && out[2] == 0.0, "{out:?}");
    }
}
