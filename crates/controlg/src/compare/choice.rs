//! The best settings of a grid search.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Comparison, GridTrial, Job, edge_scope};
use crate::config::{self, EdgeScope};
use crate::error::{Error, Result};
use crate::eval::Task;

/// Best combination on validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridChoice {
    /// Data set.
    pub data: String,
    /// Method.
    pub method: String,
    /// Task of the validation score.
    pub task: Task,
    /// Settings, as `key=value`.
    pub settings: Vec<String>,
    /// Validation score in percent, mean over the seeds.
    pub validation: f64,
    /// Number of successful combinations.
    pub trials: usize,
}

/// How settings are chosen if there are several tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChooseBy {
    /// For each task by its own validation score. Node classification and clustering share a run and its settings.
    Task,
    /// One combination for all tasks, by the mean of their validation scores.
    Mean,
}

impl FromStr for ChooseBy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "task" => Ok(ChooseBy::Task),
            "mean" => Ok(ChooseBy::Mean),
            _ => Err(Error::unknown("way to choose", name, ["task", "mean"])),
        }
    }
}

impl GridChoice {
    /// Whether the choice applies to runs of a method on a data set with these training edges.
    pub fn applies_to(&self, data: &str, method: &str, edges: EdgeScope) -> bool {
        self.data == data && self.method == method && edge_scope(self.task) == edges
    }

    /// The settings as a run file.
    pub fn to_toml(&self) -> Result<String> {
        let mut table = toml::Table::new();
        self.settings.iter().try_for_each(|setting| config::set(&mut table, setting))?;
        toml::to_string(&table).map_err(|error| Error::Failed(error.to_string()))
    }
}

/// The best combination for each data set, method and task; `None` while trials are missing. Ties go to the first in the
/// grid. Combinations with a failed trial are skipped; it is an error if all failed.
pub fn choose(
    comparison: &Comparison,
    jobs: &[Job],
    trials: &[GridTrial],
    by: ChooseBy,
) -> Result<Option<Vec<GridChoice>>> {
    let mut searches: Vec<Search<'_>> = Vec::new();
    for job in jobs {
        let own: Vec<&GridTrial> = trials.iter().filter(|trial| trial.matches(job, comparison)).collect();
        let Some(GridTrial { task, .. }) = own.last() else { return Ok(None) };
        let validation = own.iter().rev().find_map(|trial| trial.validation);
        let task_of_search = (by == ChooseBy::Task).then_some(*task);
        let known = searches.iter().position(|search| search.is_of(job, task_of_search));
        let place = known.unwrap_or_else(|| {
            searches.push(Search {
                data: &job.data,
                method: &job.method,
                task: task_of_search,
                candidates: Vec::new(),
            });
            searches.len() - 1
        });
        searches[place].add(job, *task, validation);
    }
    let choices: Result<Vec<Vec<GridChoice>>> = searches.iter().map(Search::choices).collect();
    Ok(Some(choices?.concat()))
}

/// The trials among which one combination is chosen.
struct Search<'j> {
    data: &'j str,
    method: &'j str,
    /// `None` if all tasks choose together.
    task: Option<Task>,
    candidates: Vec<Candidate<'j>>,
}

/// One combination of settings.
struct Candidate<'j> {
    settings: &'j [String],
    /// One score for each task and seed; `None` if training failed.
    scores: Vec<(Task, Option<f64>)>,
}

impl<'j> Search<'j> {
    fn is_of(&self, job: &Job, task: Option<Task>) -> bool {
        self.data == job.data && self.method == job.method && self.task == task
    }

    fn add(&mut self, job: &'j Job, task: Task, validation: Option<f64>) {
        let known = self.candidates.iter_mut().find(|candidate| candidate.settings == job.settings);
        match known {
            Some(candidate) => candidate.scores.push((task, validation)),
            None => {
                self.candidates.push(Candidate { settings: &job.settings, scores: vec![(task, validation)] })
            }
        }
    }

    /// The best combination, once for each task.
    fn choices(&self) -> Result<Vec<GridChoice>> {
        let trained: Vec<_> =
            self.candidates.iter().filter_map(|candidate| Some((candidate, candidate.means()?))).collect();
        let mean =
            |means: &[(Task, f64)]| means.iter().map(|(_, score)| score).sum::<f64>() / means.len() as f64;
        // The first of several best ones.
        let best =
            trained.iter().reduce(|best, other| if mean(&other.1) > mean(&best.1) { other } else { best });
        let Some((candidate, means)) = best else {
            let place = format!("--grid, {} on {}", self.method, self.data);
            return Err(Error::value(place, "no combination that trains", "at least one"));
        };
        let choice = |&(task, validation): &(Task, f64)| GridChoice {
            data: self.data.to_owned(),
            method: self.method.to_owned(),
            task,
            settings: candidate.settings.to_vec(),
            validation,
            trials: trained.len(),
        };
        Ok(means.iter().map(choice).collect())
    }
}

impl Candidate<'_> {
    /// The mean score of each task over the seeds; `None` if a trial failed.
    fn means(&self) -> Option<Vec<(Task, f64)>> {
        let mut tasks: Vec<Task> = self.scores.iter().map(|(task, _)| *task).collect();
        tasks.sort();
        tasks.dedup();
        let mean = |task: Task| {
            let scores: Option<Vec<f64>> =
                self.scores.iter().filter(|(own, _)| *own == task).map(|(_, score)| *score).collect();
            let scores = scores?;
            Some((task, scores.iter().sum::<f64>() / scores.len() as f64))
        };
        tasks.into_iter().map(mean).collect()
    }
}
