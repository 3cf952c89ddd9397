//! Tables of a comparison, with the protocol behind every number.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::table::{ResultRow, ResultTable, TextTable, html_escape};
use super::{Budget, Comparison, ResultCell, curve, label_free, pool, protocols};
use crate::config::Preset;
use crate::error::Result;
use crate::eval::stats::{self, MeanInterval};
use crate::eval::{EmbeddingNormalization, Task, floors, paper};
use crate::objective::OBJECTIVES;

/// All tables of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonReport {
    /// Definition of the comparison; with pools, its data sets are the columns of the tables.
    pub comparison: Comparison,
    /// Tables by task.
    pub tasks: Vec<TaskTables>,
    /// Steps, evaluations, time and memory of the runs.
    pub costs: TextTable,
    /// Whether all runs on a data set have the same number of steps.
    pub equal_steps: bool,
}

/// Tables of one task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskTables {
    /// Task.
    pub task: Task,
    /// Means with confidence intervals and average ranks.
    pub table: ResultTable,
    /// Best single objective on validation, by data set.
    pub best_single: Vec<(String, String)>,
    /// Differences to the reference method, paired by seed.
    pub differences: TextTable,
    /// Macro-F1, in comparisons that name their protocols.
    pub macro_f1: Option<TextTable>,
    /// The paper's numbers next to ours, if requested.
    pub paper: Option<TextTable>,
    /// Rank correlation of measures without labels with the score; `None` if the runs have none.
    pub label_free: Option<TextTable>,
    /// What it costs to reach the quality of a reference method; `None` if the runs have no curves.
    pub curve: Option<TextTable>,
}

impl ComparisonReport {
    /// Builds the tables; differences are relative to the method `reference`.
    pub fn new(
        comparison: &Comparison,
        cells: &[ResultCell],
        reference: &str,
        against_paper: bool,
    ) -> Result<Self> {
        if !comparison.pools.is_empty() {
            let data = pool::columns(comparison);
            let cells = pool::by_column(&comparison.pools, cells);
            let shown = Comparison { data: data.clone(), pools: Vec::new(), ..comparison.clone() };
            let report = ComparisonReport::new(&shown, &cells, reference, against_paper)?;
            return Ok(ComparisonReport { comparison: Comparison { data, ..comparison.clone() }, ..report });
        }
        let mut tasks = Vec::new();
        let by_protocol = protocols::by_column(cells);
        for &task in &comparison.tasks {
            let named = task == Task::Nc && !comparison.protocols.is_empty();
            let comparison = &if named { protocols::with_columns(comparison) } else { comparison.clone() };
            let cells = if named { &by_protocol[..] } else { cells };
            let task_cells: Vec<&ResultCell> = cells.iter().filter(|cell| cell.task == task.name()).collect();
            let mut table = ResultTable::new(cells, task.name(), &comparison.methods, &comparison.data)?;
            let best_single = best_singles(comparison, cells, task);
            if !best_single.is_empty() {
                table.rows.push(single_row(comparison, &task_cells, &best_single));
            }
            tasks.push(TaskTables {
                task,
                table,
                best_single,
                differences: differences(comparison, &task_cells, task, reference),
                macro_f1: named.then(|| macro_f1(comparison, &task_cells)),
                paper: against_paper.then(|| paper_comparison(comparison, &task_cells, task)),
                label_free: label_free::correlations(comparison, &task_cells, task),
                curve: curve::table(comparison, &task_cells, task, curve::reference(comparison, reference)),
            });
        }
        let (costs, equal_steps) = (costs(comparison, cells), equal_steps(cells));
        Ok(ComparisonReport { comparison: comparison.clone(), tasks, costs, equal_steps })
    }

    /// The results by the columns of the tables: in a comparison over pools, data set and pool.
    pub(crate) fn by_column(&self, cells: &[ResultCell]) -> Vec<ResultCell> {
        match &self.comparison.pools[..] {
            [] => cells.to_vec(),
            pools => pool::by_column(pools, cells),
        }
    }

    /// Renders all tables as Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("{}\n", self.setup());
        for report in &self.tasks {
            let _ = writeln!(out, "\n## {}\n\n{}", report.title(), report.table.markdown());
            out += &report.single_note();
            for table in report.text_tables() {
                let _ = writeln!(out, "\n### {}\n\n{}", table.title, table.markdown());
            }
        }
        let _ = writeln!(out, "\n## {}\n\n{}", self.costs.title, self.costs.markdown());
        out
    }

    /// The result tables, the correlations of measures without labels and the costs along the runs as aligned text for a terminal.
    pub fn plain(&self) -> String {
        let seeds = self.comparison.seeds.len();
        let spread = if seeds > 1 { ", mean ± 95 % interval" } else { "" };
        let mut out = String::new();
        for report in &self.tasks {
            let plural = if seeds == 1 { "" } else { "s" };
            let _ = writeln!(out, "{}, {seeds} seed{plural}{spread}, * is best:", report.title());
            let _ = writeln!(out, "{}", report.table.plain());
            for table in [&report.label_free, &report.curve].into_iter().flatten() {
                let _ = writeln!(out, "{}:\n{}", table.title, table.plain());
            }
        }
        out
    }

    /// Renders all tables as an HTML page.
    pub fn html(&self) -> String {
        format!("{HTML_HEAD}{}</body>\n</html>\n", self.fragment())
    }

    /// Renders the tables as an HTML fragment.
    pub(crate) fn fragment(&self) -> String {
        let mut body = format!("<p>{}</p>\n", html_escape(&self.setup()));
        for report in &self.tasks {
            let _ = writeln!(body, "<h2>{}</h2>\n{}", html_escape(&report.title()), report.table.html());
            let _ = writeln!(body, "<p>{}</p>", html_escape(&report.single_note()));
            for table in report.text_tables() {
                let _ = writeln!(body, "<h3>{}</h3>\n{}", html_escape(&table.title), table.html());
            }
        }
        let _ = writeln!(body, "<h2>{}</h2>\n{}", html_escape(&self.costs.title), self.costs.html());
        body
    }

    /// Every table as CSV and LaTeX: file names and contents.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        for report in &self.tasks {
            let name = report.task.name();
            files.push((format!("{name}.csv"), report.table.csv()));
            files.push((format!("{name}.tex"), report.table.latex()));
        }
        let text_tables = self.tasks.iter().flat_map(|report| report.text_tables()).chain([&self.costs]);
        for table in text_tables {
            files.push((format!("{}.csv", table.name), table.csv()));
            files.push((format!("{}.tex", table.name), table.latex()));
        }
        files
    }

    /// Describes the setup of all tables.
    fn setup(&self) -> String {
        let Comparison { preset, seeds, budget, probe, normalize, set, .. } = &self.comparison;
        let budget = match budget {
            Budget::Steps if self.equal_steps => "the same number of optimizer steps for every method",
            Budget::Steps => "optimizer steps as set for each method (see the cost of a run)",
            Budget::Evaluations => "at most as many objective evaluations as a method has steps by default",
        };
        let presets = match preset {
            Preset::Tuned => "presets of the data sets",
            Preset::Paper => "the paper's presets of the data sets",
        };
        let set =
            if set.is_empty() { presets.to_owned() } else { format!("{presets} with {}", set.join(", ")) };
        let normalization = match normalize {
            EmbeddingNormalization::L2 => "L2-normalized",
            EmbeddingNormalization::None => "unnormalized",
            EmbeddingNormalization::Zscore => "standardized",
        };
        let pools: Vec<String> = self
            .comparison
            .pools
            .iter()
            .map(|pool| format!("{}: {}", pool.name, pool.objectives.join(" ")))
            .collect();
        let pools = if pools.is_empty() { String::new() } else { format!(" Pools: {}.", pools.join("; ")) };
        format!(
            "{} seeds ({}), {budget}, {set}.{pools} Values are percent, mean ± 95 % t-interval over seeds; first, second and third are \
             bold, underlined and italic. The average rank covers the data sets for which a method has a value. Node \
             classification uses the {} probe on {} embeddings. Probe settings are chosen on validation data, never on test \
             data.",
            seeds.len(),
            seeds.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            probe.name(),
            normalization,
        )
    }
}

impl TaskTables {
    pub(crate) fn title(&self) -> String {
        format!("{} ({}, {} in percent)", self.task.title(), self.task.name(), self.task.metric())
    }

    fn text_tables(&self) -> impl Iterator<Item = &TextTable> {
        let optional = [&self.macro_f1, &self.paper, &self.label_free, &self.curve].into_iter().flatten();
        std::iter::once(&self.differences).chain(optional)
    }

    fn single_note(&self) -> String {
        if self.best_single.is_empty() {
            return String::new();
        }
        let each: Vec<String> =
            self.best_single.iter().map(|(data, method)| format!("{data} {method}")).collect();
        format!("Best single objective on validation: {}.\n", each.join(", "))
    }
}

/// For each data set, the single objective with the best mean validation score. Clustering has no validation score and
/// uses that of node classification.
fn best_singles(comparison: &Comparison, cells: &[ResultCell], task: Task) -> Vec<(String, String)> {
    let selection = if task == Task::Lp { Task::Lp } else { Task::Nc };
    let validation = |data: &str, method: &str| {
        let own = cells
            .iter()
            .filter(|cell| cell.task == selection.name() && cell.data == data && cell.method == method);
        MeanInterval::of(&own.filter_map(|cell| cell.validation).collect::<Vec<f64>>())
            .map(|summary| summary.mean)
    };
    let best = |data: &String| {
        let singles =
            OBJECTIVES.iter().filter(|entry| comparison.methods.iter().any(|name| name == entry.name));
        let figures = singles.filter_map(|entry| Some((entry.name, validation(data, entry.name)?)));
        let best = figures.reduce(|best, other| if other.1 > best.1 { other } else { best })?;
        Some((data.clone(), best.0.to_owned()))
    };
    comparison.data.iter().filter_map(best).collect()
}

/// Row of the best single objectives. It repeats other rows and therefore has no place and no rank.
fn single_row(comparison: &Comparison, cells: &[&ResultCell], best: &[(String, String)]) -> ResultRow {
    let summary = |data: &String| {
        let (_, method) = best.iter().find(|(known, _)| known == data)?;
        let values: Vec<f64> = by_seed(cells, data, method).into_iter().map(|(_, value)| value).collect();
        MeanInterval::of(&values).map(|summary| (summary, None))
    };
    let cells = comparison.data.iter().map(summary).collect();
    ResultRow { method: "best single objective".to_owned(), cells, rank: None, rank_missing_last: None }
}

fn differences(comparison: &Comparison, cells: &[&ResultCell], task: Task, reference: &str) -> TextTable {
    let row = |method: &String| {
        let difference = |data: &String| {
            let (own, other) = (by_seed(cells, data, method), by_seed(cells, data, reference));
            match MeanInterval::of(&stats::paired_differences(&own, &other)) {
                None => "–".to_owned(),
                Some(summary) => {
                    let mark = if summary.excludes_zero() { " *" } else { "" };
                    let half = summary.half_width.map(|half| format!(" ± {half:.2}")).unwrap_or_default();
                    format!("{:+.2}{half}{mark}", summary.mean)
                }
            }
        };
        [method.clone()].into_iter().chain(comparison.data.iter().map(difference)).collect()
    };
    TextTable {
        name: format!("{}-differences", task.name()),
        title: format!("Difference to {reference}, paired by seed (*: the 95 % interval excludes zero)"),
        head: header(comparison),
        rows: comparison.methods.iter().filter(|method| *method != reference).map(row).collect(),
    }
}

/// Macro-F1 beside accuracy, which is micro-F1 as every node has one class.
fn macro_f1(comparison: &Comparison, cells: &[&ResultCell]) -> TextTable {
    let row = |method: &String| {
        let figure = |data: &String| {
            let own = cells.iter().filter(|cell| cell.data == *data && cell.method == *method);
            let by_seed: BTreeMap<u64, f64> =
                own.filter_map(|cell| Some((cell.seed, cell.macro_f1?))).collect();
            let summary = MeanInterval::of(&by_seed.into_values().collect::<Vec<f64>>());
            summary.map_or("–".to_owned(), |summary| {
                let half = summary.half_width.map(|half| format!(" ± {half:.2}")).unwrap_or_default();
                format!("{:.2}{half}", summary.mean)
            })
        };
        [method.clone()].into_iter().chain(comparison.data.iter().map(figure)).collect()
    };
    TextTable {
        name: "nc-macro-f1".to_owned(),
        title: "Macro-F1 (accuracy is micro-F1)".to_owned(),
        head: header(comparison),
        rows: comparison.methods.iter().map(row).collect(),
    }
}

fn paper_comparison(comparison: &Comparison, cells: &[&ResultCell], task: Task) -> TextTable {
    let row = |method: &String| {
        let compare = |data: &String| {
            let values: Vec<f64> = by_seed(cells, data, method).into_iter().map(|(_, value)| value).collect();
            match (MeanInterval::of(&values), paper::value(data, method, task.name())) {
                (Some(ours), Some(theirs)) => {
                    format!("{:.2} / {:.2} ({:+.2})", ours.mean, theirs.value, ours.mean - theirs.value)
                }
                (Some(ours), None) => format!("{:.2} / –", ours.mean),
                (None, Some(theirs)) => format!("– / {:.2}", theirs.value),
                (None, None) => "–".to_owned(),
            }
        };
        [method.clone()].into_iter().chain(comparison.data.iter().map(compare)).collect()
    };
    let rows = comparison.methods.iter().filter(|method| !floors::NAMES.contains(&method.as_str())).map(row);
    TextTable {
        name: format!("{}-paper", task.name()),
        title: "Ours / paper (difference)".to_owned(),
        head: header(comparison),
        rows: rows.collect(),
    }
}

/// Whether all runs on a data set have the same number of steps; floors have none.
fn equal_steps(cells: &[ResultCell]) -> bool {
    let mut steps: BTreeMap<&str, u64> = BTreeMap::new();
    let mut trained = cells.iter().filter(|cell| cell.steps > 0);
    trained.all(|cell| *steps.entry(&cell.data).or_insert(cell.steps) == cell.steps)
}

/// Mean cost of a run over its seeds and tasks.
fn costs(comparison: &Comparison, cells: &[ResultCell]) -> TextTable {
    let mut rows = Vec::new();
    for data in &comparison.data {
        for method in &comparison.methods {
            let own: Vec<&ResultCell> =
                cells.iter().filter(|cell| cell.data == *data && cell.method == *method).collect();
            let mean = |of: fn(&ResultCell) -> f64| {
                stats::mean(&own.iter().map(|cell| of(cell)).collect::<Vec<_>>())
            };
            if own.is_empty() || mean(|cell| cell.steps as f64) == 0.0 {
                continue;
            }
            let mut threads: Vec<usize> = own.iter().map(|cell| cell.threads).collect();
            threads.sort_unstable();
            threads.dedup();
            let threads: Vec<String> = threads.iter().map(ToString::to_string).collect();
            rows.push(vec![
                format!("{data} {method}"),
                format!("{:.0}", mean(|cell| cell.steps as f64)),
                format!("{:.0}", mean(|cell| cell.evaluations as f64)),
                format!("{:.1}", mean(|cell| cell.seconds)),
                format!("{:.1}", mean(|cell| 1e3 * cell.seconds / cell.steps.max(1) as f64)),
                format!("{:.0}", mean(|cell| cell.peak_mb)),
                threads.join(" or "),
            ]);
        }
    }
    let head = ["run", "steps", "evaluations", "seconds", "ms/step", "peak MB", "threads"];
    TextTable {
        name: "costs".to_owned(),
        title: "Cost of a run".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
    }
}

/// Values of a method on a data set, by seed.
fn by_seed(cells: &[&ResultCell], data: &str, method: &str) -> Vec<(u64, f64)> {
    let own = cells.iter().filter(|cell| cell.data == data && cell.method == method);
    own.map(|cell| (cell.seed, cell.value)).collect::<BTreeMap<u64, f64>>().into_iter().collect()
}

fn header(comparison: &Comparison) -> Vec<String> {
    ["method".to_owned()].into_iter().chain(comparison.data.iter().cloned()).collect()
}

const HTML_HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta name=\"viewport\" content=\"width=device-width\">\n<title>ControlG comparison</title>\n<style>\n\
:root { color-scheme: light dark }\n\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }\n\
table { border-collapse: collapse; display: block; overflow-x: auto }\n\
th, td { padding: .2rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #8884 }\n\
th:first-child { text-align: left }\n\
</style>\n</head>\n<body>\n<h1>Comparison</h1>\n";
