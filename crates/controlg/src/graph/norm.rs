//! Feature normalization: row sums to one, or columns standardized.

use super::{Csr, Dense, Features, StoredFeatures};
use crate::Real;
use crate::error::{Error, Result};
use crate::kernels::rows;

/// Divides each row by its sum. Rows of zeros are unchanged. Sparse features stay sparse.
///
/// # Errors
/// If another row has a sum that is not positive: the division would flip its signs or blow it up.
pub fn divide_rows_by_sums(features: &Features) -> Result<Features> {
    divide_rows(features, row_factor)
}

/// Divides each row by its sum, whatever its sign, as version 0.1 did by default with structural features. Needed to
/// continue such runs.
pub(crate) fn divide_rows_by_signed_sums(features: &Features) -> Features {
    let factor = |_, values: &mut dyn Iterator<Item = f64>| {
        let sum: f64 = values.sum();
        Ok(if sum == 0.0 { 1.0 } else { 1.0 / sum })
    };
    divide_rows(features, factor).expect("every sum gives a factor")
}

fn divide_rows(
    features: &Features,
    factor: impl Fn(usize, &mut dyn Iterator<Item = f64>) -> Result<f64>,
) -> Result<Features> {
    match features {
        Features::Dense(dense) => {
            let mut data = dense.data().to_vec();
            for (at, row) in data.chunks_exact_mut(dense.n_cols()).enumerate() {
                let factor = factor(at, &mut row.iter().map(|&x| f64::from(x)))?;
                row.iter_mut().for_each(|x| *x = (f64::from(*x) * factor) as Real);
            }
            Ok(Features::Dense(Dense::from_parts(dense.n_rows(), dense.n_cols(), data)))
        }
        Features::Sparse(csr) => {
            let mut values = Vec::with_capacity(csr.n_entries());
            for row in 0..csr.n_rows() {
                let factor = factor(row, &mut csr.entries(row).map(|(_, x)| f64::from(x)))?;
                values.extend(csr.entries(row).map(|(_, x)| (f64::from(x) * factor) as Real));
            }
            let (offsets, columns) = (csr.offsets().to_vec(), csr.columns().to_vec());
            Ok(Features::Sparse(Csr::from_parts(csr.n_cols(), offsets, columns, Some(values))))
        }
    }
}

/// The factor that scales the values of a row to sum 1.
fn row_factor(row: usize, values: &mut dyn Iterator<Item = f64>) -> Result<f64> {
    let (mut sum, mut zeros) = (0.0, true);
    values.for_each(|x| {
        sum += x;
        zeros &= x == 0.0;
    });
    if sum > 0.0 || zeros {
        return Ok(if zeros { 1.0 } else { 1.0 / sum });
    }
    let expected = "a positive sum for normalize = rows; normalize = columns suits negative values";
    Err(Error::value(format_args!("features, row {row}"), format_args!("values that sum to {sum}"), expected))
}

/// Mean and standard deviation of each column, as in scikit-learn's `StandardScaler`; 1e-8 is added to the deviation.
/// The deviation of a constant column is 1, so that a new node that differs there gets its difference, not 1e8 times it.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnScale {
    /// The means.
    pub mean: Vec<f64>,
    /// The population standard deviations, 1 for constant columns.
    pub deviation: Vec<f64>,
}

impl ColumnScale {
    /// Computes the statistics of features in memory.
    pub fn of(features: &Features) -> Self {
        ColumnScale::of_blocks(features.n_rows(), features.n_cols(), |visit| {
            visit(features);
            Ok(())
        })
        .expect("reading from memory cannot fail")
    }

    /// Computes the statistics of features on disk.
    pub fn of_stored(stored: &StoredFeatures) -> Result<Self> {
        ColumnScale::of_blocks(stored.n_rows(), stored.n_cols(), |visit| stored.each_block(visit))
    }

    /// Computes the statistics of blocks of rows. `blocks` is called twice and must visit the same blocks in the same order.
    fn of_blocks(
        n_rows: usize,
        d: usize,
        blocks: impl Fn(&mut dyn FnMut(&Features)) -> Result<()>,
    ) -> Result<Self> {
        let n = n_rows as f64;
        let mut mean = vec![0.0f64; d];
        blocks(&mut |features| each_value(features, |column, x| mean[column] += x))?;
        mean.iter_mut().for_each(|mean| *mean /= n);
        // Entries that are not stored are zero; they are accounted for at the end.
        let (mut square, mut stored) = (vec![0.0f64; d], vec![0.0f64; d]);
        blocks(&mut |features| {
            each_value(features, |column, x| {
                square[column] += (x - mean[column]).powi(2);
                stored[column] += 1.0;
            });
        })?;
        let total = |column: usize| square[column] + (n - stored[column]) * mean[column].powi(2);
        // The mean of a constant column is off by rounding; the bound is that of scikit-learn.
        let is_constant = |variance: f64, mean: f64| {
            variance <= n * f64::EPSILON * variance + (n * mean * f64::EPSILON).powi(2)
        };
        let deviation = |column: usize| {
            let variance = total(column) / n;
            if is_constant(variance, mean[column]) { 1.0 } else { variance.sqrt() + 1e-8 }
        };
        Ok(ColumnScale { deviation: (0..d).map(deviation).collect(), mean })
    }

    /// (x − mean) / deviation for every column. The result is dense.
    ///
    /// # Panics
    /// If the features have another number of columns.
    pub fn apply(&self, features: &Features) -> Features {
        let (n, d) = (features.n_rows(), features.n_cols());
        assert_eq!(self.mean.len(), d, "one scale per column");
        let scaled = |column: usize, x: f64| ((x - self.mean[column]) / self.deviation[column]) as Real;
        let mut data = Vec::with_capacity(n * d);
        match features {
            Features::Dense(dense) => {
                data.extend(dense.data().iter().enumerate().map(|(i, &x)| scaled(i % d, f64::from(x))));
            }
            Features::Sparse(csr) => {
                let zeros: Vec<Real> = (0..d).map(|column| scaled(column, 0.0)).collect();
                for row in 0..n {
                    data.extend_from_slice(&zeros);
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

/// L2-normalizes the rows; zero rows are unchanged.
pub(crate) fn unit_rows(matrix: &Features) -> Features {
    match matrix {
        Features::Dense(dense) => {
            let (n, d) = (dense.n_rows(), dense.n_cols());
            let (mut data, mut norms) = (vec![0.0; n * d], vec![0.0; n]);
            rows::row_normalize(n, d, dense.data(), &mut data, &mut norms);
            Features::Dense(Dense::from_parts(n, d, data))
        }
        Features::Sparse(csr) => {
            let mut values = Vec::with_capacity(csr.n_entries());
            for row in 0..csr.n_rows() {
                let length = csr.entries(row).map(|(_, x)| f64::from(x).powi(2)).sum::<f64>().sqrt();
                let length = length.max(f64::from(rows::SMALLEST_NORM));
                values.extend(csr.entries(row).map(|(_, x)| (f64::from(x) / length) as Real));
            }
            let (offsets, columns) = (csr.offsets().to_vec(), csr.columns().to_vec());
            Features::Sparse(Csr::from_parts(csr.n_cols(), offsets, columns, Some(values)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }

    #[test]
    fn rows_are_divided_by_their_sum_and_zero_rows_stay() {
        let csr = Csr::from_parts(3, vec![0, 2, 2], vec![0, 2], Some(vec![1.0, 3.0]));
        let scaled = divide_rows_by_sums(&Features::Sparse(csr)).unwrap();
        assert!(matches!(scaled, Features::Sparse(_)));
        assert_eq!(scaled.row(0), [(0, 0.25), (2, 0.75)]);
        assert_eq!(scaled.row(1), []);
    }

    #[test]
    fn rows_without_a_positive_sum_are_refused() {
        for row in [[-1.0, 0.5], [1.0, -1.0]] {
            let features = Features::dense(2, 2, [[0.0, 0.0], row].concat()).unwrap();
            let error = divide_rows_by_sums(&features).unwrap_err().to_string();
            assert!(error.contains("row 1") && error.contains("normalize = columns"), "{error}");
        }
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

    #[test]
    fn a_new_value_in_a_constant_column_keeps_its_difference() {
        let features = Features::dense(7, 2, [[0.1, 0.0]; 7].concat()).unwrap();
        let scale = ColumnScale::of(&features);
        assert_eq!(scale.deviation, [1.0, 1.0]);
        let new = scale.apply(&Features::dense(1, 2, vec![0.6, -2.0]).unwrap());
        new.row(0).iter().zip([0.5, -2.0]).for_each(|((_, x), y)| assert_close(f64::from(*x), y));
        // A column whose values hardly differ is not constant.
        let features = Features::dense(2, 1, vec![1.0, 1.000_000_5]).unwrap();
        assert!(ColumnScale::of(&features).deviation[0] < 1e-6);
    }
}
