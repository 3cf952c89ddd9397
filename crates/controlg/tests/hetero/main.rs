//! Graphs with node types and relations: data, encoder, objectives, sensing and whole runs.
#![cfg_attr(feature = "f64", allow(clippy::useless_conversion))] // f64::from(x) of a Real

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/differences.rs"]
mod differences;

#[path = "../objectives/bench.rs"]
#[allow(dead_code)] // this suite needs a part of it
mod bench;
mod encoder;
mod folder;
mod known;
mod objectives;
mod one_table;
mod relations;
mod run;
mod sensing;

use controlg::graph::{
    Features, Graph, Ids, NodeType, Relation, Schema, TypeFeatures, TypedEdgeList, node_types,
};

/// Three types (five a, four b, three c without features) and four relations, two of them between the same types and one within
/// a type. The pair (a₀, b₁) is in two relations.
pub(crate) fn small(directed: bool) -> Graph {
    let sizes = vec![5, 4, 3];
    let types = node_types(["a", "b", "c"].map(str::to_owned).to_vec(), &sizes, &[Some(3), Some(2), None]);
    assert_eq!(types[2], NodeType { name: "c".into(), columns: 5..8, features: TypeFeatures::OneHot });
    let relation = |src, name: &str, dst| Relation { src, name: name.to_owned(), dst, directed };
    let relations = vec![relation(0, "r", 1), relation(0, "s", 1), relation(2, "t", 1), relation(0, "u", 0)];
    let pairs = vec![
        vec![(0, 0), (0, 1), (1, 1), (2, 2), (3, 3), (4, 0), (0, 1)],
        vec![(0, 1), (1, 3), (2, 0)],
        vec![(0, 0), (1, 1), (2, 3), (0, 3)],
        vec![(0, 1), (1, 0), (1, 2), (3, 3), (2, 3)],
    ];
    let schema = Schema::new(types, relations).unwrap();
    let (adjacency, counts) = TypedEdgeList { schema, sizes, pairs }.into_adjacency().unwrap();
    assert_eq!(
        counts.iter().map(|c| (c.self_loops, c.duplicates)).collect::<Vec<_>>(),
        [(0, 1), (0, 0), (0, 0), (1, 0)]
    );
    let given = [
        Some(Features::dense(5, 3, common::numbers(1, 15)).unwrap()),
        Some(Features::dense(4, 2, common::numbers(2, 8)).unwrap()),
        None,
    ];
    Graph::typed(adjacency, &given, Ids::Numbered(12)).unwrap()
}

/// One type with an undirected relation, and the same graph without types.
pub(crate) fn with_and_without_types() -> [Graph; 2] {
    let plain =
        controlg::data::load("synthetic:nodes=300,features=60,degree=5", &Default::default()).unwrap().graph;
    let pairs: Vec<(u32, u32)> = plain.edges().collect();
    let sizes = vec![plain.n_nodes()];
    let types = node_types(vec!["node".to_owned()], &sizes, &[Some(plain.n_features())]);
    let relation = Relation { src: 0, name: "edge".to_owned(), dst: 0, directed: false };
    let schema = Schema::new(types, vec![relation]).unwrap();
    let (adjacency, _) = TypedEdgeList { schema, sizes, pairs: vec![pairs] }.into_adjacency().unwrap();
    let typed = Graph::typed(adjacency, &[Some(plain.features().clone())], plain.ids().clone()).unwrap();
    assert_eq!(typed.adjacency().as_csr(), plain.adjacency().as_csr());
    [typed, plain]
}
