//! `controlg reproduce`: makes the tables and figures of the paper from runs that they share.

mod plan;
mod timing;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use controlg::compare::{Comparison, EmbeddingSource, Job, JsonlStore, ResultCell};
use controlg::config::Config;
use controlg::data::{LoadOptions, catalog};
use controlg::eval::Task;
use controlg::reproduce::{ReproduceSettings, ReproduceTarget, ReproductionManifest, RunPlan, TARGETS};
use controlg::{Error, Result, files, report, run_files};
use serde_json::json;

use super::compare;
use super::compare::job_runner::JobRunner;
use crate::args::{CommonArgs, ReproduceArgs};
use crate::console::Console;
use crate::interrupt;

pub(super) fn run(args: &ReproduceArgs, common: &CommonArgs, console: &Console) -> Result<()> {
    let settings = ReproduceSettings {
        preset: args.preset,
        budget: args.budget,
        seeds: args.seeds.get(),
        set: args.set.clone(),
        data: compare::join_dataset_settings(&args.data),
        gain_configs: args.gain_configs.get(),
    };
    if args.targets == ["list"] {
        return plan::list(&settings, common, console);
    }
    let targets = targets(&args.targets)?;
    let planned = RunPlan::new(&targets, &settings)?;
    if args.dry_run {
        return plan::show(&planned, &settings, args, common, console);
    }
    execute(&targets, &planned, &settings, args, common, console)
}

/// The chosen targets in the order of the list.
fn targets(names: &[String]) -> Result<Vec<&'static ReproduceTarget>> {
    if names == ["all"] {
        return Ok(TARGETS.iter().collect());
    }
    names.iter().try_for_each(|name| ReproduceTarget::find(name).map(drop))?;
    Ok(TARGETS.iter().filter(|target| names.iter().any(|name| name == target.name)).collect())
}

/// Whether the files of a data set are there. Paths and generated graphs always are: if not, loading says so.
fn is_present(data: &str, common: &CommonArgs) -> Result<bool> {
    let options = LoadOptions { data_dir: common.data_dir.clone(), ..LoadOptions::default() };
    let folder = catalog::data_dir(&options)?;
    Ok(catalog::find(data).is_none_or(|known| known.missing(&folder).is_empty()))
}

/// Runs what remains to be done and writes the tables.
fn execute(
    targets: &[&'static ReproduceTarget],
    planned: &RunPlan,
    settings: &ReproduceSettings,
    args: &ReproduceArgs,
    common: &CommonArgs,
    console: &Console,
) -> Result<()> {
    interrupt::exit_with("interrupted; the same command continues the reproduction".to_owned())?;
    let _lock = compare::lock(&args.out, args.shard)?;
    let mut manifest = ReproductionManifest { settings: settings.clone(), data_hashes: BTreeMap::new() };
    if args.out.join(ReproductionManifest::FILE).exists() {
        let before = ReproductionManifest::read(&args.out)?;
        before.check(settings, &args.out)?;
        manifest.data_hashes = before.data_hashes;
    }
    let mut skipped = Vec::new();
    for data in planned.data() {
        if !is_present(&data, common)? {
            console.log(format_args!(
                "note: {data} is skipped: its files are missing (controlg data fetch {data})"
            ));
            skipped.push(data);
        }
    }
    let jobs: Vec<Job> = planned.jobs.iter().map(|planned| planned.job.clone()).collect();
    let present = |job: &Job| !skipped.contains(&job.data);
    let mut results = JsonlStore::<ResultCell>::open(&args.out, "results", args.shard)?;
    let mut base = Comparison { data_hashes: manifest.data_hashes.clone(), ..settings.comparison() };
    let largest = survey(&mut base, &jobs, results.all(), &skipped, common)?;
    manifest.data_hashes.clone_from(&base.data_hashes);
    manifest.write(&args.out)?;
    let parallel = compare::parallel_jobs(largest, args.jobs, common);
    let runner = JobRunner { comparison: &base, folder: &args.out, common, keep: false, ray: None };
    let remaining = compare::remaining_jobs(&jobs, args.shard, |job| {
        present(job).then(|| base.remaining(job, results.all())).flatten()
    });
    let known = Mutex::new(results.all().to_vec());
    let run = |job: &Job, threads: usize| compare::run_or_reuse(&runner, job, threads, &known);
    let budget = (parallel, compare::cores(common));
    let failures = compare::run_all(remaining, budget, console, run, |_, outcome| match outcome {
        Ok(cells) => results.append(cells),
        Err(_) => Ok(()),
    })?;
    if targets.iter().any(|target| target.name == ReproduceTarget::TIMING) {
        timing::measure(settings, &skipped, args, common, console)?;
    }
    write(&args.out, console)?;
    let names: Vec<&str> = targets.iter().map(|target| target.name).collect();
    let page = args.out.join(run_files::REPORT);
    let summary = json!({ "targets": names, "page": page, "skipped": skipped, "failures": failures });
    console.result(&summary, format_args!("tables and figures: {}", page.display()))?;
    match failures.first() {
        None => Ok(()),
        Some(first) => Err(Error::Failed(format!("{} runs failed; the first: {first}", failures.len()))),
    }
}

/// Notes the hashes of the data sets that are there. Returns the estimated memory of the largest run that remains, in bytes.
fn survey(
    base: &mut Comparison,
    jobs: &[Job],
    done: &[ResultCell],
    skipped: &[String],
    common: &CommonArgs,
) -> Result<usize> {
    let mut names: Vec<&String> = Vec::new();
    for job in jobs.iter().filter(|job| !skipped.contains(&job.data)) {
        if !names.contains(&&job.data) {
            names.push(&job.data);
        }
    }
    let mut largest = 0;
    for data in names {
        let own = jobs.iter().filter(|job| job.data == *data);
        let open: Vec<&Job> = own.clone().filter(|job| base.remaining(job, done).is_some()).collect();
        // Memory depends neither on the seed nor on the settings of the loop.
        let mut kinds = Vec::new();
        let mut configs: Vec<&Config> = Vec::new();
        for job in open {
            let EmbeddingSource::Run(config) = &job.source else { continue };
            let kind = (&config.method, config.edges, config.encoder.settings(), &config.objectives);
            if !kinds.contains(&kind) {
                kinds.push(kind);
                configs.push(config);
            }
        }
        let any: Vec<&Config> = own
            .filter_map(|job| match &job.source {
                EmbeddingSource::Run(config) => Some(&**config),
                EmbeddingSource::Floor(_) => None,
            })
            .take(1)
            .collect();
        let needs_labels = jobs.iter().any(|job| job.tasks.iter().any(|task| *task != Task::Lp));
        // Without a run to do, only the hash is needed.
        if configs.is_empty() && base.data_hashes.contains_key(data) {
            continue;
        }
        let configs = if configs.is_empty() { any } else { configs };
        if let Some(found) = compare::survey_data(data, &configs, needs_labels, &[], common)? {
            base.data_hashes.insert(data.clone(), found.hash);
            largest = largest.max(found.memory);
        }
    }
    Ok(largest)
}

/// Writes all tables and the page of a reproduction from its results.
fn write(out: &Path, console: &Console) -> Result<()> {
    let rendered = report::of_reproduction(out)?;
    files::atomic_write_bytes(&out.join("tables.md"), &rendered.markdown)?;
    for name in ["tables", "figures"] {
        let folder = out.join(name);
        fs::create_dir_all(&folder)
            .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
    }
    for (name, text) in &rendered.files {
        files::atomic_write_bytes(&out.join(name), text)?;
    }
    files::atomic_write_bytes(&out.join(run_files::REPORT), &rendered.report.page)?;
    console.log(format_args!("tables: {}", out.join("tables.md").display()));
    Ok(())
}
