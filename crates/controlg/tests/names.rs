//! The words of the project: no type name has two meanings, and no retired name comes back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text files below a folder with one of these endings, without build products and data.
fn files(folder: &Path, endings: &[&str]) -> Vec<(PathBuf, String)> {
    const SKIPPED: [&str; 9] =
        ["target", ".git", "fixtures", "results", "node_modules", ".venv", ".site", "book", "corpus"];
    let mut open = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no files in {}", folder.display());
    found
}

/// The text before the tests at a file's end.
fn without_tests(text: &str) -> &str {
    &text[..text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len())]
}

/// The name that a line defines, if it defines a type at the top level of a file.
fn defined_type(line: &str) -> Option<&str> {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    if line.starts_with(char::is_whitespace) || line.starts_with("//") {
        return None;
    }
    words.find(|word| ["struct", "enum", "trait", "type", "union"].contains(word))?;
    words.next().filter(|name| name.starts_with(char::is_uppercase))
}

#[test]
fn every_type_name_has_one_meaning() {
    // `Real` is one type in two precisions.
    const TWICE: [&str; 1] = ["Real"];
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in files(&workspace().join("crates"), &[".rs"]) {
        let in_source = path.components().any(|part| part.as_os_str() == "src");
        let is_test = path.ends_with("tests.rs") || path.ends_with("testing.rs");
        if !in_source || is_test {
            continue;
        }
        for name in without_tests(&text).lines().filter_map(defined_type) {
            places.entry(name.to_owned()).or_default().push(path.display().to_string());
        }
    }
    let twice: Vec<String> = places
        .into_iter()
        .filter(|(name, places)| places.len() > 1 && !TWICE.contains(&name.as_str()))
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(twice.is_empty(), "type names with several meanings:\n{}", twice.join("\n"));
}

/// Types of version 0.1 that are called something else now, and words that nobody in the field uses.
const RETIRED_TYPES: [&str; 24] = [
    "Outfit",
    "Scene",
    "Ground",
    "Sight",
    "Shown",
    "Lesson",
    "OwnLoop",
    "Feed",
    "Looked",
    "Held",
    "Lent",
    "Follower",
    "Thinning",
    "Recipe",
    "Promise",
    "Kept",
    "Sheet",
    "Tally",
    "Neighbours",
    "Outlook",
    "Wants",
    "Drawn",
    "Places",
    "Voice",
];

/// Words that are retired in any case and inside identifiers.
const RETIRED_WORDS: [&str; 39] = [
    "outfit",
    "sights",
    "thinning",
    "foretold",
    "foretell",
    "look_ahead",
    "look_at_all",
    "carry_on",
    "encodes_again",
    "to_mapped",
    "mapped folder",
    "--for lp",
    "skip-singles",
    "matrix unit",
    "normalis",
    "neighbour",
    "optimis",
    "initialis",
    "recognis",
    "symmetris",
    "standardis",
    "minimis",
    "maximis",
    "penalis",
    "vectoris",
    "serialis",
    "summaris",
    "regularis",
    "behaviour",
    "colour",
    "favour",
    "centre",
    "catalogue",
    "licence",
    "labelled",
    "judgement",
    "modelled",
    "artefact",
    "analyse",
];

/// Files that must name old things: what reads them, what tests that, and what tells of the change.
const MAY_NAME_OLD_THINGS: [&str; 6] = [
    "config/legacy.rs",
    "tests/names.rs",
    "tests/version_0_1.rs",
    "controlg-cli/tests/args.rs",
    "CHANGELOG.md",
    "typos.toml",
];

/// The title of a paper is quoted as it is.
const TITLE: &str = "Scene Geometry";

/// Lines that keep a word of version 0.1 because files or random streams have it say so.
const KEPT: &str = "kept from version 0.1";

#[test]
fn no_retired_name_is_left() {
    let mut found = Vec::new();
    let endings = [".rs", ".py", ".pyi", ".md", ".toml", ".js", ".css", ".html", ".yml"];
    for (path, text) in files(&workspace(), &endings) {
        if MAY_NAME_OLD_THINGS.iter().any(|file| path.ends_with(file)) {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let said_kept =
                line.contains(KEPT) || line.contains(TITLE) || at > 0 && lines[at - 1].contains(KEPT);
            let lower = line.to_lowercase();
            let word = RETIRED_WORDS.iter().find(|word| lower.contains(**word));
            let is_type = |word: &&str| RETIRED_TYPES.contains(word);
            // Outside of string literals: titles of papers have words of their own.
            let code = line.split('"').step_by(2);
            let named =
                code.flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_')).find(is_type);
            // A type's name may start a sentence.
            let is_code = |name: &&str| {
                !line.trim_start().starts_with("//") && path.extension().is_some_and(|ending| ending == "rs")
                    || line.contains(&format!("`{name}`"))
            };
            if let Some(name) = word.copied().or(named.filter(is_code))
                && !said_kept
            {
                found.push(format!("{}:{}: {name}: {}", path.display(), at + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{} retired names:\n{}", found.len(), found.join("\n"));
}
