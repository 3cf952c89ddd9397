//! The two ablation tables: the feedback loop without one of its parts.

use super::main_tables::published;
use crate::config::EdgeScope;
use crate::eval::Task;
use crate::reproduce::part::Part;
use crate::reproduce::settings::{DATA, ReproduceSettings};
use crate::reproduce::{ReproduceTarget, Stage};

/// The rows, in the order of the paper.
pub(in crate::reproduce) const ROWS: [&str; 6] = [
    "controlg",
    "controlg-no-spectral",
    "controlg-no-interference",
    "controlg-no-planner",
    "controlg-no-controller",
    "controlg-no-state",
];

pub(super) const NC: ReproduceTarget = ReproduceTarget {
    name: "ablation-nc",
    title: "Node classification without parts of the loop",
    paper: "Table 2 (ablation_nc)",
    task: Some(Task::Nc),
    parts: |settings| parts(settings, &DATA, EdgeScope::All),
    published: |data, row| published(data, row, Task::Nc),
};

pub(super) const LP: ReproduceTarget = ReproduceTarget {
    name: "ablation-lp",
    title: "Link prediction without parts of the loop",
    paper: "appendix (ablation_lp)",
    task: Some(Task::Lp),
    parts: |settings| parts(settings, DATA.split_at(8).0, EdgeScope::Train),
    published: |data, row| published(data, row, Task::Lp),
};

fn parts(settings: &ReproduceSettings, data: &[&str], edges: EdgeScope) -> Vec<Part> {
    let part = |data: &String| Part::new(settings, data, &ROWS, edges, Stage::Ablations);
    settings.data_of(data).iter().map(part).collect()
}
