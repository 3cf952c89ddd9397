//! What training needs to know of the relations of a graph.

use crate::coordinator::RelationWeights;
use crate::error::{Error, Result};
use crate::graph::{Graph, OperatorKind, OperatorSpec};
use crate::objective::Objective;
use crate::trace::RelationLine;

/// Checks that no objective needs another operator than that of a relational encoder.
pub(super) fn check_operator(
    spec: OperatorSpec,
    names: &[String],
    objectives: &[Box<dyn Objective>],
    graph: &Graph,
) -> Result<()> {
    let is_relational = spec.kind == OperatorKind::Relations && graph.relations().is_some();
    match objectives.iter().position(|objective| objective.needs_square_operator()) {
        Some(at) if is_relational => {
            let expected = format!("an encoder without relations, such as gcn, for {}", names[at]);
            Err(Error::value("encoder.kind", "a relational encoder", expected))
        }
        _ => Ok(()),
    }
}

/// The relations of a graph with their weights.
pub(super) fn relation_lines(graph: &Graph, weights: RelationWeights) -> Vec<RelationLine> {
    let Some(relations) = graph.relations() else { return Vec::new() };
    let edges = relations.n_edges(graph.adjacency());
    let weights = relations.weights(graph.adjacency(), weights == RelationWeights::Equal);
    let line =
        |(at, (edges, weight))| RelationLine { name: relations.schema().relation_name(at), edges, weight };
    edges.into_iter().zip(weights).enumerate().map(line).collect()
}
