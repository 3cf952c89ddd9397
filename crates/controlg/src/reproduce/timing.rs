//! Times per step: what was measured, and the table beside the paper's.

use serde::{Deserialize, Serialize};

use super::part::rows_in_paper;
use super::settings::DATA;
use super::targets::MAIN_ROWS;
use super::{ReproduceSettings, ReproduceTarget};
use crate::compare::table::TextTable;
use crate::error::Result;

/// Measured times per step of a method on a data set: a line of `timings.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// Data set.
    pub data: String,
    /// Method.
    pub method: String,
    /// Milliseconds per step, several measurements.
    pub ms: Vec<f64>,
    /// Number of threads.
    pub threads: usize,
    /// Version of controlg.
    pub version: String,
}

impl StepTime {
    /// The median of the measurements.
    pub fn median(&self) -> f64 {
        let mut sorted = self.ms.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// The data sets and methods whose steps are timed.
pub fn to_measure(settings: &ReproduceSettings) -> Vec<(String, &'static str)> {
    let of_data = |data: String| {
        let rows = rows_in_paper(&data, &MAIN_ROWS);
        rows.into_iter().map(move |method| (data.clone(), method)).collect::<Vec<_>>()
    };
    settings.data_of(DATA.split_at(8).0).into_iter().flat_map(of_data).collect()
}

/// The measured time of a method on a data set; the last one if there are several.
pub fn median(times: &[StepTime], data: &str, method: &str) -> Option<f64> {
    times.iter().rev().find(|time| time.data == data && time.method == method).map(StepTime::median)
}

/// Milliseconds per step, ours and the paper's, and the ratio to `controlg` in both; `None` if nothing was measured.
pub fn table(settings: &ReproduceSettings, times: &[StepTime]) -> Result<Option<TextTable>> {
    if times.is_empty() {
        return Ok(None);
    }
    let target = ReproduceTarget::find(ReproduceTarget::TIMING)?;
    let data: Vec<String> = settings
        .data_of(DATA.split_at(8).0)
        .into_iter()
        .filter(|data| times.iter().any(|time| time.data == *data))
        .collect();
    let cell = |data: &String, method: &str| {
        let ours = |method: &str| median(times, data, method);
        let theirs = |method: &str| target.published(data, method).map(|known| known.0);
        let against = |value: Option<f64>, controlg: Option<f64>| match (value, controlg) {
            (Some(value), Some(controlg)) => format!("{value:.1} ({:.2}×)", value / controlg),
            (Some(value), None) => format!("{value:.1}"),
            (None, _) => "–".to_owned(),
        };
        let (mine, paper) =
            (against(ours(method), ours("controlg")), against(theirs(method), theirs("controlg")));
        format!("{mine} / {paper}")
    };
    let rows = MAIN_ROWS.iter().map(|method| {
        [(*method).to_owned()].into_iter().chain(data.iter().map(|data| cell(data, method))).collect()
    });
    let rows = rows.collect();
    let head = ["ms per step, ours / paper".to_owned()];
    let threads: std::collections::BTreeSet<usize> = times.iter().map(|time| time.threads).collect();
    let threads: Vec<String> = threads.iter().map(ToString::to_string).collect();
    Ok(Some(TextTable {
        name: target.name.to_owned(),
        title: format!(
            "{}: ours on {} threads of a CPU, the paper's on an H200; in brackets, relative to controlg",
            target.title,
            threads.join(" or ")
        ),
        head: head.into_iter().chain(data.iter().cloned()).collect(),
        rows,
    }))
}
