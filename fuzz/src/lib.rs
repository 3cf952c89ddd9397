//! Loads arbitrary bytes as the files of a graph, a record or a model. The only failure allowed is a one-line input error.

use std::fs;
use std::path::Path;

use controlg::data::{FeatureSource, load_path};

/// Splits the bytes into one piece per file, at positions given by the first bytes, writes the pieces into a new folder
/// and loads it.
pub fn load(files: &[&str], bytes: &[u8]) {
    let Some((cuts, mut rest)) = bytes.split_at_checked(files.len() - 1) else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (i, file) in files.iter().enumerate() {
        let end = cuts.get(i).map_or(rest.len(), |&cut| rest.len() * usize::from(cut) / 255);
        let (piece, tail) = rest.split_at(end);
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().expect("inside the folder")).expect("a sub-folder");
        fs::write(path, piece).expect("a file");
        rest = tail;
    }
    check(folder.path());
    if let [file] = files {
        check(&folder.path().join(file));
    }
}

fn check(path: &Path) {
    if let Err(error) = load_path(path, FeatureSource::Given) {
        check_message(&error);
    }
}

/// An error about input, in one line of bounded length.
pub fn check_message(error: &controlg::Error) {
    let message = error.to_string();
    assert!(!message.contains('\n') && message.len() < 8192, "{message}");
    assert_eq!(error.exit_code(), 2, "{message}");
}
