//! Broken files of every benchmark format. Each error is one line that names the file, what was found and what was
//! expected.

#[path = "../common/mod.rs"]
mod common;

mod geom_gcn;
mod gnn_benchmark;
mod heterophilous;
mod ogb;
mod planetoid;
mod split_masks;
mod wiki_cs;

use std::io::Write;

use common::samples::{self, Files};
use controlg::data::{FeatureSource, load_path};

/// A valid graph with one file replaced or removed, and fragments of the expected error.
struct Case {
    name: &'static str,
    sample: fn() -> Files,
    file: &'static str,
    content: Option<Vec<u8>>,
    fragments: &'static [&'static str],
    /// The file that the error names, if it is another one.
    blamed: &'static str,
}

impl Case {
    fn blaming(self, file: &'static str) -> Case {
        Case { blamed: file, ..self }
    }
}

fn case(
    name: &'static str,
    sample: fn() -> Files,
    file: &'static str,
    content: impl Into<Option<Vec<u8>>>,
    fragments: &'static [&'static str],
) -> Case {
    Case { name, sample, file, content: content.into(), fragments, blamed: file }
}

fn check(cases: Vec<Case>) {
    let mut wrong = Vec::new();
    for Case { name, sample, file, content, fragments, blamed } in cases {
        let mut files = sample();
        files.retain(|(known, _)| *known != file);
        files.extend(content.map(|bytes| (file, bytes)));
        let folder = tempfile::tempdir().unwrap();
        samples::write(folder.path(), &files);
        let Err(error) = load_path(folder.path(), FeatureSource::Given) else {
            wrong.push(format!("{name}: no error"));
            continue;
        };
        let line = error.to_string();
        let named = line.starts_with(folder.path().join(blamed).to_str().unwrap());
        let missing: Vec<_> = fragments.iter().filter(|part| !line.contains(**part)).collect();
        let phrased = line.contains("found ") && line.contains("expected ") && !line.contains('\n');
        if !named || !missing.is_empty() || !phrased || error.exit_code() != 2 || line.len() > 500 {
            wrong.push(format!("{name}: {line} (missing {missing:?})"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Writes 300 MB of zeros, which compress a thousandfold.
fn zeros(to: &mut impl Write) {
    let block = vec![0; 1 << 20];
    (0..300).for_each(|_| to.write_all(&block).unwrap());
}
