//! What several suites share.
#![allow(dead_code, unreachable_pub)] // every test file is a separate crate and uses a part of it

use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

/// Says that a test is skipped. Written to stderr directly, because the test harness captures `eprintln!` in passing tests.
pub fn skipped(why: impl Display) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Runs the program without data sets.
pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command.args(arguments).current_dir(folder).env("CONTROLG_DATA", "no such folder");
    command.output().expect("the program starts")
}

/// What the program prints; it must succeed.
pub fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
