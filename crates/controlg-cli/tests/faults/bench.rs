//! Commands under attack, what they must give, and whether their end is acceptable.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

pub(crate) const DATA: &str = "synthetic:nodes=90,features=12,classes=3";

/// A command, repeated with the same arguments after each attack.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    pub(crate) arguments: Vec<String>,
    /// What it writes; files are compared by their content.
    pub(crate) products: Vec<&'static str>,
}

/// A job in a folder of its own, with its inputs and the right content of its products.
pub(crate) struct Bench {
    pub(crate) job: Job,
    inputs: TempDir,
    expected: BTreeMap<&'static str, String>,
}

/// Cases of a test in the short form, times 20 in the long form.
pub(crate) fn cases(short: usize) -> usize {
    if is_long() { short * 20 } else { short }
}

pub(crate) fn is_long() -> bool {
    std::env::var("CONTROLG_FAULTS").is_ok_and(|form| form == "long")
}

/// Numbers for choosing moments and places, the same in every run of the tests.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

const SMALL: &str = "--set=encoder.width=8 --set=train.epochs=3 --set=train.batches_per_epoch=12 --set=train.warmup_rounds=1 \
                     --set=objective.p_par.parts=3 --set=objective.p_link.hidden=8 --threads=1 --quiet";

/// The commands that write files.
pub(crate) fn jobs() -> Vec<Job> {
    let results =
        vec!["run/embeddings.npy", "run/embeddings.parquet", "run/ids.txt", "run/model.safetensors"];
    vec![
        Job {
            name: "pretrain",
            arguments: words(&format!("pretrain {DATA} {SMALL} --out run --resume")),
            products: results,
        },
        Job {
            name: "compare",
            arguments: words(&format!(
                "compare --data {DATA} --methods random --seeds 1 --tasks nc,cluster --no-singles {SMALL} --jobs 1 --out cells"
            )),
            products: vec!["cells/results.jsonl"],
        },
        Job {
            name: "embed",
            arguments: words(&format!("embed trained {DATA} --out again --threads 1 --quiet")),
            products: vec!["again/embeddings.npy", "again/embeddings.parquet", "again/ids.txt"],
        },
        Job {
            name: "report",
            arguments: words("report trained --out page.html --threads 1 --quiet"),
            products: vec!["page.html"],
        },
        Job {
            name: "convert",
            arguments: words(&format!("data convert {DATA} binary --to binary --threads 1 --quiet")),
            products: vec![
                "binary/graph.json",
                "binary/adjacency.offsets.u64",
                "binary/adjacency.columns.u32",
                "binary/features.columns.u32",
                "binary/features.values.f32",
            ],
        },
    ]
}

/// A trained run that `embed`, `report` and `audit` read.
pub(crate) fn train(home: &Path) {
    let arguments = words(&format!("pretrain {DATA} {SMALL} --out trained"));
    let output = command(home, &arguments).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

pub(crate) fn command(home: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_controlg"));
    command
        .args(arguments)
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

impl Bench {
    pub(crate) fn new(job: Job) -> Bench {
        let inputs = TempDir::new().unwrap();
        if matches!(job.name, "embed" | "report") {
            train(inputs.path());
        }
        let mut bench = Bench { job, inputs, expected: BTreeMap::new() };
        let home = bench.home();
        bench.finish(home.path(), "undisturbed");
        bench.expected =
            bench.job.products.iter().map(|name| (*name, content(&home.path().join(name)))).collect();
        bench
    }

    /// A new folder with the inputs.
    pub(crate) fn home(&self) -> TempDir {
        let home = TempDir::new().unwrap();
        copy(self.inputs.path(), home.path());
        home
    }

    pub(crate) fn command(&self, home: &Path) -> Command {
        command(home, &self.job.arguments)
    }

    /// Runs the job in peace: it succeeds, with the right products.
    pub(crate) fn finish(&self, home: &Path, what: &str) {
        if self.job.name == "convert" && home.join("binary").exists() {
            // It appears whole, and is not replaced.
            return self.check_products(home, what, true);
        }
        let output = self.command(home).output().unwrap();
        assert!(output.status.success(), "{} after {what}: {}", self.job.name, stderr(&output));
        self.check_products(home, what, true);
    }

    /// After an attack: success with the right products, or an error in one line.
    pub(crate) fn check(&self, home: &Path, output: &Output, what: &str) {
        check_end(output, &format!("{}, {what}", self.job.name));
        self.check_products(home, what, output.status.success());
    }

    /// Products are right, or absent if the job has not ended well.
    pub(crate) fn check_products(&self, home: &Path, what: &str, all: bool) {
        for (name, expected) in &self.expected {
            let path = home.join(name);
            // A comparison adds its cells one by one.
            let is_whole = all || *name != "cells/results.jsonl";
            assert!(path.exists() || !all, "{} after {what}: no {name}", self.job.name);
            if path.exists() && is_whole {
                assert!(content(&path) == *expected, "{} after {what}: another {name}", self.job.name);
            }
        }
    }
}

/// The end of a command is a success, or an error in one line that is no bug of the program.
pub(crate) fn check_end(output: &Output, what: &str) {
    let words = stderr(output);
    assert!(!words.contains("internal error") && !words.contains("panicked"), "{what}: {words}");
    match output.status.code() {
        Some(0) => {}
        Some(1..=3) => {
            assert!(
                words.starts_with("controlg: ") && words.trim_end().lines().count() == 1,
                "{what}: {words:?}"
            );
            assert!(words.len() < 4096, "{what}: {} bytes of message", words.len());
        }
        code => panic!("{what}: exit code {code:?}: {words}"),
    }
}

/// SHA-256 of a file; of a comparison's cells without what differs from run to run, in any order.
pub(crate) fn content(path: &Path) -> String {
    let mut bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.ends_with("results.jsonl") {
        let cell = |line: &str| {
            let mut cell: Value = serde_json::from_str(line).unwrap();
            for key in ["seconds", "peak_mb", "seal"] {
                cell.as_object_mut().unwrap().remove(key);
            }
            cell.to_string()
        };
        let mut cells: Vec<String> = String::from_utf8(bytes).unwrap().lines().map(cell).collect();
        cells.sort();
        bytes = cells.join("\n").into_bytes();
    }
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All files below a folder.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for file in files_below(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, target).unwrap();
    }
}
