//! `embed` and `report` replace only files that controlg wrote, unless `--force` is given.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

fn controlg(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_controlg")).current_dir(folder).args(args).output().unwrap()
}

fn run(folder: &Path, args: &[&str]) {
    let output = controlg(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The error of a command that must fail with exit code 2.
fn failure(folder: &Path, args: &[&str]) -> String {
    let output = controlg(folder, args);
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {words}");
    assert!(words.contains("--force"), "{words}");
    words
}

const DATA: &str = "synthetic:nodes=60,features=8";

fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let small = ["--set=encoder.width=8", "--set=train.epochs=1", "--set=train.batches_per_epoch=20"];
    run(
        home.path(),
        &[&["pretrain", DATA, "--out", "run", "--objectives", "p_recon,p_decor"], &small[..]].concat(),
    );
    home
}

#[test]
fn embed_keeps_the_files_of_a_user() {
    let home = home();
    let at = home.path();
    let graph = at.join("my-graph");
    fs::create_dir(&graph).unwrap();
    fs::write(graph.join("ids.txt"), "mine\n").unwrap();
    fs::write(graph.join("edges.csv"), "src,dst\n").unwrap();
    let words = failure(at, &["embed", "run", DATA, "--out", "my-graph"]);
    assert!(
        words.contains("my-graph: found a folder with edges.csv, ids.txt, expected a new or empty"),
        "{words}"
    );
    assert_eq!(fs::read_to_string(graph.join("ids.txt")).unwrap(), "mine\n");
    assert_eq!(fs::read_dir(&graph).unwrap().count(), 2);
    // A run folder has more than embeddings.
    failure(at, &["embed", "run", DATA, "--out", "run"]);
    // The same names alone do not make the files ours.
    fs::remove_file(graph.join("edges.csv")).unwrap();
    fs::write(graph.join("embeddings.npy"), "mine").unwrap();
    fs::write(graph.join("embeddings.parquet"), "PAR1 mine PAR1").unwrap();
    failure(at, &["embed", "run", DATA, "--out", "my-graph"]);
    assert_eq!(fs::read_to_string(graph.join("embeddings.npy")).unwrap(), "mine");
    run(at, &["embed", "run", DATA, "--out", "my-graph", "--force"]);
    assert_ne!(fs::read_to_string(graph.join("ids.txt")).unwrap(), "mine\n");

    // Our own output is replaced, also if it was not completed.
    run(at, &["embed", "run", DATA]);
    fs::write(at.join("run/embed/embeddings.npy.unfinished"), "half").unwrap();
    run(at, &["embed", "run", DATA]);
    run(at, &["embed", "run", DATA, "--out", "my-graph"]);
}

#[test]
fn report_keeps_the_files_of_a_user() {
    let home = home();
    let at = home.path();
    fs::write(at.join("notes.html"), "<p>my notes on controlg</p>").unwrap();
    let words = failure(at, &["report", "run", "--out", "notes.html"]);
    assert!(words.contains("notes.html: found a file that controlg did not write"), "{words}");
    fs::write(at.join("run/report.html"), "mine").unwrap();
    failure(at, &["report", "run"]);
    assert_eq!(fs::read_to_string(at.join("run/report.html")).unwrap(), "mine");
    run(at, &["report", "run", "--force"]);
    run(at, &["report", "run"]);

    let figures = at.join("figures");
    fs::create_dir(&figures).unwrap();
    fs::write(figures.join("losses.csv"), "mine").unwrap();
    let words = failure(at, &["report", "run", "--out", "new.html", "--figures", "figures"]);
    assert!(words.contains("found a folder with losses.csv"), "{words}");
    assert_eq!(fs::read_to_string(figures.join("losses.csv")).unwrap(), "mine");
    assert!(!at.join("new.html").exists());
    run(at, &["report", "run", "--figures", "figures", "--force"]);
    run(at, &["report", "run", "--figures", "figures"]);
    assert_ne!(fs::read_to_string(figures.join("losses.csv")).unwrap(), "mine");
}
