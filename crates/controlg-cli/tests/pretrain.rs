//! `controlg pretrain` and `controlg audit` end to end: files, resuming, audits, invalid settings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// A small graph and a small network; a run takes about a second.
const SMALL: &[&str] = &[
    "synthetic:nodes=240",
    "--set",
    "encoder.width=16",
    "--set",
    "train.epochs=12",
    "--set",
    "train.batches_per_epoch=20",
    "--set",
    "objective.p_par.parts=5",
    "--set",
    "sense.period=5",
];

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command.args(arguments).env("CONTROLG_DATA", "no such folder");
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program starts")
}

fn pretrain(out: &Path, more: &[&str]) -> Output {
    let out = out.to_str().expect("a plain path");
    run(&[&["pretrain"], SMALL, &["--out", out], more].concat())
}

/// Runs to completion and returns the bytes of the embeddings.
fn embeddings(out: &Path, more: &[&str]) -> Vec<u8> {
    let output = pretrain(out, more);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read(out.join("embeddings.npy")).expect("embeddings")
}

/// The record without timings.
fn schedule(out: &Path) -> Vec<Value> {
    let text = fs::read_to_string(out.join("trace.jsonl")).expect("a record");
    text.lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            let fields = line.as_object_mut().expect("an object");
            fields.remove("ms");
            fields.remove("seal");
            line
        })
        .collect()
}

fn audit(out: &Path) -> (Option<i32>, String) {
    let output = run(&["audit", out.to_str().expect("a plain path")]);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn checkpoints(out: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(out.join("checkpoint"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

#[test]
fn a_run_writes_all_files_and_passes_the_audit() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let output = pretrain(&out, &["--json"]);
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(outcome["steps"], 240);
    for file in
        ["config.toml", "trace.jsonl", "embeddings.npy", "embeddings.parquet", "ids.txt", "model.safetensors"]
    {
        assert!(out.join(file).is_file(), "{file}");
    }
    assert_eq!(fs::read_to_string(out.join("ids.txt")).unwrap().lines().count(), 240);
    assert_eq!(checkpoints(&out).len(), 2);

    let lines = schedule(&out);
    let kinds = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!((kinds("run"), kinds("warmup")), (1, 6));
    // 240 steps minus 25 of the warm-up; a sensing every five blocks.
    assert_eq!((kinds("block"), kinds("sense")), (215, 43));
    let json = run(&["audit", out.to_str().unwrap(), "--json"]);
    let verdict: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&verdict["follows"], &verdict["blocks"]), (&Value::Bool(true), &Value::from(215)));

    // The run can be repeated from its config.toml.
    let again = folder.path().join("again");
    let config = out.join("config.toml");
    let output =
        run(&["pretrain", "--config", config.to_str().unwrap(), "--out", again.to_str().unwrap(), "--quiet"]);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for file in ["embeddings.npy", "embeddings.parquet", "model.safetensors", "config.toml"] {
        assert_eq!(fs::read(out.join(file)).unwrap(), fs::read(again.join(file)).unwrap(), "{file}");
    }
    // `embed` on the training graph gives the same embeddings.
    let output = run(&["embed", out.to_str().unwrap(), SMALL[0]]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        fs::read(out.join("embed/embeddings.npy")).unwrap(),
        fs::read(out.join("embeddings.npy")).unwrap()
    );
    let output = run(&["embed", out.to_str().unwrap(), "synthetic:nodes=200,features=40"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_run_on_training_edges_embeds_its_graph_without_held_out_edges() {
    let folder = TempDir::new().unwrap();
    for features in ["given", "structural"] {
        let out = folder.path().join(features);
        let trained = embeddings(&out, &["--task", "lp", "--features", features]);
        let output = run(&["embed", out.to_str().unwrap(), SMALL[0]]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read(out.join("embed/embeddings.npy")).unwrap(), trained, "{features}");
    }
}

#[test]
fn flags_override_errors_of_the_run_file() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("own.toml");
    fs::write(&file, "[train]\nepochs = 1\nbatches_per_epoch = 20\n").unwrap();
    let args = ["pretrain", SMALL[0], "--dry-run", "--config", file.to_str().unwrap()];
    // The warm-up of controlg does not fit into one epoch; random has none.
    let output = run(&args);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("own.toml"), "the error names the file");
    let output = run(&[&args[..], &["--method", "random"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_rejected_run_creates_no_folder() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let rejected = pretrain(&out, &["--tensorboard", "--set", "objective.p_recon.mask=0.001"]);
    assert_eq!(rejected.status.code(), Some(2), "{}", String::from_utf8_lossy(&rejected.stderr));
    assert!(!out.exists());
    let output = pretrain(&out, &["--tensorboard"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read_dir(out.join("tensorboard")).unwrap().count() == 1);
}

#[test]
fn killed_and_resumed_runs_give_the_same_bytes_for_any_number_of_threads() {
    let folder = TempDir::new().unwrap();
    let (complete, killed) = (folder.path().join("complete"), folder.path().join("killed"));
    let expected = embeddings(&complete, &["--threads", "1"]);
    for kill in 0..10u64 {
        let out = killed.to_str().unwrap();
        let arguments = [&["pretrain"], SMALL, &["--out", out, "--resume", "--threads", "2"]].concat();
        let mut child = command(&arguments).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(30 + kill * 97 % 250));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(embeddings(&killed, &["--resume", "--threads", "2"]), expected);
    assert_eq!(schedule(&killed), schedule(&complete));
    assert_eq!(audit(&killed).0, Some(0));
    // Resuming a finished run changes nothing.
    assert_eq!(embeddings(&killed, &["--resume"]), expected);
}

#[test]
fn falls_back_to_the_previous_checkpoint_if_the_last_is_damaged() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let expected = embeddings(&out, &[]);
    let newest = checkpoints(&out).pop().unwrap();
    let mut bytes = fs::read(&newest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&newest, bytes).unwrap();
    fs::remove_file(out.join("embeddings.npy")).unwrap();
    let output = pretrain(&out, &["--resume"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        words.contains(newest.file_name().unwrap().to_str().unwrap()) && words.contains("damaged"),
        "{words}"
    );
    assert_eq!(fs::read(out.join("embeddings.npy")).unwrap(), expected);
    assert_eq!(audit(&out).0, Some(0));
}

#[test]
fn the_audit_detects_any_changed_number() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    embeddings(&out, &["--set", "train.epochs=3"]);
    let trace = out.join("trace.jsonl");
    let text = fs::read_to_string(&trace).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (kind, field) in [
        ("warmup", "loss"),
        ("sense", "loss"),
        ("sense", "grad_norm"),
        ("sense", "rq"),
        ("sense", "gram"),
        ("sense", "lambda"),
        ("sense", "difficulty"),
        ("sense", "reference"),
        ("sense", "plan"),
        ("sense", "ms"),
        ("block", "count"),
        ("block", "deficit"),
        ("block", "integral"),
        ("block", "logit"),
        ("block", "prob"),
        ("block", "draw"),
        ("block", "loss"),
        ("block", "steps"),
    ] {
        let at = lines.iter().rposition(|line| line.contains(&format!("\"kind\":\"{kind}\""))).unwrap();
        // Change one digit of the field's first number.
        let start = lines[at].find(&format!("\"{field}\":")).unwrap() + field.len() + 3;
        let digit = start + lines[at][start..].find(|c: char| c.is_ascii_digit()).unwrap();
        let other = if &lines[at][digit..=digit] == "7" { "6" } else { "7" };
        let changed = format!("{}{other}{}", &lines[at][..digit], &lines[at][digit + 1..]);
        let mut all = lines.clone();
        all[at] = &changed;
        fs::write(&trace, all.join("\n") + "\n").unwrap();
        let (code, words) = audit(&out);
        assert_eq!(code, Some(1), "{kind}.{field}: {words}");
        assert!(words.contains(&format!(":{}: ", at + 1)), "{kind}.{field}: {words}");
    }
    // A missing line, and a file that is not a record.
    fs::write(&trace, [&lines[..20], &lines[21..]].concat().join("\n") + "\n").unwrap();
    assert_eq!(audit(&out).0, Some(1));
    fs::write(&trace, "{}\n").unwrap();
    assert_eq!(audit(&out).0, Some(2));
}

#[test]
fn every_method_passes_its_audit() {
    let listed = run(&["list", "methods", "--json"]);
    let methods: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap();
    let floors = controlg::eval::floors::COMPUTED;
    let known = controlg::coordinator::METHODS.len() + controlg::objective::all().count() + floors.len();
    assert_eq!(methods.len(), known);
    let folder = TempDir::new().unwrap();
    for method in methods {
        let name = method["name"].as_str().unwrap();
        if floors.contains(&name) {
            continue; // nothing is trained
        }
        let out = folder.path().join(name);
        embeddings(&out, &["--method", name, "--set", "train.epochs=3", "--quiet"]);
        let (code, words) = audit(&out);
        assert_eq!(code, Some(0), "{name}: {words}");
    }
}

/// EMA networks, additional encoders and dropout draws are restored on resume.
#[test]
fn methods_with_auxiliary_networks_can_be_resumed() {
    let folder = TempDir::new().unwrap();
    let pool = "p_link,cca-ssg,graphmae,bgrl,dgi,grace,mvgrl";
    for (method, objectives) in
        [("bgrl", "bgrl"), ("mvgrl", "mvgrl"), ("graphmae", "graphmae"), ("controlg", pool), ("pcgrad", pool)]
    {
        let (complete, killed) = (folder.path().join(method), folder.path().join(format!("{method}-killed")));
        let settings = ["--method", method, "--objectives", objectives, "--set", "train.epochs=4"];
        let more = [&settings[..], &["--threads", "1"]].concat();
        let expected = embeddings(&complete, &more);
        for kill in 0..3u64 {
            let out = killed.to_str().unwrap();
            let arguments = [&["pretrain"], SMALL, &["--out", out, "--resume"], &more].concat();
            let mut child = command(&arguments).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(60 + 80 * kill));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let more = [&settings[..], &["--threads", "2", "--resume"]].concat();
        assert_eq!(embeddings(&killed, &more), expected, "{method}");
        let header = fs::read_to_string(killed.join("trace.jsonl")).unwrap();
        let note = "the embeddings are those of the shared encoder, without the second network of mvgrl";
        assert_eq!(header.contains(note), objectives == pool, "{method}");
        assert_eq!(audit(&killed).0, Some(0));
        let output = run(&["embed", killed.to_str().unwrap(), SMALL[0]]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read(killed.join("embed/embeddings.npy")).unwrap(), expected, "{method}");
    }
}

#[test]
fn invalid_settings_are_reported_before_any_work() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    for (arguments, words) in [
        (&["--set", "plan.floor=0.2"][..], "plan.floor: found 0.2, expected less than 1/5"),
        (&["--set", "train.epcohs=3"], "unknown setting 'train.epcohs', did you mean 'train.epochs'?"),
        (&["--set", "train.block=21"], "train.block: found 21, expected at most train.batches_per_epoch, 20"),
        (&["--set", "encoder.width=0"], "encoder.width: found 0, expected 1 to 65536"),
        (&["--set", "objective.p_par.parts=1"], "objective.p_par.parts: found 1, expected 2 to 1048576"),
        (
            &["--method", "p_recon", "--objectives", "p_link,p_par"],
            "--objectives: found p_link,p_par with method p_recon, which does not train them",
        ),
        (&["--objectives", "p_link,p_rceon"], "unknown objective 'p_rceon', did you mean 'p_recon'?"),
        (&["--method", "contrlg"], "unknown method 'contrlg', did you mean 'controlg'?"),
        (&["--config", "no such file"], "no such file"),
    ] {
        let output = pretrain(&out, arguments);
        let found = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {found}");
        assert!(found.contains(words), "{arguments:?}: {found}");
        assert!(!out.exists(), "{arguments:?} left something behind");
    }
    let own = folder.path().join("graph");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("edges.csv"), "src,dst\n").unwrap();
    fs::write(own.join("features.csv"), "id,a,b\nx,1,2\ny,0,1\nz,3,1\n").unwrap();
    let output =
        run(&["pretrain", own.to_str().unwrap(), "--objectives", "p_link", "--out", out.to_str().unwrap()]);
    let found = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(found.contains("objective p_link: found a graph without edges"), "{found}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_run_is_not_overwritten_or_resumed_with_other_settings() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    embeddings(&out, &["--set", "train.epochs=2"]);
    let output = pretrain(&out, &["--set", "train.epochs=2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--resume"));
    let output = pretrain(&out, &["--set", "train.epochs=2", "--set", "plan.delta=0.3", "--resume"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("plan.delta: found 0.1, but now 0.3, expected the same settings"), "{words}");
}

#[test]
fn a_non_finite_loss_stops_the_run_and_keeps_the_checkpoint() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    // Sixteen layers without normalization and a huge learning rate: the second step overflows.
    let wild = [
        "--method=p_link",
        "--set=objective.p_link.decoder=dot",
        "--set=encoder.layers=16",
        "--set=encoder.jump=last",
        "--set=encoder.norm=none",
        "--set=train.lr=10",
        "--set=train.batches_per_epoch=1",
    ];
    for more in [&[][..], &["--resume"]] {
        let output = pretrain(&out, &[&wild, more].concat());
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{words}");
        assert!(words.contains("the loss of p_link became ") && words.contains(" at step "), "{words}");
        assert_eq!(words.contains("resumed after step"), !more.is_empty(), "{words}");
        assert!(!out.join("embeddings.npy").exists() && !checkpoints(&out).is_empty());
    }
}

#[test]
fn an_epoch_of_one_block_is_noted() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let short =
        ["--set", "train.batches_per_epoch=1", "--set", "train.epochs=30", "--set", "train.warmup_rounds=1"];
    let output = pretrain(&out, &short);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("note: every epoch has one block"), "{stderr}");
    let header = &schedule(&out)[0];
    let notes = header["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().contains("cannot track the plan")), "{notes:?}");
    assert_eq!(header["integral_rule"], "paper");
    let sensing = schedule(&out).into_iter().find(|line| line["kind"] == "sense").unwrap();
    let slack =
        |k: usize| sensing["reference"][k].as_f64().unwrap() - sensing["loss_norm"][k].as_f64().unwrap();
    let expected: f64 = (0..5).map(|k| slack(k).ln()).sum();
    assert!((sensing["log_hv"].as_f64().unwrap() - expected).abs() < 1e-9);
    // A method without a controller has nothing to track.
    let other = folder.path().join("random");
    let output = pretrain(&other, &[&short[..], &["--method", "random"]].concat());
    assert!(!String::from_utf8_lossy(&output.stderr).contains("one block"));
    assert!(schedule(&other)[0].get("integral_rule").is_none());
}

#[test]
fn both_forms_of_the_integral_pass_the_audit() {
    let folder = TempDir::new().unwrap();
    let prob = |rule: &str| {
        let out = folder.path().join(rule);
        let rule = format!("control.integral={rule}");
        // A low bound is reached within an epoch.
        embeddings(&out, &["--set", &rule, "--set", "control.integral_limit=1", "--set", "control.ki=0.5"]);
        let audit = run(&["audit", out.to_str().unwrap()]);
        assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stderr));
        schedule(&out)
            .into_iter()
            .filter(|line| line["kind"] == "block")
            .map(|line| line["prob"].clone())
            .collect()
    };
    let (paper, centered): (Vec<Value>, Vec<Value>) = (prob("paper"), prob("centered"));
    assert_ne!(paper, centered);
}
