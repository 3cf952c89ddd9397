//! Files that appear whole or not at all, and how hashes of them are written.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Lets `write` fill a file beside `path`, then puts it in its place. A write that fails or is cut off leaves what was
/// there before.
pub fn atomic_write(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let beside = beside(path);
    let done = write(&beside).and_then(|()| {
        File::open(&beside)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&beside, path))
            .map_err(|error| Error::io(format_args!("writing {}", path.display()), error))
    });
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

/// [`atomic_write`] for bytes that are ready.
pub fn atomic_write_bytes(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    atomic_write(path, |beside| {
        fs::write(beside, bytes).map_err(|error| Error::io(format_args!("writing {}", path.display()), error))
    })
}

/// The name under which a file is written before it takes its place.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    path.with_file_name(name)
}

/// Bytes in hexadecimal, as hashes are written.
pub(crate) fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.txt");
        atomic_write_bytes(&path, "first").unwrap();
        let failed = atomic_write(&path, |beside| {
            fs::write(beside, "half").unwrap();
            Err(Error::Failed("the disk is full".to_owned()))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
