//! The invariants of ARCHITECTURE.md that can be seen in the sources: which module imports which, and what stays out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every source file of a folder of the library, with its text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut open = vec![library().join(folder)];
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

/// Whether a file holds nothing but tests or their helpers.
fn is_test_file(path: &Path) -> bool {
    path.ends_with("testing.rs") || path.ends_with("tests.rs") || path.ends_with("torchjd.rs")
}

/// The lines outside of comments and of the tests at a file's end.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let starts = ["#[cfg(test)]\nmod tests {", "#[cfg(test)]\n#[allow"];
    let end = starts.iter().filter_map(|tests| text.find(tests)).min().unwrap_or(text.len());
    text[..end].lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// A file's place in the tree of modules: `train/model/step.rs` is `[train, model, step]`.
fn module_of(path: &Path) -> Vec<String> {
    let inside = path.strip_prefix(library()).unwrap().with_extension("");
    let mut parts: Vec<String> =
        inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

/// All paths that start with `crate`, `super` or `self` in the code of a file, from the root of the crate.
fn imports(path: &Path, text: &str) -> Vec<Vec<String>> {
    let module = module_of(path);
    let code: String =
        code(text).map(|line| line.split(" // ").next().unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(root) {
            let starts_word =
                code[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':');
            if starts_word {
                expand(&code[at..], &[], &mut |parts| found.push(absolute(&module, parts)));
            }
        }
    }
    found
}

/// Calls back with each path of an import tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(text: &str, before: &[String], each: &mut impl FnMut(&[String])) {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let rest = &text[word.len()..];
    let mut path = before.to_vec();
    if !word.is_empty() && (word != "self" || before.is_empty()) {
        path.push(word);
    }
    let Some(tail) = rest.strip_prefix("::") else { return each(&path) };
    let Some(group) = tail.strip_prefix('{') else { return expand(tail, &path, each) };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            ',' if depth == 0 => {
                expand(group[start..at].trim(), &path, each);
                start = at + 1;
            }
            '}' if depth == 0 => return expand(group[start..at].trim(), &path, each),
            '}' => depth -= 1,
            _ => {}
        }
    }
}

fn absolute(module: &[String], path: &[String]) -> Vec<String> {
    let mut at = module.to_vec();
    let mut rest = path;
    while let Some((first, more)) = rest.split_first() {
        match first.as_str() {
            "crate" => at.clear(),
            "super" => {
                at.pop();
            }
            "self" => {}
            _ => break,
        }
        rest = more;
    }
    at.extend(rest.iter().cloned());
    at
}

/// The modules that each top-level module of the library imports.
fn real_dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let names: BTreeSet<String> =
        sources("").iter().filter_map(|(path, _)| module_of(path).into_iter().next()).collect();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources("").iter().filter(|(path, _)| !is_test_file(path)) {
        let Some(module) = module_of(path).into_iter().next() else { continue };
        let used = imports(path, text).into_iter().filter_map(|path| path.into_iter().next());
        let others = used.filter(|name| *name != module && names.contains(name));
        found.entry(module.clone()).or_default().extend(others);
    }
    found
}

/// The map of ARCHITECTURE.md: the block fenced as `deps`, one line `module: what it may import` each.
fn documented_dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let text = fs::read_to_string(path).unwrap();
    let block = text.split("```deps\n").nth(1).expect("a block fenced as deps").split("```").next().unwrap();
    let line = |line: &str| {
        let (module, allowed) = line.split_once(':').expect("module: modules");
        (module.trim().to_owned(), allowed.split_whitespace().map(str::to_owned).collect())
    };
    block.lines().filter(|text| !text.trim().is_empty()).map(line).collect()
}

#[test]
fn modules_import_what_the_map_says() {
    let (real, documented) = (real_dependencies(), documented_dependencies());
    for (module, used) in &real {
        let allowed =
            documented.get(module).unwrap_or_else(|| panic!("ARCHITECTURE.md says nothing of `{module}`"));
        let forbidden: Vec<&String> = used.difference(allowed).collect();
        assert!(
            forbidden.is_empty(),
            "`{module}` imports {forbidden:?}, which ARCHITECTURE.md does not allow"
        );
        let unused: Vec<&String> = allowed.difference(used).collect();
        assert!(unused.is_empty(), "ARCHITECTURE.md lets `{module}` import {unused:?}, which it does not");
    }
    assert_eq!(real.keys().collect::<Vec<_>>(), documented.keys().collect::<Vec<_>>(), "modules");
}

#[test]
fn modules_have_no_import_cycles() {
    assert_no_cycle(&real_dependencies());
}

#[test]
fn files_of_train_have_no_import_cycles() {
    let files = sources("train");
    let modules: BTreeMap<Vec<String>, String> =
        files.iter().map(|(path, _)| (module_of(path), module_of(path).join("::"))).collect();
    // `pub use step::Model;` in `model/mod.rs`: `model::Model` is in `model::step`.
    let mut exported: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with("mod.rs")) {
        let module = module_of(path);
        let text: String = code(text).collect::<Vec<_>>().join("\n");
        for statement in text.split(';').filter(|statement| statement.trim_start().starts_with("pub")) {
            if let Some((_, tree)) = statement.split_once("use ") {
                expand(tree.trim(), &module, &mut |path| {
                    if let Some(name) = path.last() {
                        exported.insert([module.clone(), vec![name.clone()]].concat(), path.to_vec());
                    }
                });
            }
        }
    }
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_test_file(path)) {
        let own = module_of(path);
        let edges = graph.entry(own.join("::")).or_default();
        for mut used in imports(path, text) {
            while let Some(real) = exported.get(&used).filter(|real| **real != used) {
                used = real.clone();
            }
            let target = (1..=used.len()).rev().find_map(|len| modules.get(&used[..len]));
            // A module's `mod.rs` may use its own files, and they may use what it defines for all of them.
            let Some(target) = target else { continue };
            if *target != own.join("::") && !own.join("::").starts_with(&format!("{target}::")) {
                edges.insert(target.clone());
            }
        }
    }
    assert_no_cycle(&graph);
}

fn assert_no_cycle(graph: &BTreeMap<String, BTreeSet<String>>) {
    fn visit<'g>(
        node: &'g str,
        graph: &'g BTreeMap<String, BTreeSet<String>>,
        path: &mut Vec<&'g str>,
        done: &mut BTreeSet<&'g str>,
    ) {
        if done.contains(node) {
            return;
        }
        if let Some(at) = path.iter().position(|before| *before == node) {
            panic!("an import cycle: {} -> {node}", path[at..].join(" -> "));
        }
        path.push(node);
        for next in graph.get(node).into_iter().flatten() {
            visit(next, graph, path, done);
        }
        path.pop();
        done.insert(node);
    }
    let mut done = BTreeSet::new();
    for node in graph.keys() {
        visit(node, graph, &mut Vec::new(), &mut done);
    }
}

#[test]
fn a_forbidden_import_is_found() {
    let path = library().join("kernels/loss.rs");
    let text = "use crate::{Real, data::{self, Labels}};\nfn f() { super::super::graph::g() }\n// use crate::eval;\n";
    let found: BTreeSet<String> = imports(&path, text).into_iter().map(|path| path.join("::")).collect();
    let expected = ["Real", "data", "data::Labels", "graph::g"].map(str::to_owned);
    assert_eq!(found, BTreeSet::from(expected));
}

fn assert_absent(folder: &str, words: &[&str], why: &str) {
    for (path, text) in sources(folder).iter().filter(|(path, _)| !is_test_file(path)) {
        for line in code(text) {
            if let Some(word) = words.iter().find(|word| line.contains(**word)) {
                panic!("{}: `{word}` in `{}`: {why}", path.display(), line.trim());
            }
        }
    }
}

#[test]
fn a_graph_has_no_labels() {
    let words = ["Labels", "crate::data", "Split"];
    assert_absent("graph", &words, "pretraining takes a Graph and must not see what it is evaluated on");
}

#[test]
fn only_data_evaluation_and_report_see_labels() {
    for (path, text) in sources("") {
        let sees = path
            .components()
            .any(|part| ["eval", "data", "report", "lib.rs"].contains(&&*part.as_os_str().to_string_lossy()));
        if let Some(line) = code(&text).find(|line| !sees && line.contains("Labels")) {
            panic!("{}: `{}`: only data, eval and report may see labels", path.display(), line.trim());
        }
    }
}

#[test]
fn kernels_do_no_input_output_or_random_draws() {
    assert_absent("kernels", &["std::fs", "std::io", "println!"], "kernels take slices and sizes only");
}

#[test]
fn coordinators_hold_no_tensors() {
    assert_absent(
        "coordinator",
        &["Real"],
        "the scheduler serves any training loop: numbers in, a decision out",
    );
}

#[test]
fn the_engine_opens_no_files() {
    for folder in ["coordinator", "tensor", "encoder", "graph"] {
        assert_absent(folder, &["std::fs", "std::net"], "only data, train and the front ends touch files");
    }
}

#[test]
fn no_decision_depends_on_a_clock() {
    let words = ["Instant::now", "SystemTime::now", "thread_rng", "from_entropy"];
    for folder in ["coordinator", "graph", "kernels", "tensor", "encoder"] {
        assert_absent(folder, &words, "the same config and seed give the same bytes");
    }
}

#[test]
fn unsafe_code_is_in_kernels_only() {
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
        assert!(lines <= 500, "{}: {lines} lines; split it by ideas", path.display());
    }
}
