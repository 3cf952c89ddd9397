//! `pcgrad`: projects conflicting gradients onto each other's normal plane (Yu et al., 2020, algorithm 1).
//!
//! For each objective i: v_i = g_i; then for every j ≠ i in random order, if ⟨v_i, g_j⟩ < 0:
//! v_i ← v_i − ⟨v_i, g_j⟩ / ‖g_j‖² · g_j, with the original g_j. Finally d = Σ v_i. Each v_i is stored as coefficients of
//! the g_j, so the Gram matrix suffices. The shuffle in the authors' code has no effect; here the order is random, as in
//! the paper.

use serde::{Deserialize, Serialize};

use super::{MixWeights, Mixer, MixerFactory, MixerInput, MixerNeeds, WeightBounds, dot};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};

/// Entry in the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "pcgrad",
    summary: "project conflicting gradients onto each other's normal plane, then sum",
    paper: "Yu et al., Gradient Surgery for Multi-Task Learning, NeurIPS 2020",
    keys: KEYS,
    defaults: || setting::table_of(&PcGradSettings::default()),
    build: |table| {
        let settings: PcGradSettings = setting::settings("mix.pcgrad", KEYS, table)?;
        Ok(Box::new(move |context| {
            Box::new(PcGrad { mean: settings.reduction == "mean", seed: context.seed })
        }))
    },
};

const KEYS: &[Key] =
    &[Key::new("reduction", Range::OneOf(&["sum", "mean"]), "sum or average the projected gradients")];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct PcGradSettings {
    reduction: String,
}

impl Default for PcGradSettings {
    fn default() -> Self {
        PcGradSettings { reduction: "sum".to_owned() }
    }
}

/// Gradients with a smaller squared norm are skipped.
const MIN_SQUARED_NORM: f64 = 1e-12;

struct PcGrad {
    mean: bool,
    seed: u64,
}

impl Mixer for PcGrad {
    fn needs(&self) -> MixerNeeds {
        MixerNeeds { gram: true, ..MixerNeeds::default() }
    }

    fn mix(&mut self, input: &MixerInput<'_>) -> MixWeights {
        let mut stream = Stream::new(self.seed, "mix", "pcgrad", input.step);
        let mut weights = project(input.gram, |order| stream.shuffle(order));
        if self.mean {
            let share = 1.0 / weights.len() as f64;
            weights.iter_mut().for_each(|weight| *weight *= share);
        }
        MixWeights::for_encoder(weights)
    }

    fn weight_bounds(&self) -> WeightBounds {
        // Every gradient starts with weight 1, and projections only increase weights.
        WeightBounds::at_least(0.0)
    }
}

/// The coefficients of Σ v_i; `shuffle` orders the other objectives.
pub(super) fn project(gram: &[Vec<f64>], mut shuffle: impl FnMut(&mut [usize])) -> Vec<f64> {
    let k = gram.len();
    let mut total = vec![0.0; k];
    for i in 0..k {
        let mut own = vec![0.0; k];
        own[i] = 1.0;
        let mut others: Vec<usize> = (0..k).filter(|&j| j != i).collect();
        shuffle(&mut others);
        for j in others {
            let along = dot(&gram[j], &own);
            if along < 0.0 && gram[j][j] > MIN_SQUARED_NORM {
                own[j] -= along / gram[j][j];
            }
        }
        total.iter_mut().zip(&own).for_each(|(total, own)| *total += own);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, combined, gradients, gram, input, mixer};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn conflicting_gradients_are_projected_and_others_summed() {
        let conflicting = vec![vec![1.0, 0.0], vec![-0.5, 1.0]];
        let weights = project(&gram(&conflicting), |_| {});
        // v₁ = g₁ + 0.4 g₂, v₂ = g₂ + 0.5 g₁
        assert_close(&weights, &[1.5, 1.4], 1e-12);
        let agreeing = vec![vec![1.0, 0.5], vec![0.5, 1.0]];
        assert_close(&project(&gram(&agreeing), |_| {}), &[1.0, 1.0], 1e-12);
    }

    #[test]
    fn orders_differ_between_steps_and_repeat_with_the_seed() {
        let three = vec![vec![1.0, 0.0, 0.2], vec![-0.7, 0.6, 0.1], vec![-0.4, -0.9, 0.5]];
        let products = gram(&three);
        let run = || -> Vec<Vec<f64>> {
            let mut mixer = mixer(&ENTRY, "reduction = 'mean'", 3);
            (0..20).map(|step| mixer.mix(&input(step, &[1.0; 3], &products)).encoder).collect()
        };
        let first = run();
        assert_eq!(first, run());
        assert!(first.iter().any(|weights| *weights != first[0]));
    }

    proptest! {
        #[test]
        fn with_two_gradients_no_loss_increases(vectors in gradients()) {
            let pair = &vectors[..vectors.len().min(2)];
            let direction = combined(pair, &project(&gram(pair), |_| {}));
            for g in pair {
                prop_assert!(dot(g, &direction) >= -1e-9 * dot(g, g).sqrt() * dot(&direction, &direction).sqrt());
            }
        }

        #[test]
        fn scaling_all_gradients_changes_no_weight(vectors in gradients(), scale in 0.1f64..10.0) {
            let scaled: Vec<Vec<f64>> = vectors.iter().map(|g| g.iter().map(|x| x * scale).collect()).collect();
            assert_close(&project(&gram(&scaled), |_| {}), &project(&gram(&vectors), |_| {}), 1e-9);
        }
    }
}
