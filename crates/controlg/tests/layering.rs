//! The invariants of ARCHITECTURE.md that can be seen in the sources.

use std::fs;
use std::path::{Path, PathBuf};

/// Every source file of a folder of the library, with its text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let mut open = vec![root];
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            files.push((path, text));
        }
    }
    assert!(!files.is_empty(), "no sources in {folder}");
    files
}

/// The lines outside of comments and of the tests at a file's end.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let ends = ["#[cfg(test)]\nmod tests", "#[cfg(test)]\n#[allow"]
        .map(|tests| text.find(tests).unwrap_or(text.len()));
    text[..ends[0].min(ends[1])].lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn assert_absent(folder: &str, words: &[&str], why: &str) {
    for (path, text) in sources(folder) {
        if path.ends_with("testing.rs") {
            continue; // helpers of the tests beside the code
        }
        for line in code(&text) {
            if let Some(word) = words.iter().find(|word| line.contains(**word)) {
                panic!("{}: `{word}` in `{}`: {why}", path.display(), line.trim());
            }
        }
    }
}

#[test]
fn the_graph_knows_no_labels() {
    let words = ["Labels", "crate::data", "Split"];
    assert_absent("graph", &words, "pretraining takes a Graph and must not see what it is judged by");
}

#[test]
fn only_evaluation_and_the_report_see_labels() {
    for (path, text) in sources("") {
        let sees = path
            .components()
            .any(|part| ["eval", "data", "report", "lib.rs"].contains(&&*part.as_os_str().to_string_lossy()));
        if let Some(line) = code(&text).find(|line| !sees && line.contains("Labels")) {
            panic!(
                "{}: `{}`: labels are read by data and seen by eval and report alone",
                path.display(),
                line.trim()
            );
        }
    }
}

#[test]
fn kernels_know_slices_and_sizes_only() {
    let words =
        ["crate::graph", "crate::tensor", "crate::data", "crate::rng", "std::fs", "std::io", "println!"];
    assert_absent("kernels", &words, "kernels have no configuration, randomness or input and output");
}

#[test]
fn coordinators_map_numbers_to_numbers() {
    let words = ["crate::graph", "crate::tensor", "crate::kernels", "crate::encoder", "crate::data", "Real"];
    assert_absent("coordinator", &words, "the loop can be driven by anybody's own training code");
}

#[test]
fn the_tape_knows_no_files() {
    for folder in ["coordinator", "tensor", "encoder", "graph"] {
        assert_absent(folder, &["std::fs", "std::net"], "only data and the front ends touch files");
    }
}

#[test]
fn no_clock_decides_anything() {
    let words = ["Instant::now", "SystemTime::now", "thread_rng", "from_entropy"];
    for folder in ["coordinator", "graph", "kernels", "tensor", "encoder"] {
        assert_absent(folder, &words, "the same run file and seed give the same bytes");
    }
}

#[test]
fn unsafe_stands_in_kernels_alone_and_gives_its_reason() {
    for (path, text) in sources("") {
        let in_kernels = path.components().any(|part| part.as_os_str() == "kernels");
        for line in code(&text).filter(|line| line.contains("unsafe ") || line.contains("unsafe{")) {
            assert!(in_kernels, "{}: {}", path.display(), line.trim());
        }
    }
}

#[test]
fn files_stay_small() {
    for (path, text) in sources("") {
        let lines = text.lines().count();
        assert!(lines <= 600, "{}: {lines} lines; split it by ideas", path.display());
    }
}
