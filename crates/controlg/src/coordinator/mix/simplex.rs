//! Projection onto the simplex, and minimization of smooth convex functions on it.

use super::dot;

/// Projects onto {w ≥ 0, Σ w = 1} (Held et al., 1974): max(x − t, 0) with the t for which it sums to one.
pub(super) fn project(x: &[f64]) -> Vec<f64> {
    let mut sorted = x.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (at, &value) in sorted.iter().enumerate() {
        sum += value;
        let candidate = (sum - 1.0) / (at + 1) as f64;
        if value > candidate {
            shift = candidate;
        }
    }
    x.iter().map(|x| (x - shift).max(0.0)).collect()
}

/// Accelerated projected gradient descent (Nesterov, 1983) from the barycenter, with backtracking line search and with
/// restarts when the momentum points uphill.
pub(super) fn minimize(
    k: usize,
    iterations: usize,
    value: impl Fn(&[f64]) -> f64,
    slope: impl Fn(&[f64]) -> Vec<f64>,
) -> Vec<f64> {
    let mut at = vec![1.0 / k as f64; k];
    let mut ahead = at.clone();
    let (mut momentum, mut step): (f64, f64) = (1.0, 1.0);
    for _ in 0..iterations {
        let (here, down) = (value(&ahead), slope(&ahead));
        let mut next;
        loop {
            let moved: Vec<f64> = ahead.iter().zip(&down).map(|(x, d)| x - step * d).collect();
            next = project(&moved);
            let change: Vec<f64> = next.iter().zip(&ahead).map(|(a, b)| a - b).collect();
            let model = here + dot(&down, &change) + dot(&change, &change) / (2.0 * step);
            if value(&next) <= model + 1e-15 * here.abs() || step < 1e-12 {
                break;
            }
            step /= 2.0;
        }
        let change: Vec<f64> = next.iter().zip(&at).map(|(a, b)| a - b).collect();
        if dot(&down, &change) > 0.0 {
            momentum = 1.0;
            ahead.clone_from(&at);
            continue;
        }
        let faster = (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt()) / 2.0;
        let carry = (momentum - 1.0) / faster;
        ahead = next.iter().zip(&change).map(|(x, change)| x + carry * change).collect();
        (at, momentum, step) = (next, faster, step * 1.5);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_close;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quadratic_is_minimized() {
        // ½|x − (0.6, 0.8, −1)|² on the simplex: (0.4, 0.6, 0).
        let target = [0.6, 0.8, -1.0];
        let slope = |x: &[f64]| x.iter().zip(&target).map(|(x, t)| x - t).collect::<Vec<f64>>();
        let value = |x: &[f64]| dot(&slope(x), &slope(x)) / 2.0;
        assert_close(&minimize(3, 30, value, slope), &[0.4, 0.6, 0.0], 1e-9);
    }

    proptest! {
        #[test]
        fn the_projection_is_on_the_simplex_and_no_point_is_nearer(
            x in prop::collection::vec(-3.0f64..3.0, 1..8),
            other in prop::collection::vec(0.01f64..1.0, 8),
        ) {
            let near = project(&x);
            prop_assert!((near.iter().sum::<f64>() - 1.0).abs() < 1e-9 && near.iter().all(|&w| w >= 0.0));
            let total: f64 = other[..x.len()].iter().sum();
            let distance = |w: &[f64]| w.iter().zip(&x).map(|(w, x)| (w - x).powi(2)).sum::<f64>();
            let other: Vec<f64> = other[..x.len()].iter().map(|w| w / total).collect();
            prop_assert!(distance(&near) <= distance(&other) + 1e-9);
        }
    }
}
