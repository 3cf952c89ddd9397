//! `pcgrad`: where two gradients conflict, each gives up its part against the other (Yu et al., 2020, algorithm 1).
//!
//! For each objective i: v_i = g_i; for every j ≠ i in a fresh random order, where ⟨v_i, g_j⟩ < 0:
//! v_i ← v_i − ⟨v_i, g_j⟩ / ‖g_j‖² · g_j, with g_j as it was. Then d = Σ v_i. Each v_i is kept as its coefficients in
//! the g_j, so inner products are all it takes. The authors' code shuffles without effect; here the order is random, as
//! in the paper.

use serde::{Deserialize, Serialize};

use super::{MixWeights, Mixer, MixerFactory, MixerInput, MixerNeeds, WeightBounds, dot};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};

/// On the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "pcgrad",
    summary: "conflicting gradients are projected onto each other's normal plane, then added",
    paper: "Yu et al., Gradient Surgery for Multi-Task Learning, NeurIPS 2020",
    keys: KEYS,
    defaults: || setting::table_of(&PcGradSettings::default()),
    build: |table| {
        let settings: PcGradSettings = setting::settings("mix.pcgrad", KEYS, table)?;
        Ok(Box::new(move |setup| Box::new(PcGrad { mean: settings.reduction == "mean", seed: setup.seed })))
    },
};

const KEYS: &[Key] = &[Key::new(
    "reduction",
    Range::OneOf(&["sum", "mean"]),
    "the projected gradients are added, or averaged",
)];

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

/// A gradient with a smaller square is not projected on.
const LEAST_SQUARE: f64 = 1e-12;

struct PcGrad {
    mean: bool,
    seed: u64,
}

impl Mixer for PcGrad {
    fn needs(&self) -> MixerNeeds {
        MixerNeeds { gram: true, ..MixerNeeds::default() }
    }

    fn mix(&mut self, seen: &MixerInput<'_>) -> MixWeights {
        let mut stream = Stream::new(self.seed, "mix", "pcgrad", seen.step);
        let mut weights = project(seen.gram, |order| stream.shuffle(order));
        if self.mean {
            let share = 1.0 / weights.len() as f64;
            weights.iter_mut().for_each(|weight| *weight *= share);
        }
        MixWeights::of_encoder(weights)
    }

    fn weight_bounds(&self) -> WeightBounds {
        // Every gradient counts once, and projections only add to the others.
        WeightBounds::at_least(0.0)
    }
}

/// The coefficients of Σ v_i; `arrange` puts the others of each objective in the order of their visits.
pub(super) fn project(gram: &[Vec<f64>], mut arrange: impl FnMut(&mut [usize])) -> Vec<f64> {
    let k = gram.len();
    let mut total = vec![0.0; k];
    for i in 0..k {
        let mut own = vec![0.0; k];
        own[i] = 1.0;
        let mut others: Vec<usize> = (0..k).filter(|&j| j != i).collect();
        arrange(&mut others);
        for j in others {
            let along = dot(&gram[j], &own);
            if along < 0.0 && gram[j][j] > LEAST_SQUARE {
                own[j] -= along / gram[j][j];
            }
        }
        total.iter_mut().zip(&own).for_each(|(total, own)| *total += own);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, combined, gradients, gram, mixer, seen};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_that_conflict_give_way_and_two_that_agree_are_added() {
        let conflicting = vec![vec![1.0, 0.0], vec![-0.5, 1.0]];
        let weights = project(&gram(&conflicting), |_| {});
        // v₁ = g₁ + 0.4 g₂, v₂ = g₂ + 0.5 g₁
        assert_close(&weights, &[1.5, 1.4], 1e-12);
        let agreeing = vec![vec![1.0, 0.5], vec![0.5, 1.0]];
        assert_close(&project(&gram(&agreeing), |_| {}), &[1.0, 1.0], 1e-12);
    }

    #[test]
    fn orders_differ_from_step_to_step_and_repeat_with_the_seed() {
        let three = vec![vec![1.0, 0.0, 0.2], vec![-0.7, 0.6, 0.1], vec![-0.4, -0.9, 0.5]];
        let products = gram(&three);
        let run = || -> Vec<Vec<f64>> {
            let mut mixer = mixer(&ENTRY, "reduction = 'mean'", 3);
            (0..20).map(|step| mixer.mix(&seen(step, &[1.0; 3], &products)).encoder).collect()
        };
        let first = run();
        assert_eq!(first, run());
        assert!(first.iter().any(|weights| *weights != first[0]));
    }

    proptest! {
        #[test]
        fn two_never_go_against_either(vectors in gradients()) {
            let pair = &vectors[..vectors.len().min(2)];
            let way = combined(pair, &project(&gram(pair), |_| {}));
            for g in pair {
                prop_assert!(dot(g, &way) >= -1e-9 * dot(g, g).sqrt() * dot(&way, &way).sqrt());
            }
        }

        #[test]
        fn scaling_all_gradients_changes_no_weight(vectors in gradients(), scale in 0.1f64..10.0) {
            let scaled: Vec<Vec<f64>> = vectors.iter().map(|g| g.iter().map(|x| x * scale).collect()).collect();
            assert_close(&project(&gram(&scaled), |_| {}), &project(&gram(&vectors), |_| {}), 1e-9);
        }
    }
}
