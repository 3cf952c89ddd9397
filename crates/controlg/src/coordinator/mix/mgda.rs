//! `mgda` and `paretognn`: the minimum-norm point in the convex hull of the gradients.
//!
//! λ* = argmin ½ λᵀMλ over the simplex, where M is the Gram matrix of the gradients, each divided by its c_k (`normalize`).
//! The point Σ λ_k g_k/c_k increases no loss to first order; it is zero at Pareto-stationary points.
//!
//! *MGDA* (Désidéri, 2012) steps along that point; heads use their own gradients. *ParetoGNN* (Ju et al., 2023) computes
//! λ* from normalized gradients, then steps on Σ λ*_k L_k with the raw losses, heads included: with `l2` its direction is
//! Σ λ_k g_k rather than Σ λ_k g_k/‖g_k‖, which may increase a loss. That is the published method.

use serde::{Deserialize, Serialize};

use super::{MixWeights, Mixer, MixerFactory, MixerInput, MixerNeeds, WeightBounds, nonzero_scale};
use crate::coordinator::min_norm;
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// MGDA in the list of methods.
pub(in crate::coordinator) const MGDA: Entry<MixerFactory> = Entry {
    name: "mgda",
    summary: "step along the minimum-norm point in the convex hull of the gradients",
    paper: "Désidéri, Multiple-Gradient Descent Algorithm (MGDA) for Multiobjective Optimization, C. R. Math. 2012",
    keys: MGDA_KEYS,
    defaults: || setting::table_of(&MgdaSettings::default()),
    build: |table| {
        let MgdaSettings { normalize } = setting::settings("mix.mgda", MGDA_KEYS, table)?;
        Ok(Box::new(move |_| Box::new(MinNorm { normalize, rule: Rule::Mgda })))
    },
};

/// ParetoGNN in the list of methods.
pub(in crate::coordinator) const PARETOGNN: Entry<MixerFactory> = Entry {
    name: "paretognn",
    summary: "losses weighted by the minimum-norm point of their normalized gradients",
    paper: "Ju et al., Multi-task Self-supervised Graph Neural Networks Enable Stronger Task Generalization, ICLR 2023",
    keys: PARETOGNN_KEYS,
    defaults: || setting::table_of(&ParetoGnnSettings::default()),
    build: |table| {
        let ParetoGnnSettings { normalize, use_pareto } =
            setting::settings("mix.paretognn", PARETOGNN_KEYS, table)?;
        let rule = if use_pareto { Rule::ParetoGnn } else { Rule::Sum };
        Ok(Box::new(move |_| Box::new(MinNorm { normalize, rule })))
    },
};

const NORMALIZE: Key = Key::new(
    "normalize",
    Range::OneOf(&["l2", "loss", "loss+", "none"]),
    "divisor of each gradient when computing the weights: its norm, its loss, both, or none",
);
const MGDA_KEYS: &[Key] = &[NORMALIZE];
const PARETOGNN_KEYS: &[Key] = &[
    NORMALIZE,
    Key::new("use_pareto", Range::Flag, "compute weights from the gradients; if false, sum the losses"),
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

struct MinNorm {
    normalize: GradientNormalization,
    rule: Rule,
}

impl Mixer for MinNorm {
    fn needs(&self) -> MixerNeeds {
        MixerNeeds { gram: self.rule != Rule::Sum, ..MixerNeeds::default() }
    }

    fn mix(&mut self, input: &MixerInput<'_>) -> MixWeights {
        let k = input.loss.len();
        if self.rule == Rule::Sum {
            return MixWeights::for_losses(vec![1.0; k]);
        }
        let divisors: Vec<f64> =
            (0..k).map(|a| self.divisor(input.loss[a], input.gram[a][a].sqrt())).collect();
        let normalized: Vec<Vec<f64>> = (0..k)
            .map(|a| (0..k).map(|b| input.gram[a][b] / (divisors[a] * divisors[b])).collect())
            .collect();
        let weights = min_norm_weights(&normalized);
        if self.rule == Rule::ParetoGnn {
            return MixWeights::for_losses(weights);
        }
        MixWeights::for_encoder(
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

impl MinNorm {
    fn divisor(&self, loss: f64, norm: f64) -> f64 {
        match self.normalize {
            GradientNormalization::L2 => nonzero_scale(norm),
            GradientNormalization::Loss => nonzero_scale(loss),
            GradientNormalization::LossAndL2 => nonzero_scale(loss * norm),
            GradientNormalization::None => 1.0,
        }
    }
}

/// Weights of the minimum-norm point. The gradients are scaled first, because the solver's ridge is not scale-free.
pub(super) fn min_norm_weights(gram: &[Vec<f64>]) -> Vec<f64> {
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
    use super::super::testing::{assert_close, combined, gradients, gram, input, mixer};
    use super::super::{dot, times};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paretognn_weights_raw_losses_and_mgda_normalized_gradients() {
        // Orthogonal gradients of norms 1 and 2: equal weights after l2.
        let products = [vec![1.0, 0.0], vec![0.0, 4.0]];
        let mixed = |entry, table| mixer(entry, table, 2).mix(&input(0, &[1.0, 2.0], &products));
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
    fn weights_do_not_depend_on_scale_and_zero_gradients_get_equal_ones() {
        let three = vec![vec![1.0, -0.2, 0.3], vec![-0.6, 0.4, 0.1], vec![0.1, 0.5, -0.9]];
        let small: Vec<Vec<f64>> = three.iter().map(|g| g.iter().map(|x| x * 1e-7).collect()).collect();
        assert_close(&min_norm_weights(&gram(&small)), &min_norm_weights(&gram(&three)), 1e-9);
        assert_close(&min_norm_weights(&[vec![0.0; 2], vec![0.0; 2]]), &[0.5, 0.5], 1e-12);
    }

    proptest! {
        #[test]
        fn no_loss_increases_and_frank_wolfe_agrees(vectors in gradients()) {
            let products = gram(&vectors);
            let weights = mixer(&MGDA, "", vectors.len())
                .mix(&input(0, &vec![1.0; vectors.len()], &products)).encoder;
            prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let direction = combined(&vectors, &weights);
            let longest = vectors.iter().map(|g| dot(g, g)).fold(0.0, f64::max);
            let value = dot(&direction, &direction);
            // KKT: the projection of every gradient onto the direction is at least as long as the direction.
            for slope in times(&products, &weights) {
                prop_assert!(slope >= value - 1e-8 * longest, "{slope} below {value}");
            }
            let iterated = min_norm::value(&products, &min_norm::frank_wolfe(&products, 20_000));
            prop_assert!(iterated >= value - 1e-8 * longest && iterated - value < 1e-3 * longest);
        }
    }
}
