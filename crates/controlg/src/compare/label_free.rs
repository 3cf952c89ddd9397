//! How far measures without labels agree with scores that need them.

use super::table::TextTable;
use super::{Comparison, ResultCell};
use crate::eval::ranks::spearman;
use crate::eval::{Task, stats};

/// A measure without labels: a name, and its value for a result. Higher is better.
type Measure = (&'static str, fn(&ResultCell) -> Option<f64>);

const MEASURES: [Measure; 4] = [
    ("Calinski–Harabasz", |cell| cell.quality?.calinski_harabasz),
    ("edge AUC", |cell| cell.quality?.edge_auc),
    ("effective rank", |cell| cell.quality?.effective_rank),
    ("held-out loss (negative)", |cell| cell.held_out.map(|loss| -loss)),
];

/// Spearman's rank correlation between each measure and the score, over all runs on a data set, and the mean over the data sets.
/// `None` if no measure was taken in enough runs.
pub(super) fn correlations(comparison: &Comparison, cells: &[&ResultCell], task: Task) -> Option<TextTable> {
    let mut rows = Vec::new();
    for (name, of) in MEASURES {
        let on = |data: &String| {
            let own = cells.iter().filter(|cell| cell.data == *data);
            let pairs: Vec<(f64, f64)> = own.filter_map(|cell| Some((of(cell)?, cell.value))).collect();
            let (measured, scores): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            Some((spearman(&measured, &scores)?, scores.len()))
        };
        let found: Vec<Option<(f64, usize)>> = comparison.data.iter().map(on).collect();
        let all: Vec<f64> = found.iter().flatten().map(|(correlation, _)| *correlation).collect();
        if all.is_empty() {
            continue;
        }
        let cell = |found: Option<(f64, usize)>| match found {
            Some((correlation, runs)) => format!("{correlation:+.2} ({runs})"),
            None => "–".to_owned(),
        };
        let mean = format!("{:+.2}", stats::mean(&all));
        rows.push([name.to_owned()].into_iter().chain(found.into_iter().map(cell)).chain([mean]).collect());
    }
    let head = ["measure"].into_iter().chain(comparison.data.iter().map(String::as_str)).chain(["mean"]);
    (!rows.is_empty()).then(|| TextTable {
        name: format!("{}-label-free", task.name()),
        title: format!(
            "Rank correlation of measures without labels with the {} (Spearman, over the runs in parentheses)",
            task.metric()
        ),
        head: head.map(str::to_owned).collect(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlates_over_the_runs_of_a_data_set() {
        let comparison = r#"{"data":["a","b"],"methods":["controlg","raw"],"seeds":[0,1,2],"tasks":["nc"],"set":[],
            "budget":"steps","probe":"lbfgs","embedding":"l2"}"#;
        let comparison: Comparison = serde_json::from_str(comparison).unwrap();
        let cell = |data: &str, seed: u64, value: f64, rest: &str| -> ResultCell {
            let line = format!(
                r#"{{"data":"{data}","method":"controlg","seed":{seed},"task":"nc","value":{value},"protocol":"p"{rest}}}"#
            );
            serde_json::from_str(&line).unwrap()
        };
        let measured = |seed: u64, value: f64, index: f64| {
            let rest =
                format!(r#","quality":{{"calinski_harabasz":{index}}},"held_out":{}"#, 1.0 - value / 100.0);
            cell("a", seed, value, &rest)
        };
        // A floor and a result of an older version have no measures.
        let cells = [
            measured(0, 80.0, 5.0),
            measured(1, 81.0, 4.0),
            measured(2, 82.0, 9.0),
            cell("a", 3, 20.0, ""),
            cell("b", 0, 50.0, ""),
        ];
        let cells: Vec<&ResultCell> = cells.iter().collect();
        let table = correlations(&comparison, &cells, Task::Nc).unwrap();
        assert_eq!(table.head, ["measure", "a", "b", "mean"]);
        assert_eq!(table.rows[0], ["Calinski–Harabasz", "+0.50 (3)", "–", "+0.50"]);
        assert_eq!(table.rows[1], ["held-out loss (negative)", "+1.00 (3)", "–", "+1.00"]);
        assert!(correlations(&comparison, &cells[3..], Task::Nc).is_none());
    }
}
