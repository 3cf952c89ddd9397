//! What several suites share.

use std::path::PathBuf;

/// The folder of the real data sets, or a line that says that the test was skipped.
#[allow(dead_code)] // not every suite that shares this module reads real data
pub(crate) fn real_data(test_name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CONTROLG_DATA").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_none() {
        eprintln!("skipped: {test_name} needs the real data sets (set CONTROLG_DATA)");
    }
    folder
}
