//! Runs the documents: README.md and the manual under docs/src.
//!
//! A line before a fenced block says what is checked; Markdown renderers do not show it:
//!
//! - `<!-- run -->` before an `sh` block: the block is run, with the blocks of its page in order in one empty folder and
//!   `controlg` on the PATH. Python blocks with this mark are run by `crates/controlg-py/tests/test_docs.py`.
//! - `<!-- from: PATH -->` before any block: its text stands in that file of the repository, line by line.

#[path = "docs/encoder.rs"]
mod encoder;
#[path = "docs/format.rs"]
mod format;
#[path = "docs/method.rs"]
mod method;
#[path = "docs/tour.rs"]
mod tour;
#[path = "docs/usage.rs"]
mod usage;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The largest number of lines of README.md.
const README_LINES: usize = 150;

/// One fenced block.
struct Fence {
    /// Line of the opening fence, from 1.
    line: usize,
    language: String,
    /// The HTML comment on the line before, without its delimiters.
    mark: Option<String>,
    text: String,
}

/// A Markdown file, cut into fenced blocks and the lines outside of them.
struct Page {
    path: PathBuf,
    fences: Vec<Fence>,
    prose: Vec<(usize, String)>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn read(path: &Path) -> String {
    // Windows checkouts may have CRLF line endings.
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.replace("\r\n", "\n")
}

fn page(path: PathBuf) -> Page {
    let text = read(&path);
    let (mut fences, mut prose) = (Vec::new(), Vec::new());
    let mut open: Option<(String, Fence)> = None;
    let mut before = "";
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        match &mut open {
            Some((ticks, fence)) => {
                if trimmed.trim_end() == ticks {
                    fences.push(open.take().expect("it is open").1);
                } else {
                    fence.text.push_str(line);
                    fence.text.push('\n');
                }
            }
            None if trimmed.starts_with("```") => {
                let language = trimmed.trim_start_matches('`').trim().to_owned();
                let ticks = "`".repeat(trimmed.len() - trimmed.trim_start_matches('`').len());
                let mark = before.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
                let mark = mark.map(|mark| mark.trim().to_owned());
                open = Some((ticks, Fence { line: at + 1, language, mark, text: String::new() }));
            }
            None => prose.push((at + 1, line.to_owned())),
        }
        before = line;
    }
    assert!(open.is_none(), "{}: a fenced block has no end", path.display());
    Page { path, fences, prose }
}

fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    files.sort();
    files
}

/// README.md and the pages of the manual.
fn manual() -> Vec<Page> {
    let root = repository();
    let mut pages = vec![page(root.join("README.md"))];
    pages.extend(markdown_files(&root.join("docs/src")).into_iter().map(page));
    pages
}

/// The manual, and every other document for people.
fn documents() -> Vec<Page> {
    let root = repository();
    let mut pages = manual();
    let others = [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "results/README.md",
        "benches/large/README.md",
        "benches/peer/README.md",
        "crates/controlg-py/README.md",
    ];
    pages.extend(others.map(|name| page(root.join(name))));
    pages
}

#[test]
fn readme_is_short() {
    let lines = read(&repository().join("README.md")).lines().count();
    assert!(lines <= README_LINES, "README.md has {lines} lines, expected at most {README_LINES}");
}

#[test]
fn marks_are_known_and_name_what_they_check() {
    for page in manual() {
        for Fence { line, language, mark, text } in &page.fences {
            let place = format!("{}:{line}", page.path.display());
            match mark.as_deref() {
                Some("run") => {
                    assert!(["sh", "python"].contains(&language.as_str()), "{place}: cannot run {language}");
                }
                Some(mark) if mark.starts_with("from:") => {
                    let source = read(&repository().join(mark["from:".len()..].trim()));
                    let source: Vec<_> = source.lines().map(str::trim).collect();
                    let lines: Vec<_> = text.lines().map(str::trim).collect();
                    let found = source.windows(lines.len()).any(|window| window == lines);
                    assert!(found, "{place}: the block differs from {mark}");
                }
                Some(mark) => panic!("{place}: unknown mark {mark:?}"),
                None => {}
            }
        }
        let stray = page.prose.iter().filter(|(_, line)| line.trim_start().starts_with("<!-- run"));
        assert_eq!(
            stray.count(),
            page.fences.iter().filter(|fence| fence.mark.as_deref() == Some("run")).count(),
            "{}: a mark stands on the line before its block",
            page.path.display()
        );
    }
}

#[cfg(unix)]
#[test]
fn marked_shell_blocks_run() {
    let program = Path::new(env!("CARGO_BIN_EXE_controlg"));
    let folder = program.parent().expect("the program is in a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&path))).unwrap();
    let no_data = tempfile::tempdir().unwrap();
    let mut n_run = 0;
    for page in manual() {
        let home = tempfile::tempdir().unwrap();
        let is_run = |fence: &&Fence| fence.mark.as_deref() == Some("run") && fence.language == "sh";
        for fence in page.fences.iter().filter(is_run) {
            let done = std::process::Command::new("sh")
                .args(["-eu", "-c", &fence.text])
                .current_dir(home.path())
                .env("PATH", &path)
                .env("CONTROLG_DATA", no_data.path()) // a marked block needs no download
                .output()
                .expect("a shell");
            assert!(
                done.status.success(),
                "{}:{}: {}\n{}{}",
                page.path.display(),
                fence.line,
                done.status,
                String::from_utf8_lossy(&done.stdout),
                String::from_utf8_lossy(&done.stderr)
            );
            n_run += 1;
        }
    }
    assert!(n_run >= 2, "README.md alone has two blocks that run");
}

/// The targets of Markdown links on a line, code spans left out.
fn links(line: &str) -> Vec<String> {
    let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
    let mut rest = outside.as_str();
    let mut targets = Vec::new();
    while let Some((_, after)) = rest.split_once("](") {
        let end = after.find(')').unwrap_or(after.len());
        targets.push(after[..end].to_owned());
        rest = &after[end..];
    }
    targets
}

/// The anchors of a page: its headings as GitHub and mdBook write them.
fn anchors(page: &Page) -> BTreeSet<String> {
    let headings = page.prose.iter().filter_map(|(_, line)| line.starts_with('#').then_some(line));
    let slug = |line: &String| -> String {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(slug).collect()
}

#[test]
fn relative_links_lead_to_files_and_headings() {
    let book = repository().join("docs/src");
    for from in documents() {
        for (line, text) in &from.prose {
            for target in links(text) {
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                let place = format!("{}:{line}", from.path.display());
                let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
                let to = if file.is_empty() {
                    from.path.clone()
                } else {
                    from.path.parent().expect("a file is in a folder").join(file)
                };
                let to = to.canonicalize().unwrap_or_else(|_| panic!("{place}: no file {file}"));
                let leaves_book = from.path.starts_with(&book) && !to.starts_with(&book);
                assert!(!leaves_book, "{place}: {file} is not part of the book; give its path as code");
                if !anchor.is_empty() {
                    assert!(anchors(&page(to)).contains(anchor), "{place}: no heading #{anchor} in {target}");
                }
            }
        }
    }
}

#[test]
fn every_page_is_in_the_summary() {
    let book = repository().join("docs/src");
    let summary = page(book.join("SUMMARY.md"));
    let listed: BTreeSet<String> = summary.prose.iter().flat_map(|(_, line)| links(line)).collect();
    for path in markdown_files(&book) {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        assert!(name == "SUMMARY.md" || listed.contains(&name), "SUMMARY.md does not list {name}");
    }
}

/// The Rust code of the manual runs.
mod code {
    use std::fs;

    use super::{format, method, tour, usage};

    use controlg::coordinator::Coordinator;

    #[test]
    fn the_method_schedules_every_objective_once_per_round() {
        let mut method = method::Shuffled::new(3, 7);
        let first: Vec<usize> = (0..6).map(|_| method.next().objective).collect();
        for round in first.chunks(3) {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        let mut resumed = method::Shuffled::new(3, 7);
        resumed.restore(&method.save().unwrap()).unwrap();
        assert_eq!(resumed.next().objective, method.next().objective);
    }

    #[test]
    fn the_format_is_read() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("graph.txt");
        fs::write(&path, "ann: bob carl\nbob: ann\ncarl:\n").unwrap();
        let data = format::read_adjacency_lists(&path).unwrap();
        assert_eq!((data.graph.n_nodes(), data.graph.n_edges()), (3, 2));
        fs::write(&path, "ann: dora\n").unwrap();
        assert!(format::read_adjacency_lists(&path).unwrap_err().to_string().contains("dora"));
    }

    #[test]
    fn the_tour_runs() {
        let home = tempfile::tempdir().unwrap();
        tour::pretrain_a_data_set(&home.path().join("run")).unwrap();
        tour::pretrain_on_arrays().unwrap();
        tour::schedule_your_own_loop(&home.path().join("record.jsonl")).unwrap();
    }

    #[test]
    fn own_encoder_and_method_train() {
        let graph = controlg::data::load("synthetic:nodes=200", &Default::default()).unwrap().graph;
        let model = usage::train_with_own_parts(&graph).unwrap();
        assert_eq!((model.embeddings().n_rows(), model.embeddings().n_cols()), (200, 16));
        assert_eq!(model.config().method, "shuffled");
    }
}
