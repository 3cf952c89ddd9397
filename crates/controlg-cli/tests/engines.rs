//! `controlg compare --engine`: the scripts for Slurm, wrong use. A fake `sbatch` runs the scripts here; `.ci/slurm` tests them with
//! a real Slurm, and the Python package tests Ray.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn command(out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command.args([
        "compare",
        "--data",
        "synthetic:nodes=150",
        "--methods",
        "random,round-robin",
        "--seeds",
        "2",
    ]);
    command.args(["--tasks", "nc", "--no-singles", "--set=encoder.width=8", "--set=train.epochs=1"]);
    command.args(["--set=train.batches_per_epoch=12", "--quiet", "--out"]).arg(out).args(more);
    command
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

/// The one line on stderr of wrong use.
fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The sorted result lines without times and memory.
fn cells(out: &Path) -> Vec<String> {
    let text = fs::read_to_string(out.join("results.jsonl")).unwrap();
    let cell = |line: &str| {
        let mut cell: Value = serde_json::from_str(line).unwrap();
        for unsteady in ["seconds", "peak_mb", "threads", "seal"] {
            assert!(cell.as_object_mut().unwrap().remove(unsteady).is_some(), "{unsteady} in {line}");
        }
        cell.to_string()
    };
    let mut cells: Vec<String> = text.lines().map(cell).collect();
    cells.sort();
    cells
}

#[test]
fn engines_that_are_not_there_say_what_is_missing() {
    let home = TempDir::new().unwrap();
    let out = home.path().join("out");
    let refused = |more: &[&str]| refusal(&run(command(&out, more).env("PATH", "")));
    assert_eq!(
        refused(&["--engine", "slurm"]),
        "controlg: --engine slurm: found no sbatch on PATH, expected Slurm's commands; --dry-run prints the scripts\n"
    );
    assert!(refused(&["--engine", "ray=head:6379"]).contains("pip install controlg[ray]"));
    assert!(refused(&["--engine", "ray="]).contains("expected slurm, ray or ray=ADDRESS"));
    assert!(
        refused(&["--engine", "ray", "--dry-run"]).contains("--dry-run: found another engine than slurm")
    );
    assert!(refused(&["--dry-run"]).contains("--engine"));
    assert!(refused(&["--engine", "slurm", "--shard", "1/2"]).contains("--shard"));
    assert!(!out.join("results.jsonl").exists());
}

#[test]
fn a_dry_run_prints_the_scripts_and_writes_nothing() {
    let home = TempDir::new().unwrap();
    let out = home.path().join("out");
    let more = ["--engine=slurm", "--dry-run", "--array", "3", "--sbatch=--partition=long", "--threads=2"];
    let output = run(&mut command(&out, &more));
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for line in ["#SBATCH --array=1-3", "#SBATCH --partition=long", "#SBATCH --cpus-per-task=2"] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    assert!(text.contains("--shard \"$SLURM_ARRAY_TASK_ID/3\"") && text.contains("--dependency=\"afterany:"));
    assert!(!text.contains("--engine") && !out.exists());
}

/// Runs a script as often as its array has tasks, one after the other.
#[cfg(unix)]
const SBATCH: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then exit 0; fi
for script; do :; done
tasks=$(sed -n 's/^#SBATCH --array=1-//p' "$script")
task=1
while [ "$task" -le "${tasks:-1}" ]; do
  SLURM_ARRAY_TASK_ID=$task sh "$script" >>"$LOG" 2>&1
  task=$((task + 1))
done
echo "$(wc -l <"$LOG");cluster"
"#;

#[test]
#[cfg(unix)]
fn the_scripts_make_the_tables_of_a_comparison_without_an_engine() {
    use std::os::unix::fs::PermissionsExt;
    let home = TempDir::new().unwrap();
    let (plain, out) = (home.path().join("plain"), home.path().join("with spaces"));
    assert!(run(&mut command(&plain, &[])).status.success());
    let sbatch = home.path().join("sbatch");
    fs::write(&sbatch, SBATCH).unwrap();
    fs::set_permissions(&sbatch, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", home.path().display(), std::env::var("PATH").unwrap());
    let mut submit = command(&out, &["--engine", "slurm", "--array", "2", "--json"]);
    let output = run(submit.env("PATH", path).env("LOG", home.path().join("log")));
    assert!(output.status.success(), "{output:?}");
    let submitted: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Two methods and five floors, two seeds.
    assert_eq!((&submitted["runs"], &submitted["tasks"]), (&14.into(), &2.into()), "{submitted}");
    // A job's number may come with the name of its cluster.
    assert!(submitted["merge"].as_str().unwrap().parse::<u32>().is_ok(), "{submitted}");
    assert!(out.join("results-2-of-2.jsonl").exists() && out.join("tables.md").exists());
    assert_eq!(cells(&out), cells(&plain));
}

#[test]
fn a_job_without_a_description_is_refused() {
    let output =
        run(Command::new(env!("CARGO_BIN_EXE_controlg")).arg("run-job").stdin(std::process::Stdio::null()));
    let text = refusal(&output);
    assert!(text.starts_with("controlg: stdin: found ") && text.lines().count() == 1, "{text}");
}
