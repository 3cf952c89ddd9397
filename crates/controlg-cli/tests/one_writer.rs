//! Two processes never write to the same folder.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

const LONG: &[&str] = &[
    "synthetic:nodes=240",
    "--set=encoder.width=16",
    "--set=train.epochs=100000",
    "--set=train.batches_per_epoch=5",
    "--set=objective.p_par.parts=5",
    "--out=run",
    "--threads=1",
];
const COMPARE: &[&str] = &[
    "compare",
    "--data=synthetic:nodes=240",
    "--methods=random",
    "--seeds=1",
    "--tasks=nc",
    "--no-singles",
    "--set=encoder.width=16",
    "--out=comparison",
    "--jobs=1",
];

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command.args(arguments).current_dir(folder).stderr(Stdio::piped());
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts a command and waits until it has written a file.
fn start(folder: &Path, arguments: &[&str], file: &str) -> Child {
    let mut child = command(folder, arguments).stderr(Stdio::null()).spawn().unwrap();
    while !folder.join(file).exists() {
        assert!(child.try_wait().unwrap().is_none(), "{arguments:?} ended before it wrote {file}");
        thread::sleep(Duration::from_millis(10));
    }
    child
}

#[test]
fn a_run_folder_has_one_writer_and_a_killed_one_leaves_no_lock() {
    let home = TempDir::new().unwrap();
    let pretrain = [&["pretrain"], LONG].concat();
    let mut first = start(home.path(), &pretrain, "run/checkpoint");
    for more in ["--resume", "--force"] {
        let second = command(home.path(), &[&pretrain[..], &[more]].concat()).output().unwrap();
        let found = format!("run: found process {} writing to it", first.id());
        assert_eq!(second.status.code(), Some(2), "{}", stderr(&second));
        assert!(stderr(&second).contains(&found), "{}", stderr(&second));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let mut next = command(home.path(), &[&pretrain[..], &["--resume"]].concat()).spawn().unwrap();
    let ends = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(20));
        next.try_wait().unwrap().is_some()
    });
    assert!(!ends, "the lock of a killed process is no lock");
    next.kill().unwrap();
    next.wait().unwrap();
}

#[test]
fn a_comparison_has_one_writer_until_it_is_killed() {
    let home = TempDir::new().unwrap();
    let long = [COMPARE, &["--set=train.epochs=100000"]].concat();
    let mut first = start(home.path(), &long, "comparison/runs");
    let second = command(home.path(), &long).output().unwrap();
    assert_eq!(second.status.code(), Some(2), "{}", stderr(&second));
    assert!(stderr(&second).contains("comparison: found process"), "{}", stderr(&second));
    first.kill().unwrap();
    first.wait().unwrap();
    let output = command(home.path(), &[COMPARE, &["--set=train.epochs=1"]].concat()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!home.path().join("comparison/.lock").exists());
}

#[test]
fn embeddings_of_another_graph_have_one_writer() {
    let home = TempDir::new().unwrap();
    let short = [&["pretrain"], LONG, &["--set=train.epochs=10", "--quiet"]].concat();
    let trained = command(home.path(), &short).output().unwrap();
    assert!(trained.status.success(), "{}", stderr(&trained));
    let embed =
        || command(home.path(), &["embed", "run", "synthetic:nodes=240", "--quiet"]).output().unwrap();
    let folder = home.path().join("run/embed");
    std::fs::create_dir(&folder).unwrap();
    let lock = controlg::files::FolderLock::take(&folder, Duration::ZERO).unwrap();
    let refused = embed();
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("run/embed: found process"), "{}", stderr(&refused));
    drop(lock);
    let done = embed();
    assert!(done.status.success(), "{}", stderr(&done));
}
