//! `autossl-es`: fixed loss weights, found by evolutionary search for pseudo-homophily (Jin et al., 2022, AutoSSL-ES).
//!
//! CMA-ES searches λ in \[0, 1\]ᴷ. A candidate is scored by a training run of its own: `steps` steps on Σ λ_k L_k from the
//! same initialization, after which K-means clusters the embeddings; the score is the share of edges between different
//! clusters. The run then uses the best λ found. The authors' budget (100 generations of 8 candidates, up to 1000 steps
//! each) is the cost of 800 runs; the default here is small. The search precedes the first step of the record.

use serde::{Deserialize, Serialize};

use super::{MixWeights, Mixer, MixerFactory, MixerInput, WeightBounds, WeightSearch};
use crate::coordinator::{from_json, to_json};
use crate::error::{Error, Result};
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// Entry in the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "autossl-es",
    summary: "fixed loss weights, found by evolutionary search over short runs before training",
    paper: "Jin et al., Automated Self-Supervised Learning for Graphs, ICLR 2022",
    keys: KEYS,
    defaults: || setting::table_of(&AutoSslEsSettings::default()),
    build: |table| {
        let settings: AutoSslEsSettings = setting::settings("mix.autossl-es", KEYS, table)?;
        Ok(Box::new(move |_| Box::new(AutoSslEs { settings: settings.clone(), weights: None })))
    },
};

const KEYS: &[Key] = &[
    Key::new("generations", Range::Whole(1, 100_000), "generations of the evolutionary search"),
    Key::new("population", Range::Whole(2, 10_000), "candidates per generation"),
    Key::new("steps", Range::Whole(1, 1_000_000), "training steps per candidate"),
    Key::new(
        "clusters",
        Range::Whole(2, 10_000),
        "number of embedding clusters; at most the number of nodes",
    ),
];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct AutoSslEsSettings {
    generations: u64,
    population: usize,
    steps: u64,
    clusters: usize,
}

impl Default for AutoSslEsSettings {
    fn default() -> Self {
        AutoSslEsSettings { generations: 4, population: 8, steps: 20, clusters: 5 }
    }
}

struct AutoSslEs {
    settings: AutoSslEsSettings,
    /// `None` before the search.
    weights: Option<Vec<f64>>,
}

impl Mixer for AutoSslEs {
    fn check(&self, n_nodes: usize) -> Result<()> {
        if self.settings.clusters > n_nodes {
            let expected = format!("at most the {n_nodes} nodes of the graph");
            return Err(Error::value("mix.autossl-es.clusters", self.settings.clusters, expected));
        }
        Ok(())
    }

    fn weight_search(&self) -> Option<WeightSearch> {
        let AutoSslEsSettings { generations, population, steps, clusters } = self.settings;
        self.weights.is_none().then_some(WeightSearch { generations, population, steps, clusters })
    }

    fn set_weights(&mut self, weights: Vec<f64>) {
        self.weights = Some(weights);
    }

    fn mix(&mut self, input: &MixerInput<'_>) -> MixWeights {
        let equal = || vec![1.0 / input.loss.len() as f64; input.loss.len()];
        MixWeights::for_losses(self.weights.clone().unwrap_or_else(equal))
    }

    fn weight_bounds(&self) -> WeightBounds {
        WeightBounds { min: 0.0, max: 1.0, sum: None }
    }

    fn save(&self) -> Result<String> {
        to_json(&self.weights)
    }

    fn restore(&mut self, saved: &str) -> Result<()> {
        self.weights = from_json(saved)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{input, mixer};
    use super::*;

    #[test]
    fn requests_a_search_until_its_weights_are_known_and_keeps_them() {
        let mut fresh = mixer(&ENTRY, "generations = 2\nsteps = 7", 2);
        let search = fresh.weight_search().unwrap();
        assert_eq!((search.generations, search.steps), (2, 7));
        fresh.set_weights(vec![0.25, 1.0]);
        let mut again = mixer(&ENTRY, "", 2);
        again.restore(&fresh.save().unwrap()).unwrap();
        for mixer in [&mut fresh, &mut again] {
            assert!(mixer.weight_search().is_none());
            let mixture = mixer.mix(&input(0, &[3.0, 1.0], &[]));
            assert_eq!((mixture.encoder, mixture.heads), (vec![0.25, 1.0], vec![0.25, 1.0]));
        }
    }
}
