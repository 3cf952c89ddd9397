//! Interrupting, resuming and replacing runs, and the notes that a run prints.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const SMALL: &[&str] = &[
    "synthetic:nodes=240",
    "--set=encoder.width=16",
    "--set=train.epochs=8",
    "--set=train.batches_per_epoch=20",
    "--set=objective.p_par.parts=5",
];

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the program starts")
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command.args(arguments).current_dir(folder).env("CONTROLG_DATA", "no such folder");
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    stderr(&output)
}

fn header(run: &Path) -> Value {
    let text = fs::read_to_string(run.join("trace.jsonl")).expect("a record");
    serde_json::from_str(text.lines().next().expect("a header")).expect("JSON")
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_continue_and_resumes_with_its_own_settings() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let home = TempDir::new().unwrap();
    succeed(home.path(), &[&["pretrain"], SMALL, &["--out", "whole"]].concat());

    let arguments = [&["pretrain"], SMALL, &["--out", "stopped", "--threads", "1"]].concat();
    let mut child = command(home.path(), &arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    // The first epoch is done.
    while !text.contains("epoch 1/") {
        assert!(lines.read_line(&mut text).unwrap() > 0, "{text}");
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    lines.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("controlg: interrupted after step "), "{text}");
    assert!(last.ends_with("to continue: controlg pretrain --out stopped --resume"), "{text}");

    // The printed command needs no settings.
    let text = succeed(home.path(), &["pretrain", "--out", "stopped", "--resume"]);
    assert!(text.contains("resumed after step "), "{text}");
    let embeddings = |run: &str| fs::read(home.path().join(run).join("embeddings.npy")).unwrap();
    assert_eq!(embeddings("stopped"), embeddings("whole"));
}

#[test]
fn repeating_a_command_says_what_is_there_and_force_replaces_it() {
    let home = TempDir::new().unwrap();
    let first = [&["pretrain"], SMALL, &["--out", "run"]].concat();
    succeed(home.path(), &first);
    fs::write(home.path().join("run/notes.txt"), "mine").unwrap();
    let again = run(home.path(), &first);
    assert_eq!(again.status.code(), Some(2));
    let text = stderr(&again);
    for part in ["a finished run of controlg on synthetic:nodes=240, 160 steps", "--resume", "--force"] {
        assert!(text.contains(part), "{text}");
    }
    let other = [&first[..], &["--seed", "7", "--force"]].concat();
    succeed(home.path(), &other);
    assert_eq!(header(&home.path().join("run"))["seed"], 7);
    assert_eq!(fs::read_to_string(home.path().join("run/notes.txt")).unwrap(), "mine");
    // Nothing is lost if the new run cannot start.
    let wrong = run(home.path(), &[&first[..], &["--set=objective.p_recon.mask=0.001", "--force"]].concat());
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
    assert_eq!(header(&home.path().join("run"))["seed"], 7);
}

#[test]
fn resuming_needs_a_run() {
    let home = TempDir::new().unwrap();
    let nowhere = run(home.path(), &["pretrain", "--resume"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(
        stderr(&nowhere).contains("--resume: found no folder, expected --out RUN"),
        "{}",
        stderr(&nowhere)
    );
    let empty = run(home.path(), &["pretrain", "--resume", "--out", "nothing"]);
    assert!(stderr(&empty).contains("nothing: found no run"), "{}", stderr(&empty));
    // A command with --resume from the start, as scripts use it.
    let arguments = [&["pretrain"], SMALL, &["--resume"]].concat();
    succeed(home.path(), &arguments);
    let text = succeed(home.path(), &["pretrain", "synthetic:nodes=240", "--resume"]);
    assert!(text.contains("resumed after step 160"), "{text}");
}

/// A ring of 24 nodes with two features around zero, as a user has them after standardizing.
fn own_graph(home: &Path) {
    let mut edges = "src,dst\n".to_owned();
    let mut features = "id,a,b\n".to_owned();
    for node in 0..24 {
        edges += &format!("n{node},n{}\nn{node},n{}\n", (node + 1) % 24, (node + 5) % 24);
        features += &format!("n{node},{},{}\n", (node % 7) as f64 - 3.0, 0.25 * (node % 5) as f64 - 0.5);
    }
    fs::create_dir(home.join("own")).unwrap();
    fs::write(home.join("own/edges.csv"), edges).unwrap();
    fs::write(home.join("own/features.csv"), features).unwrap();
}

#[test]
fn features_are_normalized_as_they_need_it_and_the_run_says_so() {
    let home = TempDir::new().unwrap();
    own_graph(home.path());
    let settings = ["--set=train.epochs=2", "--set=train.batches_per_epoch=20", "--set=encoder.width=8"];
    let pretrain = |out: &str, more: &[&str]| {
        run(home.path(), &[&["pretrain", "own", "--out", out], &settings[..], more].concat())
    };
    let text = stderr(&pretrain("auto", &[]));
    assert!(text.contains("note: features are standardized by columns (some values are negative)"), "{text}");
    assert!(text.contains("note: p_par uses 2 clusters instead of 20"), "{text}");
    assert_eq!(header(&home.path().join("auto"))["normalize"], "columns");
    assert_eq!(header(&home.path().join("auto"))["config"]["normalize"], "auto");
    assert!(pretrain("columns", &["--set=normalize=columns"]).status.success());
    let embeddings = |run: &str| fs::read(home.path().join(run).join("embeddings.npy")).unwrap();
    assert_eq!(embeddings("auto"), embeddings("columns"));

    let rows = pretrain("rows", &["--set=normalize=rows"]);
    assert_eq!(rows.status.code(), Some(2));
    assert!(stderr(&rows).contains("expected a positive sum for normalize = rows"), "{}", stderr(&rows));

    // Embedding uses the normalization of the run, whatever the new graph looks like.
    succeed(home.path(), &["embed", "auto", "own", "--out", "again"]);
    assert_eq!(fs::read(home.path().join("again/embeddings.npy")).unwrap(), embeddings("auto"));
}

#[cfg(unix)]
#[test]
fn a_record_that_was_changed_is_not_continued() {
    let home = TempDir::new().unwrap();
    let arguments = [&["pretrain"], SMALL, &["--set=train.epochs=100000", "--out", "run"]].concat();
    let mut child = command(home.path(), &arguments).stderr(std::process::Stdio::null()).spawn().unwrap();
    let checkpoints = home.path().join("run/checkpoint");
    while fs::read_dir(&checkpoints).map_or(0, |entries| entries.flatten().count()) < 2 {
        assert!(child.try_wait().unwrap().is_none(), "the run ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let record = home.path().join("run/trace.jsonl");
    let text = fs::read_to_string(&record).unwrap();
    let changed: Vec<String> = text
        .lines()
        .zip(1..)
        .map(
            |(line, number)| {
                if number == 7 { line.replacen("\"loss\":", "\"loss\": ", 1) } else { line.to_owned() }
            },
        )
        .collect();
    fs::write(&record, changed.join("\n") + "\n").unwrap();
    let output = run(home.path(), &["pretrain", "--out", "run", "--resume"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("trace.jsonl:7: found a line that was changed"), "{}", stderr(&output));
}
