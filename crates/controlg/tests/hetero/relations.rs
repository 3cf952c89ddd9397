//! The adjacency of all relations, its operators, and what removes edges from it.

use controlg::graph::{EdgeDropper, EdgeList, Operator, OperatorSpec, Schema, Subgraph, TypedEdgeList};
use controlg::rng::Stream;

use crate::small;

/// (row, column, value) of every message, with the direction and the sender of the column.
fn messages(graph: &controlg::graph::Graph, operator: &Operator) -> Vec<(usize, usize, usize, f64)> {
    let senders = graph.adjacency().senders();
    let mut messages = Vec::new();
    for row in 0..graph.n_nodes() {
        for (mut column, value) in operator.matrix().entries(row).map(|(c, x)| (c as usize, f64::from(x))) {
            let direction = senders.iter().position(|range| {
                let inside = column < range.len();
                column -= if inside { 0 } else { range.len() };
                inside
            });
            let direction = direction.expect("a direction");
            messages.push((row, direction, senders[direction].start + column, value));
        }
    }
    messages
}

#[test]
fn edges_are_counted_by_relation_and_a_pair_may_have_several() {
    let graph = small(false);
    let relations = graph.relations().unwrap();
    assert_eq!(relations.n_edges(graph.adjacency()), [6, 3, 4, 3]);
    // a0 – b1 is in r and s.
    let at = graph.adjacency().offsets()[0] + graph.neighbors(0).iter().position(|&v| v == 6).unwrap();
    assert_eq!(relations.relations_at(at).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(graph.n_edges(), 6 + 3 + 4 + 3 - 1);
    assert_eq!((relations.nodes(1), relations.type_of(5), relations.type_of(11)), (5..9, 1, 2));
}

#[test]
fn operators_average_over_the_neighbors_in_every_direction() {
    for directed in [false, true] {
        let graph = small(directed);
        let operator = Operator::new(graph.adjacency(), OperatorSpec::RELATIONS);
        // The relations between types have two directions each, the one within a type one or two.
        let directions = graph.relations().unwrap().schema().directions().to_vec();
        assert_eq!(directions.len(), if directed { 8 } else { 7 });
        let pairs: [&[(usize, usize)]; 4] = [
            &[(0, 5), (0, 6), (1, 6), (2, 7), (3, 8), (4, 5)],
            &[(0, 6), (1, 8), (2, 5)],
            &[(9, 5), (10, 6), (11, 8), (9, 8)],
            if directed { &[(0, 1), (1, 0), (1, 2), (2, 3)] } else { &[(0, 1), (1, 2), (2, 3)] },
        ];
        let mut expected = Vec::new();
        for (at, direction) in directions.iter().enumerate() {
            let forward = directions[..at].iter().all(|before| before.relation != direction.relation);
            let both = !directed && direction.relation == 3;
            for row in 0..12 {
                let from = |&(u, v): &(usize, usize)| match (forward, row) {
                    (true, row) if row == v => Some(u),
                    (false, row) if row == u => Some(v),
                    (true, row) if both && row == u => Some(v),
                    _ => None,
                };
                let senders: Vec<usize> = pairs[direction.relation].iter().filter_map(from).collect();
                let share = 1.0 / senders.len() as f64;
                expected.extend(senders.into_iter().map(|sender| (row, at, sender, share)));
            }
        }
        let mut found = messages(&graph, &operator);
        for list in [&mut expected, &mut found] {
            list.sort_by_key(|&(row, direction, sender, _)| (row, direction, sender));
        }
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((found.0, found.1, found.2), (expected.0, expected.1, expected.2));
            assert!((found.3 - expected.3).abs() < 1e-6);
        }
    }
}

/// An edge that is hidden is hidden in every relation and both directions: nothing is left to copy the answer from.
#[test]
fn hidden_edges_leave_no_message() {
    let graph = small(true);
    let stream = &mut Stream::new(0, "test", "", 0);
    let (operator, hidden) =
        EdgeDropper::new(OperatorSpec::RELATIONS).hide_edges(graph.adjacency(), 0.5, &[], stream);
    assert_eq!(hidden.len(), graph.n_edges().div_ceil(2));
    let left = messages(&graph, &operator);
    for &(u, v) in &hidden {
        let joins =
            |m: &(usize, usize, usize, f64)| [(m.0, m.2), (m.2, m.0)].contains(&(u as usize, v as usize));
        assert!(!left.iter().any(joins), "{u} {v}");
    }
    assert!(!left.is_empty());
}

#[test]
fn other_edges_and_subgraphs_keep_the_relations() {
    let graph = small(true);
    let all = Operator::new(graph.adjacency(), OperatorSpec::RELATIONS);
    let kept: Vec<(u32, u32)> = graph.edges().filter(|(u, v)| (u + v) % 3 != 0).collect();
    let (fewer, _) = EdgeList { pairs: kept.clone(), weights: None }.into_adjacency(12).unwrap();
    let fewer = graph.with_adjacency(fewer).unwrap();
    let dropped = EdgeDropper::new(OperatorSpec::RELATIONS)
        .keep_edges(graph.adjacency(), |u, v| kept.contains(&(u, v)));
    assert_eq!(Operator::new(fewer.adjacency(), OperatorSpec::RELATIONS).matrix(), dropped.matrix());
    assert!(dropped.matrix().n_entries() < all.matrix().n_entries());

    let nodes = [0, 1, 2, 5, 6, 9, 11];
    let part = Subgraph::induced(&graph, &nodes).unwrap();
    let relations = part.graph.relations().unwrap();
    assert_eq!([0, 1, 2].map(|at| relations.nodes(at)), [0..3, 3..5, 5..7]);
    assert_eq!(relations.n_edges(part.graph.adjacency()), [3, 2, 1, 3]);
    assert_ne!(part.graph.fingerprint(), graph.fingerprint());
}

#[test]
fn wrong_schemas_and_edges_are_errors() {
    let message = |sizes: [usize; 3], pair: (u32, u32)| {
        let graph = small(false);
        let schema: Schema = (**graph.relations().unwrap().schema()).clone();
        let pairs = vec![vec![(0, 0)], vec![pair], vec![], vec![]];
        let list = TypedEdgeList { schema, sizes: sizes.to_vec(), pairs };
        list.into_adjacency().unwrap_err().to_string()
    };
    assert_eq!(message([5, 4, 3], (5, 0)), "edge 0 of a-s-b: found (5, 0), expected nodes below 5 and 4");
    assert_eq!(message([5, 4, 0], (0, 0)), "node type c: found no nodes, expected at least one");
}
