//! Broken Geom-GCN files.

use super::common::samples;
use super::{case, check};

#[test]
fn errors_name_the_file_and_the_problem() {
    const EDGES: &str = "out1_graph_edges.txt";
    const NODES: &str = "out1_node_feature_label.txt";
    let toy = samples::geom_gcn;
    let edges = |row: &str| format!("node_id\tnode_id\n{row}\n").into_bytes();
    let nodes = |rows: &str| format!("node_id\tfeature\tlabel\n{rows}").into_bytes();
    check(vec![
        case("end out of range", toy, EDGES, edges("0\t3"), &[":2: ", "'3'", "0..3"]),
        case("negative end", toy, EDGES, edges("-1\t0"), &[":2: ", "'-1'"]),
        case("three ends", toy, EDGES, edges("0\t1\t2"), &[":2: ", "two nodes"]),
        case("commas", toy, EDGES, edges("0,1"), &["'0,1'", "tab"]),
        case("blank line", toy, EDGES, edges("\n0\t1"), &[":2: ", "two nodes"]),
        case("not text", toy, EDGES, b"h\n\xff\xfe\t\x00\n".to_vec(), &[":2: ", "a node"]),
        case("no nodes", toy, NODES, nodes(""), &["no nodes"]),
        case("empty file", toy, NODES, vec![], &["no nodes"]),
        case(
            "ragged vector",
            toy,
            NODES,
            nodes("0\t0,0,1\t0\n1\t0,0\t1\n2\t0,0,0\t0\n"),
            &[":3: ", "2 features", "3"],
        ),
        case(
            "value 7",
            toy,
            NODES,
            nodes("0\t0,0,1\t0\n1\t0,7,0\t1\n2\t0,0,0\t0\n"),
            &[":3: feature 1", "'7'"],
        ),
        case(
            "NaN",
            toy,
            NODES,
            nodes("0\t0,0,nan\t0\n1\t0,0,0\t1\n2\t0,0,0\t0\n"),
            &[":2: feature 2", "'nan'"],
        ),
        case("no label", toy, NODES, nodes("0\t0,0\n1\t0,0\t1\n2\t0,0\t0\n"), &[":2: ", "label"]),
        case("label as text", toy, NODES, nodes("0\t0,0\tx\n1\t0,0\t1\n2\t0,0\t0\n"), &[":2: ", "'x'"]),
        case("label gap", toy, NODES, nodes("0\t0,0\t0\n1\t0,0\t2\n2\t0,0\t2\n"), &["none of class 1"]),
        case(
            "node twice",
            toy,
            NODES,
            nodes("0\t0,0\t0\n0\t0,0\t1\n2\t0,0\t1\n"),
            &[":3: ", "duplicate node 0"],
        ),
        case(
            "id out of range",
            toy,
            NODES,
            nodes("0\t0,0\t0\n1\t0,0\t1\n3\t0,0\t1\n"),
            &[":4: ", "'3'", "0..3"],
        ),
        case(
            "index too large",
            toy,
            NODES,
            nodes("0\t99999999\t0\n1\t1\t1\n2\t3\t0\n"),
            &[":2: ", "99999999"],
        ),
        case("no features", toy, NODES, nodes("0\t\t0\n1\t\t1\n2\t\t0\n"), &[":2: ", "0 or 1"]),
    ]);
}
