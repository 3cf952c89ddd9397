//! Checkpoints, from which an interrupted run resumes.
//!
//! A checkpoint is one file: parameters, optimizer, coordinator, progress, the end of the record, and a hash of all that.
//! The last two are kept, in case the newest is damaged. Random streams need no state: each is derived from the seed, a
//! name and a step.

use std::fs;
use std::path::{Path, PathBuf};

use super::model_file::RunIdentity;
use super::safetensors::TensorFile;
use crate::error::{Error, Result};
use crate::files;
use crate::trace::TraceEnd;
use crate::train::input::Input;
use crate::train::training::Training;

/// Number of checkpoints kept.
const KEPT: usize = 2;

/// Writes a checkpoint and removes all but the last [`KEPT`].
pub(in crate::train) fn save(
    folder: &Path,
    training: &Training<'_>,
    identity: &RunIdentity,
    end: &TraceEnd,
) -> Result<()> {
    // With it, the names of the run's other files reach the disk, the record's among them.
    files::create_folder(folder)?;
    let steps = training.progress().steps;
    snapshot(training, identity, end)?.write(&folder.join(format!("step-{steps:012}.safetensors")))?;
    for old in list(folder).into_iter().skip(KEPT) {
        let _ = fs::remove_file(old);
    }
    Ok(())
}

/// The complete state of a run.
fn snapshot<'t>(
    training: &'t Training<'_>,
    identity: &RunIdentity,
    end: &TraceEnd,
) -> Result<TensorFile<'t>> {
    let json = |error: serde_json::Error| Error::Failed(error.to_string());
    let mut tensors = TensorFile::default();
    tensors.add_params(training.model().params());
    for (at, optimizer) in training.model().optimizers().iter().enumerate() {
        tensors.add_state(optimizer_name(at), optimizer);
    }
    let metadata = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("config_hash", identity.config.clone()),
        ("data_hash", identity.data.clone()),
        ("progress", serde_json::to_string(training.progress()).map_err(json)?),
        ("scheduler", training.save_method()?),
        ("trace", serde_json::to_string(end).map_err(json)?),
    ];
    tensors.metadata = metadata.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    tensors.seal()?;
    Ok(tensors)
}

/// Gives all ranks the state of rank 0, which has restored a checkpoint if `resumed` holds the end of its record.
pub(in crate::train) fn share(
    training: &mut Training<'_>,
    identity: &RunIdentity,
    resumed: Option<&TraceEnd>,
) -> Result<()> {
    let ranks = training.model().ranks();
    if ranks.is_alone() {
        return Ok(());
    }
    let mut bytes = match resumed {
        Some(end) => snapshot(training, identity, end)?.to_bytes()?,
        None => Vec::new(),
    };
    ranks.broadcast(0, &mut bytes)?;
    if !ranks.is_first() && !bytes.is_empty() {
        let path = Path::new("the checkpoint of rank 0");
        apply(path, &TensorFile::parse(path, &bytes)?, training)?;
    }
    Ok(())
}

impl Training<'_> {
    /// Restores the newest intact checkpoint in a folder of checkpoints that has at most `most` steps. Returns the end of the
    /// record at that time; `None` if there is none, and nothing has changed.
    pub fn restore_before(
        &mut self,
        checkpoints: &Path,
        input: &Input,
        most: u64,
    ) -> Result<Option<TraceEnd>> {
        let identity = RunIdentity::of(self.config(), input)?;
        restore(checkpoints, self, &identity, most, |_| {})
    }
}

/// Restores the newest intact checkpoint of at most `most` steps and returns the end of its record; `None` if there is none.
/// Damaged ones are passed to `on_damage`. A checkpoint of other settings or data is an error.
pub(in crate::train) fn restore(
    folder: &Path,
    training: &mut Training<'_>,
    identity: &RunIdentity,
    most: u64,
    mut on_damage: impl FnMut(&Error),
) -> Result<Option<TraceEnd>> {
    for path in list(folder).into_iter().filter(|path| steps_of(path).is_none_or(|steps| steps <= most)) {
        let tensors = match read_checked(&path) {
            Ok(tensors) => tensors,
            Err(error) => {
                on_damage(&error);
                continue;
            }
        };
        for (name, expected) in [("config_hash", &identity.config), ("data_hash", &identity.data)] {
            if metadata(&path, &tensors, name)? != expected {
                let what = if name == "config_hash" { "settings" } else { "data" };
                let expected = format!("the {what} that the run was started with");
                return Err(Error::input(
                    &path,
                    name,
                    format_args!("a checkpoint of other {what}"),
                    expected,
                ));
            }
        }
        return apply(&path, &tensors, training).map(Some);
    }
    Ok(None)
}

fn apply(path: &Path, tensors: &TensorFile<'_>, training: &mut Training<'_>) -> Result<TraceEnd> {
    let parse = |name: &str| metadata(path, tensors, name);
    let wrong = |error: serde_json::Error| Error::input(path, "metadata", error, "what this version saved");
    let progress = serde_json::from_str(parse("progress")?).map_err(wrong)?;
    let end = serde_json::from_str(parse("trace")?).map_err(wrong)?;
    let n_groups = training.model().params().groups().len();
    for group in 0..n_groups {
        tensors.fill(path, training.model_mut().params_mut(), group)?;
    }
    for (at, optimizer) in training.model_mut().optimizers_mut().iter_mut().enumerate() {
        optimizer.restore(tensors.bytes(path, &optimizer_name(at))?)?;
    }
    training.restore(progress, parse("scheduler")?)?;
    Ok(end)
}

/// Reads a checkpoint. All have a digest.
fn read_checked(path: &Path) -> Result<TensorFile<'static>> {
    let tensors = TensorFile::read(path)?;
    if !tensors.is_sealed() {
        return Err(Error::input(path, "", "no digest", "a digest of the content"));
    }
    Ok(tensors)
}

fn metadata<'t>(path: &Path, tensors: &'t TensorFile<'_>, name: &str) -> Result<&'t str> {
    let value = tensors.metadata.get(name);
    value
        .map(String::as_str)
        .ok_or_else(|| Error::input(path, name, "nothing", "the metadata of a checkpoint"))
}

/// The number of steps in the name of a checkpoint.
fn steps_of(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.strip_prefix("step-")?.parse().ok()
}

/// All checkpoints, newest first.
fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("step-") && name.ends_with(".safetensors")
        })
        .collect();
    paths.sort();
    paths.reverse();
    paths
}

/// The name of an optimizer state in the file.
fn optimizer_name(at: usize) -> String {
    // The spelling is kept from version 0.1: stored in checkpoints.
    format!("optimiser/{at}")
}
