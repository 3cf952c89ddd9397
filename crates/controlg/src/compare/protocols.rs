//! The columns of a comparison over several protocols of node classification: one per data set and protocol.

use super::{Comparison, ResultCell};

/// The comparison with columns in place of its data sets.
pub(super) fn with_columns(comparison: &Comparison) -> Comparison {
    let of_data = |data: &String| {
        comparison.protocols.iter().map(|protocol| column(data, protocol)).collect::<Vec<_>>()
    };
    let data = comparison.data.iter().flat_map(of_data).collect();
    Comparison { data, protocols: Vec::new(), ..comparison.clone() }
}

/// Results with the names of columns as their data sets.
pub(super) fn by_column(cells: &[ResultCell]) -> Vec<ResultCell> {
    cells.iter().map(|cell| ResultCell { data: column(&cell.data, &cell.protocol), ..cell.clone() }).collect()
}

fn column(data: &str, protocol: &str) -> String {
    format!("{data}, {protocol}")
}
