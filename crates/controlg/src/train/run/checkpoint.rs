//! The last complete states of a run, to go on from after a kill.
//!
//! A checkpoint is one file: parameters, optimizer, coordinator, progress, and where the record ended. It carries a
//! hash of its content. The last two are kept, so that a damaged one costs a little time and nothing else. Random
//! streams need no saving: each is named by what it is for.

use std::fs;
use std::path::{Path, PathBuf};

use super::safetensors::TensorFile;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::trace::TraceEnd;
use crate::train::{Input, Training};

/// How many are kept.
const KEPT: usize = 2;

/// The word of a model that says where its features came from, and what it then says.
pub(in crate::train) const FEATURE_SOURCE: &str = "feature_source";
pub(in crate::train) const STRUCTURAL: &str = "structural";

/// What a checkpoint belongs to; going on with other data or settings is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::train) struct RunIdentity {
    /// The settings' hash.
    pub(in crate::train) config: String,
    /// The graph's hash.
    pub(in crate::train) data: String,
    /// Whether the features are made from the edges.
    pub(in crate::train) structural: bool,
}

impl RunIdentity {
    /// A run with these settings on what it sees.
    pub(in crate::train) fn of(config: &Config, input: &Input) -> Result<RunIdentity> {
        let (data, structural) = (input.graph.fingerprint(), input.structural);
        Ok(RunIdentity { config: config.hash()?, data, structural })
    }

    /// Says in a file's words whose it is.
    pub(in crate::train) fn sign(&self, tensors: &mut TensorFile<'_>) {
        for (name, text) in
            [("version", env!("CARGO_PKG_VERSION")), ("config_hash", &self.config), ("data_hash", &self.data)]
        {
            tensors.words.insert(name.to_owned(), text.to_owned());
        }
        if self.structural {
            tensors.words.insert(FEATURE_SOURCE.to_owned(), STRUCTURAL.to_owned());
        }
    }
}

/// Writes the state of a run, then removes those that are older than the one before.
pub(in crate::train) fn save(
    folder: &Path,
    training: &Training<'_>,
    owner: &RunIdentity,
    end: &TraceEnd,
) -> Result<()> {
    fs::create_dir_all(folder)
        .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))?;
    let json = |error: serde_json::Error| Error::Failed(error.to_string());
    let mut tensors = TensorFile::default();
    tensors.add_params(training.model().params());
    for (at, optimizer) in training.model().optimizers().iter().enumerate() {
        tensors.add_state(format!("optimiser/{at}"), optimizer);
    }
    let words = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("config_hash", owner.config.clone()),
        ("data_hash", owner.data.clone()),
        ("progress", serde_json::to_string(training.progress()).map_err(json)?),
        ("scheduler", training.save_method()?),
        ("trace", serde_json::to_string(end).map_err(json)?),
    ];
    tensors.words = words.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    tensors.words.insert("digest".to_owned(), tensors.digest()?);
    tensors.write(&folder.join(format!("step-{:012}.safetensors", training.progress().steps)))?;
    for old in list(folder).into_iter().skip(KEPT) {
        let _ = fs::remove_file(old);
    }
    Ok(())
}

/// Puts a run into the state of the newest checkpoint that is whole, and gives the end of its record; `None` when
/// there is none. Each damaged one is told to `on_damage`.
pub(in crate::train) fn restore(
    folder: &Path,
    training: &mut Training<'_>,
    owner: &RunIdentity,
    mut on_damage: impl FnMut(&Error),
) -> Result<Option<TraceEnd>> {
    for path in list(folder) {
        let tensors = match whole(&path) {
            Ok(tensors) => tensors,
            Err(error) => {
                on_damage(&error);
                continue;
            }
        };
        for (name, expected) in [("config_hash", &owner.config), ("data_hash", &owner.data)] {
            if word(&path, &tensors, name)? != expected {
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
    let parse = |name: &str| word(path, tensors, name);
    let wrong = |error: serde_json::Error| Error::input(path, "metadata", error, "what this version saved");
    let progress = serde_json::from_str(parse("progress")?).map_err(wrong)?;
    let end = serde_json::from_str(parse("trace")?).map_err(wrong)?;
    let n_groups = training.model().params().groups().len();
    for group in 0..n_groups {
        tensors.fill(path, training.model_mut().params_mut(), group)?;
    }
    for (at, optimizer) in training.model_mut().optimizers_mut().iter_mut().enumerate() {
        optimizer.restore(tensors.bytes(path, &format!("optimiser/{at}"))?)?;
    }
    training.restore(progress, parse("scheduler")?)?;
    Ok(end)
}

/// A checkpoint whose content is as it was written.
fn whole(path: &Path) -> Result<TensorFile<'static>> {
    let mut tensors = TensorFile::read(path)?;
    let given = tensors.words.remove("digest").unwrap_or_default();
    if given != tensors.digest()? {
        return Err(Error::input(path, "", "a damaged checkpoint", "content that matches its hash"));
    }
    Ok(tensors)
}

fn word<'t>(path: &Path, tensors: &'t TensorFile<'_>, name: &str) -> Result<&'t str> {
    let word = tensors.words.get(name);
    word.map(String::as_str)
        .ok_or_else(|| Error::input(path, name, "nothing", "a checkpoint of this version"))
}

/// All checkpoints, the newest first.
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
