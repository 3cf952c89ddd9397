//! No file content makes a reader panic.

use std::fs;

use parquet::basic::Compression;
use proptest::prelude::*;

use super::parquet_file::{Col, write_parquet};
use super::read;

fn never_panics(name: &str, bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    if name != "edges.csv" && name != "edges.parquet" {
        fs::write(folder.path().join("edges.csv"), "src,dst\na,b\n1,2\n").unwrap();
    }
    if let Err(error) = read(&folder) {
        assert!(!error.to_string().contains('\n'), "{error}");
        assert_eq!(error.exit_code(), 2, "{error}");
    }
}

fn valid_parquet() -> &'static [u8] {
    static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("features.parquet");
        let lists = Col::Lists(&[&[1.0, 2.0], &[3.0, 4.0]]);
        write_parquet(&path, Compression::SNAPPY, &[("nid", Col::Text(&["a", "b"])), ("emb", lists)]);
        fs::read(path).unwrap()
    })
}

/// 64 cases, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let asked = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { asked } else { ProptestConfig { cases: 64, ..asked } }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_as_a_table_does_not_panic(text in "(src,dst|id,x|id,label|id,split|\"|,|\n|\r|[a-c0-9.é-]|train|nan){0,40}") {
        for name in ["edges.csv", "features.csv", "labels.csv", "splits.csv", "ids.txt"] {
            never_panics(name, text.as_bytes());
        }
    }

    #[test]
    fn any_bytes_as_a_table_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in ["edges.csv", "edges.parquet", "features.npz", "features.npy", "labels.npy"] {
            never_panics(name, &bytes);
        }
    }

    #[test]
    fn a_damaged_parquet_file_does_not_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = valid_parquet().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            // Remove a byte from the middle, so that the magic bytes and the footer stay.
            let at = cut.index(bytes.len() - 8);
            bytes.drain(at..at + 1);
        }
        never_panics("features.parquet", &bytes);
        never_panics("edges.parquet", &bytes);
    }
}
