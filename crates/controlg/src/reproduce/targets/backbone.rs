//! A GAT encoder instead of the GCN.

use crate::config::EdgeScope;
use crate::eval::Task;
use crate::reproduce::part::Part;
use crate::reproduce::{ReproduceTarget, Stage, published};

const DATA: [&str; 3] = ["cora", "citeseer", "chameleon"];
const ROWS: [&str; 4] = ["uniform", "cagrad", "random", "controlg"];

pub(super) const GAT: ReproduceTarget = ReproduceTarget {
    name: "gat",
    title: "Node classification with a GAT encoder",
    paper: "appendix (gat_sensitivity)",
    task: Some(Task::Nc),
    parts: |settings| {
        let part = |data: &String| {
            Part::new(settings, data, &ROWS, EdgeScope::All, Stage::Sensitivity).with(&["encoder.kind=gat"])
        };
        settings.data_of(&DATA).iter().map(part).collect()
    },
    published: |data, row| published::value("gat", data, row).map(|value| (value, None)),
};
