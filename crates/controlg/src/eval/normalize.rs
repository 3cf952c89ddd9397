//! Normalization of embeddings before a linear model.

use crate::Real;
use crate::error::Error;
use crate::graph::norm::unit_rows;
use crate::graph::{Csr, Dense, Features};
use crate::kernels::rows;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::str::FromStr;

/// Normalization of embeddings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbeddingNormalization {
    /// L2-normalized rows, as in GRACE, BGRL and ParetoGNN.
    #[default]
    L2,
    /// Unchanged, as in DGI, CCA-SSG and GraphMAE.
    None,
    /// Columns standardized to mean 0 and standard deviation 1 over the training nodes.
    Zscore,
}

impl EmbeddingNormalization {
    /// Names on the command line.
    pub const NAMES: [&str; 3] = ["l2", "none", "zscore"];

    /// Name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Normalizes embeddings; `zscore` uses the statistics of the nodes `train` and makes sparse embeddings dense.
    pub fn apply<'a>(self, embeddings: &'a Features, train: &[u32]) -> Cow<'a, Features> {
        match self {
            EmbeddingNormalization::L2 => Cow::Owned(unit_rows(embeddings)),
            EmbeddingNormalization::None => Cow::Borrowed(embeddings),
            EmbeddingNormalization::Zscore => Cow::Owned(standardized(embeddings, train)),
        }
    }
}

impl FromStr for EmbeddingNormalization {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "l2" => Ok(EmbeddingNormalization::L2),
            "none" => Ok(EmbeddingNormalization::None),
            "zscore" => Ok(EmbeddingNormalization::Zscore),
            _ => Err(Error::unknown("normalization of embeddings", name, Self::NAMES)),
        }
    }
}

fn standardized(matrix: &Features, train: &[u32]) -> Features {
    let (n, d) = (matrix.n_rows(), matrix.n_cols());
    let mut data = matrix.dense_values();
    let rows = || train.iter().map(|&row| row as usize * d);
    let count = train.len().max(1) as f64;
    let (mut mean, mut deviation) = (vec![0.0f64; d], vec![0.0f64; d]);
    for start in rows() {
        data[start..start + d].iter().zip(&mut mean).for_each(|(&x, sum)| *sum += f64::from(x));
    }
    mean.iter_mut().for_each(|sum| *sum /= count);
    for start in rows() {
        for ((&x, mean), sum) in data[start..start + d].iter().zip(&mean).zip(&mut deviation) {
            *sum += (f64::from(x) - mean).powi(2) / count;
        }
    }
    // A column that is constant over the training nodes is only centered.
    // Rounding gives such a column a deviation of about 10⁻¹⁶ times its mean.
    let factor = |(mean, deviation): (&f64, &f64)| {
        let deviation = deviation.sqrt();
        if deviation > 1e-12 * mean.abs() { 1.0 / deviation } else { 1.0 }
    };
    let factor: Vec<f64> = mean.iter().zip(&deviation).map(factor).collect();
    for row in data.chunks_exact_mut(d) {
        for ((x, mean), factor) in row.iter_mut().zip(&mean).zip(&factor) {
            *x = ((f64::from(*x) - mean) * factor) as Real;
        }
    }
    Features::Dense(Dense::from_parts(n, d, data))
}

/// Selects rows of a matrix.
pub(super) fn select_rows(matrix: &Features, nodes: &[u32]) -> Features {
    match matrix {
        Features::Dense(dense) => {
            let mut data = vec![0.0; nodes.len() * dense.n_cols()];
            rows::gather_rows(dense.n_cols(), dense.data(), nodes, &mut data);
            Features::Dense(Dense::from_parts(nodes.len(), dense.n_cols(), data))
        }
        Features::Sparse(csr) => {
            let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for &node in nodes {
                columns.extend(csr.row(node as usize));
                values.extend(csr.entries(node as usize).map(|(_, x)| x));
                offsets.push(columns.len());
            }
            Features::Sparse(Csr::from_parts(csr.n_cols(), offsets, columns, Some(values)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalizes_rows_and_keeps_zero_rows() {
        let dense = Features::Dense(Dense::from_parts(2, 2, vec![3.0, 4.0, 0.0, 0.0]));
        let sparse = Features::Sparse(Csr::from_parts(2, vec![0, 2, 2], vec![0, 1], Some(vec![3.0, 4.0])));
        for matrix in [dense, sparse] {
            let unit = unit_rows(&matrix).dense_values();
            assert!(unit.iter().zip([0.6, 0.8, 0.0, 0.0]).all(|(x, want)| (x - want).abs() < 1e-6));
        }
    }

    #[test]
    fn constant_columns_are_only_centered() {
        for (rows, value) in [(10, 1.0), (140, 1.0), (7, 0.1), (23, 0.0)] {
            let mut data = vec![value; rows];
            data.push(value + 2.0);
            let matrix = Features::Dense(Dense::from_parts(rows + 1, 1, data));
            let train: Vec<u32> = (0..rows as u32).collect();
            let scaled = EmbeddingNormalization::Zscore.apply(&matrix, &train).dense_values();
            assert!(scaled[..rows].iter().all(|x| x.abs() < 1e-6), "{rows} rows: {scaled:?}");
            assert!((scaled[rows] - 2.0).abs() < 1e-5, "{rows} rows: {}", scaled[rows]);
        }
    }

    #[test]
    fn standardization_uses_training_nodes_only() {
        let matrix = Features::Dense(Dense::from_parts(3, 2, vec![1.0, 5.0, 3.0, 5.0, 100.0, 6.0]));
        let scaled = EmbeddingNormalization::Zscore.apply(&matrix, &[0, 1]).dense_values();
        assert_eq!(scaled, [-1.0, 0.0, 1.0, 0.0, 98.0, 1.0]);
    }
}
