//! ACM, DBLP and IMDB: the counts of their READMEs, read from the original files.

use controlg::data::{Dataset, Labels, LoadOptions, load, select_splits};
use controlg::graph::TypeFeatures;

use crate::common::real_data;

fn known(name: &str, test: &str) -> Option<Dataset> {
    let options = LoadOptions { data_dir: Some(real_data(test)?), ..LoadOptions::default() };
    Some(load(name, &options).unwrap())
}

/// (name, nodes, features, whether they are given) of each type.
fn types(data: &Dataset) -> Vec<(String, usize, usize, bool)> {
    let relations = data.graph.relations().unwrap();
    let types = relations.schema().types().iter().enumerate();
    types
        .map(|(at, t)| {
            (t.name.clone(), relations.nodes(at).len(), t.columns.len(), t.features == TypeFeatures::Given)
        })
        .collect()
}

fn edges(data: &Dataset) -> Vec<(String, usize)> {
    let relations = data.graph.relations().unwrap();
    let counts = relations.n_edges(data.graph.adjacency());
    counts.into_iter().enumerate().map(|(at, count)| (relations.schema().relation_name(at), count)).collect()
}

/// (protocol, train, val, test) of each split; and the number of labels and of classes.
type Sizes<'s> = (Vec<(&'s str, usize, usize, usize)>, usize, usize);

fn sizes(data: &Dataset) -> Sizes<'_> {
    let splits =
        data.splits.iter().map(|s| (&s.protocol[..], s.train.len(), s.val.len(), s.test.len())).collect();
    let labels = data.labels.as_ref().unwrap();
    let labeled = labels.classes().iter().filter(|&&class| class != Labels::NONE).count();
    (splits, labeled, labels.n_classes())
}

#[test]
fn acm() {
    let Some(data) = known("acm", "acm") else { return };
    let named = |name: &str, nodes, features, given| (name.to_owned(), nodes, features, given);
    assert_eq!(
        types(&data),
        [
            named("paper", 4019, 1902, true),
            named("author", 7167, 1902, true),
            named("subject", 60, 60, false)
        ]
    );
    assert_eq!(
        edges(&data),
        [("paper-has_author-author".to_owned(), 13_407), ("paper-has_subject-subject".to_owned(), 4019)]
    );
    let splits = vec![
        ("per-class-20", 60, 1000, 1000),
        ("per-class-40", 120, 1000, 1000),
        ("per-class-60", 180, 1000, 1000),
    ];
    assert_eq!(sizes(&data), (splits, 4019, 3));
    // Papers come first, and only they have labels.
    assert_eq!(data.graph.ids().get(4018), "paper:4018");
    assert!(
        data.labels.as_ref().unwrap().get(4018).is_some()
            && data.labels.as_ref().unwrap().get(4019).is_none()
    );
    assert_eq!((data.edge_counts.duplicates, data.edge_counts.self_loops), (0, 0));
}

#[test]
fn dblp() {
    let Some(data) = known("dblp", "dblp") else { return };
    let named = |name: &str, nodes, features, given| (name.to_owned(), nodes, features, given);
    assert_eq!(
        types(&data),
        [
            named("paper", 14_328, 4231, true),
            named("author", 4057, 334, true),
            named("term", 7723, 50, true),
            named("conference", 20, 20, false),
        ]
    );
    let named = |name: &str, count| (name.to_owned(), count);
    assert_eq!(
        edges(&data),
        [
            named("paper-has_author-author", 19_645),
            named("paper-has_term-term", 85_810),
            named("paper-has_conference-conference", 14_328),
        ]
    );
    let splits = vec![
        ("per-class-20", 80, 1000, 1000),
        ("per-class-40", 160, 1000, 1000),
        ("per-class-60", 240, 1000, 1000),
    ];
    assert_eq!(sizes(&data), (splits, 4057, 4));
    assert!(data.labels.as_ref().unwrap().get(14_328).is_some());
}

#[test]
fn imdb() {
    let Some(data) = known("imdb", "imdb") else { return };
    let named = |name: &str, nodes| (name.to_owned(), nodes, 3066, true);
    assert_eq!(types(&data), [named("movie", 4278), named("director", 2081), named("actor", 5257)]);
    assert_eq!(
        edges(&data),
        [("movie-has_director-director".to_owned(), 4278), ("movie-has_actor-actor".to_owned(), 12_828)]
    );
    assert_eq!(sizes(&data), (vec![("magnn-400", 400, 400, 3478)], 4278, 3));
    // The splits of 20, 40 and 60 labels per class are drawn for it.
    let labels = data.labels.as_ref().unwrap();
    for (protocol, count) in [("per-class-20", 60), ("per-class-40", 120), ("per-class-60", 180)] {
        let split = &select_splits("imdb", &data.splits, labels, Some(protocol), 3).unwrap()[0];
        assert_eq!((split.train.len(), split.val.len(), split.test.len()), (count, 1000, 1000));
        assert!(split.test.iter().all(|&node| labels.get(node as usize).is_some()));
    }
}
