//! Opens input files, regular files only: reading a named pipe would wait for ever, and a device may never end.

use std::fs::{self, File, FileType};
use std::path::Path;

use crate::error::{Error, Result};

/// Opens a regular file, or a link to one.
pub fn open(path: &Path) -> Result<File> {
    check_regular(path)?;
    File::open(path).map_err(|error| Error::reading(path, error))
}

/// The bytes of a regular file, or of a link to one.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    check_regular(path)?;
    fs::read(path).map_err(|error| Error::reading(path, error))
}

/// Refuses what is not a regular file, naming its kind. Nothing is opened.
pub fn check_regular(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(found) => Err(Error::input(path, "", kind(found.file_type()), "a file")),
        // The link is there, its target is not.
        Err(_) if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) => {
            Err(Error::input(path, "", "a link to a file that does not exist", "a file"))
        }
        Err(error) => Err(Error::reading(path, error)),
    }
}

fn kind(found: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if found.is_fifo() {
            return "a named pipe";
        }
        if found.is_socket() {
            return "a socket";
        }
        if found.is_char_device() || found.is_block_device() {
            return "a device";
        }
    }
    if found.is_dir() { "a folder" } else { "something else" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_and_links_to_them_are_opened() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("data.csv");
        let message = |path: &Path| read(path).unwrap_err().to_string();
        assert!(message(&path).contains("no such file"));
        assert!(message(home.path()).contains("found a folder, expected a file"));
        fs::write(&path, "a,b").unwrap();
        assert_eq!(read(&path).unwrap(), b"a,b");
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            let link = home.path().join("link.csv");
            symlink(&path, &link).unwrap();
            assert_eq!(read(&link).unwrap(), b"a,b");
            fs::remove_file(&path).unwrap();
            assert!(message(&link).contains("a link to a file that does not exist"));
            assert!(open(Path::new("/dev/zero")).unwrap_err().to_string().contains("found a device"));
            let pipe = home.path().join("pipe.csv");
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            assert!(message(&pipe).contains("found a named pipe, expected a file"));
        }
    }
}
