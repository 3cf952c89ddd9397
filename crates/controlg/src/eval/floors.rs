//! Floors: embeddings without training, which every method should beat.
//!
//! For link prediction they must be computed on the training edges only; smoothing over test edges would leak them.
//!
//! Sparse features stay sparse here and in the probes: as a dense matrix, the 6,805 features of the 18,333 Coauthor-CS
//! nodes would take 500 MB.

use super::design_matrix::DENSE_RATIO;
use super::sparse_product::{side_by_side, sparse_product};
use crate::Real;
use crate::coordinator::UNTRAINED;
use crate::graph::norm::{ColumnScale, divide_rows_by_sums, unit_rows};
use crate::graph::{Csr, Dense, FeatureKind, Features, Graph, Operator, Relations};
use crate::kernels::spmm;
use crate::registry::EntrySummary;

/// Maximum size of a floor that is made dense only because that is faster.
const MAX_DENSE_BYTES: usize = 256 << 20;

/// Names of all floors in table order. `untrained` is also a method: a run without steps.
pub const NAMES: [&str; 5] = ["raw", UNTRAINED, "sgc", "mean", "hops"];

/// Floors that are computed from the graph without a run.
pub const COMPUTED: [&str; 4] = ["raw", "sgc", "mean", "hops"];

/// Entries of `controlg list methods`.
pub const SUMMARIES: [EntrySummary; 4] = [
    EntrySummary { name: "raw", summary: "raw features; for evaluate and compare", paper: None },
    EntrySummary {
        name: "sgc",
        summary: "features smoothed over two hops, no training; for evaluate and compare",
        paper: Some("Wu et al., Simplifying graph convolutional networks, ICML 2019"),
    },
    EntrySummary {
        name: "mean",
        summary: "mean features of the neighbors without the node itself, no training; for evaluate and compare",
        paper: None,
    },
    EntrySummary {
        name: "hops",
        summary: "features, neighbors' mean and two-hop mean side by side, no training; for evaluate and compare",
        paper: None,
    },
];

/// Raw features: columns standardized if some values are negative or the columns are on different scales, otherwise
/// rows scaled to sum 1.
///
/// On a graph with node types, each type is treated by itself.
pub fn raw(graph: &Graph) -> Features {
    if graph.has_blocks() {
        return graph.map_blocks(|_, block| Ok(raw_of(&block))).expect("blocks of the same shape");
    }
    raw_of(graph.features())
}

fn raw_of(features: &Features) -> Features {
    if FeatureKind::of(features).needs_column_scaling() {
        return ColumnScale::of(features).apply(features);
    }
    divide_rows_by_sums(features).expect("no value is negative")
}

/// The features of [`raw`] smoothed over two hops: Â²X with the normalized adjacency Â of a GCN (Wu et al., Simplifying
/// graph convolutional networks, ICML 2019).
pub fn sgc(graph: &Graph) -> Features {
    let operator = Operator::gcn(graph.adjacency());
    let once = smooth(&operator, &raw(graph));
    smooth(&operator, &once)
}

/// The mean of the features of [`raw`] over the neighbors, without the node itself: P·X with P = D⁻¹A. Isolated nodes get
/// zeros.
///
/// On a graph with node types it is the mean over meta-paths: for each relation of a node's type, over the neighbors if the
/// relation stays within the type, else over the nodes of the same type that share a neighbor.
pub fn mean(graph: &Graph) -> Features {
    if let Some(relations) = graph.relations().filter(|_| graph.has_blocks()) {
        return dense_if_faster(mean_over_meta_paths(graph, relations));
    }
    dense_if_faster(smooth(&Operator::walk(graph.adjacency()), &raw(graph)))
}

/// (1/R_v) Σ_r P_r·X or P_r²·X at node v, over the R_v relations of its type.
fn mean_over_meta_paths(graph: &Graph, relations: &Relations) -> Features {
    let schema = relations.schema();
    let n_relations = |node_type: usize| {
        schema.relations().iter().filter(|r| r.src == node_type || r.dst == node_type).count()
    };
    let mut sum: Option<Vec<Real>> = None;
    let x = raw(graph);
    for (at, relation) in schema.relations().iter().enumerate() {
        let walk = Operator::walk(&relations.matrix_of(graph.adjacency(), at));
        let mut along = smooth(&walk, &x);
        if relation.src != relation.dst {
            along = smooth(&walk, &along);
        }
        let values = along.dense_values();
        match &mut sum {
            Some(sum) => sum.iter_mut().zip(&values).for_each(|(sum, x)| *sum += x),
            None => sum = Some(values),
        }
    }
    let (n, d) = (x.n_rows(), x.n_cols());
    let mut data = sum.unwrap_or_else(|| vec![0.0; n * d]);
    for (node, row) in data.chunks_exact_mut(d).enumerate() {
        let count = n_relations(relations.type_of(node as u32)).max(1) as Real;
        row.iter_mut().for_each(|x| *x /= count);
    }
    Features::Dense(Dense::from_parts(n, d, data))
}

/// The features of [`raw`], their mean over the neighbors and over walks of two steps side by side: [X | P·X | P²·X], n × 3d.
///
/// The rows of each block are L2-normalized first: values shrink with every mean, and without it the first block would
/// outweigh the others once a probe normalizes whole rows.
pub fn hops(graph: &Graph) -> Features {
    let walk = Operator::walk(graph.adjacency());
    let zero = raw(graph);
    let one = smooth(&walk, &zero);
    let two = smooth(&walk, &one);
    dense_if_faster(side_by_side([zero, one, two].map(|block| unit_rows(&block))))
}

/// Makes a matrix dense if probes are then faster and it stays small.
fn dense_if_faster(matrix: Features) -> Features {
    let (n, d) = (matrix.n_rows(), matrix.n_cols());
    let is_small = n * d * size_of::<Real>() <= MAX_DENSE_BYTES;
    match &matrix {
        Features::Sparse(csr) if is_small && DENSE_RATIO * csr.n_entries() > n * d => {
            Features::Dense(Dense::from_parts(n, d, matrix.dense_values()))
        }
        _ => matrix,
    }
}

fn smooth(operator: &Operator, features: &Features) -> Features {
    let (n, d) = (features.n_rows(), features.n_cols());
    match features {
        Features::Sparse(csr) => sparse_if_smaller(sparse_product(operator.matrix(), csr)),
        Features::Dense(dense) => {
            let mut data = vec![0.0; n * d];
            spmm::spmm(operator.forward(), dense.data(), d, &mut data, false);
            Features::Dense(Dense::from_parts(n, d, data))
        }
    }
}

/// The matrix in the form that takes less memory. A sparse entry takes twice that of a dense one.
fn sparse_if_smaller(matrix: Csr) -> Features {
    let (n, d) = (matrix.n_rows(), matrix.n_cols());
    let matrix_is_small = 2 * matrix.n_entries() < n * d;
    let matrix = Features::Sparse(matrix);
    if matrix_is_small { matrix } else { Features::Dense(Dense::from_parts(n, d, matrix.dense_values())) }
}

/// Computes the floor with this name; `None` unless it is one of [`COMPUTED`].
pub fn by_name(name: &str, graph: &Graph) -> Option<Features> {
    let compute: fn(&Graph) -> Features = match name {
        "raw" => raw,
        "sgc" => sgc,
        "mean" => mean,
        "hops" => hops,
        _ => return None,
    };
    Some(compute(graph))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, Ids};

    /// A path of 30 nodes and an isolated one; node i has the features i mod 7 and 10 + i mod 3. Edge weights are given.
    fn path(sparse: bool, weight: impl Fn(u32) -> Real) -> Graph {
        let mut rows = vec![vec![0.0; 50]; 31];
        rows.iter_mut().enumerate().for_each(|(i, row)| {
            row[i % 7] = 2.0;
            row[10 + i % 3] = 1.0;
        });
        let dense = Dense::from_parts(31, 50, rows.concat());
        let features = if sparse {
            let wide = Features::Dense(dense);
            let entries: Vec<_> = (0..31).map(|row| wide.row(row)).collect();
            let mut offsets = vec![0];
            entries.iter().for_each(|row| offsets.push(offsets.last().unwrap() + row.len()));
            let (columns, values) = entries.concat().into_iter().unzip();
            Features::Sparse(Csr::from_parts(50, offsets, columns, Some(values)))
        } else {
            Features::Dense(dense)
        };
        let pairs = (0..29).map(|i| (i, i + 1)).collect();
        let weights = Some((0..29).map(weight).collect());
        let (adjacency, _) = EdgeList { pairs, weights }.into_adjacency(31).unwrap();
        Graph::new(adjacency, features, Ids::Numbered(31)).unwrap()
    }

    fn assert_close(a: &[Real], b: &[Real]) {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{a} {b}"));
    }

    #[test]
    fn sparse_and_dense_features_agree() {
        for floor in [sgc, mean, hops] {
            let (sparse, dense) = (floor(&path(true, |_| 1.0)), floor(&path(false, |_| 1.0)));
            assert!(matches!(dense, Features::Dense(_)));
            assert_close(&sparse.dense_values(), &dense.dense_values());
        }
        assert!(matches!(sgc(&path(true, |_| 1.0)), Features::Sparse(_)), "sparse features stay sparse");
    }

    #[test]
    fn floors_over_neighbors_equal_their_definition() {
        let (n, d) = (31, 50);
        let graph = path(true, |i| (1 + i % 4) as Real);
        let x = raw(&graph).dense_values();
        // P·X by its definition, entry by entry.
        let step = |x: &[Real]| {
            let mut out = vec![0.0; n * d];
            for i in 0..n {
                let total: Real = graph.adjacency().entries(i).map(|(_, w)| w).sum();
                for (j, w) in graph.adjacency().entries(i) {
                    (0..d).for_each(|c| out[i * d + c] += w / total * x[j as usize * d + c]);
                }
            }
            out
        };
        let (one, two) = (step(&x), step(&step(&x)));
        assert_close(&mean(&graph).dense_values(), &one);
        assert!(mean(&graph).row(30).is_empty(), "the isolated node has no neighbors");

        let hops = hops(&graph);
        assert_eq!((hops.n_rows(), hops.n_cols()), (n, 3 * d));
        let hops = hops.dense_values();
        for (at, block) in [&x, &one, &two].into_iter().enumerate() {
            for i in 0..n {
                let row = &block[i * d..][..d];
                let length = row.iter().map(|x| x * x).sum::<Real>().sqrt().max(1e-9);
                let unit: Vec<Real> = row.iter().map(|x| x / length).collect();
                assert_close(&hops[(3 * i + at) * d..][..d], &unit);
            }
        }
    }

    #[test]
    fn every_computed_floor_has_a_name_and_a_summary() {
        let graph = path(true, |_| 1.0);
        for (name, summary) in COMPUTED.iter().zip(&SUMMARIES) {
            assert!(by_name(name, &graph).is_some() && NAMES.contains(name));
            assert_eq!(*name, summary.name);
        }
        assert!(by_name(UNTRAINED, &graph).is_none());
    }
}
