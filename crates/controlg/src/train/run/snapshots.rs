//! Embeddings at several points along a run, from which a comparison draws quality against cost.
//!
//! A point is the end of the warm-up round or block that reaches its step. Its embeddings are written before the checkpoint of
//! that step, so a run that resumes has those of all points before it, and writes the same ones after it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::data::arrays;
use crate::error::{Error, Result};
use crate::files;
use crate::run_files;
use crate::train::training::Training;

/// Writes the embeddings of a run at its start and at points that share its steps equally.
pub(super) struct Snapshots {
    folder: PathBuf,
    points: u64,
    total: u64,
    /// Steps at the last look.
    before: u64,
}

impl Snapshots {
    /// Begins at the first step, or where a run resumes.
    pub(super) fn begin(run: &Path, points: u64, training: &Training<'_>) -> Result<Snapshots> {
        let (total, before) = (training.config().total_steps(), training.progress().steps);
        let snapshots = Snapshots { folder: run.join(run_files::SNAPSHOTS), points, total, before };
        let units = training.progress().rounds as u64 + training.progress().blocks;
        if units == 0 {
            snapshots.write(training)?;
        } else if !snapshots.path(0).exists() {
            let expected = "a run whose embeddings were kept from its start, or no --snapshots";
            return Err(Error::input(run, "", "a run that was started without --snapshots", expected));
        }
        Ok(snapshots)
    }

    /// Writes the embeddings if a point has been reached since the last look. The last step is one.
    pub(super) fn look(&mut self, training: &Training<'_>, at_end: bool) -> Result<()> {
        let now = training.progress().steps;
        let passed = |steps: u64| steps * self.points / self.total.max(1);
        let due = now > self.before && (at_end || passed(now) > passed(self.before));
        self.before = now;
        if due { self.write(training) } else { Ok(()) }
    }

    fn path(&self, step: u64) -> PathBuf {
        self.folder.join(format!("{PREFIX}{step:012}{ENDING}"))
    }

    fn write(&self, training: &Training<'_>) -> Result<()> {
        fs::create_dir_all(&self.folder)
            .map_err(|error| Error::io(format_args!("creating {}", self.folder.display()), error))?;
        let (model, settings) = (training.model(), &training.config().embed);
        let (n, width) = (model.n_nodes(), model.width(settings));
        files::atomic_write(&self.path(training.progress().steps), |draft| {
            let mut npy = arrays::NpyWriter::new(draft, n, width)?;
            model.embed_to(&self.folder, settings, &mut |rows| npy.append(rows))?;
            npy.finish()
        })
    }
}

const PREFIX: &str = "step-";
const ENDING: &str = ".npy";

/// The steps and files of the embeddings that were kept along a run, in order; none for a run without `--snapshots`.
pub fn snapshots_of(run: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let folder = run.join(run_files::SNAPSHOTS);
    let mut found = Vec::new();
    if !folder.exists() {
        return Ok(found);
    }
    for entry in fs::read_dir(&folder).map_err(|error| Error::reading(&folder, error))? {
        let path = entry.map_err(|error| Error::reading(&folder, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let step = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(ENDING)?.parse().ok());
        found.extend(step.map(|step| (step, path)));
    }
    found.sort();
    Ok(found)
}
