//! `uniform`: the mean of all losses, d = (1/K) Σ g_k; with `init_normalized` each loss is divided by its first value.

use serde::{Deserialize, Serialize};

use super::{MixWeights, Mixer, MixerFactory, MixerInput, WeightBounds, nonzero_scale};
use crate::coordinator::{from_json, to_json};
use crate::error::Result;
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// Entry in the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "uniform",
    summary: "the mean of all losses at every step",
    paper: "",
    keys: KEYS,
    defaults: || setting::table_of(&UniformSettings::default()),
    build: |table| {
        let settings: UniformSettings = setting::settings("mix.uniform", KEYS, table)?;
        Ok(Box::new(move |_| Box::new(Uniform { settings: settings.clone(), first: None })))
    },
};

const KEYS: &[Key] =
    &[Key::new("init_normalized", Range::Flag, "divide each loss by its value at the first step")];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct UniformSettings {
    init_normalized: bool,
}

struct Uniform {
    settings: UniformSettings,
    /// The losses at the first step.
    first: Option<Vec<f64>>,
}

impl Mixer for Uniform {
    fn mix(&mut self, input: &MixerInput<'_>) -> MixWeights {
        let share = 1.0 / input.loss.len() as f64;
        if !self.settings.init_normalized {
            return MixWeights::for_encoder(vec![share; input.loss.len()]);
        }
        let first = self.first.get_or_insert_with(|| input.loss.to_vec());
        MixWeights::for_encoder(first.iter().map(|&loss| share / nonzero_scale(loss)).collect())
    }

    fn weight_bounds(&self) -> WeightBounds {
        if self.settings.init_normalized { WeightBounds::at_least(0.0) } else { WeightBounds::SIMPLEX }
    }

    fn save(&self) -> Result<String> {
        to_json(&self.first)
    }

    fn restore(&mut self, saved: &str) -> Result<()> {
        self.first = from_json(saved)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{input, mixer};
    use super::*;

    #[test]
    fn weights_are_uniform_or_inverse_to_the_first_losses() {
        let mut plain = mixer(&ENTRY, "", 2);
        assert_eq!(plain.mix(&input(0, &[3.0, 1.0], &[])).encoder, [0.5, 0.5]);
        let mut normalized = mixer(&ENTRY, "init_normalized = true", 2);
        for losses in [[4.0, 0.5], [9.0, 9.0]] {
            assert_eq!(normalized.mix(&input(0, &losses, &[])).encoder, [0.125, 1.0]);
        }
    }
}
