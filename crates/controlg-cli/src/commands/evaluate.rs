//! `controlg evaluate`: how good are the embeddings of a run, or anybody's?

use std::fmt::Write;
use std::path::{Path, PathBuf};

use controlg::config::{self, Config, EdgeScope};
use controlg::data::{self, Dataset, EdgeSplit, FeatureSource, LoadOptions};
use controlg::eval::{self, ProbeSettings, Score, Task, floors};
use controlg::graph::Features;
use controlg::{Error, Result, files, run_files};

use crate::args::{CommonArgs, EvaluateArgs};
use crate::output::Output;

pub(super) fn run(args: &EvaluateArgs, common: &CommonArgs, output: &Output) -> Result<()> {
    let subject = EvaluationInput::open(args)?;
    let options = LoadOptions {
        data_dir: common.data_dir.clone(),
        features: subject.features,
        ..LoadOptions::default()
    };
    let dataset = data::load(&subject.data, &options)?;
    let tasks = subject.tasks(&args.tasks, dataset.labels.is_some())?;
    if tasks.contains(&Task::Lp) {
        subject.check_held_out(args, common, &dataset)?;
    }
    let given = match subject.floor {
        Some(_) => None,
        None => Some(data::read_embeddings(&subject.embeddings, dataset.graph.ids(), &subject.data)?),
    };
    let mut scores = serde_json::Map::new();
    let mut text = String::new();
    for task in tasks {
        output.remark(format_args!("{}: {} on {}", task.name(), subject.embeddings.display(), subject.data));
        let made = match subject.floor {
            Some(floor) => Some(subject.make(floor, task, &dataset)?),
            None => None,
        };
        let Some(embeddings) = made.as_ref().or(given.as_ref()) else { continue };
        let score = judge(task, embeddings, &dataset, &subject, args)?;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<8} {}", task.name(), line(&score));
        let score = serde_json::to_value(&score).map_err(|error| Error::Failed(error.to_string()))?;
        scores.insert(task.name().to_owned(), score);
    }
    if let Some((run, _)) = &subject.run {
        keep(&run.join(run_files::METRICS), &scores)?;
    }
    output.result(&scores, text)
}

/// What is to be judged, and what is known of how it came about.
struct EvaluationInput {
    embeddings: PathBuf,
    /// The run's folder and settings, where it is one; of other embeddings nobody knows which edges they saw.
    run: Option<(PathBuf, Config)>,
    /// The floor that it is, `raw` or `sgc`.
    floor: Option<&'static str>,
    data: String,
    features: FeatureSource,
    seed: u64,
}

impl EvaluationInput {
    fn open(args: &EvaluateArgs) -> Result<EvaluationInput> {
        let floor = floors::MADE.into_iter().find(|name| args.subject.as_os_str() == *name);
        if !args.subject.exists() && floor.is_none() {
            return Err(Error::input(
                &args.subject,
                "",
                "no such file or folder",
                "a run's folder, embeddings, or the floor raw or sgc",
            ));
        }
        if floor.is_some() || !args.subject.is_dir() {
            let Some(data) = args.data.clone() else {
                return Err(Error::value("--data", "nothing", "the graph that the embeddings belong to"));
            };
            let seed = args.seed.unwrap_or(0);
            let features = args.features.unwrap_or_default();
            let embeddings = args.subject.clone();
            return Ok(EvaluationInput { embeddings, run: None, floor, data, features, seed });
        }
        if args.features.is_some() {
            return Err(Error::value(
                "--features",
                "a run, which has its own",
                "a floor or a file of embeddings",
            ));
        }
        let config = Config::from_table(config::read(&args.subject.join(run_files::CONFIG))?)?;
        let embeddings = args.subject.join(run_files::EMBEDDINGS_NPY);
        if !embeddings.exists() {
            let command = format!(
                "controlg pretrain --config {0}/config.toml --out {0} --resume",
                args.subject.display()
            );
            return Err(Error::input(
                &args.subject,
                "",
                "a run without embeddings",
                format_args!("a finished run: {command}"),
            ));
        }
        Ok(EvaluationInput {
            embeddings,
            floor: None,
            features: config.features,
            data: args.data.clone().unwrap_or_else(|| config.data.clone()),
            seed: args.seed.unwrap_or(config.seed),
            run: Some((args.subject.clone(), config)),
        })
    }

    /// The tasks asked for; else all that what was seen and what is known allow.
    fn tasks(&self, asked: &[Task], labeled: bool) -> Result<Vec<Task>> {
        if asked.is_empty() {
            let kept_from = self.run.as_ref().is_some_and(|(_, config)| config.edges == EdgeScope::Train);
            let lp = (kept_from || self.floor.is_some()).then_some(Task::Lp);
            let of_labels = if labeled { vec![Task::Nc, Task::Cluster] } else { Vec::new() };
            let tasks: Vec<Task> = of_labels.into_iter().chain(lp).collect();
            if tasks.is_empty() {
                return Err(Error::value(
                    &self.data,
                    "no labels",
                    "labels for nc and cluster, or a run for lp",
                ));
            }
            return Ok(tasks);
        }
        let saw_all = self.run.as_ref().filter(|(_, config)| config.edges == EdgeScope::All);
        if let (true, Some((run, _))) = (asked.contains(&Task::Lp), saw_all) {
            let command =
                format!("controlg pretrain --config {} --for lp", run.join(run_files::CONFIG).display());
            let found = "lp on a run that saw all edges, those it would be judged on among them";
            return Err(Error::value(
                "--tasks",
                found,
                format_args!("a run on the training edges only: {command}"),
            ));
        }
        if !labeled && asked.iter().any(|task| *task != Task::Lp) {
            return Err(Error::value(&self.data, "no labels", "labels, which nc and cluster are judged by"));
        }
        Ok(asked.to_vec())
    }
}

impl EvaluationInput {
    /// Whether the edges that a run would be judged on are those that it was kept from: other seeds and other graphs
    /// hold out others.
    fn check_held_out(&self, args: &EvaluateArgs, common: &CommonArgs, dataset: &Dataset) -> Result<()> {
        let Some((_, config)) = &self.run else { return Ok(()) };
        if self.seed != config.seed {
            let expected = format!("{} for lp, whose test edges the run was kept from", config.seed);
            return Err(Error::value("--seed", self.seed, expected));
        }
        if args.data.as_ref().is_some_and(|data| *data != config.data) {
            let options = LoadOptions {
                data_dir: common.data_dir.clone(),
                features: config.features,
                stay_on_disk: true,
            };
            if data::load(&config.data, &options)?.graph.adjacency() != dataset.graph.adjacency() {
                let found = format!("{}, with other edges than {}", self.data, config.data);
                return Err(Error::value("--data", found, "for lp the edges that the run was made of"));
            }
        }
        Ok(())
    }

    /// A floor's embeddings for a task: those for link prediction know the training edges only.
    fn make(&self, floor: &str, task: Task, dataset: &Dataset) -> Result<Features> {
        let made = match task {
            Task::Lp => {
                let split = EdgeSplit::draw(&dataset.graph, self.seed)?;
                floors::by_name(floor, &split.training_graph(&dataset.graph)?)
            }
            Task::Nc | Task::Cluster => floors::by_name(floor, &dataset.graph),
        };
        made.ok_or_else(|| Error::unknown("floor", floor, floors::MADE))
    }
}

fn judge(
    task: Task,
    embeddings: &Features,
    dataset: &Dataset,
    subject: &EvaluationInput,
    args: &EvaluateArgs,
) -> Result<Score> {
    let labels = || {
        dataset.labels.as_ref().ok_or_else(|| Error::value(&subject.data, "no labels", "labels to judge by"))
    };
    match task {
        Task::Nc => {
            let labels = labels()?;
            let protocol = args.protocol.as_deref();
            let splits = data::select_splits(&subject.data, &dataset.splits, labels, protocol, subject.seed)?;
            let settings =
                ProbeSettings { embedding: args.embedding, probe: args.probe, ..ProbeSettings::default() };
            eval::evaluate_nc(embeddings, labels, &splits, &settings)
        }
        Task::Lp => {
            eval::evaluate_lp(embeddings, &dataset.graph, &EdgeSplit::draw(&dataset.graph, subject.seed)?)
        }
        Task::Cluster => eval::evaluate_cluster(embeddings, labels()?, &dataset.graph),
    }
}

fn line(score: &Score) -> String {
    let figure =
        |name: &str| score.figure(name).map(|value| format!(", {name} {value:.2}")).unwrap_or_default();
    format!(
        "{:.2} % ({}, {} embeddings, {}{}{}{}, {:.1} s)",
        score.value,
        score.protocol,
        score.embedding,
        score.probe,
        figure("validation"),
        figure("ari"),
        figure("average_precision"),
        score.seconds
    )
}

/// Puts scores into a run's `metrics.json`, beside those of other tasks.
fn keep(path: &Path, scores: &serde_json::Map<String, serde_json::Value>) -> Result<()> {
    let mut all = match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str::<serde_json::Map<_, _>>(&text)
            .map_err(|error| Error::input(path, "", error, "scores that controlg wrote"))?,
        Err(_) => serde_json::Map::new(),
    };
    all.extend(scores.clone());
    let text = serde_json::to_string_pretty(&all).map_err(|error| Error::Failed(error.to_string()))?;
    files::atomic_write_bytes(path, text + "\n")
}
