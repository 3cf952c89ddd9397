//! Broken files of every format with a layout of its own: each gives one line that names the file, what was found
//! and what was expected.

mod common;

use std::io::Write;

use common::npz::{Npz, f32s, i32s, i64s, mask, npy};
use common::samples::{self, Files, WIKI_CS, gz, le, pickle, pickled_array, pickled_csr, pickled_graph};
use controlg::data::{FeatureSource, load_path};
use flate2::Compression;
use flate2::write::GzEncoder;
use zip::write::SimpleFileOptions;

/// A right graph with one file exchanged (or taken away), and the words that the error must have.
struct Case {
    name: &'static str,
    sample: fn() -> Files,
    file: &'static str,
    content: Option<Vec<u8>>,
    words: &'static [&'static str],
    /// The file that the error names, where it is another one.
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
    words: &'static [&'static str],
) -> Case {
    Case { name, sample, file, content: content.into(), words, blamed: file }
}

fn check(cases: Vec<Case>) {
    let mut wrong = Vec::new();
    for Case { name, sample, file, content, words, blamed } in cases {
        let mut files = sample();
        files.retain(|(known, _)| *known != file);
        files.extend(content.map(|bytes| (file, bytes)));
        let folder = tempfile::tempdir().unwrap();
        samples::write(folder.path(), &files);
        let Err(error) = load_path(folder.path(), FeatureSource::Given) else {
            wrong.push(format!("{name}: loaded"));
            continue;
        };
        let line = error.to_string();
        let named = line.starts_with(folder.path().join(blamed).to_str().unwrap());
        let missing: Vec<_> = words.iter().filter(|word| !line.contains(**word)).collect();
        let phrased = line.contains("found ") && line.contains("expected ") && !line.contains('\n');
        if !named || !missing.is_empty() || !phrased || error.exit_code() != 2 || line.len() > 500 {
            wrong.push(format!("{name}: {line} (missing {missing:?})"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn planetoid() {
    const GRAPH: &str = "ind.toy.graph";
    const ALLX: &str = "ind.toy.allx";
    const TEST: &str = "ind.toy.test.index";
    let toy = samples::planetoid;
    let graph = |lists: &[&[i32]]| pickled_graph(lists);
    let csr = |indices: &[i32], data: &[f32]| pickled_csr(4, 5, &[0, 1, 3, 3, 4], indices, data);
    let whole = toy().swap_remove(0).1;
    let array = |shape: &[i32], dtype, body: &[u8]| pickle(&pickled_array(shape, dtype, body));
    check(vec![
        case(
            "calls os.system",
            toy,
            GRAPH,
            b"\x80\x02cos\nsystem\nU\x02id\x85R.".to_vec(),
            &["global os.system"],
        ),
        case(
            "calls eval",
            toy,
            ALLX,
            b"\x80\x02c__builtin__\neval\n.".to_vec(),
            &["global __builtin__.eval"],
        ),
        case("unknown opcode", toy, GRAPH, b"\x80\x02\x93.".to_vec(), &["opcode 0x93", "byte 3"]),
        case("newer protocol", toy, GRAPH, b"\x80\x04.".to_vec(), &["protocol 4"]),
        case("not a pickle", toy, ALLX, b"hello".to_vec(), &["0x80"]),
        case("empty file", toy, ALLX, vec![], &["0x80"]),
        case("truncated", toy, GRAPH, whole[..whole.len() / 2].to_vec(), &["the end of the file"]),
        case("bytes after the end", toy, GRAPH, [&whole[..], b"x"].concat(), &["something left over"]),
        case(
            "neighbor too large",
            toy,
            GRAPH,
            graph(&[&[1], &[0], &[6], &[], &[], &[]]),
            &["node 2", "found 6", "0..6"],
        ),
        case(
            "negative neighbor",
            toy,
            GRAPH,
            graph(&[&[1], &[-1], &[], &[], &[], &[]]),
            &["found -1", "a node number"],
        ),
        case("no nodes", toy, GRAPH, graph(&[]), &["no nodes"]),
        case("fewer nodes than rows", toy, GRAPH, graph(&[&[1], &[0]]), &["a graph of 2 nodes"])
            .blaming(TEST),
        case("node 9 of 2", toy, GRAPH, pickle(b"}(K\x00]K\x09]u"), &["node 9", "0..2"]),
        case("node twice", toy, GRAPH, pickle(b"}(K\x00]K\x00]u"), &["node 0 twice"]),
        case("graph is an array", toy, GRAPH, array(&[1], "i4", &le(&[1])), &["a NumPy array", "lists"]),
        case("matrix is a graph", toy, ALLX, graph(&[&[]]), &["a dictionary", "a csr_matrix"]),
        case(
            "column too large",
            toy,
            ALLX,
            csr(&[4, 0, 5, 1], &[1.0; 4]),
            &["indices", "element 2", "found 5", "0..5"],
        ),
        case("negative column", toy, ALLX, csr(&[4, 0, -2, 1], &[1.0; 4]), &["found -2"]),
        case("NaN", toy, ALLX, csr(&[4, 0, 2, 1], &[1.0, f32::NAN, 1.0, 1.0]), &["data", "element 1", "NaN"]),
        case("fewer values", toy, ALLX, csr(&[4, 0, 2, 1], &[1.0]), &["data", "1 elements", "4"]),
        case("other width", toy, "ind.toy.tx", pickled_csr(1, 4, &[0, 0], &[], &[]), &["4 columns", "5"]),
        case("rows and test ids differ", toy, TEST, b"5\n4\n".to_vec(), &["1 rows", "2"])
            .blaming("ind.toy.tx"),
        case("test id out of range", toy, TEST, b"6\n".to_vec(), &["line 1", "'6'", "0..6"]),
        case("test id that allx has", toy, TEST, b"3\n".to_vec(), &["found 3", "4..6"]),
        case("test id twice", toy, TEST, b"5\n5\n".to_vec(), &["line 2", "node 5 again"]),
        case("test id not a number", toy, TEST, b"five\n".to_vec(), &["line 1", "'five'"]),
        case(
            "two classes at once",
            toy,
            "ind.toy.ty",
            array(&[1, 2], "i4", &le(&[1, 1])),
            &["row 0", "one 1"],
        ),
        case("object array", toy, "ind.toy.ty", array(&[1, 2], "O8", &[0; 16]), &["a pickled object array"]),
        case(
            "10^18 elements",
            toy,
            "ind.toy.ty",
            array(&[i32::MAX; 2], "i4", &[0; 8]),
            &["8 bytes of data", "2147483647"],
        ),
        case("labels missing", toy, "ind.toy.ally", None, &["no such file"]),
    ]);
}

#[test]
fn split_masks() {
    const SPLIT: &str = "geom-gcn-splits/toy_split_0.6_0.2_0.npz";
    let toy = samples::planetoid;
    let masks = || samples::masks([1, 0, 0, 0, 0, 0]);
    let whole = masks().bytes();
    let promise = npy("|u1", "(1000000000000000000,)", &[1; 6]);
    let climbing = masks().with("../../etc/passwd", vec![]).bytes();
    check(vec![
        case(
            "node in two parts",
            toy,
            SPLIT,
            samples::masks([1, 1, 0, 0, 0, 0]).bytes(),
            &["node 1 in both train and val"],
        ),
        case(
            "mask too short",
            toy,
            SPLIT,
            masks().with("val_mask", mask(&[1])).bytes(),
            &["val mask", "1 entries", "6"],
        ),
        case(
            "mask of 2",
            toy,
            SPLIT,
            samples::masks([2, 0, 0, 0, 0, 0]).bytes(),
            &["element 0", "found 2", "0 or 1"],
        ),
        case(
            "mask of reals",
            toy,
            SPLIT,
            masks().with("val_mask", f32s(&[0.0; 6])).bytes(),
            &["reals", "booleans"],
        ),
        case(
            "mask missing",
            toy,
            SPLIT,
            masks().without("test_mask").bytes(),
            &["train_mask, val_mask", "test_mask"],
        ),
        case("truncated archive", toy, SPLIT, whole[..whole.len() / 2].to_vec(), &["archive"]),
        case("wrong magic", toy, SPLIT, b"hello".to_vec(), &["archive"]),
        case(
            "wrong magic inside",
            toy,
            SPLIT,
            masks().with("val_mask", b"hello".to_vec()).bytes(),
            &["magic"],
        ),
        case("10^18 elements", toy, SPLIT, masks().with("val_mask", promise).bytes(), &["6 bytes of data"]),
        case("name that climbs out", toy, SPLIT, climbing, &["'../../etc/passwd.npy'"]),
        case(
            "two files for a split",
            toy,
            "geom-gcn-splits/z_split_0.6_0.2_0.npz",
            whole,
            &["another file for split 0"],
        ),
        case("deflate bomb", toy, SPLIT, deflate_bomb(), &["more than", "bytes unpacked"]),
    ]);
}

/// 300 MB of zeros, a thousandth of that when packed.
fn zeros(to: &mut impl Write) {
    let block = vec![0; 1 << 20];
    (0..300).for_each(|_| to.write_all(&block).unwrap());
}

fn deflate_bomb() -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    archive.start_file("train_mask.npy", options).unwrap();
    zeros(&mut archive);
    archive.finish().unwrap().into_inner()
}

fn gzip_bomb() -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    zeros(&mut packed);
    packed.finish().unwrap()
}

#[test]
fn geom_gcn() {
    const EDGES: &str = "out1_graph_edges.txt";
    const NODES: &str = "out1_node_feature_label.txt";
    let toy = samples::geom_gcn;
    let edges = |row: &str| format!("node_id\tnode_id\n{row}\n").into_bytes();
    let nodes = |rows: &str| format!("node_id\tfeature\tlabel\n{rows}").into_bytes();
    check(vec![
        case("end out of range", toy, EDGES, edges("0\t3"), &["line 2", "'3'", "0..3"]),
        case("negative end", toy, EDGES, edges("-1\t0"), &["line 2", "'-1'"]),
        case("three ends", toy, EDGES, edges("0\t1\t2"), &["line 2", "two nodes"]),
        case("commas", toy, EDGES, edges("0,1"), &["'0,1'", "tab"]),
        case("blank line", toy, EDGES, edges("\n0\t1"), &["line 2", "two nodes"]),
        case("not text", toy, EDGES, b"h\n\xff\xfe\t\x00\n".to_vec(), &["line 2", "a node"]),
        case("no nodes", toy, NODES, nodes(""), &["no nodes"]),
        case("empty file", toy, NODES, vec![], &["no nodes"]),
        case(
            "ragged vector",
            toy,
            NODES,
            nodes("0\t0,0,1\t0\n1\t0,0\t1\n2\t0,0,0\t0\n"),
            &["line 3", "2 features", "3"],
        ),
        case(
            "value 7",
            toy,
            NODES,
            nodes("0\t0,0,1\t0\n1\t0,7,0\t1\n2\t0,0,0\t0\n"),
            &["line 3, feature 1", "'7'"],
        ),
        case(
            "NaN",
            toy,
            NODES,
            nodes("0\t0,0,nan\t0\n1\t0,0,0\t1\n2\t0,0,0\t0\n"),
            &["line 2, feature 2", "'nan'"],
        ),
        case("no label", toy, NODES, nodes("0\t0,0\n1\t0,0\t1\n2\t0,0\t0\n"), &["line 2", "label"]),
        case("label as text", toy, NODES, nodes("0\t0,0\tx\n1\t0,0\t1\n2\t0,0\t0\n"), &["line 2", "'x'"]),
        case("label gap", toy, NODES, nodes("0\t0,0\t0\n1\t0,0\t2\n2\t0,0\t2\n"), &["no node of class 1"]),
        case(
            "node twice",
            toy,
            NODES,
            nodes("0\t0,0\t0\n0\t0,0\t1\n2\t0,0\t1\n"),
            &["line 3", "node 0 again"],
        ),
        case(
            "id out of range",
            toy,
            NODES,
            nodes("0\t0,0\t0\n1\t0,0\t1\n3\t0,0\t1\n"),
            &["line 4", "'3'", "0..3"],
        ),
        case(
            "index too large",
            toy,
            NODES,
            nodes("0\t99999999\t0\n1\t1\t1\n2\t3\t0\n"),
            &["line 2", "99999999"],
        ),
        case("no features", toy, NODES, nodes("0\t\t0\n1\t\t1\n2\t\t0\n"), &["line 2", "0 or 1"]),
    ]);
}

#[test]
fn wiki_cs() {
    const DATA: &str = "data.json";
    let toy = samples::wiki_cs;
    let with = |old: &str, new: &str| {
        assert!(WIKI_CS.contains(old));
        WIKI_CS.replacen(old, new, 1).into_bytes()
    };
    check(vec![
        case("truncated", toy, DATA, WIKI_CS.as_bytes()[..WIKI_CS.len() / 2].to_vec(), &["line 2", "EOF"]),
        case("NaN", toy, DATA, with("0.5", "NaN"), &["line 1, column", "expected"]),
        case("too large a number", toy, DATA, with("0.5", "1e999"), &["line 1, column", "out of range"]),
        case("text for a number", toy, DATA, with("0.5", "\"a\""), &["line 1", "string"]),
        case(
            "ragged row",
            toy,
            DATA,
            with("[0.0, 2e-3]", "[0.0]"),
            &["features of node 1", "1 numbers", "2"],
        ),
        case(
            "rows of nothing",
            toy,
            DATA,
            with("[[0.5, -1.0], [0.0, 2e-3], [1, 1]]", "[[],[],[]]"),
            &["node 0", "none"],
        ),
        case("link out of range", toy, DATA, with("[2]", "[3]"), &["links of node 1", "found 3", "0..3"]),
        case("negative link", toy, DATA, with("[2]", "[-2]"), &["line 2", "-2"]),
        case("fewer links", toy, DATA, with("[2], []", "[2]"), &["links", "2 entries", "3"]),
        case("fewer labels", toy, DATA, with("[1, 0, 1]", "[1, 0]"), &["labels", "2 entries", "3"]),
        case("label gap", toy, DATA, with("[1, 0, 1]", "[1, 3, 1]"), &["labels", "no node of class 0"]),
        case(
            "node in two parts",
            toy,
            DATA,
            with("[false, false, true]", "[true, false, false]"),
            &["node 0 in both"],
        ),
        case(
            "mask too long",
            toy,
            DATA,
            with("[false, false, true]", "[false, false, true, true]"),
            &["test mask", "4 entries"],
        ),
        case("fewer masks", toy, DATA, with("[[false, true, false]]", "[]"), &["val_masks", "0 masks"]),
        case("no nodes", toy, DATA, with("[[0.5, -1.0], [0.0, 2e-3], [1, 1]]", "[]"), &["no nodes"]),
        case("key missing", toy, DATA, with("\"labels\"", "\"classes\""), &["missing field `labels`"]),
        case(
            "deep nesting",
            toy,
            DATA,
            format!("{{\"other\": {}", "[".repeat(100_000)).into_bytes(),
            &["line 1, column 100010", "EOF"],
        ),
    ]);
}

#[test]
fn gnn_benchmark() {
    const FILE: &str = "toy.npz";
    let toy = samples::gnn_benchmark;
    let with = |name: &str, bytes: Vec<u8>| Npz::gnn_benchmark().with(name, bytes).bytes();
    let object = npy("|O", "(3,)", b"\x80\x02cos\nsystem\n.");
    let promise = npy("<f4", "(1000000000000000000,)", &[0; 16]);
    let flipped = {
        let mut bytes = Npz::gnn_benchmark().bytes();
        let at = bytes.windows(6).position(|window| window == b"\x93NUMPY").unwrap();
        bytes[at + 70] ^= 1; // within the numbers of the first member
        bytes
    };
    let names = npy("|S1", "(8000000,)", &vec![b'a'; 8_000_000]);
    let names = Npz::gnn_benchmark().with("node_names", names).deflated().bytes();
    let none = Npz::gnn_benchmark()
        .with("adj_data", f32s(&[]))
        .with("adj_indices", i32s(&[]))
        .with("adj_indptr", i32s(&[0]))
        .with("adj_shape", i64s(&[0, 0]));
    check(vec![
        case("not an archive", toy, FILE, b"PK but no more".to_vec(), &["archive"]),
        case("damaged member", toy, FILE, flipped, &["adj_data", "checksum"]),
        case(
            "descending offsets",
            toy,
            FILE,
            with("adj_indptr", i32s(&[0, 3, 1, 4])),
            &["adj_indptr", "element 2", "found 1"],
        ),
        case(
            "offsets not from 0",
            toy,
            FILE,
            with("adj_indptr", i32s(&[1, 1, 3, 4])),
            &["element 0", "found 1"],
        ),
        case(
            "offsets beyond",
            toy,
            FILE,
            with("adj_indptr", i32s(&[0, 1, 3, 9])),
            &["element 3", "found 9", "4"],
        ),
        case(
            "too few offsets",
            toy,
            FILE,
            with("adj_indptr", i32s(&[0, 4])),
            &["adj_indptr", "2 elements", "3 rows"],
        ),
        case(
            "end out of range",
            toy,
            FILE,
            with("adj_indices", i32s(&[1, 0, 3, 1])),
            &["adj_indices", "element 2", "0..3"],
        ),
        case("negative end", toy, FILE, with("adj_indices", i32s(&[1, -1, 2, 1])), &["found -1"]),
        case(
            "column twice",
            toy,
            FILE,
            with("adj_indices", i32s(&[1, 2, 2, 1])),
            &["row 1", "column 2 twice"],
        ),
        case(
            "columns as reals",
            toy,
            FILE,
            with("adj_indices", f32s(&[1.0, 0.0, 2.0, 1.0])),
            &["reals", "whole numbers"],
        ),
        case(
            "negative weight",
            toy,
            FILE,
            with("adj_data", f32s(&[1.0, -1.0, 1.0, 1.0])),
            &["found -1", "positive"],
        ),
        case("fewer weights", toy, FILE, with("adj_data", f32s(&[1.0])), &["adj_data", "1 elements", "4"]),
        case("not square", toy, FILE, with("adj_shape", i64s(&[3, 4])), &["3 × 4"]),
        case(
            "shape of 10^18",
            toy,
            FILE,
            with("attr_shape", i64s(&[3, 1_000_000_000_000_000_000])),
            &["1000000000000000000"],
        ),
        case(
            "negative shape",
            toy,
            FILE,
            with("adj_shape", i64s(&[-3, 3])),
            &["[-3, 3]", "rows and columns"],
        ),
        case("no nodes", toy, FILE, none.bytes(), &["0 × 0", "at least 1 row"]),
        case(
            "NaN",
            toy,
            FILE,
            with("attr_data", f32s(&[1.0, f32::NAN, 1.0])),
            &["attr_data", "element 1", "NaN"],
        ),
        case("10^18 values", toy, FILE, with("attr_data", promise), &["attr_data", "16 bytes of data"]),
        case(
            "column format",
            toy,
            FILE,
            with("attr_format", npy("|S3", "()", b"csc")),
            &["csc", "expected csr"],
        ),
        case("other rows", toy, FILE, with("attr_indptr", i32s(&[0, 3])), &["attr_indptr", "2 elements"]),
        case(
            "array missing",
            toy,
            FILE,
            Npz::gnn_benchmark().without("adj_data").bytes(),
            &["expected array 'adj_data'"],
        ),
        case("fewer labels", toy, FILE, with("labels", i64s(&[0, 1])), &["labels", "2 elements", "3"]),
        case(
            "negative label",
            toy,
            FILE,
            with("labels", i64s(&[0, -1, 1])),
            &["labels", "element 1", "found -1"],
        ),
        case("label gap", toy, FILE, with("labels", i64s(&[0, 2, 2])), &["labels", "no node of class 1"]),
        case("object labels", toy, FILE, with("labels", object), &["labels", "a pickled object array"]),
        case(
            "name twice",
            toy,
            FILE,
            with("node_names", npy("|S1", "(3,)", b"aba")),
            &["element 2", "'a' again"],
        ),
        case(
            "name of two lines",
            toy,
            FILE,
            with("node_names", npy("|S3", "(3,)", b"a\0\0b\nbc\0\0")),
            &["element 1", "an id of several lines", "'b'"],
        ),
        case(
            "empty name",
            toy,
            FILE,
            with("node_names", npy("|S1", "(3,)", b"a\0c")),
            &["element 1", "an empty id"],
        ),
        case(
            "names that swell in memory",
            toy,
            FILE,
            names,
            &["node_names", "8000000 elements", "in memory"],
        ),
        case(
            "cut header",
            toy,
            FILE,
            with("labels", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec()),
            &["header"],
        ),
        case("newer .npy", toy, FILE, with("labels", b"\x93NUMPY\x09\x00\x00\x00".to_vec()), &["version 9"]),
        case(
            "not a header",
            toy,
            FILE,
            with("labels", b"\x93NUMPY\x01\x00\x05\x00hello".to_vec()),
            &["header hello"],
        ),
    ]);
}

#[test]
fn ogb() {
    const EDGES: &str = "raw/edge.csv.gz";
    const LABELS: &str = "raw/node-label.csv.gz";
    const FEATURES: &str = "raw/node-feat.csv";
    let toy = samples::ogb;
    let whole = gz(b"0,1\n1,2\n2,1\n");
    check(vec![
        case("end out of range", toy, EDGES, gz(b"0,1\n1,3\n2,1\n"), &["line 2", "'3'", "0..3"]),
        case("negative end", toy, EDGES, gz(b"0,-1\n1,2\n2,1\n"), &["line 1", "'-1'"]),
        case("one end", toy, EDGES, gz(b"0,1\n1\n2,1\n"), &["line 2", "comma"]),
        case("three ends", toy, EDGES, gz(b"0,1,2\n1,2\n2,1\n"), &["line 1", "'1,2'"]),
        case("truncated gzip", toy, EDGES, whole[..whole.len() - 6].to_vec(), &["gzip"]),
        case("damaged gzip", toy, EDGES, [&whole[..12], &[0xff; 9], &whole[21..]].concat(), &["gzip"]),
        case("gzip bomb", toy, EDGES, gzip_bomb(), &["more than", "bytes unpacked"]),
        case("fewer edges", toy, EDGES, gz(b"0,1\n"), &["'3'", "1, the lines of edge.csv.gz"])
            .blaming("raw/num-edge-list.csv.gz"),
        case("label gap", toy, LABELS, gz(b"0\n2\n0\n"), &["no node of class 1"]),
        case("label as text", toy, LABELS, gz(b"0\ncs.AI\n0\n"), &["line 2", "'cs.AI'"]),
        case("label of 10^18", toy, LABELS, gz(b"0\n1000000000000000000\n0\n"), &["line 2", "a class"]),
        case("no nodes", toy, LABELS, gz(b""), &["no nodes"]),
        case(
            "10^18 nodes",
            toy,
            "raw/num-node-list.csv.gz",
            gz(b"1000000000000000000\n"),
            &["1000000000000000000", "3"],
        ),
        case("NaN", toy, FEATURES, b"0.5,1\n-2,nan\n1e-3,4\n".to_vec(), &["line 2, column 2", "'nan'"]),
        case(
            "infinite",
            toy,
            FEATURES,
            b"0.5,1\n-2,1e999\n1e-3,4\n".to_vec(),
            &["line 2, column 2", "'1e999'"],
        ),
        case("ragged row", toy, FEATURES, b"0.5,1\n-2\n1e-3,4\n".to_vec(), &["line 2", "1 values", "2"]),
        case(
            "wide first row",
            toy,
            FEATURES,
            [b"1,".repeat(9999), b"1\n2\n3\n".to_vec()].concat(),
            &["line 2", "10000"],
        ),
        case("fewer rows", toy, FEATURES, b"0.5,1\n-2,0\n".to_vec(), &["2 rows", "3"]),
        case("no rows", toy, FEATURES, vec![], &["0 rows", "3"]),
        case(
            "features missing",
            toy,
            FEATURES,
            None,
            &["missing", "snap.stanford.edu", "--features structural"],
        )
        .blaming("raw/node-feat.csv.gz"),
        case(
            "node in two parts",
            toy,
            "split/time/valid.csv",
            b"0\n".to_vec(),
            &["node 0 in both train and val"],
        )
        .blaming("split/time"),
        case(
            "node of a split too large",
            toy,
            "split/time/valid.csv",
            b"7\n".to_vec(),
            &["line 1", "'7'", "0..3"],
        ),
        case("part missing", toy, "split/time/train.csv.gz", None, &["no such file"]),
    ]);
}
