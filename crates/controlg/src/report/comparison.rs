//! Figures of a comparison: average ranks, score vs. time, our results vs. the paper's.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::axis::Axis;
use super::chart::{Plot, WIDTH};
use super::curves;
use super::figures::Figure;
use super::svg::{SvgImage, stack};
use crate::compare::table::ResultTable;
use crate::compare::{ComparisonReport, ResultCell};
use crate::eval::ranks::critical_difference;
use crate::eval::stats;
use crate::eval::{Task, floors, paper};

/// Height of a plot of costs, and least height of a plot of ranks: the two stand side by side.
const PLOT_HEIGHT: f64 = 270.0;
/// Start of the axis of ranks: a dot at rank 1 does not touch the name of its row.
const FIRST: f64 = 0.8;

/// Gray, which is used for floors only.
const FLOOR_COLOR: usize = 7;

/// All figures for which the comparison has data.
pub(super) fn figures(report: &ComparisonReport, cells: &[ResultCell]) -> Vec<Figure> {
    let cells = &report.by_column(cells)[..];
    let along = curves::figures(report, cells).into_iter().map(Some);
    let all = [ranks(report), cost(report, cells)].into_iter().chain(along).chain([against_paper(cells)]);
    all.flatten().collect()
}

/// Methods with average rank and number of data sets, best first.
fn sorted_by_rank(table: &ResultTable) -> Vec<(&str, f64, usize)> {
    let ranks = table.rows.iter().filter_map(|row| Some((row.method.as_str(), row.rank?)));
    let mut ranked: Vec<_> = ranks.map(|(method, rank)| (method, rank.rank, rank.n)).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    ranked
}

fn ranks(report: &ComparisonReport) -> Option<Figure> {
    let mut csv = "task,method,average_rank,data_sets\n".to_owned();
    let mut images = Vec::new();
    for task in &report.tasks {
        let ranked = sorted_by_rank(&task.table);
        if ranked.len() < 2 {
            continue;
        }
        let n_data = task.table.columns.len();
        for (method, rank, n) in &ranked {
            let _ = writeln!(csv, "{},{method},{rank},{n}", task.task.name());
        }
        let height = (80.0 + 22.0 * ranked.len() as f64).max(PLOT_HEIGHT);
        let rows = ranked.len() as f64 + 1.0;
        let label = format!("average rank, {}", task.task.title().to_lowercase());
        let axis = Axis::over(&label, [FIRST, ranked.len() as f64]);
        let mut plot = Plot::new(WIDTH, height, axis, Axis::over("", [0.0, rows]))
            .with_row_names(ranked.iter().map(|(method, ..)| *method));
        let difference = critical_difference(ranked.len(), n_data);
        if let Some(difference) = difference {
            let end = (1.0 + difference).min(ranked.len() as f64);
            plot.rect(7, (1.0, end), (rows - 0.75, rows - 0.6), 1.0);
            plot.text((1.0, rows - 0.5), "start", &format!("critical difference {difference:.2}"));
        }
        for (index, (method, rank, n)) in ranked.iter().enumerate() {
            let row = rows - 1.5 - index as f64;
            plot.row_name(row, method);
            plot.rect(0, (FIRST, *rank), (row - 0.06, row + 0.06), 0.7);
            let over = if *n == n_data { String::new() } else { format!(" on {n} of {n_data} data sets") };
            plot.dot(0, (*rank, row), 4.5, &format!("{method}: {rank:.2}{over}"));
        }
        images.push(plot.finish(false));
    }
    (!images.is_empty()).then(|| Figure {
        name: "ranks",
        title: "Average ranks".to_owned(),
        caption: "Rank 1 is best; the average is over the data sets for which a method has a value. Methods whose ranks differ \
                  by less than the gray bar do not differ significantly (Nemenyi test, 5 % level)."
            .to_owned(),
        image: stack(images),
        csv,
    })
}

/// Mean of a quantity by data set and method.
fn means(cells: &[ResultCell], task: Task, of: fn(&ResultCell) -> f64) -> BTreeMap<(String, String), f64> {
    let mut values: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.task == task.name()) {
        values.entry((cell.data.clone(), cell.method.clone())).or_default().push(of(cell));
    }
    values.into_iter().map(|(key, values)| (key, stats::mean(&values))).collect()
}

/// Test score against training time: of every task on a single data set, of the first task on several.
fn cost(report: &ComparisonReport, cells: &[ResultCell]) -> Option<Figure> {
    let n_tasks = if report.comparison.data.len() == 1 { report.tasks.len() } else { 1 };
    let mut csv = "task,data,method,seconds,ms_per_step,value\n".to_owned();
    let mut images = Vec::new();
    for task in report.tasks.iter().take(n_tasks) {
        for data in &report.comparison.data {
            images.extend(cost_plot(report, cells, task.task, data, &mut csv));
        }
    }
    (!images.is_empty()).then(|| Figure {
        name: "cost",
        title: "Quality against time".to_owned(),
        caption: "Test score and training time of a run, mean over the seeds. The floors (gray) train nothing and stand at 0 \
                  seconds: a method pays off above them, and most of all at the top left. Times were measured while several \
                  runs shared the machine; the table of costs lists the threads."
            .to_owned(),
        image: stack(images),
        csv,
    })
}

/// Floors train nothing, so they stand at 0 seconds.
fn cost_plot(
    report: &ComparisonReport,
    cells: &[ResultCell],
    task: Task,
    data: &str,
    csv: &mut String,
) -> Option<SvgImage> {
    let quality = means(cells, task, |cell| cell.value);
    let seconds = means(cells, task, |cell| cell.seconds);
    let steps = means(cells, task, |cell| cell.steps as f64);
    let own: Vec<(&String, f64, f64, f64)> = quality
        .iter()
        .filter(|((name, _), _)| name == data)
        .filter_map(|(key, value)| Some((&key.1, *seconds.get(key)?, *steps.get(key)?, *value)))
        // Results of older versions have no time.
        .filter(|(_, seconds, steps, _)| *seconds > 0.0 || *steps == 0.0)
        .collect();
    if own.is_empty() {
        return None;
    }
    let x = Axis::from_zero(&format!("seconds of training on {data}"), own.iter().map(|p| p.1));
    let y = Axis::over(&format!("{} (%)", task.metric()), own.iter().map(|p| p.3)).with_margin();
    let mut plot = Plot::new(WIDTH, PLOT_HEIGHT, x, y);
    let dots: Vec<_> = own.iter().map(|(method, s, _, value)| ((*s, *value), method.as_str())).collect();
    plot.dot_labels(&dots);
    for (method, seconds, steps, value) in own {
        let floor = floors::NAMES.contains(&method.as_str());
        let ms = if steps > 0.0 { (1e3 * seconds / steps).to_string() } else { String::new() };
        let _ = writeln!(csv, "{},{data},{method},{seconds},{ms},{value}", task.name());
        let at = report.comparison.methods.iter().position(|name| name == method);
        let k = at.filter(|_| !floor).map_or(FLOOR_COLOR, |at| at % FLOOR_COLOR);
        plot.dot(k, (seconds, value), 5.0, &format!("{method}: {seconds:.1} s, {value:.2} %"));
    }
    Some(plot.finish(true))
}

fn against_paper(cells: &[ResultCell]) -> Option<Figure> {
    let mut csv = "task,data,method,ours,paper\n".to_owned();
    let mut points: Vec<(usize, f64, f64, String)> = Vec::new();
    for (at, task) in [Task::Nc, Task::Lp, Task::Cluster].into_iter().enumerate() {
        for ((data, method), ours) in means(cells, task, |cell| cell.value) {
            if let Some(theirs) = paper::value(&data, &method, task.name()) {
                let _ = writeln!(csv, "{},{data},{method},{ours},{}", task.name(), theirs.value);
                let tooltip =
                    format!("{} {data} {method}: ours {ours:.2}, paper {:.2}", task.name(), theirs.value);
                points.push((at, theirs.value, ours, tooltip));
            }
        }
    }
    if points.is_empty() {
        return None;
    }
    let all = || points.iter().flat_map(|p| [p.1, p.2]);
    let axis = |label: &str| Axis::over(label, all()).with_margin();
    let mut plot = Plot::new(WIDTH, 400.0, axis("paper (%)"), axis("ours (%)"));
    let (low, high) = all().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    for (k, x, y, tooltip) in &points {
        plot.dot(*k, (*x, *y), 4.5, tooltip);
    }
    plot.line(7, "equal", &[(low, low), (high, high)]);
    for (k, task) in [Task::Nc, Task::Lp, Task::Cluster].into_iter().enumerate() {
        plot.legend_entry(k, task.name());
    }
    Some(Figure {
        name: "paper",
        title: "Our results vs. the paper's".to_owned(),
        caption: "One dot per method and data set. Above the line our result is better. Budgets and splits follow the tables \
                  and can differ from the paper's."
            .to_owned(),
        image: plot.finish(true),
        csv,
    })
}

/// One sentence per task: the best methods, and whether their lead is significant.
pub(super) fn summary(report: &ComparisonReport) -> Vec<String> {
    report.tasks.iter().filter_map(|task| leaders(&task.title(), &task.table)).collect()
}

fn leaders(title: &str, table: &ResultTable) -> Option<String> {
    let ranked = sorted_by_rank(table);
    let &(_, best, n) = ranked.first()?;
    let (first, others) = ranked.split_at(ranked.partition_point(|(_, rank, _)| *rank <= best));
    let names: Vec<&str> = first.iter().map(|(method, ..)| *method).collect();
    let verb = if names.len() == 1 { "has" } else { "share" };
    let mut sentence =
        format!("{title}: {} {verb} the best average rank, {best:.2} over {n} data set", names.join(" and "));
    sentence += if n == 1 { "" } else { "s" };
    if let (Some(difference), false) =
        (critical_difference(ranked.len(), table.columns.len()), others.is_empty())
    {
        let behind = others.iter().filter(|(_, rank, _)| rank - best > difference).count();
        let behind = if behind == 0 { "none".to_owned() } else { behind.to_string() };
        let _ = write!(
            sentence,
            "; significantly better than {behind} of the other {} (Nemenyi test, 5 % level)",
            others.len()
        );
    }
    Some(sentence + ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_against_time_contains_the_floors() {
        let comparison = r#"{"data":["d"],"methods":["controlg","raw","untrained"],"seeds":[0],"tasks":["nc"],"set":[],
            "budget":"steps","probe":"lbfgs","embedding":"l2"}"#;
        let comparison: crate::compare::Comparison = serde_json::from_str(comparison).unwrap();
        let cell = |method: &str, value: f64, steps: u64, seconds: f64| -> ResultCell {
            let line = format!(
                r#"{{"data":"d","method":"{method}","seed":0,"task":"nc","value":{value},"protocol":"p","steps":{steps},"seconds":{seconds}}}"#
            );
            serde_json::from_str(&line).unwrap()
        };
        let cells = [
            cell("controlg", 80.0, 100, 5.0),
            cell("raw", 60.0, 0, 0.0),
            cell("untrained", 70.0, 0, 0.0),
            cell("old", 75.0, 100, 0.0),
        ];
        let report = ComparisonReport::new(&comparison, &cells, "controlg", false).unwrap();
        let figure = cost(&report, &cells).unwrap();
        assert_eq!(
            figure.csv,
            "task,data,method,seconds,ms_per_step,value\nnc,d,controlg,5,50,80\nnc,d,raw,0,,60\nnc,d,untrained,0,,70\n"
        );
        assert!(
            figure.svg().contains("raw: 0.0 s, 60.00 %") && figure.caption.contains("stand at 0 seconds")
        );
    }

    /// Summary of a table with these values on each of `data_sets` data sets.
    fn summary_of(methods: &[(&str, f64)], data_sets: usize) -> String {
        let line = |method: &str, data: usize, value: f64| {
            format!(
                r#"{{"data":"{data}","method":"{method}","seed":0,"task":"nc","value":{value},"protocol":"p","probe":"lbfgs","embedding":"l2","config_hash":""}}"#
            )
        };
        let cells: Vec<ResultCell> = (0..data_sets)
            .flat_map(|data| methods.iter().map(move |(method, value)| line(method, data, *value)))
            .map(|line| serde_json::from_str(&line).unwrap())
            .collect();
        leaders("nc", &ResultTable::new(&cells, "nc", &[], &[]).unwrap()).unwrap()
    }

    #[test]
    fn summary_reports_ties_and_significance() {
        let three = [("a", 3.0), ("b", 2.0), ("c", 1.0)];
        let few = "nc: a has the best average rank, 1.00 over 1 data set; significantly better than none of the other 2 (Nemenyi test, 5 % level).";
        assert_eq!(summary_of(&three, 1), few);
        // With ten data sets the critical difference is 1.05: 2 ranks exceed it, 1 does not.
        let many = "nc: a has the best average rank, 1.00 over 10 data sets; significantly better than 1 of the other 2 (Nemenyi test, 5 % level).";
        assert_eq!(summary_of(&three, 10), many);
        let tie = summary_of(&[("a", 3.0), ("b", 3.0), ("c", 1.0)], 3);
        assert!(tie.starts_with("nc: a and b share the best average rank, 1.50 over 3 data sets;"), "{tie}");
        assert!(summary_of(&[("a", 1.0), ("b", 1.0)], 2).ends_with("over 2 data sets."));
    }
}
