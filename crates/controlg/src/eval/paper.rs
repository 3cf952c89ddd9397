//! Numbers published in the paper, for comparison.
//!
//! `paper.json` holds the tables for node classification, link prediction, clustering and the ablations: task → data set
//! → method → (value, half-width of the 95 % interval over 5 seeds), in percent. Empty cells are omitted.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A published value.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(from = "(f64, f64)")]
pub struct PublishedValue {
    /// Mean over 5 seeds, in percent.
    pub value: f64,
    /// Half-width of the 95 % interval.
    pub half_width: f64,
}

impl From<(f64, f64)> for PublishedValue {
    fn from((value, half_width): (f64, f64)) -> Self {
        PublishedValue { value, half_width }
    }
}

type PublishedTables = BTreeMap<String, BTreeMap<String, BTreeMap<String, PublishedValue>>>;

/// PublishedValue value of a method (`controlg`, `p_link`, …) on a data set (`cora`, …) for a task (`nc`, `lp`, `cluster`).
pub fn value(data: &str, method: &str, task: &str) -> Option<PublishedValue> {
    cells().get(task)?.get(data)?.get(method).copied()
}

/// All values as (task, data set, method, value), sorted by name.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str, &'static str, PublishedValue)> {
    cells().iter().flat_map(|(task, sets)| {
        sets.iter().flat_map(move |(data, methods)| {
            methods.iter().map(move |(method, &cell)| (task.as_str(), data.as_str(), method.as_str(), cell))
        })
    })
}

fn cells() -> &'static PublishedTables {
    static CELLS: OnceLock<PublishedTables> = OnceLock::new();
    CELLS.get_or_init(|| serde_json::from_str(include_str!("paper.json")).expect("paper.json is tested"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::catalog;

    #[test]
    fn values_are_found_by_name() {
        let cell = |value, half_width| Some(PublishedValue { value, half_width });
        assert_eq!(value("cora", "bgrl", "nc"), cell(77.14, 2.2));
        assert_eq!(value("ogbn-arxiv", "grace", "nc"), None);
        assert_eq!(value("cora", "raw", "nc"), None);
        for method in ["controlg", "round-robin", "p_par", "controlg-no-state"] {
            assert!(value("cora", method, "lp").is_some(), "{method}");
        }
        for (task, data, method, cell) in all() {
            assert!(["nc", "lp", "cluster"].contains(&task));
            assert!(catalog::names().any(|name| name == data), "{data}");
            assert_eq!(method, method.to_lowercase());
            assert!((0.0..=100.0).contains(&cell.value) && cell.half_width >= 0.0);
        }
    }
}
