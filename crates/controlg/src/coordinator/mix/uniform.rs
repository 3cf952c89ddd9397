//! `uniform`: the mean of all losses, d = (1/K) Σ g_k; with `init_normalised` each is divided by its first value.

use serde::{Deserialize, Serialize};

use super::{Mixer, Mixture, Promise, Recipe, Seen, as_scale};
use crate::coordinator::{from_json, to_json};
use crate::error::Result;
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// On the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<Recipe> = Entry {
    name: "uniform",
    summary: "every step the mean of all losses",
    paper: "",
    keys: KEYS,
    defaults: || setting::table_of(&Settings::default()),
    build: |table| {
        let settings: Settings = setting::settings("mix.uniform", KEYS, table)?;
        Ok(Box::new(move |_| Box::new(Uniform { settings: settings.clone(), first: None })))
    },
};

const KEYS: &[Key] = &[Key::new("init_normalised", Range::Flag, "each loss divided by its value at step 0")];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Settings {
    init_normalised: bool,
}

struct Uniform {
    settings: Settings,
    /// The losses at the first step.
    first: Option<Vec<f64>>,
}

impl Mixer for Uniform {
    fn mix(&mut self, seen: &Seen<'_>) -> Mixture {
        let share = 1.0 / seen.loss.len() as f64;
        if !self.settings.init_normalised {
            return Mixture::of_encoder(vec![share; seen.loss.len()]);
        }
        let first = self.first.get_or_insert_with(|| seen.loss.to_vec());
        Mixture::of_encoder(first.iter().map(|&loss| share / as_scale(loss)).collect())
    }

    fn promise(&self) -> Promise {
        if self.settings.init_normalised { Promise::at_least(0.0) } else { Promise::SIMPLEX }
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
    use super::super::testing::{mixer, seen};
    use super::*;

    #[test]
    fn the_mean_of_the_losses_or_of_their_shares_of_the_first() {
        let mut plain = mixer(&ENTRY, "", 2);
        assert_eq!(plain.mix(&seen(0, &[3.0, 1.0], &[])).encoder, [0.5, 0.5]);
        let mut normalised = mixer(&ENTRY, "init_normalised = true", 2);
        for losses in [[4.0, 0.5], [9.0, 9.0]] {
            assert_eq!(normalised.mix(&seen(0, &losses, &[])).encoder, [0.125, 1.0]);
        }
    }
}
