//! `gradnorm`: loss weights that balance gradient norms, larger for objectives that lag behind (Chen et al., 2018).
//!
//! G_k = w_k ‖∂L_k/∂W‖ at the weight W of the last shared layer; ℓ_k = L_k / L_k⁽⁰⁾ with the loss of the first step;
//! r_k = ℓ_k / mean ℓ. Each G_k is pulled towards the constant target mean(G)·r_k^α:
//! ∂/∂w_k Σ|G_k − target_k| = sign(G_k − target_k) ‖∂L_k/∂W‖. The weights take one Adam step, are bounded below by 1e-3
//! and scaled to sum to K. The network steps on Σ w_k L_k.

use serde::{Deserialize, Serialize};

use super::adam::WeightAdam;
use super::{MixWeights, Mixer, MixerFactory, MixerInput, MixerNeeds, WeightBounds, nonzero_scale};
use crate::coordinator::{from_json, to_json};
use crate::error::Result;
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// Entry in the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "gradnorm",
    summary: "loss weights that balance gradient norms, larger for losses that lag behind",
    paper: "Chen et al., GradNorm: Gradient Normalization for Adaptive Loss Balancing, ICML 2018",
    keys: KEYS,
    defaults: || setting::table_of(&GradNormSettings::default()),
    build: |table| {
        let settings: GradNormSettings = setting::settings("mix.gradnorm", KEYS, table)?;
        Ok(Box::new(move |context| {
            let state =
                GradNormState { weights: vec![1.0; context.n_objectives], ..GradNormState::default() };
            Box::new(GradNorm { settings: settings.clone(), state })
        }))
    },
};

const KEYS: &[Key] = &[
    Key::new("alpha", Range::Number(0.0, 100.0), "how strongly a lagging loss raises its weight"),
    Key::new("lr", Range::Number(0.0, 10.0), "learning rate of the weights"),
];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct GradNormSettings {
    alpha: f64,
    lr: f64,
}

impl Default for GradNormSettings {
    fn default() -> Self {
        GradNormSettings { alpha: 1.5, lr: 0.025 }
    }
}

/// Lower bound of the weights before scaling.
const MIN_WEIGHT: f64 = 1e-3;

struct GradNorm {
    settings: GradNormSettings,
    state: GradNormState,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct GradNormState {
    weights: Vec<f64>,
    /// The losses at the first step.
    first: Option<Vec<f64>>,
    adam: WeightAdam,
}

impl Mixer for GradNorm {
    fn needs(&self) -> MixerNeeds {
        MixerNeeds { last_layer: true, ..MixerNeeds::default() }
    }

    fn mix(&mut self, input: &MixerInput<'_>) -> MixWeights {
        let GradNormState { weights, first, adam } = &mut self.state;
        let mixture = MixWeights::for_losses(weights.clone());
        let first = first.get_or_insert_with(|| input.loss.to_vec());
        let n = weights.len() as f64;
        let relative: Vec<f64> =
            input.loss.iter().zip(first.iter()).map(|(now, &then)| now / nonzero_scale(then)).collect();
        let (mean_relative, norms) = (relative.iter().sum::<f64>() / n, input.last_layer);
        let mean_norm = weights.iter().zip(norms).map(|(w, norm)| w * norm).sum::<f64>() / n;
        let gradient: Vec<f64> = (0..weights.len())
            .map(|k| {
                let rate = (relative[k] / nonzero_scale(mean_relative)).max(0.0).powf(self.settings.alpha);
                let gap = weights[k] * norms[k] - mean_norm * rate;
                if gap == 0.0 { 0.0 } else { gap.signum() * norms[k] }
            })
            .collect();
        adam.step(self.settings.lr, weights, &gradient);
        weights.iter_mut().for_each(|weight| *weight = weight.max(MIN_WEIGHT));
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight *= n / total);
        mixture
    }

    fn weight_bounds(&self) -> WeightBounds {
        WeightBounds { sum: Some(self.state.weights.len() as f64), ..WeightBounds::at_least(0.0) }
    }

    fn save(&self) -> Result<String> {
        to_json(&self.state)
    }

    fn restore(&mut self, saved: &str) -> Result<()> {
        self.state = from_json(saved)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::mixer;
    use super::*;

    /// The weights after some steps with these losses and gradient norms.
    fn after(steps: u64, losses: [f64; 3], norms: [f64; 3]) -> Vec<f64> {
        let mut mixer = mixer(&ENTRY, "", 3);
        mixer.mix(&MixerInput { step: 0, loss: &[1.0; 3], gram: &[], last_layer: &norms, nodes: None });
        let mut weights = Vec::new();
        for step in 1..=steps {
            weights = mixer
                .mix(&MixerInput { step, loss: &losses, gram: &[], last_layer: &norms, nodes: None })
                .encoder;
            assert!((weights.iter().sum::<f64>() - 3.0).abs() < 1e-9 && weights.iter().all(|&w| w > 0.0));
        }
        weights
    }

    #[test]
    fn equal_gradients_and_rates_keep_equal_weights() {
        assert_eq!(after(50, [0.7; 3], [2.0; 3]), [1.0; 3]);
    }

    #[test]
    fn weights_converge_to_equal_gradient_norms() {
        let norms = [1.0, 2.0, 4.0];
        let weights = after(3000, [0.5; 3], norms);
        let products: Vec<f64> = weights.iter().zip(norms).map(|(w, norm)| w * norm).collect();
        let mean = products.iter().sum::<f64>() / 3.0;
        assert!(products.iter().all(|x| (x / mean - 1.0).abs() < 0.1), "{products:?}");
    }

    #[test]
    fn a_lagging_loss_gains_weight() {
        let weights = after(400, [0.9, 0.5, 0.5], [1.0; 3]);
        assert!(weights[0] > 1.2 && weights[1] < 1.0, "{weights:?}");
    }
}
