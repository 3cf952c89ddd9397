//! `controlg evaluate` as a user meets it: a run, anybody's file, what is refused.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const DATA: &str = "synthetic:nodes=240";

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_controlg")).args(arguments).output().expect("the program starts")
}

fn path(of: &Path) -> &str {
    of.to_str().expect("a plain path")
}

fn pretrain(out: &Path, more: &[&str]) {
    let small = [
        "pretrain",
        DATA,
        "--out",
        path(out),
        "--set=encoder.width=16",
        "--set=train.epochs=2",
        "--set=train.batches_per_epoch=30",
        "--set=objective.p_par.parts=5",
    ];
    let output = run(&[&small, more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn scores(arguments: &[&str]) -> Value {
    let output = run(&[&["evaluate"], arguments, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn refusal(arguments: &[&str]) -> String {
    let output = run(&[&["evaluate"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_run_is_judged_and_its_scores_kept() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    pretrain(&out, &[]);
    let found = scores(&[path(&out)]);
    for task in ["nc", "cluster"] {
        let value = found[task]["value"].as_f64().unwrap();
        assert!((0.0..=100.0).contains(&value), "{task}: {value}");
        for key in ["protocol", "embedding", "probe", "seconds"] {
            assert!(!found[task][key].is_null(), "{task}.{key}");
        }
    }
    assert_eq!(found["nc"]["protocol"], "random-10-10-80");
    assert!(found["nc"]["split_hash"].is_string() && found.get("lp").is_none());

    // Another task is put beside, and anybody's file gives the same as the run.
    scores(&[path(&out), "--tasks", "nc", "--probe", "adam-es"]);
    let kept: Value = serde_json::from_str(&fs::read_to_string(out.join("metrics.json")).unwrap()).unwrap();
    assert_eq!(
        (&kept["nc"]["probe"], &kept["cluster"]["value"]),
        (&"adam-es".into(), &found["cluster"]["value"])
    );
    for file in ["embeddings.npy", "embeddings.parquet"] {
        let other = scores(&[path(&out.join(file)), "--data", DATA, "--tasks", "nc"]);
        assert_eq!(other["nc"]["value"], found["nc"]["value"], "{file}");
    }
}

#[test]
fn links_are_judged_on_runs_that_saw_the_training_edges_only() {
    let folder = TempDir::new().unwrap();
    let all = folder.path().join("all");
    pretrain(&all, &["--seed", "3"]);
    assert!(refusal(&[path(&all), "--features", "structural"]).contains("--features"));
    let words = refusal(&[path(&all), "--tasks", "lp"]);
    assert!(!all.join("metrics.json").exists());
    // The command that would be right is named, and is right.
    let command = format!("pretrain --config {} --for lp", path(&all.join("config.toml")));
    assert!(words.contains(&command), "{words}");
    let asked = command.split(' ').chain(["--quiet"]);
    let done =
        Command::new(env!("CARGO_BIN_EXE_controlg")).args(asked).current_dir(&folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let runs: Vec<_> =
        fs::read_dir(folder.path().join("runs")).unwrap().map(|run| run.unwrap().path()).collect();
    assert!(runs.len() == 1 && path(&runs[0]).ends_with("-controlg-3-lp"), "{runs:?}");
    let found = scores(&[path(&runs[0])]);
    // Another seed, or a graph with other edges, would judge by edges that the run was trained on.
    let words = refusal(&[path(&runs[0]), "--tasks", "lp", "--seed", "4"]);
    assert!(words.contains("--seed: found 4, expected 3 for lp"), "{words}");
    let words = refusal(&[path(&runs[0]), "--tasks", "lp", "--data", "synthetic:nodes=240,seed=1"]);
    assert!(words.contains("with other edges"), "{words}");
    assert!(scores(&[path(&runs[0]), "--tasks", "nc", "--seed", "4"]).get("nc").is_some());
    assert_eq!(found["lp"]["protocol"], "edges-70-10-20");
    assert!(found["lp"]["value"].as_f64().unwrap() > 50.0, "{found}");
}

#[test]
fn what_cannot_be_judged_is_said() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("mine.csv");
    fs::write(&file, "nid,a,b\n0,1,2\n").unwrap();
    assert!(refusal(&[path(&file)]).contains("--data: found nothing"));
    assert!(refusal(&[path(&file), "--data", DATA]).contains("mine.csv"));
    let own = folder.path().join("graph");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("edges.csv"), "src,dst\n0,1\n1,2\n").unwrap();
    assert!(refusal(&[path(&file), "--data", path(&own)]).contains("no labels"));
    let words = refusal(&[path(&file), "--data", DATA, "--protocol", "planetoid-pulbic"]);
    assert!(words.contains("mine.csv") || words.contains("planetoid-public"), "{words}");
}

#[test]
fn floors_are_judged_like_anything_else() {
    let raw = scores(&["raw", "--data", DATA]);
    let smoothed = scores(&["sgc", "--data", DATA]);
    for task in ["nc", "lp", "cluster"] {
        assert_eq!(raw[task]["split_hash"], smoothed[task]["split_hash"], "{task}");
        assert_ne!(raw[task]["value"], smoothed[task]["value"], "{task}");
    }
    // The synthetic graph is homophilous: neighbors help.
    assert!(smoothed["nc"]["value"].as_f64().unwrap() > raw["nc"]["value"].as_f64().unwrap());
    assert!(refusal(&["raw"]).contains("--data"));
    // A floor has the features that are asked for; a run has its own.
    let structural = scores(&["raw", "--data", DATA, "--features", "structural"]);
    assert_ne!(structural["nc"]["value"], raw["nc"]["value"]);
    assert!(refusal(&["rav", "--data", DATA]).contains("the floor raw or sgc"));
}
