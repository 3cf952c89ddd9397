//! Runs one job of a comparison in child processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use controlg::compare::{Comparison, Curve, CurvePoint, EmbeddingSource, Job, ResultCell};
use controlg::data::FeatureSource;
use controlg::eval::quality::Quality;
use controlg::eval::{Score, Task, ValidationScore, stats};
use controlg::trace::{self, BlockLine, Record};
use controlg::{Error, Result, files, run_files};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::grid_search::ValidationFigures;
use super::ray::{Evaluation, RayCluster};
use crate::args::CommonArgs;
use crate::commands::pretrain::PARENT;

/// Runs the jobs of a comparison.
pub(in crate::commands) struct JobRunner<'c> {
    pub(in crate::commands) comparison: &'c Comparison,
    /// Folder of the comparison.
    pub(in crate::commands) folder: &'c Path,
    pub(in crate::commands) common: &'c CommonArgs,
    /// Whether to keep embeddings and models.
    pub(in crate::commands) keep: bool,
    /// Runs the jobs elsewhere.
    pub(in crate::commands) ray: Option<&'c RayCluster>,
}

/// The part of the output of `pretrain --json` that is used here.
#[derive(Deserialize)]
struct ChildOutcome {
    steps: u64,
    peak_bytes: Option<u64>,
}

/// Cost of a run, and what it measured of its embeddings.
#[derive(Default)]
struct RunCost {
    steps: u64,
    evaluations: u64,
    seconds: f64,
    peak_mb: f64,
    /// The last measurement of the quality without labels.
    quality: Option<Quality>,
    /// The mean of the last held-out losses relative to the first.
    held_out: Option<f64>,
}

impl JobRunner<'_> {
    /// Pretrains unless the job is a floor, evaluates, and returns one cell per task.
    pub(super) fn run(&self, job: &Job, threads: usize) -> Result<Vec<ResultCell>> {
        if let Some(ray) = self.ray {
            return ray.run(self, job, Evaluation::Test);
        }
        let points = self.comparison.curve;
        let (subject, cost) = self.pretrain(job, points, threads)?;
        let scores: Vec<(Task, Score)> = self.scores(job, &subject, &[], threads)?;
        let mut curves: Vec<(Task, Vec<CurvePoint>)> = Vec::new();
        if points > 0 && job.is_run() {
            curves = self.scores(job, &subject, &["--curve"], threads)?;
        }
        // Scores and curves of a task are in the order of its protocols.
        let mut curve_of = |task: Task| {
            let first = curves.iter().position(|(known, _)| *known == task)?;
            Some(Curve { points, at: curves.remove(first).1 })
        };
        self.clean_up(job, &subject)?;
        let hash = job.source.hash()?;
        let data_hash = self.comparison.data_hashes.get(&job.data).cloned().unwrap_or_default();
        Ok(scores
            .into_iter()
            .map(|(task, score)| ResultCell {
                curve: curve_of(task),
                ..cell(job, task, &score, &cost, [&hash, &data_hash], threads)
            })
            .collect())
    }

    /// Pretrains and returns the validation scores of the tasks that have one. Test scores are not stored.
    pub(super) fn validate(&self, job: &Job, threads: usize) -> Result<ValidationFigures> {
        if let Some(ray) = self.ray {
            return ray.run(self, job, Evaluation::Validation);
        }
        let (subject, _) = self.pretrain(job, 0, threads)?;
        let scores: Vec<(Task, ValidationScore)> =
            self.scores(job, &subject, &["--validation-only"], threads)?;
        self.clean_up(job, &subject)?;
        let mut figures = BTreeMap::<Task, Vec<f64>>::new();
        scores.into_iter().for_each(|(task, score)| figures.entry(task).or_default().push(score.validation));
        let mean = |(task, figures): (Task, Vec<f64>)| (task, stats::mean(&figures));
        Ok(ValidationFigures(figures.into_iter().map(mean).collect()))
    }

    /// The scores of all tasks, each by all of its protocols.
    fn scores<T: DeserializeOwned>(
        &self,
        job: &Job,
        subject: &str,
        more: &[&str],
        threads: usize,
    ) -> Result<Vec<(Task, T)>> {
        let mut scores = Vec::new();
        let protocols = self.comparison.protocols_of(Task::Nc);
        for (at, protocol) in protocols.into_iter().enumerate() {
            // Other tasks have one protocol.
            let tasks: Vec<Task> =
                job.tasks.iter().copied().filter(|task| at == 0 || *task == Task::Nc).collect();
            if tasks.is_empty() {
                break;
            }
            let mut evaluate = self.evaluate(job, subject, &tasks)?;
            evaluate.extend(more.iter().map(|argument| (*argument).to_owned()));
            evaluate.extend(protocol.into_iter().flat_map(|name| ["--protocol".to_owned(), name.to_owned()]));
            scores.extend(self.call::<BTreeMap<Task, T>>(&evaluate, threads)?);
        }
        Ok(scores)
    }

    /// Pretrains unless the job is a floor, and keeps the embeddings at some points. Returns the run folder or the floor's name,
    /// and the cost.
    fn pretrain(&self, job: &Job, points: u64, threads: usize) -> Result<(String, RunCost)> {
        let config = match &job.source {
            EmbeddingSource::Floor(name) => return Ok((name.to_string(), RunCost::default())),
            EmbeddingSource::Run(config) => config,
        };
        // A run that was begun without its points cannot make up for them.
        let suffix = if points > 0 { format!("-curve{points}") } else { String::new() };
        let run = self.folder.join("runs").join(job.folder_name()? + &suffix);
        fs::create_dir_all(&run)
            .map_err(|error| Error::io(format_args!("creating {}", run.display()), error))?;
        let settings = run.join(run_files::CONFIG);
        files::atomic_write_bytes(&settings, config.to_toml()?)?;
        let (folder, settings) = (as_text(&run)?, as_text(&settings)?);
        let mut arguments =
            ["pretrain", "--config", settings, "--out", folder, "--resume"].map(str::to_owned).to_vec();
        if points > 0 {
            arguments.extend(["--snapshots".to_owned(), points.to_string()]);
        }
        let outcome: ChildOutcome = self.call(&arguments, threads)?;
        Ok((folder.to_owned(), cost(&run, &outcome, self.comparison.evaluations(config))?))
    }

    /// The arguments of `controlg evaluate` for a run or a floor.
    fn evaluate(&self, job: &Job, subject: &str, tasks: &[Task]) -> Result<Vec<String>> {
        let tasks: Vec<&str> = tasks.iter().map(|task| task.name()).collect();
        let (tasks, seed) = (tasks.join(","), job.seed.to_string());
        let (probe, normalize) = (self.comparison.probe.name(), self.comparison.normalize.name());
        let mut arguments = vec!["evaluate", subject, "--tasks", &tasks, "--seed", &seed];
        arguments.extend(["--probe", probe, "--normalize", normalize]);
        match &job.source {
            EmbeddingSource::Floor(_) => {
                arguments.extend(["--data", &job.data]);
                if self.comparison.feature_source(&job.data)? == FeatureSource::Structural {
                    arguments.extend(["--features", "structural"]);
                }
            }
            // A comparison has the floors as rows of their own.
            EmbeddingSource::Run(_) => arguments.push("--no-floors"),
        }
        Ok(arguments.into_iter().map(str::to_owned).collect())
    }

    /// Removes the large files of a run unless they are to be kept.
    fn clean_up(&self, job: &Job, subject: &str) -> Result<()> {
        match &job.source {
            EmbeddingSource::Run(_) if !self.keep => remove_artifacts(Path::new(subject)),
            _ => Ok(()),
        }
    }

    /// Runs this program with other arguments and parses the JSON that it prints.
    fn call<T: DeserializeOwned>(&self, arguments: &[String], threads: usize) -> Result<T> {
        let launcher = crate::launcher();
        let Some((program, first)) = launcher.split_first() else {
            return Err(Error::Failed("the path of this program is unknown".to_owned()));
        };
        let mut command = Command::new(program);
        command.args(first);
        command.args(arguments).args(["--json", "--quiet", "--threads", &threads.to_string()]);
        if let Some(folder) = &self.common.data_dir {
            command.arg("--data-dir").arg(folder);
        }
        if let Some(copy) = &self.common.data_copy {
            command.arg("--data-copy").arg(copy);
        }
        command.stdin(Stdio::null()).env(PARENT, std::process::id().to_string());
        let output = command.output().map_err(|error| Error::io("starting a run", error))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let message = stderr.lines().last().unwrap_or_default();
            let message = message.strip_prefix("controlg: ").unwrap_or(message);
            return Err(Error::Failed(if message.is_empty() {
                format!("controlg {} ended with {}", arguments[0], output.status)
            } else {
                message.to_owned()
            }));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| {
            Error::Failed(format!("cannot parse the output of controlg {}: {error}", arguments[0]))
        })
    }
}

fn cell(
    job: &Job,
    task: Task,
    score: &Score,
    cost: &RunCost,
    [hash, data_hash]: [&str; 2],
    threads: usize,
) -> ResultCell {
    ResultCell {
        data: job.data.clone(),
        method: job.method.clone(),
        pool: job.pool.clone(),
        seed: job.seed,
        task: task.name().to_owned(),
        value: score.value,
        protocol: score.protocol.clone(),
        split_hash: score.split_hash.clone(),
        probe: score.probe.clone(),
        embedding: score.embedding.clone(),
        macro_f1: score.metric("macro_f1"),
        validation: score.metric("validation"),
        quality: cost.quality,
        held_out: cost.held_out,
        curve: None,
        missing_classes: missing_classes(score),
        settings: job.settings.clone(),
        config_hash: hash.to_owned(),
        data_hash: data_hash.to_owned(),
        steps: cost.steps,
        evaluations: cost.evaluations,
        seconds: cost.seconds,
        peak_mb: cost.peak_mb,
        threads,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn missing_classes(score: &Score) -> Vec<String> {
    let missing = score.more.get("missing_classes");
    missing.and_then(|names| serde_json::from_value(names.clone()).ok()).unwrap_or_default()
}

/// The seconds come from the record, which includes the time before an interruption.
fn cost(run: &Path, outcome: &ChildOutcome, evaluations: u64) -> Result<RunCost> {
    let lines = trace::read(&run.join(run_files::TRACE))?;
    let milliseconds: f64 = lines
        .iter()
        .map(|line| match &line.record {
            Record::Run(_) | Record::Scheduler(_) | Record::End(_) => 0.0,
            Record::Warmup(line) => line.ms,
            Record::Sense(line) => line.ms,
            Record::Block(line) => line.ms,
        })
        .sum();
    let blocks: Vec<&BlockLine> = lines
        .iter()
        .filter_map(|line| match &line.record {
            Record::Block(line) => Some(&**line),
            _ => None,
        })
        .collect();
    Ok(RunCost {
        steps: outcome.steps,
        evaluations,
        seconds: (milliseconds / 10.0).round() / 100.0,
        peak_mb: outcome.peak_bytes.map_or(0.0, |bytes| (bytes as f64 / 1e5).round() / 10.0),
        quality: blocks.iter().rev().find_map(|block| block.quality),
        held_out: relative_held_out(&blocks),
    })
}

/// The mean over the objectives of the last held-out loss relative to the first; `None` unless there are two measurements.
fn relative_held_out(blocks: &[&BlockLine]) -> Option<f64> {
    let mut measured = blocks.iter().map(|block| &block.held_out).filter(|losses| !losses.is_empty());
    let (first, last) = (measured.next()?, measured.next_back()?);
    let relative: f64 = first.iter().zip(last).map(|(first, last)| last / first).sum();
    let mean = relative / first.len() as f64;
    mean.is_finite().then_some(mean)
}

/// Removes the large files of a run; keeps settings, record and scores.
fn remove_artifacts(run: &Path) -> Result<()> {
    for name in [
        run_files::EMBEDDINGS_NPY,
        run_files::EMBEDDINGS_PARQUET,
        run_files::IDS,
        run_files::MODEL,
        run_files::CHECKPOINTS,
        run_files::SNAPSHOTS,
    ] {
        let path = run.join(name);
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else if path.exists() {
            fs::remove_file(&path)
        } else {
            Ok(())
        };
        removed.map_err(|error| Error::io(format_args!("removing {}", path.display()), error))?;
    }
    Ok(())
}

fn as_text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| Error::value("--out", path.display(), "a path in valid UTF-8"))
}
