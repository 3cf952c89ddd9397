//! `autossl`: loss weights learned by gradient descent on pseudo-homophily (Jin et al., 2022, AutoSSL-DS).
//!
//! The network steps on Σ λ_k L_k, heads included. Every `meta_every` steps, K-means clusters the embeddings Z of the clean
//! graph into centers μ_j, held constant; p_v = softmax_j(−‖z_v − μ_j‖²/σ²), and L_out is the mean of |p_u − p_v| over all
//! edges uv and clusters. Adam updates λ with ∂L_out/∂λ and clips it to \[0, 1\]; it is not scaled to sum to one. Only one
//! Adam step lies between λ and the new parameters, so the derivative has a closed form without second derivatives
//! (`train/mixing/lookahead.rs`).
//!
//! The authors' σ² = 10⁻³ presumes embeddings of a certain scale. On wide embeddings with batch norm it saturates the
//! memberships: the derivatives are of order 10⁻³⁰ and λ never moves. By default σ² therefore follows the embeddings: it is
//! `relative_variance` times the median of ‖z_v − μ‖² over all nodes, μ being the center of the node's cluster.
//!
//! The authors update λ at every step and evaluate the encoder with the highest pseudo-homophily; here the last encoder is
//! evaluated, as for every other method. The criterion rewards similar neighbors, which is wrong on heterophilic graphs.

use serde::{Deserialize, Serialize};

use super::adam::WeightAdam;
use super::{ClusterVariance, Lookahead, MixWeights, Mixer, MixerFactory, MixerInput, WeightBounds};
use crate::coordinator::{from_json, to_json};
use crate::error::{Error, Result};
use crate::registry::Entry;
use crate::setting::{self, Key, Range, Scalar};

/// Entry in the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "autossl",
    summary: "loss weights learned so that neighbors fall into the same cluster",
    paper: "Jin et al., Automated Self-Supervised Learning for Graphs, ICLR 2022",
    keys: KEYS,
    defaults: || setting::table_of(&AutoSslSettings::default()),
    build: |table| {
        let settings: AutoSslSettings = setting::settings("mix.autossl", KEYS, table)?;
        Ok(Box::new(move |context| {
            let weights = vec![1.0 / context.n_objectives as f64; context.n_objectives];
            Box::new(AutoSsl {
                settings: settings.clone(),
                state: AutoSslState { weights, adam: WeightAdam::default(), vanished: 0 },
            })
        }))
    },
};

const KEYS: &[Key] = &[
    Key::new("lr_lambda", Range::Number(0.0, 10.0), "learning rate of the weights"),
    Key::new("meta_every", Range::Whole(1, 1_000_000), "steps between updates of the weights"),
    Key::new(
        "meta_warmup_steps",
        Range::Whole(0, 1_000_000_000),
        "steps before the first update of the weights",
    ),
    Key::new(
        "clusters",
        Range::Whole(2, 10_000),
        "number of embedding clusters; at most the number of nodes",
    ),
    Key::new("starts", Range::Whole(1, 100), "restarts of K-means, of which the best is used"),
    Key::new(
        "variance",
        Range::Number(1e-9, 1e9),
        "σ² in softmax(−distance²/σ²) if relative_variance is 0; giving only this sets relative_variance to 0",
    ),
    Key::new(
        "relative_variance",
        Range::Number(0.0, 1e9),
        "σ² relative to the median squared distance of nodes to their centers; 0 uses variance",
    )
    .added_later(Scalar::Number(0.0)),
];

/// The largest derivative that counts as vanished: a hundredth of Adam's epsilon, so that the weights cannot move.
const VANISHED: f64 = 1e-10;

/// So many lookaheads with vanished derivatives in a row are worth a note.
const MANY: u64 = 3;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct AutoSslSettings {
    lr_lambda: f64,
    meta_every: u64,
    meta_warmup_steps: u64,
    clusters: usize,
    starts: usize,
    variance: f64,
    relative_variance: f64,
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
            relative_variance: 0.1,
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
    /// Lookaheads in a row whose derivatives vanished.
    #[serde(default)]
    vanished: u64,
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
        MixWeights::for_losses(self.state.weights.clone())
    }

    fn uses_lookahead(&self) -> bool {
        true
    }

    fn lookahead(&self, step: u64) -> Option<Lookahead> {
        let AutoSslSettings { meta_every, meta_warmup_steps, clusters, starts, .. } = self.settings;
        let due = step >= meta_warmup_steps && step.is_multiple_of(meta_every);
        let variance = match self.settings.relative_variance {
            0.0 => ClusterVariance::Absolute(self.settings.variance),
            factor => ClusterVariance::Relative(factor),
        };
        due.then_some(Lookahead { clusters, starts, variance })
    }

    fn update(&mut self, gradient: &[f64]) {
        let AutoSslState { weights, adam, vanished } = &mut self.state;
        *vanished = if gradient.iter().all(|slope| slope.abs() < VANISHED) { *vanished + 1 } else { 0 };
        adam.step(self.settings.lr_lambda, weights, gradient);
        weights.iter_mut().for_each(|weight| *weight = weight.clamp(0.0, 1.0));
    }

    fn note(&self) -> Option<String> {
        // Once, when there are enough.
        (self.state.vanished == MANY).then(|| {
            let advice = if self.settings.relative_variance > 0.0 {
                "a larger mix.autossl.relative_variance may help"
            } else {
                "mix.autossl.relative_variance = 0.1 follows the scale of the embeddings"
            };
            format!("the weights of autossl do not move: the slopes of its criterion vanish; {advice}")
        })
    }

    fn weight_bounds(&self) -> WeightBounds {
        WeightBounds { min: 0.0, max: 1.0, sum: None }
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
    fn vanishing_slopes_are_noted_once() {
        for (table, advice) in [
            ("relative_variance = 0", "mix.autossl.relative_variance = 0.1 follows"),
            ("", "a larger mix.autossl.relative_variance may help"),
        ] {
            let mut mixer = mixer(&ENTRY, table, 2);
            let mut notes = Vec::new();
            for slope in [1e-30, 1e-30, 1e-3, 1e-30, 0.0, -1e-30, 1e-30] {
                mixer.update(&[slope, -1e-31]);
                notes.push(mixer.note());
            }
            assert_eq!(notes.iter().flatten().count(), 1, "{notes:?}");
            assert!(notes[5].as_ref().is_some_and(|note| note.contains(advice)), "{notes:?}");
        }
    }

    #[test]
    fn requests_lookaheads_when_due_and_descends_within_bounds() {
        let mut mixer = mixer(&ENTRY, "meta_every = 5\nmeta_warmup_steps = 7\nlr_lambda = 0.1", 2);
        let due: Vec<u64> = (0..21).filter(|&step| mixer.lookahead(step).is_some()).collect();
        assert_eq!(due, [10, 15, 20]);
        let weights = |mixer: &mut Box<dyn Mixer>| mixer.mix(&input(0, &[1.0; 2], &[]));
        assert_eq!(weights(&mut mixer).encoder, [0.5, 0.5]);
        mixer.update(&[3.0, -0.2]);
        assert_close(&weights(&mut mixer).encoder, &[0.4, 0.6], 1e-6);
        (0..30).for_each(|_| mixer.update(&[3.0, -0.2]));
        let rest = weights(&mut mixer);
        assert_eq!((rest.encoder, rest.heads), (vec![0.0, 1.0], vec![0.0, 1.0]));
    }
}
