//! The project's own folder layout: what it accepts, what it refuses and how, and that writing and reading agree.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use controlg::data::{Dataset, FeatureSource, LoadOptions, Split, arrays, binary, convert, load, load_path};
use controlg::graph::{Csr, EdgeCounts, EdgeList, Features, Graph, Ids};
use controlg::{Error, Labels, Real};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use tempfile::TempDir;

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

/// A column of a Parquet file.
enum Col<'a> {
    Whole(&'a [i64]),
    Real(&'a [f64]),
    Text(&'a [&'a str]),
    Lists(&'a [&'a [f32]]),
}

fn write_parquet(path: &Path, compression: Compression, columns: &[(&str, Col<'_>)]) {
    let fields = columns.iter().map(|(name, column)| match column {
        Col::Whole(_) => format!("required int64 {name};"),
        Col::Real(_) => format!("optional double {name};"),
        Col::Text(_) => format!("required binary {name} (UTF8);"),
        Col::Lists(_) => {
            format!("optional group {name} (LIST) {{ repeated group list {{ optional float element; }} }}")
        }
    });
    let schema = format!("message t {{ {} }}", fields.collect::<String>());
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut writer = SerializedFileWriter::new(fs::File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, column) in columns {
        let mut out = group.next_column().unwrap().unwrap();
        match column {
            Col::Whole(values) => {
                out.typed::<Int64Type>().write_batch(values, None, None).unwrap();
            }
            Col::Real(values) => {
                let def: Vec<i16> = values.iter().map(|x| i16::from(!x.is_nan())).collect();
                let there: Vec<f64> = values.iter().copied().filter(|x| !x.is_nan()).collect();
                out.typed::<DoubleType>().write_batch(&there, Some(&def), None).unwrap();
            }
            Col::Text(values) => {
                let values: Vec<ByteArray> = values.iter().map(|&x| ByteArray::from(x)).collect();
                out.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
            }
            Col::Lists(lists) => {
                let (mut values, mut def, mut rep) = (Vec::new(), Vec::new(), Vec::new());
                for list in *lists {
                    if list.is_empty() {
                        def.push(1);
                        rep.push(0);
                    }
                    for (at, &x) in list.iter().enumerate() {
                        def.push(3);
                        rep.push(i16::from(at > 0));
                        values.push(x);
                    }
                }
                out.typed::<FloatType>().write_batch(&values, Some(&def), Some(&rep)).unwrap();
            }
        }
        out.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

// What is accepted.

#[test]
fn embeddings_in_parquet_are_matched_by_their_nid() {
    let folder = folder(&[]);
    let path = folder.path().join("embeddings.parquet");
    let lists: [&[f32]; 2] = [&[1.0, 2.0], &[3.0, 4.0]];
    let columns = [("nid", Col::Text(&["x", "y"])), ("emb", Col::Lists(&lists))];
    write_parquet(&path, Compression::UNCOMPRESSED, &columns);
    let ids = controlg::graph::Ids::from_names(["y", "x"].map(str::to_owned).to_vec());
    let embeddings = controlg::data::read_embeddings(&path, &ids, "mine").unwrap();
    assert_eq!(embeddings.row(0), [(0, 3.0), (1, 4.0)]);
    let ids = controlg::graph::Ids::from_names(["y", "z"].map(str::to_owned).to_vec());
    let error = controlg::data::read_embeddings(&path, &ids, "mine").unwrap_err().to_string();
    assert!(error.ends_with("row 1: found node 'x', expected an id that stands in mine"), "{error}");
}

#[test]
fn a_file_of_edges_alone_is_a_graph() {
    let folder = folder(&[("my_edges.csv", "src,dst\nb,a\na,c\nc,c\nb,a\n")]);
    let path = folder.path().join("my_edges.csv");
    let dataset = load(path.to_str().unwrap(), &LoadOptions::default()).unwrap();
    assert_eq!(dataset.format, "folder");
    assert_eq!(ids(&dataset), ["b", "a", "c"]); // in the order in which they first appear
    assert_eq!(edges(&dataset), [(0, 1), (1, 2)]);
    assert_eq!(dataset.edge_counts, EdgeCounts { self_loops: 1, duplicates: 1, directed: false });
    assert!(dataset.notes.iter().any(|note| note.contains("structural")), "{:?}", dataset.notes);
}

#[test]
fn whole_numbers_as_ids_are_sorted_by_value() {
    let dataset = read(&folder(&[("edges.tsv", "Source\tTarget\tkind\n10\t9\tx\n-3\t10\ty\n")])).unwrap();
    assert_eq!(ids(&dataset), ["-3", "9", "10"]);
    assert_eq!(edges(&dataset), [(0, 2), (1, 2)]);
    assert!(dataset.notes[0].ends_with("not used: columns kind"), "{:?}", dataset.notes);
    let dataset = read(&folder(&[("edges.csv", "src,dst\n7,07\n")])).unwrap();
    assert_eq!(ids(&dataset), ["7", "07"]); // two ids, as text, and so not numbers
}

#[test]
fn features_say_which_nodes_there_are() {
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
fn arrays_number_the_nodes_or_follow_ids_txt() {
    let files = folder(&[("edges.csv", "src,dst\n2,0\n"), ("labels.csv", "id,label\n1,0\n2,1\n0,-1\n")]);
    arrays::write_npy(&files.path().join("features.npy"), 4, 2, &[0.5; 8]).unwrap();
    let dataset = read(&files).unwrap();
    assert_eq!(dataset.graph.ids(), &Ids::Numbered(4));
    assert_eq!(dataset.labels.unwrap().classes(), [Labels::NONE, 0, 1, Labels::NONE]);

    let files = folder(&[("edges.csv", "src,dst\nα,\"b,\"\"c\"\n"), ("ids.txt", "b,\"c\r\nnobody\r\nα\r\n")]);
    let sparse = Csr::new(9, vec![0, 1, 1, 3], vec![4, 0, 8], Some(vec![2.0, 3.0, 4.0])).unwrap();
    arrays::write_csr_npz(&files.path().join("features.npz"), &sparse).unwrap();
    let dataset = read(&files).unwrap();
    assert_eq!(ids(&dataset), ["b,\"c", "nobody", "α"]);
    assert_eq!(edges(&dataset), [(0, 2)]);
    assert_eq!(dataset.graph.features(), &Features::Sparse(sparse)); // stays sparse
}

#[test]
fn labels_alone_say_which_nodes_there_are_and_classes_txt_their_order() {
    let dataset = read(&folder(&[
        ("edges.csv", "src,dst\nb,a\n"),
        ("labels.csv", "id,label\na,one\nb,two\nc,one\n"),
        ("classes.txt", "two\nthree\none\n"),
    ]))
    .unwrap();
    assert_eq!(ids(&dataset), ["a", "b", "c"]);
    let labels = dataset.labels.unwrap();
    assert_eq!((labels.classes(), labels.n_classes()), (&[2, 0, 2][..], 3));
}

#[test]
fn spaces_around_cells_and_lines_do_not_count() {
    let dataset = read(&folder(&[("edges.csv", "src, dst\nann, bob\nbob , carl\ncarl,\tann\n")])).unwrap();
    assert_eq!(ids(&dataset), ["ann", "bob", "carl"]);
    assert_eq!(edges(&dataset), [(0, 1), (0, 2), (1, 2)]);

    let dataset = read(&folder(&[
        ("edges.tsv", "src\tdst\nann \tbob\n"),
        ("ids.txt", "bob \nann\n"),
        ("labels.csv", "id, label\nann, red\nbob,red \n"),
        ("classes.txt", "blue\nred \n"),
        ("splits.csv", "id, split\nann, train\nbob, \n"),
    ]))
    .unwrap();
    assert_eq!(ids(&dataset), ["bob", "ann"]);
    assert_eq!(dataset.labels.unwrap().classes(), [1, 1]);
    assert_eq!(dataset.splits[0].train, [1]);
}

#[test]
fn labels_of_some_nodes_leave_the_others_without() {
    let dataset = read(&folder(&[
        ("edges.csv", "src,dst\ndora,carl\ncarl,ann\nann,bob\n"),
        ("labels.csv", "id,label\nann,red\nzoe,blue\n"),
        ("splits.csv", "id,split\ndora,test\n"),
    ]))
    .unwrap();
    assert_eq!(ids(&dataset), ["dora", "carl", "ann", "bob", "zoe"]);
    assert_eq!(edges(&dataset), [(0, 1), (1, 2), (2, 3)]);
    let labels = dataset.labels.unwrap();
    assert_eq!(labels.classes(), [Labels::NONE, Labels::NONE, 1, Labels::NONE, 0]);
    assert_eq!(dataset.splits[0].test, [0]);

    let numbers = [("edges.csv", "src,dst\n10,9\n"), ("labels.csv", "id,label\n9,0\n2,1\n")];
    let dataset = read(&folder(&numbers)).unwrap();
    assert_eq!(ids(&dataset), ["2", "9", "10"]);
    assert_eq!(dataset.labels.unwrap().classes(), [1, 0, Labels::NONE]);
}

#[test]
fn minus_one_is_no_label_unless_classes_txt_lists_it() {
    let labels = ("labels.csv", "id,label\na,x\nb,-1\n");
    let classes = |files: &[(&str, &str)]| read(&folder(files)).unwrap().labels.unwrap();
    let without = classes(&[EDGES, labels]);
    assert_eq!((without.classes(), without.n_classes()), (&[0, Labels::NONE][..], 1));
    assert_eq!(classes(&[EDGES, labels, ("classes.txt", "y\nx\n")]).classes(), [1, Labels::NONE]);
    assert_eq!(classes(&[EDGES, labels, ("classes.txt", "-1\nx\n")]).classes(), [1, 0]);
}

#[test]
fn row_numbers_of_pandas_are_no_features() {
    let files = folder(&[EDGES]);
    let columns = [
        ("id", Col::Text(&["a", "b"])),
        ("x", Col::Real(&[0.5, 2.0])),
        ("__index_level_0__", Col::Whole(&[0, 1])),
    ];
    write_parquet(&files.path().join("features.parquet"), Compression::SNAPPY, &columns);
    let dataset = read(&files).unwrap();
    let Features::Dense(features) = dataset.graph.features() else { panic!("dense") };
    assert_eq!(features.data(), [0.5, 2.0]);
    let note = "features.parquet: not used: columns __index_level_0__";
    assert!(dataset.notes.iter().any(|line| line.ends_with(note)), "{:?}", dataset.notes);
}

#[test]
fn files_that_are_not_read_are_noted() {
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
    let unused: Vec<_> = dataset.notes.iter().filter(|note| note.contains("not used")).collect();
    let endings = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet, .npy";
    let of = |name: &str, rest: String| unused.iter().any(|note| note.ends_with(&format!("{name}: {rest}")));
    assert!(of("labels.txt", format!("not used: labels are read from files {endings}")), "{unused:?}");
    assert!(
        of("features.pt", format!("not used: features are read from files {endings}, .npz")),
        "{unused:?}"
    );
    assert_eq!(unused.len(), 2, "{unused:?}");
}

#[test]
fn structural_features_leave_those_of_the_files_unread() {
    let files = folder(&[("edges.csv", "src,dst\nb,a\n"), ("features.csv", "id,x\na,not a number\nb,1\n")]);
    assert!(read(&files).is_err());
    let dataset = load_path(files.path(), FeatureSource::Structural).unwrap();
    assert_eq!(ids(&dataset), ["a", "b"]);
}

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
        let weight = Col::Real(&[1.0, 2.5, 3.0]);
        let (src, dst) = (Col::Whole(&[30, 10, 20]), Col::Whole(&[10, 20, 30]));
        write_parquet(&at("edges.parquet"), compression, &[("src", src), ("dst", dst), ("weight", weight)]);
        let lists = Col::Lists(&[&[1.0, 2.0], &[3.0, 4.0], &[5.0, 6.0]]);
        write_parquet(
            &at("features.parquet"),
            compression,
            &[("nid", Col::Whole(&[20, 10, 30])), ("emb", lists)],
        );
        let label = Col::Real(&[1.0, f64::NAN, 0.0]);
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
fn gzipped_tables_are_read() {
    let files = folder(&[]);
    let file = fs::File::create(files.path().join("edges.csv.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    gzip.write_all(b"src,dst\n0,1\n").unwrap();
    gzip.finish().unwrap();
    assert_eq!(edges(&read(&files).unwrap()), [(0, 1)]);
}

// What is refused.

/// Files, and fragments that the error must hold.
type Broken = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const EDGES: (&str, &str) = ("edges.csv", "src,dst\na,b\n");

const BROKEN: &[Broken] = &[
    ("an empty file", &[("edges.csv", "")], &["edges.csv: line 1: found an empty file", "header"]),
    ("a missing column", &[("edges.csv", "src,to\na,b\n")], &["edges.csv: line 1", "\"src\", \"to\"", "dst"]),
    ("no header", &[("edges.csv", "0,1\n1,2\n")], &["edges.csv: line 1", "\"0\", \"1\"", "src"]),
    (
        "a header with a nameless column",
        &[("edges.csv", "src,,dst\n")],
        &["line 1", "column 2 without a name"],
    ),
    ("a header with a column twice", &[("edges.csv", "src,src,dst\n")], &["line 1", "two columns 'src'"]),
    ("a header only", &[("edges.csv", "src,dst\n")], &["edges.csv: found no edges", "at least one edge"]),
    (
        "a long row",
        &[("edges.csv", "src,dst\na,b\n\na,b,c\n")],
        &["edges.csv: line 4: found 3 cells, expected 2"],
    ),
    ("a short row", &[("edges.csv", "src,dst\na\n")], &["edges.csv: line 2: found 1 cells, expected 2"]),
    ("an empty id", &[("edges.csv", "src,dst\na,b\n,b\n")], &["edges.csv: line 3: found an empty id"]),
    (
        "weight 0",
        &[("edges.csv", "src,dst,weight\na,b,1\nb,c,0\n")],
        &["edges.csv: line 3: found weight 0, expected"],
    ),
    (
        "weight < 0",
        &[("edges.csv", "src,dst,weight\na,b,-2\n")],
        &["edges.csv: line 2: found weight -2", "above 0"],
    ),
    (
        "weight inf",
        &[("edges.csv", "src,dst,weight\na,b,inf\n")],
        &["line 2: found 'inf' in column 'weight'"],
    ),
    (
        "no weight",
        &[("edges.csv", "src,dst,weight\na,b,\n")],
        &["line 2: found an empty cell in column 'weight'"],
    ),
    (
        "weight text",
        &[("edges.tsv", "src\tdst\tweight\na\tb\theavy\n")],
        &["edges.tsv: line 2: found 'heavy'"],
    ),
    (
        "an edge to a node that is not there",
        &[
            ("edges.csv", "src,dst,note\na,b,\nb,a,\"two\nlines\"\nb,c,\n"),
            ("features.csv", "id,x\na,1\nb,2\n"),
        ],
        &["edges.csv: line 5: found node 'c', expected an id that stands in features.csv"],
    ),
    (
        "an id of two lines in the edges",
        &[("edges.csv", "src,dst\na,b\n\"b\nc\",a\n")],
        &["edges.csv: line 3: found an id of several lines, the first 'b', expected an id on one line"],
    ),
    (
        "a quote that swallows rows",
        &[("edges.tsv", "src\tdst\na\tb\nb\t\"c\nc\td\nd\ta\n")],
        &["edges.tsv: line 3: found an id of several lines, the first 'c'"],
    ),
    (
        "an id of two lines in the features",
        &[EDGES, ("features.csv", "id,x\na,1\n\"b\r\n\",2\n")],
        &["features.csv: line 3: found an id of several lines, the first 'b'"],
    ),
    (
        "an id of two lines in the splits",
        &[EDGES, ("splits.csv", "id,split\na,val\n\"b\nb\",val\n")],
        &["splits.csv: line 3: found an id of several lines"],
    ),
    (
        "a label of two lines",
        &[EDGES, ("labels.tsv", "id\tlabel\na\t\"x\nb\ty\n")],
        &["labels.tsv: line 2: found label 'x", "expected a label on one line"],
    ),
    (
        "ids.txt with old line breaks",
        &[EDGES, ("ids.txt", "a\rb\r")],
        &["ids.txt: line 1: found a line break of"],
    ),
    (
        "a quote behind a space",
        &[("edges.csv", "src,dst\na,b\nb, \"c\"\n")],
        &["edges.csv: line 3: found ' \"c\"' with a quote behind a space"],
    ),
    (
        "labels among the features",
        &[EDGES, ("features.csv", "id,x,Label\na,1,0\nb,2,1\n")],
        &["features.csv: line 1: found column 'Label'", "move it to labels.csv"],
    ),
    (
        "a split of a node that neither edges nor labels have",
        &[EDGES, ("labels.csv", "id,label\na,x\n"), ("splits.csv", "id,split\nz,val\n")],
        &["splits.csv: line 2: found node 'z', expected an id that stands in edges.csv or labels.csv"],
    ),
    (
        "an edge to a node beyond the numbered ones",
        &[("edges.csv", "src,dst\n0,1\n1,2\n"), ("ids.txt", "0\n1\n")],
        &["edges.csv: line 3: found node '2', expected an id of ids.txt, 0 to 1"],
    ),
    (
        "ids.txt twice",
        &[EDGES, ("ids.txt", "a\nb\na\n")],
        &["ids.txt: line 3: found id 'a' again, as on line 1"],
    ),
    ("ids.txt blank", &[EDGES, ("ids.txt", "a\n\nb\n")], &["ids.txt: line 2: found an empty line"]),
    ("ids.txt empty", &[EDGES, ("ids.txt", "")], &["ids.txt: line 1: found an empty file"]),
    (
        "features twice",
        &[EDGES, ("features.csv", "id,x\na,1\nb,2\na,3\n")],
        &["features.csv: line 4: found id 'a' again"],
    ),
    (
        "features without ids",
        &[EDGES, ("features.csv", "x,y\n1,2\n")],
        &["features.csv: line 1", "id or nid"],
    ),
    ("features without rows", &[EDGES, ("features.csv", "id,x\n")], &["features.csv: found no rows"]),
    (
        "features without columns",
        &[EDGES, ("features.csv", "id\na\nb\n")],
        &["features.csv: found no features"],
    ),
    (
        "NaN",
        &[EDGES, ("features.csv", "id,x\na,1\nb,NaN\n")],
        &["features.csv: line 3: found 'NaN' in column 'x'"],
    ),
    (
        "inf",
        &[EDGES, ("features.csv", "id,x\na,1e99\nb,1\n")],
        &["features.csv: line 2: found '1e99'", "finite"],
    ),
    (
        "text",
        &[EDGES, ("features.csv", "id,x\na,one\nb,1\n")],
        &["features.csv: line 2: found 'one'", "number"],
    ),
    (
        "no number",
        &[EDGES, ("features.csv", "id,x\na,\nb,1\n")],
        &["features.csv: line 2: found an empty cell"],
    ),
    (
        "a node without features",
        &[EDGES, ("ids.txt", "a\nb\n"), ("features.csv", "id,x\nb,1\n")],
        &["features.csv: found no row for node 'a', expected one row for each id of ids.txt"],
    ),
    (
        "features of a node that is not there",
        &[EDGES, ("ids.txt", "a\nb\n"), ("features.csv", "id,x\nb,1\nc,2\n")],
        &["features.csv: line 3: found node 'c'"],
    ),
    (
        "labels twice",
        &[EDGES, ("ids.txt", "a\nb\n"), ("labels.csv", "id,label\na,1\na,1\n")],
        &["labels.csv: line 3"],
    ),
    (
        "labels of nobody",
        &[EDGES, ("ids.txt", "a\nb\n"), ("labels.csv", "id,label\nz,1\n")],
        &["labels.csv: line 2: found node 'z'"],
    ),
    (
        "labels without a label",
        &[EDGES, ("labels.csv", "id,color\na,1\nb,2\n")],
        &["labels.csv: line 1", "label or class"],
    ),
    (
        "a gap",
        &[EDGES, ("labels.csv", "id,label\na,0\nb,2\n")],
        &["labels.csv: line 3: found label '2'", "class 1"],
    ),
    (
        "a class below 0",
        &[EDGES, ("labels.csv", "id,label\na,0\nb,-2\n")],
        &["labels.csv: line 3: found label '-2'"],
    ),
    (
        "a class that classes.txt lacks",
        &[EDGES, ("labels.csv", "id,label\na,x\nb,y\n"), ("classes.txt", "x\n")],
        &["labels.csv: line 3: found label 'y', expected a class that stands in classes.txt"],
    ),
    (
        "an unknown word",
        &[EDGES, ("splits.csv", "id,split\na,train\nb,dev\n")],
        &["splits.csv: line 3: found 'dev'"],
    ),
    ("splits twice", &[EDGES, ("splits.csv", "id,own:0,split\na,,\n")], &["splits.csv: line 1", "twice"]),
    (
        "splits of nobody",
        &[EDGES, ("splits.csv", "id,split\nz,train\n")],
        &["splits.csv: line 2: found node 'z'"],
    ),
    (
        "splits again",
        &[EDGES, ("splits.csv", "id,split\na,val\na,val\n")],
        &["splits.csv: line 3: found id 'a' again"],
    ),
    (
        "two files",
        &[EDGES, ("edges.tsv", "src\tdst\n")],
        &["edges.csv and edges.tsv", "one file for the edges"],
    ),
    ("no Parquet", &[("edges.parquet", "src,dst\n")], &["edges.parquet: found no PAR1", "Parquet"]),
    ("an empty Parquet", &[("edges.parquet", "")], &["edges.parquet: found no PAR1"]),
    ("Parquet and nothing in it", &[("edges.parquet", "PAR1PAR1")], &["edges.parquet", "whole Parquet file"]),
    ("no zip", &[EDGES, ("features.npz", "PK")], &["features.npz"]),
    ("no npy", &[EDGES, ("features.npy", "x")], &["features.npy"]),
];

/// An error of one line for the user, with these fragments in it.
fn assert_refused(what: &str, result: Result<Dataset, Error>, fragments: &[&str]) {
    let Err(error) = result else { panic!("{what}: accepted") };
    let line = error.to_string();
    assert_eq!(error.exit_code(), 2, "{what}: {line}");
    assert!(!line.contains('\n') && line.contains("expected"), "{what}: {line}");
    for fragment in fragments {
        assert!(line.contains(fragment), "{what}: {line}\n  lacks: {fragment}");
    }
}

#[test]
fn broken_folders_are_refused_with_file_and_place() {
    for (what, files, fragments) in BROKEN {
        assert_refused(what, read(&folder(files)), fragments);
    }
}

#[test]
fn broken_bytes_are_refused_with_file_and_place() {
    let files = folder(&[]);
    fs::write(files.path().join("edges.csv"), b"src,dst\na,b\nc,\xff\n").unwrap();
    assert_refused("not UTF-8", read(&files), &["edges.csv: line 3: found bytes that are not UTF-8"]);

    let files = folder(&[EDGES, ("ids.txt", "a\nb\n")]);
    arrays::write_npy(&files.path().join("features.npy"), 3, 1, &[1.0; 3]).unwrap();
    assert_refused(
        "rows",
        read(&files),
        &["features.npy: found 3 rows, expected 2, one for each id of ids.txt"],
    );

    let files = folder(&[("edges.csv", "src,dst\n0,a\n")]);
    arrays::write_npy(&files.path().join("features.npy"), 3, 1, &[1.0; 3]).unwrap();
    assert_refused(
        "ids",
        read(&files),
        &["edges.csv: line 2: found node 'a', expected an id of features.npy, 0 to 2"],
    );

    let files = folder(&[EDGES, ("ids.txt", "a\nb\n")]);
    arrays::write_npy(&files.path().join("labels.npy"), 2, 1, &[1.0; 2]).unwrap();
    assert_refused("reals", read(&files), &["labels.npy"]);
}

#[test]
fn a_gzip_bomb_stops_at_the_limit() {
    let files = folder(&[]);
    let file = fs::File::create(files.path().join("edges.csv.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    gzip.write_all(b"src,dst\n").unwrap();
    let megabyte = vec![b'\n'; 1 << 20];
    for _ in 0..420 {
        gzip.write_all(&megabyte).unwrap();
    }
    gzip.finish().unwrap();
    assert_refused("bomb", read(&files), &["edges.csv.gz: found more than", "bytes unpacked"]);
}

#[test]
fn broken_parquet_is_refused_with_file_and_place() {
    let files = folder(&[]);
    let path = files.path().join("edges.parquet");
    let edges = || [("src", Col::Text(&["a", "b"])), ("dst", Col::Text(&["b", "c"]))];
    write_parquet(&path, Compression::SNAPPY, &edges());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    assert_refused("truncated", read(&files), &["edges.parquet: found no PAR1"]);
    let mut headless = whole.clone();
    headless[0] = b'X';
    fs::write(&path, headless).unwrap();
    assert_refused("magic", read(&files), &["edges.parquet: found no PAR1"]);

    write_parquet(&path, Compression::SNAPPY, &[("src", Col::Whole(&[1, 2])), ("to", Col::Whole(&[2, 3]))]);
    assert_refused("column", read(&files), &["edges.parquet: schema", "\"src\", \"to\"", "dst or target"]);
    let weight = Col::Real(&[1.0, f64::NAN]);
    write_parquet(
        &path,
        Compression::SNAPPY,
        &[("src", Col::Whole(&[1, 2])), ("dst", Col::Whole(&[2, 3])), ("weight", weight)],
    );
    assert_refused("null", read(&files), &["edges.parquet: row 2: found an empty cell in column 'weight'"]);
    write_parquet(&path, Compression::SNAPPY, &[("src", Col::Whole(&[])), ("dst", Col::Whole(&[]))]);
    assert_refused("empty", read(&files), &["edges.parquet: found no edges"]);
    let lists = || Col::Lists(&[&[1.0], &[2.0]]);
    write_parquet(&path, Compression::SNAPPY, &[("src", lists()), ("dst", lists()), ("weight", lists())]);
    assert_refused("lists", read(&files), &["edges.parquet: row 1: found '[1.0]' in column 'weight'"]);

    write_parquet(&path, Compression::SNAPPY, &edges());
    let features = files.path().join("features.parquet");
    let nids = || Col::Text(&["a", "b", "c"]);
    let ragged = Col::Lists(&[&[1.0, 2.0], &[3.0], &[1.0, 2.0]]);
    write_parquet(&features, Compression::SNAPPY, &[("nid", nids()), ("emb", ragged)]);
    assert_refused("ragged", read(&files), &["features.parquet: row 2: found 1 numbers, expected 2"]);
    let infinite = Col::Lists(&[&[1.0], &[f32::INFINITY], &[1.0]]);
    write_parquet(&features, Compression::SNAPPY, &[("nid", nids()), ("emb", infinite)]);
    assert_refused("infinite", read(&files), &["features.parquet: row 2: found inf in column 'emb'"]);
    write_parquet(&features, Compression::SNAPPY, &[("nid", nids()), ("emb", Col::Lists(&[&[], &[], &[]]))]);
    assert_refused("nothing", read(&files), &["features.parquet: found no features"]);
    write_parquet(&features, Compression::SNAPPY, &[("nid", nids()), ("x", Col::Text(&["1", "2", "z"]))]);
    assert_refused("text", read(&files), &["features.parquet: row 3: found 'z' in column 'x'"]);
    write_parquet(
        &features,
        Compression::SNAPPY,
        &[("nid", Col::Text(&["a", "b", "a"])), ("x", Col::Whole(&[1, 2, 3]))],
    );
    assert_refused("twice", read(&files), &["features.parquet: row 3: found id 'a' again"]);
}

/// A Parquet file without rows whose schema is a chain of groups in groups.
fn nested_parquet(depth: usize) -> Vec<u8> {
    let group = [0x35, 0, 0x18, 0, 0x15, 2, 0]; // required, no name, one child
    let leaf = [0x15, 0, 0x25, 0, 0x18, 1, b'x', 0]; // a required truth value
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
fn a_deeply_nested_schema_does_not_exhaust_the_stack() {
    for (depth, words) in
        [(1, "schema: found columns [\"x\"]"), (16_383, "schema"), (1 << 20, "a schema of 1048577 elements")]
    {
        let files = folder(&[]);
        fs::write(files.path().join("edges.parquet"), nested_parquet(depth)).unwrap();
        assert_refused("nesting", read(&files), &["edges.parquet", words]);
    }
}

// Writing and reading agree.

fn assert_same(a: &Dataset, b: &Dataset) {
    assert_eq!(a.graph.adjacency(), b.graph.adjacency());
    assert_eq!(a.graph.features(), b.graph.features());
    assert_eq!(a.graph.ids(), b.graph.ids());
    assert_eq!(a.labels, b.labels);
    assert_eq!(a.splits, b.splits);
}

fn round_trip(dataset: &Dataset) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new").join("graph");
    convert::to_folder(dataset, &out).unwrap();
    let left: Vec<_> =
        fs::read_dir(out.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [out.as_path()], "nothing but the folder is left");
    load_path(&out, FeatureSource::Given).unwrap()
}

fn small(ids: Ids, features: Features, weights: Option<Vec<Real>>, labels: Option<Labels>) -> Dataset {
    let pairs = vec![(0, 1), (3, 1), (2, 0), (1, 4)];
    let (adjacency, edge_counts) = EdgeList { pairs, weights }.into_adjacency(5).unwrap();
    let graph = Graph::new(adjacency, features, ids).unwrap();
    let split = |index, train: &[u32], val: &[u32], test: &[u32]| Split {
        protocol: "a,b: \"c\"".into(),
        index,
        train: train.to_vec(),
        val: val.to_vec(),
        test: test.to_vec(),
    };
    let splits = vec![split(7, &[0, 4], &[2], &[]), split(0, &[1], &[], &[0, 2, 3, 4])];
    Dataset { name: "small".into(), format: "folder", graph, labels, splits, edge_counts, notes: Vec::new() }
}

fn dense() -> Features {
    Features::dense(5, 2, vec![0.125, -2.0, 0.0, 1.0 / 65536.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1e10]).unwrap()
}

#[test]
fn odd_ids_weights_and_labels_survive() {
    let odd = ["spaced  out", "a,b", "\"quoted\"", "日本\t語", "'; drop"].map(str::to_owned).to_vec();
    let names = ["z", "never used", "-1", "a"].map(str::to_owned).to_vec();
    let labels = Labels::new(vec![0, 2, Labels::NONE, 3, 0], names);
    let weights = Some(vec![0.1, 1e-7, 3.0, 16_777_217.0]);
    let dataset = small(Ids::Named(odd), dense(), weights, Some(labels));
    assert_same(&dataset, &round_trip(&dataset));

    let sparse =
        Csr::new(1 << 20, vec![0, 2, 2, 3, 3, 4], vec![5, 1_000_000, 0, 9], Some(vec![1.5, 2.0, -3.0, 1.0]))
            .unwrap();
    let labels = Labels::numbered(vec![1, 0, 2, 2, Labels::NONE]);
    let dataset = small(Ids::Numbered(5), Features::Sparse(sparse), None, Some(labels));
    assert_same(&dataset, &round_trip(&dataset));

    let binary = Csr::new(3, vec![0, 2, 2, 3, 3, 3], vec![0, 2, 1], None).unwrap();
    let labels = Labels::new(vec![0; 5], vec!["10".into()]);
    let dataset = small(Ids::Numbered(5), Features::Sparse(binary), None, Some(labels));
    assert_same(&dataset, &round_trip(&dataset));

    // In sorted order, and still not evident: -1 alone would be no label.
    let labels = Labels::new(vec![0, 1, 0, 1, Labels::NONE], vec!["-1".into(), "a".into()]);
    let dataset = small(Ids::Numbered(5), dense(), None, Some(labels));
    assert_same(&dataset, &round_trip(&dataset));

    let labels = Labels::numbered(vec![Labels::NONE; 5]);
    let dataset = small(Ids::Numbered(5), dense(), None, Some(labels));
    assert_same(&dataset, &round_trip(&dataset));
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let names = |first: &str| Ids::Named([first, "b", "c", "d", "e"].map(str::to_owned).to_vec());
    for bad in ["", "two\nlines", "\u{feff}x", " x", "x\t"] {
        let dataset = small(names(bad), dense(), None, None);
        let error = convert::to_folder(&dataset, &folder.path().join("out")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(!error.to_string().contains('\n'));
    }
    let spaced = Labels::new(vec![0, 1, 0, 1, 0], vec!["x".into(), "x ".into()]);
    let broken = Labels::new(vec![0, 1, 0, 1, 0], vec!["x".into(), "x\ny".into()]);
    for labels in [spaced, broken] {
        let dataset = small(names("a"), dense(), None, Some(labels));
        assert!(convert::to_folder(&dataset, &folder.path().join("out")).is_err());
    }
    let twice = Labels::new(vec![0, 1, 0, 1, 0], vec!["x".into(), "x".into()]);
    let dataset = small(names("a"), dense(), None, Some(twice));
    assert!(convert::to_folder(&dataset, &folder.path().join("out")).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let dataset = small(names("a"), dense(), None, None);
    fs::write(folder.path().join("file"), "mine").unwrap();
    let error = convert::to_folder(&dataset, folder.path()).unwrap_err();
    assert!(error.to_string().contains("a folder with files in it"), "{error}");
    assert!(convert::to_folder(&dataset, &folder.path().join("file")).unwrap_err().exit_code() == 2);
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "mine");
    fs::create_dir(folder.path().join("empty")).unwrap();
    convert::to_folder(&dataset, &folder.path().join("empty")).unwrap();
    assert_same(&dataset, &load_path(&folder.path().join("empty"), FeatureSource::Given).unwrap());
}

#[test]
fn ids_of_a_mapped_folder_are_those_it_was_made_with() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("mapped");
    let names = ["v", "w", "x", "y", "z"].map(str::to_owned).to_vec();
    binary::to_binary(&small(Ids::Named(names), dense(), None, None), &out).unwrap();
    let load = || load_path(&out, FeatureSource::Given);
    assert_eq!(ids(&load().unwrap()), ["v", "w", "x", "y", "z"]);
    let list = out.join("ids.txt");
    fs::write(&list, "v\nw\nx\nz\ny\n").unwrap();
    assert_refused("exchanged", load(), &["ids.txt: found content with another hash", "graph.json"]);
    fs::write(&list, "v\nw\nx\ny\nzz\n").unwrap();
    assert_refused("longer", load(), &["ids.txt: found 11 bytes, expected 10, as graph.json says"]);

    // The hash is right, the ids are not.
    fs::remove_dir_all(&out).unwrap();
    let twice = ["v", "w", "x", "y", "v"].map(str::to_owned).to_vec();
    binary::to_binary(&small(Ids::Named(twice), dense(), None, None), &out).unwrap();
    assert_refused("twice", load(), &["ids.txt: line 5: found id \"v\" again, expected each id once"]);
}

#[test]
fn real_data_sets_survive() {
    let Some(data) = common::real_data("real_data_sets_survive") else { return };
    let options = LoadOptions { data_dir: Some(data), ..Default::default() };
    for name in ["cora", "citeseer", "chameleon", "coauthor-cs"] {
        let dataset = load(name, &options).unwrap();
        assert_same(&dataset, &round_trip(&dataset));
    }
}

#[test]
fn a_missing_file_of_a_known_data_set_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let load_as = |name: &str, features| {
        load(name, &LoadOptions { data_dir: Some(folder.path().to_owned()), features, ..Default::default() })
            .unwrap_err()
    };
    let error = load_as("wikics", FeatureSource::Given);
    let line = error.to_string();
    assert_eq!(error.exit_code(), 2);
    let place: PathBuf = folder.path().join("wikics").join("data.json");
    for fragment in
        [place.to_str().unwrap(), "controlg data fetch wikics", "https://raw.githubusercontent.com/pmernyei/"]
    {
        assert!(line.contains(fragment), "{line}");
    }
    assert!(!line.contains("structural"), "{line}");
    let line = load_as("ogbn-arxiv", FeatureSource::Given).to_string();
    for fragment in ["node-feat.csv.gz", "arxiv.zip", "--features structural"] {
        assert!(line.contains(fragment), "{line}");
    }
    let line = load_as("ogbn-arxiv", FeatureSource::Structural).to_string();
    assert!(!line.contains("node-feat.csv.gz"), "{line}");
}

// Nothing that a file holds makes a reader panic.

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

fn whole_parquet() -> &'static [u8] {
    static BYTES: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("features.parquet");
        let lists = Col::Lists(&[&[1.0, 2.0], &[3.0, 4.0]]);
        write_parquet(&path, Compression::SNAPPY, &[("nid", Col::Text(&["a", "b"])), ("emb", lists)]);
        fs::read(path).unwrap()
    })
}

/// A few seconds' worth of cases, unless `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let asked = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { asked } else { ProptestConfig { cases: 64, ..asked } }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_as_a_table(text in "(src,dst|id,x|id,label|id,split|\"|,|\n|\r|[a-c0-9.é-]|train|nan){0,40}") {
        for name in ["edges.csv", "features.csv", "labels.csv", "splits.csv", "ids.txt"] {
            never_panics(name, text.as_bytes());
        }
    }

    #[test]
    fn any_bytes_as_a_table(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in ["edges.csv", "edges.parquet", "features.npz", "features.npy", "labels.npy"] {
            never_panics(name, &bytes);
        }
    }

    #[test]
    fn any_change_of_a_parquet_file(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = whole_parquet().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            // Out of the middle, so that the magic bytes and the footer stay.
            let at = cut.index(bytes.len() - 8);
            bytes.drain(at..at + 1);
        }
        never_panics("features.parquet", &bytes);
        never_panics("edges.parquet", &bytes);
    }
}
