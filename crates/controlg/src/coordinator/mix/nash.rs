//! `nash-mtl`: the step on which the objectives would agree as bargaining players (Navon et al., 2022).
//!
//! α > 0 with Mα = 1/α, M the inner products of the gradients; d = Σ α_k g_k, then shortened to `clip`. α is the one
//! minimizer of the strictly convex ½ αᵀMα − Σ ln α_k, found here by damped Newton steps; the authors solve a sequence of
//! convex programs. At the solution ‖d‖² = K before shortening, and α_k (Mα)_k = 1. The unit of a gradient does not matter:
//! twice as long gets half the weight.

use serde::{Deserialize, Serialize};

use super::{MixWeights, Mixer, MixerFactory, MixerInput, MixerNeeds, WeightBounds, dot, times};
use crate::coordinator::{from_json, min_norm, to_json};
use crate::error::Result;
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// On the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "nash-mtl",
    summary: "every step along the Nash bargaining solution between all gradients",
    paper: "Navon et al., Multi-Task Learning as a Bargaining Game, ICML 2022",
    keys: KEYS,
    defaults: || setting::table_of(&NashSettings::default()),
    build: |table| {
        let settings: NashSettings = setting::settings("mix.nash-mtl", KEYS, table)?;
        Ok(Box::new(move |_| Box::new(Nash { settings: settings.clone(), weights: None })))
    },
};

const KEYS: &[Key] = &[
    Key::new(
        "every",
        Range::Whole(1, 1_000_000),
        "steps between two solutions; the weights stay between them",
    ),
    Key::new("clip", Range::Number(0.0, 1e9), "the longest way that is gone as it is; 0 for any"),
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

/// Added to the unit diagonal where the gradients can cancel each other, and no solution exists.
const RIDGE: f64 = 1e-6;
const MOST_ITERATIONS: usize = 100;

struct Nash {
    settings: NashSettings,
    /// The last solution.
    weights: Option<Vec<f64>>,
}

impl Mixer for Nash {
    fn needs(&self) -> MixerNeeds {
        MixerNeeds { gram: true, ..MixerNeeds::default() }
    }

    fn mix(&mut self, seen: &MixerInput<'_>) -> MixWeights {
        let kept = self.weights.take().filter(|_| !seen.step.is_multiple_of(self.settings.every));
        let weights = kept.unwrap_or_else(|| bargain(seen.gram));
        let length = dot(&times(seen.gram, &weights), &weights).max(0.0).sqrt();
        let factor = if self.settings.clip > 0.0 && length > self.settings.clip {
            self.settings.clip / length
        } else {
            1.0
        };
        let applied = weights.iter().map(|weight| weight * factor).collect();
        self.weights = Some(weights);
        MixWeights::of_encoder(applied)
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

/// The weights α. An objective without a gradient has none.
pub(super) fn bargain(gram: &[Vec<f64>]) -> Vec<f64> {
    let k = gram.len();
    let players: Vec<usize> = (0..k).filter(|&i| gram[i][i] > 0.0).collect();
    let lengths: Vec<f64> = players.iter().map(|&i| gram[i][i].sqrt()).collect();
    // On unit gradients the weights are those of the others times their lengths.
    let cosine = |(a, &i): (usize, &usize)| -> Vec<f64> {
        players.iter().zip(&lengths).map(|(&j, length)| gram[i][j] / (lengths[a] * length)).collect()
    };
    let mut cosines: Vec<Vec<f64>> = players.iter().enumerate().map(cosine).collect();
    let unit = newton(&cosines).unwrap_or_else(|| {
        (0..players.len()).for_each(|i| cosines[i][i] += RIDGE);
        newton(&cosines).unwrap_or_else(|| vec![1.0 / (players.len() as f64).sqrt(); players.len()])
    });
    let mut weights = vec![0.0; k];
    for ((&i, unit), length) in players.iter().zip(unit).zip(lengths) {
        weights[i] = unit / length;
    }
    weights
}

/// Minimizes ½ αᵀQα − Σ ln α_k; `None` where it has no minimum.
fn newton(gram: &[Vec<f64>]) -> Option<Vec<f64>> {
    let k = gram.len();
    let mut weights = vec![1.0 / (k as f64).sqrt(); k];
    for _ in 0..MOST_ITERATIONS {
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
        // The decrement λ² = ⟨slope, step⟩: steps of 1/(1 + λ) are safe for such functions (self-concordance).
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
    use super::super::testing::{assert_close, combined, gradients, gram, mixer, seen};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_orthogonal_gradients_count_by_their_inverse_lengths() {
        let products = gram(&[vec![2.0, 0.0], vec![0.0, 0.1]]);
        assert_close(&bargain(&products), &[0.5, 10.0], 1e-9);
        let mixed = mixer(&ENTRY, "", 2).mix(&seen(0, &[1.0; 2], &products));
        let root = 0.5f64.sqrt();
        assert_close(&mixed.encoder, &[0.5 * root, 10.0 * root], 1e-9);
        assert_eq!(mixed.heads, [1.0; 2]);
    }

    #[test]
    fn gradients_that_cancel_and_gradients_that_are_zero_give_finite_weights() {
        let opposite = bargain(&gram(&[vec![1.0, 0.0], vec![-1.0, 0.0]]));
        assert!(opposite.iter().all(|w| w.is_finite() && *w > 0.0), "{opposite:?}");
        let weights = bargain(&gram(&[vec![0.0, 0.0], vec![3.0, 4.0]]));
        assert_close(&weights, &[0.0, 0.2], 1e-9);
        assert_eq!(bargain(&[vec![0.0]]), [0.0]);
    }

    #[test]
    fn weights_stay_between_two_solutions() {
        let mut mixer = mixer(&ENTRY, "every = 3\nclip = 0", 2);
        let products = |scale: f64| gram(&[vec![scale, 0.0], vec![0.0, 1.0]]);
        let mut first = |step, scale: f64| mixer.mix(&seen(step, &[1.0; 2], &products(scale))).encoder[0];
        let found = [first(0, 1.0), first(1, 2.0), first(2, 4.0), first(3, 4.0)];
        assert_close(&found, &[1.0, 1.0, 1.0, 0.25], 1e-9);
    }

    proptest! {
        #[test]
        fn every_player_gains_the_same(vectors in gradients()) {
            let products = gram(&vectors);
            // Nearly canceling gradients have a solution far away; those are told apart above.
            let k = vectors.len();
            let cosines: Vec<Vec<f64>> = (0..k).map(|i| (0..k)
                .map(|j| products[i][j] / (products[i][i] * products[j][j]).sqrt()).collect()).collect();
            prop_assume!(min_norm::value(&cosines, &min_norm::weights(&cosines)) > 1e-4);
            let weights = bargain(&products);
            for (product, weight) in times(&products, &weights).iter().zip(&weights) {
                prop_assert!((product * weight - 1.0).abs() < 1e-8, "{}", product * weight);
            }
            let way = combined(&vectors, &weights);
            prop_assert!((dot(&way, &way) - k as f64).abs() < 1e-7);
        }
    }
}
