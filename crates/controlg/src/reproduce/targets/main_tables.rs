//! The three main tables: all methods on all data sets.

use crate::config::EdgeScope;
use crate::eval::{Task, floors, paper};
use crate::reproduce::part::{Part, rows_in_paper};
use crate::reproduce::settings::{DATA, ReproduceSettings};
use crate::reproduce::{PaperNumber, ReproduceTarget, Stage};

/// The rows of the paper's main tables, in their order.
pub(in crate::reproduce) const ROWS: [&str; 18] = [
    "bgrl",
    "dgi",
    "grace",
    "mvgrl",
    "p_link",
    "p_recon",
    "p_minsg",
    "p_decor",
    "p_par",
    "autossl",
    "was",
    "uniform",
    "paretognn",
    "pcgrad",
    "cagrad",
    "random",
    "round-robin",
    "controlg",
];

/// Link prediction and clustering do without the largest graph.
const WITHOUT_ARXIV: &[&str] = DATA.split_at(8).0;

pub(super) const NC: ReproduceTarget = ReproduceTarget {
    name: "nc",
    title: "Node classification, all methods",
    paper: "Table 1 (main_nc)",
    task: Some(Task::Nc),
    parts: |settings| parts(settings, &DATA, EdgeScope::All),
    published: |data, row| published(data, row, Task::Nc),
};

pub(super) const LP: ReproduceTarget = ReproduceTarget {
    name: "lp",
    title: "Link prediction, all methods",
    paper: "appendix (app_lp)",
    task: Some(Task::Lp),
    parts: |settings| parts(settings, WITHOUT_ARXIV, EdgeScope::Train),
    published: |data, row| published(data, row, Task::Lp),
};

pub(super) const CLUSTER: ReproduceTarget = ReproduceTarget {
    name: "cluster",
    title: "Node clustering, all methods",
    paper: "appendix (app_nclu)",
    task: Some(Task::Cluster),
    parts: |settings| parts(settings, WITHOUT_ARXIV, EdgeScope::All),
    published: |data, row| published(data, row, Task::Cluster),
};

fn parts(settings: &ReproduceSettings, data: &[&str], edges: EdgeScope) -> Vec<Part> {
    let rows: Vec<&str> = ROWS.into_iter().chain(floors::NAMES).collect();
    let part = |data: &String| Part::new(settings, data, &rows_in_paper(data, &rows), edges, Stage::Main);
    settings.data_of(data).iter().map(part).collect()
}

pub(super) fn published(data: &str, row: &str, task: Task) -> Option<PaperNumber> {
    paper::value(data, row, task.name()).map(|known| (known.value, Some(known.half_width)))
}
