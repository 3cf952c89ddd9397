//! Common ways to write a table that differ from ours are read with a note, or named in an error.

use controlg::graph::Features;

use super::{EDGES, assert_rejected, edges, folder, ids, read};

/// The notes, without the folder.
fn notes(dataset: &controlg::Dataset) -> Vec<&str> {
    dataset.notes.iter().map(|note| note.rsplit_once('/').map_or(note.as_str(), |(_, note)| note)).collect()
}

#[test]
fn semicolons_and_decimal_commas_are_read() {
    let dataset = read(&folder(&[
        ("edges.csv", "\u{feff}src;dst;weight\r\na;b;0,5\r\nb;c;2\r\n"),
        ("features.csv", "id;\"x;1\";y\na;1,25;1\nb;-3,5e1;2\nc;0;3\n"),
        ("labels.csv", "id;label\na;red, dark\nb;blue\n"),
        ("splits.csv", "id;split\na;train\n"),
    ]))
    .unwrap();
    assert_eq!(dataset.graph.adjacency().entries(1).collect::<Vec<_>>(), [(0, 0.5), (2, 2.0)]);
    let Features::Dense(features) = dataset.graph.features() else { panic!("dense") };
    assert_eq!(features.data(), [1.25, 1.0, -35.0, 2.0, 0.0, 3.0]);
    assert_eq!(dataset.graph.feature_names().unwrap(), ["x;1", "y"]);
    assert_eq!(dataset.labels.as_ref().unwrap().names(), ["blue", "red, dark"]);
    let separated = "cells are separated by semicolons";
    assert_eq!(
        notes(&dataset),
        [
            format!("edges.csv: {separated}, decimal commas in numbers"),
            format!("features.csv: {separated}, decimal commas in numbers"),
            format!("labels.csv: {separated}"),
            format!("splits.csv: {separated}"),
        ]
    );
    // Decimal points stay decimal points.
    let dataset = read(&folder(&[("edges.csv", "src;dst;weight\na;b;0.5\n")])).unwrap();
    assert_eq!(dataset.graph.adjacency().entries(0).collect::<Vec<_>>(), [(1, 0.5)]);
    let dataset = read(&folder(&[("edges.csv", "src\tdst\na, b\tc\n")])).unwrap();
    assert_eq!(ids(&dataset), ["a, b", "c"]);
    assert_eq!(notes(&dataset)[0], "edges.csv: cells are separated by tabs");
}

#[test]
fn ambiguous_decimal_marks_are_errors() {
    let both = folder(&[EDGES, ("features.csv", "id;x;y\na;1.000;7\n\nb;3.5;0,5\n")]);
    assert_rejected(
        "both marks",
        read(&both),
        &["features.csv:4: found '0,5', but elsewhere '1.000', expected decimal commas or decimal points"],
    );
    let thousands = folder(&[("edges.csv", "src;dst;weight\na;b;1,5\nb;c;1,234,567\n")]);
    assert_rejected("thousands", read(&thousands), &["edges.csv:3: found '1,234,567' in column 'weight'"]);
    // A comma cannot be told from the separator, but in quotes it is named.
    let quoted = folder(&[EDGES, ("features.csv", "id,x\na,\"0,5\"\nb,1\n")]);
    assert_rejected(
        "quoted",
        read(&quoted),
        &["features.csv:2: found '0,5' in column 'x', expected a number with a decimal point"],
    );
}

#[test]
fn other_names_of_source_and_target_are_read() {
    for header in ["from,to", "U,V", "node1,node2", "source_id,target_id"] {
        let dataset = read(&folder(&[("edges.csv", &format!("{header},weight\na,b,2\n"))])).unwrap();
        assert_eq!((ids(&dataset), edges(&dataset)), (vec!["a".to_owned(), "b".to_owned()], vec![(0, 1)]));
        assert!(notes(&dataset)[0].ends_with("are read as src and dst"), "{:?}", dataset.notes);
        assert!(dataset.graph.adjacency().values().is_some());
    }
    // The usual names come first.
    let dataset = read(&folder(&[("edges.csv", "from,to,src,dst\n1,2,a,b\n")])).unwrap();
    assert_eq!(ids(&dataset), ["a", "b"]);
    assert_eq!(notes(&dataset)[0], "edges.csv: ignored columns from, to");
}

#[test]
fn an_index_of_pandas_is_the_id_or_ignored() {
    let dataset = read(&folder(&[
        ("edges.csv", ",src,dst\n0,a,b\n1,b,c\n"),
        ("features.csv", ",x\nb,1\na,2\nc,3\n"),
        ("labels.csv", ",id,label\n0,a,red\n1,b,blue\n"),
        ("splits.csv", ",id,split\n0,a,train\n1,b,test\n"),
    ]))
    .unwrap();
    assert_eq!(ids(&dataset), ["b", "a", "c"]);
    assert_eq!(dataset.graph.feature_names().unwrap(), ["x"]);
    assert_eq!((&dataset.splits[0].train[..], &dataset.splits[0].test[..]), (&[1][..], &[0][..]));
    assert_eq!(dataset.labels.as_ref().unwrap().names(), ["blue", "red"]);
    let note = "features.csv: the first column has no name and is read as id";
    assert!(notes(&dataset).contains(&note), "{:?}", dataset.notes);
}

#[test]
fn weights_of_duplicate_edges_are_summed() {
    let table = "src,dst,weight\na,b,1\na,b,2.5\nb,c,4\nc,b,4\nc,d,1\nd,c,3\n";
    let dataset = read(&folder(&[("edges.csv", table)])).unwrap();
    let weights =
        |node| dataset.graph.adjacency().entries(node).map(|(_, weight)| weight).collect::<Vec<_>>();
    assert_eq!([weights(0), weights(1), weights(2)], [vec![3.5], vec![3.5, 4.0], vec![4.0, 2.0]]);
    let notes = notes(&dataset);
    assert!(notes.contains(&"1 duplicate edge was merged and the weights summed"), "{notes:?}");
    assert!(
        notes.contains(&"1 edge has different weights in the two directions and gets the mean"),
        "{notes:?}"
    );
    let dataset = read(&folder(&[("edges.csv", "src,dst,weight\na,b,1\na,b,2\na,b,3\n")])).unwrap();
    let note = &"2 duplicate edges were merged and their weights summed";
    assert!(self::notes(&dataset).contains(note), "{:?}", dataset.notes);
    // Without weights, nothing is said: a duplicate is the same edge.
    let dataset = read(&folder(&[("edges.csv", "src,dst\na,b\na,b\n")])).unwrap();
    assert_eq!((dataset.notes.len(), dataset.edge_counts.duplicates), (1, 1), "{:?}", dataset.notes);
}

#[test]
fn labels_of_nodes_without_an_edge_are_counted_and_named() {
    let labels = "id,label\na,x\nzoe,y\nyan,y\nb,x\n";
    let dataset = read(&folder(&[EDGES, ("labels.csv", labels)])).unwrap();
    assert_eq!(ids(&dataset), ["a", "zoe", "yan", "b"]);
    let note = "labels.csv: ids that occur in no edge become isolated nodes, 2 in all: zoe, yan";
    assert!(notes(&dataset).contains(&note), "{:?}", dataset.notes);
    // Also if the labels lack some nodes.
    let dataset = read(&folder(&[("edges.csv", "src,dst\na,b\nb,c\n"), ("labels.csv", labels)])).unwrap();
    assert!(notes(&dataset).contains(&note), "{:?}", dataset.notes);
    // A list of nodes says which nodes there are.
    let listed = [EDGES, ("labels.csv", labels), ("ids.txt", "a\nb\nzoe\nyan\n")];
    let dataset = read(&folder(&listed)).unwrap();
    assert!(!dataset.notes.iter().any(|note| note.contains("in no edge")), "{:?}", dataset.notes);
}

#[test]
fn splits_of_nodes_without_an_edge_are_counted_and_named() {
    let splits = "id,split\nb,train\nzoe,val\na,test\n";
    let note = "splits.csv: ids that occur in no edge become isolated nodes, 1 in all: zoe";
    let dataset = read(&folder(&[EDGES, ("splits.csv", splits)])).unwrap();
    assert_eq!(ids(&dataset), ["a", "b", "zoe"]);
    assert_eq!(dataset.splits[0].val, [2]);
    assert!(notes(&dataset).contains(&note), "{:?}", dataset.notes);
    // Nodes of the labels come first, in the order of the labels if these have all nodes of the edges.
    let labels = ("labels.csv", "id,label\nb,x\nyan,y\na,y\n");
    let dataset = read(&folder(&[EDGES, labels, ("splits.csv", splits)])).unwrap();
    assert_eq!(ids(&dataset), ["b", "yan", "a", "zoe"]);
    assert_eq!(dataset.splits[0].val, [3]);
    assert_eq!(dataset.labels.as_ref().unwrap().get(3), None);
    assert!(notes(&dataset).contains(&note), "{:?}", dataset.notes);
    let edges = ("edges.csv", "src,dst\na,b\nb,c\n");
    let dataset = read(&folder(&[edges, labels, ("splits.csv", splits)])).unwrap();
    assert_eq!(ids(&dataset), ["a", "b", "c", "yan", "zoe"]);
    assert!(notes(&dataset).contains(&note), "{:?}", dataset.notes);
    // Splits that list every node, or none, change nothing.
    let dataset = read(&folder(&[EDGES, ("splits.csv", "id,split\nb,val\na,test\n")])).unwrap();
    assert_eq!(ids(&dataset), ["a", "b"]);
    let dataset = read(&folder(&[EDGES, ("splits.csv", "id,split\n")])).unwrap();
    assert_eq!(ids(&dataset), ["a", "b"]);
}

#[test]
fn a_folder_without_edges_lists_what_it_has() {
    let files =
        folder(&[("edge_list.csv", "src,dst\n"), ("features.csv", "id,x\n"), ("labels.csv", "id,label\n")]);
    assert_rejected(
        "no edges",
        read(&files),
        &[
            "found no edges file; the folder has edge_list.csv, features.csv, labels.csv",
            "expected a folder with edges.csv",
            "rename edge_list.csv to edges.csv",
        ],
    );
    assert_rejected("empty", read(&folder(&[])), &["found an empty folder", "edges.csv"]);
}
