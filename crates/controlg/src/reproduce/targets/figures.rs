//! The diagnostics of a run, drawn from its record.

use crate::config::EdgeScope;
use crate::reproduce::part::Part;
use crate::reproduce::{ReproduceSettings, ReproduceTarget, Stage};

pub(super) const FIGURES: ReproduceTarget = ReproduceTarget {
    name: ReproduceTarget::FIGURES,
    title: "Diagnostics of a run of controlg",
    paper: "Figure 3 and appendix (main_diagnostic, app_*)",
    task: None,
    parts: |settings| {
        // One seed: that of the first row of the main tables.
        let one = ReproduceSettings { seeds: 1, ..settings.clone() };
        let part = |data: &String| Part::new(&one, data, &["controlg"], EdgeScope::All, Stage::Main);
        one.data_of(&["cora", "chameleon"]).iter().map(part).collect()
    },
    published: |_, _| None,
};
