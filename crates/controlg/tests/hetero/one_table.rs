//! Node types and relations in one table each.

use std::fs;
use std::path::Path;

use controlg::data::{Dataset, LoadOptions, load};

const NODES: &str = "id,type,label,year,pages,h\nann,author,,,,4\np1,paper,x,2001,7,\nbob,author,,,,2\np2,paper,y,2002,9,\np3,paper,,2003,1,\n";
const EDGES: &str = "src,dst,relation\nann,p1,writes\np1,p2,paper-cites-paper\nann,p2,writes\nbob,p1,writes\np3,p1,paper-cites-paper\n";

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn read(files: &[(&str, &str)]) -> controlg::Result<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    load(folder.path().to_str().unwrap(), &LoadOptions::default())
}

/// The same content in tables per type and relation.
const SEPARATE: [(&str, &str); 5] = [
    ("nodes/author.csv", "id,h\nann,4\nbob,2\n"),
    ("nodes/paper.csv", "id,label,year,pages\np1,x,2001,7\np2,y,2002,9\np3,,2003,1\n"),
    ("edges/author-writes-paper.csv", "src,dst\nann,p1\nann,p2\nbob,p1\n"),
    ("edges/paper-cites-paper.csv", "src,dst\np1,p2\np3,p1\n"),
    ("splits.csv", SPLITS),
];
const SPLITS: &str = "id,split\npaper:p1,train\npaper:p2,test\n";

#[test]
fn one_table_of_nodes_and_one_of_edges_equal_tables_per_type() {
    let expected = read(&SEPARATE).unwrap();
    let [author, paper, writes, cites, splits] = SEPARATE;
    for files in [
        vec![("nodes.csv", NODES), ("edges.csv", EDGES), splits],
        vec![("nodes.csv", NODES), writes, cites, splits],
        vec![author, paper, ("edges.csv", EDGES), splits],
    ] {
        let found = read(&files).unwrap();
        assert_eq!(found.format, "typed-folder");
        assert_eq!(found.graph.fingerprint(), expected.graph.fingerprint());
        assert_eq!(found.fingerprint(), expected.fingerprint());
        assert_eq!((found.graph.ids(), &found.labels), (expected.graph.ids(), &expected.labels));
        assert_eq!(found.splits.len(), 1);
    }
}

#[test]
fn a_folder_without_these_columns_has_no_types() {
    let plain = [("nodes.csv", "id,kind\na,x\nb,y\n"), ("edges.csv", "src,dst\na,b\n")];
    let found = read(&plain).unwrap();
    assert!(found.format == "folder" && found.graph.relations().is_none());
}

#[test]
fn bad_input_is_one_line_with_the_line_of_the_file() {
    let error = |nodes: &str, edges: &str| {
        let error = read(&[("nodes.csv", nodes), ("edges.csv", edges)]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert_eq!(text.lines().count(), 1);
        text[text.find("nodes.csv").into_iter().chain(text.find("edges.csv")).min().unwrap()..].to_owned()
    };
    let edges = |line: &str| format!("{EDGES}{line}\n");
    assert_eq!(
        error(NODES, &edges("p1,kdd,paper-in-venue")),
        "edges.csv: found the node type venue, expected one of author, paper"
    );
    // The first edge of a relation says which types it joins.
    assert_eq!(
        error(NODES, &edges("p1,p2,writes")),
        "edges.csv:7: found node 'p1', expected an id of type author, listed in nodes.csv"
    );
    assert_eq!(
        error(NODES, &edges("p1,ann,paper-cites-paper")),
        "edges.csv:7: found node 'ann', expected an id of type paper, listed in nodes.csv"
    );
    assert_eq!(
        error(NODES, &edges("ann,p1,")),
        "edges.csv:7: found an empty cell in column 'relation', expected a relation"
    );
    let wrong = error(&NODES.replace("2002,9", "2002,"), EDGES);
    assert_eq!(wrong, "nodes.csv:5: found an empty cell in column 'pages', expected a finite number");
    let twice = error(&format!("{NODES}p1,paper,x,1,1,\n"), EDGES);
    assert_eq!(twice, "nodes.csv:7: found duplicate id 'p1', expected each id once");
    let none = error(&NODES.replace("bob,author", "bob,"), EDGES);
    assert_eq!(none, "nodes.csv:4: found an empty cell in column 'type', expected a node type");
    // An id of two types does not say which one a plain relation joins.
    let shared = format!("{NODES}ann,paper,,1,1,\n");
    assert_eq!(
        error(&shared, "src,dst,relation\nann,p1,writes\n"),
        "edges.csv:2: found node 'ann', an id of several types, expected an id of one type in the table of nodes, or relations \
         like author-writes-paper"
    );
    assert!(
        read(&[("nodes.csv", &shared), ("edges.csv", &EDGES.replace(",writes", ",author-writes-paper"))])
            .is_ok()
    );
}
