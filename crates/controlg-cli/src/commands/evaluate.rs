//! `controlg evaluate`: scores the embeddings of a run, of a file, or of a floor.

mod curve;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use controlg::config::{self, Config, EdgeScope};
use controlg::coordinator::UNTRAINED;
use controlg::data::{self, Dataset, EdgeSplit, FeatureSource, Labels, LoadOptions, Split, catalog};
use controlg::eval::{self, ProbeSettings, Score, Task, ValidationScore, floors};
use controlg::files::FolderLock;
use controlg::graph::Features;
use controlg::{Error, Graph, Result, run_files, trace};

use super::{load_options, run_options};
use crate::args::{CommonArgs, EvaluateArgs};
use crate::console::Console;

/// Locked while scores are added to `metrics.json`.
const METRICS_LOCK: &str = ".lock-metrics";
/// How long another evaluation may take to write its scores.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(args: &EvaluateArgs, common: &CommonArgs, console: &Console) -> Result<()> {
    let input = EvaluationInput::open(args)?;
    let options = LoadOptions { directed: input.directed, ..load_options(common, input.features) };
    let dataset = data::load(&input.data, &options)?;
    note_filtered_version(&input.data, &options, console)?;
    let tasks = input.tasks(&args.tasks, dataset.labels.is_some())?;
    if tasks.contains(&Task::Lp) {
        input.check_held_out(args, common, &dataset)?;
    }
    if args.curve {
        return curve::run(&tasks, &input, &dataset, args, console);
    }
    let given = match input.floor {
        Some(_) => None,
        None => Some(data::read_embeddings(&input.embeddings, dataset.graph.ids(), &input.data)?),
    };
    let mut scores = serde_json::Map::new();
    let mut skipped = serde_json::Map::new();
    let mut text = String::new();
    for task in tasks {
        if args.tasks.is_empty()
            && let Some(reason) = skip_reason(task, &dataset, &input, args)?
        {
            console.log(format_args!("note: {} skipped: {reason}", task.name()));
            skipped.insert(task.name().to_owned(), reason.into());
            continue;
        }
        console.log(format_args!(
            "evaluating {}: {} on {}",
            task.name(),
            input.embeddings.display(),
            input.data
        ));
        let computed = match input.floor {
            Some(floor) => Some(input.compute_floor(floor, task, &dataset)?),
            None => None,
        };
        let Some(embeddings) = computed.as_ref().or(given.as_ref()) else { continue };
        if args.validation_only {
            // Tuning must not see test figures: neither the terminal nor a file gets them.
            let score = validate(task, embeddings, &dataset, &input, args)?;
            let _ = writeln!(
                text,
                "{:<8} validation {:.2} % ({})",
                task.name(),
                score.validation,
                score.protocol
            );
            scores.insert(task.name().to_owned(), to_json(&score)?);
            continue;
        }
        let mut score = evaluate(task, embeddings, &dataset, &input, args)?;
        note_missing_classes(&score, console);
        if let (Some(run), false) = (&input.run, args.no_floors) {
            let floors = floor_scores(task, run, &dataset, &input, args, console);
            score.more.insert("floors".to_owned(), floors.into());
        }
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:<8} {}",
            task.name(),
            describe(task, &score, dataset.graph.relations().is_some())
        );
        scores.insert(task.name().to_owned(), to_json(&score)?);
    }
    if scores.is_empty() {
        text = nothing_to_evaluate(&input.data, dataset.labels.is_some());
    } else if let Some((run, _)) = &input.run {
        // Two evaluations may end at the same time.
        let _lock = FolderLock::take_named(run, METRICS_LOCK, LOCK_PATIENCE)?;
        eval::add_metrics(&run.join(run_files::METRICS), &scores)?;
    }
    if !skipped.is_empty() {
        scores.insert("skipped".to_owned(), skipped.into());
    }
    console.result(&scores, text)
}

/// Says which version of a graph with duplicate nodes is without them, and whether the user has it.
fn note_filtered_version(data: &str, options: &LoadOptions, console: &Console) -> Result<()> {
    let Some(known) = catalog::find(data).filter(|known| known.filtered.is_some()) else { return Ok(()) };
    let present = known.filtered_in(&catalog::data_dir(options)?);
    let command = present.map(|filtered| format!("; you have it: controlg pretrain {}", filtered.name));
    console.log(format_args!("note: {data}: {}{}", known.notes, command.unwrap_or_default()));
    Ok(())
}

/// Says which classes no probe can predict.
fn note_missing_classes(score: &Score, console: &Console) {
    let missing = score.more.get("missing_classes").and_then(serde_json::Value::as_array);
    let names: Vec<&str> = missing.into_iter().flatten().filter_map(serde_json::Value::as_str).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        console.log(format_args!(
            "note: nc: no training node in some split of class {names}; its nodes count as missed there"
        ));
    }
}

fn to_json(value: &impl serde::Serialize) -> Result<serde_json::Value> {
    serde_json::to_value(value).map_err(|error| Error::Failed(error.to_string()))
}

/// The embeddings to evaluate and their origin.
struct EvaluationInput {
    embeddings: PathBuf,
    /// Folder and settings if the embeddings come from a run; otherwise the edges they were trained on are unknown.
    run: Option<(PathBuf, Config)>,
    /// Name of the floor, one of [`floors::COMPUTED`].
    floor: Option<&'static str>,
    data: String,
    features: FeatureSource,
    directed: bool,
    seed: u64,
}

impl EvaluationInput {
    fn open(args: &EvaluateArgs) -> Result<EvaluationInput> {
        let floor = floors::COMPUTED.into_iter().find(|name| args.subject.as_os_str() == *name);
        if !args.subject.exists() && floor.is_none() {
            return Err(Error::input(
                &args.subject,
                "",
                "no such file or folder",
                format_args!(
                    "a run folder, a file of embeddings, or a floor ({})",
                    floors::COMPUTED.join(", ")
                ),
            ));
        }
        if floor.is_some() || !args.subject.is_dir() {
            let Some(data) = args.data.clone() else {
                return Err(Error::value("--data", "nothing", "the graph of the embeddings"));
            };
            let seed = args.seed.unwrap_or(0);
            let features = args.features.unwrap_or_default();
            let embeddings = args.subject.clone();
            return Ok(EvaluationInput {
                embeddings,
                run: None,
                floor,
                data,
                features,
                directed: args.directed,
                seed,
            });
        }
        if args.features.is_some() {
            return Err(Error::value(
                "--features",
                "the folder of a run, which sets its own features",
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
        trace::check_results(&args.subject, &[run_files::EMBEDDINGS_NPY, run_files::IDS])?;
        Ok(EvaluationInput {
            embeddings,
            floor: None,
            features: config.features,
            directed: config.directed,
            data: args.data.clone().unwrap_or_else(|| config.data.clone()),
            seed: args.seed.unwrap_or(config.seed),
            run: Some((args.subject.clone(), config)),
        })
    }

    /// The requested tasks; by default nc and cluster, and lp where the training edges allow it.
    fn tasks(&self, requested: &[Task], labeled: bool) -> Result<Vec<Task>> {
        if requested.is_empty() {
            let held_out = self.run.as_ref().is_some_and(|(_, config)| config.edges == EdgeScope::Train);
            let lp = (held_out || self.floor.is_some()).then_some(Task::Lp);
            return Ok([Task::Nc, Task::Cluster].into_iter().chain(lp).collect());
        }
        let saw_all = self.run.as_ref().filter(|(_, config)| config.edges == EdgeScope::All);
        if let (true, Some((run, _))) = (requested.contains(&Task::Lp), saw_all) {
            let command =
                format!("controlg pretrain --config {} --task lp", run.join(run_files::CONFIG).display());
            let found = "lp for a run that was trained on all edges, including the test edges";
            return Err(Error::value(
                "--tasks",
                found,
                format_args!("a run on training edges only: {command}"),
            ));
        }
        if !labeled && requested.iter().any(|task| *task != Task::Lp) {
            return Err(Error::value(&self.data, "no labels", "labels, which nc and cluster need"));
        }
        Ok(requested.to_vec())
    }

    /// Checks that the test edges are those held out from the run: another seed or graph holds out others.
    fn check_held_out(&self, args: &EvaluateArgs, common: &CommonArgs, dataset: &Dataset) -> Result<()> {
        let Some((_, config)) = &self.run else { return Ok(()) };
        if self.seed != config.seed {
            let expected = format!("{} for lp: the run held out the edges of that seed", config.seed);
            return Err(Error::value("--seed", self.seed, expected));
        }
        if args.data.as_ref().is_some_and(|data| *data != config.data)
            && data::load(&config.data, &run_options(common, config))?.graph.adjacency()
                != dataset.graph.adjacency()
        {
            let found = format!("{}, whose edges differ from {}", self.data, config.data);
            return Err(Error::value("--data", found, "the graph of the run, for lp"));
        }
        Ok(())
    }

    /// Computes the embeddings of a floor; for link prediction from the training edges only.
    fn compute_floor(&self, floor: &str, task: Task, dataset: &Dataset) -> Result<Features> {
        let computed = match task {
            Task::Lp => {
                let split = EdgeSplit::draw(&dataset.graph, self.seed)?;
                floors::by_name(floor, &split.training_graph(&dataset.graph)?)
            }
            Task::Nc | Task::Cluster => floors::by_name(floor, &dataset.graph),
        };
        computed.ok_or_else(|| Error::unknown("floor", floor, floors::COMPUTED))
    }
}

fn evaluate(
    task: Task,
    embeddings: &Features,
    dataset: &Dataset,
    input: &EvaluationInput,
    args: &EvaluateArgs,
) -> Result<Score> {
    let labels = || {
        dataset.labels.as_ref().ok_or_else(|| Error::value(&input.data, "no labels", "labels to score by"))
    };
    match task {
        Task::Nc => {
            let settings =
                ProbeSettings { normalize: args.normalize, probe: args.probe, ..ProbeSettings::default() };
            let labels = labels()?;
            eval::evaluate_nc(embeddings, labels, &node_splits(dataset, labels, input, args)?, &settings)
        }
        Task::Lp => {
            eval::evaluate_lp(embeddings, &dataset.graph, &EdgeSplit::draw(&dataset.graph, input.seed)?)
        }
        Task::Cluster => eval::evaluate_cluster(embeddings, labels()?, &dataset.graph),
    }
}

/// The validation part of a score.
fn validate(
    task: Task,
    embeddings: &Features,
    dataset: &Dataset,
    input: &EvaluationInput,
    args: &EvaluateArgs,
) -> Result<ValidationScore> {
    if let (Task::Cluster, Some(labels)) = (task, &dataset.labels) {
        return eval::validate_cluster(embeddings, labels, &node_splits(dataset, labels, input, args)?);
    }
    let score = evaluate(task, embeddings, dataset, input, args)?;
    score.validation_only().ok_or_else(|| Error::Failed(format!("{}: no validation score", task.name())))
}

/// The splits of the nodes under the protocol and the seed.
fn node_splits(
    dataset: &Dataset,
    labels: &Labels,
    input: &EvaluationInput,
    args: &EvaluateArgs,
) -> Result<Vec<Split>> {
    data::select_splits(&input.data, &dataset.splits, labels, args.protocol.as_deref(), input.seed)
}

/// Why a task cannot be judged on this graph; `None` if it can be.
fn skip_reason(
    task: Task,
    dataset: &Dataset,
    input: &EvaluationInput,
    args: &EvaluateArgs,
) -> Result<Option<String>> {
    if task == Task::Lp {
        return Ok(EdgeSplit::draw(&dataset.graph, input.seed).err().map(|error| error.to_string()));
    }
    let Some(labels) = &dataset.labels else { return Ok(Some(format!("{} has no labels", input.data))) };
    if task == Task::Cluster {
        let mut classes: Vec<u32> = (0..labels.classes().len()).filter_map(|node| labels.get(node)).collect();
        classes.sort_unstable();
        classes.dedup();
        if classes.len() < 2 {
            return Ok(Some(format!("found {} classes, expected at least two", classes.len())));
        }
        if !args.validation_only {
            return Ok(None);
        }
    }
    let splits = node_splits(dataset, labels, input, args)?;
    let wrong = splits.iter().find_map(|split| eval::check_split(labels, split).err());
    Ok(wrong.map(|error| error.to_string()))
}

/// One line for a graph on which no task can be judged.
fn nothing_to_evaluate(data: &str, labeled: bool) -> String {
    let needed = if labeled { "more labeled nodes" } else { "labels (labels.csv)" };
    format!("nothing to evaluate on {data}: nc and cluster need {needed}, lp needs a run with --task lp")
}

/// Maximum number of columns of a floor that is scored next to every run.
const MAX_COLUMNS: usize = 16_384;

/// Scores of the floors under the protocol, the splits and the seed of the run, by name. A floor that cannot be judged,
/// for example one whose rows are all the same, is left out with a note.
fn floor_scores(
    task: Task,
    (run, config): &(PathBuf, Config),
    dataset: &Dataset,
    input: &EvaluationInput,
    args: &EvaluateArgs,
    console: &Console,
) -> serde_json::Map<String, serde_json::Value> {
    let mut scores = serde_json::Map::new();
    for floor in floors::NAMES.into_iter().filter(|floor| *floor != config.method) {
        let embeddings = match floor {
            UNTRAINED => untrained(run, &dataset.graph),
            "hops" if 3 * dataset.graph.n_features() > MAX_COLUMNS => {
                let columns = 3 * dataset.graph.n_features();
                let why =
                    format!("{columns} columns take minutes; controlg evaluate hops --data {}", input.data);
                Err(Error::Failed(why))
            }
            _ => input.compute_floor(floor, task, dataset),
        };
        match embeddings.and_then(|embeddings| evaluate(task, &embeddings, dataset, input, args)) {
            Ok(score) => {
                scores.insert(floor.to_owned(), score.value.into());
            }
            Err(error) => {
                console.log(format_args!("note: {} of the floor {floor} left out: {error}", task.name()));
            }
        }
    }
    scores
}

/// Embeddings of the run's encoder before its first step. For link prediction the run's settings hide the test edges.
fn untrained(run: &Path, graph: &Graph) -> Result<Features> {
    let mut table = config::read(&run.join(run_files::CONFIG))?;
    table.insert("method".to_owned(), UNTRAINED.into());
    let model = controlg::pretrain(graph, Config::from_table(table)?)?;
    Ok(Features::Dense(model.embeddings().clone()))
}

fn describe(task: Task, score: &Score, with_macro: bool) -> String {
    let figure =
        |name: &str| score.metric(name).map(|value| format!(", {name} {value:.2}")).unwrap_or_default();
    let found = score.more.get("floors");
    let floor = |name: &str| Some(format!("{name} {:.2}", found?.get(name)?.as_f64()?));
    let floors: Vec<String> = floors::NAMES.into_iter().filter_map(floor).collect();
    let floors = if floors.is_empty() { String::new() } else { format!("; floors: {}", floors.join(", ")) };
    format!(
        "{:.2} % {}{floors} ({}, {} embeddings, {}{}{}{}{}, {:.1} s)",
        score.value,
        task.metric(),
        score.protocol,
        score.embedding,
        score.probe,
        figure("validation"),
        if with_macro { figure("macro_f1") } else { String::new() },
        figure("ari"),
        figure("average_precision"),
        score.seconds
    )
}
