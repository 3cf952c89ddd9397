//! What all targets of a reproduction share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compare::{Budget, Comparison};
use crate::config::Preset;
use crate::eval::{EmbeddingNormalization, Probe};

/// The data sets of the paper, in the order of its tables.
pub(super) const DATA: [&str; 9] =
    ["cora", "citeseer", "chameleon", "squirrel", "actor", "pubmed", "wikics", "coauthor-cs", "ogbn-arxiv"];

/// Length of a run unless the user sets another.
const LENGTH: [&str; 2] = ["train.epochs=6", "train.batches_per_epoch=50"];

/// What all targets of a reproduction share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproduceSettings {
    /// The presets of the data sets.
    pub preset: Preset,
    /// Budget shared by all methods of a table.
    pub budget: Budget,
    /// Number of seeds.
    pub seeds: u64,
    /// Settings of all runs on top of the presets, as `key=value`.
    pub set: Vec<String>,
    /// Data sets instead of the paper's; empty for the paper's. Those that are not in the paper take part in every target.
    pub data: Vec<String>,
    /// Number of configurations of the gain sweep.
    pub gain_configs: usize,
}

impl Default for ReproduceSettings {
    fn default() -> Self {
        ReproduceSettings {
            preset: Preset::default(),
            budget: Budget::Evaluations,
            seeds: 5,
            set: Vec::new(),
            data: Vec::new(),
            gain_configs: 200,
        }
    }
}

impl ReproduceSettings {
    /// The data sets of a target whose table in the paper has these.
    pub fn data_of(&self, of_target: &[&str]) -> Vec<String> {
        if self.data.is_empty() {
            return of_target.iter().map(|&name| name.to_owned()).collect();
        }
        let takes_part =
            |name: &&String| of_target.contains(&name.as_str()) || !DATA.contains(&name.as_str());
        self.data.iter().filter(takes_part).cloned().collect()
    }

    /// The settings of all runs: the length of a run, then those that the user gave.
    pub fn assignments(&self) -> Vec<String> {
        LENGTH.iter().map(|&setting| setting.to_owned()).chain(self.set.iter().cloned()).collect()
    }
    /// What all comparisons of a reproduction share, of no data and methods yet.
    pub fn comparison(&self) -> Comparison {
        Comparison {
            data: Vec::new(),
            methods: Vec::new(),
            seeds: Vec::new(),
            tasks: Vec::new(),
            protocols: Vec::new(),
            pools: Vec::new(),
            preset: self.preset,
            set: self.assignments(),
            budget: self.budget,
            probe: Probe::default(),
            normalize: EmbeddingNormalization::default(),
            data_hashes: BTreeMap::new(),
            nodes: BTreeMap::new(),
            curve: 0,
            defaults: Comparison::DEFAULTS,
        }
    }
}
