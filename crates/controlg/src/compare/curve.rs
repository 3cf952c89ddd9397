//! Quality along a run against what it has cost, and the cost of reaching the quality of a reference method.

use serde::{Deserialize, Serialize};

use super::table::TextTable;
use super::{Comparison, ResultCell};
use crate::eval::Task;
use crate::eval::stats::{self, MeanInterval};

/// Validation quality and cost at several points of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The points that were asked for, apart from the start of the run.
    pub points: u64,
    /// What was measured, from the start of the run to its end.
    pub at: Vec<CurvePoint>,
}

/// One point of a [`Curve`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Optimizer steps.
    pub step: u64,
    /// Floating-point operations, counted from shapes, including those of sensing.
    pub operations: f64,
    /// The part of them that measures rather than trains.
    pub measuring: f64,
    /// Evaluations of an objective.
    pub evaluations: f64,
    /// Seconds of training and sensing.
    pub seconds: f64,
    /// Validation accuracy or link AUC, or NMI, in percent.
    pub value: f64,
}

/// The share of the reference's quality that is to be reached.
const ENOUGH: f64 = 0.99;

impl Curve {
    /// The cost at which a value is first reached, on straight lines between the points; `None` if it is not reached.
    pub fn reaches(&self, value: f64, cost: impl Fn(&CurvePoint) -> f64) -> Option<f64> {
        let at = self.at.iter().position(|point| point.value >= value)?;
        let (here, Some(before)) = (&self.at[at], at.checked_sub(1).map(|at| &self.at[at])) else {
            return Some(cost(&self.at[at]));
        };
        let share = (value - before.value) / (here.value - before.value);
        Some(cost(before) + share * (cost(here) - cost(before)))
    }
}

/// The method whose quality is to be reached: `random` if it is compared, else the reference of the comparison.
pub(super) fn reference<'c>(comparison: &'c Comparison, reference: &'c str) -> &'c str {
    if comparison.methods.iter().any(|method| method == "random") { "random" } else { reference }
}

/// What it costs each method to reach 99 % of the final quality of the reference with the same seed; `None` without curves.
pub(super) fn table(
    comparison: &Comparison,
    cells: &[&ResultCell],
    task: Task,
    reference: &str,
) -> Option<TextTable> {
    let mut rows = Vec::new();
    for data in &comparison.data {
        let target = of(cells, data, reference);
        for method in &comparison.methods {
            let own = of(cells, data, method);
            rows.extend(row(&format!("{data} {method}"), &own, &target));
        }
    }
    let head = [
        "run",
        "validation at the end",
        "measuring",
        "operations (10⁹)",
        &format!("of {reference}'s"),
        "seconds",
        &format!("of {reference}'s seconds"),
    ];
    (!rows.is_empty()).then(|| TextTable {
        name: format!("{}-curve", task.name()),
        title: format!(
            "What it costs to reach 99 % of the final {} of {reference} on validation data, paired by seed",
            task.metric()
        ),
        head: head.map(str::to_owned).to_vec(),
        rows,
    })
}

/// The curves of a method on a data set with their seeds, in the order of the seeds; of a run that was repeated, the last.
pub(crate) fn of<'c>(cells: &[&'c ResultCell], data: &str, method: &str) -> Vec<(u64, &'c Curve)> {
    let mut found: Vec<(u64, &Curve)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.data == data && cell.method == method) {
        if let Some(curve) = cell.curve.as_ref().filter(|curve| !curve.at.is_empty()) {
            found.retain(|(seed, _)| *seed != cell.seed);
            found.push((cell.seed, curve));
        }
    }
    found.sort_by_key(|(seed, _)| *seed);
    found
}

/// The row of a method; `None` if it has no curves with a seed of the reference.
fn row(name: &str, own: &[(u64, &Curve)], target: &[(u64, &Curve)]) -> Option<Vec<String>> {
    let pairs: Vec<(&Curve, &CurvePoint)> = own
        .iter()
        .filter_map(|&(seed, curve)| {
            let (_, other) = target.iter().find(|(known, _)| *known == seed)?;
            Some((curve, other.at.last()?))
        })
        .collect();
    let last: Vec<&CurvePoint> = pairs.iter().filter_map(|(curve, _)| curve.at.last()).collect();
    let finals: Vec<f64> = last.iter().map(|point| point.value).collect();
    let measuring: Vec<f64> =
        last.iter().map(|point| 100.0 * point.measuring / point.operations.max(1.0)).collect();
    let reached = |cost: fn(&CurvePoint) -> f64| -> Vec<(f64, f64)> {
        let each = pairs.iter().filter_map(|(curve, end)| {
            let spent = curve.reaches(ENOUGH * end.value, cost)?;
            Some((spent, spent / cost(end)))
        });
        each.collect()
    };
    let (operations, seconds) = (reached(|point| point.operations), reached(|point| point.seconds));
    let of_all = match operations.len() == pairs.len() {
        true => String::new(),
        false => format!(" ({} of {} seeds)", operations.len(), pairs.len()),
    };
    let spent = |costs: &[(f64, f64)], unit: f64| {
        let costs: Vec<f64> = costs.iter().map(|(spent, _)| spent / unit).collect();
        shown(&costs, if stats::mean(&costs) < 10.0 { 3 } else { 1 })
    };
    let share = |costs: &[(f64, f64)]| shown(&costs.iter().map(|(_, share)| *share).collect::<Vec<_>>(), 2);
    (!pairs.is_empty()).then(|| {
        vec![
            name.to_owned(),
            shown(&finals, 2),
            format!("{:.0} %", stats::mean(&measuring)),
            spent(&operations, 1e9) + &of_all,
            share(&operations),
            spent(&seconds, 1.0),
            share(&seconds),
        ]
    })
}

/// Mean and interval.
fn shown(values: &[f64], digits: usize) -> String {
    match MeanInterval::of(values) {
        None => "–".to_owned(),
        Some(MeanInterval { mean, half_width: None, .. }) => format!("{mean:.digits$}"),
        Some(MeanInterval { mean, half_width: Some(half), .. }) => {
            format!("{mean:.digits$} ± {half:.digits$}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64)]) -> Curve {
        let point = |(at, &(cost, value)): (usize, &(f64, f64))| CurvePoint {
            step: at as u64,
            operations: 1e9 * cost,
            measuring: 1e8 * cost,
            evaluations: cost,
            seconds: cost / 2.0,
            value,
        };
        Curve { points: points.len() as u64 - 1, at: points.iter().enumerate().map(point).collect() }
    }

    #[test]
    fn a_value_is_reached_on_a_straight_line_between_two_points() {
        let falls = curve(&[(0.0, 50.0), (10.0, 70.0), (20.0, 60.0), (30.0, 90.0)]);
        let cost = |value: f64| falls.reaches(value, |point| point.evaluations);
        assert_eq!(cost(50.0), Some(0.0));
        assert_eq!(cost(40.0), Some(0.0));
        assert_eq!(cost(65.0), Some(7.5));
        assert!((cost(80.0).unwrap() - (20.0 + 10.0 * 2.0 / 3.0)).abs() < 1e-12);
        assert_eq!(cost(90.0), Some(30.0));
        assert_eq!(cost(90.1), None);
    }

    fn cell(method: &str, seed: u64, points: &[(f64, f64)]) -> ResultCell {
        let line = format!(
            r#"{{"data":"d","method":"{method}","seed":{seed},"task":"nc","value":1,"protocol":"p"}}"#
        );
        ResultCell { curve: Some(curve(points)), ..serde_json::from_str(&line).unwrap() }
    }

    #[test]
    fn the_target_is_that_of_the_same_seed() {
        let comparison = r#"{"data":["d"],"methods":["fast","random","slow","raw"],"seeds":[0,1],"tasks":["nc"],"set":[],
            "budget":"steps","probe":"lbfgs","embedding":"l2"}"#;
        let comparison: Comparison = serde_json::from_str(comparison).unwrap();
        assert_eq!(reference(&comparison, "fast"), "random");
        let cells = [
            cell("random", 0, &[(0.0, 0.0), (10.0, 80.0)]),
            cell("random", 1, &[(0.0, 0.0), (10.0, 100.0)]),
            cell("fast", 0, &[(0.0, 0.0), (4.0, 79.2)]),
            cell("fast", 1, &[(0.0, 0.0), (6.0, 99.0)]),
            cell("slow", 0, &[(0.0, 0.0), (20.0, 79.2)]),
            cell("slow", 1, &[(0.0, 0.0), (20.0, 98.0)]),
        ];
        let cells: Vec<&ResultCell> = cells.iter().collect();
        let found = table(&comparison, &cells, Task::Nc, "random").unwrap();
        assert_eq!(found.rows.len(), 3, "the floor has no curve");
        assert_eq!(found.rows[0][0], "d fast");
        assert_eq!(found.rows[0][2..5], ["10 %", "5.000 ± 12.706", "0.50 ± 1.27"]);
        assert_eq!(found.rows[1][3..], ["9.900 ± 0.000", "0.99 ± 0.00", "4.950 ± 0.000", "0.99 ± 0.00"]);
        // One of the two seeds does not get there.
        assert_eq!(found.rows[2][3..], ["20.0 (1 of 2 seeds)", "2.00", "10.0", "2.00"]);
        assert!(table(&comparison, &cells[2..], Task::Nc, "random").is_none());
    }
}
