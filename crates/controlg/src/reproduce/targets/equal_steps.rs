//! Methods that mix, with as many optimizer steps as those that schedule.

use super::main_tables::published;
use crate::compare::Budget;
use crate::config::EdgeScope;
use crate::eval::Task;
use crate::reproduce::part::Part;
use crate::reproduce::{ReproduceTarget, Stage};

const DATA: [&str; 2] = ["cora", "chameleon"];
const ROWS: [&str; 9] =
    ["autossl", "was", "uniform", "paretognn", "pcgrad", "cagrad", "random", "round-robin", "controlg"];

pub(super) const EQUAL_STEPS: ReproduceTarget = ReproduceTarget {
    name: "equal-steps",
    title: "Mixing and scheduling with equally many steps",
    paper: "Table 1 (main_nc), some rows",
    task: Some(Task::Nc),
    parts: |settings| {
        let part = |data: &String| {
            Part::new(settings, data, &ROWS, EdgeScope::All, Stage::EqualSteps).with_budget(Budget::Steps)
        };
        settings.data_of(&DATA).iter().map(part).collect()
    },
    published: |data, row| published(data, row, Task::Nc),
};
