//! Pairs of nodes by relation: edges to predict, and negatives with the same node types.

use crate::graph::{Graph, Relations};
use crate::rng::Stream;

/// Attempts to draw a negative before all pairs are tried in order.
const ATTEMPTS: usize = 256;

/// Edges of one relation, then as many non-edges between its types.
pub(super) struct RelationPairs {
    pub(super) relation: usize,
    pub(super) us: Vec<u32>,
    pub(super) vs: Vec<u32>,
    pub(super) n_edges: usize,
}

/// The edges of each relation. An edge of several relations is in each of them.
pub(super) fn by_relation(
    graph: &Graph,
    relations: &Relations,
    edges: &[(u32, u32)],
) -> Vec<Vec<(u32, u32)>> {
    let mut of = vec![Vec::new(); relations.schema().relations().len()];
    for &(u, v) in edges {
        match graph.adjacency().entry(u, v) {
            Some(at) => relations.relations_at(at).for_each(|relation| of[relation].push((u, v))),
            // A stand-in of a pass over shapes.
            None => of[0].push((u, v)),
        }
    }
    of
}

/// About `count` of the edges in all, in proportion to those of each relation, with a non-edge for each. `is_free` says whether
/// a pair that is not joined may be a negative.
pub(super) fn sample(
    graph: &Graph,
    relations: &Relations,
    edges: &[(u32, u32)],
    count: usize,
    is_free: impl Fn((u32, u32)) -> bool,
    stream: &mut Stream,
) -> Vec<RelationPairs> {
    let of = by_relation(graph, relations, edges);
    let total: usize = of.iter().map(Vec::len).sum();
    let share = |all: usize| if total <= count { all } else { (all * count).div_ceil(total) };
    let mut pairs = Vec::new();
    for (relation, edges) in of.into_iter().enumerate().filter(|(_, edges)| !edges.is_empty()) {
        let n_edges = share(edges.len());
        let chosen: Vec<(u32, u32)> = match n_edges == edges.len() {
            true => edges,
            false => stream.sample(edges.len(), n_edges).into_iter().map(|at| edges[at as usize]).collect(),
        };
        let negatives = (0..n_edges).filter_map(|_| negative(graph, relations, relation, &is_free, stream));
        let (us, vs) = chosen.into_iter().chain(negatives.collect::<Vec<_>>()).unzip();
        pairs.push(RelationPairs { relation, us, vs, n_edges });
    }
    pairs
}

/// A pair of nodes of the relation's types that no relation joins; `None` if there is none.
pub(super) fn negative(
    graph: &Graph,
    relations: &Relations,
    relation: usize,
    is_free: impl Fn((u32, u32)) -> bool,
    stream: &mut Stream,
) -> Option<(u32, u32)> {
    let ends = &relations.schema().relations()[relation];
    let (from, to) = (relations.nodes(ends.src), relations.nodes(ends.dst));
    if from.is_empty() || to.is_empty() {
        return None;
    }
    let fits = |&(u, v): &(u32, u32)| u != v && !graph.adjacency().contains(u, v) && is_free((u, v));
    for _ in 0..ATTEMPTS {
        let pair =
            ((from.start + stream.below(from.len())) as u32, (to.start + stream.below(to.len())) as u32);
        if fits(&pair) {
            return Some(pair);
        }
    }
    // Nearly all pairs are joined.
    let first = stream.below(from.len() * to.len());
    let pair = |at: usize| ((from.start + at / to.len()) as u32, (to.start + at % to.len()) as u32);
    (0..from.len() * to.len()).map(|step| pair((first + step) % (from.len() * to.len()))).find(fits)
}
