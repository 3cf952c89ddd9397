//! `controlg embed` end to end: features by name.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn controlg(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_controlg")).current_dir(folder).args(args).output().unwrap()
}

/// The standard error of a command that must succeed.
fn run(folder: &Path, args: &[&str]) -> String {
    let output = controlg(folder, args);
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{args:?}: {words}");
    words
}

/// The single line of a command that must fail with exit code 2.
fn failure(folder: &Path, args: &[&str]) -> String {
    let output = controlg(folder, args);
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {words}");
    words.lines().last().unwrap_or_default().to_owned()
}

/// Writes a ring with a feature per name: each name has values of its own, whatever its place.
fn write_graph(folder: &Path, names: &[&str]) {
    fs::create_dir(folder).unwrap();
    let mut edges = "src,dst\n".to_owned();
    let mut features = format!("id,{}\n", names.join(","));
    for node in 0..40usize {
        writeln!(edges, "{node},{}", (node + 1) % 40).unwrap();
        let values = names.iter().map(|name| 1 + (node * usize::from(name.as_bytes()[0])) % 7);
        let values: Vec<String> = values.map(|value| value.to_string()).collect();
        writeln!(features, "{node},{}", values.join(",")).unwrap();
    }
    fs::write(folder.join("edges.csv"), edges).unwrap();
    fs::write(folder.join("features.csv"), features).unwrap();
}

/// A folder with a short run on the features a, b, c.
fn home() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    write_graph(&home.path().join("graph"), &["a", "b", "c"]);
    let small = ["encoder.width=8", "train.epochs=1", "train.batches_per_epoch=20"];
    let small: Vec<String> = small.iter().map(|setting| format!("--set={setting}")).collect();
    let mut args = vec!["pretrain", "graph", "--out", "run", "--objectives", "p_recon,p_decor"];
    args.extend(small.iter().map(String::as_str));
    run(home.path(), &args);
    let path = home.path().to_owned();
    (home, path)
}

#[test]
fn feature_columns_are_matched_by_name() {
    let (_home, at) = home();
    let embeddings = |folder: &str| fs::read(at.join(folder).join("embeddings.npy")).unwrap();
    write_graph(&at.join("reordered"), &["c", "a", "b"]);
    let words = run(&at, &["embed", "run", "reordered", "--out", "one"]);
    assert!(words.contains("3 of 3 feature columns were put into the order of the run"), "{words}");
    assert_eq!(embeddings("one"), embeddings("run"));

    // The names reach a binary folder, whose features stay on disk.
    run(&at, &["data", "convert", "reordered", "binary", "--to", "binary"]);
    run(&at, &["embed", "run", "binary", "--out", "two"]);
    assert_eq!(embeddings("two"), embeddings("run"));

    write_graph(&at.join("renamed"), &["a", "x", "c"]);
    let words = failure(&at, &["embed", "run", "renamed", "--out", "three"]);
    assert!(words.contains("found no column 'b' and other columns 'x'"), "{words}");
    write_graph(&at.join("wider"), &["a", "b", "c", "d"]);
    let words = failure(&at, &["embed", "run", "wider", "--out", "three"]);
    assert!(words.contains("found other columns 'd'"), "{words}");
    assert!(!at.join("three").exists());
}

#[test]
fn a_model_with_any_flipped_bit_is_refused_or_gives_the_same_bytes() {
    let (_home, at) = home();
    let model = at.join("run/model.safetensors");
    let intact = fs::read(&model).unwrap();
    run(&at, &["embed", "run", "graph", "--out", "intact"]);
    let embeddings = |folder: &str| fs::read(at.join(folder).join("embeddings.npy")).unwrap();
    let mut refused = 0;
    for part in 0..60 {
        let mut damaged = intact.clone();
        damaged[intact.len() * part / 60 + part % 7] ^= 1 << (part % 8);
        fs::write(&model, damaged).unwrap();
        let folder = format!("damaged{part}");
        let output = controlg(&at, &["embed", "run", "graph", "--out", &folder]);
        match output.status.code() {
            Some(0) => assert_eq!(embeddings(&folder), embeddings("intact"), "flip {part}"),
            code => {
                assert_eq!(code, Some(2), "{}", String::from_utf8_lossy(&output.stderr));
                refused += 1;
            }
        }
    }
    assert!(refused > 50, "{refused}");
}
