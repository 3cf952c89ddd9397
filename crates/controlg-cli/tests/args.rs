//! Flags and help texts: renamed flags still work, and every help text fits on one line.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn run(folder: &TempDir, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_controlg")).args(args).current_dir(folder).output().unwrap()
}

fn stdout(folder: &TempDir, args: &[&str]) -> String {
    let output = run(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const COMMANDS: [&[&str]; 16] = [
    &[],
    &["demo"],
    &["pretrain"],
    &["evaluate"],
    &["compare"],
    &["report"],
    &["audit"],
    &["embed"],
    &["generate"],
    &["generate", "completions"],
    &["generate", "man"],
    &["data"],
    &["data", "list"],
    &["data", "info"],
    &["data", "fetch"],
    &["data", "convert"],
];

#[test]
fn help_texts_fit_on_one_line() {
    let folder = TempDir::new().unwrap();
    for command in COMMANDS.iter().chain([&&["list"][..]]) {
        let help = stdout(&folder, &[command, &["-h"][..]].concat());
        let sections = help.split_once("Usage:").map_or("", |(_, rest)| rest);
        for line in sections.lines().filter(|line| line.starts_with("  ")) {
            // A wrapped help text continues in the help column.
            let indent = line.len() - line.trim_start().len();
            assert!(indent <= 6, "{command:?}: the help text before this line is too long: {line}");
        }
    }
}

#[test]
fn flags_of_version_0_1_work_but_are_hidden() {
    let folder = TempDir::new().unwrap();
    let small = [
        "--quiet",
        "--set=encoder.width=8",
        "--set=train.epochs=2",
        "--set=train.batches_per_epoch=30",
        "--set=objective.p_par.parts=3",
    ];
    let data = "synthetic:nodes=150";
    stdout(&folder, &[&["pretrain", data, "--for", "lp", "--out", "run"], &small[..]].concat());
    let config = fs::read_to_string(folder.path().join("run/config.toml")).unwrap();
    assert!(config.contains("edges = \"train\""), "{config}");

    let scores = |flag: &str| -> Value {
        let args = ["evaluate", "run", "--tasks", "nc", flag, "none", "--json"];
        serde_json::from_str(&stdout(&folder, &args)).unwrap()
    };
    let (old, new) = (scores("--embedding"), scores("--normalize"));
    assert_eq!((&old["nc"]["value"], &old["nc"]["embedding"]), (&new["nc"]["value"], &"none".into()));

    // The old flag is kept from version 0.1.
    for (out, singles) in [("old", "--skip-singles"), ("new", "--no-singles")] {
        let args = ["compare", "--data", data, "--methods", "raw", "--seeds", "1", "--tasks", "nc", singles];
        stdout(&folder, &[&args[..], &["--out", out], &small].concat());
        let results = fs::read_to_string(folder.path().join(out).join("results.jsonl")).unwrap();
        assert_eq!(results.lines().count(), 5, "{results}");
    }

    for (out, format) in [("old-format", "mapped"), ("new-format", "binary")] {
        stdout(&folder, &["data", "convert", data, out, "--to", format, "--quiet"]);
        assert!(folder.path().join(out).join("graph.json").exists());
    }

    for (command, old) in [
        (&["pretrain"][..], "--for "),
        (&["evaluate"], "--embedding"),
        (&["compare"], "--embedding"),
        (&["compare"], "--skip-singles"), // kept from version 0.1
        (&["data", "convert"], "mapped"),
    ] {
        let help = stdout(&folder, &[command, &["--help"]].concat());
        assert!(!help.contains(old), "{command:?} mentions {old}: {help}");
    }
}
