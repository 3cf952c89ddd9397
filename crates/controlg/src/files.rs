//! Atomic file writes, and hashes in hexadecimal.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Writes a file atomically: `write` fills a draft beside `path`, which then replaces it. If the write fails or the
/// process is killed, the old file remains.
pub fn atomic_write(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let draft = draft_path(path);
    let done = write(&draft).and_then(|()| {
        File::open(&draft)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&draft, path))
            .map_err(|error| Error::io(format_args!("writing {}", path.display()), error))
    });
    if done.is_err() {
        let _ = fs::remove_file(&draft);
    }
    done
}

/// [`atomic_write`] of the given bytes.
pub fn atomic_write_bytes(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    atomic_write(path, |draft| {
        fs::write(draft, bytes).map_err(|error| Error::io(format_args!("writing {}", path.display()), error))
    })
}

/// Where a file is written before it is renamed.
fn draft_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    path.with_file_name(name)
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.txt");
        atomic_write_bytes(&path, "first").unwrap();
        let failed = atomic_write(&path, |draft| {
            fs::write(draft, "half").unwrap();
            Err(Error::Failed("the disk is full".to_owned()))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
