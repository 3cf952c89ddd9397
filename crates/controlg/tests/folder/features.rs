//! Node features of a folder.

use controlg::Labels;
use controlg::data::{FeatureSource, load_path};
use controlg::graph::Features;
use parquet::basic::Compression;

use super::parquet_file::{Col, write_parquet};
use super::{EDGES, folder, ids, read};

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
