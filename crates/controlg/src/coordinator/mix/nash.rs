//! `nash-mtl`: the Nash bargaining solution among the objectives (Navon et al., 2022).
//!
//! α > 0 with Mα = 1/α, where M is the Gram matrix of the gradients; d = Σ α_k g_k, clipped to norm `clip`. α is the unique
//! minimizer of the strictly convex ½ αᵀMα − Σ ln α_k, computed by damped Newton steps; the authors solve a sequence of
//! convex programs. At the solution α_k (Mα)_k = 1, and ‖d‖² = K before clipping. The solution is invariant to the scale of
//! each gradient.

use serde::{Deserialize, Serialize};

use super::{MixWeights, Mixer, MixerFactory, MixerInput, MixerNeeds, WeightBounds, dot, times};
use crate::coordinator::{from_json, min_norm, to_json};
use crate::error::Result;
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// Entry in the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "nash-mtl",
    summary: "step along the Nash bargaining solution of the gradients",
    paper: "Navon et al., Multi-Task Learning as a Bargaining Game, ICML 2022",
    keys: KEYS,
    defaults: || setting::table_of(&NashSettings::default()),
    build: |table| {
        let settings: NashSettings = setting::settings("mix.nash-mtl", KEYS, table)?;
        Ok(Box::new(move |_| Box::new(Nash { settings: settings.clone(), weights: None })))
    },
};

const KEYS: &[Key] = &[
    Key::new("every", Range::Whole(1, 1_000_000), "steps between solves; weights are reused in between"),
    Key::new("clip", Range::Number(0.0, 1e9), "maximum norm of the update direction; 0 disables clipping"),
];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct NashSettings {
    every: u64,
    clip: f64,
}

impl Default for NashSettings {
    fn default() -> Self {
        NashSettings { every: 1, clip: 1.0 }
    }
}

/// Added to the unit diagonal if the gradients can cancel out, in which case no solution exists.
const RIDGE: f64 = 1e-6;
const MAX_ITERATIONS: usize = 100;

struct Nash {
    settings: NashSettings,
    /// The last solution.
    weights: Option<Vec<f64>>,
}

impl Mixer for Nash {
    fn needs(&self) -> MixerNeeds {
        MixerNeeds { gram: true, ..MixerNeeds::default() }
    }

    fn mix(&mut self, input: &MixerInput<'_>) -> MixWeights {
        let kept = self.weights.take().filter(|_| !input.step.is_multiple_of(self.settings.every));
        let weights = kept.unwrap_or_else(|| bargain(input.gram));
        let norm = dot(&times(input.gram, &weights), &weights).max(0.0).sqrt();
        let factor = if self.settings.clip > 0.0 && norm > self.settings.clip {
            self.settings.clip / norm
        } else {
            1.0
        };
        let clipped = weights.iter().map(|weight| weight * factor).collect();
        self.weights = Some(weights);
        MixWeights::for_encoder(clipped)
    }

    fn weight_bounds(&self) -> WeightBounds {
        WeightBounds::at_least(0.0)
    }

    fn save(&self) -> Result<String> {
        to_json(&self.weights)
    }

    fn restore(&mut self, saved: &str) -> Result<()> {
        self.weights = from_json(saved)?;
        Ok(())
    }
}

/// The weights α; zero for an objective with a zero gradient.
pub(super) fn bargain(gram: &[Vec<f64>]) -> Vec<f64> {
    let k = gram.len();
    let players: Vec<usize> = (0..k).filter(|&i| gram[i][i] > 0.0).collect();
    let norms: Vec<f64> = players.iter().map(|&i| gram[i][i].sqrt()).collect();
    // Solve for unit gradients; a gradient of norm ‖g‖ gets 1/‖g‖ of the unit weight.
    let cosine = |(a, &i): (usize, &usize)| -> Vec<f64> {
        players.iter().zip(&norms).map(|(&j, norm)| gram[i][j] / (norms[a] * norm)).collect()
    };
    let mut cosines: Vec<Vec<f64>> = players.iter().enumerate().map(cosine).collect();
    let unit = newton(&cosines).unwrap_or_else(|| {
        (0..players.len()).for_each(|i| cosines[i][i] += RIDGE);
        newton(&cosines).unwrap_or_else(|| vec![1.0 / (players.len() as f64).sqrt(); players.len()])
    });
    let mut weights = vec![0.0; k];
    for ((&i, unit), norm) in players.iter().zip(unit).zip(norms) {
        weights[i] = unit / norm;
    }
    weights
}

/// Minimizes ½ αᵀQα − Σ ln α_k; `None` if it has no minimum.
fn newton(gram: &[Vec<f64>]) -> Option<Vec<f64>> {
    let k = gram.len();
    let mut weights = vec![1.0 / (k as f64).sqrt(); k];
    for _ in 0..MAX_ITERATIONS {
        let slopes: Vec<f64> = times(gram, &weights)
            .iter()
            .zip(&weights)
            .map(|(product, weight)| product - 1.0 / weight)
            .collect();
        // α_k (Qα)_k = 1 to the last digits.
        let error =
            slopes.iter().zip(&weights).map(|(slope, weight)| (slope * weight).abs()).fold(0.0, f64::max);
        if error < 1e-12 {
            break;
        }
        let curvature = |i: usize, j: usize| gram[i][j] + if i == j { weights[i].powi(-2) } else { 0.0 };
        let hessian: Vec<Vec<f64>> = (0..k).map(|i| (0..k).map(|j| curvature(i, j)).collect()).collect();
        let step = min_norm::solve(&hessian, &slopes)?;
        // Newton decrement λ² = ⟨gradient, step⟩: damping by 1/(1 + λ) is safe for self-concordant functions.
        let decrement = dot(&slopes, &step).max(0.0).sqrt();
        let damping = if decrement < 0.25 { 1.0 } else { 1.0 / (1.0 + decrement) };
        weights.iter_mut().zip(&step).for_each(|(weight, step)| *weight -= damping * step);
    }
    let solved =
        times(gram, &weights).iter().zip(&weights).all(|(product, w)| (w * product - 1.0).abs() < 1e-6);
    (solved && weights.iter().all(|&w| w > 0.0 && w < 1e5)).then_some(weights)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, combined, gradients, gram, input, mixer};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orthogonal_gradients_get_weights_inverse_to_their_norms() {
        let products = gram(&[vec![2.0, 0.0], vec![0.0, 0.1]]);
        assert_close(&bargain(&products), &[0.5, 10.0], 1e-9);
        let mixed = mixer(&ENTRY, "", 2).mix(&input(0, &[1.0; 2], &products));
        let root = 0.5f64.sqrt();
        assert_close(&mixed.encoder, &[0.5 * root, 10.0 * root], 1e-9);
        assert_eq!(mixed.heads, [1.0; 2]);
    }

    #[test]
    fn canceling_and_zero_gradients_give_finite_weights() {
        let opposite = bargain(&gram(&[vec![1.0, 0.0], vec![-1.0, 0.0]]));
        assert!(opposite.iter().all(|w| w.is_finite() && *w > 0.0), "{opposite:?}");
        let weights = bargain(&gram(&[vec![0.0, 0.0], vec![3.0, 4.0]]));
        assert_close(&weights, &[0.0, 0.2], 1e-9);
        assert_eq!(bargain(&[vec![0.0]]), [0.0]);
    }

    #[test]
    fn weights_are_reused_between_solves() {
        let mut mixer = mixer(&ENTRY, "every = 3\nclip = 0", 2);
        let products = |scale: f64| gram(&[vec![scale, 0.0], vec![0.0, 1.0]]);
        let mut first = |step, scale: f64| mixer.mix(&input(step, &[1.0; 2], &products(scale))).encoder[0];
        let found = [first(0, 1.0), first(1, 2.0), first(2, 4.0), first(3, 4.0)];
        assert_close(&found, &[1.0, 1.0, 1.0, 0.25], 1e-9);
    }

    proptest! {
        #[test]
        fn every_objective_gains_the_same(vectors in gradients()) {
            let products = gram(&vectors);
            // Nearly canceling gradients have very large solutions; tested separately above.
            let k = vectors.len();
            let cosines: Vec<Vec<f64>> = (0..k).map(|i| (0..k)
                .map(|j| products[i][j] / (products[i][i] * products[j][j]).sqrt()).collect()).collect();
            prop_assume!(min_norm::value(&cosines, &min_norm::weights(&cosines)) > 1e-4);
            let weights = bargain(&products);
            for (product, weight) in times(&products, &weights).iter().zip(&weights) {
                prop_assert!((product * weight - 1.0).abs() < 1e-8, "{}", product * weight);
            }
            let direction = combined(&vectors, &weights);
            prop_assert!((dot(&direction, &direction) - k as f64).abs() < 1e-7);
        }
    }
}
