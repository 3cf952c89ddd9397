//! Which files of a folder are read.

use std::fs;
use std::io::Write;

use super::{edges, folder, ids, read};

#[test]
fn notes_mention_ignored_files() {
    let dataset = read(&folder(&[
        ("Edges.CSV", "src,dst\na,b\n"),
        ("splits.TSV", "id\tsplit\na\ttrain\n"),
        ("labels.txt", "0\n1\n"),
        ("features.pt", "?"),
        ("notes.md", "mine"),
    ]))
    .unwrap();
    assert_eq!(ids(&dataset), ["a", "b"]);
    assert_eq!(dataset.splits[0].train, [0]);
    let ignored: Vec<_> = dataset.notes.iter().filter(|note| note.contains("ignored")).collect();
    let extensions = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet, .npy";
    let of = |name: &str, rest: String| ignored.iter().any(|note| note.ends_with(&format!("{name}: {rest}")));
    assert!(of("labels.txt", format!("ignored; labels are read from {extensions}")), "{ignored:?}");
    assert!(of("features.pt", format!("ignored; features are read from {extensions}, .npz")), "{ignored:?}");
    assert_eq!(ignored.len(), 2, "{ignored:?}");
}

#[test]
fn gzipped_tables_are_read() {
    let files = folder(&[]);
    let file = fs::File::create(files.path().join("edges.csv.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    gzip.write_all(b"src,dst\n0,1\n").unwrap();
    gzip.finish().unwrap();
    assert_eq!(edges(&read(&files).unwrap()), [(0, 1)]);
}
