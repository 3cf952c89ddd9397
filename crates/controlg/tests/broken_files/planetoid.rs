//! Broken Planetoid files.

use super::common::samples::{self, le, pickle, pickled_array, pickled_csr, pickled_graph};
use super::{case, check};

#[test]
fn errors_name_the_file_and_the_problem() {
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
        case(
            "bytes after the end",
            toy,
            GRAPH,
            [&whole[..], b"x"].concat(),
            &["data after the end of the pickle"],
        ),
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
        case("node twice", toy, GRAPH, pickle(b"}(K\x00]K\x00]u"), &["duplicate node 0"]),
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
        case("test id out of range", toy, TEST, b"6\n".to_vec(), &[":1: ", "'6'", "0..6"]),
        case("test id that allx has", toy, TEST, b"3\n".to_vec(), &["found 3", "4..6"]),
        case("test id twice", toy, TEST, b"5\n5\n".to_vec(), &[":2: ", "duplicate node 5"]),
        case("test id not a number", toy, TEST, b"five\n".to_vec(), &[":1: ", "'five'"]),
        case(
            "two classes at once",
            toy,
            "ind.toy.ty",
            array(&[1, 2], "i4", &le(&[1, 1])),
            &["row 0", "a single 1"],
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
