//! Floors: embeddings without training, which every method should beat.
//!
//! For link prediction they must be computed on the training edges only; smoothing over test edges would leak them.
//!
//! Sparse features stay sparse here and in the probes: as a dense matrix, the 6,805 features of the 18,333 Coauthor-CS
//! nodes would take 500 MB.

use super::normalize::dense_data;
use crate::Real;
use crate::coordinator::UNTRAINED;
use crate::graph::norm::{ColumnScale, divide_rows_by_sums};
use crate::graph::{Csr, Dense, FeatureKind, Features, Graph, Operator};
use crate::kernels::spmm;
use crate::registry::EntrySummary;
use rayon::prelude::*;

/// Names of all floors in table order. `untrained` is also a method: a run without steps.
pub const NAMES: [&str; 3] = ["raw", UNTRAINED, "sgc"];

/// Floors that are computed from the graph without a run.
pub const COMPUTED: [&str; 2] = ["raw", "sgc"];

/// Entries of `controlg list methods`.
pub const SUMMARIES: [EntrySummary; 2] = [
    EntrySummary { name: "raw", summary: "raw features; for evaluate and compare", paper: None },
    EntrySummary {
        name: "sgc",
        summary: "features smoothed over two hops, no training; for evaluate and compare",
        paper: Some("Wu et al., Simplifying graph convolutional networks, ICML 2019"),
    },
];

/// Raw features: columns standardized if some values are negative or the columns are on different scales, otherwise
/// rows scaled to sum 1.
pub fn raw(graph: &Graph) -> Features {
    let features = graph.features();
    if FeatureKind::of(features).needs_column_scaling() {
        return ColumnScale::of(features).apply(features);
    }
    divide_rows_by_sums(features).expect("no value is negative")
}

/// The features of [`raw`] smoothed over two hops: Â²X with the normalized adjacency Â of a GCN (Wu et al., Simplifying
/// graph convolutional networks, ICML 2019).
pub fn sgc(graph: &Graph) -> Features {
    let operator = Operator::gcn(graph.adjacency());
    let once = smooth(&operator, raw(graph));
    smooth(&operator, once)
}

fn smooth(operator: &Operator, features: Features) -> Features {
    let (n, d) = (features.n_rows(), features.n_cols());
    let features = match features {
        Features::Sparse(csr) => match sparse_product(operator.matrix(), &csr) {
            // A sparse entry takes twice the memory of a dense one.
            product if 2 * product.n_entries() < n * d => return Features::Sparse(product),
            product => {
                return Features::Dense(Dense::from_parts(n, d, dense_data(&Features::Sparse(product))));
            }
        },
        Features::Dense(dense) => dense,
    };
    let mut data = vec![0.0; n * d];
    spmm::spmm(operator.forward(), features.data(), d, &mut data, false);
    Features::Dense(Dense::from_parts(n, d, data))
}

/// Product A·B of two sparse matrices.
fn sparse_product(a: &Csr, b: &Csr) -> Csr {
    const ROWS: usize = 256;
    let starts: Vec<usize> = (0..a.n_rows()).step_by(ROWS).collect();
    let chunk = |&start: &usize| {
        let mut sums = vec![0.0f64; b.n_cols()];
        let mut seen = vec![false; b.n_cols()];
        let (mut lengths, mut columns, mut values) = (Vec::new(), Vec::<u32>::new(), Vec::<Real>::new());
        for row in start..a.n_rows().min(start + ROWS) {
            let first = columns.len();
            for (inner, x) in a.entries(row) {
                for (column, y) in b.entries(inner as usize) {
                    if !std::mem::replace(&mut seen[column as usize], true) {
                        columns.push(column);
                    }
                    sums[column as usize] += f64::from(x) * f64::from(y);
                }
            }
            columns[first..].sort_unstable();
            for &column in &columns[first..] {
                values.push(std::mem::take(&mut sums[column as usize]) as Real);
                seen[column as usize] = false;
            }
            lengths.push(columns.len() - first);
        }
        (lengths, columns, values)
    };
    let chunks: Vec<_> = starts.par_iter().map(chunk).collect();
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for (lengths, chunk_columns, chunk_values) in chunks {
        lengths.into_iter().for_each(|length| offsets.push(offsets.last().unwrap_or(&0) + length));
        columns.extend(chunk_columns);
        values.extend(chunk_values);
    }
    Csr::from_parts(b.n_cols(), offsets, columns, Some(values))
}

/// Computes the floor with this name; `None` unless it is one of [`COMPUTED`].
pub fn by_name(name: &str, graph: &Graph) -> Option<Features> {
    let compute: fn(&Graph) -> Features = match name {
        "raw" => raw,
        "sgc" => sgc,
        _ => return None,
    };
    Some(compute(graph))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, Ids};

    /// A path of 30 nodes; node i has the features i mod 7 and 10 + i mod 3.
    fn path(sparse: bool) -> Graph {
        let mut rows = vec![vec![0.0; 50]; 30];
        rows.iter_mut().enumerate().for_each(|(i, row)| {
            row[i % 7] = 2.0;
            row[10 + i % 3] = 1.0;
        });
        let dense = Dense::from_parts(30, 50, rows.concat());
        let features = if sparse {
            let wide = Features::Dense(dense);
            let entries: Vec<_> = (0..30).map(|row| wide.row(row)).collect();
            let mut offsets = vec![0];
            entries.iter().for_each(|row| offsets.push(offsets.last().unwrap() + row.len()));
            let (columns, values) = entries.concat().into_iter().unzip();
            Features::Sparse(Csr::from_parts(50, offsets, columns, Some(values)))
        } else {
            Features::Dense(dense)
        };
        let pairs = (0..29).map(|i| (i, i + 1)).collect();
        let (adjacency, _) = EdgeList { pairs, weights: None }.into_adjacency(30).unwrap();
        Graph::new(adjacency, features, Ids::Numbered(30)).unwrap()
    }

    #[test]
    fn sparse_and_dense_features_agree() {
        let (sparse, dense) = (sgc(&path(true)), sgc(&path(false)));
        assert!(matches!(sparse, Features::Sparse(_)) && matches!(dense, Features::Dense(_)));
        for (a, b) in dense_data(&sparse).iter().zip(dense_data(&dense)) {
            assert!((a - b).abs() < 1e-6);
        }
    }
}
