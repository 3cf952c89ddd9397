//! Node features of a folder.

use std::fs;

use controlg::Labels;
use controlg::data::{FeatureSource, LoadOptions, arrays, binary, convert, load, load_path};
use controlg::graph::Features;
use parquet::basic::Compression;

use super::parquet_file::{Col, write_parquet};
use super::{EDGES, assert_rejected, folder, ids, read};

#[test]
fn the_table_of_features_defines_the_nodes() {
    let dataset = read(&folder(&[
        ("edges.csv", "src,dst,weight\nx,z,0.5\n"),
        ("features.csv", "id,a,b\nz,1,2\ny,-3e-2, 4\nx,5,6\n"),
        ("labels.csv", "id,label\nx,tea\nz,\ny,coffee\n"),
        ("splits.csv", "id,split,geomgcn-10:3\nx,train,\ny,val,test\nz,test,train\n"),
    ]))
    .unwrap();
    assert_eq!(ids(&dataset), ["z", "y", "x"]);
    assert_eq!(dataset.graph.adjacency().entries(0).collect::<Vec<_>>(), [(2, 0.5)]);
    let Features::Dense(features) = dataset.graph.features() else { panic!("dense") };
    assert_eq!(features.data(), [1.0, 2.0, -0.03, 4.0, 5.0, 6.0]);
    let labels = dataset.labels.unwrap();
    assert_eq!(labels.names(), ["coffee", "tea"]);
    assert_eq!(labels.classes(), [Labels::NONE, 0, 1]);
    let [own, geom] = &dataset.splits[..] else { panic!("two splits") };
    assert_eq!((own.protocol.as_str(), own.index, &own.train[..]), ("own", 0, &[2][..]));
    assert_eq!(
        (geom.protocol.as_str(), geom.index, &geom.train[..], &geom.test[..]),
        ("geomgcn-10", 3, &[0][..], &[1][..])
    );
}

#[test]
fn index_columns_of_pandas_are_not_features() {
    let files = folder(&[EDGES]);
    let columns = [
        ("id", Col::Text(&["a", "b"])),
        ("x", Col::Floats(&[0.5, 2.0])),
        ("__index_level_0__", Col::Integers(&[0, 1])),
    ];
    write_parquet(&files.path().join("features.parquet"), Compression::SNAPPY, &columns);
    let dataset = read(&files).unwrap();
    let Features::Dense(features) = dataset.graph.features() else { panic!("dense") };
    assert_eq!(features.data(), [0.5, 2.0]);
    let note = "features.parquet: ignored columns __index_level_0__";
    assert!(dataset.notes.iter().any(|line| line.ends_with(note)), "{:?}", dataset.notes);
}

#[test]
fn structural_features_do_not_read_the_features_in_the_files() {
    let files = folder(&[("edges.csv", "src,dst\nb,a\n"), ("features.csv", "id,x\na,not a number\nb,1\n")]);
    assert!(read(&files).is_err());
    let dataset = load_path(files.path(), FeatureSource::Structural).unwrap();
    assert_eq!(ids(&dataset), ["a", "b"]);
}

fn names(dataset: &controlg::Dataset) -> Vec<&str> {
    dataset.graph.feature_names().unwrap_or_default().iter().map(String::as_str).collect()
}

#[test]
fn feature_names_survive_conversion() {
    let files = folder(&[EDGES, ("features.csv", "x 1,id,y\n1,a,2\n3,b,4\n")]);
    let dataset = read(&files).unwrap();
    assert_eq!(names(&dataset), ["x 1", "y"]);

    let home = folder(&[]);
    let (tables, binary) = (home.path().join("tables"), home.path().join("binary"));
    convert::to_folder(&dataset, &tables).unwrap();
    binary::to_binary(&dataset, &binary).unwrap();
    let on_disk = LoadOptions { stay_on_disk: true, ..LoadOptions::default() };
    let stored = load(binary.to_str().unwrap(), &on_disk).unwrap();
    for again in [load_path(&tables, FeatureSource::Given), load_path(&binary, FeatureSource::Given)] {
        let again = again.unwrap();
        assert_eq!(names(&again), ["x 1", "y"]);
        assert_eq!(again.graph.fingerprint(), dataset.graph.fingerprint());
    }
    // Features on disk are reordered when they are read.
    let moved = stored.graph.reorder_features(&[1, 0]).unwrap();
    assert_eq!(moved.feature_names().unwrap(), ["y", "x 1"]);
    assert_ne!(moved.fingerprint(), stored.graph.fingerprint());
    let expected = dataset.graph.reorder_features(&[1, 0]).unwrap();
    assert_eq!(moved.resident().unwrap().features(), expected.features());

    fs::write(binary.join("feature_names.txt"), "y\nx 1\n").unwrap();
    let damaged = load_path(&binary, FeatureSource::Given);
    assert_rejected("exchanged", damaged, &["feature_names.txt: found a different SHA-256"]);
}

#[test]
fn names_of_an_array_are_in_a_file_of_their_own() {
    let read_with = |list: &str| {
        let files = folder(&[("edges.csv", "src,dst\n0,1\n"), ("feature_names.txt", list)]);
        arrays::write_npy(&files.path().join("features.npy"), 2, 2, &[0.5; 4]).unwrap();
        read(&files).unwrap()
    };
    assert_eq!(names(&read_with("age\r\nheight\r\n")), ["age", "height"]);
    let other = read_with("age\n");
    assert!(names(&other).is_empty());
    assert_eq!(other.notes, ["feature names are ignored: found 1 names for 2 columns"]);
    // Structural features have no names, nor has a column of lists.
    let files = folder(&[EDGES, ("features.csv", "id,x\na,1\nb,2\n")]);
    assert!(names(&load_path(files.path(), FeatureSource::Structural).unwrap()).is_empty());
}
