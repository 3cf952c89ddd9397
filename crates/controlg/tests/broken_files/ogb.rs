//! Broken OGB files.

use flate2::Compression;
use flate2::write::GzEncoder;

use super::common::samples::{self, gz};
use super::{case, check, zeros};

#[test]
fn errors_name_the_file_and_the_problem() {
    const EDGES: &str = "raw/edge.csv.gz";
    const LABELS: &str = "raw/node-label.csv.gz";
    const FEATURES: &str = "raw/node-feat.csv";
    let toy = samples::ogb;
    let whole = gz(b"0,1\n1,2\n2,1\n");
    check(vec![
        case("end out of range", toy, EDGES, gz(b"0,1\n1,3\n2,1\n"), &[":2: ", "'3'", "0..3"]),
        case("negative end", toy, EDGES, gz(b"0,-1\n1,2\n2,1\n"), &[":1: ", "'-1'"]),
        case("one end", toy, EDGES, gz(b"0,1\n1\n2,1\n"), &[":2: ", "comma"]),
        case("three ends", toy, EDGES, gz(b"0,1,2\n1,2\n2,1\n"), &[":1: ", "'1,2'"]),
        case("truncated gzip", toy, EDGES, whole[..whole.len() - 6].to_vec(), &["gzip"]),
        case("damaged gzip", toy, EDGES, [&whole[..12], &[0xff; 9], &whole[21..]].concat(), &["gzip"]),
        case("gzip bomb", toy, EDGES, gzip_bomb(), &["more than", "uncompressed bytes"]),
        case("fewer edges", toy, EDGES, gz(b"0,1\n"), &["'3'", "1, the number of lines in edge.csv.gz"])
            .blaming("raw/num-edge-list.csv.gz"),
        case("label gap", toy, LABELS, gz(b"0\n2\n0\n"), &["none of class 1"]),
        case("label as text", toy, LABELS, gz(b"0\ncs.AI\n0\n"), &[":2: ", "'cs.AI'"]),
        case("label of 10^18", toy, LABELS, gz(b"0\n1000000000000000000\n0\n"), &[":2: ", "a class"]),
        case("no nodes", toy, LABELS, gz(b""), &["no nodes"]),
        case(
            "10^18 nodes",
            toy,
            "raw/num-node-list.csv.gz",
            gz(b"1000000000000000000\n"),
            &["1000000000000000000", "3"],
        ),
        case("NaN", toy, FEATURES, b"0.5,1\n-2,nan\n1e-3,4\n".to_vec(), &[":2: column 2", "'nan'"]),
        case("infinite", toy, FEATURES, b"0.5,1\n-2,1e999\n1e-3,4\n".to_vec(), &[":2: column 2", "'1e999'"]),
        case("ragged row", toy, FEATURES, b"0.5,1\n-2\n1e-3,4\n".to_vec(), &[":2: ", "1 values", "2"]),
        case(
            "wide first row",
            toy,
            FEATURES,
            [b"1,".repeat(9999), b"1\n2\n3\n".to_vec()].concat(),
            &[":2: ", "10000"],
        ),
        case("fewer rows", toy, FEATURES, b"0.5,1\n-2,0\n".to_vec(), &["2 rows", "3"]),
        case("no rows", toy, FEATURES, vec![], &["0 rows", "3"]),
        case(
            "features missing",
            toy,
            FEATURES,
            None,
            &["no such file", "snap.stanford.edu", "--features structural"],
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
            &[":1: ", "'7'", "0..3"],
        ),
        case("part missing", toy, "split/time/train.csv.gz", None, &["no such file"]),
    ]);
}

fn gzip_bomb() -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    zeros(&mut packed);
    packed.finish().unwrap()
}
