//! `x_shuffle`: reconstruct another node's features.
//!
//! The masked autoencoder of `p_recon`, but the target of node v is x_{π(v)} for a fixed random permutation π of the nodes.
//! The neighbors of v say nothing about it, so the loss falls no further than that of the mean features.

use serde::{Deserialize, Serialize};

use crate::objective::Objective;
use crate::objective::autoencoder::{Autoencoder, AutoencoderSettings, MASK, Target};
use crate::registry::Entry;
use crate::setting::{self, Key, Range};

/// Entry in the list of objectives.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "x_shuffle",
    summary: "for testing: reconstruct another node's features",
    paper: "",
    keys: KEYS,
    defaults: || setting::table_of(&ShuffleSettings::default()),
    build: |table| {
        let ShuffleSettings { mask, seed } = setting::settings("objective.x_shuffle", KEYS, table)?;
        let settings = AutoencoderSettings { mask, ..AutoencoderSettings::default() };
        Ok(Box::new(Autoencoder::new("x_shuffle", settings, Target::Permuted { seed })))
    },
};

const KEYS: &[Key] = &[
    MASK,
    Key::new(
        "seed",
        Range::Whole(0, i32::MAX as u64),
        "random seed of the permutation, independent of the run's seed",
    ),
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct ShuffleSettings {
    mask: f64,
    seed: u64,
}

impl Default for ShuffleSettings {
    fn default() -> Self {
        ShuffleSettings { mask: 0.5, seed: 0 }
    }
}
