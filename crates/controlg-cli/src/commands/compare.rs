//! `controlg compare`: runs every job of a comparison and writes the tables of its results.
//!
//! A job is a `controlg pretrain` and a `controlg evaluate` in child processes: memory is measured per run, a crash does
//! not stop the others, and every job can be repeated by hand.

pub(crate) mod engine;
mod grid_search;
pub(super) mod job_runner;
mod ray;
mod slurm;

pub(super) use self::ray::run_job;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use controlg::compare::{
    self, Comparison, ComparisonReport, Grid, GridTrial, Job, JobProgress, JsonlStore, Manifest, PoolSuite,
    ResultCell, Shard,
};
use controlg::config::{Config, Preset};
use controlg::data::{self, LoadOptions, catalog};
use controlg::eval::Task;
use controlg::files::{self, FolderLock};
use controlg::report::format_duration;
use controlg::{Error, Result, train};

use crate::args::{CommonArgs, CompareArgs};
use crate::console::Console;
use crate::interrupt;
use engine::Engine;
use job_runner::JobRunner;
use ray::RayCluster;

use super::pretrain::refuse_unused_objectives;

pub(super) fn run(args: &CompareArgs, common: &CommonArgs, console: &Console) -> Result<()> {
    if args.engine == Some(Engine::Slurm) {
        return slurm::submit(args, common, console);
    }
    engine::check_local(args)?;
    if let (Some(grid), true) = (&args.grid, args.validation_only) {
        return grid_search::only(&Grid::read(grid)?, args, common, console);
    }
    let Some(CompletedComparison { manifest, cells, failures, _lock }) = execute(args, common, console)?
    else {
        return grid_search::incomplete(console);
    };
    let report = manifest.report(&cells)?;
    manifest.write(&args.out)?;
    write_tables(&args.out, &report)?;
    let tables = args.out.join("tables.md");
    if std::io::stdout().is_terminal() {
        let all = format_args!(
            "All tables: {}; as a page: controlg report {}",
            tables.display(),
            args.out.display()
        );
        console.result(&report, format_args!("{}{all}", report.plain()))?;
    } else {
        console.log(format_args!("tables: {}", tables.display()));
        console.result(&report, report.markdown())?;
    }
    match failures.first() {
        None => Ok(()),
        Some(first) => Err(Error::Failed(format!("{} runs failed; the first: {first}", failures.len()))),
    }
}

/// A comparison after all its jobs.
pub(super) struct CompletedComparison {
    pub(super) manifest: Manifest,
    pub(super) cells: Vec<ResultCell>,
    /// One message per failed run.
    failures: Vec<String>,
    /// Held until the tables are written.
    _lock: FolderLock,
}

/// Runs all remaining jobs; `None` while trials of other shards are missing from the grid search.
pub(super) fn execute(
    args: &CompareArgs,
    common: &CommonArgs,
    console: &Console,
) -> Result<Option<CompletedComparison>> {
    let (mut comparison, reference) = with_baselines(args, common, console)?;
    interrupt::exit_with("interrupted; the same command continues the comparison".to_owned())?;
    let memory = survey(&mut comparison, args, common)?;
    let lock = lock(&args.out, args.shard)?;
    write_definition(&comparison, &reference, args)?;
    let (ray, parallel) = engine(&comparison, memory, args, common)?;
    let (folder, keep) = (&args.out, args.keep_runs);
    let runner = JobRunner { comparison: &comparison, folder, common, keep, ray: ray.as_ref() };
    let choices = match &args.grid {
        None => Vec::new(),
        Some(path) => match grid_search::run(&Grid::read(path)?, &runner, parallel, args, console)? {
            Some(choices) => choices,
            None => return Ok(None),
        },
    };
    let jobs = comparison.jobs(&choices)?;
    let mut results = JsonlStore::<ResultCell>::open(&args.out, "results", args.shard)?;
    let remaining = remaining_jobs(&jobs, args.shard, |job| comparison.remaining(job, results.all()));
    let known = Mutex::new(results.all().to_vec());
    let run = |job: &Job, threads: usize| run_or_reuse(&runner, job, threads, &known);
    let failures = run_all(remaining, (parallel, cores(common)), console, run, |_, outcome| match outcome {
        Ok(cells) => results.append(cells),
        Err(_) => Ok(()),
    })?;
    let manifest = Manifest { comparison, reference, against_paper: args.against.is_some(), choices };
    let cells = manifest.cells(results.all())?;
    Ok(Some(CompletedComparison { manifest, cells, failures, _lock: lock }))
}

/// The comparison that the arguments define, with its reference method.
fn with_baselines(
    args: &CompareArgs,
    common: &CommonArgs,
    console: &Console,
) -> Result<(Comparison, String)> {
    let mut comparison = comparison(args, common, console)?;
    let reference = args.reference.clone().or(args.methods.first().cloned()).unwrap_or_default();
    comparison.add_baselines(!args.no_singles);
    if !comparison.methods.contains(&reference) {
        return Err(Error::unknown("method", reference, comparison.methods.iter().map(String::as_str)));
    }
    Ok((comparison, reference))
}

/// Writes the definition of a new comparison, so that it is continued with its defaults if it is interrupted.
fn write_definition(comparison: &Comparison, reference: &str, args: &CompareArgs) -> Result<()> {
    if args.validation_only || args.out.join(Manifest::FILE).exists() {
        return Ok(());
    }
    let (comparison, reference) = (comparison.clone(), reference.to_owned());
    let against_paper = args.against.is_some();
    Manifest { comparison, reference, against_paper, choices: Vec::new() }.write(&args.out)
}

/// Creates the output folder and locks it, so that no two comparisons run the same jobs. Shards have locks of their own.
pub(super) fn lock(out: &Path, shard: Option<Shard>) -> Result<FolderLock> {
    let folder = out.display();
    if out.to_str().is_none() {
        // Cells and arguments of runs name the folder as text.
        return Err(Error::value("--out", folder, "a path in valid UTF-8"));
    }
    fs::create_dir_all(out).map_err(|error| Error::io(format_args!("creating {folder}"), error))?;
    let name = match shard {
        None => FolderLock::NAME.to_owned(),
        Some(shard) => format!("{}-{}-of-{}", FolderLock::NAME, shard.index, shard.of),
    };
    FolderLock::take_named(out, &name, Duration::ZERO)
}

/// The comparison that the arguments define, without floors.
fn comparison(args: &CompareArgs, common: &CommonArgs, console: &Console) -> Result<Comparison> {
    let mut comparison = Comparison {
        data: join_dataset_settings(&args.data),
        methods: args.methods.clone(),
        pools: args.pool.map(PoolSuite::pools).unwrap_or_default(),
        preset: preset(args, console)?,
        seeds: (0..args.seeds.get() as u64).collect(),
        tasks: args.tasks.clone(),
        protocols: args.protocol.clone(),
        set: args.set.clone(),
        budget: args.budget,
        probe: args.probe,
        normalize: args.normalize,
        data_hashes: BTreeMap::new(),
        nodes: BTreeMap::new(),
        curve: args.curve.map_or(0, |points| points.get() as u64),
        defaults: Comparison::DEFAULTS,
    };
    add_filtered_versions(&mut comparison.data, common, console)?;
    if let Some(objectives) = &args.objectives {
        let methods: Vec<&str> = args.methods.iter().map(String::as_str).collect();
        refuse_unused_objectives(objectives, &methods)?;
        comparison.set.push(format!("objectives={}", objectives.join(",")));
    }
    comparison.set.extend(args.features.map(|features| format!("features={}", features.name())));
    comparison.defaults = revision_of_defaults(&comparison, args)?;
    Ok(comparison)
}

/// The chosen preset. A comparison that exists continues with its own, which was the paper's in version 0.1.
fn preset(args: &CompareArgs, console: &Console) -> Result<Preset> {
    if let Some(preset) = args.preset {
        return Ok(preset);
    }
    if !args.out.join(Manifest::FILE).exists() {
        return Ok(Preset::default());
    }
    let before = Manifest::read(&args.out)?.comparison.preset;
    if before != Preset::default() {
        let folder = args.out.display();
        console.log(format_args!("{folder} was made with --preset {before}: continuing with it"));
    }
    Ok(before)
}

/// The defaults of the runs: those of a comparison that exists. If its definition is not there, because it was interrupted
/// or its shards were copied without it, the results tell.
fn revision_of_defaults(comparison: &Comparison, args: &CompareArgs) -> Result<u32> {
    if args.out.join(Manifest::FILE).exists() {
        return Ok(Manifest::read(&args.out)?.comparison.defaults);
    }
    if !args.out.is_dir() {
        return Ok(Comparison::DEFAULTS);
    }
    let cells = JsonlStore::<ResultCell>::read(&args.out, "results")?;
    let trials = JsonlStore::<GridTrial>::read(&args.out, "trials")?;
    let grid = args.grid.as_deref().map(Grid::read).transpose()?.unwrap_or_default();
    let known = |revision: u32| -> Result<usize> {
        let revised = Comparison { defaults: revision, ..comparison.clone() };
        let runs = if cells.is_empty() { Vec::new() } else { revised.jobs(&[])? };
        let tried = match trials.is_empty() {
            true => Vec::new(),
            false => grid.jobs(&revised, args.grid_limit.map(Into::into), args.grid_seeds.into())?,
        };
        let hashes: Result<HashSet<String>> =
            runs.iter().chain(&tried).map(|job| job.source.hash()).collect();
        let hashes = hashes?;
        let stored =
            cells.iter().map(|cell| &cell.config_hash).chain(trials.iter().map(|trial| &trial.config_hash));
        Ok(stored.filter(|hash| hashes.contains(*hash)).count())
    };
    let (mut most, mut best) = (0, Comparison::DEFAULTS);
    for revision in (0..=Comparison::DEFAULTS).rev() {
        let found = known(revision)?;
        if found > most {
            (most, best) = (found, revision);
        }
    }
    Ok(best)
}

/// Adds the filtered versions that the user has, and says why.
fn add_filtered_versions(names: &mut Vec<String>, common: &CommonArgs, console: &Console) -> Result<()> {
    let options = LoadOptions { data_dir: common.data_dir.clone(), ..LoadOptions::default() };
    if !names.iter().any(|name| catalog::find(name).is_some_and(|known| known.filtered.is_some())) {
        return Ok(());
    }
    for (known, filtered) in catalog::add_filtered(names, &catalog::data_dir(&options)?) {
        console.log(format_args!("note: {} is compared too; {}: {}", filtered.name, known.name, known.notes));
    }
    Ok(())
}

/// Runs a job without the tasks of a floor that are known from another seed. `known` are the results so far.
pub(super) fn run_or_reuse(
    runner: &JobRunner<'_>,
    job: &Job,
    threads: usize,
    known: &Mutex<Vec<ResultCell>>,
) -> Result<Vec<ResultCell>> {
    let locked = || known.lock().unwrap_or_else(PoisonError::into_inner);
    let reuse = |task: &Task| runner.comparison.results_of_another_seed(job, *task, &locked());
    let mut cells: Vec<ResultCell> = job.tasks.iter().flat_map(reuse).collect();
    let is_open = |task: &Task| cells.iter().all(|cell| cell.task != task.name());
    let tasks: Vec<Task> = job.tasks.iter().copied().filter(is_open).collect();
    if !tasks.is_empty() {
        let new = runner.run(&Job { tasks, ..job.clone() }, threads)?;
        locked().extend(new.clone());
        cells.extend(new);
    }
    Ok(cells)
}

/// Rejoins names such as `synthetic:nodes=100,degree=4`, whose commas separate settings rather than data sets.
pub(super) fn join_dataset_settings(pieces: &[String]) -> Vec<String> {
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

/// The jobs of this shard that are not done yet, reduced to their remaining tasks.
pub(super) fn remaining_jobs(
    jobs: &[Job],
    shard: Option<Shard>,
    remaining: impl Fn(&Job) -> Option<Job>,
) -> Vec<Job> {
    let own = jobs.iter().enumerate().filter(|(index, _)| shard.is_none_or(|shard| shard.contains(*index)));
    own.filter_map(|(_, job)| remaining(job)).collect()
}

/// The result of a job in one line.
pub(super) trait Summary {
    fn summary(&self) -> String;
}

impl Summary for Vec<ResultCell> {
    fn summary(&self) -> String {
        self.iter().map(|cell| format!("{} {:.2}", cell.task, cell.value)).collect::<Vec<_>>().join(", ")
    }
}

/// Runs jobs, passes each outcome to `store`, and returns the messages of the failed ones.
pub(super) fn run_all<T: Summary + Send>(
    jobs: Vec<Job>,
    (parallel, cores): (usize, usize),
    console: &Console,
    run: impl Fn(&Job, usize) -> Result<T> + Sync,
    mut store: impl FnMut(&Job, &Result<T>) -> Result<()> + Send,
) -> Result<Vec<String>> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let parallel = parallel.min(jobs.len());
    console.log(format_args!("{} runs to do, {parallel} in parallel", jobs.len()));
    let mut failures = Vec::new();
    let on_end = |progress: JobProgress<'_, T>| {
        let JobProgress { job, outcome, done, total, left } = progress;
        store(job, outcome)?;
        let title = job.title();
        let summary = match outcome {
            Ok(result) => result.summary(),
            Err(error) => {
                failures.push(format!("{title}: {error}"));
                format!("failed: {error}")
            }
        };
        console.log(format_args!(
            "[{done}/{total}, {} left] {title}: {summary}",
            format_duration(left.as_secs_f64())
        ));
        Ok(())
    };
    compare::run_jobs(jobs, parallel, cores, run, on_end)?;
    Ok(failures)
}

pub(super) fn cores(common: &CommonArgs) -> usize {
    let all = || available_parallelism().map_or(1, NonZeroUsize::get);
    common.threads.map_or_else(all, NonZeroUsize::get)
}

/// The estimated memory of the largest run on each data set, in bytes.
#[derive(Default)]
struct MemoryByData(BTreeMap<String, usize>);

impl MemoryByData {
    /// The memory of the largest run.
    fn largest(&self) -> usize {
        self.0.values().copied().max().unwrap_or(0)
    }

    /// The memory of the largest run on a data set.
    fn on(&self, data: &str) -> usize {
        self.0.get(data).copied().unwrap_or(0)
    }
}

/// Loads every data set once, so that a wrong name or file is reported before any work. Notes their hashes and returns
/// the estimated memory, on a cluster also of the trials of a grid: its nodes hold a run to it.
fn survey(comparison: &mut Comparison, args: &CompareArgs, common: &CommonArgs) -> Result<MemoryByData> {
    let needs_labels = comparison.tasks.iter().any(|task| *task != Task::Lp);
    let mut jobs = comparison.jobs(&[])?;
    if args.engine.is_some() {
        jobs.extend(grid_search::trials(comparison, args)?);
    }
    let mut memory = MemoryByData::default();
    for data in &comparison.data {
        // Memory does not depend on the seed.
        let runs = jobs.iter().filter(|job| comparison.seeds.first() == Some(&job.seed));
        let configs: Vec<&Config> = runs
            .filter_map(|job| match &job.source {
                compare::EmbeddingSource::Run(config) if config.data == *data => Some(&**config),
                _ => None,
            })
            .collect();
        let Some(found) = survey_data(data, &configs, needs_labels, &comparison.protocols, common)? else {
            continue;
        };
        comparison.data_hashes.insert(data.clone(), found.hash);
        comparison.nodes.insert(data.clone(), found.nodes);
        memory.0.insert(data.clone(), found.memory);
    }
    Ok(memory)
}

/// What a comparison needs to know of a data set before it runs anything.
pub(super) struct SurveyedData {
    pub(super) hash: String,
    nodes: usize,
    /// The estimated memory of the largest run in bytes.
    pub(super) memory: usize,
}

/// Loads a data set on which these runs are to be made, and checks that it has a split for each of these protocols; `None`
/// without runs.
pub(super) fn survey_data(
    data: &str,
    configs: &[&Config],
    needs_labels: bool,
    protocols: &[String],
    common: &CommonArgs,
) -> Result<Option<SurveyedData>> {
    let Some(config) = configs.first() else { return Ok(None) };
    let options = LoadOptions {
        data_dir: common.data_dir.clone(),
        features: config.features,
        directed: config.directed,
        ..LoadOptions::default()
    };
    let dataset = data::load(data, &options)?;
    if needs_labels && dataset.labels.is_none() {
        return Err(Error::value(data, "no labels", "labels, which nc and cluster need"));
    }
    if let Some(labels) = &dataset.labels {
        for protocol in protocols {
            data::select_splits(data, &dataset.splits, labels, Some(protocol), 0)?;
        }
    }
    // A run that is refused needs no memory; it reports its error when it is its turn.
    let needs = configs.iter().filter_map(|config| train::memory::need(&dataset.graph, config).ok());
    let largest = needs.map(|need| need.total() as usize).max().unwrap_or(0);
    let (hash, nodes) = (dataset.fingerprint(), dataset.graph.n_nodes());
    Ok(Some(SurveyedData { hash, nodes, memory: largest }))
}

/// Connects to Ray if the arguments say so. Returns also how many runs are started at a time.
fn engine(
    comparison: &Comparison,
    memory: MemoryByData,
    args: &CompareArgs,
    common: &CommonArgs,
) -> Result<(Option<RayCluster>, usize)> {
    let Some(Engine::Ray(address)) = &args.engine else {
        return Ok((None, parallel_jobs(memory.largest(), args.jobs, common)));
    };
    let ray = RayCluster::connect(address.as_deref(), &comparison.data, memory, common)?;
    Ok((Some(ray), args.jobs.map_or(RayCluster::MOST_TASKS, NonZeroUsize::get)))
}

/// Number of parallel runs: one per core, but no more than fit into free memory.
pub(super) fn parallel_jobs(largest: usize, jobs: Option<NonZeroUsize>, common: &CommonArgs) -> usize {
    let fit = train::memory::available().map_or(usize::MAX, |free| free as usize / largest.max(1)).max(1);
    jobs.map_or(cores(common).min(fit), NonZeroUsize::get)
}

fn write_tables(folder: &Path, report: &ComparisonReport) -> Result<()> {
    files::atomic_write_bytes(&folder.join("tables.md"), report.markdown())?;
    files::atomic_write_bytes(&folder.join("tables.html"), report.html())?;
    let tables = folder.join("tables");
    fs::create_dir_all(&tables)
        .map_err(|error| Error::io(format_args!("creating {}", tables.display()), error))?;
    report.files().iter().try_for_each(|(name, text)| files::atomic_write_bytes(&tables.join(name), text))
}

#[cfg(test)]
mod tests {
    use super::join_dataset_settings;

    #[test]
    fn settings_stay_with_their_data_set() {
        let pieces = ["cora", "synthetic:nodes=9", "degree=4", "chameleon", "a=b.csv"].map(str::to_owned);
        assert_eq!(
            join_dataset_settings(&pieces),
            ["cora", "synthetic:nodes=9,degree=4", "chameleon", "a=b.csv"]
        );
    }
}
