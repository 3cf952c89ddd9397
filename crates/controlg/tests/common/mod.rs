//! Helpers shared by the test suites.
#![allow(dead_code, unreachable_pub, unused_imports)] // every test file is a separate crate and uses a part of it

pub mod npz;
pub mod samples;
pub mod small;

use std::io::Write;
use std::path::PathBuf;

pub use small::{dense_features, edges, graph, numbers, sparse_features, spread};

/// The folder with the real data sets (`$CONTROLG_DATA`). If it is not set, reports on stderr that the test is skipped.
pub fn real_data(test_name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CONTROLG_DATA").map(PathBuf::from);
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_none() {
        // Written to stderr directly, because the test harness captures eprintln! in passing tests.
        let _ =
            writeln!(std::io::stderr(), "skipped: {test_name} needs the real data sets (set CONTROLG_DATA)");
    }
    folder
}
