//! Labels of a folder.

use controlg::Labels;

use super::{EDGES, edges, folder, ids, read};

#[test]
fn labels_define_the_nodes_if_there_are_no_features_and_classes_txt_orders_the_classes() {
    let dataset = read(&folder(&[
        ("edges.csv", "src,dst\nb,a\n"),
        ("labels.csv", "id,label\na,one\nb,two\nc,one\n"),
        ("classes.txt", "two\nthree\none\n"),
    ]))
    .unwrap();
    assert_eq!(ids(&dataset), ["a", "b", "c"]);
    let labels = dataset.labels.unwrap();
    assert_eq!((labels.classes(), labels.n_classes()), (&[2, 0, 2][..], 3));
}

#[test]
fn nodes_missing_from_the_labels_have_no_label() {
    let dataset = read(&folder(&[
        ("edges.csv", "src,dst\ndora,carl\ncarl,ann\nann,bob\n"),
        ("labels.csv", "id,label\nann,red\nzoe,blue\n"),
        ("splits.csv", "id,split\ndora,test\n"),
    ]))
    .unwrap();
    assert_eq!(ids(&dataset), ["dora", "carl", "ann", "bob", "zoe"]);
    assert_eq!(edges(&dataset), [(0, 1), (1, 2), (2, 3)]);
    let labels = dataset.labels.unwrap();
    assert_eq!(labels.classes(), [Labels::NONE, Labels::NONE, 1, Labels::NONE, 0]);
    assert_eq!(dataset.splits[0].test, [0]);

    let numbers = [("edges.csv", "src,dst\n10,9\n"), ("labels.csv", "id,label\n9,0\n2,1\n")];
    let dataset = read(&folder(&numbers)).unwrap();
    assert_eq!(ids(&dataset), ["2", "9", "10"]);
    assert_eq!(dataset.labels.unwrap().classes(), [1, 0, Labels::NONE]);
}

#[test]
fn minus_one_means_no_label_unless_classes_txt_lists_it() {
    let labels = ("labels.csv", "id,label\na,x\nb,-1\n");
    let classes = |files: &[(&str, &str)]| read(&folder(files)).unwrap().labels.unwrap();
    let without = classes(&[EDGES, labels]);
    assert_eq!((without.classes(), without.n_classes()), (&[0, Labels::NONE][..], 1));
    assert_eq!(classes(&[EDGES, labels, ("classes.txt", "y\nx\n")]).classes(), [1, Labels::NONE]);
    assert_eq!(classes(&[EDGES, labels, ("classes.txt", "-1\nx\n")]).classes(), [1, 0]);
}
