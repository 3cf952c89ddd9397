//! Own folders with tables per type and relation, and what is wrong with bad ones.

use std::fs;
use std::path::Path;

use controlg::data::{LoadOptions, load};
use controlg::graph::{ONE_HOT_UP_TO, TypeFeatures};

/// Two types and two relations.
const FILES: [(&str, &str); 5] = [
    ("nodes/author.csv", "id\nann\nbob\ncy\n"),
    ("nodes/paper.csv", "id,label,year,pages\np1,x,2001,7\np2,y,2002,9\np3,,2003,1\n"),
    ("edges/author-writes-paper.csv", "src,dst\nann,p1\nann,p2\nbob,p1\nann,p2\n"),
    ("edges/paper-cites-paper.csv", "src,dst\np1,p2\np2,p1\np3,p1\np2,p2\n"),
    ("splits.csv", "id,split\npaper:p1,train\npaper:p2,test\n"),
];

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn a_folder_of_tables_is_a_graph_with_types() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &FILES);
    let data = load(folder.path().to_str().unwrap(), &LoadOptions::default()).unwrap();
    assert_eq!(data.format, "typed-folder");
    let relations = data.graph.relations().unwrap();
    assert_eq!(
        relations.schema().to_string(),
        "types author, paper; relations author-writes-paper, paper-cites-paper"
    );
    assert_eq!(relations.n_edges(data.graph.adjacency()), [3, 2]);
    let dropped: Vec<_> = data.relation_counts.iter().map(|c| (c.self_loops, c.duplicates)).collect();
    assert_eq!(dropped, [(0, 1), (1, 0)]);
    assert_eq!(data.graph.ids().get(0), "author:ann");
    assert_eq!(data.graph.ids().get(5), "paper:p3");
    let classes: Vec<Option<u32>> = (0..6).map(|node| data.labels.as_ref().unwrap().get(node)).collect();
    assert_eq!(classes, [None, None, None, Some(0), Some(1), None]);
    assert_eq!((&data.splits[0].train[..], &data.splits[0].test[..]), (&[3][..], &[4][..]));
    // Authors have an embedding each, papers their year and pages.
    assert_eq!(data.graph.features().row(1), [(1, 1.0)]);
    assert_eq!(data.graph.features().row(4), [(3, 2002.0), (4, 9.0)]);
    assert_eq!(relations.schema().types()[0].features, TypeFeatures::OneHot);
    assert!(
        data.notes
            .iter()
            .any(|note| note == "author: no features are given; the encoder learns an embedding per node")
    );
}

#[test]
fn directed_relations_keep_both_edges_of_a_pair() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &FILES);
    let options = LoadOptions { directed: true, ..LoadOptions::default() };
    let data = load(folder.path().to_str().unwrap(), &options).unwrap();
    let relations = data.graph.relations().unwrap();
    assert_eq!(relations.n_edges(data.graph.adjacency()), [3, 3]);
    assert_eq!(relations.schema().directions().len(), 4);

    // A graph without types becomes one type with one directed relation.
    let plain = tempfile::tempdir().unwrap();
    write(
        plain.path(),
        &[("edges.csv", "src,dst\n0,1\n1,0\n1,2\n"), ("features.csv", "id,x\n0,1\n1,2\n2,3\n")],
    );
    let path = plain.path().to_str().unwrap();
    let [directed, undirected] = [true, false]
        .map(|directed| load(path, &LoadOptions { directed, ..LoadOptions::default() }).unwrap().graph);
    let relations = directed.relations().unwrap();
    assert_eq!(
        (relations.n_edges(directed.adjacency()), relations.schema().to_string()),
        (vec![3], "types node; relations node-edge-node".to_owned())
    );
    assert!(undirected.relations().is_none());
    assert_eq!((directed.features(), directed.ids()), (undirected.features(), undirected.ids()));
    let adjacencies = [&directed, &undirected].map(|graph| graph.adjacency().as_csr().clone());
    assert_eq!(adjacencies[0], adjacencies[1]);
}

#[test]
fn large_types_without_features_get_structural_ones() {
    let folder = tempfile::tempdir().unwrap();
    let ids = |name: &str, n: usize| {
        let rows: Vec<String> = (0..n).map(|node| format!("{name}{node}")).collect();
        format!("id\n{}\n", rows.join("\n"))
    };
    let (users, items) = (ids("u", ONE_HOT_UP_TO + 1), ids("i", 5));
    let edges: Vec<String> = (0..=ONE_HOT_UP_TO).map(|user| format!("u{user},i{}", user % 5)).collect();
    let edges = format!("src,dst\n{}\n", edges.join("\n"));
    let files =
        [("nodes/user.csv", &users[..]), ("nodes/item.csv", &items), ("edges/user-buys-item.csv", &edges)];
    write(folder.path(), &files);
    let graph = load(folder.path().to_str().unwrap(), &LoadOptions::default()).unwrap().graph;
    let types = graph.relations().unwrap().schema().types();
    assert_eq!(
        types.iter().map(|t| t.features).collect::<Vec<_>>(),
        [TypeFeatures::OneHot, TypeFeatures::Structural]
    );
    assert!(graph.has_features_from_edges());
    // Features of a graph with fewer edges are computed from these alone.
    let split = controlg::data::EdgeSplit::draw(&graph, 0).unwrap();
    let training = split.training_graph(&graph).unwrap();
    assert!(training.has_features_from_edges());
    assert_ne!(training.features(), graph.features());
    assert_eq!(training.features().row(2), graph.features().row(2));
}

#[test]
fn a_converted_graph_is_the_same() {
    let home = tempfile::tempdir().unwrap();
    let (from, to) = (home.path().join("from"), home.path().join("to"));
    write(&from, &FILES);
    for directed in [false, true] {
        let options = LoadOptions { directed, ..LoadOptions::default() };
        let out = to.join(directed.to_string());
        let data = load(from.to_str().unwrap(), &options).unwrap();
        controlg::data::convert::to_folder(&data, &out).unwrap();
        let again = load(out.to_str().unwrap(), &options).unwrap();
        assert_eq!((again.format, again.fingerprint()), ("typed-folder", data.fingerprint()));
        assert_eq!((again.graph.ids(), &again.labels), (data.graph.ids(), &data.labels));
    }
    // A type whose name would not be told from the relation's.
    let odd = home.path().join("odd");
    write(&odd, &[("nodes.csv", "id,type\na,x-y\nb,z\n"), ("edges.csv", "src,dst,relation\na,b,r\n")]);
    let data = load(odd.to_str().unwrap(), &LoadOptions::default()).unwrap();
    let error = controlg::data::convert::to_folder(&data, &home.path().join("new")).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert_eq!(
        error.to_string(),
        "node types and relations: found 'x-y', expected a name for a file, without - / \\ ."
    );
}

/// GraphStorm's description of the same tables gives the same graph.
#[test]
fn a_graphstorm_description_is_read() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &FILES);
    let description = r#"{
        "version": "gconstruct-v0.1",
        "nodes": [
            {"node_type": "author", "node_id_col": "id", "format": {"name": "csv"}, "files": "nodes/author.csv"},
            {"node_type": "paper", "node_id_col": "id", "format": {"name": "csv"}, "files": ["nodes/paper.csv"],
             "features": [{"feature_col": "year"}, {"feature_col": ["pages"], "transform": {"name": "no-op"}}],
             "labels": [{"label_col": "label", "task_type": "classification", "split_pct": [0.8, 0.1, 0.1]}]}
        ],
        "edges": [
            {"relation": ["author", "writes", "paper"], "source_id_col": "src", "dest_id_col": "dst", "format": {"name": "csv"},
             "files": ["edges/author-writes-paper.csv"]},
            {"relation": ["paper", "cites", "paper"], "source_id_col": "src", "dest_id_col": "dst", "format": {"name": "csv"},
             "files": ["edges/paper-cites-paper.csv"]}
        ]
    }"#;
    let file = folder.path().join("graph.json");
    fs::write(&file, description).unwrap();
    let read = |path: &Path| load(path.to_str().unwrap(), &LoadOptions::default());
    let (described, plain) = (read(&file).unwrap(), read(folder.path()).unwrap());
    assert_eq!(described.format, "graphstorm");
    assert_eq!(described.graph.fingerprint(), plain.graph.fingerprint());
    assert_eq!((&described.labels, described.graph.ids()), (&plain.labels, plain.graph.ids()));
    assert!(
        described.notes.contains(&"paper: split_pct is ignored; see `controlg list protocols`".to_owned())
    );

    let error = |from: &str, to: &str| {
        fs::write(&file, description.replace(from, to)).unwrap();
        let error = read(&file).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string().replace(&format!("{}/", folder.path().display()), "")
    };
    let expected = "graph.json: found the node type venue, expected one of author, paper";
    assert_eq!(error(r#""cites", "paper"]"#, r#""cites", "venue"]"#), expected);
    let expected = "graph.json: found the transform bert_hf of node type paper, \
                    expected features without a transform: ControlG normalizes them itself";
    assert_eq!(error("no-op", "bert_hf"), expected);
    assert!(error("\"year\"", "\"title\"").starts_with("nodes/paper.csv"));
    assert!(error("\"edges\":", "\"links\":").starts_with("graph.json: found missing field `edges`"));
    let expected = "graph.json: found the file nodes/author.h5, expected a .csv, .tsv or .parquet";
    assert_eq!(error("nodes/author.csv", "nodes/author.h5"), expected);
}

/// The error for the files after one of them is replaced, or added.
fn error(name: &str, text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &FILES);
    write(folder.path(), &[(name, text)]);
    let error = load(folder.path().to_str().unwrap(), &LoadOptions::default()).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn bad_input_is_one_line_that_names_the_place() {
    let relation = "edges/author-writes-paper.csv";
    for (name, text, expected) in [
        (
            "edges/paper-in-venue.csv",
            "src,dst\np1,kdd\n",
            "edges/paper-in-venue.csv: found the node type venue, expected one of author, paper",
        ),
        (
            "edges/writes.csv",
            "src,dst\n",
            "edges/writes.csv: found the name writes, expected SRC-RELATION-DST, as in author-writes-paper",
        ),
        (
            relation,
            "src,dst\np1,p2\n",
            "edges/author-writes-paper.csv:2: found node 'p1', expected an id of type author, listed in author.csv",
        ),
        (
            relation,
            "src,dst\nann,p1\nann,bob\n",
            "edges/author-writes-paper.csv:3: found node 'bob', expected an id of type paper, listed in paper.csv",
        ),
        (
            relation,
            "src,dst,weight\nann,p1,2\n",
            "edges/author-writes-paper.csv:1: found column 'weight', expected src,dst; edges between types have no weights",
        ),
        (
            "nodes/author.csv",
            "id\n",
            "nodes/author.csv: found no rows after the header, expected one row per node",
        ),
        (
            "nodes/author.csv",
            "id\nann\nbob\nann\n",
            "nodes/author.csv:4: found duplicate id 'ann', expected each id once",
        ),
        (
            "nodes/author.csv",
            "id,label\nann,z\nbob,z\ncy,y\n",
            "nodes/paper.csv: found a column of labels, expected labels of one type; author has some",
        ),
        ("nodes/author.parquet", "", "nodes: found two tables named author, expected one"),
        (
            "splits.csv",
            "id,split\np1,train\n",
            "splits.csv:2: found node 'p1', expected an id listed in nodes",
        ),
    ] {
        assert_eq!(error(name, text), expected);
    }
    let ragged = error("nodes/paper.csv", "id,year,pages\np1,2001,7\np2,2002\np3,3,3\n");
    assert!(ragged.starts_with("nodes/paper.csv:3: "), "{ragged}");
    let text = error("nodes/paper.csv", "id,year\np1,2001\np2,soon\np3,3\n");
    assert!(text.starts_with("nodes/paper.csv:3: found 'soon'"), "{text}");
}

/// An edge whose reverse is in another part would give the answer away.
#[test]
fn a_reverse_edge_in_the_test_set_is_an_error() {
    let graph = crate::run::bipartite(60);
    let mut split = controlg::data::EdgeSplit::draw(&graph, 0).unwrap();
    let (u, v) = split.train[0];
    split.test.push((v, u));
    let error = split.training_graph(&graph).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("expected each edge in one part, its reverse included"), "{error}");
}
