//! Errors name the file, the place, the wrong content and the right one.

use std::fs;
use std::io::Write;

use controlg::data::{FeatureSource, arrays, load_path};

use super::{EDGES, assert_rejected, folder, read};

/// A description, the files, and fragments of the expected error.
type Broken = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const BROKEN: &[Broken] = &[
    ("an empty file", &[("edges.csv", "")], &["edges.csv:1: found an empty file", "header"]),
    ("a missing column", &[("edges.csv", "src,to\na,b\n")], &["edges.csv:1", "\"src\", \"to\"", "dst"]),
    ("no header", &[("edges.csv", "0,1\n1,2\n")], &["edges.csv:1", "\"0\", \"1\"", "src"]),
    ("a header with a nameless column", &[("edges.csv", "src,,dst\n")], &[":1: ", "no name for column 2"]),
    ("a header with a column twice", &[("edges.csv", "src,src,dst\n")], &[":1: ", "two columns named 'src'"]),
    ("a header only", &[("edges.csv", "src,dst\n")], &["edges.csv: found no edges", "at least one edge"]),
    ("a long row", &[("edges.csv", "src,dst\na,b\n\na,b,c\n")], &["edges.csv:4: found 3 cells, expected 2"]),
    ("a short row", &[("edges.csv", "src,dst\na\n")], &["edges.csv:2: found 1 cells, expected 2"]),
    ("an empty id", &[("edges.csv", "src,dst\na,b\n,b\n")], &["edges.csv:3: found an empty id"]),
    (
        "weight 0",
        &[("edges.csv", "src,dst,weight\na,b,1\nb,c,0\n")],
        &["edges.csv:3: found '0' in column 'weight', expected a positive number"],
    ),
    (
        "weight < 0",
        &[("edges.csv", "src,dst,weight\na,b,-2\n")],
        &["edges.csv:2: found '-2' in column 'weight'", "a positive number"],
    ),
    ("weight inf", &[("edges.csv", "src,dst,weight\na,b,inf\n")], &[":2: found 'inf' in column 'weight'"]),
    (
        "no weight",
        &[("edges.csv", "src,dst,weight\na,b,\n")],
        &[":2: found an empty cell in column 'weight'"],
    ),
    ("weight text", &[("edges.tsv", "src\tdst\tweight\na\tb\theavy\n")], &["edges.tsv:2: found 'heavy'"]),
    (
        "an edge to an unknown node",
        &[
            ("edges.csv", "src,dst,note\na,b,\nb,a,\"two\nlines\"\nb,c,\n"),
            ("features.csv", "id,x\na,1\nb,2\n"),
        ],
        &["edges.csv:5: found node 'c', expected an id listed in features.csv"],
    ),
    (
        "an id of two lines in the edges",
        &[("edges.csv", "src,dst\na,b\n\"b\nc\",a\n")],
        &["edges.csv:3: found an id with a line break after 'b', expected an id on one line"],
    ),
    (
        "a quote that swallows rows",
        &[("edges.tsv", "src\tdst\na\tb\nb\t\"c\nc\td\nd\ta\n")],
        &["edges.tsv:3: found an id with a line break after 'c'"],
    ),
    (
        "an id of two lines in the features",
        &[EDGES, ("features.csv", "id,x\na,1\n\"b\r\n\",2\n")],
        &["features.csv:3: found an id with a line break after 'b'"],
    ),
    (
        "an id of two lines in the splits",
        &[EDGES, ("splits.csv", "id,split\na,val\n\"b\nb\",val\n")],
        &["splits.csv:3: found an id with a line break"],
    ),
    (
        "a label of two lines",
        &[EDGES, ("labels.tsv", "id\tlabel\na\t\"x\nb\ty\n")],
        &["labels.tsv:2: found label 'x", "expected a label on one line"],
    ),
    (
        "ids.txt with old line breaks",
        &[EDGES, ("ids.txt", "a\rb\r")],
        &["ids.txt:1: found a carriage return without a line feed"],
    ),
    (
        "a quote behind a space",
        &[("edges.csv", "src,dst\na,b\nb, \"c\"\n")],
        &["edges.csv:3: found ' \"c\"', a quote after a space"],
    ),
    (
        "labels among the features",
        &[EDGES, ("features.csv", "id,x,Label\na,1,0\nb,2,1\n")],
        &["features.csv:1: found column 'Label'", "move the column to labels.csv"],
    ),
    (
        "a split of a node that the list of nodes lacks",
        &[EDGES, ("ids.txt", "a\nb\n"), ("splits.csv", "id,split\nz,val\n")],
        &["splits.csv:2: found node 'z', expected an id listed in ids.txt"],
    ),
    (
        "an edge to a node beyond the numbered ones",
        &[("edges.csv", "src,dst\n0,1\n1,2\n"), ("ids.txt", "0\n1\n")],
        &["edges.csv:3: found node '2', expected an id from 0 to 1, as in ids.txt"],
    ),
    (
        "ids.txt twice",
        &[EDGES, ("ids.txt", "a\nb\na\n")],
        &["ids.txt:3: found duplicate id 'a', first on line 1"],
    ),
    ("ids.txt blank", &[EDGES, ("ids.txt", "a\n\nb\n")], &["ids.txt:2: found an empty line"]),
    ("ids.txt empty", &[EDGES, ("ids.txt", "")], &["ids.txt:1: found an empty file"]),
    (
        "features twice",
        &[EDGES, ("features.csv", "id,x\na,1\nb,2\na,3\n")],
        &["features.csv:4: found duplicate id 'a'"],
    ),
    ("features without ids", &[EDGES, ("features.csv", "x,y\n1,2\n")], &["features.csv:1", "id or nid"]),
    ("features without rows", &[EDGES, ("features.csv", "id,x\n")], &["features.csv: found no rows"]),
    (
        "features without columns",
        &[EDGES, ("features.csv", "id\na\nb\n")],
        &["features.csv: found no features"],
    ),
    ("NaN", &[EDGES, ("features.csv", "id,x\na,1\nb,NaN\n")], &["features.csv:3: found 'NaN' in column 'x'"]),
    ("inf", &[EDGES, ("features.csv", "id,x\na,1e99\nb,1\n")], &["features.csv:2: found '1e99'", "finite"]),
    ("text", &[EDGES, ("features.csv", "id,x\na,one\nb,1\n")], &["features.csv:2: found 'one'", "number"]),
    ("no number", &[EDGES, ("features.csv", "id,x\na,\nb,1\n")], &["features.csv:2: found an empty cell"]),
    (
        "a node without features",
        &[EDGES, ("ids.txt", "a\nb\n"), ("features.csv", "id,x\nb,1\n")],
        &["features.csv: found no row for node 'a', expected one row for each id in ids.txt"],
    ),
    (
        "features of an unknown node",
        &[EDGES, ("ids.txt", "a\nb\n"), ("features.csv", "id,x\nb,1\nc,2\n")],
        &["features.csv:3: found node 'c'"],
    ),
    (
        "labels twice",
        &[EDGES, ("ids.txt", "a\nb\n"), ("labels.csv", "id,label\na,1\na,1\n")],
        &["labels.csv:3"],
    ),
    (
        "labels of an unknown node",
        &[EDGES, ("ids.txt", "a\nb\n"), ("labels.csv", "id,label\nz,1\n")],
        &["labels.csv:2: found node 'z'"],
    ),
    (
        "labels without a label",
        &[EDGES, ("labels.csv", "id,color\na,1\nb,2\n")],
        &["labels.csv:1", "label or class"],
    ),
    (
        "a gap",
        &[EDGES, ("labels.csv", "id,label\na,0\nb,2\n")],
        &["labels.csv:3: found label '2'", "class 1"],
    ),
    (
        "a class below 0",
        &[EDGES, ("labels.csv", "id,label\na,0\nb,-2\n")],
        &["labels.csv:3: found label '-2'"],
    ),
    (
        "a class that classes.txt lacks",
        &[EDGES, ("labels.csv", "id,label\na,x\nb,y\n"), ("classes.txt", "x\n")],
        &["labels.csv:3: found label 'y', expected a class listed in classes.txt"],
    ),
    (
        "an unknown word",
        &[EDGES, ("splits.csv", "id,split\na,train\nb,dev\n")],
        &["splits.csv:3: found 'dev'"],
    ),
    (
        "splits twice",
        &[EDGES, ("splits.csv", "id,own:0,split\na,,\n")],
        &["splits.csv:1", "two columns for split 0"],
    ),
    (
        "splits of an unknown node",
        &[EDGES, ("features.csv", "id,x\na,1\nb,2\n"), ("splits.csv", "id,split\nz,train\n")],
        &["splits.csv:2: found node 'z', expected an id listed in features.csv"],
    ),
    (
        "splits again",
        &[EDGES, ("splits.csv", "id,split\na,val\na,val\n")],
        &["splits.csv:3: found duplicate id 'a'"],
    ),
    (
        "two files",
        &[EDGES, ("edges.tsv", "src\tdst\n")],
        &["edges.csv and edges.tsv", "one file for the edges"],
    ),
    ("no Parquet", &[("edges.parquet", "src,dst\n")], &["edges.parquet: found no PAR1", "Parquet"]),
    ("an empty Parquet", &[("edges.parquet", "")], &["edges.parquet: found no PAR1"]),
    ("Parquet and nothing in it", &[("edges.parquet", "PAR1PAR1")], &["edges.parquet", "valid Parquet file"]),
    ("no zip", &[EDGES, ("features.npz", "PK")], &["features.npz"]),
    ("no npy", &[EDGES, ("features.npy", "x")], &["features.npy"]),
];

#[test]
fn errors_in_tables_name_file_and_line() {
    for (what, files, fragments) in BROKEN {
        assert_rejected(what, read(&folder(files)), fragments);
    }
}

#[test]
fn errors_in_arrays_and_encodings_name_the_file() {
    let files = folder(&[]);
    fs::write(files.path().join("edges.csv"), b"src,dst\na,b\nc,\xff\n").unwrap();
    assert_rejected("not UTF-8", read(&files), &["edges.csv:3: found bytes that are not UTF-8"]);

    let files = folder(&[EDGES, ("ids.txt", "a\nb\n")]);
    arrays::write_npy(&files.path().join("features.npy"), 3, 1, &[1.0; 3]).unwrap();
    assert_rejected(
        "rows",
        read(&files),
        &["features.npy: found 3 rows, expected 2, one for each id in ids.txt"],
    );

    let files = folder(&[("edges.csv", "src,dst\n0,a\n")]);
    arrays::write_npy(&files.path().join("features.npy"), 3, 1, &[1.0; 3]).unwrap();
    assert_rejected(
        "ids",
        read(&files),
        &["edges.csv:2: found node 'a', expected an id from 0 to 2, as in features.npy"],
    );

    let files = folder(&[EDGES, ("ids.txt", "a\nb\n")]);
    arrays::write_npy(&files.path().join("labels.npy"), 2, 1, &[1.0; 2]).unwrap();
    assert_rejected("reals", read(&files), &["labels.npy"]);
}

#[test]
fn a_gzip_bomb_stops_at_the_memory_limit() {
    let files = folder(&[]);
    let file = fs::File::create(files.path().join("edges.csv.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    gzip.write_all(b"src,dst\n").unwrap();
    let megabyte = vec![b'\n'; 1 << 20];
    for _ in 0..420 {
        gzip.write_all(&megabyte).unwrap();
    }
    gzip.finish().unwrap();
    assert_rejected("bomb", read(&files), &["edges.csv.gz: found more than", "uncompressed bytes"]);
}

#[cfg(unix)]
#[test]
fn links_to_nothing_pipes_and_devices_are_refused_by_kind() {
    use std::os::unix::fs::symlink;

    let pipe = |path: &std::path::Path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let home = folder(&[("edges.csv", "src,dst\na,b\n")]);
    let features = home.path().join("features.csv");
    let error = || read(&home).unwrap_err().to_string();
    symlink(home.path().join("gone.csv"), &features).unwrap();
    assert!(error().contains("features.csv: found a link to a file that does not exist"), "{}", error());
    fs::remove_file(&features).unwrap();
    pipe(&features);
    assert!(error().contains("features.csv: found a named pipe, expected a file"), "{}", error());
    fs::remove_file(&features).unwrap();
    fs::create_dir(&features).unwrap();
    assert!(error().contains("features.csv: found a folder, expected a file"), "{}", error());
    fs::remove_dir(&features).unwrap();
    let edges = home.path().join("edges.csv");
    fs::remove_file(&edges).unwrap();
    symlink("/dev/zero", &edges).unwrap();
    assert!(error().contains("edges.csv: found a device, expected a file"), "{}", error());
    // Given directly, as the table of edges.
    let error = load_path(&edges, FeatureSource::Given).unwrap_err().to_string();
    assert!(error.contains("edges.csv: found a device, expected a file"), "{error}");
}
