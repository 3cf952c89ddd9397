//! Many settings of the feedback loop: how much they matter.

use crate::compare::Grid;
use crate::config::EdgeScope;
use crate::reproduce::part::Part;
use crate::reproduce::{ReproduceSettings, ReproduceTarget, Stage};

pub(super) const GAINS: ReproduceTarget = ReproduceTarget {
    name: ReproduceTarget::GAINS,
    title: "Spread of the accuracy over settings of the loop",
    paper: "appendix, PID-gain robustness",
    task: None,
    parts,
    published: |_, _| None,
};

/// Settings of the loop drawn from the paper's grid, always the same ones. Learning rate and width stay those of the preset.
fn parts(settings: &ReproduceSettings) -> Vec<Part> {
    let part = |data: &String| {
        let combinations = Grid::paper().own_combinations(data, "controlg", Some(settings.gain_configs));
        let part = Part::new(settings, data, &["controlg"], EdgeScope::All, Stage::Gains);
        Part { combinations, ..part }
    };
    settings.data_of(&["cora"]).iter().map(part).collect()
}
