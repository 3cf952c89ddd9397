//! `pretrain --auto`: the plan, the search, its audit, resuming and errors.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const SMALL: &[&str] = &[
    "synthetic:nodes=200",
    "--method=random",
    "--set=encoder.width=12",
    "--set=embed.features=8",
    "--set=train.epochs=1",
    "--set=train.batches_per_epoch=16",
];

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command.args(arguments).current_dir(folder).env("CONTROLG_DATA", "no such folder");
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the program starts")
}

fn succeed(folder: &Path, arguments: &[&str]) -> (String, String) {
    let output = run(folder, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

fn search(run: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(run.join("auto.json")).unwrap()).unwrap()
}

#[test]
fn a_search_is_announced_recorded_audited_and_the_same_at_any_number_of_threads() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let plan = "8 candidates: 8 runs of 4 steps, then 4 runs of 8 steps; 64 steps before the full run";
    let (estimate, _) = succeed(home, &[&["pretrain", "--auto", "--dry-run", "--out=run"], SMALL].concat());
    assert!(estimate.contains(plan) && !home.join("run").exists(), "{estimate}");
    let (_, log) = succeed(home, &[&["pretrain", "--auto", "--out=run", "--threads=1"], SMALL].concat());
    assert!(log.contains(plan) && log.contains("auto: round 2, run 4/4: candidate "), "{log}");
    succeed(home, &[&["pretrain", "--auto", "--out=threads", "--threads=2"], SMALL].concat());
    let (found, threads) = (search(&home.join("run")), search(&home.join("threads")));
    assert_eq!(found, threads);
    let embeddings = |run: &str| fs::read(home.join(run).join("embeddings.npy")).unwrap();
    assert_eq!(embeddings("run"), embeddings("threads"));
    assert!(found["winner"].is_u64());

    // The full run is an ordinary one, and the short ones keep settings and record.
    let again = ["pretrain", "--config=run/config.toml", "--out=again"];
    succeed(home, &again);
    assert_eq!(embeddings("again"), embeddings("run"));
    let short = home.join("run/auto/round-2");
    assert_eq!(fs::read_dir(&short).unwrap().count(), 4);
    let first = fs::read_dir(&short).unwrap().next().unwrap().unwrap().path();
    assert!(first.join("trace.jsonl").exists() && !first.join("embeddings.npy").exists());

    let (text, _) = succeed(home, &["audit", "run"]);
    assert!(text.contains("among 8 follows from 12 short runs"), "{text}");
    let path = home.join("run/auto.json");
    let sealed = fs::read_to_string(&path).unwrap();
    fs::write(&path, sealed.replacen("\"score\": ", "\"score\": 1", 1)).unwrap();
    let output = run(home, &["audit", "run"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && message.contains("a file that was changed"), "{message}");
    // Another winner or another score do not follow, whoever sealed them.
    let mut content: Value = serde_json::from_str(&sealed).unwrap();
    content.as_object_mut().unwrap().remove("seal");
    let written = serde_json::to_string_pretty(&content).unwrap();
    let winner = found["winner"].as_u64().unwrap();
    let other =
        written.replace(&format!("\"winner\": {winner}"), &format!("\"winner\": {}", (winner + 1) % 8));
    for (changed, place) in
        [(other, "winner"), (written.replacen("\"score\": ", "\"score\": 1", 1), "round 1, score")]
    {
        fs::write(&path, changed).unwrap();
        let output = run(home, &["audit", "run"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && message.contains(place), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn a_killed_search_resumes_to_the_same_bytes() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let home = TempDir::new().unwrap();
    let home = home.path();
    succeed(home, &[&["pretrain", "--auto", "--out=whole"], SMALL].concat());
    let killed_after = |marker: &str, resume: bool| {
        let arguments: Vec<&str> = match resume {
            true => vec!["pretrain", "--out=stopped", "--resume"],
            false => [&["pretrain", "--auto", "--out=stopped"], SMALL].concat(),
        };
        let mut child = command(home, &arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        while !text.contains(marker) {
            assert!(lines.read_line(&mut text).unwrap() > 0, "{text}");
        }
        let kill = Command::new("kill").args(["-KILL", &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        lines.read_to_string(&mut text).unwrap();
        child.wait().unwrap();
    };
    killed_after("round 1, run 3/8", false);
    assert!(!home.join("stopped/config.toml").exists());
    // It needs --resume, and not --auto.
    let again = run(home, &[&["pretrain", "--auto", "--out=stopped"], SMALL].concat());
    let message = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(
        again.status.code() == Some(2) && message.contains("--resume to continue the search"),
        "{message}"
    );
    killed_after("round 2, run 2/4", true);
    succeed(home, &["pretrain", "--out=stopped", "--resume"]);
    assert_eq!(search(&home.join("stopped")), search(&home.join("whole")));
    let embeddings = |run: &str| fs::read(home.join(run).join("embeddings.npy")).unwrap();
    assert_eq!(embeddings("stopped"), embeddings("whole"));
    succeed(home, &["audit", "stopped"]);
    // A finished run is complete, with --auto or without.
    succeed(home, &[&["pretrain", "--auto", "--out=stopped", "--resume"], SMALL].concat());
    succeed(home, &[&["pretrain", "--auto", "--out=stopped", "--force"], SMALL].concat());
    assert_eq!(search(&home.join("stopped")), search(&home.join("whole")));
}

#[test]
fn candidates_that_fail_are_recorded_and_others_go_on() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    // p_link, which most candidates train, cannot be trained on a graph without edges.
    fs::create_dir(home.join("points")).unwrap();
    fs::write(home.join("points/edges.csv"), "src,dst\na,a\n").unwrap();
    let rows: String = (0..40).map(|at| format!("n{at},{},{}\n", at % 5, (at * at) % 7)).collect();
    fs::write(home.join("points/features.csv"), format!("id,x,y\na,1,2\nb,2,1\n{rows}")).unwrap();
    let arguments = [
        "pretrain",
        "points",
        "--auto",
        "--out=run",
        "--method=random",
        "--set=train.epochs=1",
        "--set=train.batches_per_epoch=8",
        "--set=encoder.width=8",
    ];
    let (_, log) = succeed(home, &arguments);
    assert!(log.contains("failed: "), "{log}");
    let (text, _) = succeed(home, &["audit", "run"]);
    assert!(text.contains("of which failed"), "{text}");
}
