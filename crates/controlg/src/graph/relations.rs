//! Node types and relations: what makes a graph heterogeneous.
//!
//! The nodes of a type are contiguous, and all relations share one adjacency matrix. Each of its entries lists the relations, and
//! their directions, along which the row's node hears from the column's node. Whatever removes an edge, such as a split or an
//! augmentation, thereby removes it from every relation and in both directions, and code that knows nothing of types works on
//! the graph without types.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::Csr;
use crate::Real;
use crate::error::{Error, Result};

/// A node type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeType {
    /// The name.
    pub name: String,
    /// Its columns of the feature matrix. Other types have zeros there.
    pub columns: Range<usize>,
    /// Where these features come from.
    pub features: TypeFeatures,
}

/// Where the features of a node type come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeFeatures {
    /// The input.
    Given,
    /// One column per node, so that the encoder's first weights are a learned embedding of each node.
    OneHot,
    /// Computed from the edges.
    Structural,
}

impl TypeFeatures {
    /// The name in `data info`.
    pub fn name(self) -> &'static str {
        match self {
            TypeFeatures::Given => "given",
            TypeFeatures::OneHot => "one-hot",
            TypeFeatures::Structural => "structural",
        }
    }
}

/// A relation: edges of one kind from nodes of one type to nodes of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Index of the source type.
    pub src: usize,
    /// The name.
    pub name: String,
    /// Index of the destination type.
    pub dst: usize,
    /// Whether an edge within one type differs from its reverse. Edges between two types always have two directions.
    pub directed: bool,
}

/// A relation in one direction, along which an encoder sends messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// Index of the relation.
    pub relation: usize,
    /// Index of the type that sends.
    pub from: usize,
    /// Index of the type that receives.
    pub to: usize,
}

/// The node types and relations of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    types: Vec<NodeType>,
    relations: Vec<Relation>,
    directions: Vec<Direction>,
}

impl Schema {
    /// A schema. A relation that is undirected within one type has one direction, any other has two.
    ///
    /// # Errors
    /// If there are no types, if a name occurs twice, or if a relation joins types that do not exist.
    pub fn new(types: Vec<NodeType>, relations: Vec<Relation>) -> Result<Schema> {
        if types.is_empty() {
            return Err(Error::value("node types", "none", "at least one"));
        }
        if let Some(at) = (1..types.len()).find(|&at| types[..at].iter().any(|t| t.name == types[at].name)) {
            return Err(Error::value("node types", format_args!("'{}' twice", types[at].name), "each once"));
        }
        let mut directions = Vec::new();
        for (relation, Relation { src, name, dst, directed }) in relations.iter().enumerate() {
            if *src.max(dst) >= types.len() {
                let found = format!("an end of type {}", src.max(dst));
                return Err(Error::value(
                    format_args!("relation {name}"),
                    found,
                    format_args!("a type below {}", types.len()),
                ));
            }
            directions.push(Direction { relation, from: *src, to: *dst });
            if src != dst || *directed {
                directions.push(Direction { relation, from: *dst, to: *src });
            }
        }
        if directions.len() > usize::from(u16::MAX) {
            return Err(Error::value("relations", relations.len(), "at most 32767"));
        }
        let schema = Schema { types, relations, directions };
        let names: Vec<String> = (0..schema.relations.len()).map(|r| schema.relation_name(r)).collect();
        match (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
            Some(at) => Err(Error::value("relations", format_args!("'{}' twice", names[at]), "each once")),
            None => Ok(schema),
        }
    }

    /// The node types, in the order of their nodes.
    pub fn types(&self) -> &[NodeType] {
        &self.types
    }

    /// The relations.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The directions of all relations.
    pub fn directions(&self) -> &[Direction] {
        &self.directions
    }

    /// A relation with its ends, as in `author-writes-paper`.
    pub fn relation_name(&self, relation: usize) -> String {
        let Relation { src, name, dst, .. } = &self.relations[relation];
        format!("{}-{name}-{}", self.types[*src].name, self.types[*dst].name)
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types: Vec<&str> = self.types.iter().map(|node_type| &node_type.name[..]).collect();
        let relations: Vec<String> = (0..self.relations.len()).map(|r| self.relation_name(r)).collect();
        write!(f, "types {}; relations {}", types.join(", "), relations.join(", "))
    }
}

/// The relations of the entries of an adjacency matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Relations {
    pub(super) schema: Arc<Schema>,
    /// The first node of each type, and the number of nodes.
    pub(super) bounds: Vec<usize>,
    /// The distinct lists of directions.
    pub(super) sets: Arc<Vec<Vec<u16>>>,
    /// For each entry of the adjacency, which of the lists it has.
    pub(super) set_of: Vec<u16>,
}

impl Relations {
    /// The node types and relations.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The nodes of a type.
    pub fn nodes(&self, node_type: usize) -> Range<usize> {
        self.bounds[node_type]..self.bounds[node_type + 1]
    }

    /// The type of a node.
    pub fn type_of(&self, node: u32) -> usize {
        self.bounds.partition_point(|&start| start <= node as usize) - 1
    }

    /// The directions along which the row of an entry hears from its column.
    pub fn directions_at(&self, entry: usize) -> &[u16] {
        &self.sets[usize::from(self.set_of[entry])]
    }

    /// The relations of an entry, ascending.
    pub fn relations_at(&self, entry: usize) -> impl Iterator<Item = usize> + '_ {
        let mut last = None;
        let relations =
            self.directions_at(entry).iter().map(|&d| self.schema.directions[usize::from(d)].relation);
        relations.filter(move |&relation| last.replace(relation) != Some(relation))
    }

    /// The nodes that send along each direction. A message is addressed by its direction and its sender's place there.
    pub fn senders(&self) -> Vec<Range<usize>> {
        self.schema.directions.iter().map(|direction| self.nodes(direction.from)).collect()
    }

    /// For each relation the degrees of all nodes in it.
    pub fn degrees(&self, adjacency: &Csr) -> Vec<Vec<usize>> {
        let mut degrees = vec![vec![0; adjacency.n_rows()]; self.schema.relations.len()];
        for row in 0..adjacency.n_rows() {
            let entries = adjacency.offsets()[row]..adjacency.offsets()[row + 1];
            entries.for_each(|at| self.relations_at(at).for_each(|relation| degrees[relation][row] += 1));
        }
        degrees
    }

    /// Number of edges of each relation.
    pub fn n_edges(&self, adjacency: &Csr) -> Vec<usize> {
        let mut messages = vec![0; self.schema.directions.len()];
        (0..adjacency.n_entries())
            .for_each(|at| self.directions_at(at).iter().for_each(|&d| messages[usize::from(d)] += 1));
        let mut edges = vec![0; self.schema.relations.len()];
        for (direction, messages) in self.schema.directions.iter().zip(messages) {
            edges[direction.relation] += messages;
        }
        // Every edge sends a message each way.
        edges.into_iter().map(|messages| messages / 2).collect()
    }

    /// The weight of each relation in the Rayleigh quotient: its share of the edges, or the same for all.
    pub fn weights(&self, adjacency: &Csr, equal: bool) -> Vec<f64> {
        let edges = self.n_edges(adjacency);
        let total = edges.iter().sum::<usize>();
        let share = |&edges: &usize| if total == 0 { 0.0 } else { edges as f64 / total as f64 };
        if equal { vec![1.0 / edges.len() as f64; edges.len()] } else { edges.iter().map(share).collect() }
    }

    /// Number of messages along all edges.
    pub(crate) fn n_messages(&self) -> usize {
        self.set_of.iter().map(|&set| self.sets[usize::from(set)].len()).sum()
    }

    /// The mean over the neighbors in every direction: one row per node and one column per direction and sender, with the entry
    /// 1/(number of neighbors in this direction). `keep` says which entries of the adjacency remain.
    pub(super) fn mean_operator(&self, adjacency: &Csr, keep: Option<&[bool]>) -> Csr {
        let senders = self.senders();
        let starts = starts_of(&senders);
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::<Real>::new());
        let mut count = vec![0u32; senders.len()];
        let mut at_direction = Vec::new();
        for row in 0..adjacency.n_rows() {
            let start = columns.len();
            at_direction.clear();
            for at in adjacency.offsets()[row]..adjacency.offsets()[row + 1] {
                if keep.is_some_and(|keep| !keep[at]) {
                    continue;
                }
                for direction in self.directions_at(at).iter().map(|&d| usize::from(d)) {
                    count[direction] += 1;
                    let sender = adjacency.columns()[at] as usize - senders[direction].start;
                    columns.push((starts[direction] + sender) as u32);
                    at_direction.push(direction);
                }
            }
            let share = |direction: &usize| (1.0 / f64::from(count[*direction])) as Real;
            values.extend(at_direction.iter().map(share));
            at_direction.iter().for_each(|&direction| count[direction] = 0);
            debug_assert_eq!(values.len() - start, at_direction.len());
            offsets.push(columns.len());
        }
        Csr::from_parts(starts[senders.len()], offsets, columns, Some(values))
    }

    /// The symmetric matrix of one relation on all nodes. A pair that a directed relation joins in both directions counts twice,
    /// as in A + Aᵀ.
    pub(crate) fn matrix_of(&self, adjacency: &Csr, relation: usize) -> Csr {
        let of = |at: &usize| {
            let same = |d: &&u16| self.schema.directions[usize::from(**d)].relation == relation;
            self.directions_at(*at).iter().filter(same).count()
        };
        let Relation { src, dst, directed, .. } = &self.schema.relations[relation];
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..adjacency.n_rows() {
            for at in adjacency.offsets()[row]..adjacency.offsets()[row + 1] {
                let count = of(&at);
                if count > 0 {
                    columns.push(adjacency.columns()[at]);
                    values.push(count as Real);
                }
            }
            offsets.push(columns.len());
        }
        Csr::from_parts(adjacency.n_cols(), offsets, columns, (src == dst && *directed).then_some(values))
    }

    /// The same relations on fewer edges.
    ///
    /// # Panics
    /// If an entry of `kept` is not in `adjacency`.
    pub(super) fn restricted(&self, adjacency: &Csr, kept: &Csr) -> Relations {
        let mut set_of = Vec::with_capacity(kept.n_entries());
        for row in 0..kept.n_rows() {
            let mut at = adjacency.offsets()[row];
            for column in kept.row(row) {
                while adjacency.columns()[at] != *column {
                    at += 1;
                }
                assert!(at < adjacency.offsets()[row + 1], "an edge of the graph");
                set_of.push(self.set_of[at]);
            }
        }
        Relations { set_of, ..self.clone_schema(self.bounds.clone()) }
    }

    /// The relations of the subgraph of some nodes, in ascending order.
    pub(super) fn induced(
        &self,
        adjacency: &Csr,
        nodes: &[u32],
        is_member: impl Fn(u32) -> bool,
    ) -> Relations {
        let bound = |&start: &usize| nodes.partition_point(|&node| (node as usize) < start);
        let spans = nodes
            .iter()
            .map(|&node| adjacency.offsets()[node as usize]..adjacency.offsets()[node as usize + 1]);
        let set_of = spans
            .flatten()
            .filter(|&at| is_member(adjacency.columns()[at]))
            .map(|at| self.set_of[at])
            .collect();
        Relations { set_of, ..self.clone_schema(self.bounds.iter().map(bound).collect()) }
    }

    fn clone_schema(&self, bounds: Vec<usize>) -> Relations {
        Relations { schema: self.schema.clone(), bounds, sets: self.sets.clone(), set_of: Vec::new() }
    }

    /// Bytes held in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.set_of[..])
    }

    pub(super) fn add_to_hash(&self, hash: &mut Sha256) {
        hash.update(format!("relations {} {:?} {:?}", self.schema, self.bounds, self.sets));
        hash.update(format!("{:?}", self.schema.relations.iter().map(|r| r.directed).collect::<Vec<_>>()));
        self.set_of.iter().for_each(|set| hash.update(set.to_le_bytes()));
    }
}

/// The first message of each direction, and the number of messages.
pub(super) fn starts_of(senders: &[Range<usize>]) -> Vec<usize> {
    let mut starts = vec![0];
    senders.iter().for_each(|range| starts.push(starts[starts.len() - 1] + range.len()));
    starts
}
