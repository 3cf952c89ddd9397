//! Quality without labels: in the record of every method, its audit, the report and the tables of a comparison.

mod common;

use std::fs;
use std::path::Path;

use common::{run, succeed};
use serde_json::Value;
use tempfile::TempDir;

const SMALL: &[&str] = &[
    "synthetic:nodes=240",
    "--set=encoder.width=16",
    "--set=train.epochs=2",
    "--set=train.batches_per_epoch=30",
    "--set=objective.p_par.parts=5",
];

/// The lines of a record without times, seals and the setting.
fn record(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("trace.jsonl")).expect("a record");
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        let fields = line.as_object_mut().expect("an object");
        fields.remove("ms");
        fields.remove("seal");
        if let Some(config) = fields.get_mut("config") {
            config["train"].as_object_mut().expect("a table").remove("quality");
        }
        line
    };
    text.lines().map(line).collect()
}

fn qualities(record: &[Value]) -> Vec<&Value> {
    record.iter().filter_map(|line| line.get("quality")).collect()
}

#[test]
fn measuring_changes_nothing_but_the_record_at_any_number_of_threads() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    for (method, more) in
        [("controlg", &["--task=lp"][..]), ("controlg-gain", &[]), ("uniform", &["--set=encoder.norm=batch"])]
    {
        let train = |out: &str, rest: &[&str]| {
            let method = format!("--method={method}");
            succeed(home, &[&["pretrain", &method, "--out", out], SMALL, more, rest].concat());
            let embeddings = fs::read(home.join(out).join("embeddings.npy")).unwrap();
            (record(&home.join(out)), embeddings)
        };
        let (with, embeddings) = train(&format!("{method}-with"), &["--threads=1"]);
        let (threads, _) = train(&format!("{method}-threads"), &["--threads=2"]);
        let (without, same) = train(&format!("{method}-without"), &["--set=train.quality=false"]);
        assert_eq!(embeddings, same);
        assert_eq!(threads, with);
        // The warm-up of a method that senses takes steps, so its last epoch is shorter.
        assert_eq!((qualities(&with).len(), qualities(&without).len()), (2, 0));
        for quality in qualities(&with) {
            for measure in ["calinski_harabasz", "edge_auc", "effective_rank"] {
                assert!(quality[measure].as_f64().is_some_and(f64::is_finite), "{quality}");
            }
        }
        let mut stripped = with.clone();
        stripped.iter_mut().for_each(|line| {
            line.as_object_mut().unwrap().remove("quality");
        });
        assert_eq!(stripped, without);
        succeed(home, &["audit", &format!("{method}-with")]);
        succeed(home, &["audit", &format!("{method}-without")]);
    }
    succeed(home, &["report", "controlg-with"]);
    let page = fs::read_to_string(home.join("controlg-with/report.html")).unwrap();
    assert!(page.contains("id=\"quality\""));
}

#[test]
fn an_impossible_or_missing_measurement_fails_the_audit() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    succeed(home, &[&["pretrain", "--method=random", "--out", "run"], SMALL].concat());
    let text = fs::read_to_string(home.join("run/trace.jsonl")).unwrap();
    for (from, to, expected) in [
        ("\"edge_auc\":0", "\"edge_auc\":7", "quality: found 7"),
        ("\"quality\":{", "\"other\":{", "quality: found nothing, but a measurement after the epoch follows"),
    ] {
        fs::write(home.join("changed.jsonl"), text.replacen(from, to, 1)).unwrap();
        let output = run(home, &["audit", "changed.jsonl"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && message.contains(expected), "{message}");
    }
}

#[test]
fn a_comparison_stores_the_measures_and_correlates_them_with_the_scores() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let arguments =
        ["compare", "--data=synthetic:nodes=240", "--methods=random,controlg", "--seeds=2", "--no-singles"];
    let rest = ["--set=sense.held_out=0.1", "--out=found"];
    let printed = succeed(home, &[&arguments[..], &SMALL[1..], &rest].concat());
    let text = fs::read_to_string(home.join("found/results.jsonl")).unwrap();
    let cells: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for cell in cells {
        // Floors train nothing.
        let trained = cell["steps"].as_u64().unwrap() > 0;
        assert_eq!(cell.get("quality").is_some(), trained, "{cell}");
        assert_eq!(cell.get("held_out").is_some(), trained, "{cell}");
    }
    let tables = fs::read_to_string(home.join("found/tables.md")).unwrap();
    for part in ["Rank correlation of measures without labels", "| Calinski–Harabasz |", "(4)"] {
        assert!(tables.contains(part) && printed.contains(part), "{part}: {printed}");
    }
    assert!(home.join("found/tables/nc-label-free.csv").exists());
    // Nothing is run again with the measurement off: it changes no result.
    let off = succeed(home, &[&arguments[..], &SMALL[1..], &rest, &["--set=train.quality=false"]].concat());
    assert!(off.contains("| Calinski–Harabasz |"), "{off}");
}
