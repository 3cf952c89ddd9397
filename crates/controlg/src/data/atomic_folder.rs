//! Folders that appear complete or not at all.
//!
//! The files are written into a temporary folder next to the destination, synced to disk, and the folder is renamed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::{sync_folder, sync_folder_of};

/// Checks that a folder can be written at `out`: nothing is there, or an empty folder.
pub(super) fn check_new_or_empty(out: &Path) -> Result<()> {
    if out.file_name().is_none() {
        return Err(Error::input(out, "", "a path without a name", "the path of a new folder"));
    }
    match fs::read_dir(out).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(Error::input(out, "", "a folder that is not empty", "a new or empty folder")),
        Ok(false) => Ok(()),
        Err(_) if out.exists() => Err(Error::input(out, "", "a file", "a new or empty folder")),
        Err(_) => Ok(()),
    }
}

/// A temporary folder; removed when dropped unless it was published.
pub(super) struct AtomicFolder(PathBuf);

impl AtomicFolder {
    /// Creates the temporary folder next to `out`.
    pub(super) fn create(out: &Path) -> Result<AtomicFolder> {
        let parent = match out.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        let folder = AtomicFolder(parent.join(format!(".{name}.part-{}", std::process::id())));
        fs::create_dir_all(parent)
            .and_then(|()| fs::create_dir(&folder.0))
            .map_err(|error| writing(&folder.0, error))?;
        Ok(folder)
    }

    /// The path of a file in the temporary folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Moves the folder to `out`.
    pub(super) fn publish(self, out: &Path) -> Result<()> {
        let publish = || {
            sync_folder(&self.0)?;
            if out.exists() {
                fs::remove_dir(out)?; // fails if the folder has been filled since it was checked
            }
            fs::rename(&self.0, out)?;
            sync_folder_of(&self.0)
        };
        publish().map_err(|error| writing(out, error))
    }
}

impl Drop for AtomicFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // no longer there once published
    }
}

/// The error for a file or folder that cannot be written.
pub(super) fn writing(path: &Path, error: std::io::Error) -> Error {
    Error::io(format_args!("writing {}", path.display()), error)
}
