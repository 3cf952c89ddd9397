//! One writer per folder.
//!
//! The lock is advisory and belongs to an open file, so the system releases it when its process ends, however it ends. File
//! systems that know no locks are used without one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// A lock on a folder, until it is dropped.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    file: File,
}

/// Where a process that waits for a lock looks again.
const INTERVAL: Duration = Duration::from_millis(50);

impl FolderLock {
    /// The name of the file that is locked, in the folder.
    pub const NAME: &'static str = ".lock";

    /// Locks an existing folder. If another process has it, waits up to `patience`.
    pub fn take(folder: &Path, patience: Duration) -> Result<FolderLock> {
        FolderLock::take_named(folder, FolderLock::NAME, patience)
    }

    /// [`FolderLock::take`] on another file, for writers that share a folder.
    pub fn take_named(folder: &Path, name: &str, patience: Duration) -> Result<FolderLock> {
        let path = folder.join(name);
        let start = Instant::now();
        loop {
            if let Some(lock) = FolderLock::attempt(&path)? {
                return Ok(lock);
            }
            if start.elapsed() >= patience {
                let owner = fs::read_to_string(&path).unwrap_or_default();
                let owner = if owner.trim().is_empty() { "another process" } else { owner.trim() };
                let expected = "that process to end first, or another folder";
                return Err(Error::input(folder, "", format_args!("{owner} writing to it"), expected));
            }
            thread::sleep(INTERVAL);
        }
    }

    /// The lock, unless another process has it.
    fn attempt(path: &Path) -> Result<Option<FolderLock>> {
        let failed = |error| Error::io(format_args!("locking {}", path.display()), error);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(failed)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // No locks on this file system.
            Err(TryLockError::Error(_)) | Ok(()) => {}
        }
        if !is_at(&file, path) {
            // The owner before removed the file after it was opened here.
            return Ok(None);
        }
        // Who has the lock is only a help to others: a full disk does not matter.
        let owner = format!("process {}", std::process::id());
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(owner.as_bytes()));
        Ok(Some(FolderLock { path: path.to_owned(), file }))
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // While the lock is held, so that no one can have taken it. Elsewhere, open files cannot be removed.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

/// Whether an open file is still the one at a path.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |found: fs::Metadata| (found.dev(), found.ino());
        matches!((file.metadata().map(place), fs::metadata(path).map(place)), (Ok(a), Ok(b)) if a == b)
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_writer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let now = Duration::ZERO;
        let first = FolderLock::take(folder.path(), now).unwrap();
        let message = FolderLock::take(folder.path(), now).unwrap_err().to_string();
        assert!(message.contains(&format!("process {} writing to it", std::process::id())), "{message}");
        assert!(FolderLock::take_named(folder.path(), ".lock-1-of-2", now).is_ok(), "a lock of its own");
        drop(first);
        assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is left");
        drop(FolderLock::take(folder.path(), now).unwrap());
    }

    #[test]
    fn who_waits_gets_the_lock_after_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path(), Duration::ZERO).unwrap();
        thread::scope(|scope| {
            let second = scope.spawn(|| FolderLock::take(folder.path(), Duration::from_secs(60)).is_ok());
            thread::sleep(2 * INTERVAL);
            drop(first);
            assert!(second.join().unwrap());
        });
    }

    #[test]
    fn a_file_that_a_dead_process_left_does_not_lock() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FolderLock::NAME), "process 1").unwrap();
        FolderLock::take(folder.path(), Duration::ZERO).unwrap();
    }
}
