//! Tables of many runs: methods down, data sets across, mean ± half the 95 % t-interval over seeds, the best three
//! marked, the average rank behind.
//!
//! A comparison's `results.jsonl` has one line for each finished [`Cell`]. A cell that was run again counts as it was
//! last. A column never mixes protocols.

mod plain;
mod render;

pub use plain::Plain;
pub(crate) use render::html_safe;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ranks::{AverageRank, Missing, average_ranks};
use super::stats::MeanInterval;
use crate::error::{Error, Result};

/// One finished run of a method on a data set, judged by one task: a line of `results.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultCell {
    /// The data set.
    pub data: String,
    /// The method.
    pub method: String,
    /// The seed.
    pub seed: u64,
    /// `nc`, `lp` or `cluster`.
    pub task: String,
    /// The score in percent.
    pub value: f64,
    /// How it was judged.
    pub protocol: String,
    /// The hash of the split, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_hash: Option<String>,
    /// What judged it.
    #[serde(default)]
    pub probe: String,
    /// How the embeddings were normalized.
    #[serde(default)]
    pub embedding: String,
    /// The validation figure in percent, where the task has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// What a grid search chose, as `key=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// The hash of the run's settings.
    #[serde(default)]
    pub config_hash: String,
    /// The hash of the data set.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub data_hash: String,
    /// Optimizer steps.
    #[serde(default)]
    pub steps: u64,
    /// Evaluations of an objective, with gradients or without.
    #[serde(default)]
    pub evaluations: u64,
    /// Seconds of the run.
    #[serde(default)]
    pub seconds: f64,
    /// The most memory it held.
    #[serde(default)]
    pub peak_mb: f64,
    /// The threads it had, which the seconds depend on.
    #[serde(default)]
    pub threads: usize,
    /// The program's version.
    #[serde(default)]
    pub version: String,
}

/// A table of one task, ready to be written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultTable {
    /// The task.
    pub task: String,
    /// The columns: data set and protocol.
    pub columns: Vec<(String, String)>,
    /// The rows, in the order in which the methods were asked for.
    pub rows: Vec<ResultRow>,
}

/// What one method reached.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultRow {
    /// The method.
    pub method: String,
    /// For each column its values summed up, and its place among the methods, 1 for the best; none for a row that repeats
    /// others.
    pub cells: Vec<Option<(MeanInterval, Option<usize>)>>,
    /// The average rank over the data sets on which it has a value.
    pub rank: Option<AverageRank>,
    /// The average rank over all data sets, last where it has no value.
    pub rank_missing_last: Option<AverageRank>,
}

impl ResultTable {
    /// The table of a task with these methods and data sets, in this order; empty lists stand for all there are, by
    /// name.
    pub fn new(cells: &[ResultCell], task: &str, methods: &[String], data: &[String]) -> Result<ResultTable> {
        let of_task = || cells.iter().filter(|cell| cell.task == task);
        let methods = or_all(methods, of_task().map(|cell| &cell.method));
        let data = or_all(data, of_task().map(|cell| &cell.data));
        let columns = data.iter().map(|name| {
            let protocol = the_protocol(name, of_task().filter(|cell| cell.data == *name))?;
            Ok((name.clone(), protocol))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;

        let summary = |data: &str, method: &str| {
            let own = of_task().filter(|cell| cell.data == data && cell.method == method);
            let by_seed: BTreeMap<u64, f64> = own.map(|cell| (cell.seed, cell.value)).collect();
            MeanInterval::of(&by_seed.into_values().collect::<Vec<f64>>())
        };
        let summaries: Vec<Vec<Option<MeanInterval>>> =
            data.iter().map(|data| methods.iter().map(|method| summary(data, method)).collect()).collect();
        // The same values in another order of seeds have the same mean but for its last bits: such are equals.
        let compared = |summary: MeanInterval| (summary.mean * 1e9).round();
        let means: Vec<Vec<Option<f64>>> =
            summaries.iter().map(|of_data| of_data.iter().map(|s| s.map(compared)).collect()).collect();
        let place =
            |data: usize, mean: f64| 1 + means[data].iter().flatten().filter(|other| **other > mean).count();
        let (skip, last) = (average_ranks(&means, Missing::Skip), average_ranks(&means, Missing::Last));
        let row = |(at, method): (usize, &String)| ResultRow {
            method: method.clone(),
            cells: (0..data.len())
                .map(|d| summaries[d][at].map(|s| (s, Some(place(d, compared(s))))))
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

fn the_protocol<'a>(data: &str, mut cells: impl Iterator<Item = &'a ResultCell>) -> Result<String> {
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
    fn means_places_and_ranks() {
        let table = ResultTable::new(&cells(), "nc", &[], &[]).unwrap();
        let methods: Vec<_> = table.rows.iter().map(|row| row.method.as_str()).collect();
        assert_eq!(methods, ["p_link", "random", "raw"]);
        let places: Vec<_> = table.rows.iter().map(|row| row.cells[0].and_then(|(_, place)| place)).collect();
        assert_eq!(places, [Some(1), Some(3), Some(1)]); // equal means share the first place
        assert_eq!(table.rows[0].cells[0].unwrap().0.n, 2);
        assert!((table.rows[1].cells[0].unwrap().0.mean - 60.0).abs() < 1e-12);
        assert_eq!(table.rows[0].rank, Some(AverageRank { rank: 1.5, n: 1 }));
        assert_eq!(table.rows[0].rank_missing_last, Some(AverageRank { rank: 2.0, n: 2 }));
        assert_eq!(table.rows[2].rank, Some(AverageRank { rank: 1.25, n: 2 }));
        assert_eq!(ResultTable::new(&cells(), "lp", &[], &[]).unwrap().rows, []);
    }

    #[test]
    fn equal_values_in_another_order_of_seeds_are_equals() {
        let values = [80.9, 81.7, 82.3, 81.1, 81.0];
        let of = |method: &'static str, from: usize| {
            (0..5).map(move |seed| cell("a", method, seed as u64, values[(seed + from) % 5]))
        };
        let table =
            ResultTable::new(&of("p_link", 0).chain(of("raw", 2)).collect::<Vec<_>>(), "nc", &[], &[])
                .unwrap();
        let means: Vec<f64> = table.rows.iter().map(|row| row.cells[0].unwrap().0.mean).collect();
        assert_ne!(means[0].to_bits(), means[1].to_bits(), "as summed they differ");
        assert!(table.rows.iter().all(|row| row.cells[0].unwrap().1 == Some(1)));
        assert!(table.rows.iter().all(|row| row.rank == Some(AverageRank { rank: 1.5, n: 1 })));
    }

    #[test]
    fn protocols_are_not_mixed() {
        let mut mixed = cells();
        mixed[1].protocol = "geomgcn-10".into();
        let error = ResultTable::new(&mixed, "nc", &[], &[]).unwrap_err().to_string();
        assert_eq!(error, "results on a: found own and geomgcn-10, expected one protocol in a column");
    }
}
