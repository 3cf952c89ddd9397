//! Binary folders: ids, and folders written by version 0.1.

use std::fs;
use std::path::Path;

use controlg::data::{FeatureSource, LoadOptions, binary, load, load_path};
use controlg::graph::Ids;

use super::round_trip::{dense, small};
use super::{assert_rejected, ids};

#[test]
fn ids_are_checked_against_the_hash_in_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("binary");
    let names = ["v", "w", "x", "y", "z"].map(str::to_owned).to_vec();
    binary::to_binary(&small(Ids::Named(names), dense(), None, None), &out).unwrap();
    let load = || load_path(&out, FeatureSource::Given);
    assert_eq!(ids(&load().unwrap()), ["v", "w", "x", "y", "z"]);
    let list = out.join("ids.txt");
    fs::write(&list, "v\nw\nx\nz\ny\n").unwrap();
    assert_rejected("exchanged", load(), &["ids.txt: found a different SHA-256", "graph.json"]);
    fs::write(&list, "v\nw\nx\ny\nzz\n").unwrap();
    assert_rejected("longer", load(), &["ids.txt: found 11 bytes, expected 10, the size in graph.json"]);

    // The hash matches, but an id occurs twice.
    fs::remove_dir_all(&out).unwrap();
    let twice = ["v", "w", "x", "y", "v"].map(str::to_owned).to_vec();
    binary::to_binary(&small(Ids::Named(twice), dense(), None, None), &out).unwrap();
    assert_rejected("twice", load(), &["ids.txt:5: found duplicate id \"v\", expected each id once"]);
}

#[test]
fn a_folder_of_version_0_1_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v0.1/mapped");
    let stored =
        load(path.to_str().unwrap(), &LoadOptions { stay_on_disk: true, ..LoadOptions::default() }).unwrap();
    assert_eq!(stored.format, "binary");
    let in_memory = load_path(&path, FeatureSource::Given).unwrap();
    assert_eq!(stored.graph.adjacency(), in_memory.graph.adjacency());

    // Writing the graph again gives the same bytes.
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("binary");
    binary::to_binary(&in_memory, &out).unwrap();
    for entry in fs::read_dir(&path).unwrap().flatten() {
        let name = entry.file_name();
        assert_eq!(fs::read(entry.path()).unwrap(), fs::read(out.join(&name)).unwrap(), "{name:?}");
    }
}
