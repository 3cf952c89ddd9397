//! Reading a folder that controlg wrote gives the same data set.

use std::fs;

use controlg::data::{Dataset, FeatureSource, LoadOptions, Split, convert, load, load_path};
use controlg::graph::{Csr, EdgeList, Features, Graph, Ids};
use controlg::{Labels, Real};

use super::common;

fn assert_same(a: &Dataset, b: &Dataset) {
    assert_eq!(a.graph.adjacency(), b.graph.adjacency());
    assert_eq!(a.graph.features(), b.graph.features());
    assert_eq!(a.graph.ids(), b.graph.ids());
    assert_eq!(a.labels, b.labels);
    assert_eq!(a.splits, b.splits);
}

fn round_trip(dataset: &Dataset) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new").join("graph");
    convert::to_folder(dataset, &out).unwrap();
    let left: Vec<_> =
        fs::read_dir(out.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [out.as_path()], "only the folder remains");
    load_path(&out, FeatureSource::Given).unwrap()
}

pub(crate) fn small(
    ids: Ids,
    features: Features,
    weights: Option<Vec<Real>>,
    labels: Option<Labels>,
) -> Dataset {
    let pairs = vec![(0, 1), (3, 1), (2, 0), (1, 4)];
    let (adjacency, edge_counts) = EdgeList { pairs, weights }.into_adjacency(5).unwrap();
    let graph = Graph::new(adjacency, features, ids).unwrap();
    let split = |index, train: &[u32], val: &[u32], test: &[u32]| Split {
        protocol: "a,b: \"c\"".into(),
        index,
        train: train.to_vec(),
        val: val.to_vec(),
        test: test.to_vec(),
    };
    let splits = vec![split(7, &[0, 4], &[2], &[]), split(0, &[1], &[], &[0, 2, 3, 4])];
    Dataset {
        name: "small".into(),
        format: "folder",
        graph,
        labels,
        splits,
        edge_counts,
        relation_counts: vec![],
        notes: Vec::new(),
    }
}

pub(crate) fn dense() -> Features {
    Features::dense(5, 2, vec![0.125, -2.0, 0.0, 1.0 / 65536.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1e10]).unwrap()
}

#[test]
fn unusual_ids_weights_and_labels_survive() {
    let odd = ["spaced  out", "a,b", "\"quoted\"", "日本\t語", "'; drop"].map(str::to_owned).to_vec();
    let names = ["z", "never used", "-1", "a"].map(str::to_owned).to_vec();
    let labels = Labels::new(vec![0, 2, Labels::NONE, 3, 0], names);
    let weights = Some(vec![0.1, 1e-7, 3.0, 16_777_217.0]);
    let dataset = small(Ids::Named(odd), dense(), weights, Some(labels));
    assert_same(&dataset, &round_trip(&dataset));

    let sparse =
        Csr::new(1 << 20, vec![0, 2, 2, 3, 3, 4], vec![5, 1_000_000, 0, 9], Some(vec![1.5, 2.0, -3.0, 1.0]))
            .unwrap();
    let labels = Labels::numbered(vec![1, 0, 2, 2, Labels::NONE]);
    let dataset = small(Ids::Numbered(5), Features::Sparse(sparse), None, Some(labels));
    assert_same(&dataset, &round_trip(&dataset));

    let binary = Csr::new(3, vec![0, 2, 2, 3, 3, 3], vec![0, 2, 1], None).unwrap();
    let labels = Labels::new(vec![0; 5], vec!["10".into()]);
    let dataset = small(Ids::Numbered(5), Features::Sparse(binary), None, Some(labels));
    assert_same(&dataset, &round_trip(&dataset));

    // Sorted, but needs classes.txt: -1 would mean no label.
    let labels = Labels::new(vec![0, 1, 0, 1, Labels::NONE], vec!["-1".into(), "a".into()]);
    let dataset = small(Ids::Numbered(5), dense(), None, Some(labels));
    assert_same(&dataset, &round_trip(&dataset));

    let labels = Labels::numbered(vec![Labels::NONE; 5]);
    let dataset = small(Ids::Numbered(5), dense(), None, Some(labels));
    assert_same(&dataset, &round_trip(&dataset));
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let names = |first: &str| Ids::Named([first, "b", "c", "d", "e"].map(str::to_owned).to_vec());
    for bad in ["", "two\nlines", "\u{feff}x", " x", "x\t"] {
        let dataset = small(names(bad), dense(), None, None);
        let error = convert::to_folder(&dataset, &folder.path().join("out")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(!error.to_string().contains('\n'));
    }
    let spaced = Labels::new(vec![0, 1, 0, 1, 0], vec!["x".into(), "x ".into()]);
    let broken = Labels::new(vec![0, 1, 0, 1, 0], vec!["x".into(), "x\ny".into()]);
    for labels in [spaced, broken] {
        let dataset = small(names("a"), dense(), None, Some(labels));
        assert!(convert::to_folder(&dataset, &folder.path().join("out")).is_err());
    }
    let twice = Labels::new(vec![0, 1, 0, 1, 0], vec!["x".into(), "x".into()]);
    let dataset = small(names("a"), dense(), None, Some(twice));
    assert!(convert::to_folder(&dataset, &folder.path().join("out")).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let dataset = small(names("a"), dense(), None, None);
    fs::write(folder.path().join("file"), "mine").unwrap();
    let error = convert::to_folder(&dataset, folder.path()).unwrap_err();
    assert!(error.to_string().contains("a folder that is not empty"), "{error}");
    assert!(convert::to_folder(&dataset, &folder.path().join("file")).unwrap_err().exit_code() == 2);
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "mine");
    fs::create_dir(folder.path().join("empty")).unwrap();
    convert::to_folder(&dataset, &folder.path().join("empty")).unwrap();
    assert_same(&dataset, &load_path(&folder.path().join("empty"), FeatureSource::Given).unwrap());
}

#[test]
fn real_data_sets_survive() {
    let Some(data) = common::real_data("real_data_sets_survive") else { return };
    let options = LoadOptions { data_dir: Some(data), ..Default::default() };
    for name in ["cora", "citeseer", "chameleon", "coauthor-cs"] {
        let dataset = load(name, &options).unwrap();
        assert_same(&dataset, &round_trip(&dataset));
    }
}
