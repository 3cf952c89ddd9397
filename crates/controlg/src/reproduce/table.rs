//! Our numbers beside the paper's.

use std::fmt::Write;

use serde::Serialize;

use super::{PaperNumber, ReproduceSettings, ReproduceTarget};
use crate::compare::ResultCell;
use crate::compare::table::{TextTable, html_escape};
use crate::error::Result;
use crate::eval::ranks::{AverageRank, MissingRank, average_ranks};
use crate::eval::stats::MeanInterval;
use crate::eval::{Task, floors};

/// A table of the paper with our numbers beside the paper's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetTable {
    /// Name of the target.
    pub name: String,
    /// What it shows, with the metric.
    pub title: String,
    /// Data sets, in the order of the columns.
    pub data: Vec<String>,
    /// Rows.
    pub rows: Vec<TableRow>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableRow {
    /// Method, or size of the pool.
    pub name: String,
    /// One cell per data set.
    pub cells: Vec<TableCell>,
    /// Average rank of our means among the rows that the paper has.
    pub rank: Option<AverageRank>,
    /// The same for the paper's numbers.
    pub paper_rank: Option<AverageRank>,
}

/// Our number and the paper's.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TableCell {
    /// Our value of each seed.
    pub values: Vec<(u64, f64)>,
    /// Mean over the seeds with its 95 % interval.
    pub ours: Option<MeanInterval>,
    /// The paper's number, with the half-width of its 95 % interval if it has one.
    pub paper: Option<PaperNumber>,
}

impl TableCell {
    /// Ours minus the paper's, with the half-width of the 95 % interval of the difference if both have one: the root of the
    /// sum of their squares, since the runs are independent.
    pub fn difference(&self) -> Option<PaperNumber> {
        let (ours, (theirs, half)) = (self.ours?, self.paper?);
        let half = ours.half_width.zip(half).map(|(a, b)| a.hypot(b));
        Some((ours.mean - theirs, half))
    }

    /// Our number, the paper's and their difference, one line each.
    fn lines(&self) -> [String; 3] {
        let number = |(value, half): (f64, Option<f64>)| match half {
            Some(half) => format!("{value:.2} ± {half:.2}"),
            None => format!("{value:.2}"),
        };
        let none = || "–".to_owned();
        let ours = self.ours.map_or_else(none, |ours| number((ours.mean, ours.half_width)));
        let paper = self.paper.map_or_else(none, number);
        let difference = self.difference().map_or_else(String::new, |(value, half)| match half {
            Some(half) => format!("{value:+.2} ± {half:.2}"),
            None => format!("{value:+.2}"),
        });
        [ours, paper, difference]
    }
}

impl TargetTable {
    /// The table of a target from all results; `None` if the target has no table of scores.
    pub fn new(
        target: &ReproduceTarget,
        settings: &ReproduceSettings,
        all: &[ResultCell],
    ) -> Result<Option<TargetTable>> {
        let Some(task) = target.task else { return Ok(None) };
        let mut data: Vec<String> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let mut cells: Vec<ResultCell> = Vec::new();
        for part in target.parts(settings) {
            let rows = part.row.clone().map_or_else(|| part.comparison.methods.clone(), |row| vec![row]);
            names.extend(rows.into_iter().filter(|row| !names.contains(row)).collect::<Vec<_>>());
            if !data.iter().any(|known| known == part.data()) {
                data.push(part.data().to_owned());
            }
            cells.extend(part.cells(all)?.into_iter().filter(|cell| cell.task == task.name()));
        }
        // Floors stand below the rows of the paper.
        names.sort_by_key(|name| floors::NAMES.contains(&name.as_str()));
        let title = format!("{} ({} in percent)", target.title, task.metric());
        let cell = |name: &String, data: &String| {
            let own = cells.iter().filter(|cell| cell.method == *name && cell.data == *data);
            let values: Vec<(u64, f64)> = own.map(|cell| (cell.seed, cell.value)).collect();
            let ours = MeanInterval::of(&values.iter().map(|value| value.1).collect::<Vec<_>>());
            TableCell { values, ours, paper: target.published(data, name) }
        };
        let rows = names.iter().map(|name| TableRow {
            name: name.clone(),
            cells: data.iter().map(|data| cell(name, data)).collect(),
            rank: None,
            paper_rank: None,
        });
        let mut table = TargetTable { name: target.name.to_owned(), title, rows: rows.collect(), data };
        table.rank();
        Ok(Some(table))
    }

    /// Whether any run of the table is there.
    pub fn has_results(&self) -> bool {
        self.rows.iter().any(|row| row.cells.iter().any(|cell| cell.ours.is_some()))
    }

    /// The rows that are not floors.
    pub fn methods(&self) -> impl Iterator<Item = &TableRow> {
        self.rows.iter().filter(|row| !row.is_floor())
    }

    /// The row with this name.
    pub fn row(&self, name: &str) -> Option<&TableRow> {
        self.rows.iter().find(|row| row.name == name)
    }

    fn rank(&mut self) {
        let columns = 0..self.data.len();
        let averages = |of: fn(&TableCell) -> Option<f64>| {
            let values: Vec<Vec<Option<f64>>> =
                columns.clone().map(|at| self.methods().map(|row| of(&row.cells[at])).collect()).collect();
            average_ranks(&values, MissingRank::Skip)
        };
        let ours = averages(|cell| cell.ours.map(|ours| ours.mean));
        let paper = averages(|cell| cell.paper.map(|paper| paper.0));
        let methods = self.rows.iter_mut().filter(|row| !row.is_floor());
        for ((row, ours), paper) in methods.zip(ours).zip(paper) {
            (row.rank, row.paper_rank) = (ours, paper);
        }
    }

    /// As Markdown: ours / paper's (difference).
    pub fn markdown(&self) -> String {
        format!("## {}: {}\n\n{}", self.name, self.title, self.text().markdown())
    }

    /// As a plain table, for Markdown, CSV and LaTeX.
    pub fn text(&self) -> TextTable {
        let cell = |cell: &TableCell| match cell.lines() {
            [ours, paper, _] if ours == "–" && paper == "–" => "–".to_owned(),
            [ours, paper, difference] if difference.is_empty() => format!("{ours} / {paper}"),
            [ours, paper, difference] => format!("{ours} / {paper} ({difference})"),
        };
        let rank =
            |rank: Option<AverageRank>| rank.map_or("–".to_owned(), |rank| format!("{:.2}", rank.rank));
        let rows = self.rows.iter().map(|row| {
            let ranks = format!("{} / {}", rank(row.rank), rank(row.paper_rank));
            [row.name.clone()].into_iter().chain(row.cells.iter().map(cell)).chain([ranks]).collect()
        });
        let head = ["ours / paper (difference)".to_owned()];
        TextTable {
            name: self.name.clone(),
            title: self.title.clone(),
            head: head
                .into_iter()
                .chain(self.data.iter().cloned())
                .chain(["average rank".to_owned()])
                .collect(),
            rows: rows.collect(),
        }
    }

    /// As CSV at full precision: one line per row and data set.
    pub fn csv(&self) -> String {
        let mut out = "row,data,n,mean,half_width_95,paper,paper_half_width_95,difference\n".to_owned();
        let text = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        for row in &self.rows {
            for (data, cell) in self.data.iter().zip(&row.cells) {
                let _ = writeln!(
                    out,
                    "{},{data},{},{},{},{},{},{}",
                    row.name,
                    cell.ours.map_or(0, |ours| ours.n),
                    text(cell.ours.map(|ours| ours.mean)),
                    text(cell.ours.and_then(|ours| ours.half_width)),
                    text(cell.paper.map(|paper| paper.0)),
                    text(cell.paper.and_then(|paper| paper.1)),
                    text(cell.difference().map(|difference| difference.0)),
                );
            }
        }
        out
    }

    /// As an HTML fragment: in each cell our number, below it the paper's and the difference.
    pub fn html(&self) -> String {
        let mut out = String::from("<table class=\"beside\">\n<thead><tr><th>row</th>");
        for data in &self.data {
            let _ = write!(out, "<th>{}</th>", html_escape(data));
        }
        out += "<th>average rank</th></tr></thead>\n<tbody>\n";
        let rank =
            |rank: Option<AverageRank>| rank.map_or("–".to_owned(), |rank| format!("{:.2}", rank.rank));
        for row in &self.rows {
            let _ = write!(out, "<tr><th>{}</th>", html_escape(&row.name));
            for cell in &row.cells {
                let [ours, paper, difference] = cell.lines();
                let _ = write!(out, "<td>{ours}<br><small>{paper}<br>{difference}</small></td>");
            }
            let (ours, paper) = (rank(row.rank), rank(row.paper_rank));
            let _ = writeln!(out, "<td>{ours}<br><small>{paper}</small></td></tr>");
        }
        out + "</tbody>\n</table>\n"
    }

    /// The task of the table, for its axis.
    pub fn task(&self) -> Option<Task> {
        ReproduceTarget::find(&self.name).ok().and_then(|target| target.task)
    }
}

impl TableRow {
    fn is_floor(&self) -> bool {
        floors::NAMES.contains(&self.name.as_str())
    }
}
