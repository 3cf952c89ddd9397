//! Sparse matrices that propagate node features along edges, such as the GCN operator.

use std::ops::Range;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::adjacency::check_symmetric;
use super::{Adjacency, Csr};
use crate::Real;
use crate::error::Result;
use crate::kernels::{CsrView, scratch};

/// How an encoder averages over neighbors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorSpec {
    /// The scaling of the entries.
    pub kind: OperatorKind,
    /// Whether every node is its own neighbor.
    pub self_loops: bool,
}

/// The scaling of an operator. D holds the row sums of the adjacency A, after self-loops are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperatorKind {
    /// D^-½ A D^-½
    Symmetric,
    /// D⁻¹ A, the mean over neighbors.
    Mean,
    /// The mean over the neighbors in every direction of every relation; see [`OperatorSpec::RELATIONS`].
    #[serde(skip)]
    Relations,
}

impl OperatorSpec {
    /// The operator of graph convolutions: D̃^-½ (A + I) D̃^-½.
    pub const GCN: OperatorSpec = OperatorSpec { kind: OperatorKind::Symmetric, self_loops: true };

    /// The mean over the neighbors in every direction of every relation, which relational encoders take. The operator has one row
    /// per node and one column per message: for each direction, one per node that sends along it ([`Adjacency::senders`]). On a
    /// homogeneous graph it is the mean over the neighbors.
    pub const RELATIONS: OperatorSpec = OperatorSpec { kind: OperatorKind::Relations, self_loops: false };

    /// The scale of a node with this row sum; 0 if it has no neighbors.
    fn scale(self, sum: f64) -> f64 {
        match self.kind {
            _ if sum <= 0.0 => 0.0,
            OperatorKind::Symmetric => 1.0 / sum.sqrt(),
            OperatorKind::Mean | OperatorKind::Relations => 1.0 / sum,
        }
    }

    /// The factor of entry (row, column), from the scales of both nodes.
    fn factor(self, row: f64, column: f64) -> f64 {
        match self.kind {
            OperatorKind::Symmetric => row * column,
            OperatorKind::Mean | OperatorKind::Relations => row,
        }
    }

    /// Number of entries of the operator.
    pub(crate) fn n_entries(self, adjacency: &Adjacency) -> usize {
        if let (OperatorKind::Relations, Some(relations)) = (self.kind, adjacency.relations()) {
            return relations.n_messages();
        }
        adjacency.n_entries() + if self.self_loops { adjacency.n_rows() } else { 0 }
    }
}

/// A sparse matrix that multiplies node representations, with its transpose for the backward pass.
#[derive(Clone, Debug)]
pub struct Operator {
    matrix: Csr,
    /// The transpose, unless the matrix is symmetric.
    transposed: Option<Csr>,
    reverse: OnceLock<Vec<u32>>,
}

impl Operator {
    /// The GCN operator Â = D̃^-½ (A + I) D̃^-½, where D̃ holds the row sums of A + I.
    pub fn gcn(adjacency: &Adjacency) -> Self {
        Operator::new(adjacency, OperatorSpec::GCN)
    }

    /// The operator of a graph.
    pub fn new(adjacency: &Adjacency, spec: OperatorSpec) -> Self {
        let mut operator = Operator::symmetric_unchecked(Csr::empty(0, 0));
        operator.refill(adjacency, None, spec);
        operator
    }

    /// The random-walk operator P = D⁻¹ A. Rows of isolated nodes are empty.
    pub fn walk(adjacency: &Csr) -> Self {
        let sums = row_sums(adjacency);
        let scaled = |row: usize| adjacency.entries(row).map(move |(_, w)| f64::from(w));
        let mut values = Vec::with_capacity(adjacency.n_entries());
        for (row, &sum) in sums.iter().enumerate() {
            values.extend(scaled(row).map(|w| (w / sum) as Real));
        }
        Operator::general(Csr::from_parts(
            adjacency.n_cols(),
            adjacency.offsets().to_vec(),
            adjacency.columns().to_vec(),
            Some(values),
        ))
    }

    /// An operator from a symmetric matrix.
    ///
    /// # Errors
    /// If the matrix does not equal its transpose. Use [`Operator::general`] for other matrices.
    pub fn symmetric(matrix: Csr) -> Result<Self> {
        check_symmetric("operator", &matrix)?;
        Ok(Operator::symmetric_unchecked(matrix))
    }

    /// An operator from a matrix that equals its transpose, or whose product is never differentiated.
    pub(crate) fn symmetric_unchecked(matrix: Csr) -> Self {
        Operator { matrix, transposed: None, reverse: OnceLock::new() }
    }

    /// An operator from any matrix.
    pub fn general(matrix: Csr) -> Self {
        let transposed = Some(matrix.transposed());
        Operator { matrix, transposed, reverse: OnceLock::new() }
    }

    /// A stand-in of this shape for a pass over shapes.
    pub(crate) fn shape_only(n: usize, n_entries: usize, kind: OperatorKind) -> Self {
        let matrix = || Csr::shape_only(n, n, n_entries);
        let transposed = (kind != OperatorKind::Symmetric).then(matrix);
        Operator { matrix: matrix(), transposed, reverse: OnceLock::new() }
    }

    /// A stand-in for an operator of this kind with `n_entries` entries on a graph.
    pub(crate) fn shape_only_on(adjacency: &Adjacency, n_entries: usize, kind: OperatorKind) -> Self {
        let n = adjacency.n_rows();
        let n_messages = adjacency.senders().iter().map(Range::len).sum();
        if kind != OperatorKind::Relations || n_messages == n {
            return Operator::shape_only(n, n_entries, kind);
        }
        let matrix = Csr::shape_only(n, n_messages, n_entries);
        Operator {
            matrix,
            transposed: Some(Csr::shape_only(n_messages, n, n_entries)),
            reverse: OnceLock::new(),
        }
    }

    /// The matrix.
    pub fn matrix(&self) -> &Csr {
        &self.matrix
    }

    /// The matrix, for the forward pass.
    pub fn forward(&self) -> CsrView<'_> {
        self.matrix.sparse()
    }

    /// The transposed matrix, for the backward pass.
    pub fn backward(&self) -> CsrView<'_> {
        self.transposed.as_ref().unwrap_or(&self.matrix).sparse()
    }

    /// For each entry (i, j), the index of the entry (j, i). Computed on first use.
    ///
    /// # Panics
    /// If the sparsity pattern is not symmetric.
    pub fn reverse(&self) -> &[u32] {
        self.reverse.get_or_init(|| {
            let (matrix, transposed) = (self.forward(), self.backward());
            assert_eq!(matrix.n_rows, matrix.n_cols, "a square operator");
            let is_symmetric = (matrix.offsets, matrix.columns) == (transposed.offsets, transposed.columns);
            assert!(is_symmetric, "an operator with a symmetric sparsity pattern");
            let mut reverse = Vec::new();
            reverse_entries(&self.matrix, &mut reverse);
            reverse
        })
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        self.matrix.memory_bytes()
            + self.transposed.as_ref().map_or(0, Csr::memory_bytes)
            + self.reverse.get().map_or(0, |reverse| size_of_val(&reverse[..]))
    }

    /// Turns this into the operator of the kept entries of `adjacency`, reusing its memory.
    pub(super) fn refill(&mut self, adjacency: &Adjacency, keep: Option<&[bool]>, spec: OperatorSpec) {
        if let (OperatorKind::Relations, Some(relations)) = (spec.kind, adjacency.relations()) {
            *self = Operator::general(relations.mean_operator(adjacency, keep));
            return;
        }
        let n = adjacency.n_rows();
        let (mut offsets, mut columns, mut values) = cleared(&mut self.matrix);
        scratch::with(n, |scale: &mut [f64]| {
            // First the neighbors and their sums; then each entry is scaled by both of its nodes.
            offsets.push(0);
            for (row, scale) in scale.iter_mut().enumerate() {
                let sum = kept_row(adjacency, keep, spec.self_loops, row, &mut columns, &mut values);
                offsets.push(columns.len());
                *scale = spec.scale(sum);
            }
            // The pattern is symmetric, so the transpose has the same one.
            self.transposed = (spec.kind != OperatorKind::Symmetric).then(|| {
                let mut old = self.transposed.take().unwrap_or_else(|| Csr::empty(0, 0));
                let (mut mirrored_offsets, mut mirrored_columns, mut mirrored) = cleared(&mut old);
                mirrored_offsets.extend_from_slice(&offsets);
                mirrored_columns.extend_from_slice(&columns);
                let scaled =
                    |(&column, &value): (&u32, &Real)| (f64::from(value) * scale[column as usize]) as Real;
                mirrored.extend(columns.iter().zip(&values).map(scaled));
                Csr::from_parts(n, mirrored_offsets, mirrored_columns, Some(mirrored))
            });
            for row in 0..n {
                for at in offsets[row]..offsets[row + 1] {
                    let factor = spec.factor(scale[row], scale[columns[at] as usize]);
                    values[at] = (f64::from(values[at]) * factor) as Real;
                }
            }
        });
        self.matrix = Csr::from_parts(n, offsets, columns, Some(values));
        // If the reverse entries of the old matrix were needed, those of the new one will be too.
        if let Some(mut reverse) = self.reverse.take() {
            reverse_entries(&self.matrix, &mut reverse);
            self.reverse = OnceLock::from(reverse);
        }
    }
}

/// The empty vectors of a matrix that is no longer needed: offsets, columns and values.
fn cleared(matrix: &mut Csr) -> (Vec<usize>, Vec<u32>, Vec<Real>) {
    let (mut offsets, mut columns, values) = std::mem::replace(matrix, Csr::empty(0, 0)).into_parts();
    let mut values = values.unwrap_or_default();
    offsets.clear();
    columns.clear();
    values.clear();
    (offsets, columns, values)
}

/// Computes rows of [`Operator::new`] on demand, for graphs whose operator does not fit into memory. The values are identical.
#[derive(Clone, Debug)]
pub struct LazyOperator<'g> {
    adjacency: &'g Adjacency,
    spec: OperatorSpec,
    scale: Vec<f64>,
    /// The column of each node in the current rows.
    column_of: Vec<u32>,
}

/// Some rows of an operator, restricted to the columns that they use.
#[derive(Clone, Debug)]
pub struct OperatorRows {
    /// One row per requested row, one column per reached node.
    pub operator: Operator,
    /// The nodes of the columns, ascending: the neighbors of the rows' nodes and these nodes themselves.
    pub reached: Vec<u32>,
    /// The column of each row's own node.
    pub own: Vec<u32>,
}

impl<'g> LazyOperator<'g> {
    /// Prepares the scales of all rows.
    pub fn new(adjacency: &'g Adjacency, spec: OperatorSpec) -> Self {
        let own = if spec.self_loops { 1.0 } else { 0.0 };
        let sum = |row| adjacency.entries(row).fold(own, |sum, (_, weight)| sum + f64::from(weight));
        let scale = (0..adjacency.n_rows()).map(|row| spec.scale(sum(row))).collect();
        LazyOperator { adjacency, spec, scale, column_of: vec![u32::MAX; adjacency.n_rows()] }
    }

    /// A range of rows.
    pub fn rows(&mut self, rows: Range<usize>) -> OperatorRows {
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows.clone() {
            kept_row(self.adjacency, None, self.spec.self_loops, row, &mut columns, &mut values);
            for at in offsets[offsets.len() - 1]..columns.len() {
                let factor = self.spec.factor(self.scale[row], self.scale[columns[at] as usize]);
                values[at] = (f64::from(values[at]) * factor) as Real;
            }
            offsets.push(columns.len());
        }
        let mut reached = Vec::new();
        for column in columns.iter().copied().chain(rows.clone().map(|row| row as u32)) {
            if std::mem::replace(&mut self.column_of[column as usize], 0) == u32::MAX {
                reached.push(column);
            }
        }
        // Columns are numbered in ascending order of nodes, so sums have the same order as with the full operator.
        reached.sort_unstable();
        reached.iter().enumerate().for_each(|(at, &node)| self.column_of[node as usize] = at as u32);
        columns.iter_mut().for_each(|column| *column = self.column_of[*column as usize]);
        let own = rows.map(|row| self.column_of[row]).collect();
        reached.iter().for_each(|&node| self.column_of[node as usize] = u32::MAX);
        let matrix = Csr::from_parts(reached.len(), offsets, columns, Some(values));
        OperatorRows { operator: Operator::symmetric_unchecked(matrix), reached, own }
    }
}

/// Appends the kept entries of a row of A, or of A + I with self-loops, in ascending order, and returns their sum.
fn kept_row(
    adjacency: &Csr,
    keep: Option<&[bool]>,
    self_loops: bool,
    row: usize,
    columns: &mut Vec<u32>,
    values: &mut Vec<Real>,
) -> f64 {
    let mut sum = if self_loops { 1.0 } else { 0.0 };
    // Whether the self-loop is in place, or not wanted.
    let mut has_loop = !self_loops;
    for at in adjacency.offsets()[row]..adjacency.offsets()[row + 1] {
        let column = adjacency.columns()[at];
        if !has_loop && column as usize > row {
            columns.push(row as u32);
            values.push(1.0);
            has_loop = true;
        }
        if keep.is_none_or(|keep| keep[at]) {
            let weight = adjacency.values().map_or(1.0, |weights| weights[at]);
            sum += f64::from(weight);
            columns.push(column);
            values.push(weight);
        }
    }
    if !has_loop {
        columns.push(row as u32);
        values.push(1.0);
    }
    sum
}

/// 1/√degree of each node, 0 for isolated nodes: the scale of the normalized Laplacian.
pub(super) fn inverse_sqrt_degrees(adjacency: &Csr) -> Vec<f64> {
    let scale = |sum: f64| if sum > 0.0 { 1.0 / sum.sqrt() } else { 0.0 };
    row_sums(adjacency).into_iter().map(scale).collect()
}

fn row_sums(matrix: &Csr) -> Vec<f64> {
    (0..matrix.n_rows()).map(|row| matrix.entries(row).map(|(_, x)| f64::from(x)).sum()).collect()
}

/// For each entry (i, j), the index of (j, i). Rows are visited in ascending order, so the mirrored entries of a row are met in
/// ascending order too, and one cursor per row finds them all.
fn reverse_entries(matrix: &Csr, reverse: &mut Vec<u32>) {
    reverse.resize(matrix.n_entries(), 0);
    scratch::with(matrix.n_rows() + 1, |next: &mut [usize]| {
        next.copy_from_slice(matrix.offsets());
        for row in 0..matrix.n_rows() {
            let span = matrix.offsets()[row]..matrix.offsets()[row + 1];
            for (index, &column) in reverse[span.clone()].iter_mut().zip(&matrix.columns()[span]) {
                let back = &mut next[column as usize];
                debug_assert_eq!(matrix.columns()[*back] as usize, row, "a symmetric pattern");
                *index = *back as u32;
                *back += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::EdgeList;

    /// A path 0–1–2 and the isolated node 3.
    fn path() -> Adjacency {
        EdgeList { pairs: vec![(0, 1), (1, 2)], weights: None }.into_adjacency(4).unwrap().0
    }

    fn dense(matrix: &Csr) -> Vec<Vec<f64>> {
        let mut rows = vec![vec![0.0; matrix.n_cols()]; matrix.n_rows()];
        for (row, to) in rows.iter_mut().enumerate() {
            matrix.entries(row).for_each(|(column, x)| to[column as usize] = f64::from(x));
        }
        rows
    }

    fn assert_close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }

    #[test]
    fn gcn_operator_has_self_loops_and_symmetric_scales() {
        let operator = Operator::gcn(&path());
        let rows = dense(operator.matrix());
        assert_close(rows[0][0], 0.5);
        assert_close(rows[0][1], 1.0 / 6f64.sqrt());
        assert_close(rows[1][1], 1.0 / 3.0);
        assert_close(rows[3][3], 1.0);
        assert!((0..4).all(|row| operator.matrix().row(row).is_sorted()));
        for (at, &back) in operator.reverse().iter().enumerate() {
            assert_eq!(operator.reverse()[back as usize] as usize, at);
        }
    }

    const SPECS: [OperatorSpec; 4] = [
        OperatorSpec::GCN,
        OperatorSpec { kind: OperatorKind::Symmetric, self_loops: false },
        OperatorSpec { kind: OperatorKind::Mean, self_loops: true },
        OperatorSpec { kind: OperatorKind::Mean, self_loops: false },
    ];

    #[test]
    fn operators_scale_by_degrees_with_and_without_self_loops() {
        let neighbors = [vec![1], vec![0, 2], vec![1], vec![]];
        for spec in SPECS {
            let operator = Operator::new(&path(), spec);
            let degree = |u: usize| neighbors[u].len() as f64 + if spec.self_loops { 1.0 } else { 0.0 };
            let (rows, mirrored) = (dense(operator.matrix()), dense_view(operator.backward()));
            for u in 0..4 {
                for v in 0..4 {
                    let linked = neighbors[u].contains(&v) || (spec.self_loops && u == v);
                    let want = match spec.kind {
                        _ if !linked => 0.0,
                        OperatorKind::Symmetric => 1.0 / (degree(u) * degree(v)).sqrt(),
                        OperatorKind::Mean | OperatorKind::Relations => 1.0 / degree(u),
                    };
                    assert_close(rows[u][v], want);
                    assert_close(mirrored[v][u], want);
                }
            }
            assert_eq!(operator.matrix().n_entries(), spec.n_entries(&path()));
        }
    }

    fn dense_view(matrix: CsrView<'_>) -> Vec<Vec<f64>> {
        let values = matrix.values.map(<[Real]>::to_vec);
        dense(&Csr::from_parts(matrix.n_cols, matrix.offsets.to_vec(), matrix.columns.to_vec(), values))
    }

    #[test]
    fn rows_of_a_lazy_operator_equal_the_full_operator() {
        let adjacency =
            EdgeList { pairs: vec![(0, 1), (1, 2), (2, 5), (0, 4)], weights: Some(vec![0.3, 2.0, 1.5, 0.7]) }
                .into_adjacency(7)
                .unwrap()
                .0;
        for spec in SPECS {
            let whole = Operator::new(&adjacency, spec);
            let mut rows = LazyOperator::new(&adjacency, spec);
            for range in [0..3, 3..4, 2..7, 0..7] {
                let OperatorRows { operator, reached, own } = rows.rows(range.clone());
                for (at, row) in range.enumerate() {
                    let entries = operator.matrix().entries(at);
                    let named: Vec<_> = entries.map(|(column, x)| (reached[column as usize], x)).collect();
                    assert_eq!(named, whole.matrix().entries(row).collect::<Vec<_>>());
                    assert_eq!(reached[own[at] as usize] as usize, row);
                }
            }
        }
    }

    #[test]
    fn asymmetric_matrices_are_rejected() {
        let asymmetric = Csr::from_parts(2, vec![0, 2, 3], vec![0, 1, 1], None);
        let message = Operator::symmetric(asymmetric).unwrap_err().to_string();
        assert_eq!(
            message,
            "operator, row 0: found entry (0, 1) without its mirror, expected a symmetric matrix"
        );
        let with_diagonal = Csr::from_parts(2, vec![0, 2, 3], vec![0, 1, 0], Some(vec![3.0, 2.0, 2.0]));
        assert_eq!(Operator::symmetric(with_diagonal).unwrap().reverse(), [0, 2, 1]);
    }

    #[test]
    #[should_panic(expected = "symmetric sparsity pattern")]
    fn reverse_needs_a_symmetric_pattern() {
        Operator::general(Csr::from_parts(2, vec![0, 2, 3], vec![0, 1, 1], None)).reverse();
    }

    #[test]
    fn walk_rows_sum_to_one_and_the_transpose_is_stored() {
        let operator = Operator::walk(&path());
        let rows = dense(operator.matrix());
        assert_close(rows[1][0], 0.5);
        assert_close(rows[0][1], 1.0);
        assert_close(rows[3].iter().sum(), 0.0);
        assert_eq!(operator.backward().offsets[4], 4);
    }
}
