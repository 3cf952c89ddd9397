//! Broken archives of heterophilous-graphs.

use super::common::npz::{Npz, f32s, i64s, npy};
use super::common::samples;
use super::{case, check};

#[test]
fn errors_name_the_array_and_the_problem() {
    const FILE: &str = "toy.npz";
    let toy = samples::heterophilous;
    let with = |name: &str, bytes: Vec<u8>| Npz::heterophilous().with(name, bytes).bytes();
    let without = |name: &str| Npz::heterophilous().without(name).bytes();
    let ends = |ends: &[i64]| {
        let body: Vec<u8> = ends.iter().flat_map(|x| x.to_le_bytes()).collect();
        npy("<i8", "(1, 2)", &body)
    };
    let nan = [[0.0f32; 11].as_slice(), &[f32::NAN]]
        .concat()
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect::<Vec<_>>();
    let masks = |entries: [u8; 8]| npy("|b1", "(2, 4)", &entries);
    check(vec![
        case("no labels", toy, FILE, without("node_labels"), &["the arrays", "array 'node_labels'"]),
        case("no features", toy, FILE, without("node_features"), &["the arrays", "array 'node_features'"]),
        case("no edges", toy, FILE, without("edges"), &["the arrays", "array 'edges'"]),
        case("no test masks", toy, FILE, without("test_masks"), &["the arrays", "array 'test_masks'"]),
        case(
            "no nodes",
            toy,
            FILE,
            with("node_labels", i64s(&[])),
            &["array 'node_labels'", "found 0 elements"],
        ),
        case(
            "too few labels",
            toy,
            FILE,
            with("node_labels", i64s(&[0, 1])),
            &["array 'node_features': found 4 × 3 elements, expected 2 rows, one per node"],
        ),
        case(
            "a gap",
            toy,
            FILE,
            with("node_labels", i64s(&[0, 2, 2, 0])),
            &["node_labels", "none of class 1"],
        ),
        case(
            "below 0",
            toy,
            FILE,
            with("node_labels", i64s(&[0, -1, 1, 0])),
            &["node_labels", "element 1: found -1"],
        ),
        case("flat", toy, FILE, with("node_features", f32s(&[1.0; 4])), &["node_features", "two dimensions"]),
        case(
            "NaN",
            toy,
            FILE,
            with("node_features", npy("<f4", "(4, 3)", &nan)),
            &["row 3, column 2: found NaN"],
        ),
        case(
            "an edge to node 4",
            toy,
            FILE,
            with("edges", ends(&[0, 4])),
            &["array 'edges', row 0, column 1: found 4"],
        ),
        case(
            "triples",
            toy,
            FILE,
            with("edges", npy("|i1", "(1, 3)", &[0, 1, 2])),
            &["array 'edges'", "two columns"],
        ),
        case(
            "one split too few",
            toy,
            FILE,
            with("val_masks", npy("|b1", "(1, 4)", &[0, 0, 1, 0])),
            &["array 'val_masks': found 1 × 4 elements, expected 2 × 4"],
        ),
        case(
            "a node in two parts",
            toy,
            FILE,
            with("val_masks", masks([1, 0, 0, 0, 0, 0, 0, 0])),
            &["node 0 in both train and val"],
        ),
        case("truncated", toy, FILE, Npz::heterophilous().bytes()[..200].to_vec(), &["archive"]),
    ]);
}
