//! Result tables: one row per method, one column per data set, mean ± 95 % t-interval over seeds, the best three marked,
//! average rank in the last column.
//!
//! If `results.jsonl` has several lines for the same [`ResultCell`], the last one counts. A column never mixes protocols.

mod plain;
mod render;
mod text;

pub(crate) use render::html_escape;
pub use text::TextTable;

use std::collections::BTreeMap;

use serde::Serialize;

use super::ResultCell;
use crate::error::{Error, Result};
use crate::eval::ranks::{AverageRank, MissingRank, average_ranks};
use crate::eval::stats::MeanInterval;

/// Result table of one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultTable {
    /// Task.
    pub task: String,
    /// Columns: data set and protocol.
    pub columns: Vec<(String, String)>,
    /// Rows, in the order of the requested methods.
    pub rows: Vec<ResultRow>,
}

/// Results of one method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultRow {
    /// Method.
    pub method: String,
    /// Per column: mean and interval, and the place among the methods (1 is best; `None` for a row that repeats others).
    pub cells: Vec<Option<(MeanInterval, Option<usize>)>>,
    /// Average rank over the data sets for which the method has a value.
    pub rank: Option<AverageRank>,
    /// Average rank over all data sets; missing values rank last.
    pub rank_missing_last: Option<AverageRank>,
}

impl ResultTable {
    /// Builds the table of a task for these methods and data sets, in this order; an empty list means all, sorted by name.
    pub fn new(cells: &[ResultCell], task: &str, methods: &[String], data: &[String]) -> Result<ResultTable> {
        let task_cells = || cells.iter().filter(|cell| cell.task == task);
        let methods = or_all(methods, task_cells().map(|cell| &cell.method));
        let data = or_all(data, task_cells().map(|cell| &cell.data));
        let columns = data.iter().map(|name| {
            let protocol = single_protocol(name, task_cells().filter(|cell| cell.data == *name))?;
            Ok((name.clone(), protocol))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;

        let summary = |data: &str, method: &str| {
            let own = task_cells().filter(|cell| cell.data == data && cell.method == method);
            let by_seed: BTreeMap<u64, f64> = own.map(|cell| (cell.seed, cell.value)).collect();
            MeanInterval::of(&by_seed.into_values().collect::<Vec<f64>>())
        };
        let summaries: Vec<Vec<Option<MeanInterval>>> =
            data.iter().map(|data| methods.iter().map(|method| summary(data, method)).collect()).collect();
        // Round, so that means that differ only by the order of summation are ties.
        let rounded_mean = |summary: MeanInterval| (summary.mean * 1e9).round();
        let means: Vec<Vec<Option<f64>>> =
            summaries.iter().map(|of_data| of_data.iter().map(|s| s.map(rounded_mean)).collect()).collect();
        let place =
            |data: usize, mean: f64| 1 + means[data].iter().flatten().filter(|other| **other > mean).count();
        let (skip, last) =
            (average_ranks(&means, MissingRank::Skip), average_ranks(&means, MissingRank::Last));
        let row = |(at, method): (usize, &String)| ResultRow {
            method: method.clone(),
            cells: (0..data.len())
                .map(|d| summaries[d][at].map(|s| (s, Some(place(d, rounded_mean(s))))))
                .collect(),
            rank: skip.get(at).copied().flatten(),
            rank_missing_last: last.get(at).copied().flatten(),
        };
        Ok(ResultTable {
            task: task.to_owned(),
            columns,
            rows: methods.iter().enumerate().map(row).collect(),
        })
    }
}

fn or_all<'a>(chosen: &[String], all: impl Iterator<Item = &'a String>) -> Vec<String> {
    if !chosen.is_empty() {
        return chosen.to_vec();
    }
    all.cloned().collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

fn single_protocol<'a>(data: &str, mut cells: impl Iterator<Item = &'a ResultCell>) -> Result<String> {
    let Some(first) = cells.next() else { return Ok(String::new()) };
    match cells.find(|cell| cell.protocol != first.protocol) {
        None => Ok(first.protocol.clone()),
        Some(other) => {
            let found = format_args!("{} and {}", first.protocol, other.protocol);
            Err(Error::value(format_args!("results on {data}"), found, "one protocol in a column"))
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(super) fn cell(data: &str, method: &str, seed: u64, value: f64) -> ResultCell {
        let text = format!(
            r#"{{"data":"{data}","method":"{method}","seed":{seed},"task":"nc","value":{value},"protocol":"own"}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    pub(super) fn cells() -> Vec<ResultCell> {
        vec![
            cell("a", "p_link", 0, 70.0),
            cell("a", "p_link", 1, 72.0),
            cell("a", "raw", 0, 71.0),
            cell("b", "raw", 0, 50.0),
            cell("a", "random", 0, 1.0),
            cell("a", "random", 0, 60.0), // run again
        ]
    }

    #[test]
    fn computes_means_places_and_ranks() {
        let table = ResultTable::new(&cells(), "nc", &[], &[]).unwrap();
        let methods: Vec<_> = table.rows.iter().map(|row| row.method.as_str()).collect();
        assert_eq!(methods, ["p_link", "random", "raw"]);
        let places: Vec<_> = table.rows.iter().map(|row| row.cells[0].and_then(|(_, place)| place)).collect();
        assert_eq!(places, [Some(1), Some(3), Some(1)]); // ties share the first place
        assert_eq!(table.rows[0].cells[0].unwrap().0.n, 2);
        assert!((table.rows[1].cells[0].unwrap().0.mean - 60.0).abs() < 1e-12);
        assert_eq!(table.rows[0].rank, Some(AverageRank { rank: 1.5, n: 1 }));
        assert_eq!(table.rows[0].rank_missing_last, Some(AverageRank { rank: 2.0, n: 2 }));
        assert_eq!(table.rows[2].rank, Some(AverageRank { rank: 1.25, n: 2 }));
        assert_eq!(ResultTable::new(&cells(), "lp", &[], &[]).unwrap().rows, []);
    }

    #[test]
    fn means_that_differ_by_rounding_are_ties() {
        let values = [80.9, 81.7, 82.3, 81.1, 81.0];
        let of = |method: &'static str, from: usize| {
            (0..5).map(move |seed| cell("a", method, seed as u64, values[(seed + from) % 5]))
        };
        let table =
            ResultTable::new(&of("p_link", 0).chain(of("raw", 2)).collect::<Vec<_>>(), "nc", &[], &[])
                .unwrap();
        let means: Vec<f64> = table.rows.iter().map(|row| row.cells[0].unwrap().0.mean).collect();
        assert_ne!(means[0].to_bits(), means[1].to_bits(), "the sums differ in the last bits");
        assert!(table.rows.iter().all(|row| row.cells[0].unwrap().1 == Some(1)));
        assert!(table.rows.iter().all(|row| row.rank == Some(AverageRank { rank: 1.5, n: 1 })));
    }

    #[test]
    fn rejects_mixed_protocols() {
        let mut mixed = cells();
        mixed[1].protocol = "geomgcn-10".into();
        let error = ResultTable::new(&mixed, "nc", &[], &[]).unwrap_err().to_string();
        assert_eq!(error, "results on a: found own and geomgcn-10, expected one protocol in a column");
    }
}
