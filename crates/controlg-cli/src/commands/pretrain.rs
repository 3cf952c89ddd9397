//! `controlg pretrain`: resolves the settings, runs the training and reports progress.

use std::path::{Path, PathBuf};
use std::time::Duration;

use controlg::collective::Ranks;
use controlg::config::{self, BatchMode, Config, EdgeScope};
use controlg::coordinator::UNTRAINED;
use controlg::data::FeatureSource;
use controlg::data::{self, LoadOptions, catalog};
use controlg::eval::{Task, floors};
use controlg::graph::Graph;
use controlg::objective;
use controlg::report::EventFile;
use controlg::trace::{self, Record};
use controlg::train::{self, RunEstimate, RunEvent, RunFolder};
use controlg::{Error, Result, run_files};

use super::auto_search::{self, AutoEstimate};
use super::run_options;
use crate::args::{CommonArgs, PretrainArgs};
use crate::console::Console;
use crate::interrupt;
use crate::progress::ProgressBar;
use crate::watch::LivePage;

pub(super) fn run(
    args: &PretrainArgs,
    common: &CommonArgs,
    console: &Console,
    ranks: Ranks<'_>,
) -> Result<()> {
    if args.auto && !ranks.is_alone() {
        return ranks.agree(Err(Error::value("--auto", format!("{} ranks", ranks.size()), "one process")));
    }
    let pending = ranks.agree(auto_search::pending(args, common, console))?;
    let mut mode = Mode { resume: args.resume, force: args.force };
    let (mut config, folder) = match &pending {
        Some(search) => (search.open(args)?.search().full_config(0)?, search.folder.clone()),
        None => {
            let config = ranks.agree(resolve(args, common, console))?;
            let folder = args.out.clone().unwrap_or_else(|| default_folder(&config));
            // Check the folder before loading the data, unless --memory may still change the settings.
            if args.memory.is_none() && !args.dry_run {
                ranks.agree(mode.open(&folder, &config, ranks).map(drop))?;
            }
            (config, folder)
        }
    };
    let options = run_options(common, &config);
    let dataset = ranks.agree(data::load(&config.data, &options))?;
    let graph = dataset.graph;
    console.log(format_args!(
        "{}: {} nodes, {} edges, {} features; method {}, objectives {}, seed {}, {} steps",
        config.data,
        graph.n_nodes(),
        graph.n_edges(),
        graph.n_features(),
        config.method,
        config.objectives.join(" "),
        config.seed,
        config.total_steps(),
    ));
    dataset.notes.iter().for_each(|note| console.log(format_args!("note: {note}")));
    if let Some(limit) = args.memory {
        config = ranks.agree(within_limit(&graph, &config, limit, console))?;
    }
    if args.dry_run && !ranks.is_first() {
        return Ok(());
    }
    if args.dry_run {
        if let Some(search) = &pending {
            let plan = AutoEstimate::new(search.open(args)?.search(), &graph)?;
            return console.result(&plan, &plan);
        }
        let plan = RunEstimate::new(&graph, &config)?;
        return console.result(&plan, &plan);
    }
    if let Some(search) = &pending {
        config = search.run(args, &graph, console).map_err(|error| to_continue(error, &folder))?;
        // The folder holds the search.
        mode = Mode { resume: true, force: false };
    }
    let parent = std::env::var(PARENT).ok().and_then(|id| id.parse().ok());
    // A run that an interrupted comparison left behind ends after its current block.
    let patience = if parent.is_some() { Duration::from_secs(600) } else { Duration::ZERO };
    let run = ranks.agree(mode.open(&folder, &config, ranks))?;
    let run = run.with_snapshots(args.snapshots.map_or(0, |points| points.get() as u64));
    let run = run.on_ranks(ranks).stop_when(interrupt::stop_flag()?).wait_for_writer(patience);

    let watch = args.watch.filter(|_| ranks.is_first());
    let live = watch.map(|port| LivePage::serve(&folder, port)).transpose()?;
    if let Some(live) = &live {
        console.log(format_args!("watch: http://{}", live.address));
    }
    // Create the event file with the first line, so that a rejected run leaves no files.
    let mut events: Option<EventFile> = None;
    let mut event_error = None;
    let open_events = |events: &mut Option<EventFile>, event_error: &mut Option<Error>| {
        if args.tensorboard && events.is_none() && event_error.is_none() {
            match EventFile::create(&folder.join(run_files::TENSORBOARD), &config.objectives) {
                Ok(file) => *events = Some(file),
                Err(error) => *event_error = Some(error),
            }
        }
    };
    let mut progress = ProgressBar::new(&config, console);
    let outcome = run.pretrain(&graph, |event| match event {
        RunEvent::Memory(bytes) => {
            // Reading the data may have taken more than training will.
            let bytes = bytes.max(train::memory::peak().unwrap_or(0));
            console.log(format_args!("estimated memory: {} MB", bytes.div_ceil(1_000_000)))
        }
        RunEvent::Note(note) => console.log(format_args!("note: {note}")),
        RunEvent::Damaged(error) => console.log(format_args!("{error}; trying the previous checkpoint")),
        RunEvent::Resumed(steps) => {
            console.log(format_args!("resumed after step {steps}"));
            open_events(&mut events, &mut event_error);
            let before = events.as_mut().map(|events| replay_events(events, &folder, steps));
            event_error = event_error.take().or(before.and_then(Result::err));
        }
        RunEvent::Line(record) => {
            progress.show(record);
            open_events(&mut events, &mut event_error);
            if let Some(Err(error)) = events.as_mut().map(|events| events.append(record)) {
                event_error.get_or_insert(error);
            }
            if orphaned(parent) {
                // The run can be resumed from its last checkpoint.
                std::process::exit(3);
            }
        }
    });
    progress.end();
    if let Some(live) = &live {
        live.end(outcome.as_ref().err(), common, console);
    }
    let outcome = outcome.map_err(|error| to_continue(error, &folder))?;
    if let Some(error) = event_error {
        console.log(format_args!("the TensorBoard event file is incomplete: {error}"));
    }
    let peak = outcome.peak_bytes.map(|bytes| format!(", peak memory {} MB", bytes.div_ceil(1_000_000)));
    let text = format!(
        "{}: embeddings of {} nodes after {} steps, {:.1} s{}{}",
        outcome.run.display(),
        graph.n_nodes(),
        outcome.steps,
        outcome.seconds,
        peak.unwrap_or_default(),
        if outcome.features == FeatureSource::Structural { ", structural features" } else { "" },
    );
    console.result(&outcome, text)
}

/// What may be in the run folder.
#[derive(Clone, Copy)]
struct Mode {
    resume: bool,
    force: bool,
}

impl Mode {
    fn open<'a>(self, folder: &'a Path, config: &'a Config, ranks: Ranks<'_>) -> Result<RunFolder<'a>> {
        match self.force {
            _ if !ranks.is_first() => Ok(RunFolder::of_rank_0(folder, config)),
            true => RunFolder::replace(folder, config),
            false => RunFolder::open(folder, config, self.resume),
        }
    }
}

/// Adds the command that continues an interrupted run.
fn to_continue(error: Error, folder: &Path) -> Error {
    match error {
        Error::Interrupted(what) => {
            let command = format!("controlg pretrain --out {} --resume", quoted(folder));
            Error::Interrupted(format!("{what}; to continue: {command}"))
        }
        other => other,
    }
}

/// A path as a shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// The settings adapted to a memory limit; says what was changed.
fn within_limit(graph: &Graph, config: &Config, limit: u64, console: &Console) -> Result<Config> {
    let fitting = train::within(graph, config, limit)?;
    if let Some(read) = train::memory::peak().filter(|&read| read > limit) {
        let expected = format!("at least {}, which reading the data took", train::size(read));
        return Err(Error::value("--memory", train::size(limit), expected));
    }
    let mut changes = Vec::new();
    let mut steps = config.clone();
    steps.train.quality = fitting.train.quality;
    if fitting != steps {
        changes.push(match fitting.train.batch.on(graph.n_nodes()) {
            BatchMode::Full => "full batch with gradient checkpointing".to_owned(),
            _ => format!("mini-batches of about {} nodes", fitting.train.batch_nodes),
        });
    }
    if fitting.train.quality != config.train.quality {
        changes.push("no measures of quality".to_owned());
    }
    if !changes.is_empty() {
        console.log(format_args!("to fit into {}: {}", train::size(limit), changes.join(", ")));
    }
    Ok(fitting)
}

/// Writes the events of the record up to the step at which the run resumes.
fn replay_events(events: &mut EventFile, run: &Path, steps: u64) -> Result<()> {
    for line in trace::read(&run.join(run_files::TRACE))? {
        let before = match &line.record {
            Record::Run(_) | Record::Scheduler(_) | Record::End(_) => false,
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

/// Environment variable with the process id of the parent; this process exits with its parent.
pub(super) const PARENT: &str = "CONTROLG_PARENT";

/// Ends this process soon after its parent, if the parent asked for that.
pub(super) fn exit_with_parent() {
    let parent = std::env::var(PARENT).ok().and_then(|id| id.parse().ok());
    std::thread::spawn(move || {
        while parent.is_some() && !orphaned(parent) {
            std::thread::sleep(Duration::from_millis(500));
        }
        if parent.is_some() {
            std::process::exit(3);
        }
    });
}

/// Whether the parent process is gone, so that nobody would read the result.
fn orphaned(parent: Option<u32>) -> bool {
    #[cfg(unix)]
    return parent.is_some_and(|parent| std::os::unix::process::parent_id() != parent);
    #[cfg(not(unix))]
    return false;
}

/// Merges preset, run file, `--set` and flags, in this order. With `--resume`, the settings of the run come first. If only the feature file of a known data set is missing and
/// `features` is not set, structural features are used.
fn resolve(args: &PretrainArgs, common: &CommonArgs, console: &Console) -> Result<Config> {
    Config::from_table(given_settings(args, common, console)?).map_err(|error| match &args.config {
        // Blame the run file only if it has this error on its own.
        Some(path) if config::read(path).is_ok_and(|file| has_error(file, &error)) => in_file(error, path),
        _ => error,
    })
}

/// What the user gave, and with `--resume` the settings of the run below it.
pub(super) fn given_settings(
    args: &PretrainArgs,
    common: &CommonArgs,
    console: &Console,
) -> Result<toml::Table> {
    let mut table = args.config.as_deref().map(config::read).transpose()?.unwrap_or_default();
    if let Some(data) = &args.data {
        table.insert("data".to_owned(), data.as_str().into());
    }
    if let Some(preset) = args.preset {
        table.insert("preset".to_owned(), preset.name().into());
    }
    for assignment in &args.set {
        config::set(&mut table, assignment)?;
    }
    if let Some(method) = &args.method {
        table.insert("method".to_owned(), method.as_str().into());
    }
    if let Some(objectives) = &args.objectives {
        let method = table.get("method").and_then(toml::Value::as_str).unwrap_or_default();
        refuse_unused_objectives(objectives, &[method])?;
        table.insert("objectives".to_owned(), objectives.clone().into());
    }
    if let Some(seed) = args.seed {
        let seed = i64::try_from(seed).map_err(|_| Error::value("--seed", seed, "at most 2⁶³ − 1"))?;
        table.insert("seed".to_owned(), seed.into());
    }
    if let Some(epochs) = args.stop_when_flat {
        config::set(&mut table, &format!("train.stop_when_flat={epochs}"))?;
    }
    if let Some(features) = args.features {
        table.insert("features".to_owned(), features.name().into());
    }
    if args.directed {
        table.insert("directed".to_owned(), true.into());
    }
    if let Some(task) = args.task {
        let edges = if task == Task::Lp { "train" } else { "all" };
        table.insert("edges".to_owned(), edges.into());
    }
    if args.resume {
        table = with_stored(table, args)?;
    }
    let name = table.get("data").and_then(toml::Value::as_str).unwrap_or_default();
    if let (Some(known), false) = (catalog::find(name), table.contains_key("features")) {
        let options = LoadOptions { data_dir: common.data_dir.clone(), ..LoadOptions::default() };
        if known.lacks_only_features(&catalog::data_dir(&options)?) {
            let file = known.feature_file.unwrap_or_default();
            console.log(format_args!("note: {file} of {name} is missing, using structural features"));
            table.insert("features".to_owned(), "structural".into());
        }
    }
    Ok(table)
}

/// Refuses `--objectives` that no method trains: the name of an objective as the method means this objective alone.
pub(super) fn refuse_unused_objectives(objectives: &[String], methods: &[&str]) -> Result<()> {
    let alone = |method: &&str| {
        objective::find(method).is_ok() || floors::NAMES.contains(method) || *method == UNTRAINED
    };
    let same = |method: &&str| objectives.len() == 1 && objectives[0] == **method;
    if methods.is_empty() || !methods.iter().all(alone) || methods.iter().any(same) {
        return Ok(());
    }
    let found =
        format!("{} with method {}, which does not train them", objectives.join(","), methods.join(","));
    Err(Error::value(
        "--objectives",
        found,
        "no --objectives, or a method that trains several, such as controlg",
    ))
}

/// Puts the given settings over those of the run to resume, if there is one.
fn with_stored(given: toml::Table, args: &PretrainArgs) -> Result<toml::Table> {
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None if given.contains_key("data") => default_folder(&Config::from_table(given.clone())?),
        None => return Err(Error::value("--resume", "no folder", "--out RUN, or the graph of the run")),
    };
    let path = folder.join(run_files::CONFIG);
    if !path.exists() {
        if given.contains_key("data") {
            return Ok(given);
        }
        return Err(Error::input(&folder, "", "no run", "the folder of a run to resume"));
    }
    // Runs of older versions have other names for some settings.
    let stored = Config::from_table(config::read(&path)?)?.to_toml()?;
    let mut table: toml::Table =
        stored.parse().map_err(|error: toml::de::Error| Error::Failed(error.to_string()))?;
    config::merge(&mut table, given);
    Ok(table)
}

/// Whether the run file alone has this error.
fn has_error(mut file: toml::Table, error: &Error) -> bool {
    file.entry("data").or_insert_with(|| "any".into());
    Config::from_table(file).is_err_and(|own| own.to_string() == error.to_string())
}

/// Adds the file to an error.
fn in_file(error: Error, path: &Path) -> Error {
    match error {
        Error::Input { file: None, place, found, expected } => {
            Error::Input { file: Some(path.to_owned()), place, found, expected }
        }
        other => other,
    }
}

/// `runs/DATA-METHOD-SEED` in the current folder, plus `-lp` for a run on training edges only.
pub(super) fn default_folder(config: &Config) -> PathBuf {
    // Resolve `.` and `..` to the name of their folder.
    let path = Path::new(&config.data).canonicalize().unwrap_or_else(|_| PathBuf::from(&config.data));
    let name = path.file_name().map_or("graph".into(), |name| name.to_string_lossy());
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let suffix = if config.edges == EdgeScope::Train { "-lp" } else { "" };
    PathBuf::from("runs").join(format!("{name}-{}-{}{suffix}", config.method, config.seed))
}
