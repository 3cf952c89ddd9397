//! Hostile arguments, files and limits.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::bench::{DATA, check_end, command, stderr, train};

/// Runs the program on arguments of which `BAD` stands for a name that is not UTF-8.
fn with_bad_name(home: &Path, line: &str) -> Output {
    let bad = |word: &str| -> OsString {
        let parts: Vec<&[u8]> = word.split("BAD").map(str::as_bytes).collect();
        OsStr::from_bytes(&parts.join(&b"b\xffd"[..])).to_owned()
    };
    let mut command = command(home, &[]);
    command.args(line.split_whitespace().map(bad)).output().unwrap()
}

#[test]
fn names_that_are_not_utf_8_work_or_are_refused_in_one_line() {
    let home = TempDir::new().unwrap();
    train(home.path());
    let small = "--set=encoder.width=8 --set=train.epochs=2 --set=train.batches_per_epoch=12 \
                 --set=train.warmup_rounds=1 --set=objective.p_par.parts=3 --threads=1 --quiet";
    let works = [
        format!("pretrain {DATA} {small} --out BAD --json"),
        "audit BAD --json".to_owned(),
        "report BAD --json --quiet".to_owned(),
        "report trained --out BAD.html --figures BAD-figures --quiet".to_owned(),
        format!("embed BAD {DATA} --out BAD-again --json --quiet"),
        format!("data convert {DATA} BAD-graph --json --quiet"),
        format!("data convert {DATA} BAD-binary --to binary --json --quiet"),
        "generate man BAD-pages --json --quiet".to_owned(),
        "evaluate BAD --json --quiet".to_owned(),
    ];
    for line in &works {
        let output = with_bad_name(home.path(), line);
        assert!(output.status.success(), "{line}: {}", stderr(&output));
        if line.contains("--json") {
            let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(json.as_object().is_some_and(|json| !json.is_empty()), "{line}");
        }
    }
    let refused = [
        format!("compare --data {DATA} --methods random --seeds 1 --tasks nc {small} --out BAD-cells"),
        "pretrain synthetic --config BAD.toml --quiet".to_owned(),
        "evaluate BAD.npy --data synthetic --quiet".to_owned(),
        "audit BAD-none".to_owned(),
    ];
    for line in &refused {
        let output = with_bad_name(home.path(), line);
        check_end(&output, line);
        assert_eq!(output.status.code(), Some(2), "{line}: {}", stderr(&output));
    }
    println!("names that are not UTF-8: {} commands", works.len() + refused.len());
}

#[test]
fn messages_are_short_however_long_the_input_is() {
    let home = TempDir::new().unwrap();
    let graph = home.path().join("graph");
    fs::create_dir(&graph).unwrap();
    let long = "x".repeat(1_000_000);
    let write = |name: &str, text: String| fs::write(graph.join(name), text).unwrap();
    write("edges.csv", "src,dst\n0,1\n".to_owned());
    write("labels.csv", format!("id,{long}\n7,{long}\n"));
    let run = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        command(home.path(), &words).output().unwrap()
    };
    let less = &long[..100_000];
    for line in [
        "data info graph".to_owned(),
        format!("pretrain {less}"),
        format!("pretrain synthetic --set train.epochs={less}"),
        format!("pretrain synthetic --set {less}=1"),
    ] {
        let output = run(&line);
        check_end(&output, &line[..30.min(line.len())]);
        assert_eq!(output.status.code(), Some(2));
    }
    let usage = run(less);
    assert_eq!(usage.status.code(), Some(2));
    assert!(usage.stderr.len() < 8192, "{} bytes", usage.stderr.len());
}

#[test]
fn a_process_without_memory_says_so() {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        crate::common::skipped("the limit of the address space is tested on Linux only");
        return;
    }
    let home = TempDir::new().unwrap();
    let line = format!(
        "ulimit -v 500000; exec {} pretrain synthetic:nodes=100000,features=64 --method p_recon --quiet --threads 1 --set train.batch=full",
        env!("CARGO_BIN_EXE_controlg")
    );
    let output = Command::new("sh").args(["-c", &line]).current_dir(home.path()).output().unwrap();
    check_end(&output, "without memory");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("not enough memory"), "{}", stderr(&output));
}
