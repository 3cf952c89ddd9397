//! What claims are judged by: tables, sweeps, times and records.

use serde::Serialize;

use crate::compare::ResultCell;
use crate::eval::stats;
use crate::eval::wilcoxon::signed_rank;
use crate::reproduce::gains::{self, GainSweep};
use crate::reproduce::timing::{self, StepTime};
use crate::reproduce::{ReproduceSettings, TARGETS, TargetTable, Verdict};

/// What claims are judged by.
pub struct Evidence {
    /// Tables with results.
    pub tables: Vec<TargetTable>,
    /// Gain sweeps.
    pub sweeps: Vec<GainSweep>,
    /// Times per step.
    pub times: Vec<StepTime>,
    /// What the records of runs of `controlg` show.
    pub diagnostics: Vec<Diagnostics>,
}

/// What the record of a run of `controlg` shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostics {
    /// Data set.
    pub data: String,
    /// Mean entropy of the plan in the first and in the last quarter of the blocks, 1 for equal shares.
    pub entropy: (f64, f64),
    /// Largest difference between realized and planned share at the end of an epoch.
    pub tracking_error: Option<f64>,
}

/// Two methods compared over columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodContrast {
    /// Differences of the means, paired by seed, for each column.
    pub differences: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// Columns in which the first is better.
    pub better: usize,
    /// p-value of Wilcoxon's signed-rank test over the columns.
    pub p: f64,
}

/// Level of all tests.
pub(super) const LEVEL: f64 = 0.05;

impl Evidence {
    /// Collects all results of a reproduction.
    pub fn new(
        settings: &ReproduceSettings,
        cells: &[ResultCell],
        times: Vec<StepTime>,
        diagnostics: Vec<Diagnostics>,
    ) -> Evidence {
        // Settings may suit some targets only, such as a width that no GAT can have. Running the others says so.
        let made =
            TARGETS.iter().filter_map(|target| TargetTable::new(target, settings, cells).ok().flatten());
        let tables = made.filter(TargetTable::has_results).collect();
        Evidence { tables, sweeps: gains::sweeps(settings, cells).unwrap_or_default(), times, diagnostics }
    }

    /// The table of a target, if it has results.
    pub(super) fn table(&self, target: &str) -> Option<&TargetTable> {
        self.tables.iter().find(|table| table.name == target)
    }

    /// Our mean.
    pub(super) fn mean(&self, target: &str, data: &str, row: &str) -> Option<f64> {
        let table = self.table(target)?;
        let at = table.data.iter().position(|name| name == data)?;
        Some(table.row(row)?.cells[at].ours?.mean)
    }

    /// The difference a − b on each data set of a target, paired by seed.
    pub(super) fn differences(&self, target: &str, a: &str, b: &str) -> Vec<(String, Vec<f64>)> {
        let Some(table) = self.table(target) else { return Vec::new() };
        let (Some(a), Some(b)) = (table.row(a), table.row(b)) else { return Vec::new() };
        let columns = table.data.iter().zip(a.cells.iter().zip(&b.cells));
        columns
            .map(|(data, (a, b))| (data.clone(), stats::paired_differences(&a.values, &b.values)))
            .filter(|(_, differences)| !differences.is_empty())
            .collect()
    }

    /// Compares two rows over all data sets of some targets; `None` without common results.
    pub(super) fn contrast(&self, targets: &[&str], a: &str, b: &str) -> Option<MethodContrast> {
        let of_target = |target: &&str| self.differences(target, a, b);
        let all = targets.iter().flat_map(of_target).map(|(_, each)| stats::mean(&each));
        MethodContrast::of(all.collect())
    }

    /// The measured milliseconds per step.
    pub(super) fn ms(&self, data: &str, method: &str) -> Option<f64> {
        timing::median(&self.times, data, method)
    }
}

impl MethodContrast {
    /// The contrast of these differences; `None` if there are none.
    pub(super) fn of(differences: Vec<f64>) -> Option<MethodContrast> {
        if differences.is_empty() {
            return None;
        }
        let p = signed_rank(&differences).map_or(1.0, |test| test.p);
        let better = differences.iter().filter(|difference| **difference > 0.0).count();
        Some(MethodContrast { mean: stats::mean(&differences), better, p, differences })
    }

    /// Whether the first is better.
    pub(super) fn verdict(&self) -> Verdict {
        match self.mean > 0.0 {
            true if self.p < LEVEL => Verdict::Holds,
            true => Verdict::InPart,
            false => Verdict::DoesNotHold,
        }
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        let n = self.differences.len();
        format!(
            "{:+.2} points over {n} columns, better in {}, Wilcoxon p = {}",
            self.mean,
            self.better,
            p(self.p)
        )
    }
}

/// A p-value in words.
pub(super) fn p(value: f64) -> String {
    if value < 0.001 { "below 0.001".to_owned() } else { format!("{value:.3}") }
}
