//! Parquet tables of a folder.

use std::fs;

use controlg::Labels;
use controlg::graph::Features;
use parquet::basic::Compression;

use super::parquet_file::{Col, write_parquet};
use super::{assert_rejected, folder, ids, read};

#[test]
fn parquet_tables_are_read_in_every_compression() {
    use parquet::basic::{GzipLevel, ZstdLevel};
    let all = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(GzipLevel::default()),
    ];
    for compression in all {
        let files = folder(&[]);
        let at = |name: &str| files.path().join(name);
        let weight = Col::Floats(&[1.0, 2.5, 3.0]);
        let (src, dst) = (Col::Integers(&[30, 10, 20]), Col::Integers(&[10, 20, 30]));
        write_parquet(&at("edges.parquet"), compression, &[("src", src), ("dst", dst), ("weight", weight)]);
        let lists = Col::Lists(&[&[1.0, 2.0], &[3.0, 4.0], &[5.0, 6.0]]);
        write_parquet(
            &at("features.parquet"),
            compression,
            &[("nid", Col::Integers(&[20, 10, 30])), ("emb", lists)],
        );
        let label = Col::Floats(&[1.0, f64::NAN, 0.0]);
        write_parquet(
            &at("labels.parquet"),
            compression,
            &[("id", Col::Text(&["10", "20", "30"])), ("label", label)],
        );
        let dataset = read(&files).unwrap();
        assert_eq!(ids(&dataset), ["20", "10", "30"]);
        let Features::Dense(features) = dataset.graph.features() else { panic!("dense") };
        assert_eq!(features.data(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(dataset.graph.adjacency().entries(1).collect::<Vec<_>>(), [(0, 2.5), (2, 1.0)]);
        assert_eq!(dataset.labels.unwrap().classes(), [Labels::NONE, 1, 0]);
    }
}

#[test]
fn errors_in_parquet_name_file_and_row() {
    let files = folder(&[]);
    let path = files.path().join("edges.parquet");
    let edges = || [("src", Col::Text(&["a", "b"])), ("dst", Col::Text(&["b", "c"]))];
    write_parquet(&path, Compression::SNAPPY, &edges());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    assert_rejected("truncated", read(&files), &["edges.parquet: found no PAR1"]);
    let mut headless = whole.clone();
    headless[0] = b'X';
    fs::write(&path, headless).unwrap();
    assert_rejected("magic", read(&files), &["edges.parquet: found no PAR1"]);

    write_parquet(
        &path,
        Compression::SNAPPY,
        &[("src", Col::Integers(&[1, 2])), ("to", Col::Integers(&[2, 3]))],
    );
    assert_rejected("column", read(&files), &["edges.parquet: schema", "\"src\", \"to\"", "dst or target"]);
    let weight = Col::Floats(&[1.0, f64::NAN]);
    write_parquet(
        &path,
        Compression::SNAPPY,
        &[("src", Col::Integers(&[1, 2])), ("dst", Col::Integers(&[2, 3])), ("weight", weight)],
    );
    assert_rejected("null", read(&files), &["edges.parquet: row 2: found an empty cell in column 'weight'"]);
    write_parquet(&path, Compression::SNAPPY, &[("src", Col::Integers(&[])), ("dst", Col::Integers(&[]))]);
    assert_rejected("empty", read(&files), &["edges.parquet: found no edges"]);
    let lists = || Col::Lists(&[&[1.0], &[2.0]]);
    write_parquet(&path, Compression::SNAPPY, &[("src", lists()), ("dst", lists()), ("weight", lists())]);
    assert_rejected("lists", read(&files), &["edges.parquet: row 1: found '[1.0]' in column 'weight'"]);

    write_parquet(&path, Compression::SNAPPY, &edges());
    let features = files.path().join("features.parquet");
    let nids = || Col::Text(&["a", "b", "c"]);
    let ragged = Col::Lists(&[&[1.0, 2.0], &[3.0], &[1.0, 2.0]]);
    write_parquet(&features, Compression::SNAPPY, &[("nid", nids()), ("emb", ragged)]);
    assert_rejected("ragged", read(&files), &["features.parquet: row 2: found 1 numbers, expected 2"]);
    let infinite = Col::Lists(&[&[1.0], &[f32::INFINITY], &[1.0]]);
    write_parquet(&features, Compression::SNAPPY, &[("nid", nids()), ("emb", infinite)]);
    assert_rejected("infinite", read(&files), &["features.parquet: row 2: found inf in column 'emb'"]);
    write_parquet(&features, Compression::SNAPPY, &[("nid", nids()), ("emb", Col::Lists(&[&[], &[], &[]]))]);
    assert_rejected("nothing", read(&files), &["features.parquet: found no features"]);
    write_parquet(&features, Compression::SNAPPY, &[("nid", nids()), ("x", Col::Text(&["1", "2", "z"]))]);
    assert_rejected("text", read(&files), &["features.parquet: row 3: found 'z' in column 'x'"]);
    write_parquet(
        &features,
        Compression::SNAPPY,
        &[("nid", Col::Text(&["a", "b", "a"])), ("x", Col::Integers(&[1, 2, 3]))],
    );
    assert_rejected("twice", read(&files), &["features.parquet: row 3: found duplicate id 'a'"]);
}

/// A Parquet file without rows whose schema is a chain of nested groups.
fn nested_parquet(depth: usize) -> Vec<u8> {
    let group = [0x35, 0, 0x18, 0, 0x15, 2, 0]; // required, no name, one child
    let leaf = [0x15, 0, 0x25, 0, 0x18, 1, b'x', 0]; // a required boolean
    let mut footer = vec![0x15, 2, 0x19, 0xfc]; // version 1, a list of structs
    let mut count = depth + 1;
    while count > 127 {
        footer.push(count as u8 | 128);
        count >>= 7;
    }
    footer.push(count as u8);
    (0..depth).for_each(|_| footer.extend(group));
    footer.extend(leaf);
    footer.extend([0x16, 0, 0x19, 0x0c, 0]); // no rows, no row groups
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", &footer[..], &length, b"PAR1"].concat()
}

#[test]
fn a_deeply_nested_schema_does_not_overflow_the_stack() {
    for (depth, message) in
        [(1, "schema: found columns [\"x\"]"), (16_383, "schema"), (1 << 20, "a schema of 1048577 elements")]
    {
        let files = folder(&[]);
        fs::write(files.path().join("edges.parquet"), nested_parquet(depth)).unwrap();
        assert_rejected("nesting", read(&files), &["edges.parquet", message]);
    }
}
