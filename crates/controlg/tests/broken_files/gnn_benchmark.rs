//! Broken gnn-benchmark archives.

use super::common::npz::{Npz, f32s, i32s, i64s, npy};
use super::common::samples;
use super::{case, check};

#[test]
fn errors_name_the_file_and_the_problem() {
    const FILE: &str = "toy.npz";
    let toy = samples::gnn_benchmark;
    let with = |name: &str, bytes: Vec<u8>| Npz::gnn_benchmark().with(name, bytes).bytes();
    let object = npy("|O", "(3,)", b"\x80\x02cos\nsystem\n.");
    let huge = npy("<f4", "(1000000000000000000,)", &[0; 16]);
    let flipped = {
        let mut bytes = Npz::gnn_benchmark().bytes();
        let at = bytes.windows(6).position(|window| window == b"\x93NUMPY").unwrap();
        bytes[at + 70] ^= 1; // in the elements of the first member
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
            &["adj_indptr", "2 elements", "expected 4"],
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
            &["row 1", "duplicate column 2"],
        ),
        case(
            "columns as reals",
            toy,
            FILE,
            with("adj_indices", f32s(&[1.0, 0.0, 2.0, 1.0])),
            &["floats", "integers"],
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
        case("10^18 values", toy, FILE, with("attr_data", huge), &["attr_data", "16 bytes of data"]),
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
        case("label gap", toy, FILE, with("labels", i64s(&[0, 2, 2])), &["labels", "none of class 1"]),
        case("object labels", toy, FILE, with("labels", object), &["labels", "a pickled object array"]),
        case(
            "name twice",
            toy,
            FILE,
            with("node_names", npy("|S1", "(3,)", b"aba")),
            &["element 2", "duplicate name 'a'"],
        ),
        case(
            "name of two lines",
            toy,
            FILE,
            with("node_names", npy("|S3", "(3,)", b"a\0\0b\nbc\0\0")),
            &["element 1", "an id with a line break after 'b'"],
        ),
        case(
            "empty name",
            toy,
            FILE,
            with("node_names", npy("|S1", "(3,)", b"a\0c")),
            &["element 1", "an empty id"],
        ),
        case(
            "names that expand in memory",
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
