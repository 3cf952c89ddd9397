//! Large graphs end to end: dry runs, memory limits, the binary format, a full disk.

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

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn dry_run_prints_an_estimate_and_writes_nothing() {
    let home = TempDir::new().unwrap();
    let out = home.path().join("run");
    let output = pretrain(GRAPH, &out, &["--dry-run", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&plan["batch"], &plan["steps"], &plan["nodes"]),
        (&"cluster".into(), &60.into(), &900.into())
    );
    assert!(plan["memory_bytes"].as_u64() > Some(10_000_000) && plan["seconds"].as_f64() > Some(0.0));
    let text = String::from_utf8(pretrain(GRAPH, &out, &["--dry-run"]).stdout).unwrap();
    assert!(text.contains("METIS clusters, about 128 nodes") && text.contains("(measured on"), "{text}");
    assert!(!out.exists());
}

#[test]
fn too_small_a_memory_limit_is_rejected_with_the_required_size() {
    let home = TempDir::new().unwrap();
    let out = home.path().join("run");
    let output = pretrain(GRAPH, &out, &["--memory", "10MB"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--memory: found 10 MB, expected at least "), "{}", stderr(&output));
    assert!(!out.exists());
    assert_eq!(pretrain(GRAPH, &out, &["--memory", "much"]).status.code(), Some(2));
    let output = pretrain(GRAPH, &out, &["--memory", "1GB"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn binary_format_gives_the_same_embeddings() {
    let home = TempDir::new().unwrap();
    let [binary, in_memory, from_disk] =
        ["binary", "in-memory", "from-disk"].map(|name| home.path().join(name));
    let output = run(&["data", "convert", GRAPH, binary.to_str().unwrap(), "--to", "binary"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("no labels and splits"), "{}", stderr(&output));
    let info = run(&["data", "info", binary.to_str().unwrap(), "--json"]);
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!((&info["format"], &info["nodes"]), (&"binary".into(), &900.into()));
    for (data, out) in [(GRAPH, &in_memory), (binary.to_str().unwrap(), &from_disk)] {
        // A preset goes by the name of the data.
        let output = pretrain(data, out, &["--set=normalize=rows"]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let npy = |folder: &Path| fs::read(folder.join("embeddings.npy")).unwrap();
    assert_eq!(npy(&in_memory), npy(&from_disk));
    // Embedding from disk gives the same bytes as training.
    let output = run(&["embed", in_memory.to_str().unwrap(), binary.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(npy(&in_memory.join("embed")), npy(&in_memory));
    assert!(
        fs::read_dir(&in_memory)
            .unwrap()
            .flatten()
            .all(|e| !e.file_name().to_string_lossy().ends_with(".rows"))
    );
}

/// A file size limit simulates a full disk.
#[cfg(unix)]
#[test]
fn full_disk_leaves_a_checkpoint_to_resume_from() {
    let home = TempDir::new().unwrap();
    let (complete, full) = (home.path().join("complete"), home.path().join("full"));
    // With one small head the embeddings are larger than a checkpoint.
    let graph = "synthetic:nodes=5000,features=120";
    let single = &["--method", "p_par"];
    let output = pretrain(graph, &complete, single);
    assert!(output.status.success(), "{}", stderr(&output));
    let largest = fs::metadata(complete.join("embeddings.npy")).unwrap().len();
    let checkpoint = fs::read_dir(complete.join("checkpoint")).unwrap().flatten().next().unwrap();
    // Enough for a checkpoint and the record, but not for the embeddings; in units of 512 bytes.
    let limit = largest / 2 / 512;
    assert!(checkpoint.metadata().unwrap().len() < largest / 3);
    let arguments = [&["pretrain", graph, "--out", full.to_str().unwrap()], SMALL, single].concat();
    let arguments: Vec<String> = arguments.iter().map(|argument| format!("'{argument}'")).collect();
    let line = format!(
        "trap '' XFSZ; ulimit -f {limit}; exec '{}' {}",
        env!("CARGO_BIN_EXE_controlg"),
        arguments.join(" ")
    );
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("writing ") && !stderr(&output).contains("panicked"),
        "{}",
        stderr(&output)
    );
    assert!(!full.join("embeddings.npy").exists());
    let output = pretrain(graph, &full, &["--method", "p_par", "--resume"]);
    assert!(
        output.status.success() && stderr(&output).contains("resumed after step 60"),
        "{}",
        stderr(&output)
    );
    let npy = |folder: &Path| fs::read(folder.join("embeddings.npy")).unwrap();
    assert_eq!(npy(&full), npy(&complete));
}
