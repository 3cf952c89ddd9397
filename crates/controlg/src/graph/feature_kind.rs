//! What kind of numbers the features are, which decides how to normalize them.

use super::{Features, StoredFeatures};
use crate::error::Result;

/// Features with fewer nonzero values than this share count as sparse.
const SPARSE: f64 = 0.5;

/// Columns are on different scales if their standard deviations differ by more than this factor.
const SCALES: f64 = 10.0;

/// Row sums that differ from 1 by less than this count as 1.
const UNIT_SUM: f64 = 1e-3;

/// The kind of the values in a feature matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureKind {
    /// Some values are negative.
    Signed,
    /// All values are 0 or 1.
    Binary,
    /// Rows of nonnegative values that sum to 1.
    Shares,
    /// Nonnegative values, most of them zero: bags of words, TF-IDF.
    Sparse,
    /// Nonnegative values in columns of different scales: age, income.
    MixedScales,
    /// Nonnegative whole numbers in columns of similar scale.
    Counts,
    /// Nonnegative numbers in columns of similar scale.
    Positive,
}

impl FeatureKind {
    /// The kind of features in memory.
    pub fn of(features: &Features) -> FeatureKind {
        let mut summary = FeatureSummary::new(features.n_cols());
        summary.add(features);
        summary.kind()
    }

    /// The kind of features on disk.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of_stored(stored: &StoredFeatures) -> Result<FeatureKind> {
        let mut summary = FeatureSummary::new(stored.n_cols());
        stored.each_block(&mut |features| summary.add(features))?;
        Ok(summary.kind())
    }

    /// Whether the columns should be standardized.
    pub fn needs_column_scaling(self) -> bool {
        matches!(self, FeatureKind::Signed | FeatureKind::MixedScales | FeatureKind::Positive)
    }

    /// A short description.
    pub fn describe(self) -> &'static str {
        match self {
            FeatureKind::Signed => "some values are negative",
            FeatureKind::Binary => "all values are 0 or 1",
            FeatureKind::Shares => "the rows sum to 1 already",
            FeatureKind::Sparse => "nonnegative and mostly zero, like bags of words",
            FeatureKind::MixedScales => "columns on different scales",
            FeatureKind::Counts => "counts",
            FeatureKind::Positive => "nonnegative real numbers",
        }
    }
}

/// One pass over the values.
struct FeatureSummary {
    n_rows: usize,
    n_nonzeros: usize,
    negative: bool,
    binary: bool,
    whole: bool,
    unit_sums: bool,
    /// Sum and sum of squares of each column.
    columns: Vec<(f64, f64)>,
}

impl FeatureSummary {
    fn new(n_cols: usize) -> Self {
        FeatureSummary {
            n_rows: 0,
            n_nonzeros: 0,
            negative: false,
            binary: true,
            whole: true,
            unit_sums: true,
            columns: vec![(0.0, 0.0); n_cols],
        }
    }

    fn add(&mut self, features: &Features) {
        self.n_rows += features.n_rows();
        for row in 0..features.n_rows() {
            let mut sum = 0.0;
            match features {
                Features::Dense(dense) => {
                    for (column, &x) in dense.row(row).iter().enumerate() {
                        sum += self.add_value(column, f64::from(x));
                    }
                }
                Features::Sparse(csr) => {
                    for (column, x) in csr.entries(row) {
                        sum += self.add_value(column as usize, f64::from(x));
                    }
                }
            }
            // Empty rows say nothing.
            self.unit_sums &= sum == 0.0 || (sum - 1.0).abs() < UNIT_SUM;
        }
    }

    #[allow(clippy::float_cmp)] // exactly 1
    fn add_value(&mut self, column: usize, x: f64) -> f64 {
        if x != 0.0 {
            self.n_nonzeros += 1;
            self.negative |= x < 0.0;
            self.binary &= x == 1.0;
            self.whole &= x.fract() == 0.0;
            let (sum, squares) = &mut self.columns[column];
            *sum += x;
            *squares += x * x;
        }
        x
    }

    fn kind(&self) -> FeatureKind {
        let share = self.n_nonzeros as f64 / (self.n_rows * self.columns.len()).max(1) as f64;
        if self.negative {
            FeatureKind::Signed
        } else if self.binary {
            FeatureKind::Binary
        } else if self.unit_sums {
            FeatureKind::Shares
        } else if share < SPARSE {
            FeatureKind::Sparse
        } else if self.has_mixed_scales() {
            FeatureKind::MixedScales
        } else if self.whole {
            FeatureKind::Counts
        } else {
            FeatureKind::Positive
        }
    }

    fn has_mixed_scales(&self) -> bool {
        let n = self.n_rows as f64;
        let deviations =
            self.columns.iter().map(|(sum, squares)| (squares / n - (sum / n).powi(2)).max(0.0).sqrt());
        // Rounding gives constant columns a deviation near zero.
        let varying =
            deviations.zip(&self.columns).filter(|(deviation, (sum, _))| *deviation > 1e-6 * sum / n);
        let (low, high) = varying
            .map(|(deviation, _)| deviation)
            .fold((f64::INFINITY, 0.0f64), |(low, high), deviation| {
                (low.min(deviation), high.max(deviation))
            });
        high > SCALES * low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Csr;

    fn kind(n_cols: usize, values: &[f64]) -> FeatureKind {
        let data = values.iter().map(|&x| x as crate::Real).collect();
        FeatureKind::of(&Features::dense(values.len() / n_cols, n_cols, data).unwrap())
    }

    #[test]
    fn each_kind_is_recognized() {
        assert_eq!(kind(2, &[0.5, -0.1, 0.2, 0.3]), FeatureKind::Signed);
        assert_eq!(kind(2, &[1.0, 0.0, 0.0, 1.0]), FeatureKind::Binary);
        assert_eq!(kind(2, &[0.25, 0.75, 0.5, 0.5]), FeatureKind::Shares);
        assert_eq!(kind(4, &[3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0]), FeatureKind::Sparse);
        assert_eq!(kind(2, &[31.0, 52_000.0, 45.0, 18_000.0]), FeatureKind::MixedScales);
        assert_eq!(kind(2, &[31.0, 1.7, 45.0, 1.8, 60.0, 1.6]), FeatureKind::MixedScales);
        assert_eq!(kind(2, &[3.0, 1.0, 2.0, 4.0]), FeatureKind::Counts);
        assert_eq!(kind(2, &[0.3, 0.9, 0.2, 0.4]), FeatureKind::Positive);
    }

    #[test]
    fn constant_columns_and_empty_rows_do_not_count() {
        assert_eq!(kind(2, &[3.0, 1000.0, 2.0, 1000.0, 5.0, 1000.0]), FeatureKind::Counts);
        assert_eq!(kind(2, &[0.25, 0.75, 0.0, 0.0]), FeatureKind::Shares);
        assert_eq!(kind(1, &[0.0, 0.0]), FeatureKind::Binary);
    }

    #[test]
    fn sparse_storage_does_not_change_the_kind() {
        let words = Csr::from_parts(4, vec![0, 1, 2], vec![0, 2], Some(vec![3.0, 2.0]));
        assert_eq!(FeatureKind::of(&Features::Sparse(words)), FeatureKind::Sparse);
        let ones = Csr::from_parts(4, vec![0, 1, 2], vec![0, 2], None);
        assert_eq!(FeatureKind::of(&Features::Sparse(ones)), FeatureKind::Binary);
    }
}
