//! Broken Wiki-CS files.

use super::common::samples::{self, WIKI_CS};
use super::{case, check};

#[test]
fn errors_name_the_file_and_the_problem() {
    const DATA: &str = "data.json";
    let toy = samples::wiki_cs;
    let with = |old: &str, new: &str| {
        assert!(WIKI_CS.contains(old));
        WIKI_CS.replacen(old, new, 1).into_bytes()
    };
    check(vec![
        case("truncated", toy, DATA, WIKI_CS.as_bytes()[..WIKI_CS.len() / 2].to_vec(), &[":2: ", "EOF"]),
        case("NaN", toy, DATA, with("0.5", "NaN"), &[":1: column", "expected"]),
        case("too large a number", toy, DATA, with("0.5", "1e999"), &[":1: column", "out of range"]),
        case("text for a number", toy, DATA, with("0.5", "\"a\""), &[":1: ", "string"]),
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
            &["node 0", "no features"],
        ),
        case("link out of range", toy, DATA, with("[2]", "[3]"), &["links of node 1", "found 3", "0..3"]),
        case("negative link", toy, DATA, with("[2]", "[-2]"), &[":2: ", "-2"]),
        case("fewer links", toy, DATA, with("[2], []", "[2]"), &["links", "2 entries", "3"]),
        case("fewer labels", toy, DATA, with("[1, 0, 1]", "[1, 0]"), &["labels", "2 entries", "3"]),
        case("label gap", toy, DATA, with("[1, 0, 1]", "[1, 3, 1]"), &["labels", "none of class 0"]),
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
            &[":1: column 100010", "EOF"],
        ),
    ]);
}
