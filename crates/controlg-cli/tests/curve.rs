//! Quality along a run against its cost: `pretrain --snapshots`, `evaluate --curve`, `compare --curve`.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{run, succeed};
use serde_json::Value;
use tempfile::TempDir;

const DATA: &str = "synthetic:nodes=150,features=24";
const SMALL: [&str; 6] = [
    "--set=encoder.width=8",
    "--set=train.epochs=3",
    "--set=train.batches_per_epoch=20",
    "--set=train.warmup_rounds=2",
    "--set=objective.p_par.parts=3",
    "--set=objective.p_decor.width=8",
];

/// The arguments of a comparison of four methods.
fn compare(out: &'static str, more: &[&'static str]) -> Vec<&'static str> {
    let methods = "random,controlg-gain,controlg,uniform";
    let head =
        ["compare", "--data", DATA, "--methods", methods, "--no-singles", "--seeds", "2", "--out", out];
    [&head[..], &["--tasks", "nc,lp,cluster"], &SMALL, more].concat()
}

/// The cells by data, method, seed and task, without times and memory.
fn cells(folder: &Path) -> BTreeMap<String, Value> {
    let text = fs::read_to_string(folder.join("results.jsonl")).unwrap();
    let cell = |line: &str| {
        let mut cell: Value = serde_json::from_str(line).unwrap();
        for unsteady in ["seconds", "peak_mb", "threads", "seal"] {
            cell.as_object_mut().unwrap().remove(unsteady);
        }
        for point in cell["curve"]["at"].as_array_mut().into_iter().flatten() {
            assert!(point.as_object_mut().unwrap().remove("seconds").unwrap().as_f64().unwrap() >= 0.0);
        }
        let name = ["method", "seed", "task"].map(|key| cell[key].to_string()).join(" ");
        (name, cell)
    };
    text.lines().map(cell).collect()
}

fn points(cell: &Value) -> &[Value] {
    cell["curve"]["at"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn a_comparison_measures_quality_and_cost_along_every_run() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let printed = succeed(home, &compare("all", &["--curve", "4"]));
    assert!(
        printed.contains("What it costs to reach 99 % of the final ROC-AUC of random on validation data"),
        "{printed}"
    );
    let found = cells(&home.join("all"));
    assert_eq!(found.len(), 9 * 2 * 3);
    for (name, cell) in &found {
        let curve = points(cell);
        let floor = ["raw", "sgc", "mean", "hops"].iter().any(|floor| cell["method"] == *floor);
        assert_eq!(curve.is_empty(), floor, "{name}");
        let (Some(first), Some(last)) = (curve.first(), curve.last()) else { continue };
        assert_eq!((first["step"].as_u64(), first["operations"].as_f64()), (Some(0), Some(0.0)), "{name}");
        if cell["task"] != "cluster" {
            assert_eq!(last["value"], cell["validation"], "{name}: the last point is the end of the run");
        }
        assert_eq!(last["step"], cell["steps"], "{name}");
        if cell["method"] == "untrained" {
            continue;
        }
        assert_eq!((cell["curve"]["points"].as_u64(), curve.len()), (Some(4), 5), "{name}");
        let rises = |key: &str| curve.windows(2).all(|two| two[0][key].as_f64() < two[1][key].as_f64());
        assert!(rises("step") && rises("operations") && rises("evaluations"), "{name}");
        assert_eq!(last["evaluations"].as_f64().unwrap().ceil() as u64, cell["evaluations"], "{name}");
        let measures = last["measuring"].as_f64().unwrap() > 0.0;
        assert_eq!(measures, cell["method"].as_str().unwrap().starts_with("controlg"), "{name}");
    }
    // A step on all objectives costs more than one on any of them.
    let spent =
        |method: &str| points(&found[&format!("\"{method}\" 0 \"nc\"")])[4]["operations"].as_f64().unwrap();
    assert!(spent("uniform") > 3.0 * spent("random"), "{} {}", spent("uniform"), spent("random"));

    // Tables, figures and the page.
    for task in ["nc", "lp", "cluster"] {
        let csv = fs::read_to_string(home.join(format!("all/tables/{task}-curve.csv"))).unwrap();
        assert_eq!(csv.lines().count(), 1 + 5, "{csv}");
    }
    succeed(home, &["report", "all", "--figures", "figures"]);
    let page = fs::read_to_string(home.join("all/report.html")).unwrap();
    assert!(page.contains("id=\"quality-operations\"") && page.contains("id=\"quality-seconds\""));
    let csv = fs::read_to_string(home.join("figures/quality-operations.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 3 * 4 * 5, "one row per task, method and point: {csv}");

    // The embeddings along the runs are removed, and nothing is left to do.
    for run in fs::read_dir(home.join("all/runs")).unwrap() {
        assert!(!run.unwrap().path().join("snapshots").exists());
    }
    let again = run(home, &compare("all", &["--curve", "4"]));
    assert!(!String::from_utf8_lossy(&again.stderr).contains("runs to do"));
    // Without the option the results count as they are; other points are measured anew, without the floors.
    let without = run(home, &compare("all", &[]));
    assert!(!String::from_utf8_lossy(&without.stderr).contains("runs to do"));
    let more = run(home, &compare("all", &["--curve", "2"]));
    assert!(String::from_utf8_lossy(&more.stderr).contains("20 runs to do"), "{more:?}");
    assert_eq!(points(&cells(&home.join("all"))["\"random\" 1 \"lp\""]).len(), 3);
}

#[cfg(unix)]
#[test]
fn an_interrupted_comparison_has_the_same_curves() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    succeed(home, &compare("whole", &["--curve", "5"]));
    let results = home.join("killed/results.jsonl");
    for lines in [3, 20] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_controlg"))
            .args(compare("killed", &["--curve", "5"]))
            .current_dir(home)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        let count = || fs::read_to_string(&results).map_or(0, |text| text.matches('\n').count());
        while count() < lines && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(300), "no progress");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    succeed(home, &compare("killed", &["--curve", "5", "--jobs", "1"]));
    assert_eq!(cells(&home.join("killed")), cells(&home.join("whole")));
}

#[test]
fn embeddings_along_a_run_change_nothing_and_survive_an_interruption() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let with = |out: &'static str, more: &[&'static str]| {
        [&["pretrain", DATA, "--method", "controlg-gain", "--out", out][..], &SMALL, more].concat()
    };
    succeed(home, &with("plain", &[]));
    succeed(home, &with("kept", &["--snapshots", "6"]));
    let bytes = |path: &str| fs::read(home.join(path)).unwrap();
    assert_eq!(bytes("kept/embeddings.npy"), bytes("plain/embeddings.npy"));
    let names = |run: &str| {
        let files = fs::read_dir(home.join(run).join("snapshots")).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let kept = names("kept");
    assert_eq!(kept.len(), 7);
    assert_eq!((kept[0].as_str(), kept[6].as_str()), ("step-000000000000.npy", "step-000000000060.npy"));
    assert_eq!(bytes("kept/snapshots/step-000000000060.npy"), bytes("kept/embeddings.npy"));

    // What an interruption after the last but one checkpoint would have left.
    let checkpoints = |run: &str| home.join(run).join("checkpoint");
    fs::create_dir(home.join("resumed")).unwrap();
    for name in ["config.toml", "trace.jsonl"] {
        fs::copy(home.join("kept").join(name), home.join("resumed").join(name)).unwrap();
    }
    fs::create_dir(checkpoints("resumed")).unwrap();
    let mut saved: Vec<_> =
        fs::read_dir(checkpoints("kept")).unwrap().map(|file| file.unwrap().path()).collect();
    saved.sort();
    fs::copy(&saved[0], checkpoints("resumed").join(saved[0].file_name().unwrap())).unwrap();
    let refused = run(home, &with("resumed", &["--resume", "--snapshots", "6"]));
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("started without --snapshots"), "{message}");
    fs::create_dir(home.join("resumed/snapshots")).unwrap();
    let first = "snapshots/step-000000000000.npy";
    fs::copy(home.join("kept").join(first), home.join("resumed").join(first)).unwrap();
    succeed(home, &with("resumed", &["--resume", "--snapshots", "6"]));
    let resumed = names("resumed");
    assert!(resumed.len() > 1 && resumed.len() < 7, "{resumed:?}");
    for name in resumed {
        let file = format!("snapshots/{name}");
        assert_eq!(bytes(&format!("resumed/{file}")), bytes(&format!("kept/{file}")), "{name}");
    }

    let printed = succeed(home, &["evaluate", "kept", "--curve", "--tasks", "nc,cluster", "--json"]);
    let curves: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(curves["nc"].as_array().unwrap().len(), 7);
    assert_eq!(curves["nc"][6]["operations"], curves["cluster"][6]["operations"]);
    assert!(!home.join("kept/metrics.json").exists(), "nothing is stored");
    let refused = run(home, &["evaluate", "plain", "--curve", "--tasks", "nc"]);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        message.contains("plain/snapshots: found no embeddings, expected the embeddings of a run"),
        "{message}"
    );
    let refused = run(home, &["evaluate", "raw", "--data", DATA, "--curve", "--tasks", "nc"]);
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("--curve: found raw, expected the folder of a run")
    );
}

#[test]
fn a_sensing_on_a_subgraph_counts_by_its_share_of_the_nodes() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let compare = |out: &'static str, probe: &'static str| {
        let head = ["compare", "--data", DATA, "--methods", "controlg-gain", "--no-singles", "--seeds", "1"];
        let rest =
            ["--tasks", "nc", "--budget", "evaluations", "--set=train.epochs=8", "--set=sense.period=2"];
        let senses = ["--set=sense.whole_up_to=0", probe, "--out", out];
        succeed(home, &[&head[..], &SMALL, &rest, &senses].concat());
        let found = cells(&home.join(out));
        let cell = &found["\"controlg-gain\" 0 \"nc\""];
        let number = |key: &str| cell[key].as_u64().unwrap();
        (number("steps"), number("evaluations"))
    };
    let (whole, whole_evaluations) = compare("whole", "--set=sense.probe_nodes=150");
    let (part, part_evaluations) = compare("part", "--set=sense.probe_nodes=50");
    assert!(whole_evaluations <= 160 && part_evaluations <= 160);
    assert!(part > whole, "cheaper sensing leaves more steps: {part} {whole}");

    // A comparison that was begun before counts a whole evaluation, and finds its results.
    let old = home.join("old");
    fs::create_dir(&old).unwrap();
    let mut manifest: Value =
        serde_json::from_slice(&fs::read(home.join("part/comparison.json")).unwrap()).unwrap();
    assert_eq!(manifest["comparison"]["defaults"], 2, "{manifest}");
    manifest["comparison"]["defaults"] = 1.into();
    // Manifests of older versions have no seal.
    assert!(manifest.as_object_mut().unwrap().remove("seal").is_some());
    fs::write(old.join("comparison.json"), manifest.to_string()).unwrap();
    let (before, _) = compare("old", "--set=sense.probe_nodes=50");
    assert_eq!(before, whole);
}
