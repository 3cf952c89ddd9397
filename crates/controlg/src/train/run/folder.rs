//! Pretraining into a run folder: settings, record, checkpoints, embeddings, model.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::checkpoint;
use super::model_file::RunIdentity;
use super::results::write_results;
use crate::config::{self, Config};
use crate::data::FeatureSource;
use crate::error::{Error, Result};
use crate::files::{self, FolderLock};
use crate::graph::{Graph, StoredFeatures};
use crate::run_files;
use crate::trace::{self, Record, RecordWriter, TraceEnd};
use crate::train::input::Input;
use crate::train::memory;
use crate::train::training::{Timings, Training};

/// Longest time between two checkpoints within an epoch.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

/// Pretrains into a run folder, with checkpoints. A run that was interrupted resumes at the last checkpoint and ends
/// with the same bytes.
///
/// A run with encoders, objectives or coordinators of your own trains into a folder too, but cannot be resumed.
///
/// ```
/// use controlg::config::Config;
/// use controlg::train::RunFolder;
///
/// # let home = tempfile::tempdir().unwrap();
/// # let dir = home.path().join("run");
/// let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
/// let config = Config::for_data("synthetic")?.width(16).epochs(1).steps_per_epoch(30).build()?;
/// let resume = dir.exists();
/// let summary = RunFolder::open(&dir, &config, resume)?.pretrain(&graph, |_event| {})?;
/// assert_eq!(summary.steps, 30);
/// assert!(dir.join("embeddings.npy").exists());
/// # Ok::<(), controlg::Error>(())
/// ```
pub struct RunFolder<'a> {
    path: &'a Path,
    config: &'a Config,
    stop: Option<&'a AtomicBool>,
    mode: OpenMode,
    patience: Duration,
}

/// What may be in the folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenMode {
    New,
    Resume,
    Replace,
}

/// The summary of a finished run.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    /// The folder.
    #[serde(serialize_with = "crate::files::shown_path")]
    pub run: PathBuf,
    /// Whether the node features were given or computed from the edges.
    pub features: FeatureSource,
    /// Steps of the whole run.
    pub steps: u64,
    /// Steps that were done before this start.
    pub resumed_at: u64,
    /// Seconds since the run was started or resumed.
    pub seconds: f64,
    /// How they were spent.
    pub timings: Timings,
    /// Peak memory in bytes, if the system reports it.
    pub peak_bytes: Option<u64>,
}

/// Progress events of a run.
pub enum RunEvent<'e> {
    /// Predicted peak memory in bytes.
    Memory(u64),
    /// What was chosen for this graph ([`Input::notes`]), or what the method noticed during training.
    Note(&'e str),
    /// A damaged checkpoint, which is skipped.
    Damaged(&'e Error),
    /// The run resumes after this many steps.
    Resumed(u64),
    /// A line of the record.
    Line(&'e Record),
}

impl<'a> RunFolder<'a> {
    /// A folder for a run with these settings. A folder with a run in it is an error, unless `resume` is set and the
    /// settings are the same.
    pub fn open(path: &'a Path, config: &'a Config, resume: bool) -> Result<Self> {
        let mode = if resume { OpenMode::Resume } else { OpenMode::New };
        RunFolder { path, config, stop: None, mode, patience: Duration::ZERO }.checked()
    }

    /// Like [`RunFolder::open`], but a run in the folder is replaced when the new one starts. Other files stay.
    pub fn replace(path: &'a Path, config: &'a Config) -> Result<Self> {
        RunFolder { path, config, stop: None, mode: OpenMode::Replace, patience: Duration::ZERO }.checked()
    }

    fn checked(self) -> Result<Self> {
        self.check()?;
        Ok(self)
    }

    /// Checks that the run may be in this folder.
    fn check(&self) -> Result<()> {
        let RunFolder { path, config, .. } = *self;
        let existing = path.join(run_files::CONFIG);
        if existing.exists() {
            if self.mode == OpenMode::Replace {
                return Ok(());
            }
            let before = Config::from_table(config::read(&existing)?)?;
            if self.mode == OpenMode::New {
                let expected = "a new folder, --resume to continue this run, or --force to replace it";
                return Err(Error::input(path, "", describe(path, &before), expected));
            }
            if let Some((key, was, is)) = config::first_difference(&before, config)? {
                return Err(Error::input(
                    &existing,
                    key,
                    format_args!("{was}, but now {is}"),
                    "the same settings",
                ));
            }
        } else if self.mode != OpenMode::Resume && has_files(path) {
            return Err(Error::input(path, "", "a folder with other files", "a new or empty folder"));
        }
        Ok(())
    }

    /// Waits this long for another process to end that is writing to the folder. The default is not to wait.
    pub fn wait_for_writer(self, patience: Duration) -> Self {
        RunFolder { patience, ..self }
    }

    /// Stops the training after the current block when the flag is set: saves a checkpoint and returns
    /// [`Error::Interrupted`].
    pub fn stop_when(self, flag: &'a AtomicBool) -> Self {
        RunFolder { stop: Some(flag), ..self }
    }

    /// Trains to the end and writes all files.
    pub fn pretrain(&self, graph: &Graph, mut on_event: impl FnMut(RunEvent<'_>)) -> Result<RunSummary> {
        let start = Instant::now();
        on_event(RunEvent::Memory(memory::need(graph, self.config)?.total()));
        let input = Input::new(graph, self.config)?;
        input.notes.iter().for_each(|note| on_event(RunEvent::Note(note)));
        let mut training = Training::new(&input, self.config)?;
        let identity = RunIdentity::of(self.config, &input)?;

        fs::create_dir_all(self.path)
            .map_err(|error| Error::io(format_args!("creating {}", self.path.display()), error))?;
        let _lock = FolderLock::take(self.path, self.patience)?;
        // Another process may have written to the folder since it was opened.
        self.check()?;
        if self.mode == OpenMode::Replace {
            remove_run(self.path)?;
        }
        files::atomic_write_bytes(&self.path.join(run_files::CONFIG), self.config.to_toml()?)?;
        let checkpoints = self.path.join(run_files::CHECKPOINTS);
        let found = checkpoint::restore(&checkpoints, &mut training, &identity, u64::MAX, |damage| {
            on_event(RunEvent::Damaged(damage));
        })?;
        let resumed_at = training.progress().steps;
        let path = self.path.join(run_files::TRACE);
        let (mut trace, names_data) = match found {
            Some(end) => {
                on_event(RunEvent::Resumed(resumed_at));
                // A run of an older version ends with the record that that version would have written.
                (RecordWriter::open(&path, end)?, trace::names_data(&path)?)
            }
            None => {
                let mut trace = RecordWriter::open(&path, TraceEnd::default())?;
                let header = training.header();
                trace.append(&header)?;
                on_event(RunEvent::Line(&header));
                (trace, true)
            }
        };

        // Nothing learned from features that have changed on disk is saved.
        let check_features = || input.graph.stored_features().map_or(Ok(()), StoredFeatures::check);
        let save = |training: &Training<'_>, end: &TraceEnd| {
            check_features()?;
            checkpoint::save(&checkpoints, training, &identity, end)
        };
        let mut last = Instant::now();
        while let Some(records) = training.advance()? {
            for record in &records {
                trace.append(record)?;
                on_event(RunEvent::Line(record));
                if let Record::Block(block) = record
                    && let Some(note) = &block.note
                {
                    on_event(RunEvent::Note(note));
                }
            }
            let (steps, total) = (training.progress().steps, self.config.total_steps());
            if steps >= total || training.is_flat() {
                continue;
            }
            if training.at_epoch_end() || last.elapsed() > CHECKPOINT_EVERY {
                save(&training, &trace.sync()?)?;
                last = Instant::now();
            }
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                save(&training, &trace.sync()?)?;
                return Err(Error::Interrupted(format!("interrupted after step {steps} of {total}")));
            }
        }
        if training.is_flat() {
            let (steps, epochs) = (training.progress().steps, self.config.train.stop_when_flat);
            let note = format!("stopped after step {steps}: no held-out loss has fallen for {epochs} epochs");
            on_event(RunEvent::Note(&note));
        }
        let end = trace.sync()?;
        check_features()?;
        let saved = checkpoint::save(&checkpoints, &training, &identity, &end);
        let last_line = match write_results(self.path, &training, &input) {
            Ok(line) => line,
            Err(error) => return Err(saved.err().unwrap_or(error)),
        };
        if let Err(error) = saved {
            // The results are on disk, so the run needs no checkpoint any more.
            on_event(RunEvent::Note(&format!("the last checkpoint was not saved: {error}")));
        }
        if names_data {
            let line = Record::End(last_line);
            trace.append(&line)?;
            trace.sync()?;
            on_event(RunEvent::Line(&line));
        }
        Ok(RunSummary {
            run: self.path.to_owned(),
            features: if input.structural { FeatureSource::Structural } else { FeatureSource::Given },
            steps: training.progress().steps,
            resumed_at,
            seconds: start.elapsed().as_secs_f64(),
            timings: training.timings().clone(),
            peak_bytes: memory::peak(),
        })
    }
}

/// A run folder in a few words, for messages.
fn describe(path: &Path, config: &Config) -> String {
    let Config { method, data, .. } = config;
    let state = if path.join(run_files::MODEL).exists() { "a finished" } else { "an unfinished" };
    format!("{state} run of {method} on {data}, {} steps", config.total_steps())
}

/// Whether a folder has files besides its lock.
pub(crate) fn has_files(path: &Path) -> bool {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name != FolderLock::NAME)
}

/// Removes the files of a run, and nothing else.
pub(crate) fn remove_run(path: &Path) -> Result<()> {
    for name in run_files::ALL {
        let file = path.join(name);
        let removed = if file.is_dir() { fs::remove_dir_all(&file) } else { fs::remove_file(&file) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(format_args!("removing {}", file.display()), error));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, LoadOptions};

    #[test]
    fn a_full_disk_at_the_last_checkpoint_fails_no_run_whose_results_are_written() {
        let graph = data::load("synthetic:nodes=80", &LoadOptions::default()).unwrap().graph;
        let config = Config::for_data("own").unwrap().width(8).epochs(2).steps_per_epoch(6);
        let config = config.set("method", "p_recon").unwrap().build().unwrap();
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run");
        let checkpoints = path.join(run_files::CHECKPOINTS);
        let mut notes = Vec::new();
        let summary = RunFolder::open(&path, &config, false).unwrap().pretrain(&graph, |event| match event {
            RunEvent::Note(note) => notes.push(note.to_owned()),
            RunEvent::Line(Record::Block(block)) if block.step + block.steps == 12 => {
                // No checkpoint can be written into a file.
                fs::remove_dir_all(&checkpoints).unwrap();
                fs::write(&checkpoints, "").unwrap();
            }
            _ => {}
        });
        assert_eq!(summary.unwrap().steps, 12);
        assert!(notes.iter().any(|note| note.contains("the last checkpoint was not saved")), "{notes:?}");
        assert!(trace::read(&path.join(run_files::TRACE)).unwrap().len() > 2);
        for name in run_files::RESULTS {
            assert!(path.join(name).is_file(), "{name}");
        }
    }

    #[test]
    fn a_record_that_is_removed_during_the_run_is_noticed() {
        let graph = data::load("synthetic:nodes=80", &LoadOptions::default()).unwrap().graph;
        let config = Config::for_data("own").unwrap().width(8).epochs(3).steps_per_epoch(6);
        let config = config.set("method", "p_recon").unwrap().build().unwrap();
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run");
        let record = path.join(run_files::TRACE);
        let done = RunFolder::open(&path, &config, false).unwrap().pretrain(&graph, |event| {
            if matches!(event, RunEvent::Line(Record::Block(block)) if block.step == 7) {
                fs::remove_file(&record).unwrap();
            }
        });
        let message = done.unwrap_err().to_string();
        assert!(message.contains("trace.jsonl: found no such file"), "{message}");
    }
}
