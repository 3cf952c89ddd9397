//! Builds the adjacency of a graph with relations from one edge list per relation.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::{Adjacency, Csr, EdgeCounts, Relation, Relations, Schema};
use crate::error::{Error, Result};

/// Edges by relation, before duplicates and self-loops are dropped.
#[derive(Clone, Debug)]
pub struct TypedEdgeList {
    /// The node types and relations.
    pub schema: Schema,
    /// The number of nodes of each type.
    pub sizes: Vec<usize>,
    /// For each relation its edges as (source, destination), numbered within their types.
    pub pairs: Vec<Vec<(u32, u32)>>,
}

/// (row, column, direction) of a message.
type Message = (u32, u32, u16);

impl TypedEdgeList {
    /// The adjacency of all relations, with what was dropped from each.
    ///
    /// # Errors
    /// If a type has no nodes, if an edge names a node that its type does not have, or if there are 2³² nodes.
    pub fn into_adjacency(self) -> Result<(Adjacency, Vec<EdgeCounts>)> {
        let TypedEdgeList { schema, sizes, pairs } = self;
        let mut bounds = vec![0];
        for (node_type, &size) in schema.types().iter().zip(&sizes) {
            if size == 0 {
                return Err(Error::value(
                    format_args!("node type {}", node_type.name),
                    "no nodes",
                    "at least one",
                ));
            }
            bounds.push(bounds[bounds.len() - 1] + size);
        }
        let n = bounds[sizes.len()];
        if u32::try_from(n).is_err() {
            return Err(Error::value("graph", format_args!("{n} nodes"), "fewer than 2^32 nodes"));
        }
        let (mut messages, mut counts) = (Vec::new(), Vec::new());
        let mut direction = 0;
        for (at, pairs) in pairs.into_iter().enumerate() {
            let Relation { src, dst, directed, .. } = schema.relations()[at];
            let [from, to] = [src, dst].map(|node_type| bounds[node_type] as u32);
            let outside = |&(u, v): &(u32, u32)| u as usize >= sizes[src] || v as usize >= sizes[dst];
            if let Some(edge) = pairs.iter().position(outside) {
                let place = format!("edge {edge} of {}", schema.relation_name(at));
                let expected = format!("nodes below {} and {}", sizes[src], sizes[dst]);
                return Err(Error::value(place, format_args!("{:?}", pairs[edge]), expected));
            }
            let two_ways = src != dst || directed;
            let mut pairs: Vec<(u32, u32)> = pairs.into_iter().map(|(u, v)| (from + u, to + v)).collect();
            counts.push(simplify(&mut pairs));
            for (u, v) in pairs {
                messages.push((v, u, direction));
                messages.push((u, v, if two_ways { direction + 1 } else { direction }));
            }
            direction += if two_ways { 2 } else { 1 };
        }
        messages.par_sort_unstable();
        messages.dedup();
        let (csr, sets, set_of) = group(n, &messages)?;
        let relations = Relations { schema: Arc::new(schema), bounds, sets: Arc::new(sets), set_of };
        Ok((Adjacency::new_unchecked(csr).with_relations(relations), counts))
    }
}

/// Sorts the edges and drops self-loops and edges that are listed twice.
fn simplify(pairs: &mut Vec<(u32, u32)>) -> EdgeCounts {
    pairs.par_sort_unstable();
    let listed = pairs.len();
    pairs.dedup();
    let duplicates = listed - pairs.len();
    let distinct = pairs.len();
    pairs.retain(|(u, v)| u != v);
    let both = pairs.iter().filter(|&&(u, v)| pairs.binary_search(&(v, u)).is_ok()).count();
    let directed = both > 0 && both < pairs.len();
    EdgeCounts { self_loops: distinct - pairs.len(), duplicates, directed, ..EdgeCounts::default() }
}

/// The adjacency of sorted messages, the distinct lists of directions, and the list of each entry.
fn group(n: usize, messages: &[Message]) -> Result<(Csr, Vec<Vec<u16>>, Vec<u16>)> {
    let (mut offsets, mut columns) = (vec![0usize; n + 1], Vec::new());
    let (mut sets, mut set_of) = (Vec::<Vec<u16>>::new(), Vec::new());
    let mut known: HashMap<Vec<u16>, u16> = HashMap::new();
    for entry in messages.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let directions: Vec<u16> = entry.iter().map(|message| message.2).collect();
        let set = match known.get(&directions) {
            Some(&set) => set,
            None => {
                let new = u16::try_from(sets.len()).map_err(|_| {
                    Error::value(
                        "relations",
                        "more than 65536 combinations on one pair of nodes",
                        "fewer relations",
                    )
                })?;
                sets.push(directions.clone());
                known.insert(directions, new);
                new
            }
        };
        let (row, column, _) = entry[0];
        offsets[row as usize + 1] += 1;
        columns.push(column);
        set_of.push(set);
    }
    (0..n).for_each(|row| offsets[row + 1] += offsets[row]);
    Ok((Csr::from_parts(n, offsets, columns, None), sets, set_of))
}
