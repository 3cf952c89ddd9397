//! Numbers of the paper that [`eval::paper`](crate::eval::paper) does not hold: sensitivity tables, times per step, and the
//! average ranks as printed.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Table → data set (or task, for average ranks) → row → value.
type Tables = BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>>;

/// The value of a row on a data set: accuracy in percent (`gat`, `pool-size`), milliseconds (`timing`), or, with a task
/// instead of a data set, the printed average rank (`average-ranks`).
pub fn value(table: &str, data: &str, row: &str) -> Option<f64> {
    tables().get(table)?.get(data)?.get(row).copied()
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        serde_json::from_str(include_str!("published.json")).expect("published.json is tested")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name() {
        assert_eq!(value("gat", "cora", "controlg"), Some(80.56));
        assert_eq!(value("pool-size", "chameleon", "K=4"), Some(69.12));
        assert_eq!(value("timing", "squirrel", "mvgrl"), None);
        assert_eq!(value("average-ranks", "cluster", "dgi"), Some(5.8));
    }
}
