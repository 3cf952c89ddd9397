//! Failing disks: every operation on a file can fail, or write less than asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Bench, Dice, cases, jobs};

/// Builds the library that lets file operations fail; `None`, with a message, where that cannot be done.
fn shim(folder: &Path) -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        crate::common::skipped("injected faults need LD_PRELOAD, which is tested on Linux only");
        return None;
    }
    let library = folder.join("shim.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/shim.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source)
        .arg("-ldl")
        .status();
    if !built.is_ok_and(|status| status.success()) {
        crate::common::skipped("injected faults need a C compiler");
        return None;
    }
    Some(library)
}

/// Lets the operation number `at` fail.
fn inject(command: &mut Command, shim: &Path, home: &Path, kind: &str, at: usize) {
    let below = fs::canonicalize(home).unwrap();
    command.env("LD_PRELOAD", shim).env("FAULT_BELOW", below);
    command.env("FAULT_KIND", kind).env("FAULT_AT", at.to_string());
}

#[test]
fn failing_and_full_disks_are_errors_or_do_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = shim(folder.path()) else { return };
    let mut dice = Dice(2);
    for job in jobs() {
        let bench = Bench::new(job);
        let (home, log) = (bench.home(), folder.path().join(bench.job.name));
        let mut counted = bench.command(home.path());
        inject(&mut counted, &shim, home.path(), "eio", 0);
        let output = counted.env("FAULT_LOG", &log).output().unwrap();
        bench.check(home.path(), &output, "counting");
        let operations = fs::metadata(&log).unwrap().len() as usize;
        assert!(operations > 2, "{}: {operations} operations", bench.job.name);
        let mut failed = 0;
        let n = cases(5);
        for kind in ["enospc", "eio", "short"] {
            // A process that writes half of everything takes the same path each time.
            let n = if kind == "short" { n.div_ceil(5) } else { n };
            for _ in 0..n {
                let home = bench.home();
                let at = 1 + dice.below(operations);
                let what = format!("{kind} at operation {at} of {operations}");
                let mut command = bench.command(home.path());
                inject(&mut command, &shim, home.path(), kind, at);
                let output = command.output().unwrap();
                bench.check(home.path(), &output, &what);
                failed += usize::from(!output.status.success());
                bench.finish(home.path(), &what);
            }
        }
        println!("{}: {} injected faults, {failed} of them errors", bench.job.name, 2 * n + n.div_ceil(5));
    }
}

/// A power failure after the first checkpoint must not take the names of the files that it needs.
#[test]
fn names_reach_the_disk_before_the_first_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = shim(folder.path()) else { return };
    let bench = Bench::new(jobs().into_iter().find(|job| job.name == "pretrain").unwrap());
    let (home, list) = (bench.home(), folder.path().join("synced"));
    let mut command = bench.command(home.path());
    inject(&mut command, &shim, home.path(), "eio", 0);
    let output = command.env("FAULT_SYNCED", &list).output().unwrap();
    bench.check(home.path(), &output, "noting what is synced");
    let home = fs::canonicalize(home.path()).unwrap();
    let list = fs::read_to_string(list).unwrap();
    let before: Vec<&str> = list.lines().take_while(|path| !path.contains("checkpoint")).collect();
    let times = |folder: &Path| before.iter().filter(|path| Path::new(path) == folder).count();
    assert_eq!(times(&home), 1, "the name of the run folder: {list}");
    // After the settings, and after the record and the folder of checkpoints were created.
    assert_eq!(times(&home.join("run")), 2, "{list}");
}
