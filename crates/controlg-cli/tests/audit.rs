//! What `controlg audit` proves: a whole record, files that belong to it, numbers that training gives again, signatures.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

const DATA: &str = "synthetic:nodes=90,features=12,classes=3";
const SMALL: &str = "--set=encoder.width=8 --set=train.epochs=3 --set=train.batches_per_epoch=12 --set=train.warmup_rounds=1 \
                     --set=objective.p_par.parts=3 --set=objective.p_link.hidden=8 --threads=1 --quiet";

fn run(home: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command.args(line.split_whitespace()).current_dir(home).output().unwrap()
}

fn succeed(home: &Path, line: &str) -> String {
    let output = run(home, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Fails the check with one line, which is returned.
fn fail(home: &Path, line: &str) -> String {
    let output = run(home, line);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{line}: {words}");
    assert_eq!(words.lines().count(), 1, "{words}");
    words
}

/// A folder with a finished run.
fn trained() -> (TempDir, PathBuf) {
    let home = TempDir::new().unwrap();
    succeed(home.path(), &format!("pretrain {DATA} {SMALL} --out run"));
    let trace = home.path().join("run/trace.jsonl");
    (home, trace)
}

/// The lines with new seals, as a forger would write them.
fn resealed(lines: &[Value]) -> String {
    let (mut text, mut before) = (String::new(), String::new());
    for line in lines {
        let mut line = line.clone();
        line.as_object_mut().unwrap().remove("seal");
        let body = line.to_string();
        let hash = Sha256::digest(format!("{before}{body}"));
        before = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        text += &format!("{},\"seal\":\"{before}\"}}\n", body.strip_suffix('}').unwrap());
    }
    text
}

fn lines_of(trace: &Path) -> Vec<Value> {
    fs::read_to_string(trace).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn only_a_whole_record_passes_as_complete() {
    let (home, trace) = trained();
    let whole = succeed(home.path(), "audit run");
    assert!(
        whole.contains("every decision follows") && whole.contains("complete, 36 of 36 steps"),
        "{whole}"
    );
    assert!(whole.contains("files that belong to the record: config.toml, embeddings.npy"), "{whole}");
    let json: Value = serde_json::from_str(&succeed(home.path(), "audit run --json")).unwrap();
    assert_eq!(
        (&json["complete"], &json["steps"], &json["total_steps"]),
        (&true.into(), &36.into(), &36.into())
    );
    assert_eq!(json["notes"].as_array().unwrap().len(), 0);

    let text = fs::read_to_string(&trace).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for kept in [1, lines.len() / 2, lines.len() - 1] {
        fs::write(&trace, lines[..kept].concat()).unwrap();
        let words = fail(home.path(), "audit run");
        assert!(
            words.contains("of 36 steps (--partial accepts it), but one of all steps follows"),
            "{words}"
        );
        let partial = succeed(home.path(), "audit run --partial");
        assert!(partial.contains("so far") && partial.contains("unfinished"), "{partial}");
        let json: Value = serde_json::from_str(&succeed(home.path(), "audit run --partial --json")).unwrap();
        assert_eq!(json["complete"], false);
    }
    // Nothing follows the last line.
    fs::write(&trace, text.clone() + lines[lines.len() - 2]).unwrap();
    assert!(fail(home.path(), "audit run").contains("more lines"));
    // Resuming completes the record, with the same bytes.
    fs::write(&trace, lines[..lines.len() - 1].concat()).unwrap();
    succeed(home.path(), "pretrain --resume --out run --quiet");
    assert_eq!(fs::read_to_string(&trace).unwrap(), text);
    // A record without its run, and the run of an older version, say what they cannot prove.
    fs::write(home.path().join("alone.jsonl"), text).unwrap();
    assert!(succeed(home.path(), "audit alone.jsonl").contains("note: only the record was given"));
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../controlg/tests/fixtures/v0.1/run");
    let old = succeed(home.path(), &format!("audit {}", old.display()));
    assert!(old.contains("complete") && old.contains("note: version 0.1.0 recorded no digests"), "{old}");
}

#[test]
fn every_file_of_a_run_is_tied_to_its_record() {
    let (home, _) = trained();
    let run_folder = home.path().join("run");
    for name in ["embeddings.npy", "embeddings.parquet", "ids.txt", "model.safetensors"] {
        let path = run_folder.join(name);
        let before = fs::read(&path).unwrap();
        let mut bytes = before.clone();
        let last = bytes.len() - 2;
        bytes[last] ^= 1;
        fs::write(&path, bytes).unwrap();
        let output = run(home.path(), "audit run");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && words.contains(name), "{name}: {words}");
        fs::write(&path, before).unwrap();
    }
    let path = run_folder.join("config.toml");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(&path, before.replace("gamma = 1.0", "gamma = 0.5")).unwrap();
    let words = fail(home.path(), "audit run");
    assert!(words.contains("config.toml: plan.gamma: found 0.5, but 1.0"), "{words}");
    // Settings that are not the model's do not embed.
    let output = run(home.path(), &format!("embed run {DATA} --out again"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && words.contains("a model of other settings"), "{words}");
}

#[test]
fn unknown_fields_are_refused_even_with_right_seals() {
    let (home, trace) = trained();
    let mut lines = lines_of(&trace);
    fs::write(&trace, resealed(&lines)).unwrap();
    succeed(home.path(), "audit run");
    for (at, path) in [(0, "config.extra"), (1, "extra"), (3, "extra")] {
        let before = lines[at].clone();
        let target = if path.starts_with("config") { &mut lines[at]["config"] } else { &mut lines[at] };
        target["extra"] = 1.into();
        fs::write(&trace, resealed(&lines)).unwrap();
        let words = fail(home.path(), "audit run");
        assert!(words.contains(&format!(":{}: {path}: found an unknown field", at + 1)), "{words}");
        lines[at] = before;
    }
}

#[test]
fn a_replay_finds_measurements_that_no_record_can_prove() {
    let (home, trace) = trained();
    let words = succeed(home.path(), "audit run --replay");
    assert!(words.contains("trained again, 36 steps: the same numbers in 31 blocks"), "{words}");
    assert!(
        words.contains("the same embeddings.npy, embeddings.parquet, ids.txt, model.safetensors"),
        "{words}"
    );
    let json: Value =
        serde_json::from_str(&succeed(home.path(), "audit run --replay --blocks 2 --json")).unwrap();
    assert_eq!(json["replay"]["blocks"].as_array().unwrap().len(), 2);
    assert!(json["replay"]["steps"].as_u64().unwrap() <= 36);

    let mut lines = lines_of(&trace);
    let at = lines.iter().rposition(|line| line["kind"] == "block").unwrap();
    let loss = lines[at]["loss"].as_f64().unwrap();
    lines[at]["loss"] = (loss * (1.0 + 1e-6)).into();
    fs::write(&trace, resealed(&lines)).unwrap();
    succeed(home.path(), "audit run");
    let words = fail(home.path(), "audit run --replay");
    assert!(
        words.contains(&format!(":{}: loss: found", at + 1)) && words.contains("trained again"),
        "{words}"
    );
    succeed(home.path(), "audit run --replay --tolerance 1e-3");
    // Another graph is not that of the run.
    let words = fail(home.path(), "audit run --replay --data synthetic:nodes=90,features=12,classes=4");
    assert!(words.contains("data_hash"), "{words}");
}

#[test]
fn a_signature_tells_who_vouches_for_a_record() {
    let (home, trace) = trained();
    let openssl =
        |line: &str| Command::new("openssl").args(line.split_whitespace()).current_dir(home.path()).output();
    if !openssl("genpkey -algorithm ed25519 -out key.pem").is_ok_and(|output| output.status.success()) {
        common::skipped("no OpenSSL that makes Ed25519 keys");
        return;
    }
    openssl("pkey -in key.pem -pubout -out public.pem").unwrap();
    assert!(succeed(home.path(), "audit run --sign key.pem").contains("signed: run/trace.jsonl.sig"));
    assert!(
        succeed(home.path(), "audit run --verify public.pem").contains("the signature is that of public.pem")
    );
    // OpenSSL agrees.
    let line =
        "pkeyutl -verify -pubin -inkey public.pem -rawin -in run/trace.jsonl -sigfile run/trace.jsonl.sig";
    let output = openssl(line).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut lines = lines_of(&trace);
    lines[1]["ms"] = 0.0.into();
    fs::write(&trace, resealed(&lines)).unwrap();
    succeed(home.path(), "audit run");
    assert!(fail(home.path(), "audit run --verify public.pem").contains("trace.jsonl.sig"));
    // Only a complete record is signed.
    fs::write(&trace, resealed(&lines[..5])).unwrap();
    fail(home.path(), "audit run --sign key.pem");
}
