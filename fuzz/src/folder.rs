//! One folder for all executions of a process. Only files that change are written again, because a mutation changes few
//! of them and opening files takes longer than reading small ones.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use tempfile::TempDir;

/// A folder and what its files hold.
pub struct Folder {
    home: TempDir,
    files: BTreeMap<&'static str, (File, Vec<u8>)>,
}

impl Default for Folder {
    fn default() -> Self {
        Folder { home: tempfile::tempdir().expect("a temporary folder"), files: BTreeMap::new() }
    }
}

impl Folder {
    /// Where the folder is.
    pub fn path(&self) -> &Path {
        self.home.path()
    }

    /// Makes the content of a file these bytes.
    pub fn write(&mut self, name: &'static str, bytes: &[u8]) {
        let (file, held) = self.files.entry(name).or_insert_with(|| {
            let path = self.home.path().join(name);
            fs::create_dir_all(path.parent().expect("inside the folder")).expect("a sub-folder");
            (File::create(path).expect("a file"), Vec::new())
        });
        if held != bytes {
            file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(bytes)).expect("a written file");
            if bytes.len() < held.len() {
                file.set_len(bytes.len() as u64).expect("a shorter file");
            }
            held.clear();
            held.extend_from_slice(bytes);
        }
    }
}
