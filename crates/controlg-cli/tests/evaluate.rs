//! `controlg evaluate` end to end: runs, files, floors, invalid input.

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

fn error_of(arguments: &[&str]) -> String {
    let output = run(&[&["evaluate"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn scores_of_a_run_are_written_to_metrics_json() {
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

    // Scores of other tasks are kept, and the same embeddings as files give the same scores.
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
fn link_prediction_requires_a_run_on_training_edges() {
    let folder = TempDir::new().unwrap();
    let all = folder.path().join("all");
    // Sixteen columns are too few for several layers beside each other.
    pretrain(&all, &["--seed", "3", "--set=encoder.jump=last"]);
    assert!(error_of(&[path(&all), "--features", "structural"]).contains("--features"));
    let words = error_of(&[path(&all), "--tasks", "lp"]);
    assert!(!all.join("metrics.json").exists());
    // The suggested command works.
    let command = format!("pretrain --config {} --task lp", path(&all.join("config.toml")));
    assert!(words.contains(&command), "{words}");
    let args = command.split(' ').chain(["--quiet"]);
    let done = Command::new(env!("CARGO_BIN_EXE_controlg")).args(args).current_dir(&folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let runs: Vec<_> =
        fs::read_dir(folder.path().join("runs")).unwrap().map(|run| run.unwrap().path()).collect();
    assert!(runs.len() == 1 && path(&runs[0]).ends_with("-controlg-3-lp"), "{runs:?}");
    let found = scores(&[path(&runs[0])]);
    // Another seed or graph would put training edges into the test set.
    let words = error_of(&[path(&runs[0]), "--tasks", "lp", "--seed", "4"]);
    assert!(words.contains("--seed: found 4, expected 3 for lp"), "{words}");
    let words = error_of(&[path(&runs[0]), "--tasks", "lp", "--data", "synthetic:nodes=240,seed=1"]);
    assert!(words.contains("whose edges differ"), "{words}");
    assert!(scores(&[path(&runs[0]), "--tasks", "nc", "--seed", "4"]).get("nc").is_some());
    assert_eq!(found["lp"]["protocol"], "edges-70-10-20");
    assert!(found["lp"]["value"].as_f64().unwrap() > 50.0, "{found}");
}

#[test]
fn invalid_input_is_reported() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("mine.csv");
    fs::write(&file, "nid,a,b\n0,1,2\n").unwrap();
    assert!(error_of(&[path(&file)]).contains("--data: found nothing"));
    assert!(error_of(&[path(&file), "--data", DATA]).contains("mine.csv"));
    let own = folder.path().join("graph");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("edges.csv"), "src,dst\n0,1\n1,2\n").unwrap();
    assert!(error_of(&[path(&file), "--data", path(&own), "--tasks", "nc"]).contains("no labels"));
    let words = error_of(&[path(&file), "--data", DATA, "--protocol", "planetoid-pulbic"]);
    assert!(words.contains("mine.csv") || words.contains("planetoid-public"), "{words}");
}

#[test]
fn floors_are_evaluated_like_runs() {
    let raw = scores(&["raw", "--data", DATA]);
    let smoothed = scores(&["sgc", "--data", DATA]);
    for task in ["nc", "lp", "cluster"] {
        assert_eq!(raw[task]["split_hash"], smoothed[task]["split_hash"], "{task}");
        assert_ne!(raw[task]["value"], smoothed[task]["value"], "{task}");
    }
    // The synthetic graph is homophilous, so smoothing helps.
    assert!(smoothed["nc"]["value"].as_f64().unwrap() > raw["nc"]["value"].as_f64().unwrap());
    assert!(error_of(&["raw"]).contains("--data"));
    // `--features` applies to floors only.
    let structural = scores(&["raw", "--data", DATA, "--features", "structural"]);
    assert_ne!(structural["nc"]["value"], raw["nc"]["value"]);
    assert!(error_of(&["rav", "--data", DATA]).contains("a floor (raw, sgc, mean, hops)"));
}

#[test]
fn a_run_is_scored_next_to_its_floors() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    pretrain(&out, &["--task", "lp"]);
    let found = scores(&[path(&out)]);
    let kept = controlg::eval::read_metrics(&out.join("metrics.json")).unwrap();
    assert_eq!(Value::Object(kept), found);
    for floor in ["raw", "sgc", "mean", "hops"] {
        let alone = scores(&[floor, "--data", DATA]);
        for task in ["nc", "lp", "cluster"] {
            assert_eq!(found[task]["floors"][floor], alone[task]["value"], "{floor} {task}");
        }
    }
    // The encoder before its first step, trained and evaluated as a run of its own.
    let untrained = folder.path().join("untrained");
    pretrain(&untrained, &["--task", "lp", "--method", "untrained"]);
    let alone = scores(&[path(&untrained)]);
    assert_eq!(found["lp"]["floors"]["untrained"], alone["lp"]["value"]);
    assert!(alone["lp"]["floors"].get("untrained").is_none() && alone["lp"]["floors"]["raw"].is_number());

    let output = run(&["evaluate", path(&out), "--tasks", "nc"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let floors = ["floors: raw ", ", untrained ", ", sgc ", ", mean ", ", hops "].map(|name| text.find(name));
    assert!(floors.iter().all(Option::is_some) && floors.is_sorted(), "in table order: {text}");
    let without = scores(&[path(&out), "--no-floors"]);
    assert!(without["nc"].get("floors").is_none() && without["nc"]["value"] == found["nc"]["value"]);
}

/// The graph of the README: six nodes and seven edges.
fn friends(folder: &Path) -> std::path::PathBuf {
    let graph = folder.join("my-graph");
    fs::create_dir(&graph).unwrap();
    let edges = "src,dst\nann,bob\nbob,carl\ncarl,ann\ncarl,dora\ndora,eve\neve,fred\nfred,dora\n";
    fs::write(graph.join("edges.csv"), edges).unwrap();
    let small = ["--set=objective.p_par.parts=2", "--set=train.epochs=2", "--quiet", "--out"];
    let output = run(&[&["pretrain", path(&graph)], &small[..], &[path(&folder.join("run"))]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    graph
}

#[test]
fn tasks_that_cannot_be_judged_are_skipped_with_their_reason() {
    let folder = TempDir::new().unwrap();
    let graph = friends(folder.path());
    let out = folder.path().join("run");

    // Without labels there is nothing to judge, which is no error unless a task was requested.
    let output = run(&["evaluate", path(&out)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("nothing to evaluate on ") && text.lines().count() == 1, "{text}");
    assert!(text.contains("labels.csv") && text.contains("--task lp"), "{text}");
    assert!(!out.join("metrics.json").exists());
    let found = scores(&[path(&out)]);
    assert!(found["skipped"]["nc"].as_str().unwrap().ends_with("has no labels"), "{found}");
    assert!(error_of(&[path(&out), "--tasks", "nc"]).contains("no labels"));

    // Two nodes per class leave none for validation: clustering is judged all the same.
    let labels = "id,label\nann,a\nbob,a\ncarl,b\ndora,b\n";
    fs::write(graph.join("labels.csv"), labels).unwrap();
    let output = run(&["evaluate", path(&out)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(notes.contains("note: nc skipped: split 0 of random-10-10-80: found no val nodes"), "{notes}");
    let found = scores(&[path(&out)]);
    assert!(found["cluster"]["value"].is_number() && found["skipped"]["nc"].is_string(), "{found}");
    let kept: Value = serde_json::from_str(&fs::read_to_string(out.join("metrics.json")).unwrap()).unwrap();
    assert!(kept.get("skipped").is_none(), "{kept}");
    assert!(error_of(&[path(&out), "--tasks", "nc,cluster"]).contains("no val nodes"));
    // Validation figures of clusters need validation nodes.
    let found = scores(&[path(&out), "--validation-only"]);
    assert!(found["skipped"]["cluster"].as_str().unwrap().contains("no val nodes"), "{found}");

    // Too few edges for a split; the floor is judged on the other tasks.
    let found = scores(&["raw", "--data", path(&graph)]);
    assert!(found["skipped"]["lp"].as_str().unwrap().contains("at least 10 edges"), "{found}");
    assert!(found["cluster"]["value"].is_number(), "{found}");
}

#[test]
fn a_class_without_training_nodes_counts_as_missed() {
    let folder = TempDir::new().unwrap();
    let graph = folder.path().join("graph");
    fs::create_dir(&graph).unwrap();
    let (mut edges, mut features) = ("src,dst\n".to_owned(), "id,a,b,c\n".to_owned());
    let (mut labels, mut splits) = ("id,label\n".to_owned(), "id,own:0,own:1\n".to_owned());
    // Ten nodes of each of the classes a and b, and three of class c: one for validation and two for testing.
    for node in 0..23 {
        edges += &format!("{node},{}\n", (node + 1) % 23);
        let class = if node < 20 { node % 2 } else { 2 };
        let row = [0, 1, 2].map(|column| if column == class { "1" } else { "0" });
        features += &format!("{node},{}\n", row.join(","));
        labels += &format!("{node},{}\n", ["a", "b", "c"][class]);
        let part = match node {
            0..8 => "train",
            8..12 | 20 => "val",
            _ => "test",
        };
        // In the second split, class c has a training node.
        splits += &format!("{node},{part},{}\n", if node == 21 { "train" } else { part });
    }
    let files = [("edges", edges), ("features", features), ("labels", labels), ("splits", splits)];
    files.iter().for_each(|(name, text)| fs::write(graph.join(format!("{name}.csv")), text).unwrap());

    let output = run(&["evaluate", "raw", "--data", path(&graph), "--tasks", "nc", "--json"]);
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(notes.contains("no training node in some split of class c"), "{notes}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let nc = &found["nc"];
    assert_eq!(nc["missing_classes"], serde_json::json!(["c"]), "{nc}");
    // The features give the class away: all but two of ten test nodes and one of five validation nodes in the first split.
    assert_eq!((nc["split0"].as_f64(), nc["value"].as_f64()), (Some(80.0), Some(90.0)), "{nc}");
    assert_eq!(nc["validation"].as_f64(), Some(90.0), "{nc}");
    // Macro-F1 counts the missed class: (F1 of a + F1 of b + 0) / 3 in the first split.
    assert!(nc["macro_f1"].as_f64().unwrap() < 82.0, "{nc}");

    let complete = scores(&["raw", "--data", DATA, "--tasks", "nc"]);
    assert_eq!(complete["nc"]["missing_classes"], serde_json::json!([]));
}
