//! The tables of a comparison, with everything that is needed to know what they mean.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Budget, Comparison, GridChoice};
use crate::data::limits;
use crate::error::{Error, Result};
use crate::eval::stats::{self, MeanInterval};
use crate::eval::table::{Plain, ResultCell, ResultRow, ResultTable, html_safe};
use crate::eval::{Task, floors, paper};
use crate::files;
use crate::objective::OBJECTIVES;

/// The tables of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonReport {
    /// What was compared.
    pub comparison: Comparison,
    /// For each task its tables.
    pub tasks: Vec<TaskTables>,
    /// Steps, evaluations, seconds and memory of the runs.
    pub costs: Plain,
    /// Whether all runs on a data set had the same number of steps.
    pub equal_steps: bool,
}

/// The tables of one task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskTables {
    /// The task.
    pub task: Task,
    /// Means with intervals, places and ranks.
    pub table: ResultTable,
    /// The objective alone that is best on validation, for each data set.
    pub best_single: Vec<(String, String)>,
    /// Differences to the chosen method, seed by seed.
    pub differences: Plain,
    /// The paper's numbers beside ours, where asked for.
    pub paper: Option<Plain>,
}

/// What a comparison's folder says of it, so that its tables can be made again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// What was compared.
    pub comparison: Comparison,
    /// The method that differences are taken to.
    pub reference: String,
    /// Whether the paper's numbers stand beside ours.
    pub against_paper: bool,
    /// What a grid search chose.
    pub choices: Vec<GridChoice>,
}

impl Manifest {
    /// The file in a comparison's folder.
    pub const FILE: &str = "comparison.json";

    /// Reads it.
    pub fn read(folder: &Path) -> Result<Manifest> {
        let path = folder.join(Self::FILE);
        let text = limits::read_text(&path)?;
        serde_json::from_str(&text).map_err(|error| {
            Error::input(&path, format_args!("line {}", error.line()), error, "what controlg compare wrote")
        })
    }

    /// Writes it.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::Failed(error.to_string()))?;
        files::atomic_write_bytes(&folder.join(Self::FILE), text + "\n")
    }

    /// The cells of these results that belong to it.
    pub fn cells(&self, all: &[ResultCell]) -> Result<Vec<ResultCell>> {
        Ok(self.comparison.results_of(&self.comparison.jobs(&self.choices)?, all))
    }

    /// The tables of its cells.
    pub fn report(&self, cells: &[ResultCell]) -> Result<ComparisonReport> {
        ComparisonReport::new(&self.comparison, cells, &self.reference, self.against_paper)
    }
}

impl ComparisonReport {
    /// The tables of these cells; differences are to the method `reference`.
    pub fn new(
        comparison: &Comparison,
        cells: &[ResultCell],
        reference: &str,
        against_paper: bool,
    ) -> Result<Self> {
        let mut tasks = Vec::new();
        for &task in &comparison.tasks {
            let of_task: Vec<&ResultCell> = cells.iter().filter(|cell| cell.task == task.name()).collect();
            let mut table = ResultTable::new(cells, task.name(), &comparison.methods, &comparison.data)?;
            let best_single = best_singles(comparison, cells, task);
            if !best_single.is_empty() {
                table.rows.push(single_row(comparison, &of_task, &best_single));
            }
            tasks.push(TaskTables {
                task,
                table,
                best_single,
                differences: differences(comparison, &of_task, task, reference),
                paper: against_paper.then(|| beside_paper(comparison, &of_task, task)),
            });
        }
        let (costs, equal_steps) = (costs(comparison, cells), equal_steps(cells));
        Ok(ComparisonReport { comparison: comparison.clone(), tasks, costs, equal_steps })
    }

    /// All tables as one text.
    pub fn markdown(&self) -> String {
        let mut out = format!("{}\n", self.setting());
        for report in &self.tasks {
            let _ = writeln!(out, "\n## {}\n\n{}", report.title(), report.table.markdown());
            out += &report.single_note();
            for plain in report.plain() {
                let _ = writeln!(out, "\n### {}\n\n{}", plain.title, plain.markdown());
            }
        }
        let _ = writeln!(out, "\n## {}\n\n{}", self.costs.title, self.costs.markdown());
        out
    }

    /// All tables as one page.
    pub fn html(&self) -> String {
        format!("{HTML_HEAD}{}</body>\n</html>\n", self.fragment())
    }

    /// The tables alone, for another page.
    pub(crate) fn fragment(&self) -> String {
        let mut body = format!("<p>{}</p>\n", html_safe(&self.setting()));
        for report in &self.tasks {
            let _ = writeln!(body, "<h2>{}</h2>\n{}", html_safe(&report.title()), report.table.html());
            let _ = writeln!(body, "<p>{}</p>", html_safe(&report.single_note()));
            for plain in report.plain() {
                let _ = writeln!(body, "<h3>{}</h3>\n{}", html_safe(&plain.title), plain.html());
            }
        }
        let _ = writeln!(body, "<h2>{}</h2>\n{}", html_safe(&self.costs.title), self.costs.html());
        body
    }

    /// Every table alone as CSV and LaTeX: file names and texts.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        for report in &self.tasks {
            let name = report.task.name();
            files.push((format!("{name}.csv"), report.table.csv()));
            files.push((format!("{name}.tex"), report.table.latex()));
        }
        let plain = self.tasks.iter().flat_map(|report| report.plain()).chain([&self.costs]);
        for table in plain {
            files.push((format!("{}.csv", table.name), table.csv()));
            files.push((format!("{}.tex", table.name), table.latex()));
        }
        files
    }

    /// What all the tables have in common.
    fn setting(&self) -> String {
        let Comparison { seeds, budget, probe, embedding, set, .. } = &self.comparison;
        let budget = match budget {
            Budget::Steps if self.equal_steps => "the same number of optimizer steps for every method",
            Budget::Steps => "optimizer steps as each method's settings have them (see what a run takes)",
            Budget::Evaluations => {
                "at most as many evaluations of objectives as a method's settings have steps"
            }
        };
        let set = match set.is_empty() {
            true => "the presets of the data sets".to_owned(),
            false => format!("the presets of the data sets with {}", set.join(", ")),
        };
        format!(
            "{} seeds ({}), {budget}, {set}. Percent, mean ± 95 % t-interval over the seeds; first, second and third are bold, \
             underlined and italic; the average rank is over the data sets on which a method has a value. Node classification by the \
             probe {} (embeddings normalized: {}). Settings of a probe are chosen on validation; test figures choose nothing.",
            seeds.len(),
            seeds.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            probe.name(),
            embedding.name(),
        )
    }
}

impl TaskTables {
    pub(crate) fn title(&self) -> String {
        let name = match self.task {
            Task::Nc => "Node classification",
            Task::Lp => "Link prediction",
            Task::Cluster => "Clustering",
        };
        format!("{name} ({}, {} in percent)", self.task.name(), self.task.measure())
    }

    fn plain(&self) -> impl Iterator<Item = &Plain> {
        [Some(&self.differences), self.paper.as_ref()].into_iter().flatten()
    }

    fn single_note(&self) -> String {
        if self.best_single.is_empty() {
            return String::new();
        }
        let each: Vec<String> =
            self.best_single.iter().map(|(data, method)| format!("{data} {method}")).collect();
        format!("Best single objective, by validation: {}.\n", each.join(", "))
    }
}

/// For each data set the objective alone with the best mean validation figure. Clustering has none: that of node
/// classification decides.
fn best_singles(comparison: &Comparison, cells: &[ResultCell], task: Task) -> Vec<(String, String)> {
    let deciding = if task == Task::Lp { Task::Lp } else { Task::Nc };
    let validation = |data: &str, method: &str| {
        let own = cells
            .iter()
            .filter(|cell| cell.task == deciding.name() && cell.data == data && cell.method == method);
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

/// The row of the best single objectives. They have rows of their own: this one takes no place and no rank.
fn single_row(comparison: &Comparison, cells: &[&ResultCell], best: &[(String, String)]) -> ResultRow {
    let summary = |data: &String| {
        let (_, method) = best.iter().find(|(known, _)| known == data)?;
        let values: Vec<f64> = by_seed(cells, data, method).into_iter().map(|(_, value)| value).collect();
        MeanInterval::of(&values).map(|summary| (summary, None))
    };
    let cells = comparison.data.iter().map(summary).collect();
    ResultRow { method: "best single objective".to_owned(), cells, rank: None, rank_missing_last: None }
}

fn differences(comparison: &Comparison, cells: &[&ResultCell], task: Task, reference: &str) -> Plain {
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
    Plain {
        name: format!("{}-differences", task.name()),
        title: format!("Difference to {reference}, paired by seed (* the 95 % interval excludes zero)"),
        head: head(comparison),
        rows: comparison.methods.iter().filter(|method| *method != reference).map(row).collect(),
    }
}

fn beside_paper(comparison: &Comparison, cells: &[&ResultCell], task: Task) -> Plain {
    let row = |method: &String| {
        let beside = |data: &String| {
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
        [method.clone()].into_iter().chain(comparison.data.iter().map(beside)).collect()
    };
    let rows = comparison.methods.iter().filter(|method| !floors::NAMES.contains(&method.as_str())).map(row);
    Plain {
        name: format!("{}-paper", task.name()),
        title: "Ours / the paper's (difference)".to_owned(),
        head: head(comparison),
        rows: rows.collect(),
    }
}

/// Whether all runs on a data set had the same number of steps; floors have none.
fn equal_steps(cells: &[ResultCell]) -> bool {
    let mut steps: BTreeMap<&str, u64> = BTreeMap::new();
    let mut trained = cells.iter().filter(|cell| cell.steps > 0);
    trained.all(|cell| *steps.entry(&cell.data).or_insert(cell.steps) == cell.steps)
}

/// What a run takes, the means over its seeds and kinds of runs.
fn costs(comparison: &Comparison, cells: &[ResultCell]) -> Plain {
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
    let head = ["run", "steps", "evaluations", "seconds", "ms a step", "peak MB", "threads"];
    Plain {
        name: "costs".to_owned(),
        title: "What a run takes".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
    }
}

/// A method's values on a data set, by seed.
fn by_seed(cells: &[&ResultCell], data: &str, method: &str) -> Vec<(u64, f64)> {
    let own = cells.iter().filter(|cell| cell.data == data && cell.method == method);
    own.map(|cell| (cell.seed, cell.value)).collect::<BTreeMap<u64, f64>>().into_iter().collect()
}

fn head(comparison: &Comparison) -> Vec<String> {
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
