//! `controlg pretrain`: from what was typed to a run's folder.

use std::path::{Path, PathBuf};

use controlg::config::{self, BatchMode, Config, EdgeScope};
use controlg::data::FeatureSource;
use controlg::data::{self, LoadOptions, catalog};
use controlg::eval::Task;
use controlg::report::EventFile;
use controlg::trace::{self, Record};
use controlg::train::{self, RunEstimate, RunEvent, RunFolder};
use controlg::{Error, Result, run_files};

use crate::args::{CommonArgs, PretrainArgs};
use crate::output::Output;
use crate::progress::ProgressBar;
use crate::watch;

pub(super) fn run(args: &PretrainArgs, common: &CommonArgs, output: &Output) -> Result<()> {
    let mut config = resolve(args, common, output)?;
    let folder = args.out.clone().unwrap_or_else(|| default_folder(&config));
    // What is wrong with the folder is said before the data is read; a limit of memory may change the settings after.
    if args.memory.is_none() && !args.dry_run {
        RunFolder::open(&folder, &config, args.resume)?;
    }
    let options =
        LoadOptions { data_dir: common.data_dir.clone(), features: config.features, stay_on_disk: true };
    let dataset = data::load(&config.data, &options)?;
    let graph = dataset.graph;
    output.remark(format_args!(
        "{}: {} nodes, {} edges, {} features; {} on {}, seed {}, {} steps",
        config.data,
        graph.n_nodes(),
        graph.n_edges(),
        graph.n_features(),
        config.method,
        config.objectives.join(" "),
        config.seed,
        config.total_steps(),
    ));
    dataset.notes.iter().for_each(|note| output.remark(format_args!("note: {note}")));
    if let Some(limit) = args.memory {
        let fitting = train::within(&graph, &config, limit)?;
        if fitting != config {
            let allowed = match fitting.train.batch.on(graph.n_nodes()) {
                BatchMode::Full => "the whole graph when views are encoded again".to_owned(),
                _ => format!("steps of about {} nodes", fitting.train.batch_nodes),
            };
            output.remark(format_args!("{} allow {allowed}", train::size(limit)));
        }
        config = fitting;
    }
    if args.dry_run {
        let plan = RunEstimate::new(&graph, &config)?;
        return output.result(&plan, &plan);
    }
    let run = RunFolder::open(&folder, &config, args.resume)?;

    if let Some(port) = args.watch {
        let address = watch::serve(&folder, port)?;
        output.remark(format_args!("watch: http://{address}"));
    }
    // Made with the first line: a run that is refused leaves nothing behind.
    let mut events: Option<EventFile> = None;
    let mut unwritten = None;
    let begin = |events: &mut Option<EventFile>, unwritten: &mut Option<Error>| {
        if args.tensorboard && events.is_none() && unwritten.is_none() {
            match EventFile::create(&folder.join("tensorboard"), &config.objectives) {
                Ok(file) => *events = Some(file),
                Err(error) => *unwritten = Some(error),
            }
        }
    };
    let parent = std::env::var(PARENT).ok().and_then(|id| id.parse().ok());
    let mut progress = ProgressBar::new(&config, output);
    let outcome = run.pretrain(&graph, |event| match event {
        RunEvent::Memory(bytes) => {
            output.remark(format_args!("memory: about {} MB", bytes.div_ceil(1_000_000)))
        }
        RunEvent::Damaged(error) => output.remark(format_args!("{error}; the checkpoint before it is tried")),
        RunEvent::Resumed(steps) => {
            output.remark(format_args!("going on after step {steps}"));
            begin(&mut events, &mut unwritten);
            let before = events.as_mut().map(|events| so_far(events, &folder, steps));
            unwritten = unwritten.take().or(before.and_then(Result::err));
        }
        RunEvent::Line(record) => {
            progress.show(record);
            begin(&mut events, &mut unwritten);
            if let Some(Err(error)) = events.as_mut().map(|events| events.append(record)) {
                unwritten.get_or_insert(error);
            }
            if orphaned(parent) {
                // As after any kill, the last checkpoint is there to go on from.
                std::process::exit(3);
            }
        }
    });
    progress.end();
    let outcome = outcome?;
    if let Some(error) = unwritten {
        output.remark(format_args!("the event file is not whole: {error}"));
    }
    let peak = outcome.peak_bytes.map(|bytes| format!(", at most {} MB", bytes.div_ceil(1_000_000)));
    let text = format!(
        "{}: embeddings of {} nodes after {} steps, {:.1} s{}{}",
        outcome.run.display(),
        graph.n_nodes(),
        outcome.steps,
        outcome.seconds,
        peak.unwrap_or_default(),
        if outcome.features == FeatureSource::Structural { ", of structural features" } else { "" },
    );
    output.result(&outcome, text)
}

/// Writes the events of the lines before the step that a run goes on after.
fn so_far(events: &mut EventFile, run: &Path, steps: u64) -> Result<()> {
    for line in trace::read(&run.join(run_files::TRACE))? {
        let before = match &line.record {
            Record::Run(_) | Record::Scheduler(_) => false,
            Record::Warmup(line) => line.step < steps,
            Record::Sense(line) => line.step < steps,
            Record::Block(line) => line.step < steps,
        };
        if before {
            events.append(&line.record)?;
        }
    }
    Ok(())
}

/// The process that this one works for, and ends with.
pub(super) const PARENT: &str = "CONTROLG_PARENT";

/// Whether the process that this one works for is gone: nobody would take the result.
fn orphaned(parent: Option<u32>) -> bool {
    #[cfg(unix)]
    return parent.is_some_and(|parent| std::os::unix::process::parent_id() != parent);
    #[cfg(not(unix))]
    return false;
}

/// The settings in their layers: preset, run file, single keys, flags. A known data set of which the features alone are
/// missing is taken with structural ones, unless the settings say which to take.
fn resolve(args: &PretrainArgs, common: &CommonArgs, output: &Output) -> Result<Config> {
    let file = args.config.as_deref().map(config::read).transpose()?.unwrap_or_default();
    let mut table = file.clone();
    if let Some(data) = &args.data {
        table.insert("data".to_owned(), data.as_str().into());
    }
    for assignment in &args.set {
        config::set(&mut table, assignment)?;
    }
    if let Some(method) = &args.method {
        table.insert("method".to_owned(), method.as_str().into());
    }
    if let Some(objectives) = &args.objectives {
        table.insert("objectives".to_owned(), objectives.clone().into());
    }
    if let Some(seed) = args.seed {
        let seed = i64::try_from(seed).map_err(|_| Error::value("--seed", seed, "at most 2⁶³ − 1"))?;
        table.insert("seed".to_owned(), seed.into());
    }
    if let Some(features) = args.features {
        table.insert("features".to_owned(), features.name().into());
    }
    if let Some(task) = args.task {
        let edges = if task == Task::Lp { "train" } else { "all" };
        table.insert("edges".to_owned(), edges.into());
    }
    let name = table.get("data").and_then(toml::Value::as_str).unwrap_or_default();
    if let (Some(known), false) = (catalog::find(name), table.contains_key("features")) {
        let options = LoadOptions { data_dir: common.data_dir.clone(), ..LoadOptions::default() };
        if known.lacks_only_features(&catalog::data_dir(&options)?) {
            let file = known.feature_file.unwrap_or_default();
            output.remark(format_args!("note: {file} of {name} is missing: its features are structural"));
            table.insert("features".to_owned(), "structural".into());
        }
    }
    Config::from_table(table).map_err(|error| match &args.config {
        // What is wrong in the file by itself is said of the file; the rest of the command may have made it right.
        Some(path) if is_wrong_alone(file, &error) => in_file(error, path),
        _ => error,
    })
}

/// Whether a run file by itself has this mistake.
fn is_wrong_alone(mut file: toml::Table, error: &Error) -> bool {
    file.entry("data").or_insert_with(|| "any".into());
    Config::from_table(file).is_err_and(|own| own.to_string() == error.to_string())
}

/// The same error, with the file that it is about.
fn in_file(error: Error, path: &Path) -> Error {
    match error {
        Error::Input { file: None, place, found, expected } => {
            Error::Input { file: Some(path.to_owned()), place, found, expected }
        }
        other => other,
    }
}

/// `runs/DATA-METHOD-SEED`, beside the user; of a run on the training edges with `-lp` behind, so that it has a place
/// beside the one on all edges.
fn default_folder(config: &Config) -> PathBuf {
    // `.` and `..` are folders with names too.
    let path = Path::new(&config.data).canonicalize().unwrap_or_else(|_| PathBuf::from(&config.data));
    let name = path.file_name().map_or("graph".into(), |name| name.to_string_lossy());
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let seen = if config.edges == EdgeScope::Train { "-lp" } else { "" };
    PathBuf::from("runs").join(format!("{name}-{}-{}{seen}", config.method, config.seed))
}
