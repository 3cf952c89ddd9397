//! Atomic file writes, one writer per folder, regular input files, which files may be replaced, hashes in hexadecimal, and
//! seals of JSON objects.

mod digest;
mod lock;
mod open;
mod seal;
mod sealed_json;

pub use digest::sha256;
pub use lock::FolderLock;
pub use open::{check_regular, open, read};
#[cfg(test)]
pub(crate) use seal::with_flipped_bits;
pub(crate) use seal::{SEAL, seal, sealed, without_seal};
pub(crate) use sealed_json::{add_seal, read_json, remove_seal, write_json};

use std::fs::{self, File};
use std::io::ErrorKind;
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
            .and_then(|()| sync_folder_of(path))
            .map_err(|error| Error::io(format_args!("writing {}", path.display()), error))
    });
    if done.is_err() {
        let _ = fs::remove_file(&draft);
    }
    done
}

/// Makes the name of a new file or folder survive a power failure, on systems that can.
pub(crate) fn sync_folder_of(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sync_folder(folder)
}

/// Creates a folder, with those that it is in, unless it exists. Its name survives a power failure, too.
pub(crate) fn create_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)
        .and_then(|()| sync_folder_of(folder))
        .map_err(|error| Error::io(format_args!("creating {}", folder.display()), error))
}

/// Syncs the list of a folder's files to disk.
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// [`atomic_write`] of the given bytes.
pub fn atomic_write_bytes(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    atomic_write(path, |draft| {
        fs::write(draft, bytes).map_err(|error| Error::io(format_args!("writing {}", path.display()), error))
    })
}

/// Checks that a file may be written at `path`: nothing is there, or a file that `is_own` recognizes by its content as
/// output of this program. `force` allows any other file.
pub fn check_output_file(path: &Path, force: bool, is_own: impl FnOnce(&[u8]) -> bool) -> Result<()> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::reading(path, error)),
        Ok(kind) if kind.is_dir() => Err(Error::input(path, "", "a folder", "the path of a file")),
        Ok(_) if force || is_own(&read(path)?) => Ok(()),
        Ok(_) => {
            let expected = "a new file or one written by controlg; --force replaces it";
            Err(Error::input(path, "", "a file that controlg did not write", expected))
        }
    }
}

/// Checks that files may be written into a folder: it is new or empty, or `is_own` recognizes its files, given by name,
/// as output of this program. `force` allows any other folder.
pub fn check_output_folder(folder: &Path, force: bool, is_own: impl FnOnce(&[String]) -> bool) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(_) if folder.is_file() => {
            return Err(Error::input(folder, "", "a file", "the path of a folder"));
        }
        Err(error) => return Err(Error::reading(folder, error)),
    };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    // Hidden files are no one's output.
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    if force || names.is_empty() || is_own(&names) {
        return Ok(());
    }
    let found = format!("a folder with {}", first_names(&names));
    let expected = "a new or empty folder, or one written by controlg; --force writes into it";
    Err(Error::input(folder, "", found, expected))
}

/// The first of several names and how many more there are: `a, b, c (and 7 more)`.
pub(crate) fn first_names(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} (and {more} more)"),
    }
}

/// The suffix of a file that is being written.
pub(crate) const DRAFT: &str = ".unfinished";

/// Where a file is written before it is renamed.
fn draft_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(DRAFT);
    path.with_file_name(name)
}

/// Serializes a path as text, with replacements for what is not UTF-8.
pub(crate) fn shown_path<S: serde::Serializer>(path: &Path, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_output_is_replaced_without_force() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("page.html");
        let check = |force| check_output_file(&path, force, |bytes| bytes.starts_with(b"own"));
        check(false).unwrap();
        fs::write(&path, "mine").unwrap();
        let message = check(false).unwrap_err().to_string();
        assert!(message.contains("did not write") && message.contains("--force"), "{message}");
        check(true).unwrap();
        fs::write(&path, "own page").unwrap();
        check(false).unwrap();
        assert!(check_output_file(home.path(), true, |_| true).is_err());

        let folder = home.path().join("out");
        let check = |force| check_output_folder(&folder, force, |names| names == ["own.txt"]);
        check(false).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(".hidden"), "").unwrap();
        check(false).unwrap();
        fs::write(folder.join("own.txt"), "").unwrap();
        check(false).unwrap();
        for name in ["a", "b", "c", "d", "e"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let message = check(false).unwrap_err().to_string();
        assert!(
            message.contains("a folder with a, b, c, d, e (and 1 more), expected a new or empty"),
            "{message}"
        );
        check(true).unwrap();
        assert!(check_output_folder(&path, true, |_| true).is_err());
    }

    #[test]
    fn a_folder_is_created_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("runs/first");
        for _ in 0..2 {
            create_folder(&folder).unwrap();
            assert!(folder.is_dir());
        }
        fs::write(folder.join("file"), "").unwrap();
        assert_eq!(create_folder(&folder.join("file/more")).unwrap_err().exit_code(), 3);
    }

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
