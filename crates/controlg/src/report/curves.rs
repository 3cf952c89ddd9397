//! Figures of quality against cost along the runs of a comparison.

use std::fmt::Write;

use super::axis::Axis;
use super::chart::{Plot, WIDTH};
use super::figures::Figure;
use super::svg::{SvgImage, stack};
use crate::compare::{Comparison, ComparisonReport, Curve, CurvePoint, ResultCell, curve};
use crate::eval::stats::{self, MeanInterval};
use crate::eval::{Task, floors};

/// Height of a plot.
const HEIGHT: f64 = 270.0;

/// A measure of cost.
struct Cost {
    name: &'static str,
    title: &'static str,
    axis: &'static str,
    of: fn(&CurvePoint) -> f64,
}

const COSTS: [Cost; 2] = [
    Cost {
        name: "quality-operations",
        title: "Quality against operations",
        axis: "10⁹ operations",
        of: |point| point.operations / 1e9,
    },
    Cost {
        name: "quality-seconds",
        title: "Quality against seconds",
        axis: "seconds",
        of: |point| point.seconds,
    },
];

/// One figure per measure of cost; none without curves.
pub(super) fn figures(report: &ComparisonReport, cells: &[ResultCell]) -> Vec<Figure> {
    COSTS.iter().filter_map(|cost| figure(report, cells, cost)).collect()
}

fn figure(report: &ComparisonReport, cells: &[ResultCell], cost: &Cost) -> Option<Figure> {
    let mut csv = format!("task,data,method,step,{},value,half_width\n", cost.name.replace("quality-", ""));
    let mut images = Vec::new();
    for task in report.tasks.iter().map(|task| task.task) {
        let own: Vec<&ResultCell> = cells.iter().filter(|cell| cell.task == task.name()).collect();
        for data in &report.comparison.data {
            images.extend(plot(&report.comparison, &own, task, data, cost, &mut csv));
        }
    }
    (!images.is_empty()).then(|| Figure {
        name: cost.name,
        title: cost.title.to_owned(),
        caption: "Validation accuracy, AUC or NMI at the same steps of every run: means over the seeds \
                  with 95 % t-intervals. Sensing is part of the cost. A method is better above and to the left of another."
            .to_owned(),
        image: stack(images),
        csv,
    })
}

/// One line per method.
fn plot(
    comparison: &Comparison,
    cells: &[&ResultCell],
    task: Task,
    data: &str,
    cost: &Cost,
    csv: &mut String,
) -> Option<SvgImage> {
    let trained = comparison.methods.iter().filter(|method| !floors::NAMES.contains(&method.as_str()));
    let lines: Vec<(&String, Vec<MeanPoint>)> = trained
        .map(|method| (method, means(&curve::of(cells, data, method), cost)))
        .filter(|(_, points)| points.len() > 1)
        .collect();
    let points = || lines.iter().flat_map(|(_, points)| points);
    points().next()?;
    let label = format!("{}, {data} (%)", task.metric());
    let mut plot = Plot::new(
        WIDTH,
        HEIGHT,
        Axis::over(cost.axis, points().map(|point| point.cost)).including([0.0]),
        Axis::over(&label, points().flat_map(|point| [point.value - point.half, point.value + point.half]))
            .with_margin(),
    );
    for (k, (method, points)) in lines.iter().enumerate() {
        let along = |of: fn(&MeanPoint) -> f64| -> Vec<(f64, f64)> {
            points.iter().map(|point| (point.cost, of(point))).collect()
        };
        plot.area(k, "", &along(|p| p.value - p.half), &along(|p| p.value + p.half), 0.15);
        plot.line(k, method, &along(|point| point.value));
        for MeanPoint { step, cost, value, half } in points {
            let _ = writeln!(csv, "{},{data},{method},{step},{cost},{value},{half}", task.name());
        }
    }
    Some(plot.finish(true))
}

/// A point of the mean curve of a method.
struct MeanPoint {
    step: u64,
    cost: f64,
    value: f64,
    /// Half of the interval; 0 for one seed.
    half: f64,
}

/// Means over the curves at their common points, which are those of the shortest.
fn means(curves: &[(u64, &Curve)], cost: &Cost) -> Vec<MeanPoint> {
    let n = curves.iter().map(|(_, curve)| curve.at.len()).min().unwrap_or(0);
    let at = |index: usize| {
        let points: Vec<&CurvePoint> = curves.iter().map(|(_, curve)| &curve.at[index]).collect();
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        let interval = MeanInterval::of(&values)?;
        Some(MeanPoint {
            step: points[0].step,
            cost: stats::mean(&points.iter().map(|point| (cost.of)(point)).collect::<Vec<_>>()),
            value: interval.mean,
            half: interval.half_width.unwrap_or(0.0),
        })
    };
    (0..n).filter_map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_one_line_per_method_with_curves() {
        let comparison = r#"{"data":["d"],"methods":["random","controlg-gain","raw"],"seeds":[0,1],"tasks":["nc"],"set":[],
            "budget":"steps","probe":"lbfgs","embedding":"l2"}"#;
        let comparison: Comparison = serde_json::from_str(comparison).unwrap();
        let cell = |method: &str, seed: u64, curve: &str| -> ResultCell {
            let line = format!(
                r#"{{"data":"d","method":"{method}","seed":{seed},"task":"nc","value":80,"protocol":"p"{curve}}}"#
            );
            serde_json::from_str(&line).unwrap()
        };
        let curve = |value: f64, operations: f64| {
            let point = |step: u64, share: f64| {
                format!(
                    r#"{{"step":{step},"operations":{},"measuring":0,"evaluations":1,"seconds":{},"value":{}}}"#,
                    share * operations,
                    3.0 * share,
                    value * share
                )
            };
            format!(
                r#","curve":{{"points":2,"at":[{},{},{}]}}"#,
                point(0, 0.0),
                point(10, 0.5),
                point(20, 1.0)
            )
        };
        let cells = [
            cell("random", 0, &curve(80.0, 4e9)),
            cell("random", 1, &curve(82.0, 6e9)),
            cell("controlg-gain", 0, &curve(81.0, 2e9)),
            cell("raw", 0, ""),
        ];
        let report = ComparisonReport::new(&comparison, &cells, "random", false).unwrap();
        let found = figures(&report, &cells);
        assert_eq!(
            found.iter().map(|figure| figure.name).collect::<Vec<_>>(),
            ["quality-operations", "quality-seconds"]
        );
        let rows: Vec<&str> = found[0].csv.lines().collect();
        assert_eq!(rows.len(), 1 + 3 + 3);
        assert!(rows[3].starts_with("nc,d,random,20,5,81,12.7"), "{}", rows[3]);
        assert_eq!(rows[6], "nc,d,controlg-gain,20,2,81,0");
        assert!(found[1].csv.contains("nc,d,controlg-gain,10,1.5,40.5,0"));
        assert!(found[0].svg().contains("controlg-gain") && !found[0].svg().contains("raw"));
        // Without curves there are no figures.
        let report = ComparisonReport::new(&comparison, &cells[3..], "random", false).unwrap();
        assert!(figures(&report, &cells[3..]).is_empty());
    }
}
