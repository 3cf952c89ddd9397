//! `controlg compare`: which runs there are to do, each a `controlg pretrain` and a `controlg evaluate` of its own, and the
//! tables of their results.
//!
//! A run is a process, so that its memory is its own, a crash stops no other, and anybody can repeat it by hand.

mod child;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use controlg::compare::{
    self, Comparison, ComparisonReport, Grid, GridTrial, Job, JobProgress, JsonlStore, Manifest,
};
use controlg::data::{self, LoadOptions};
use controlg::eval::Task;
use controlg::eval::table::ResultCell;
use controlg::{Error, Result, files};

use crate::args::{CommonArgs, CompareArgs};
use crate::output::Output;
use crate::progress::in_words;
use child::Children;

pub(super) fn run(args: &CompareArgs, common: &CommonArgs, output: &Output) -> Result<()> {
    let Some(Done { kept, cells, failed }) = conduct(args, common, output)? else {
        output.remark("trials of other shards are missing: merge them, then go on");
        return output.result(&serde_json::json!({ "complete": false }), "");
    };
    let report = kept.report(&cells)?;
    kept.write(&args.out)?;
    write(&args.out, &report)?;
    output.remark(format_args!("tables: {}", args.out.join("tables.md").display()));
    output.result(&report, report.markdown())?;
    match failed.first() {
        None => Ok(()),
        Some(first) => Err(Error::Failed(format!("{} of the runs failed; the first: {first}", failed.len()))),
    }
}

/// What a comparison came to.
pub(super) struct Done {
    pub(super) kept: Manifest,
    pub(super) cells: Vec<ResultCell>,
    /// The runs that failed, in words.
    failed: Vec<String>,
}

/// Does all runs that are left; `None` while other shards have not done theirs of a grid search.
pub(super) fn conduct(args: &CompareArgs, common: &CommonArgs, output: &Output) -> Result<Option<Done>> {
    let mut comparison = Comparison {
        data: whole_names(&args.data),
        methods: args.methods.clone(),
        seeds: (0..args.seeds.get() as u64).collect(),
        tasks: args.tasks.clone(),
        set: args.set.clone(),
        budget: args.budget,
        probe: args.probe,
        embedding: args.embedding,
        data_hashes: BTreeMap::new(),
    };
    comparison.set.extend(args.features.map(|features| format!("features={}", features.name())));
    let reference = args.reference.clone().or(args.methods.first().cloned()).unwrap_or_default();
    comparison.complete(!args.skip_singles);
    if !comparison.methods.contains(&reference) {
        return Err(Error::unknown("method", reference, comparison.methods.iter().map(String::as_str)));
    }
    let largest = survey(&mut comparison, common)?;
    let at_once = at_once(largest, args, common);
    let children = Children { comparison: &comparison, folder: &args.out, common, keep: args.keep_runs };
    let choices = match &args.grid {
        None => Vec::new(),
        Some(path) => match search(&Grid::read(path)?, &children, at_once, args, output)? {
            Some(choices) => choices,
            None => return Ok(None),
        },
    };
    let jobs = comparison.jobs(&choices)?;
    let mut results = JsonlStore::<ResultCell>::open(&args.out, "results", args.shard)?;
    let open = open_jobs(&jobs, args, |job| comparison.left_of(job, results.all()));
    let failed = do_all(open, at_once, output, &children, |_, outcome| match outcome {
        Ok(cells) => results.append(cells),
        Err(_) => Ok(()),
    })?;
    let kept = Manifest { comparison, reference, against_paper: args.against.is_some(), choices };
    let cells = kept.cells(results.all())?;
    Ok(Some(Done { kept, cells, failed }))
}

/// Data sets as they were meant: the commas of `synthetic:nodes=100,degree=4` part settings, not data sets.
fn whole_names(pieces: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for piece in pieces {
        let setting = piece.contains('=') && !piece.contains(':');
        match names.last_mut().filter(|last| setting && last.contains(':')) {
            Some(last) => *last += &format!(",{piece}"),
            None => names.push(piece.clone()),
        }
    }
    names
}

/// The jobs of this shard that have something left to do.
fn open_jobs(jobs: &[Job], args: &CompareArgs, left: impl Fn(&Job) -> Option<Job>) -> Vec<Job> {
    let own = jobs.iter().enumerate().filter(|(place, _)| args.shard.is_none_or(|shard| shard.takes(*place)));
    own.filter_map(|(_, job)| left(job)).collect()
}

/// Tries what is left of a grid, and chooses; `None` while other shards have not done theirs.
fn search(
    grid: &Grid,
    children: &Children<'_>,
    at_once: usize,
    args: &CompareArgs,
    output: &Output,
) -> Result<Option<Vec<compare::GridChoice>>> {
    let limit = args.grid_limit.map(std::num::NonZeroUsize::get);
    let jobs = grid.jobs(children.comparison, limit)?;
    let mut trials = JsonlStore::<GridTrial>::open(&args.out, "trials", args.shard)?;
    // What could not be trained is tried again: the reason may be gone.
    let known = |job: &Job| {
        let mut own = trials.all().iter().filter(|trial| trial.is_of(job, children.comparison));
        own.any(|trial| trial.validation.is_some())
    };
    let open = open_jobs(&jobs, args, |job| (!known(job)).then(|| job.clone()));
    output.remark(format_args!("{} combinations of settings, {} left to try", jobs.len(), open.len()));
    do_all(open, at_once, output, children, |job, outcome| {
        let found: Result<Vec<GridTrial>> =
            job.tasks.iter().map(|task| trial(job, *task, outcome, children.comparison)).collect();
        trials.append(&found?)
    })?;
    let choices = compare::choose(children.comparison, &jobs, trials.all())?;
    if let Some(choices) = &choices {
        let text = serde_json::to_string_pretty(choices).map_err(|error| Error::Failed(error.to_string()))?;
        files::atomic_write_bytes(&args.out.join("chosen.json"), text + "\n")?;
        for choice in choices {
            let settings = choice.settings.join(" ");
            let (data, method, task) = (&choice.data, &choice.method, choice.task.name());
            output.remark(format_args!(
                "{data} {method}: {settings} ({task} on validation {:.2}, best of {})",
                choice.validation, choice.trials
            ));
        }
    }
    Ok(choices)
}

/// What a combination came to; without a figure where it could not be trained.
fn trial(
    job: &Job,
    task: Task,
    outcome: &Result<Vec<ResultCell>>,
    comparison: &Comparison,
) -> Result<GridTrial> {
    let cell = outcome.iter().flatten().find(|cell| cell.task == task.name());
    Ok(GridTrial {
        data: job.data.clone(),
        method: job.method.clone(),
        seed: job.seed,
        task,
        settings: job.settings.clone(),
        validation: cell.and_then(|cell| cell.validation),
        config_hash: job.subject.hash()?,
        probe: comparison.probe.name().to_owned(),
        embedding: comparison.embedding.name().to_owned(),
        data_hash: comparison.data_hashes.get(&job.data).cloned().unwrap_or_default(),
    })
}

/// Runs jobs and keeps what they give; the failures come back in words.
fn do_all(
    jobs: Vec<Job>,
    at_once: usize,
    output: &Output,
    children: &Children<'_>,
    mut keep: impl FnMut(&Job, &Result<Vec<ResultCell>>) -> Result<()> + Send,
) -> Result<Vec<String>> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    output.remark(format_args!("{} runs to do, {at_once} at once", jobs.len()));
    let mut failed = Vec::new();
    let run = |job: &Job, threads: usize| children.run(job, threads);
    compare::work(
        jobs,
        at_once,
        cores(children.common),
        run,
        |progress: JobProgress<'_, Vec<ResultCell>>| {
            let JobProgress { job, outcome, done, total, left } = progress;
            keep(job, outcome)?;
            let said = match outcome {
                Ok(cells) => {
                    let values: Vec<String> =
                        cells.iter().map(|cell| format!("{} {:.2}", cell.task, cell.value)).collect();
                    values.join(", ")
                }
                Err(error) => {
                    failed.push(format!("{}: {error}", job.title()));
                    format!("failed: {error}")
                }
            };
            let title = job.title();
            output.remark(format_args!("[{done}/{total}, {} left] {title}: {said}", in_words(left)));
            Ok(())
        },
    )?;
    Ok(failed)
}

fn cores(common: &CommonArgs) -> usize {
    let all = || available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    common.threads.map_or_else(all, std::num::NonZeroUsize::get)
}

/// Looks at the data sets, so that a name or file that is wrong is said before any work. Notes their hashes, and gives the
/// bytes that the largest run will take.
fn survey(comparison: &mut Comparison, common: &CommonArgs) -> Result<usize> {
    let needs_labels = comparison.tasks.iter().any(|task| *task != Task::Lp);
    let jobs = comparison.jobs(&[])?;
    let mut largest = 0;
    for data in &comparison.data {
        let config = jobs.iter().find_map(|job| match &job.subject {
            compare::Subject::Run(config) if config.data == *data => Some(config),
            _ => None,
        });
        let Some(config) = config else { continue };
        let options = LoadOptions {
            data_dir: common.data_dir.clone(),
            features: config.features,
            ..LoadOptions::default()
        };
        let dataset = data::load(data, &options)?;
        if needs_labels && dataset.labels.is_none() {
            return Err(Error::value(data, "no labels", "labels, which nc and cluster are judged by"));
        }
        comparison.data_hashes.insert(data.clone(), dataset.fingerprint());
        let width = config.encoder.width();
        // A run holds about thirty matrices of one row a node, and the graph as read and as seen.
        largest = largest.max(dataset.graph.n_nodes() * width * 120 + 4 * dataset.graph.memory_bytes());
    }
    Ok(largest)
}

/// How many runs go at once: one a core, as long as the largest of them fits that often into the memory that is free.
fn at_once(largest: usize, args: &CompareArgs, common: &CommonArgs) -> usize {
    let fit = free_memory().map_or(usize::MAX, |free| free / largest.max(1)).max(1);
    args.jobs.map_or(cores(common).min(fit), std::num::NonZeroUsize::get)
}

/// Bytes of memory that are free, where the system tells.
fn free_memory() -> Option<usize> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()? * 1024)
}

fn write(folder: &Path, report: &ComparisonReport) -> Result<()> {
    files::atomic_write_bytes(&folder.join("tables.md"), report.markdown())?;
    files::atomic_write_bytes(&folder.join("tables.html"), report.html())?;
    let tables = folder.join("tables");
    fs::create_dir_all(&tables)
        .map_err(|error| Error::io(format_args!("creating {}", tables.display()), error))?;
    report.files().iter().try_for_each(|(name, text)| files::atomic_write_bytes(&tables.join(name), text))
}

#[cfg(test)]
mod tests {
    use super::whole_names;

    #[test]
    fn settings_stay_with_their_graph() {
        let pieces = ["cora", "synthetic:nodes=9", "degree=4", "chameleon", "a=b.csv"].map(str::to_owned);
        assert_eq!(whole_names(&pieces), ["cora", "synthetic:nodes=9,degree=4", "chameleon", "a=b.csv"]);
    }
}
