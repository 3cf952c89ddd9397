//! `controlg reproduce`: the plan without data, and every table in a tiny version.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn controlg(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_controlg"))
        .args(arguments)
        .current_dir(folder)
        .env("CONTROLG_DATA", folder.join("no-data"))
        .output()
        .expect("the program starts")
}

fn succeed(folder: &Path, arguments: &[&str]) -> Output {
    let output = controlg(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = controlg(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs of a second in all.
const TINY: [&str; 20] = [
    "--data=synthetic:nodes=60,features=8,classes=3",
    "--seeds=2",
    "--gain-configs=2",
    "--budget=steps",
    "--set=train.epochs=1",
    "--set=train.batches_per_epoch=8",
    "--set=train.warmup_rounds=1",
    "--set=encoder.width=8",
    "--set=encoder.layers=1",
    "--set=embed.features=0",
    "--set=objective.p_par.parts=3",
    "--set=objective.p_minsg.hidden=8",
    "--set=objective.p_recon.hidden=8",
    "--set=objective.p_decor.width=8",
    "--set=sense.period=4",
    "--set=plan.floor=0.05",
    "--threads=2",
    "--jobs=2",
    "--out",
    "all",
];

fn tiny<'a>(targets: &[&'a str]) -> Vec<&'a str> {
    [&["reproduce"], targets, &TINY].concat()
}

#[test]
fn the_plan_needs_no_data() {
    let home = TempDir::new().unwrap();
    let listed = succeed(home.path(), &["reproduce", "list"]);
    let text = String::from_utf8(listed.stdout).unwrap();
    for name in ["nc", "lp", "cluster", "ablation-nc", "gat", "pool-size", "gains", "timing", "figures"] {
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}: {text}");
    }
    assert!(text.contains("Files are missing"), "{text}");
    let output = succeed(home.path(), &["reproduce", "nc", "lp", "gains", "--dry-run", "--json"]);
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let total = &plan["all"];
    assert!(
        total["all"]["runs"].as_u64().unwrap() > 1500 && total["all"]["core_hours"].as_f64().unwrap() > 1.0
    );
    assert_eq!(total["without_data"]["runs"], total["all"]["runs"]);
    assert_eq!(plan["missing_data"].as_array().unwrap().len(), 9);
    assert!(!home.path().join("reproduction").exists(), "a dry run writes nothing");
}

#[test]
fn every_table_in_a_tiny_version() {
    let home = TempDir::new().unwrap();
    succeed(home.path(), &tiny(&["all"]));
    let out = home.path().join("all");
    let markdown = fs::read_to_string(out.join("tables.md")).unwrap();
    for table in [
        "nc",
        "lp",
        "cluster",
        "ablation-nc",
        "ablation-lp",
        "gat",
        "pool-size",
        "gains",
        "equal-steps",
        "timing",
    ] {
        assert!(markdown.contains(&format!("## {table}")), "{table}");
    }
    for file in
        ["tables/nc.csv", "tables/claims.csv", "figures/critical-differences.svg", "figures/gain-sweep.svg"]
    {
        assert!(out.join(file).exists(), "{file}");
    }
    let record = fs::read_dir(out.join("figures")).unwrap().map(|file| file.unwrap().file_name());
    let record: Vec<String> = record.map(|name| name.to_string_lossy().into_owned()).collect();
    for figure in ["deficits", "tracking", "conflict", "log-hypervolume", "entropy", "schedule"] {
        assert!(record.iter().any(|name| name.ends_with(&format!("-{figure}.svg"))), "{figure}: {record:?}");
    }
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("The paper's claims") && page.contains("Critical differences"));
    assert!(!page.contains("src=") && !page.contains("href="), "the page loads nothing");
    // Nothing is run twice; a report needs no runs.
    let results = fs::read_to_string(out.join("results.jsonl")).unwrap();
    let again = succeed(home.path(), &tiny(&["all"]));
    assert!(!String::from_utf8_lossy(&again.stderr).contains("runs to do"));
    assert_eq!(fs::read_to_string(out.join("results.jsonl")).unwrap(), results);
    assert_eq!(fs::read_to_string(out.join("tables.md")).unwrap(), markdown);
    succeed(home.path(), &["report", "all"]);
    // Every run has passed its audit, and its settings can be run again.
    let run = fs::read_dir(out.join("runs")).unwrap().map(|run| run.unwrap().path());
    let run = run.into_iter().find(|run| run.to_string_lossy().contains("-controlg-0")).unwrap();
    succeed(home.path(), &["audit", run.to_str().unwrap()]);
}

#[test]
fn a_reproduction_is_continued_with_more_targets_and_shards() {
    let home = TempDir::new().unwrap();
    succeed(home.path(), &[&tiny(&["pool-size"])[..], &["--shard", "1/2"]].concat());
    succeed(home.path(), &[&tiny(&["pool-size"])[..], &["--shard", "2/2"]].concat());
    let merged = succeed(home.path(), &tiny(&["pool-size"]));
    assert!(!String::from_utf8_lossy(&merged.stderr).contains("runs to do"));
    // Six runs of controlg, two of which are rows of the ablation table.
    let more = succeed(home.path(), &tiny(&["ablation-nc"]));
    assert!(String::from_utf8_lossy(&more.stderr).contains("10 runs to do"), "{more:?}");
    let plan = succeed(home.path(), &[&tiny(&["ablation-nc"])[..], &["--dry-run", "--json"]].concat());
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    assert_eq!((&plan["all"]["done"], &plan["all"]["to_do"]["runs"]), (&12.into(), &0.into()));
}

#[test]
fn data_sets_without_files_are_skipped_by_name() {
    let home = TempDir::new().unwrap();
    let mut arguments = tiny(&["pool-size"]);
    arguments[2] = "--data=synthetic:nodes=60,features=8,classes=3,cora";
    let output = succeed(home.path(), &arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("note: cora is skipped: its files are missing"), "{stderr}");
    assert!(home.path().join("all/report.html").exists());
}

#[test]
fn unknown_targets_and_other_settings_are_refused() {
    let home = TempDir::new().unwrap();
    assert!(refused(home.path(), &["reproduce", "ablation"]).contains("did you mean 'ablation-"));
    succeed(home.path(), &tiny(&["pool-size"]));
    let mut other = tiny(&["pool-size"]);
    other.push("--set=train.lr=0.01");
    let message = refused(home.path(), &other);
    assert!(message.contains("reproduction.json") && message.contains("another --out"), "{message}");
}
