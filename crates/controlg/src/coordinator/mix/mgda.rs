//! `mgda` and `paretognn`: the point of least norm in the convex hull of the gradients.
//!
//! λ* = argmin ½ λᵀMλ over the simplex, M the inner products of the gradients, each divided by its c_k (`normalize`).
//! Its point Σ λ_k g_k/c_k goes against no objective, and is zero where none can gain without another's loss.
//!
//! *MGDA* (Désidéri, 2012) goes along that point; heads keep their own gradients. *ParetoGNN* (Ju et al., 2023) takes
//! λ* from normalized gradients and then steps on Σ λ*_k L_k with the raw losses, heads included: with `l2` its way is
//! Σ λ_k g_k and not Σ λ_k g_k/‖g_k‖, and may go against an objective. That is the published method.

use serde::{Deserialize, Serialize};

use super::{MixWeights, Mixer, MixerFactory, MixerInput, MixerNeeds, WeightBounds, as_scale};
use crate::coordinator::min_norm;
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// MGDA on the list of methods.
pub(in crate::coordinator) const MGDA: Entry<MixerFactory> = Entry {
    name: "mgda",
    summary: "every step along the point of least norm between all gradients",
    paper: "Désidéri, Multiple-Gradient Descent Algorithm (MGDA) for Multiobjective Optimization, C. R. Math. 2012",
    keys: MGDA_KEYS,
    defaults: || setting::table_of(&MgdaSettings::default()),
    build: |table| {
        let MgdaSettings { normalize } = setting::settings("mix.mgda", MGDA_KEYS, table)?;
        Ok(Box::new(move |_| Box::new(LeastNorm { normalize, rule: Rule::Mgda })))
    },
};

/// ParetoGNN on the list of methods.
pub(in crate::coordinator) const PARETOGNN: Entry<MixerFactory> = Entry {
    name: "paretognn",
    summary: "losses weighted by the point of least norm between their normalized gradients",
    paper: "Ju et al., Multi-task Self-supervised Graph Neural Networks Enable Stronger Task Generalization, ICLR 2023",
    keys: PARETOGNN_KEYS,
    defaults: || setting::table_of(&ParetoGnnSettings::default()),
    build: |table| {
        let ParetoGnnSettings { normalize, use_pareto } =
            setting::settings("mix.paretognn", PARETOGNN_KEYS, table)?;
        let rule = if use_pareto { Rule::ParetoGnn } else { Rule::Sum };
        Ok(Box::new(move |_| Box::new(LeastNorm { normalize, rule })))
    },
};

const NORMALIZE: Key = Key::new(
    "normalize",
    Range::OneOf(&["l2", "loss", "loss+", "none"]),
    "each gradient is divided by its length, its loss, both, or nothing before the weights are sought",
);
const MGDA_KEYS: &[Key] = &[NORMALIZE];
const PARETOGNN_KEYS: &[Key] = &[
    NORMALIZE,
    Key::new("use_pareto", Range::Flag, "weights from the gradients; without it every loss counts once"),
];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct MgdaSettings {
    normalize: GradientNormalization,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct ParetoGnnSettings {
    normalize: GradientNormalization,
    use_pareto: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum GradientNormalization {
    L2,
    Loss,
    #[serde(rename = "loss+")]
    LossAndL2,
    None,
}

impl Default for MgdaSettings {
    fn default() -> Self {
        MgdaSettings { normalize: GradientNormalization::None }
    }
}

impl Default for ParetoGnnSettings {
    fn default() -> Self {
        ParetoGnnSettings { normalize: GradientNormalization::L2, use_pareto: true }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Mgda,
    ParetoGnn,
    /// The sum of all losses.
    Sum,
}

struct LeastNorm {
    normalize: GradientNormalization,
    rule: Rule,
}

impl Mixer for LeastNorm {
    fn needs(&self) -> MixerNeeds {
        MixerNeeds { gram: self.rule != Rule::Sum, ..MixerNeeds::default() }
    }

    fn mix(&mut self, seen: &MixerInput<'_>) -> MixWeights {
        let k = seen.loss.len();
        if self.rule == Rule::Sum {
            return MixWeights::of_losses(vec![1.0; k]);
        }
        let divisors: Vec<f64> = (0..k).map(|a| self.divisor(seen.loss[a], seen.gram[a][a].sqrt())).collect();
        let normalized: Vec<Vec<f64>> =
            (0..k).map(|a| (0..k).map(|b| seen.gram[a][b] / (divisors[a] * divisors[b])).collect()).collect();
        let weights = of_least_norm(&normalized);
        if self.rule == Rule::ParetoGnn {
            return MixWeights::of_losses(weights);
        }
        MixWeights::of_encoder(
            weights.iter().zip(&divisors).map(|(weight, divisor)| weight / divisor).collect(),
        )
    }

    fn weight_bounds(&self) -> WeightBounds {
        match (self.rule, self.normalize) {
            (Rule::Mgda, GradientNormalization::None) | (Rule::ParetoGnn, _) => WeightBounds::SIMPLEX,
            (Rule::Mgda, _) => WeightBounds::at_least(0.0),
            (Rule::Sum, _) => WeightBounds::at_least(1.0),
        }
    }
}

impl LeastNorm {
    fn divisor(&self, loss: f64, length: f64) -> f64 {
        match self.normalize {
            GradientNormalization::L2 => as_scale(length),
            GradientNormalization::Loss => as_scale(loss),
            GradientNormalization::LossAndL2 => as_scale(loss * length),
            GradientNormalization::None => 1.0,
        }
    }
}

/// The weights of the point of least norm. They do not depend on the gradients' unit, but the solver's small ridge does:
/// the longest gradient gets length 1.
pub(super) fn of_least_norm(gram: &[Vec<f64>]) -> Vec<f64> {
    let longest = (0..gram.len()).map(|k| gram[k][k]).fold(0.0, f64::max);
    if longest <= 0.0 {
        return min_norm::weights(gram);
    }
    let scaled: Vec<Vec<f64>> =
        gram.iter().map(|row| row.iter().map(|product| product / longest).collect()).collect();
    min_norm::weights(&scaled)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, combined, gradients, gram, mixer, seen};
    use super::super::{dot, times};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paretognn_weighs_raw_losses_and_mgda_normalized_gradients() {
        // Orthogonal gradients of lengths 1 and 2: equal weights after l2.
        let products = [vec![1.0, 0.0], vec![0.0, 4.0]];
        let mixed = |entry, table| mixer(entry, table, 2).mix(&seen(0, &[1.0, 2.0], &products));
        let pareto = mixed(&PARETOGNN, "");
        assert_close(&pareto.encoder, &[0.5, 0.5], 1e-9);
        assert_eq!(pareto.heads, pareto.encoder);
        assert_close(&mixed(&MGDA, "normalize = 'l2'").encoder, &[0.5, 0.25], 1e-9);
        assert_close(&mixed(&MGDA, "").encoder, &[0.8, 0.2], 1e-9);
        // Gradients 1 and 1 after division by the loss, 1 and ½ after division by both.
        assert_close(&mixed(&MGDA, "normalize = 'loss'").encoder, &[0.5, 0.25], 1e-9);
        assert_close(&mixed(&PARETOGNN, "normalize = 'loss+'").encoder, &[0.2, 0.8], 1e-9);
        assert_eq!(mixed(&PARETOGNN, "use_pareto = false").encoder, [1.0, 1.0]);
    }

    #[test]
    fn small_gradients_get_the_same_weights_and_none_at_all_equal_ones() {
        let three = vec![vec![1.0, -0.2, 0.3], vec![-0.6, 0.4, 0.1], vec![0.1, 0.5, -0.9]];
        let small: Vec<Vec<f64>> = three.iter().map(|g| g.iter().map(|x| x * 1e-7).collect()).collect();
        assert_close(&of_least_norm(&gram(&small)), &of_least_norm(&gram(&three)), 1e-9);
        assert_close(&of_least_norm(&[vec![0.0; 2], vec![0.0; 2]]), &[0.5, 0.5], 1e-12);
    }

    proptest! {
        #[test]
        fn no_objective_is_gone_against_and_frank_wolfe_agrees(vectors in gradients()) {
            let products = gram(&vectors);
            let weights = mixer(&MGDA, "", vectors.len())
                .mix(&seen(0, &vec![1.0; vectors.len()], &products)).encoder;
            prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let way = combined(&vectors, &weights);
            let longest = vectors.iter().map(|g| dot(g, g)).fold(0.0, f64::max);
            let value = dot(&way, &way);
            // Karush, Kuhn, Tucker: no gradient's part along the way is shorter than the way itself.
            for slope in times(&products, &weights) {
                prop_assert!(slope >= value - 1e-8 * longest, "{slope} below {value}");
            }
            let iterated = min_norm::value(&products, &min_norm::frank_wolfe(&products, 20_000));
            prop_assert!(iterated >= value - 1e-8 * longest && iterated - value < 1e-3 * longest);
        }
    }
}
