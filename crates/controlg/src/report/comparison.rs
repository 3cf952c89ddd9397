//! The figures of a comparison: ranks, cost against quality, the paper beside us.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::axis::Axis;
use super::chart::{Plot, stacked};
use super::figures::Figure;
use crate::compare::table::ResultTable;
use crate::compare::{ComparisonReport, ResultCell};
use crate::eval::stats;
use crate::eval::{Task, paper};

/// All figures that a comparison has something for.
pub(super) fn figures(report: &ComparisonReport, cells: &[ResultCell]) -> Vec<Figure> {
    [ranks(report), cost(report, cells), beside_paper(cells)].into_iter().flatten().collect()
}

/// Two methods whose average ranks differ by less than this cannot be told apart at the 5 % level: Nemenyi's test
/// (Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 2006).
fn critical_difference(methods: usize, data_sets: usize) -> Option<f64> {
    const Q: [f64; 19] = [
        1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164, 3.219, 3.268, 3.313, 3.354, 3.391,
        3.426, 3.458, 3.489, 3.517, 3.544,
    ];
    let q = Q.get(methods.checked_sub(2)?)?;
    let k = methods as f64;
    (data_sets > 0).then(|| q * (k * (k + 1.0) / (6.0 * data_sets as f64)).sqrt())
}

/// Methods with their average ranks and the number of data sets these are over, the best first.
fn ranked(table: &ResultTable) -> Vec<(&str, f64, usize)> {
    let ranks = table.rows.iter().filter_map(|row| Some((row.method.as_str(), row.rank?)));
    let mut ranked: Vec<_> = ranks.map(|(method, rank)| (method, rank.rank, rank.n)).collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    ranked
}

fn ranks(report: &ComparisonReport) -> Option<Figure> {
    let mut csv = "task,method,average_rank,data_sets\n".to_owned();
    let mut pictures = Vec::new();
    for task in &report.tasks {
        let ranked = ranked(&task.table);
        if ranked.len() < 2 {
            continue;
        }
        let whole = task.table.columns.len();
        for (method, rank, n) in &ranked {
            let _ = writeln!(csv, "{},{method},{rank},{n}", task.task.name());
        }
        let height = 60.0 + 17.0 * ranked.len() as f64;
        let rows = ranked.len() as f64 + 1.0;
        let label = format!("average rank, {}", task.title());
        let axis = Axis::over(&label, [1.0, ranked.len() as f64]);
        let mut plot = Plot::new(640.0, height, axis, Axis::over("", [0.0, rows])).with_left(130.0);
        let difference = critical_difference(ranked.len(), whole);
        if let Some(difference) = difference {
            let end = (1.0 + difference).min(ranked.len() as f64);
            plot.cell(7, (1.0, end), (rows - 0.75, rows - 0.6), 1.0);
            plot.text((1.0, rows - 0.5), "start", &format!("critical difference {difference:.2}"));
        }
        for (place, (method, rank, n)) in ranked.iter().enumerate() {
            let row = rows - 1.5 - place as f64;
            plot.row_name(row, method);
            plot.cell(0, (1.0, *rank), (row - 0.06, row + 0.06), 0.5);
            let over = if *n == whole { String::new() } else { format!(" on {n} of {whole} data sets") };
            plot.dot(0, (*rank, row), 4.5, &format!("{method}: {rank:.2}{over}"));
        }
        pictures.push(plot.finish(false));
    }
    (!pictures.is_empty()).then(|| Figure {
        name: "ranks",
        title: "Average ranks".to_owned(),
        caption: "Over the data sets on which a method has a value. Methods nearer to each other than the grey bar cannot be \
                  told apart (Nemenyi, 5 %)."
            .to_owned(),
        picture: stacked(pictures),
        csv,
    })
}

/// Means of the cells of each data set and method.
fn means(cells: &[ResultCell], task: Task, of: fn(&ResultCell) -> f64) -> BTreeMap<(String, String), f64> {
    let mut values: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.task == task.name()) {
        values.entry((cell.data.clone(), cell.method.clone())).or_default().push(of(cell));
    }
    values.into_iter().map(|(key, values)| (key, stats::mean(&values))).collect()
}

fn cost(report: &ComparisonReport, cells: &[ResultCell]) -> Option<Figure> {
    let task = report.tasks.first()?.task;
    let quality = means(cells, task, |cell| cell.value);
    let speed = means(cells, task, |cell| 1e3 * cell.seconds / cell.steps.max(1) as f64);
    let mut csv = "data,method,ms_a_step,value\n".to_owned();
    let mut pictures = Vec::new();
    for data in &report.comparison.data {
        let own: Vec<(&String, f64, f64)> = quality
            .iter()
            .filter(|((name, _), _)| name == data)
            .filter_map(|(key, value)| Some((&key.1, *speed.get(key)?, *value)))
            .filter(|(_, ms, _)| *ms > 0.0)
            .collect();
        if own.is_empty() {
            continue;
        }
        let x = Axis::over(&format!("ms a step on {data}"), own.iter().map(|p| p.1)).log().with_room();
        let y = Axis::over(&format!("{} (%)", task.metric()), own.iter().map(|p| p.2)).with_room();
        let mut plot = Plot::new(640.0, 260.0, x, y);
        let dots: Vec<_> = own.iter().map(|(method, ms, value)| ((*ms, *value), method.as_str())).collect();
        plot.names(&dots);
        for (method, ms, value) in own {
            let _ = writeln!(csv, "{data},{method},{ms},{value}");
            let k = report.comparison.methods.iter().position(|name| name == method).unwrap_or(7);
            plot.dot(k, (ms, value), 5.0, &format!("{method}: {ms:.1} ms, {value:.2} %"));
        }
        pictures.push(plot.finish(true));
    }
    (!pictures.is_empty()).then(|| Figure {
        name: "cost",
        title: "Quality against time".to_owned(),
        caption: "What a step takes on this machine, with as many runs at once as the table says, and what it leads to.".to_owned(),
        picture: stacked(pictures),
        csv,
    })
}

fn beside_paper(cells: &[ResultCell]) -> Option<Figure> {
    let mut csv = "task,data,method,ours,paper\n".to_owned();
    let mut points: Vec<(usize, f64, f64, String)> = Vec::new();
    for (at, task) in [Task::Nc, Task::Lp, Task::Cluster].into_iter().enumerate() {
        for ((data, method), ours) in means(cells, task, |cell| cell.value) {
            if let Some(theirs) = paper::value(&data, &method, task.name()) {
                let _ = writeln!(csv, "{},{data},{method},{ours},{}", task.name(), theirs.value);
                let words =
                    format!("{} {data} {method}: ours {ours:.2}, paper {:.2}", task.name(), theirs.value);
                points.push((at, theirs.value, ours, words));
            }
        }
    }
    if points.is_empty() {
        return None;
    }
    let all = || points.iter().flat_map(|p| [p.1, p.2]);
    let axis = |label: &str| Axis::over(label, all()).with_room();
    let mut plot = Plot::new(640.0, 420.0, axis("the paper (%)"), axis("ours (%)"));
    let (low, high) = all().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    for (k, x, y, words) in &points {
        plot.dot(*k, (*x, *y), 4.5, words);
    }
    plot.line(7, "as the paper has it", &[(low, low), (high, high)]);
    for (k, task) in [Task::Nc, Task::Lp, Task::Cluster].into_iter().enumerate() {
        plot.named(k, task.name());
    }
    Some(Figure {
        name: "paper",
        title: "The paper's numbers and ours".to_owned(),
        caption: "Above the line ours is better. Budgets and splits are those of the tables, not always the paper's.".to_owned(),
        picture: plot.finish(true),
        csv,
    })
}

/// For each task a sentence on who leads, and whether that can be told from chance.
pub(super) fn story(report: &ComparisonReport) -> Vec<String> {
    report.tasks.iter().filter_map(|task| leaders(&task.title(), &task.table)).collect()
}

fn leaders(title: &str, table: &ResultTable) -> Option<String> {
    let ranked = ranked(table);
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
            "; beyond chance ahead of {behind} of the other {} (Nemenyi, 5 %)",
            others.len()
        );
    }
    Some(sentence + ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_differences_of_the_literature() {
        // Demšar's example: 4 classifiers, 14 data sets.
        assert!((critical_difference(4, 14).unwrap() - 1.25).abs() < 0.01);
        assert_eq!((critical_difference(1, 5), critical_difference(40, 5)), (None, None));
    }

    /// What is said of a table with these values on each of `data_sets` data sets.
    fn said(methods: &[(&str, f64)], data_sets: usize) -> String {
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
    fn who_leads_is_said_with_ties_and_what_chance_explains() {
        let three = [("a", 3.0), ("b", 2.0), ("c", 1.0)];
        let few = "nc: a has the best average rank, 1.00 over 1 data set; beyond chance ahead of none of the other 2 (Nemenyi, 5 %).";
        assert_eq!(said(&three, 1), few);
        // Ten data sets: a difference of 1.05 is critical, so 2 ranks are beyond it and 1 is not.
        let many = "nc: a has the best average rank, 1.00 over 10 data sets; beyond chance ahead of 1 of the other 2 (Nemenyi, 5 %).";
        assert_eq!(said(&three, 10), many);
        let tie = said(&[("a", 3.0), ("b", 3.0), ("c", 1.0)], 3);
        assert!(tie.starts_with("nc: a and b share the best average rank, 1.50 over 3 data sets;"), "{tie}");
        assert!(said(&[("a", 1.0), ("b", 1.0)], 2).ends_with("over 2 data sets."));
    }
}
