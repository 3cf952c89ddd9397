//! Folders of plain tables: accepted content, error messages, and round trips of writing and reading.
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

mod any_content;
mod binary;
mod catalog;
mod embeddings;
mod errors;
mod features;
mod files;
mod labels;
mod nodes;
mod parquet;
mod parquet_file;
mod round_trip;
mod variants;

use std::fs;

use controlg::Error;
use controlg::data::{Dataset, FeatureSource, load_path};
use tempfile::TempDir;

/// A table of one edge.
const EDGES: (&str, &str) = ("edges.csv", "src,dst\na,b\n");

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn read(folder: &TempDir) -> Result<Dataset, Error> {
    load_path(folder.path(), FeatureSource::Given)
}

fn ids(dataset: &Dataset) -> Vec<String> {
    (0..dataset.graph.n_nodes()).map(|node| dataset.graph.ids().get(node).into_owned()).collect()
}

fn edges(dataset: &Dataset) -> Vec<(u32, u32)> {
    dataset.graph.edges().collect()
}

/// Checks for an input error on one line that contains these fragments.
fn assert_rejected(what: &str, result: Result<Dataset, Error>, fragments: &[&str]) {
    let Err(error) = result else { panic!("{what}: no error") };
    let line = error.to_string();
    assert_eq!(error.exit_code(), 2, "{what}: {line}");
    assert!(!line.contains('\n') && line.contains("expected"), "{what}: {line}");
    for fragment in fragments {
        assert!(line.contains(fragment), "{what}: {line}\n  lacks: {fragment}");
    }
}
