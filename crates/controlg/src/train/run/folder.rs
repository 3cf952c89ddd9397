//! Pretraining into a run folder: settings, record, checkpoints, embeddings, model.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::checkpoint;
use super::event::RunEvent;
use super::model_file::RunIdentity;
use super::output::RunOutput;
use super::same_run;
use super::snapshots::Snapshots;
use crate::collective::Ranks;
use crate::config::{self, Config};
use crate::data::FeatureSource;
use crate::error::{Error, Result};
use crate::files::{self, FolderLock};
use crate::graph::{Graph, StoredFeatures};
use crate::run_files;
use crate::train::input::Input;
use crate::train::memory;
use crate::train::training::{Timings, Training};

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
    ranks: Ranks<'a>,
    snapshots: u64,
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

impl<'a> RunFolder<'a> {
    /// A folder for a run with these settings. A folder with a run in it is an error, unless `resume` is set and the
    /// settings are the same.
    pub fn open(path: &'a Path, config: &'a Config, resume: bool) -> Result<Self> {
        RunFolder::with_mode(path, config, if resume { OpenMode::Resume } else { OpenMode::New }).checked()
    }

    /// Like [`RunFolder::open`], but a run in the folder is replaced when the new one starts. Other files stay.
    pub fn replace(path: &'a Path, config: &'a Config) -> Result<Self> {
        RunFolder::with_mode(path, config, OpenMode::Replace).checked()
    }

    /// The folder of a run on several ranks, for the ranks other than rank 0. They neither read nor write files there.
    pub fn of_rank_0(path: &'a Path, config: &'a Config) -> Self {
        RunFolder::with_mode(path, config, OpenMode::Resume)
    }

    fn with_mode(path: &'a Path, config: &'a Config, mode: OpenMode) -> Self {
        RunFolder {
            path,
            config,
            stop: None,
            mode,
            patience: Duration::ZERO,
            ranks: Ranks::alone(),
            snapshots: 0,
        }
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

    /// Locks the folder and opens its files.
    fn open_output<'r>(
        &self,
        training: &mut Training<'_>,
        identity: &'r RunIdentity,
        on_event: &mut impl FnMut(RunEvent<'_>),
    ) -> Result<RunOutput<'r>> {
        files::create_folder(self.path)?;
        let lock = FolderLock::take(self.path, self.patience)?;
        // Another process may have written to the folder since it was opened.
        self.check()?;
        if self.mode == OpenMode::Replace {
            remove_run(self.path)?;
        }
        files::atomic_write_bytes(&self.path.join(run_files::CONFIG), self.config.to_toml()?)?;
        RunOutput::open(self.path, lock, training, identity, on_event)
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

    /// Trains on several ranks, which all call [`RunFolder::pretrain`]. Rank 0 writes the files.
    pub fn on_ranks(self, ranks: Ranks<'a>) -> Self {
        RunFolder { ranks, ..self }
    }

    /// Also writes the embeddings before the first step and at this many points along the run, which share its steps equally.
    pub fn with_snapshots(self, points: u64) -> Self {
        RunFolder { snapshots: points, ..self }
    }

    /// Trains to the end and writes all files.
    pub fn pretrain(&self, graph: &Graph, mut on_event: impl FnMut(RunEvent<'_>)) -> Result<RunSummary> {
        let (start, ranks) = (Instant::now(), self.ranks);
        on_event(RunEvent::Memory(memory::need(graph, self.config)?.total()));
        let input = ranks.agree(Input::new(graph, self.config))?;
        input.notes.iter().for_each(|note| on_event(RunEvent::Note(note)));
        let identity = RunIdentity::of(self.config, &input)?;
        same_run::check(ranks, self.config, &identity)?;
        let mut training = ranks.agree(Training::on_ranks(&input, self.config, ranks))?;
        let mut output = ranks.agree(match ranks.is_first() {
            true => self.open_output(&mut training, &identity, &mut on_event).map(Some),
            false => Ok(None),
        })?;
        let resumed = output.as_ref().and_then(|output| output.resumed.as_ref());
        checkpoint::share(&mut training, &identity, resumed)?;
        let resumed_at = training.progress().steps;
        if self.snapshots > 0 && !ranks.is_alone() {
            let found = format!("{} ranks", ranks.size());
            return ranks.agree(Err(Error::value("--snapshots", found, "one process")));
        }
        let mut snapshots = match self.snapshots {
            0 => None,
            points => Some(Snapshots::begin(self.path, points, &training)?),
        };

        // Nothing learned from features that have changed on disk is saved.
        let check_features = || input.graph.stored_features().map_or(Ok(()), StoredFeatures::check);
        while let Some(records) = training.advance()? {
            let stop = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            let (steps, total) = (training.progress().steps, self.config.total_steps());
            let at_end = steps >= total || training.is_flat();
            let mut write = || {
                let Some(output) = &mut output else { return Ok(()) };
                output.append(&records, &mut on_event)?;
                if let Some(snapshots) = &mut snapshots {
                    snapshots.look(&training, at_end)?;
                }
                if !at_end && output.is_due(&training) {
                    check_features()?;
                    output.save(&training)?;
                }
                Ok(())
            };
            let written = write();
            if ranks.any(written.map(|()| stop && !at_end))? {
                if let Some(output) = &mut output {
                    check_features()?;
                    output.save(&training)?;
                }
                return Err(Error::Interrupted(format!("interrupted after step {steps} of {total}")));
            }
            if training.at_epoch_end() || at_end {
                same_run::check_parameters(ranks, training.model().params())?;
            }
        }
        if training.is_flat() {
            let (steps, epochs) = (training.progress().steps, self.config.train.stop_when_flat);
            let note = format!("stopped after step {steps}: no held-out loss has fallen for {epochs} epochs");
            on_event(RunEvent::Note(&note));
        }
        match &mut output {
            Some(output) => {
                check_features()?;
                output.finish(&training, &input, &mut on_event)?;
            }
            None => training.model().embed_for_rank_0()?,
        }
        // No rank ends before the results are written.
        ranks.barrier()?;
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
    use crate::trace::{self, Record};

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
