//! `uncertainty`: losses weighted by learned homoscedastic uncertainty (Kendall, Gal and Cipolla, 2018).
//!
//! L = Σ_k ½ e^{−s_k} L_k + ½ s_k, where Adam learns s_k at the network's learning rate:
//! ∂L/∂s_k = ½ (1 − e^{−s_k} L_k). At the optimum e^{s_k} = L_k, so the weights are proportional to 1/L_k.

use serde::{Deserialize, Serialize};

use super::adam::WeightAdam;
use super::{MixWeights, Mixer, MixerFactory, MixerInput, WeightBounds};
use crate::coordinator::{from_json, to_json};
use crate::error::Result;
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// Entry in the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "uncertainty",
    summary: "losses weighted by learned uncertainty",
    paper: "Kendall et al., Multi-Task Learning Using Uncertainty to Weigh Losses for Scene Geometry and Semantics, \
            CVPR 2018",
    keys: KEYS,
    defaults: || setting::table_of(&UncertaintySettings::default()),
    build: |table| {
        let settings: UncertaintySettings = setting::settings("mix.uncertainty", KEYS, table)?;
        Ok(Box::new(move |context| {
            let state = UncertaintyState {
                log_variance: vec![settings.init; context.n_objectives],
                adam: WeightAdam::default(),
            };
            Box::new(Uncertainty { lr: context.lr, state })
        }))
    },
};

const KEYS: &[Key] = &[Key::new("init", Range::Number(-20.0, 20.0), "initial log-variance")];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct UncertaintySettings {
    init: f64,
}

struct Uncertainty {
    lr: f64,
    state: UncertaintyState,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct UncertaintyState {
    log_variance: Vec<f64>,
    adam: WeightAdam,
}

impl Mixer for Uncertainty {
    fn mix(&mut self, input: &MixerInput<'_>) -> MixWeights {
        let UncertaintyState { log_variance, adam } = &mut self.state;
        let weights: Vec<f64> = log_variance.iter().map(|s| 0.5 * (-s).exp()).collect();
        let gradient: Vec<f64> =
            weights.iter().zip(input.loss).map(|(weight, loss)| 0.5 - weight * loss).collect();
        adam.step(self.lr, log_variance, &gradient);
        MixWeights::for_losses(weights)
    }

    fn weight_bounds(&self) -> WeightBounds {
        WeightBounds::at_least(0.0)
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
    use super::super::testing::{assert_close, input, mixer};
    use super::*;

    #[test]
    fn weights_converge_from_one_half_to_half_the_inverse_loss() {
        let losses = [0.4, 1.0, 3.0];
        let mut mixer = mixer(&ENTRY, "", 3);
        assert_eq!(mixer.mix(&input(0, &losses, &[])).encoder, [0.5; 3]);
        (1..5000).for_each(|step| {
            mixer.mix(&input(step, &losses, &[]));
        });
        let rest = mixer.mix(&input(5000, &losses, &[]));
        assert_close(&rest.encoder, &losses.map(|loss| 0.5 / loss), 1e-2);
        assert_eq!(rest.heads, rest.encoder);
    }

    #[test]
    fn the_optimum_is_a_fixed_point() {
        let mut mixer = mixer(&ENTRY, "init = 0.7", 2);
        let loss = 0.7f64.exp();
        for step in 0..20 {
            assert_close(&mixer.mix(&input(step, &[loss; 2], &[])).encoder, &[0.5 / loss; 2], 1e-6);
        }
    }
}
