//! What a run writes while it trains: its settings, the record, checkpoints, and the results at the end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::checkpoint;
use super::event::RunEvent;
use super::model_file::RunIdentity;
use super::results::write_results;
use crate::error::Result;
use crate::files::FolderLock;
use crate::run_files;
use crate::trace::{self, Record, RecordWriter, TraceEnd};
use crate::train::input::Input;
use crate::train::training::Training;

/// Longest time between two checkpoints within an epoch.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

/// The files of a run in training, which this process alone writes.
pub(super) struct RunOutput<'r> {
    folder: PathBuf,
    identity: &'r RunIdentity,
    trace: RecordWriter,
    /// Whether the record names the hash of the data. One that does ends with the digests of the results.
    names_data: bool,
    /// The end of the record at the checkpoint that was restored.
    pub(super) resumed: Option<TraceEnd>,
    saved: Instant,
    _lock: FolderLock,
}

impl<'r> RunOutput<'r> {
    /// Restores the last checkpoint of a locked folder, if there is one, and opens the record.
    pub(super) fn open(
        folder: &Path,
        lock: FolderLock,
        training: &mut Training<'_>,
        identity: &'r RunIdentity,
        on_event: &mut impl FnMut(RunEvent<'_>),
    ) -> Result<Self> {
        let checkpoints = folder.join(run_files::CHECKPOINTS);
        let resumed = checkpoint::restore(&checkpoints, training, identity, u64::MAX, |damage| {
            on_event(RunEvent::Damaged(damage));
        })?;
        let path = folder.join(run_files::TRACE);
        let (trace, names_data) = match resumed.clone() {
            Some(end) => {
                on_event(RunEvent::Resumed(training.progress().steps));
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
        let (folder, saved) = (folder.to_owned(), Instant::now());
        Ok(RunOutput { folder, identity, trace, names_data, resumed, saved, _lock: lock })
    }

    /// Appends lines to the record.
    pub(super) fn append(
        &mut self,
        records: &[Record],
        on_event: &mut impl FnMut(RunEvent<'_>),
    ) -> Result<()> {
        for record in records {
            self.trace.append(record)?;
            on_event(RunEvent::Line(record));
            if let Record::Block(block) = record
                && let Some(note) = &block.note
            {
                on_event(RunEvent::Note(note));
            }
        }
        Ok(())
    }

    /// Whether it is time for a checkpoint.
    pub(super) fn is_due(&self, training: &Training<'_>) -> bool {
        training.at_epoch_end() || self.saved.elapsed() > CHECKPOINT_EVERY
    }

    /// Saves a checkpoint.
    pub(super) fn save(&mut self, training: &Training<'_>) -> Result<()> {
        let end = self.trace.sync()?;
        self.save_checkpoint(training, &end)?;
        self.saved = Instant::now();
        Ok(())
    }

    fn save_checkpoint(&self, training: &Training<'_>, end: &TraceEnd) -> Result<()> {
        checkpoint::save(&self.folder.join(run_files::CHECKPOINTS), training, self.identity, end)
    }

    /// Writes the results and the last line of the record.
    pub(super) fn finish(
        &mut self,
        training: &Training<'_>,
        input: &Input,
        on_event: &mut impl FnMut(RunEvent<'_>),
    ) -> Result<()> {
        let end = self.trace.sync()?;
        let saved = self.save_checkpoint(training, &end);
        let last_line = match write_results(&self.folder, training, input) {
            Ok(line) => line,
            Err(error) => return Err(saved.err().unwrap_or(error)),
        };
        if let Err(error) = saved {
            // The results are on disk, so the run needs no checkpoint any more.
            on_event(RunEvent::Note(&format!("the last checkpoint was not saved: {error}")));
        }
        if self.names_data {
            let line = Record::End(last_line);
            self.trace.append(&line)?;
            self.trace.sync()?;
            on_event(RunEvent::Line(&line));
        }
        Ok(())
    }
}
