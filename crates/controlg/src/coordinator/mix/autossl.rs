//! `autossl`: weights of the losses that are learned for pseudo-homophily (Jin et al., 2022, AutoSSL-DS).
//!
//! The step goes along Σ λ_k g_k, heads included. Then, every `meta_every` steps, the representations Z of the clean
//! graph are clustered by K-means into centers μ_j, which are held constant; p_v = softmax_j(−‖z_v − μ_j‖²/σ²), and
//! L_out is the mean of |p_u − p_v| over all edges uv and clusters. λ is moved against ∂L_out/∂λ by Adam and kept within
//! \[0, 1\]; it is not scaled to sum to one. One update of Adam lies between λ and the new parameters, so the derivative
//! is known in closed form and takes no second derivatives (`train/outlook.rs`).
//!
//! The authors look ahead at every step, and evaluate the encoder of the highest pseudo-homophily that was seen; here it
//! is the last one, as for every other method. What is rewarded, like neighbors, is wrong on graphs without homophily.

use serde::{Deserialize, Serialize};

use super::adam::WeightAdam;
use super::{Lookahead, MixWeights, Mixer, MixerFactory, MixerInput, WeightBounds};
use crate::coordinator::{from_json, to_json};
use crate::error::{Error, Result};
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// On the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "autossl",
    summary: "losses weighted so that a step makes neighbors fall into the same clusters",
    paper: "Jin et al., Automated Self-Supervised Learning for Graphs, ICLR 2022",
    keys: KEYS,
    defaults: || setting::table_of(&AutoSslSettings::default()),
    build: |table| {
        let settings: AutoSslSettings = setting::settings("mix.autossl", KEYS, table)?;
        Ok(Box::new(move |setup| {
            let weights = vec![1.0 / setup.n_objectives as f64; setup.n_objectives];
            Box::new(AutoSsl {
                settings: settings.clone(),
                state: AutoSslState { weights, adam: WeightAdam::default() },
            })
        }))
    },
};

const KEYS: &[Key] = &[
    Key::new("lr_lambda", Range::Number(0.0, 10.0), "learning rate of the weights"),
    Key::new("meta_every", Range::Whole(1, 1_000_000), "steps between two looks ahead"),
    Key::new("meta_warmup_steps", Range::Whole(0, 1_000_000_000), "steps before the first look ahead"),
    Key::new(
        "clusters",
        Range::Whole(2, 10_000),
        "clusters of the representations; at most the number of nodes",
    ),
    Key::new("starts", Range::Whole(1, 100), "starts of K-means, of which the best counts"),
    Key::new(
        "variance",
        Range::Number(1e-9, 1e9),
        "how soft clusters are: the squared distance that counts as one",
    ),
];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct AutoSslSettings {
    lr_lambda: f64,
    meta_every: u64,
    meta_warmup_steps: u64,
    clusters: usize,
    starts: usize,
    variance: f64,
}

impl Default for AutoSslSettings {
    fn default() -> Self {
        AutoSslSettings {
            lr_lambda: 0.05,
            meta_every: 10,
            meta_warmup_steps: 0,
            clusters: 5,
            starts: 10,
            variance: 1e-3,
        }
    }
}

struct AutoSsl {
    settings: AutoSslSettings,
    state: AutoSslState,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct AutoSslState {
    weights: Vec<f64>,
    adam: WeightAdam,
}

impl Mixer for AutoSsl {
    fn check(&self, n_nodes: usize) -> Result<()> {
        if self.settings.clusters > n_nodes {
            let expected = format!("at most the {n_nodes} nodes of the graph");
            return Err(Error::value("mix.autossl.clusters", self.settings.clusters, expected));
        }
        Ok(())
    }

    fn mix(&mut self, _: &MixerInput<'_>) -> MixWeights {
        MixWeights::of_losses(self.state.weights.clone())
    }

    fn uses_lookahead(&self) -> bool {
        true
    }

    fn lookahead(&self, step: u64) -> Option<Lookahead> {
        let AutoSslSettings { meta_every, meta_warmup_steps, clusters, starts, variance, .. } = self.settings;
        let due = step >= meta_warmup_steps && step.is_multiple_of(meta_every);
        due.then_some(Lookahead { clusters, starts, variance })
    }

    fn update(&mut self, slopes: &[f64]) {
        let AutoSslState { weights, adam } = &mut self.state;
        adam.step(self.settings.lr_lambda, weights, slopes);
        weights.iter_mut().for_each(|weight| *weight = weight.clamp(0.0, 1.0));
    }

    fn weight_bounds(&self) -> WeightBounds {
        WeightBounds { least: 0.0, most: 1.0, sum: None }
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
    use super::super::testing::{assert_close, mixer, seen};
    use super::*;

    #[test]
    fn looks_ahead_when_due_and_moves_against_the_slopes_within_bounds() {
        let mut mixer = mixer(&ENTRY, "meta_every = 5\nmeta_warmup_steps = 7\nlr_lambda = 0.1", 2);
        let due: Vec<u64> = (0..21).filter(|&step| mixer.lookahead(step).is_some()).collect();
        assert_eq!(due, [10, 15, 20]);
        let weights = |mixer: &mut Box<dyn Mixer>| mixer.mix(&seen(0, &[1.0; 2], &[]));
        assert_eq!(weights(&mut mixer).encoder, [0.5, 0.5]);
        mixer.update(&[3.0, -0.2]);
        assert_close(&weights(&mut mixer).encoder, &[0.4, 0.6], 1e-6);
        (0..30).for_each(|_| mixer.update(&[3.0, -0.2]));
        let rest = weights(&mut mixer);
        assert_eq!((rest.encoder, rest.heads), (vec![0.0, 1.0], vec![0.0, 1.0]));
    }
}
