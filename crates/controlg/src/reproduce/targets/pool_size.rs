//! Smaller pools of objectives.

use crate::config::EdgeScope;
use crate::eval::Task;
use crate::reproduce::part::Part;
use crate::reproduce::{ReproduceTarget, Stage, published};

const DATA: [&str; 3] = ["cora", "citeseer", "chameleon"];

/// The pools in the order of the paper; the whole pool is the row of the main table.
const POOLS: [(&str, Option<&str>); 3] = [
    ("K=3", Some("objectives=p_link,p_recon,p_decor")),
    ("K=4", Some("objectives=p_link,p_recon,p_minsg,p_decor")),
    ("K=5", None),
];

pub(super) const POOL_SIZE: ReproduceTarget = ReproduceTarget {
    name: "pool-size",
    title: "controlg with three, four and five objectives",
    paper: "appendix (k_sensitivity)",
    task: Some(Task::Nc),
    parts: |settings| {
        let of_data = |data: String| {
            POOLS.map(|(row, objectives)| {
                Part::new(settings, &data, &["controlg"], EdgeScope::All, Stage::Sensitivity)
                    .with(objectives.as_slice())
                    .in_row(row)
            })
        };
        settings.data_of(&DATA).into_iter().flat_map(of_data).collect()
    },
    published: |data, row| published::value("pool-size", data, row).map(|value| (value, None)),
};
