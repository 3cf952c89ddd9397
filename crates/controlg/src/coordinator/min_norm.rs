//! The minimum-norm point in the convex hull of the gradients, from their inner products.
//!
//! λ* = argmin ½ λᵀQλ over the simplex, where Q is the K×K Gram matrix. Sensing applies it to unit gradients; applied to
//! raw gradients it is MGDA (Désidéri, 2012).

/// The largest K for which every support is tried.
pub(crate) const EXACT_UP_TO: usize = 10;

/// The weights λ*.
///
/// Exact for up to ten objectives: on its support S the solution solves Q_SS x = 1, so every support is tried and the
/// smallest value wins; ties go to the weights with the larger entropy. Beyond that, Frank–Wolfe with exact line search.
pub fn weights(gram: &[Vec<f64>]) -> Vec<f64> {
    if gram.len() <= EXACT_UP_TO { by_subsets(gram) } else { frank_wolfe(gram, 10_000) }
}

/// λᵀQλ, the squared norm of the point.
pub fn value(gram: &[Vec<f64>], weights: &[f64]) -> f64 {
    gram.iter().zip(weights).map(|(row, weight)| weight * dot(row, weights)).sum()
}

fn by_subsets(gram: &[Vec<f64>]) -> Vec<f64> {
    let k = gram.len();
    let mut best: Option<(f64, f64, Vec<f64>)> = None;
    for subset in 1u32..1 << k {
        let support: Vec<usize> = (0..k).filter(|i| subset >> i & 1 == 1).collect();
        let Some(x) = solve_ones(gram, &support) else { continue };
        if x.iter().any(|&x| x <= 0.0) {
            continue;
        }
        let total: f64 = x.iter().sum();
        let mut weights = vec![0.0; k];
        for (&i, x) in support.iter().zip(&x) {
            weights[i] = x / total;
        }
        let (value, entropy) = (1.0 / total, entropy(&weights));
        let better = best.as_ref().is_none_or(|(least, most, _)| {
            // A relative tolerance: when gradient norms differ by orders of magnitude, all values are tiny, and that of
            // a wrong support is close to the best.
            let tolerance = 1e-9 * least.abs();
            value < least - tolerance || (value < least + tolerance && entropy > *most)
        });
        if better {
            best = Some((value, entropy, weights));
        }
    }
    // With no usable support (all gradients zero) every weighting has norm 0.
    best.map_or_else(|| vec![1.0 / k as f64; k], |(_, _, weights)| weights)
}

/// Frank–Wolfe from the barycenter, with exact line search towards the steepest vertex.
pub fn frank_wolfe(gram: &[Vec<f64>], rounds: usize) -> Vec<f64> {
    let k = gram.len();
    let mut weights = vec![1.0 / k as f64; k];
    for _ in 0..rounds {
        let products: Vec<f64> = gram.iter().map(|row| dot(row, &weights)).collect();
        let Some(t) = (0..k).min_by(|&a, &b| products[a].total_cmp(&products[b])) else { break };
        let (along, here, there) = (products[t], dot(&products, &weights), gram[t][t]);
        let curvature = here + there - 2.0 * along;
        let step = if curvature > 0.0 { ((here - along) / curvature).clamp(0.0, 1.0) } else { 0.0 };
        if step < 1e-12 {
            break;
        }
        weights.iter_mut().for_each(|weight| *weight *= 1.0 - step);
        weights[t] += step;
    }
    weights
}

/// Solves Q_SS x = 1 with a ridge of 1e-10; `None` if Q_SS is still not positive definite.
fn solve_ones(gram: &[Vec<f64>], support: &[usize]) -> Option<Vec<f64>> {
    let entry = |i: usize, j: usize| gram[i][j] + if i == j { 1e-10 } else { 0.0 };
    let part: Vec<Vec<f64>> =
        support.iter().map(|&i| support.iter().map(|&j| entry(i, j)).collect()).collect();
    solve(&part, &vec![1.0; support.len()])
}

/// Solves Qx = b by Cholesky; `None` if Q is not positive definite.
pub(super) fn solve(matrix: &[Vec<f64>], b: &[f64]) -> Option<Vec<f64>> {
    let s = matrix.len();
    let mut lower = vec![vec![0.0; s]; s];
    for i in 0..s {
        for j in 0..=i {
            let sum = matrix[i][j] - dot(&lower[i][..j], &lower[j][..j]);
            if i == j {
                if sum <= 0.0 || !sum.is_finite() {
                    return None;
                }
                lower[i][i] = sum.sqrt();
            } else {
                lower[i][j] = sum / lower[j][j];
            }
        }
    }
    let mut x = b.to_vec();
    for i in 0..s {
        x[i] = (x[i] - dot(&lower[i][..i], &x[..i])) / lower[i][i];
    }
    for i in (0..s).rev() {
        let above: f64 = (i + 1..s).map(|j| lower[j][i] * x[j]).sum();
        x[i] = (x[i] - above) / lower[i][i];
    }
    Some(x)
}

fn entropy(weights: &[f64]) -> f64 {
    weights.iter().filter(|&&w| w > 0.0).map(|w| -w * w.ln()).sum()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < tolerance, "{found:?} against {expected:?}");
        }
    }

    #[test]
    fn known_vectors() {
        let two = vec![vec![1.0, -0.5], vec![-0.5, 1.0]];
        assert_close(&weights(&two), &[0.5, 0.5], 1e-9);
        let three = vec![vec![1.0, -0.6, 0.2], vec![-0.6, 1.0, 0.3], vec![0.2, 0.3, 1.0]];
        assert_close(&weights(&three), &[0.5, 0.5, 0.0], 1e-9);
        assert_close(&[value(&three, &weights(&three))], &[0.2], 1e-9);
        let five = vec![
            vec![1.0, 0.3, -0.4, 0.1, -0.1],
            vec![0.3, 1.0, -0.2, 0.0, 0.2],
            vec![-0.4, -0.2, 1.0, 0.25, -0.3],
            vec![0.1, 0.0, 0.25, 1.0, -0.5],
            vec![-0.1, 0.2, -0.3, -0.5, 1.0],
        ];
        assert_close(&weights(&five), &[0.21960, 0.04364, 0.25851, 0.18000, 0.29825], 1e-5);
        assert_close(&[value(&five, &weights(&five))], &[0.117465], 1e-6);
    }

    #[test]
    fn ties_go_to_the_larger_entropy_and_zero_gradients_are_safe() {
        assert_close(&weights(&[vec![1.0, 1.0], vec![1.0, 1.0]]), &[0.5, 0.5], 1e-6);
        let weights = weights(&[vec![0.0, 0.0], vec![0.0, 0.0]]);
        assert!(weights.iter().all(|w| w.is_finite()) && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    /// Inner products of K random unit vectors.
    fn unit_grams() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (1usize..8).prop_flat_map(|k| {
            prop::collection::vec(prop::collection::vec(-1.0f64..1.0, 6), k).prop_map(|rows| {
                let unit: Vec<Vec<f64>> = rows
                    .iter()
                    .map(|row| {
                        let norm = dot(row, row).sqrt().max(1e-3);
                        row.iter().map(|x| x / norm).collect()
                    })
                    .collect();
                unit.iter().map(|a| unit.iter().map(|b| dot(a, b)).collect()).collect()
            })
        })
    }

    proptest! {
        #[test]
        fn karush_kuhn_tucker_holds(gram in unit_grams()) {
            let weights = weights(&gram);
            prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let value = value(&gram, &weights);
            for (row, &weight) in gram.iter().zip(&weights) {
                prop_assert!(weight >= 0.0);
                let product = dot(row, &weights);
                prop_assert!(product >= value - 1e-8, "{product} below {value}");
                if weight > 1e-6 {
                    prop_assert!((product - value).abs() < 1e-7, "{product} on the support, {value}");
                }
            }
        }

        #[test]
        fn frank_wolfe_reaches_the_same_norm(gram in unit_grams()) {
            let (exact, iterated) = (value(&gram, &weights(&gram)), value(&gram, &frank_wolfe(&gram, 20_000)));
            prop_assert!(iterated >= exact - 1e-8);
            prop_assert!(iterated - exact < 1e-3, "{iterated} against {exact}");
        }
    }
}
