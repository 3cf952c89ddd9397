//! The feature matrix of a graph with several node types: one block of columns per type.
//!
//! A node has zeros outside the block of its type, so X·W projects each type with rows of W of its own, and types may have
//! features of different widths. A graph with one type keeps its features as they are.

use std::ops::Range;

use super::{Adjacency, Csr, Features, Graph, Ids, NodeType, Relations, TypeFeatures, structural};
use crate::Real;
use crate::error::{Error, Result};

/// Types without features get a learned embedding per node up to this number of nodes, and structural features beyond it.
pub const ONE_HOT_UP_TO: usize = 10_000;

/// Node types from their names, sizes, and the widths of their features. `None` marks a type without features.
pub fn node_types(names: Vec<String>, sizes: &[usize], widths: &[Option<usize>]) -> Vec<NodeType> {
    let alone = names.len() == 1;
    let mut start = 0;
    let of = |((name, &size), width): ((String, &usize), &Option<usize>)| {
        let (features, width) = match *width {
            Some(width) => (TypeFeatures::Given, width),
            None if !alone && size <= ONE_HOT_UP_TO => (TypeFeatures::OneHot, size),
            None => (TypeFeatures::Structural, structural::WIDTH),
        };
        let columns = start..start + width;
        start += width;
        NodeType { name, columns, features }
    };
    names.into_iter().zip(sizes).zip(widths).map(of).collect()
}

impl Graph {
    /// A graph with node types. `given` holds the features of the types that have some.
    ///
    /// # Errors
    /// If the features of a type do not have one row per node and the width in the schema, or if a number is not finite.
    pub fn typed(adjacency: Adjacency, given: &[Option<Features>], ids: Ids) -> Result<Graph> {
        let Some(relations) = adjacency.relations() else {
            return Err(Error::value("graph", "no relations", "an adjacency of a TypedEdgeList"));
        };
        for (at, (node_type, features)) in relations.schema().types().iter().zip(given).enumerate() {
            check_shape(node_type, relations.nodes(at).len(), features.as_ref())?;
        }
        if let ([_], [features]) = (relations.schema().types(), given) {
            return match features.clone() {
                Some(features) => Graph::new(adjacency, features, ids),
                None => Graph::structural(adjacency, ids),
            };
        }
        let computed = structural_features(relations, &adjacency);
        let features = block_matrix(relations, |node_type, node, block| {
            match relations.schema().types()[node_type].features {
                TypeFeatures::Given => {
                    let features = given[node_type].as_ref().expect("its shape is checked");
                    block.add(features.row(node));
                }
                TypeFeatures::OneHot => block.add([(node as u32, 1.0)]),
                TypeFeatures::Structural => {
                    let node_of_all = relations.nodes(node_type).start + node;
                    block.add(computed.as_ref().expect("computed for this type").row(node_of_all));
                }
            }
        });
        Ok(Graph::new(adjacency, features, ids)?.with_features_from_edges(computed.is_some()))
    }

    /// Whether the features are one block per node type.
    pub fn has_blocks(&self) -> bool {
        self.relations().is_some_and(|relations| relations.schema().types().len() > 1)
    }

    /// The features of the nodes of a type, without the columns of other types.
    ///
    /// # Panics
    /// If the graph has no types, or if the features are on disk.
    pub fn block(&self, node_type: usize) -> Features {
        let relations = self.relations().expect("a graph with types");
        let columns = &relations.schema().types()[node_type].columns;
        let nodes: Vec<u32> = relations.nodes(node_type).map(|node| node as u32).collect();
        match self.features() {
            Features::Sparse(csr) => Features::Sparse(csr.rows(&nodes, columns.len(), |column| {
                let column = column as usize;
                columns.contains(&column).then(|| (column - columns.start) as u32)
            })),
            Features::Dense(_) => self.features().rows(&nodes),
        }
    }

    /// The features with every block changed: `change` maps the features of a type to others of the same shape.
    pub(crate) fn map_blocks(
        &self,
        mut change: impl FnMut(usize, Features) -> Result<Features>,
    ) -> Result<Features> {
        let relations = self.relations().expect("a graph with types");
        let types = 0..relations.schema().types().len();
        let blocks: Vec<Features> = types.map(|at| change(at, self.block(at))).collect::<Result<_>>()?;
        Ok(block_matrix(relations, |node_type, node, block| block.add(blocks[node_type].row(node))))
    }

    /// The same graph with structural features of other edges, and all other features.
    pub(super) fn with_structural_blocks(&self, adjacency: Adjacency) -> Result<Graph> {
        let relations = adjacency.relations().expect("a graph with types");
        let computed = structural_features(relations, &adjacency);
        let features = block_matrix(relations, |node_type, node, block| {
            let node_of_all = relations.nodes(node_type).start + node;
            let NodeType { columns, features, .. } = &relations.schema().types()[node_type];
            match (features, &computed) {
                (TypeFeatures::Structural, Some(computed)) => block.add(computed.row(node_of_all)),
                _ => {
                    let own = self.features().row(node_of_all);
                    block.add(own.into_iter().map(|(column, x)| (column - columns.start as u32, x)));
                }
            }
        });
        Ok(Graph::new(adjacency, features, Ids::clone(self.ids()))?
            .with_features_from_edges(computed.is_some()))
    }
}

fn check_shape(node_type: &NodeType, size: usize, features: Option<&Features>) -> Result<()> {
    let found = features.map(|features| (features.n_rows(), features.n_cols()));
    let is_given = node_type.features == TypeFeatures::Given;
    if is_given != found.is_some() || found.is_some_and(|found| found != (size, node_type.columns.len())) {
        let found = found.map_or("none".to_owned(), |(rows, columns)| format!("{rows} × {columns}"));
        let expected = format!("{size} × {} numbers", node_type.columns.len());
        return Err(Error::value(format_args!("features of node type {}", node_type.name), found, expected));
    }
    Ok(())
}

/// The structural features of all nodes, if a type needs them.
fn structural_features(relations: &Relations, adjacency: &Adjacency) -> Option<Features> {
    let needed = relations.schema().types().iter().any(|t| t.features == TypeFeatures::Structural);
    needed.then(|| structural::features(adjacency))
}

/// The rows of a type that are added to the matrix.
struct TypeBlock<'m> {
    columns: Range<usize>,
    to: &'m mut (Vec<u32>, Vec<Real>),
}

impl TypeBlock<'_> {
    /// Adds the entries of a row, numbered within the block.
    fn add(&mut self, entries: impl IntoIterator<Item = (u32, Real)>) {
        for (column, x) in entries {
            self.to.0.push(self.columns.start as u32 + column);
            self.to.1.push(x);
        }
    }
}

/// The matrix of all blocks; `fill` adds the row of a node of a type.
fn block_matrix(relations: &Relations, mut fill: impl FnMut(usize, usize, &mut TypeBlock<'_>)) -> Features {
    let types = relations.schema().types();
    let n_cols = types.last().map_or(0, |last| last.columns.end);
    let (mut offsets, mut entries) = (vec![0], (Vec::new(), Vec::new()));
    for (at, node_type) in types.iter().enumerate() {
        for node in 0..relations.nodes(at).len() {
            fill(at, node, &mut TypeBlock { columns: node_type.columns.clone(), to: &mut entries });
            offsets.push(entries.0.len());
        }
    }
    Features::Sparse(Csr::from_parts(n_cols, offsets, entries.0, Some(entries.1)))
}
