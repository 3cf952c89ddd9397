//! `dtp`, dynamic task prioritization: objectives with less progress get larger weights (Guo et al., 2018).
//!
//! Each objective has a progress κ_k in (0, 1) with a moving average κ̄_k ← a κ_k + (1 − a) κ̄_k; its loss gets the weight
//! −(1 − κ̄_k)^γ ln κ̄_k. The paper measures accuracy, which needs labels; here progress is the relative decrease of the
//! loss, κ_k = 1 − L_k / L_k⁽⁰⁾ with the loss of the first step, clipped to [0.01, 0.99].

use serde::{Deserialize, Serialize};

use super::{MixWeights, Mixer, MixerFactory, MixerInput, WeightBounds, nonzero_scale};
use crate::coordinator::{from_json, to_json};
use crate::error::Result;
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// Entry in the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "dtp",
    summary: "larger weights for losses that have decreased less",
    paper: "Guo et al., Dynamic Task Prioritization for Multitask Learning, ECCV 2018",
    keys: KEYS,
    defaults: || setting::table_of(&DtpSettings::default()),
    build: |table| {
        let settings: DtpSettings = setting::settings("mix.dtp", KEYS, table)?;
        Ok(Box::new(move |_| Box::new(Dtp { settings: settings.clone(), state: None })))
    },
};

const KEYS: &[Key] = &[
    Key::new("average", Range::Number(1e-6, 1.0), "EMA coefficient of new values in the progress"),
    Key::new("gamma", Range::Number(0.0, 100.0), "how strongly progress lowers a weight"),
];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct DtpSettings {
    average: f64,
    gamma: f64,
}

impl Default for DtpSettings {
    fn default() -> Self {
        DtpSettings { average: 0.1, gamma: 1.0 }
    }
}

/// Progress is kept this far from 0 and 1.
const MARGIN: f64 = 0.01;

struct Dtp {
    settings: DtpSettings,
    state: Option<DtpState>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct DtpState {
    /// The losses at the first step.
    first: Vec<f64>,
    /// Moving averages of progress.
    progress: Vec<f64>,
}

impl Mixer for Dtp {
    fn mix(&mut self, input: &MixerInput<'_>) -> MixWeights {
        let DtpSettings { average, gamma } = self.settings;
        let state = self.state.get_or_insert_with(|| DtpState {
            first: input.loss.to_vec(),
            progress: vec![MARGIN; input.loss.len()],
        });
        for (k, progress) in state.progress.iter_mut().enumerate() {
            let fallen = 1.0 - input.loss[k] / nonzero_scale(state.first[k]);
            *progress = average * fallen.clamp(MARGIN, 1.0 - MARGIN) + (1.0 - average) * *progress;
        }
        MixWeights::for_losses(state.progress.iter().map(|&k| -(1.0 - k).powf(gamma) * k.ln()).collect())
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
    fn weights_follow_progress_and_do_not_depend_on_the_scale_of_a_loss() {
        let run = |unit: [f64; 2]| {
            let mut mixer = mixer(&ENTRY, "", 2);
            let mut last = mixer.mix(&input(0, &unit, &[])).encoder;
            assert_close(&last, &[-0.99 * 0.01f64.ln(); 2], 1e-9);
            for step in 1..300 {
                last = mixer.mix(&input(step, &[0.2 * unit[0], 0.7 * unit[1]], &[])).encoder;
            }
            last
        };
        let settled = run([1.0, 1.0]);
        // −(1 − κ) ln κ at κ = 0.8 and 0.3
        assert_close(&settled, &[-0.2 * 0.8f64.ln(), -0.7 * 0.3f64.ln()], 1e-6);
        assert_close(&run([40.0, 0.01]), &settled, 1e-9);
    }

    #[test]
    fn an_increasing_loss_counts_as_no_progress() {
        let mut mixer = mixer(&ENTRY, "average = 1", 1);
        let first = mixer.mix(&input(0, &[1.0], &[])).encoder;
        assert_eq!(mixer.mix(&input(1, &[5.0], &[])).encoder, first);
    }
}
