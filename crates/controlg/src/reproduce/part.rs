//! A part of a target: a comparison of a few methods on one data set.

use super::ReproduceSettings;
use super::plan::Stage;
use super::settings::DATA;
use crate::compare::{Budget, Comparison, Job, ResultCell};
use crate::config::EdgeScope;
use crate::error::Result;
use crate::eval::{Task, floors, paper};

/// A comparison of a few methods on one data set.
#[derive(Clone, Debug)]
pub struct Part {
    /// The comparison.
    pub comparison: Comparison,
    /// When its jobs run.
    pub stage: Stage,
    /// Row of the results in the table; `None` for the name of the method.
    pub row: Option<String>,
    /// Combinations of settings, each run with the first seed; empty for one run per seed without further settings.
    pub combinations: Vec<Vec<String>>,
}

impl Part {
    /// A part with these methods on a data set, for tasks that train on these edges.
    pub(super) fn new(
        settings: &ReproduceSettings,
        data: &str,
        methods: &[&str],
        edges: EdgeScope,
        stage: Stage,
    ) -> Part {
        let comparison = Comparison {
            data: vec![data.to_owned()],
            methods: methods.iter().map(|&method| method.to_owned()).collect(),
            seeds: (0..settings.seeds).collect(),
            tasks: tasks_on(data, edges),
            ..settings.comparison()
        };
        Part { comparison, stage, row: None, combinations: Vec::new() }
    }

    /// The same with further settings.
    pub(super) fn with(mut self, set: &[&str]) -> Part {
        self.comparison.set.extend(set.iter().map(|&setting| setting.to_owned()));
        self
    }

    /// The same with another row in the table.
    pub(super) fn in_row(self, row: &str) -> Part {
        Part { row: Some(row.to_owned()), ..self }
    }

    /// The same with another budget.
    pub(super) fn with_budget(mut self, budget: Budget) -> Part {
        self.comparison.budget = budget;
        self
    }

    /// The data set.
    pub fn data(&self) -> &str {
        &self.comparison.data[0]
    }

    /// All jobs, ordered by seed.
    pub fn jobs(&self) -> Result<Vec<Job>> {
        if self.combinations.is_empty() {
            return self.comparison.jobs(&[]);
        }
        let Comparison { data, methods, tasks, seeds, .. } = &self.comparison;
        let one = |combination: &Vec<String>| {
            let (settings, seed) = (combination.clone(), seeds.first().copied().unwrap_or_default());
            self.comparison.job(&data[0], &methods[0], None, seed, EdgeScope::All, tasks, settings)
        };
        self.combinations.iter().map(one).collect()
    }

    /// The results of this part, with the row of the table as their method.
    pub fn cells(&self, all: &[ResultCell]) -> Result<Vec<ResultCell>> {
        let cells = self.comparison.results_of(&self.jobs()?, all).into_iter();
        Ok(match &self.row {
            None => cells.collect(),
            Some(row) => cells.map(|cell| ResultCell { method: row.clone(), ..cell }).collect(),
        })
    }
}

/// The tasks on which a run on these edges is evaluated: all that it allows, so that no target trains it again. The paper
/// does not cluster ogbn-arxiv, whose k-means would take longer than a run.
fn tasks_on(data: &str, edges: EdgeScope) -> Vec<Task> {
    match edges {
        EdgeScope::Train => vec![Task::Lp],
        EdgeScope::All if data == "ogbn-arxiv" => vec![Task::Nc],
        EdgeScope::All => vec![Task::Nc, Task::Cluster],
    }
}

/// Those of the methods that the paper has a number of on this data set. Floors, and data sets that are not in the paper,
/// have them all.
pub(super) fn rows_in_paper<'m>(data: &str, methods: &[&'m str]) -> Vec<&'m str> {
    let has =
        |method: &str| ["nc", "lp", "cluster"].iter().any(|task| paper::value(data, method, task).is_some());
    let keep = |method: &&&str| !DATA.contains(&data) || floors::NAMES.contains(*method) || has(method);
    methods.iter().filter(keep).copied().collect()
}
