//! Runs planned by expected gain: the record, its audit, resuming, threads, the report and errors.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{run, succeed};
use serde_json::Value;
use tempfile::TempDir;

const SMALL: &[&str] = &[
    "synthetic:nodes=240",
    "--method=controlg-gain",
    "--set=objectives=p_link,p_recon,p_minsg,p_par,x_noise",
    "--set=encoder.width=16",
    "--set=train.epochs=4",
    "--set=train.batches_per_epoch=25",
    "--set=objective.p_par.parts=5",
];

fn error(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The lines of a record without times and seals.
fn record(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("trace.jsonl")).expect("a record");
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        let fields = line.as_object_mut().expect("an object");
        fields.remove("ms");
        fields.remove("seal");
        line
    };
    text.lines().map(line).collect()
}

fn of_kind<'r>(record: &'r [Value], kind: &'r str) -> impl Iterator<Item = &'r Value> {
    record.iter().filter(move |line| line["kind"] == kind)
}

#[test]
fn the_schedule_follows_from_the_record_at_any_number_of_threads() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    succeed(home, &[&["pretrain"], SMALL, &["--out", "whole", "--threads", "1"]].concat());
    succeed(home, &[&["pretrain"], SMALL, &["--out", "threads", "--threads", "2"]].concat());
    let whole = record(&home.join("whole"));
    assert_eq!(record(&home.join("threads")), whole);
    let embeddings = |run: &str| fs::read(home.join(run).join("embeddings.npy")).unwrap();
    assert_eq!(embeddings("threads"), embeddings("whole"));
    assert!(succeed(home, &["audit", "whole"]).contains("every decision follows"));

    for line in of_kind(&whole, "sense") {
        for field in ["held_out", "gain", "cost", "transfer"] {
            assert_eq!(line[field].as_array().map(Vec::len), Some(5), "{field}");
        }
    }
    // Losses on held-out samples after each epoch; the warm-up takes the steps of one.
    let measured = of_kind(&whole, "block").filter(|line| line.get("held_out").is_some());
    assert_eq!(measured.count(), 3);

    // A changed measurement does not lead to the recorded gains.
    let text = fs::read_to_string(home.join("whole/trace.jsonl")).unwrap();
    fs::write(home.join("changed.jsonl"), text.replacen("\"cost\":[", "\"cost\":[9", 1)).unwrap();
    let output = run(home, &["audit", "changed.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("gain"), "{output:?}");

    succeed(home, &["report", "whole"]);
    let page = fs::read_to_string(home.join("whole/report.html")).unwrap();
    assert!(page.contains("id=\"held-out\"") && page.contains("id=\"gains\""));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_resumes_to_the_same_bytes() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let home = TempDir::new().unwrap();
    let home = home.path();
    let longer = [SMALL, &["--set=train.epochs=12"]].concat();
    succeed(home, &[&["pretrain"], &longer[..], &["--out", "whole"]].concat());
    let arguments = [&["pretrain"], &longer[..], &["--out", "stopped"]].concat();
    let mut child = Command::new(env!("CARGO_BIN_EXE_controlg"))
        .args(arguments)
        .current_dir(home)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    while !text.contains("epoch 2/") {
        assert!(lines.read_line(&mut text).unwrap() > 0, "{text}");
    }
    assert!(Command::new("kill").args(["-KILL", &child.id().to_string()]).status().unwrap().success());
    lines.read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    succeed(home, &["pretrain", "--out", "stopped", "--resume"]);
    assert_eq!(record(&home.join("stopped")), record(&home.join("whole")));
    let embeddings = |run: &str| fs::read(home.join(run).join("embeddings.npy")).unwrap();
    assert_eq!(embeddings("stopped"), embeddings("whole"));
}

#[test]
fn other_methods_hold_nothing_out_unless_asked() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let small = |method: &str, rest: &[&str], out: &str| {
        let method = format!("--method={method}");
        let mut arguments = vec!["pretrain"];
        arguments.extend(SMALL.iter().copied().filter(|argument| !argument.starts_with("--method")));
        arguments.extend([&method[..], "--out", out]);
        arguments.extend(rest);
        succeed(home, &arguments);
        record(&home.join(out))
    };
    for (method, epochs) in [("controlg", 3), ("uniform", 4)] {
        let plain = small(method, &[], &format!("{method}-plain"));
        assert!(plain.iter().all(|line| line.get("held_out").is_none() && line.get("gain").is_none()));
        let measured = small(method, &["--set=sense.held_out=0.1"], &format!("{method}-held-out"));
        let with_losses = of_kind(&measured, "block").filter(|line| line.get("held_out").is_some());
        assert_eq!(with_losses.count(), epochs);
        assert!(of_kind(&measured, "sense").all(|line| line.get("transfer").is_none()));
        succeed(home, &["audit", &format!("{method}-held-out")]);
    }
}

#[test]
fn bad_settings_are_named() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let without = error(home, &[&["pretrain"], SMALL, &["--set=sense.held_out=0", "--out", "a"]].concat());
    assert!(
        without.contains("sense.held_out: found 0, expected more than 0 with plan.mode = gain"),
        "{without}"
    );
    let dgi = error(home, &[&["pretrain"], SMALL, &["--set=objectives=p_par,dgi", "--out", "b"]].concat());
    assert!(dgi.contains("sense.held_out: found 0.05 with objective dgi"), "{dgi}");
    let suite = error(home, &["compare", "--data", "cora", "--methods", "random", "--pool", "stres"]);
    assert!(suite.contains("unknown suite of pools 'stres', did you mean 'stress'?"), "{suite}");
}

#[test]
fn objectives_for_testing_are_marked_and_in_no_default_pool() {
    let home = TempDir::new().unwrap();
    let listed: Value =
        serde_json::from_str(&succeed(home.path(), &["list", "objectives", "--json"])).unwrap();
    let summary = |name: &str| {
        let entry = listed.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap();
        entry["summary"].as_str().unwrap().to_owned()
    };
    for name in ["x_noise", "x_shuffle", "x_memorize"] {
        assert!(summary(name).starts_with("for testing: "), "{name}");
    }
    let config: Value = serde_json::from_str(&succeed(home.path(), &["list", "config", "--json"])).unwrap();
    let pool = config.as_array().unwrap().iter().find(|setting| setting["name"] == "objectives").unwrap();
    assert!(!pool["default"].as_str().unwrap().contains("x_"));
}

#[test]
fn a_run_stops_when_its_held_out_losses_are_flat() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    // Random classes are learned by heart only, so the held-out loss soon rises.
    let arguments = [
        "pretrain",
        "synthetic:nodes=240",
        "--method=x_noise",
        "--set=encoder.width=16",
        "--set=train.epochs=60",
        "--set=train.batches_per_epoch=10",
        "--set=train.lr=0.01",
        "--stop-when-flat=3",
    ];
    succeed(home, &[&arguments[..], &["--out", "run"]].concat());
    let lines = record(&home.join("run"));
    let last = of_kind(&lines, "block").last().unwrap();
    assert!(last["epoch"].as_u64().unwrap() < 60, "{last}");
    let losses: Vec<f64> =
        of_kind(&lines, "block").filter_map(|line| line.get("held_out")?[0].as_f64()).collect();
    let best = losses.iter().position(|loss| losses.iter().all(|other| loss <= other)).unwrap();
    assert_eq!(best, losses.len() - 4, "{losses:?}");
    assert!(succeed(home, &["audit", "run"]).contains("every decision follows"));
    // It is complete: there is nothing to continue.
    succeed(home, &["pretrain", "--out", "run", "--resume"]);
    assert_eq!(record(&home.join("run")), lines);
}
