//! Large graphs through the binary: plans, limits, binary folders, a disk that fills up.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const SMALL: &[&str] = &[
    "--set",
    "encoder.width=16",
    "--set",
    "train.epochs=3",
    "--set",
    "train.batches_per_epoch=20",
    "--set",
    "objective.p_par.parts=5",
    "--set",
    "sense.period=5",
    "--set",
    "train.batch=parts",
    "--set",
    "train.batch_nodes=128",
    "--set",
    "sense.probe_nodes=200",
];
const GRAPH: &str = "synthetic:nodes=900,features=120";

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command.args(arguments).env("CONTROLG_DATA", "no such folder");
    command.output().expect("the program starts")
}

fn pretrain(data: &str, out: &Path, more: &[&str]) -> Output {
    run(&[&["pretrain", data, "--out", out.to_str().unwrap()], SMALL, more].concat())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_plan_is_printed_and_nothing_is_written() {
    let home = TempDir::new().unwrap();
    let out = home.path().join("run");
    let output = pretrain(GRAPH, &out, &["--dry-run", "--json"]);
    assert!(output.status.success(), "{}", said(&output));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&plan["batch"], &plan["steps"], &plan["nodes"]), (&"parts".into(), &60.into(), &900.into()));
    assert!(plan["memory_bytes"].as_u64() > Some(10_000_000) && plan["seconds"].as_f64() > Some(0.0));
    let text = String::from_utf8(pretrain(GRAPH, &out, &["--dry-run"]).stdout).unwrap();
    assert!(text.contains("METIS parts, about 128 nodes") && text.contains("as measured"), "{text}");
    assert!(!out.exists());
}

#[test]
fn a_limit_that_is_too_small_is_refused_with_what_is_needed() {
    let home = TempDir::new().unwrap();
    let out = home.path().join("run");
    let output = pretrain(GRAPH, &out, &["--memory", "10MB"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--memory: found 10 MB, expected at least "), "{}", said(&output));
    assert!(!out.exists());
    assert_eq!(pretrain(GRAPH, &out, &["--memory", "much"]).status.code(), Some(2));
    let output = pretrain(GRAPH, &out, &["--memory", "1GB"]);
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn training_from_a_binary_folder_gives_the_same_bytes() {
    let home = TempDir::new().unwrap();
    let [binary, old_name, plain, from_disk] =
        ["binary", "old-name", "plain", "from-disk"].map(|name| home.path().join(name));
    let output = run(&["data", "convert", GRAPH, binary.to_str().unwrap(), "--to", "binary"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("labels and splits stay with"), "{}", said(&output));
    // Version 0.1 called the format "mapped".
    assert!(run(&["data", "convert", GRAPH, old_name.to_str().unwrap(), "--to", "mapped"]).status.success());
    let info = run(&["data", "info", binary.to_str().unwrap(), "--json"]);
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!((&info["format"], &info["nodes"]), (&"binary".into(), &900.into()));
    for (data, out) in [(GRAPH, &plain), (binary.to_str().unwrap(), &from_disk)] {
        let output = pretrain(data, out, &[]);
        assert!(output.status.success(), "{}", said(&output));
    }
    let npy = |folder: &Path| fs::read(folder.join("embeddings.npy")).unwrap();
    assert_eq!(npy(&plain), npy(&from_disk));
    // The encoder embeds in blocks from disk as training did.
    let output = run(&["embed", plain.to_str().unwrap(), binary.to_str().unwrap()]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(npy(&plain.join("embed")), npy(&plain));
    assert!(
        fs::read_dir(&plain).unwrap().flatten().all(|e| !e.file_name().to_string_lossy().ends_with(".rows"))
    );
}

/// A file that may not grow stands for a disk that is full: the write fails in the same place.
#[cfg(unix)]
#[test]
fn a_disk_that_fills_up_ends_the_run_with_a_checkpoint_to_go_on_from() {
    let home = TempDir::new().unwrap();
    let (whole, full) = (home.path().join("whole"), home.path().join("full"));
    // One small head: the embeddings are larger than a checkpoint.
    let graph = "synthetic:nodes=5000,features=120";
    let alone = &["--method", "p_par"];
    let output = pretrain(graph, &whole, alone);
    assert!(output.status.success(), "{}", said(&output));
    let largest = fs::metadata(whole.join("embeddings.npy")).unwrap().len();
    let checkpoint = fs::read_dir(whole.join("checkpoint")).unwrap().flatten().next().unwrap();
    // Room for a checkpoint and the record, not for the embeddings; in blocks of 512 bytes.
    let limit = largest / 2 / 512;
    assert!(checkpoint.metadata().unwrap().len() < largest / 3);
    let arguments = [&["pretrain", graph, "--out", full.to_str().unwrap()], SMALL, alone].concat();
    let arguments: Vec<String> = arguments.iter().map(|argument| format!("'{argument}'")).collect();
    let line = format!(
        "trap '' XFSZ; ulimit -f {limit}; exec '{}' {}",
        env!("CARGO_BIN_EXE_controlg"),
        arguments.join(" ")
    );
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("writing ") && !said(&output).contains("panicked"), "{}", said(&output));
    assert!(!full.join("embeddings.npy").exists());
    let output = pretrain(graph, &full, &["--method", "p_par", "--resume"]);
    assert!(output.status.success() && said(&output).contains("going on after step 60"), "{}", said(&output));
    let npy = |folder: &Path| fs::read(folder.join("embeddings.npy")).unwrap();
    assert_eq!(npy(&full), npy(&whole));
}
