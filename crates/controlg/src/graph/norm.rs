//! Matrices that carry features along edges, and the usual scalings of features.

use std::ops::Range;
use std::sync::OnceLock;

use super::adjacency::check_symmetric;
use super::{Adjacency, Csr, Dense, Features, StoredFeatures};
use crate::Real;
use crate::error::Result;
use crate::kernels::{CsrView, scratch};

/// A sparse matrix that multiplies node representations, together with what its derivative needs.
#[derive(Clone, Debug)]
pub struct Operator {
    matrix: Csr,
    /// The transposed matrix, where that is another one.
    transposed: Option<Csr>,
    reverse: OnceLock<Vec<u32>>,
}

impl Operator {
    /// The operator of graph convolutions, Â = D̃^-½ (A + I) D̃^-½ with D̃ the row sums of A + I.
    pub fn gcn(adjacency: &Adjacency) -> Self {
        let mut operator = Operator::symmetric_unchecked(Csr::empty(0, 0));
        operator.refill_gcn(adjacency, None);
        operator
    }

    /// One step of a random walk, P = D⁻¹ A; the row of a node without neighbors is empty.
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

    /// The matrix.
    pub fn matrix(&self) -> &Csr {
        &self.matrix
    }

    /// The matrix, for a product.
    pub fn forward(&self) -> CsrView<'_> {
        self.matrix.sparse()
    }

    /// The transposed matrix, for the derivative of a product.
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

    /// Makes this the GCN operator of the entries of `adjacency` that are to be kept, in the memory it has already.
    pub(super) fn refill_gcn(&mut self, adjacency: &Adjacency, keep: Option<&[bool]>) {
        let n = adjacency.n_rows();
        let (mut offsets, mut columns, values) =
            std::mem::replace(&mut self.matrix, Csr::empty(0, 0)).into_parts();
        let mut values = values.unwrap_or_default();
        offsets.clear();
        columns.clear();
        values.clear();
        scratch::with(n, |scale: &mut [f64]| {
            // Weights with their loops first; then each is scaled by both of its ends.
            offsets.push(0);
            for (row, scale) in scale.iter_mut().enumerate() {
                let sum = kept_row(adjacency, keep, row, &mut columns, &mut values);
                offsets.push(columns.len());
                *scale = 1.0 / sum.sqrt();
            }
            for row in 0..n {
                for at in offsets[row]..offsets[row + 1] {
                    let both = scale[row] * scale[columns[at] as usize];
                    values[at] = (f64::from(values[at]) * both) as Real;
                }
            }
        });
        self.matrix = Csr::from_parts(n, offsets, columns, Some(values));
        self.transposed = None;
        // Whoever asked for the reversed entries of the last matrix will ask for those of this one.
        if let Some(mut reverse) = self.reverse.take() {
            reverse_entries(&self.matrix, &mut reverse);
            self.reverse = OnceLock::from(reverse);
        }
    }
}

/// [`Operator::gcn`] some rows at a time, for a graph whose operator would be too much at once. Values are the same to
/// the bit.
#[derive(Clone, Debug)]
pub struct GcnRows<'g> {
    adjacency: &'g Adjacency,
    scale: Vec<f64>,
    /// For each node its place among those that the rows in hand reach.
    place: Vec<u32>,
}

/// Some rows of an operator on the nodes that they reach.
#[derive(Clone, Debug)]
pub struct OperatorRows {
    /// One row for each of the nodes, one column for each that is reached.
    pub operator: Operator,
    /// The nodes that are reached, ascending.
    pub reached: Vec<u32>,
    /// The column of each row's own node.
    pub own: Vec<u32>,
}

impl<'g> GcnRows<'g> {
    /// Of a symmetric adjacency without loops.
    pub fn new(adjacency: &'g Adjacency) -> Self {
        let sum = |row| adjacency.entries(row).fold(1.0, |sum, (_, weight)| sum + f64::from(weight));
        let scale = (0..adjacency.n_rows()).map(|row| 1.0 / f64::sqrt(sum(row))).collect();
        GcnRows { adjacency, scale, place: vec![u32::MAX; adjacency.n_rows()] }
    }

    /// Some rows that follow each other.
    pub fn rows(&mut self, rows: Range<usize>) -> OperatorRows {
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows.clone() {
            kept_row(self.adjacency, None, row, &mut columns, &mut values);
            for at in offsets[offsets.len() - 1]..columns.len() {
                let both = self.scale[row] * self.scale[columns[at] as usize];
                values[at] = (f64::from(values[at]) * both) as Real;
            }
            offsets.push(columns.len());
        }
        let mut reached = Vec::new();
        for &column in &columns {
            if std::mem::replace(&mut self.place[column as usize], 0) == u32::MAX {
                reached.push(column);
            }
        }
        // Places ascend with the nodes, so each row is summed in the order of the whole operator.
        reached.sort_unstable();
        reached.iter().enumerate().for_each(|(at, &node)| self.place[node as usize] = at as u32);
        columns.iter_mut().for_each(|column| *column = self.place[*column as usize]);
        let own = rows.map(|row| self.place[row]).collect();
        reached.iter().for_each(|&node| self.place[node as usize] = u32::MAX);
        let matrix = Csr::from_parts(reached.len(), offsets, columns, Some(values));
        OperatorRows { operator: Operator::symmetric_unchecked(matrix), reached, own }
    }
}

/// Appends what is kept of a row of A + I, in ascending order, and gives its sum.
fn kept_row(
    adjacency: &Csr,
    keep: Option<&[bool]>,
    row: usize,
    columns: &mut Vec<u32>,
    values: &mut Vec<Real>,
) -> f64 {
    let (mut sum, mut looped) = (1.0, false);
    for at in adjacency.offsets()[row]..adjacency.offsets()[row + 1] {
        let column = adjacency.columns()[at];
        if !looped && column as usize > row {
            columns.push(row as u32);
            values.push(1.0);
            looped = true;
        }
        if keep.is_none_or(|keep| keep[at]) {
            let weight = adjacency.values().map_or(1.0, |weights| weights[at]);
            sum += f64::from(weight);
            columns.push(column);
            values.push(weight);
        }
    }
    if !looped {
        columns.push(row as u32);
        values.push(1.0);
    }
    sum
}

/// 1/√degree of each node, 0 where it has no neighbors: the scale of the normalized Laplacian.
pub fn inverse_sqrt_degrees(adjacency: &Csr) -> Vec<f64> {
    let scale = |sum: f64| if sum > 0.0 { 1.0 / sum.sqrt() } else { 0.0 };
    row_sums(adjacency).into_iter().map(scale).collect()
}

/// Divides each row by its sum; rows that sum to zero stay as they are. Sparse features stay sparse.
pub fn divide_rows_by_sums(features: &Features) -> Features {
    let factor = |sum: f64| if sum.abs() > 0.0 { 1.0 / sum } else { 1.0 };
    match features {
        Features::Dense(dense) => {
            let mut data = dense.data().to_vec();
            for row in data.chunks_exact_mut(dense.n_cols()) {
                let factor = factor(row.iter().map(|&x| f64::from(x)).sum());
                row.iter_mut().for_each(|x| *x = (f64::from(*x) * factor) as Real);
            }
            Features::Dense(Dense::from_parts(dense.n_rows(), dense.n_cols(), data))
        }
        Features::Sparse(csr) => {
            let mut values = Vec::with_capacity(csr.n_entries());
            for row in 0..csr.n_rows() {
                let factor = factor(csr.entries(row).map(|(_, x)| f64::from(x)).sum());
                values.extend(csr.entries(row).map(|(_, x)| (f64::from(x) * factor) as Real));
            }
            let (offsets, columns) = (csr.offsets().to_vec(), csr.columns().to_vec());
            Features::Sparse(Csr::from_parts(csr.n_cols(), offsets, columns, Some(values)))
        }
    }
}

/// Rows that are looked at together when they come from a file.
const BLOCK: usize = 8192;

/// Mean and standard deviation of each column, with 1e-8 added to the deviation.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnScale {
    /// The means.
    pub mean: Vec<f64>,
    /// The deviations, of the population.
    pub deviation: Vec<f64>,
}

impl ColumnScale {
    /// Of these features.
    pub fn of(features: &Features) -> Self {
        ColumnScale::of_blocks(features.n_rows(), features.n_cols(), |visit| {
            visit(features);
            Ok(())
        })
        .expect("memory that does not fail")
    }

    /// Of features that stay in their file.
    pub fn of_stored(stored: &StoredFeatures) -> Result<Self> {
        let n = stored.n_rows() as u32;
        ColumnScale::of_blocks(stored.n_rows(), stored.n_cols(), |visit| {
            for first in (0..n).step_by(BLOCK) {
                let rows: Vec<u32> = (first..n.min(first + BLOCK as u32)).collect();
                visit(&stored.rows(&rows)?);
            }
            Ok(())
        })
    }

    /// Of features that come in blocks of rows, twice in the same order.
    fn of_blocks(
        n_rows: usize,
        d: usize,
        blocks: impl Fn(&mut dyn FnMut(&Features)) -> Result<()>,
    ) -> Result<Self> {
        let n = n_rows as f64;
        let mut mean = vec![0.0f64; d];
        blocks(&mut |features| each_value(features, |column, x| mean[column] += x))?;
        mean.iter_mut().for_each(|mean| *mean /= n);
        // What is not stored is zero: its share is added at the end.
        let (mut square, mut stored) = (vec![0.0f64; d], vec![0.0f64; d]);
        blocks(&mut |features| {
            each_value(features, |column, x| {
                square[column] += (x - mean[column]).powi(2);
                stored[column] += 1.0;
            });
        })?;
        let total = |column: usize| square[column] + (n - stored[column]) * mean[column].powi(2);
        let deviation = (0..d).map(|column| (total(column) / n).sqrt() + 1e-8).collect();
        Ok(ColumnScale { mean, deviation })
    }

    /// (x − mean)/deviation in every column. The result is dense.
    ///
    /// # Panics
    /// When the features have another number of columns.
    pub fn apply(&self, features: &Features) -> Features {
        let (n, d) = (features.n_rows(), features.n_cols());
        assert_eq!(self.mean.len(), d, "one scale a column");
        let scaled = |column: usize, x: f64| ((x - self.mean[column]) / self.deviation[column]) as Real;
        let mut data = Vec::with_capacity(n * d);
        match features {
            Features::Dense(dense) => {
                data.extend(dense.data().iter().enumerate().map(|(i, &x)| scaled(i % d, f64::from(x))));
            }
            Features::Sparse(csr) => {
                let nothing: Vec<Real> = (0..d).map(|column| scaled(column, 0.0)).collect();
                for row in 0..n {
                    data.extend_from_slice(&nothing);
                    let to = &mut data[row * d..];
                    csr.entries(row).for_each(|(c, x)| to[c as usize] = scaled(c as usize, f64::from(x)));
                }
            }
        }
        Features::Dense(Dense::from_parts(n, d, data))
    }
}

fn each_value(features: &Features, mut visit: impl FnMut(usize, f64)) {
    match features {
        Features::Dense(dense) => {
            let d = dense.n_cols();
            dense.data().iter().enumerate().for_each(|(i, &x)| visit(i % d, f64::from(x)));
        }
        Features::Sparse(csr) => {
            for row in 0..csr.n_rows() {
                csr.entries(row).for_each(|(column, x)| visit(column as usize, f64::from(x)));
            }
        }
    }
}

fn row_sums(matrix: &Csr) -> Vec<f64> {
    (0..matrix.n_rows()).map(|row| matrix.entries(row).map(|(_, x)| f64::from(x)).sum()).collect()
}

/// Rows are visited in ascending order, so the entries that point back to a row are met in ascending order too:
/// one cursor a row finds them all.
fn reverse_entries(matrix: &Csr, reverse: &mut Vec<u32>) {
    reverse.resize(matrix.n_entries(), 0);
    scratch::with(matrix.n_rows() + 1, |next: &mut [usize]| {
        next.copy_from_slice(matrix.offsets());
        for row in 0..matrix.n_rows() {
            let span = matrix.offsets()[row]..matrix.offsets()[row + 1];
            for (place, &column) in reverse[span.clone()].iter_mut().zip(&matrix.columns()[span]) {
                let back = &mut next[column as usize];
                debug_assert_eq!(matrix.columns()[*back] as usize, row, "a symmetric pattern");
                *place = *back as u32;
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
    fn gcn_operator_has_loops_and_both_scales() {
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

    #[test]
    fn rows_of_the_gcn_operator_are_those_of_the_whole() {
        let adjacency =
            EdgeList { pairs: vec![(0, 1), (1, 2), (2, 5), (0, 4)], weights: Some(vec![0.3, 2.0, 1.5, 0.7]) }
                .into_adjacency(7)
                .unwrap()
                .0;
        let whole = Operator::gcn(&adjacency);
        let mut rows = GcnRows::new(&adjacency);
        for range in [0..3, 3..4, 2..7, 0..7] {
            let OperatorRows { operator, reached, own } = rows.rows(range.clone());
            for (at, row) in range.enumerate() {
                let named: Vec<_> =
                    operator.matrix().entries(at).map(|(column, x)| (reached[column as usize], x)).collect();
                assert_eq!(named, whole.matrix().entries(row).collect::<Vec<_>>());
                assert_eq!(reached[own[at] as usize] as usize, row);
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
    fn walk_rows_sum_to_one_and_its_transpose_is_kept() {
        let operator = Operator::walk(&path());
        let rows = dense(operator.matrix());
        assert_close(rows[1][0], 0.5);
        assert_close(rows[0][1], 1.0);
        assert_close(rows[3].iter().sum(), 0.0);
        assert_eq!(operator.backward().offsets[4], 4);
    }

    #[test]
    fn rows_divide_by_their_sum_and_zero_rows_stay() {
        let csr = Csr::from_parts(3, vec![0, 2, 2], vec![0, 2], Some(vec![1.0, 3.0]));
        let scaled = divide_rows_by_sums(&Features::Sparse(csr));
        assert!(matches!(scaled, Features::Sparse(_)));
        assert_eq!(scaled.row(0), [(0, 0.25), (2, 0.75)]);
        assert_eq!(scaled.row(1), []);
    }

    #[test]
    fn standardized_columns_have_mean_zero_and_deviation_one() {
        let csr = Csr::from_parts(2, vec![0, 1, 2, 2, 3], vec![0, 0, 0], Some(vec![1.0, 3.0, 4.0]));
        let features = Features::Sparse(csr);
        let Features::Dense(dense) = ColumnScale::of(&features).apply(&features) else { panic!("dense") };
        let column = |j: usize| (0..4).map(move |i| (i, j));
        let sum = |j| column(j).map(|(i, j)| f64::from(dense.row(i)[j])).sum::<f64>();
        let square = |j| column(j).map(|(i, j)| f64::from(dense.row(i)[j]).powi(2)).sum::<f64>();
        assert_close(sum(0), 0.0);
        assert_close(square(0), 4.0);
        assert_close(square(1), 0.0); // a constant column becomes zero
    }
}
