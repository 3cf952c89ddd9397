//! Damaged files of every kind.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::bench::{DATA, Dice, cases, check_end, command, content, copy, files_below, jobs, stderr, train};

fn run(home: &Path, line: &str) -> Output {
    command(home, &line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).output().unwrap()
}

/// Flips a bit, cuts, doubles or zeroes a part of a file.
fn damage(path: &Path, dice: &mut Dice) -> String {
    let mut bytes = fs::read(path).unwrap();
    let at = dice.below(bytes.len());
    let what = match dice.below(4) {
        0 => {
            bytes.truncate(at);
            "cut"
        }
        1 => {
            let end = (at + 1 + dice.below(64)).min(bytes.len());
            bytes[at..end].fill(0);
            "zeroed"
        }
        2 => {
            bytes.insert(at, dice.below(256) as u8);
            "a byte more"
        }
        _ => {
            bytes[at] ^= 1 << dice.below(8);
            "a flipped bit"
        }
    };
    fs::write(path, bytes).unwrap();
    format!("{}: {what} at {at}", path.file_name().unwrap().display())
}

const EVALUATE: &str = "evaluate trained --tasks cluster --no-floors --quiet";

#[test]
fn damaged_runs_are_refused_or_do_not_matter() {
    let whole = TempDir::new().unwrap();
    train(whole.path());
    let evaluated = run(whole.path(), EVALUATE);
    assert!(evaluated.status.success(), "{}", stderr(&evaluated));
    let right_scores = scores(whole.path());
    let right = content(&whole.path().join("trained/embeddings.npy"));
    let mut dice = Dice(3);
    let (mut tried, mut refused) = (0, 0);
    for file in files_below(whole.path()) {
        for _ in 0..cases(2) {
            let home = TempDir::new().unwrap();
            copy(whole.path(), home.path());
            let name = file.strip_prefix(whole.path()).unwrap();
            let before = fs::read(&file).unwrap();
            let what = damage(&home.path().join(name), &mut dice);
            if fs::read(home.path().join(name)).unwrap() == before {
                continue;
            }
            let audit = run(home.path(), "audit trained");
            check_end(&audit, &what);
            // Settings and scores may be written in another way, with the same meaning; nothing else may differ.
            let scores_are_right = name.ends_with("metrics.json") && scores(home.path()) == right_scores;
            let is_free =
                name.starts_with("trained/checkpoint") || name.ends_with("config.toml") || scores_are_right;
            assert!(!audit.status.success() || is_free, "{what}: the audit passes");
            let embed = run(home.path(), &format!("embed trained {DATA} --out again --threads 1 --quiet"));
            check_end(&embed, &what);
            if embed.status.success() {
                assert_eq!(content(&home.path().join("again/embeddings.npy")), right, "{what}");
            }
            let evaluated = run(home.path(), EVALUATE);
            check_end(&evaluated, &what);
            if evaluated.status.success() {
                assert_eq!(scores(home.path()), right_scores, "{what}");
            }
            let resumed = run(home.path(), "pretrain --resume --out trained --threads 1 --quiet");
            check_end(&resumed, &what);
            if resumed.status.success() {
                assert_eq!(content(&home.path().join("trained/embeddings.npy")), right, "{what}");
                // Scores are no part of a run: resuming leaves them as they are.
                let audit = run(home.path(), "audit trained");
                let is_right = audit.status.success() || name.ends_with("metrics.json");
                assert!(is_right, "{what}: {}", stderr(&audit));
            }
            let report = run(home.path(), "report trained --out page.html --quiet");
            check_end(&report, &what);
            tried += 1;
            refused += usize::from(!audit.status.success());
        }
    }
    println!("runs: {tried} damaged files, the audit refuses {refused}");
}

/// The scores of a run without their seals.
fn scores(home: &Path) -> Option<Value> {
    let bytes = fs::read(home.join("trained/metrics.json")).ok()?;
    let mut scores: Value = serde_json::from_slice(&bytes).ok()?;
    Some(scores.get_mut("cluster")?.get_mut("value")?.take())
}

#[test]
fn damaged_comparisons_are_refused_or_do_not_matter() {
    let whole = TempDir::new().unwrap();
    let compare = jobs().into_iter().find(|job| job.name == "compare").unwrap();
    let tables = "report cells --out page.html --quiet";
    for output in [command(whole.path(), &compare.arguments).output().unwrap(), run(whole.path(), tables)] {
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let (right, page) = ("cells/results.jsonl", "page.html");
    let mut dice = Dice(5);
    let (mut tried, mut refused) = (0, 0);
    for name in ["cells/results.jsonl", "cells/comparison.json"] {
        for _ in 0..cases(6) {
            let home = TempDir::new().unwrap();
            copy(&whole.path().join("cells"), &home.path().join("cells"));
            let what = damage(&home.path().join(name), &mut dice);
            let report = run(home.path(), tables);
            check_end(&report, &what);
            let cut = what.contains("cut") || lines(home.path(), name) < lines(whole.path(), name);
            if report.status.success() && !(name == right && cut) {
                assert_eq!(content(&home.path().join(page)), content(&whole.path().join(page)), "{what}");
            }
            let again = command(home.path(), &compare.arguments).output().unwrap();
            check_end(&again, &what);
            if again.status.success() {
                assert_eq!(content(&home.path().join(right)), content(&whole.path().join(right)), "{what}");
            }
            tried += 1;
            refused += usize::from(!report.status.success());
        }
    }
    println!("comparisons: {tried} damaged files, {refused} refused");
}

/// Whole lines of a file. A comparison runs again what an incomplete last line held.
fn lines(home: &Path, name: &str) -> usize {
    fs::read(home.join(name)).unwrap().iter().filter(|&&byte| byte == b'\n').count()
}

#[test]
fn damaged_binary_graphs_are_refused() {
    let whole = TempDir::new().unwrap();
    let convert = jobs().into_iter().find(|job| job.name == "convert").unwrap();
    let output = command(whole.path(), &convert.arguments).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let train = "pretrain binary --set=encoder.width=8 --set=train.epochs=1 --set=train.batches_per_epoch=12 \
                 --set=train.warmup_rounds=1 --set=objective.p_par.parts=3 --threads=1 --quiet --out run";
    let output = run(whole.path(), train);
    assert!(output.status.success(), "{}", stderr(&output));
    let right = content(&whole.path().join("run/embeddings.npy"));
    let mut dice = Dice(4);
    let (mut tried, mut refused) = (0, 0);
    for file in files_below(&whole.path().join("binary")) {
        for _ in 0..cases(2) {
            let home = TempDir::new().unwrap();
            copy(&whole.path().join("binary"), &home.path().join("binary"));
            let name = file.strip_prefix(whole.path()).unwrap();
            let what = damage(&home.path().join(name), &mut dice);
            let output = run(home.path(), train);
            check_end(&output, &what);
            if output.status.success() {
                assert_eq!(content(&home.path().join("run/embeddings.npy")), right, "{what}");
            }
            tried += 1;
            refused += usize::from(!output.status.success());
        }
    }
    println!("binary graphs: {tried} damaged files, {refused} refused");
}
