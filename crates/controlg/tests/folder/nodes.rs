//! The nodes of a folder, their ids and their order.

use controlg::Labels;
use controlg::data::{LoadOptions, arrays, load};
use controlg::graph::{Csr, EdgeCounts, Features, Ids};

use super::{edges, folder, ids, read};

#[test]
fn a_single_table_of_edges_is_a_graph() {
    let folder = folder(&[("my_edges.csv", "src,dst\nb,a\na,c\nc,c\nb,a\n")]);
    let path = folder.path().join("my_edges.csv");
    let dataset = load(path.to_str().unwrap(), &LoadOptions::default()).unwrap();
    assert_eq!(dataset.format, "folder");
    assert_eq!(ids(&dataset), ["b", "a", "c"]); // in order of appearance
    assert_eq!(edges(&dataset), [(0, 1), (1, 2)]);
    assert_eq!(dataset.edge_counts, EdgeCounts { self_loops: 1, duplicates: 1, ..EdgeCounts::default() });
    assert!(dataset.notes.iter().any(|note| note.contains("structural")), "{:?}", dataset.notes);
}

#[test]
fn integer_ids_are_sorted_by_value() {
    let dataset = read(&folder(&[("edges.tsv", "Source\tTarget\tkind\n10\t9\tx\n-3\t10\ty\n")])).unwrap();
    assert_eq!(ids(&dataset), ["-3", "9", "10"]);
    assert_eq!(edges(&dataset), [(0, 2), (1, 2)]);
    assert!(dataset.notes[0].ends_with("ignored columns kind"), "{:?}", dataset.notes);
    let dataset = read(&folder(&[("edges.csv", "src,dst\n7,07\n")])).unwrap();
    assert_eq!(ids(&dataset), ["7", "07"]); // not canonical integers, so different ids
}

#[test]
fn array_rows_are_numbered_or_follow_ids_txt() {
    let files = folder(&[("edges.csv", "src,dst\n2,0\n"), ("labels.csv", "id,label\n1,0\n2,1\n0,-1\n")]);
    arrays::write_npy(&files.path().join("features.npy"), 4, 2, &[0.5; 8]).unwrap();
    let dataset = read(&files).unwrap();
    assert_eq!(dataset.graph.ids(), &Ids::Numbered(4));
    assert_eq!(dataset.labels.unwrap().classes(), [Labels::NONE, 0, 1, Labels::NONE]);

    let files = folder(&[("edges.csv", "src,dst\nα,\"b,\"\"c\"\n"), ("ids.txt", "b,\"c\r\nnobody\r\nα\r\n")]);
    let sparse = Csr::new(9, vec![0, 1, 1, 3], vec![4, 0, 8], Some(vec![2.0, 3.0, 4.0])).unwrap();
    arrays::write_csr_npz(&files.path().join("features.npz"), &sparse).unwrap();
    let dataset = read(&files).unwrap();
    assert_eq!(ids(&dataset), ["b,\"c", "nobody", "α"]);
    assert_eq!(edges(&dataset), [(0, 2)]);
    assert_eq!(dataset.graph.features(), &Features::Sparse(sparse)); // stays sparse
}

#[test]
fn spaces_around_cells_and_lines_are_ignored() {
    let dataset = read(&folder(&[("edges.csv", "src, dst\nann, bob\nbob , carl\ncarl,\tann\n")])).unwrap();
    assert_eq!(ids(&dataset), ["ann", "bob", "carl"]);
    assert_eq!(edges(&dataset), [(0, 1), (0, 2), (1, 2)]);

    let dataset = read(&folder(&[
        ("edges.tsv", "src\tdst\nann \tbob\n"),
        ("ids.txt", "bob \nann\n"),
        ("labels.csv", "id, label\nann, red\nbob,red \n"),
        ("classes.txt", "blue\nred \n"),
        ("splits.csv", "id, split\nann, train\nbob, \n"),
    ]))
    .unwrap();
    assert_eq!(ids(&dataset), ["bob", "ann"]);
    assert_eq!(dataset.labels.unwrap().classes(), [1, 1]);
    assert_eq!(dataset.splits[0].train, [1]);
}
