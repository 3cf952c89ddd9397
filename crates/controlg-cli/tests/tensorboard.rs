//! TensorBoard reads the same values from the event file as the record holds.
//!
//! `CONTROLG_PYTHON` names a Python with the package `tensorboard`; without it the test is skipped.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

const READER: &str = "
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={'scalars': 0})
events.Reload()
print(json.dumps({tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()['scalars']}))
";

#[test]
fn tensorboard_reads_the_values_of_the_record() {
    let python = std::env::var("CONTROLG_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let there = Command::new(&python).args(["-c", "import tensorboard"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        common::skipped(format_args!("{python} has no package tensorboard"));
        return;
    }
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let small =
        ["encoder.width=8", "train.epochs=2", "train.batches_per_epoch=30", "objective.p_par.parts=3"];
    let output = Command::new(env!("CARGO_BIN_EXE_controlg"))
        .args(["pretrain", "synthetic:nodes=120", "--tensorboard", "--quiet", "--out"])
        .arg(&out)
        .args(small.map(|setting| format!("--set={setting}")))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let read = Command::new(&python).args(["-c", READER]).arg(out.join("tensorboard")).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let scalars: BTreeMap<String, Vec<(u64, f64)>> = serde_json::from_slice(&read.stdout).unwrap();

    let mut wanted: BTreeMap<String, Vec<(u64, f64)>> = BTreeMap::new();
    let objectives = ["p_link", "p_recon", "p_minsg", "p_decor", "p_par"];
    for line in fs::read_to_string(out.join("trace.jsonl")).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let step = line["step"].as_u64().unwrap_or_default();
        let mut put = |tag: String, value: &Value| {
            wanted.entry(tag).or_default().push((step, f64::from(value.as_f64().unwrap() as f32)));
        };
        let fields: &[(&str, &str)] = match line["kind"].as_str().unwrap() {
            "warmup" => &[("loss", "loss")],
            "sense" => &[
                ("loss", "loss"),
                ("rq", "sense/rayleigh"),
                ("conf", "sense/conflict"),
                ("difficulty", "sense/difficulty"),
                ("hv_weight", "plan/sensitivity"),
                ("plan", "plan/share"),
            ],
            "block" => {
                put(format!("train/{}", line["task"].as_str().unwrap()), &line["loss"]);
                &[("deficit", "control/deficit"), ("prob", "control/probability")]
            }
            _ => &[],
        };
        for (field, tag) in fields {
            for (k, name) in objectives.iter().enumerate() {
                put(format!("{tag}/{name}"), &line[field][k]);
            }
        }
    }
    assert_eq!(scalars.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    assert_eq!(scalars, wanted);
}
