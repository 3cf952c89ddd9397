//! The channels that need no training: the features, their mean over the neighbors, and the features smoothed over two hops.
//!
//! Wide features are projected first, to the subspace that keeps most of the three weighted channels together.

use super::Hop;
use crate::Real;
use crate::error::Result;
use crate::graph::norm::unit_rows;
use crate::graph::{Graph, Operator, leading_subspace, project};
use crate::kernels::rows::axpy;
use crate::kernels::spmm;

/// The channels of all nodes, each n × columns.
pub(super) struct FeatureChannels {
    columns: usize,
    channels: Vec<Vec<Real>>,
}

impl FeatureChannels {
    /// The channels of a graph with at most `columns` columns; `basis` is empty if its features are not projected.
    pub(super) fn of(graph: &Graph, columns: usize, hops: &[Hop], basis: &[Real]) -> Result<FeatureChannels> {
        let graph = graph.resident()?;
        let features = unit_rows(graph.features());
        let own = match basis.is_empty() {
            true => features.dense_values(),
            false => project(&features, basis, columns),
        };
        let channel = |hop: &Hop| match hop {
            Hop::Own => own.clone(),
            Hop::Mean => product(&Operator::walk(graph.adjacency()), &own, columns),
            Hop::Once => product(&Operator::gcn(graph.adjacency()), &own, columns),
            Hop::Twice => {
                let gcn = Operator::gcn(graph.adjacency());
                product(&gcn, &product(&gcn, &own, columns), columns)
            }
        };
        Ok(FeatureChannels { columns, channels: hops.iter().map(channel).collect() })
    }

    /// The channels of a node.
    pub(super) fn row(&self, node: usize) -> impl Iterator<Item = &[Real]> {
        self.channels.iter().map(move |channel| &channel[node * self.columns..(node + 1) * self.columns])
    }
}

/// The basis that features are projected to, features × columns; empty if they are narrow enough.
pub(super) fn basis(graph: &Graph, columns: usize, hops: &[Hop], factors: &[f64]) -> Vec<Real> {
    if graph.n_features() <= columns {
        return Vec::new();
    }
    let features = unit_rows(graph.features());
    let (walk, gcn) = (Operator::walk(graph.adjacency()), Operator::gcn(graph.adjacency()));
    // With channels W_c·F and factors w_c, most of Σ w_c²·‖W_c·F·B‖² is to be kept.
    leading_subspace(&features, columns, |rows| {
        let mut total = vec![0.0; rows.len()];
        for (hop, factor) in hops.iter().zip(factors) {
            let weighted = match hop {
                Hop::Own => rows.clone(),
                Hop::Mean => {
                    let mut averaged = vec![0.0; rows.len()];
                    let once = product(&walk, &rows, columns);
                    spmm::spmm(walk.backward(), &once, columns, &mut averaged, false);
                    averaged
                }
                Hop::Once => product(&gcn, &product(&gcn, &rows, columns), columns),
                Hop::Twice => (0..4).fold(rows.clone(), |rows, _| product(&gcn, &rows, columns)),
            };
            axpy((factor * factor) as Real, &weighted, &mut total);
        }
        total
    })
}

/// Bytes that the basis and the channels of a graph need.
pub(super) fn bytes(graph: &Graph, columns: usize) -> usize {
    if columns == 0 {
        return 0;
    }
    let (n, entries) = (graph.n_nodes(), graph.adjacency().n_entries());
    let operators = 3 * (entries + n) * (size_of::<u32>() + size_of::<Real>() + size_of::<usize>());
    let features = match graph.stored_features() {
        None => graph.features().memory_bytes(),
        Some(_) => n * graph.n_features() * size_of::<Real>(),
    };
    let bases = if graph.n_features() > columns { 3 * graph.n_features() * columns } else { 0 };
    operators + 3 * features + (5 * n * columns + bases) * size_of::<Real>()
}

fn product(operator: &Operator, rows: &[Real], columns: usize) -> Vec<Real> {
    let mut product = vec![0.0; rows.len()];
    spmm::spmm(operator.forward(), rows, columns, &mut product, false);
    product
}
