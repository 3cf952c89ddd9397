//! `cagrad`, conflict-averse gradient descent: near the mean gradient, the direction that maximizes the smallest decrease
//! of a loss (Liu et al., 2021).
//!
//! With g₀ = (1/K) Σ g_k and g_w = Σ w_k g_k: w* = argmin ⟨g_w, g₀⟩ + c ‖g₀‖ ‖g_w‖ over the simplex, then
//! d = (g₀ + c ‖g₀‖/‖g_w‖ · g_w) / (1 + c²). With c = 0 it is the mean, with c → ∞ MGDA's direction. The authors also
//! multiply by K, to match a sum of losses; here it stays a mean.

use serde::{Deserialize, Serialize};

use super::{MixWeights, Mixer, MixerFactory, MixerInput, MixerNeeds, WeightBounds, dot, simplex, times};
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// Entry in the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "cagrad",
    summary: "near the mean gradient, maximize the smallest decrease of a loss",
    paper: "Liu et al., Conflict-Averse Gradient Descent for Multi-task Learning, NeurIPS 2021",
    keys: KEYS,
    defaults: || setting::table_of(&CaGradSettings::default()),
    build: |table| {
        let settings: CaGradSettings = setting::settings("mix.cagrad", KEYS, table)?;
        Ok(Box::new(move |_| Box::new(CaGrad(settings.clone()))))
    },
};

const KEYS: &[Key] = &[
    Key::new("c", Range::Number(0.0, 1e6), "maximum distance from the mean gradient, relative to its norm"),
    Key::new("max_iter", Range::Whole(1, 10_000), "iterations of the solver"),
];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct CaGradSettings {
    c: f64,
    max_iter: usize,
}

impl Default for CaGradSettings {
    fn default() -> Self {
        CaGradSettings { c: 0.4, max_iter: 50 }
    }
}

/// Bounds the square root away from zero; the gradients have mean square 1 there.
const ROOT_EPSILON: f64 = 1e-8;

struct CaGrad(CaGradSettings);

impl Mixer for CaGrad {
    fn needs(&self) -> MixerNeeds {
        MixerNeeds { gram: true, ..MixerNeeds::default() }
    }

    fn mix(&mut self, input: &MixerInput<'_>) -> MixWeights {
        MixWeights::for_encoder(weights(input.gram, self.0.c, self.0.max_iter))
    }

    fn weight_bounds(&self) -> WeightBounds {
        WeightBounds::at_least(0.0)
    }
}

pub(super) fn weights(gram: &[Vec<f64>], c: f64, iterations: usize) -> Vec<f64> {
    let k = gram.len();
    let share = 1.0 / k as f64;
    let mean = vec![share; k];
    let unit = (0..k).map(|i| gram[i][i]).sum::<f64>() * share;
    if unit < f64::MIN_POSITIVE || c == 0.0 {
        return mean;
    }
    // Weights are scale-free, but the solver's epsilon and first step are not.
    let scaled: Vec<Vec<f64>> =
        gram.iter().map(|row| row.iter().map(|product| product / unit).collect()).collect();
    let with_mean = times(&scaled, &mean);
    let radius = c * dot(&with_mean, &mean).max(0.0).sqrt();
    let length = |w: &[f64]| (dot(&times(&scaled, w), w).max(0.0) + ROOT_EPSILON).sqrt();
    let value = |w: &[f64]| dot(w, &with_mean) + radius * length(w);
    let slope = |w: &[f64]| {
        let factor = radius / length(w);
        times(&scaled, w).iter().zip(&with_mean).map(|(own, mean)| mean + factor * own).collect()
    };
    let worst = simplex::minimize(k, iterations, value, slope);
    let factor = radius / length(&worst);
    worst.iter().map(|w| (share + factor * w) / (1.0 + c * c)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, combined, gradients, gram};
    use super::*;
    use crate::coordinator::min_norm;
    use proptest::prelude::*;

    #[test]
    fn the_known_vector() {
        let vectors = vec![vec![1.0, 0.0], vec![-0.5, 1.0]];
        let direction = combined(&vectors, &weights(&gram(&vectors), 0.5, 50));
        assert_close(&direction, &[0.36631, 0.54947], 1e-5);
    }

    #[test]
    fn large_c_gives_the_min_norm_direction() {
        let vectors = vec![vec![1.0, 0.3, -0.2], vec![-0.4, 0.9, 0.3], vec![0.2, -0.3, 0.8]];
        let direction = combined(&vectors, &weights(&gram(&vectors), 1e4, 500));
        let least = combined(&vectors, &min_norm::weights(&gram(&vectors)));
        let cosine = dot(&direction, &least) / (dot(&direction, &direction) * dot(&least, &least)).sqrt();
        assert!(cosine > 1.0 - 1e-6, "{cosine}");
    }

    proptest! {
        #[test]
        fn without_c_it_is_the_mean_and_the_scale_does_not_matter(vectors in gradients(), power in -30i32..30) {
            let k = vectors.len();
            prop_assert_eq!(weights(&gram(&vectors), 0.0, 50), vec![1.0 / k as f64; k]);
            // Scaling by a power of two is exact, so every step of the solver must agree.
            let scale = 2f64.powi(power);
            let scaled: Vec<Vec<f64>> = vectors.iter().map(|g| g.iter().map(|x| x * scale).collect()).collect();
            prop_assert_eq!(weights(&gram(&vectors), 0.4, 50), weights(&gram(&scaled), 0.4, 50));
        }

        #[test]
        fn the_direction_stays_near_the_mean(vectors in gradients(), c in 0.05f64..0.9) {
            let products = gram(&vectors);
            let mean = combined(&vectors, &vec![1.0 / vectors.len() as f64; vectors.len()]);
            let direction: Vec<f64> =
                combined(&vectors, &weights(&products, c, 100)).iter().map(|x| x * (1.0 + c * c)).collect();
            let gap: Vec<f64> = direction.iter().zip(&mean).map(|(a, b)| a - b).collect();
            let (gap, length) = (dot(&gap, &gap).sqrt(), dot(&mean, &mean).sqrt());
            prop_assert!(gap <= c * length * (1.0 + 1e-9) + 1e-12, "{gap} beyond {c} of {length}");
        }
    }
}
