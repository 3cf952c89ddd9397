//! Edge splits of a graph with several relations: each relation is split by itself.

use std::collections::HashSet;

use super::EdgeSplit;
use super::edges::Pairs;
use crate::error::{Error, Result};
use crate::graph::{Graph, Relations};
use crate::rng::Stream;

/// Fewest edges of a relation that is split; smaller relations are for training only.
const LEAST: usize = 10;

pub(super) fn draw(graph: &Graph, relations: &Relations, seed: u64) -> Result<EdgeSplit> {
    let mut of = vec![Pairs::new(); relations.schema().relations().len()];
    for pair in graph.edges() {
        if let Some(relation) = first_relation(graph, relations, pair) {
            of[relation].push(pair);
        }
    }
    if of.iter().all(|edges| edges.len() < LEAST) {
        let found = format!("{} edges in the largest relation", of.iter().map(Vec::len).max().unwrap_or(0));
        return Err(Error::value(EdgeSplit::PROTOCOL, found, format_args!("at least {LEAST}")));
    }
    let mut split = EdgeSplit {
        seed,
        train: vec![],
        val: vec![],
        test: vec![],
        train_negatives: vec![],
        val_negatives: vec![],
        test_negatives: vec![],
    };
    let mut taken = HashSet::new();
    for (relation, mut train) in of.into_iter().enumerate() {
        if train.len() < LEAST {
            split.train.extend(train);
            continue;
        }
        let count = train.len();
        check_room(graph, relations, relation, count)?;
        Stream::new(seed, "split", EdgeSplit::PROTOCOL, relation as u64).shuffle(&mut train);
        let val = train.split_off(count - count / 10);
        let test = train.split_off(train.len() - count / 5);
        let mut stream = Stream::new(seed, "split", "edges-70-10-20/negatives", relation as u64);
        let mut negatives =
            |count| draw_negatives(graph, relations, relation, count, &mut taken, &mut stream);
        split.test_negatives.extend(negatives(test.len()));
        split.val_negatives.extend(negatives(val.len()));
        split.train_negatives.extend(negatives(train.len()));
        split.train.extend(train);
        split.val.extend(val);
        split.test.extend(test);
    }
    let EdgeSplit { train, val, test, train_negatives, val_negatives, test_negatives, .. } = &mut split;
    for pairs in [train, val, test, train_negatives, val_negatives, test_negatives] {
        pairs.sort_unstable();
    }
    Ok(split)
}

/// The first relation of an edge.
pub(super) fn first_relation(graph: &Graph, relations: &Relations, (u, v): (u32, u32)) -> Option<usize> {
    graph.adjacency().entry(u, v).and_then(|at| relations.relations_at(at).next())
}

/// The types of a relation, ascending: nodes are numbered type by type, so these are the types of a pair (smaller, larger).
pub(super) fn types_of(relations: &Relations, relation: usize) -> [usize; 2] {
    let ends = &relations.schema().relations()[relation];
    [ends.src.min(ends.dst), ends.src.max(ends.dst)]
}

/// Checks that there are as many pairs without an edge as with one, between the types of a relation. Relations between the same
/// types share these pairs.
fn check_room(graph: &Graph, relations: &Relations, relation: usize, count: usize) -> Result<()> {
    let types = types_of(relations, relation);
    let sizes = types.map(|node_type| relations.nodes(node_type).len());
    let pairs = if types[0] == types[1] { sizes[0] * (sizes[0] - 1) / 2 } else { sizes[0] * sizes[1] };
    let joined =
        graph.edges().filter(|&(u, v)| types == [relations.type_of(u), relations.type_of(v)]).count();
    let rivals =
        (0..relations.schema().relations().len()).filter(|&other| types_of(relations, other) == types);
    if pairs - joined < rivals.count() * joined.max(count) {
        let place = format!("{}, {}", EdgeSplit::PROTOCOL, relations.schema().relation_name(relation));
        let found = format!("{joined} edges and {} non-edges between its types", pairs - joined);
        return Err(Error::value(place, found, "at least as many non-edges"));
    }
    Ok(())
}

/// Distinct pairs between the types of a relation that no relation joins.
fn draw_negatives(
    graph: &Graph,
    relations: &Relations,
    relation: usize,
    count: usize,
    taken: &mut HashSet<(u32, u32)>,
    stream: &mut Stream,
) -> Pairs {
    let [from, to] = types_of(relations, relation).map(|node_type| relations.nodes(node_type));
    let mut pairs = Pairs::with_capacity(count);
    while pairs.len() < count {
        let [a, b] = [&from, &to].map(|nodes| (nodes.start + stream.below(nodes.len())) as u32);
        let (u, v) = (a.min(b), a.max(b));
        if u != v && !graph.adjacency().contains(u, v) && taken.insert((u, v)) {
            pairs.push((u, v));
        }
    }
    pairs
}
