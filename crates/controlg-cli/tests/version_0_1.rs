//! What version 0.1 wrote is read, audited, resumed and continued; and the same settings give the same bytes.
//!
//! The fixtures were written by version 0.1 with `CONTROLG_SIMD=avx2`. Bytes are compared under the same setting, on
//! processors that have AVX2 and FMA.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../controlg/tests/fixtures/v0.1").join(name)
}

/// A copy of a fixture that a test may change.
fn copy(name: &str, to: &Path) -> PathBuf {
    fn copy_folder(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            let target = to.join(entry.file_name());
            if entry.path().is_dir() {
                copy_folder(&entry.path(), &target);
            } else {
                fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    let out = to.join(name);
    copy_folder(&fixture(name), &out);
    out
}

fn controlg(folder: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_controlg"))
        .args(arguments)
        .current_dir(folder)
        .env("CONTROLG_SIMD", "avx2")
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    if !has {
        common::skipped("the bytes of version 0.1 are those of processors with AVX2 and FMA");
    }
    has
}

fn sha256(path: &Path) -> String {
    Sha256::digest(fs::read(path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The record without timings and without what follows from them.
fn record(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("trace.jsonl")).unwrap();
    let without_time = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        for key in ["ms", "seal"] {
            line.as_object_mut().unwrap().remove(key);
        }
        line
    };
    text.lines().map(without_time).collect()
}

const DATA: &str = "synthetic:nodes=120,features=24,classes=3";
const SETTINGS: [&str; 6] = [
    "encoder.width=8",
    "train.batches_per_epoch=20",
    "train.epochs=3",
    "train.warmup_rounds=2",
    "objective.p_par.parts=4",
    "objective.p_link.hidden=8",
];

fn settings() -> Vec<String> {
    SETTINGS.iter().map(|setting| format!("--set={setting}")).collect()
}

#[test]
fn a_run_folder_is_audited_reported_embedded_and_evaluated() {
    let home = TempDir::new().unwrap();
    let run = copy("run", home.path());
    let before = fs::read(run.join("embeddings.npy")).unwrap();
    controlg(home.path(), &["audit", "run"]);
    controlg(home.path(), &["report", "run"]);
    assert!(fs::read_to_string(run.join("report.html")).unwrap().contains("p_recon"));
    controlg(home.path(), &["evaluate", "run"]);
    controlg(home.path(), &["embed", "run", DATA, "--out", "again"]);
    if has_avx2() {
        assert_eq!(fs::read(home.path().join("again/embeddings.npy")).unwrap(), before);
    }
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    let home = TempDir::new().unwrap();
    let run = copy("run", home.path());
    let (embeddings, expected) = (run.join("embeddings.npy"), record(&run));
    let before = fs::read(&embeddings).unwrap();
    for finished in ["embeddings.npy", "embeddings.parquet", "ids.txt", "model.safetensors", "metrics.json"] {
        fs::remove_file(run.join(finished)).unwrap();
    }
    // The settings as they were typed then, old names included.
    let old = ["train.batch=neighbours", "train.batch_nodes=64", "train.fanout=3", "normalise=rows"];
    let settings: Vec<String> =
        settings().into_iter().chain(old.iter().map(|old| format!("--set={old}"))).collect();
    let mut arguments =
        vec!["pretrain", DATA, "--objectives", "p_link,p_recon,p_par", "--out", "run", "--resume"];
    arguments.extend(settings.iter().map(String::as_str));
    let output = controlg(home.path(), &arguments);
    assert!(String::from_utf8_lossy(&output.stderr).contains("46"), "it starts at step 46");
    if has_avx2() {
        assert_eq!(fs::read(&embeddings).unwrap(), before);
        assert_eq!(record(&run), expected);
    }
    controlg(home.path(), &["audit", "run"]);
}

#[test]
fn a_comparison_is_continued_with_its_cells_and_old_flags() {
    let home = TempDir::new().unwrap();
    let out = copy("comparison", home.path());
    let before = fs::read_to_string(out.join("results.jsonl")).unwrap();
    let settings = settings();
    let compare = |seeds: &str, singles: &str, embedding: &str| {
        let mut arguments =
            vec!["compare", "--data", DATA, "--methods", "controlg,paretognn", "--seeds", seeds];
        arguments.extend(["--tasks", "nc,lp,cluster", "--out", "comparison", singles, embedding, "l2"]);
        arguments.extend(settings.iter().map(String::as_str));
        controlg(home.path(), &arguments);
        fs::read_to_string(out.join("results.jsonl")).unwrap()
    };
    // The preset of version 0.1 need not be named.
    let after = compare("1", "--skip-singles", "--embedding");
    let added: Vec<&str> = after.strip_prefix(&before).expect("old cells stay").lines().collect();
    // Floors that came after version 0.1 may be added; nothing of the old rows is run again.
    let old_rows = ["controlg", "paretognn", "raw", "untrained", "sgc"];
    for line in added {
        let cell: Value = serde_json::from_str(line).unwrap();
        assert!(!old_rows.contains(&cell["method"].as_str().unwrap()), "{line}");
    }
    let more = compare("2", "--no-singles", "--normalize");
    let added = more.strip_prefix(&after).expect("old cells stay").lines().count();
    assert!(added >= 3 * old_rows.len(), "{added} cells of the second seed");
    controlg(home.path(), &["report", "comparison"]);
}

#[test]
fn a_binary_folder_trains_to_the_same_bytes() {
    let home = TempDir::new().unwrap();
    copy("mapped", home.path());
    let info = controlg(home.path(), &["data", "info", "mapped", "--json"]);
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!((info["nodes"].as_u64(), info["edges"].as_u64()), (Some(60), Some(117)));
    let settings = settings();
    let mut arguments = vec!["pretrain", "mapped", "--out", "run", "--preset", "paper"];
    arguments.extend(["--objectives", "p_link,p_recon,p_par"]);
    arguments.extend(settings.iter().map(String::as_str));
    controlg(home.path(), &arguments);
    if has_avx2() {
        let expected = "b7012070b3685861bc0c695f167e1715dca2486a05bd6f2bc51b0fb10c4b110a";
        assert_eq!(sha256(&home.path().join("run/embeddings.npy")), expected);
    }
    // The old name of the format still converts.
    controlg(home.path(), &["data", "convert", "synthetic:nodes=60,features=10", "again", "--to", "mapped"]);
    for name in
        ["adjacency.columns.u32", "adjacency.offsets.u64", "features.columns.u32", "features.values.f32"]
    {
        assert_eq!(
            fs::read(home.path().join("again").join(name)).unwrap(),
            fs::read(fixture("mapped").join(name)).unwrap(),
            "{name}"
        );
    }
}

/// Embeddings of version 0.1, by data set and arguments. The `gemm` crate chooses its block sizes, and with them the
/// order of sums, by the L1 cache: the first hash is for 32 KB, the second, if it differs, for 48 KB.
const PINNED: &[(&str, &[&str], &[&str])] = &[
    (
        "cora",
        &[],
        &[
            "44e46598b20dd8deb348dc591d36686196c52defab00fe373787eb4e66cc219c",
            "fbe10358531177b6501509b36d185c40e6b92d8ce3144cd1d94770d9b0e3e2da",
        ],
    ),
    (
        "synthetic",
        &[],
        &[
            "8406de4ff8d717f28cae97090574e8114247633063ee91ecfd6f1a556b1e56d4",
            "b6127d22d657583620520c3c483b1197d45f1398034217ebf7b21a4dab471ef6",
        ],
    ),
    (
        "synthetic",
        &["--set=encoder.kind=gat"],
        &[
            "b4de4072d57faa3e80a60ab1470a8037b25a0b41f2c3deacd77de41872efd78e",
            "cd281a32b169d1b09177aa7b33c173874248df9e5615e26a804195384c19b989",
        ],
    ),
    (
        "synthetic",
        &["--method=mgda", "--set=train.batch=parts", "--set=train.batch_nodes=256"],
        &["b3e0909655dccdb3df26ee28ccffc519da8da9f93c03cd8a4935568d2667e7a2"],
    ),
    (
        "synthetic",
        &["--method=cca-ssg", "--set=train.epochs=1"],
        &["32f6920e9e35ee46b7586da01019e7fe4a5fe95160bcd0c7808754e24652b8d6"],
    ),
];

#[test]
fn the_same_settings_give_the_bytes_of_version_0_1() {
    if !has_avx2() {
        return;
    }
    for (at, (data, arguments, expected)) in PINNED.iter().enumerate() {
        let known =
            std::env::var_os("CONTROLG_DATA").is_some_and(|folder| Path::new(&folder).join(data).exists());
        if *data != "synthetic" && !known {
            common::skipped(format_args!("no files of {data} (set CONTROLG_DATA)"));
            continue;
        }
        let home = TempDir::new().unwrap();
        let small = ["--set=encoder.width=32", "--set=train.epochs=2", "--set=train.batches_per_epoch=20"];
        // Version 0.1 had no other integral.
        let same = ["--preset=paper", "--set=control.integral=centered"];
        let all = [&["pretrain", data, "--out", "run"][..], &same, &small, arguments].concat();
        controlg(home.path(), &all);
        let found = sha256(&home.path().join("run/embeddings.npy"));
        assert!(expected.contains(&found.as_str()), "row {at}: {data} {arguments:?}: {found}");
    }
}
