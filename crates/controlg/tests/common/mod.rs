//! What several test files need.
#![allow(dead_code, unreachable_pub, unused_imports)] // each test file is a crate of its own and uses a part of this

pub mod npz;
pub mod samples;
pub mod small;

use std::io::Write;
use std::path::PathBuf;

pub use small::{dense_features, edges, graph, numbers, sparse_features, spread};

/// The folder with the real data sets, or a word on standard error that this test was skipped, and why.
pub fn real_data(test_name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CONTROLG_DATA").map(PathBuf::from);
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_none() {
        // Straight to standard error: the test harness would keep what eprintln! says of a test that passes.
        let _ =
            writeln!(std::io::stderr(), "skipped: {test_name} needs the real data sets (set CONTROLG_DATA)");
    }
    folder
}
