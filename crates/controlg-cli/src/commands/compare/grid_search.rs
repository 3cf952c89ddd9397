//! The grid search of a comparison: trials on validation data, and the choice among them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use controlg::compare::{self, Comparison, Grid, GridChoice, GridTrial, Job, JsonlStore};
use controlg::eval::Task;
use controlg::{Error, Result, files};
use serde::{Deserialize, Serialize};

use super::job_runner::JobRunner;
use super::{Summary, comparison, cores, engine, lock, remaining_jobs, run_all, survey};
use crate::args::{CommonArgs, CompareArgs};
use crate::console::Console;
use crate::interrupt;

/// `controlg compare --grid FILE --validation-only`: the grid search alone, without floors and single objectives. Writes
/// the chosen settings as run files.
pub(super) fn only(grid: &Grid, args: &CompareArgs, common: &CommonArgs, console: &Console) -> Result<()> {
    let mut comparison = comparison(args, common, console)?;
    interrupt::exit_with("interrupted; the same command continues the search".to_owned())?;
    let memory = survey(&mut comparison, args, common)?;
    let _lock = lock(&args.out, args.shard)?;
    let (ray, parallel) = engine(&comparison, memory, args, common)?;
    let (folder, keep) = (&args.out, args.keep_runs);
    let runner = JobRunner { comparison: &comparison, folder, common, keep, ray: ray.as_ref() };
    let Some(choices) = run(grid, &runner, parallel, args, console)? else { return incomplete(console) };
    let mut text = String::new();
    for (path, content) in chosen_files(&choices, args)? {
        files::atomic_write_bytes(&path, &content)?;
        let _ = write!(text, "{}\n{content}\n", path.display());
    }
    console.result(&choices, text.trim_end())
}

/// Says that the search waits for other shards.
pub(super) fn incomplete(console: &Console) -> Result<()> {
    console.log("the grid search waits for other shards: merge their trials, then run this command again");
    console.result(&serde_json::json!({ "complete": false }), "")
}

/// One file for each data set and method, or for each task if the tasks choose differently.
fn chosen_files(choices: &[GridChoice], args: &CompareArgs) -> Result<Vec<(PathBuf, String)>> {
    let folder = args.out.join("chosen");
    fs::create_dir_all(&folder)
        .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
    let mut chosen = Vec::new();
    for (at, choice) in choices.iter().enumerate() {
        let of_same_run = |other: &&GridChoice| other.data == choice.data && other.method == choice.method;
        let same: Vec<&GridChoice> =
            choices.iter().filter(of_same_run).filter(|other| other.settings == choice.settings).collect();
        if choices[..at].iter().any(|before| same.contains(&before)) {
            continue;
        }
        let scores: Vec<String> =
            same.iter().map(|one| format!("{} {:.2}", one.task.name(), one.validation)).collect();
        let alone = same.len() == choices.iter().filter(of_same_run).count();
        let suffix = if alone { String::new() } else { format!("-{}", choice.task.name()) };
        let data = choice.data.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("graph");
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let name: String = format!("{data}-{}{suffix}.toml", choice.method).chars().map(plain).collect();
        let comment = format!(
            "# Chosen for {} with {}: best of {} combinations on validation data ({}).\n",
            choice.data,
            choice.method,
            choice.trials,
            scores.join(", ")
        );
        chosen.push((folder.join(name), comment + &choice.to_toml()?));
    }
    Ok(chosen)
}

/// The trials of the grid search; none without a grid.
pub(super) fn trials(comparison: &Comparison, args: &CompareArgs) -> Result<Vec<Job>> {
    let grid = args.grid.as_deref().map(Grid::read).transpose()?;
    grid.map_or(Ok(Vec::new()), |grid| jobs(&grid, comparison, args))
}

fn jobs(grid: &Grid, comparison: &Comparison, args: &CompareArgs) -> Result<Vec<Job>> {
    let (seeds, all_seeds) = (args.grid_seeds.get(), comparison.seeds.len());
    if seeds > all_seeds {
        return Err(Error::value("--grid-seeds", seeds, format_args!("at most --seeds, {all_seeds}")));
    }
    grid.jobs(comparison, args.grid_limit.map(std::num::NonZeroUsize::get), seeds)
}

/// Runs the remaining trials of a grid and picks the best settings; `None` while trials of other shards are missing.
pub(super) fn run(
    grid: &Grid,
    runner: &JobRunner<'_>,
    parallel: usize,
    args: &CompareArgs,
    console: &Console,
) -> Result<Option<Vec<compare::GridChoice>>> {
    let jobs = jobs(grid, runner.comparison, args)?;
    let mut trials = JsonlStore::<GridTrial>::open(&args.out, "trials", args.shard)?;
    // Failed trials are repeated: the cause may be gone.
    let succeeded = |job: &Job| {
        let mut own = trials.all().iter().filter(|trial| trial.matches(job, runner.comparison));
        own.any(|trial| trial.validation.is_some())
    };
    let remaining = remaining_jobs(&jobs, args.shard, |job| (!succeeded(job)).then(|| job.clone()));
    console.log(format_args!("grid: {} trials, {} to run", jobs.len(), remaining.len()));
    // Test scores are neither computed into a file nor printed.
    let run = |job: &Job, threads: usize| runner.validate(job, threads);
    run_all(remaining, (parallel, cores(runner.common)), console, run, |job, outcome| {
        let found: Result<Vec<GridTrial>> =
            job.tasks.iter().map(|task| trial(job, *task, outcome, runner.comparison)).collect();
        trials.append(&found?)
    })?;
    let choices = compare::choose(runner.comparison, &jobs, trials.all(), args.grid_by)?;
    if let Some(choices) = &choices {
        let text = serde_json::to_string_pretty(choices).map_err(|error| Error::Failed(error.to_string()))?;
        files::atomic_write_bytes(&args.out.join("chosen.json"), text + "\n")?;
        for choice in choices {
            let settings = choice.settings.join(" ");
            let (data, method, task) = (&choice.data, &choice.method, choice.task.name());
            console.log(format_args!(
                "{data} {method}: {settings} (validation {task} {:.2}, best of {})",
                choice.validation, choice.trials
            ));
        }
    }
    Ok(choices)
}

/// The line of `trials.jsonl` of a combination; it has no validation score if training failed.
fn trial(
    job: &Job,
    task: Task,
    outcome: &Result<ValidationFigures>,
    comparison: &Comparison,
) -> Result<GridTrial> {
    Ok(GridTrial {
        data: job.data.clone(),
        method: job.method.clone(),
        seed: job.seed,
        task,
        protocols: if task == Task::Nc { comparison.protocols.clone() } else { Vec::new() },
        settings: job.settings.clone(),
        validation: outcome.as_ref().ok().and_then(|figures| figures.0.get(&task).copied()),
        config_hash: job.source.hash()?,
        probe: comparison.probe.name().to_owned(),
        embedding: comparison.normalize.name().to_owned(),
        data_hash: comparison.data_hashes.get(&job.data).cloned().unwrap_or_default(),
    })
}

/// The validation scores of a trial, in percent.
#[derive(Serialize, Deserialize)]
pub(super) struct ValidationFigures(pub(super) BTreeMap<Task, f64>);

impl Summary for ValidationFigures {
    fn summary(&self) -> String {
        let figure = |(task, value): (&Task, &f64)| format!("validation {} {value:.2}", task.name());
        self.0.iter().map(figure).collect::<Vec<_>>().join(", ")
    }
}
