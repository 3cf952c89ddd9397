//! Smoothed representations Z + Âⁿ·Z, with the GCN operator Â of the graph, whatever the encoder uses.
//!
//! This is how GGD (Zheng et al., Rethinking and scaling up graph contrastive learning, NeurIPS 2022) reads embeddings out.
//! Large graphs are smoothed block by block. A row is summed in the same order, so the bytes are the same.

use std::ops::Range;
use std::path::Path;

use super::{Adjacency, LazyOperator, Operator, OperatorRows, OperatorSpec};
use crate::Real;
use crate::error::Result;
use crate::kernels::spmm;
use crate::rowfile::{RowSink, SpilledMatrix};

/// How representations are smoothed.
#[derive(Clone, Copy)]
pub(crate) struct Smoothing<'g> {
    /// The edges.
    pub(crate) adjacency: &'g Adjacency,
    /// Number n of products with Â; 0 leaves the representations as they are.
    pub(crate) steps: usize,
    /// Number of columns.
    pub(crate) width: usize,
}

/// Rows per block, at most; wider rows have smaller blocks.
const BLOCK_ROWS: usize = 16_384;
/// Numbers in a block.
const BLOCK_NUMBERS: usize = 1 << 21;

impl Smoothing<'_> {
    /// Smooths all rows in place.
    pub(crate) fn smooth(&self, z: &mut [Real]) {
        if self.steps == 0 {
            return;
        }
        let operator = Operator::gcn(self.adjacency);
        let mut next = vec![0.0; z.len()];
        spmm::spmm(operator.forward(), z, self.width, &mut next, false);
        if self.steps > 1 {
            let mut h = next.clone();
            for _ in 1..self.steps {
                std::mem::swap(&mut h, &mut next);
                spmm::spmm(operator.forward(), &h, self.width, &mut next, false);
            }
        }
        add(z, &next);
    }

    /// Smooths the rows that `make` produces block by block, and passes them on. Up to three n × width matrices are spilled
    /// to `folder`.
    pub(crate) fn in_blocks<T>(
        &self,
        folder: &Path,
        rows: &mut RowSink<'_>,
        make: impl FnOnce(&mut dyn FnMut(&[Real]) -> Result<()>) -> Result<T>,
    ) -> Result<T> {
        if self.steps == 0 {
            return make(rows);
        }
        let mut z = SpilledMatrix::new(folder, "embedding", self.width)?;
        let made = make(&mut |block| z.append(block))?;
        let z = z.end()?;
        let mut operator = LazyOperator::new(self.adjacency, OperatorSpec::GCN);
        let mut h: Option<SpilledMatrix> = None;
        for step in 1..=self.steps {
            let last = step == self.steps;
            let mut next = SpilledMatrix::new(folder, "smoothed", self.width)?;
            for block in self.blocks() {
                let product = self.product(operator.rows(block.clone()), h.as_ref().unwrap_or(&z))?;
                if last {
                    let nodes: Vec<u32> = (block.start as u32..block.end as u32).collect();
                    let mut own = z.read(&nodes)?;
                    add(&mut own, &product);
                    rows(&own)?;
                } else {
                    next.append(&product)?;
                }
            }
            if !last {
                h = Some(next.end()?);
            }
        }
        Ok(made)
    }

    /// Some rows of Â·H.
    fn product(&self, rows: OperatorRows, h: &SpilledMatrix) -> Result<Vec<Real>> {
        let reached = h.read(&rows.reached)?;
        let mut product = vec![0.0; rows.own.len() * self.width];
        spmm::spmm(rows.operator.forward(), &reached, self.width, &mut product, false);
        Ok(product)
    }

    fn blocks(&self) -> Vec<Range<usize>> {
        let n = self.adjacency.n_rows();
        let rows = (BLOCK_NUMBERS / self.width.max(1)).clamp(1, BLOCK_ROWS);
        (0..n).step_by(rows).map(|start| start..n.min(start + rows)).collect()
    }

    /// Bytes that [`Smoothing::smooth`] needs besides the representations: two matrices of their size, the operator and what
    /// the product packs.
    pub(crate) fn bytes_in_memory(&self) -> usize {
        if self.steps == 0 {
            return 0;
        }
        let (n, entries) = (self.adjacency.n_rows(), self.adjacency.n_entries() + self.adjacency.n_rows());
        let operator = entries * (size_of::<u32>() + size_of::<Real>()) + n * size_of::<usize>();
        let packed: usize = spmm::scratch_lens(self.adjacency.sparse(), self.width).iter().sum();
        let matrices = if self.steps > 1 { 2 } else { 1 };
        operator + (matrices * n * self.width + packed) * size_of::<Real>()
    }

    /// Bytes that [`Smoothing::in_blocks`] needs, from the sizes of some of its blocks.
    pub(crate) fn bytes_in_blocks(&self) -> usize {
        const BLOCKS: usize = 8;
        if self.steps == 0 {
            return 0;
        }
        let mut operator = LazyOperator::new(self.adjacency, OperatorSpec::GCN);
        let blocks = self.blocks();
        let some = blocks.iter().step_by(blocks.len().div_ceil(BLOCKS).max(1));
        let bytes = some.map(|block| {
            let rows = operator.rows(block.clone());
            let numbers = (rows.reached.len() + 2 * block.len()) * self.width;
            rows.operator.memory_bytes() + numbers * size_of::<Real>()
        });
        let most = bytes.max().unwrap_or(0);
        most + self.adjacency.n_rows() * (size_of::<f64>() + size_of::<u32>())
    }
}

/// z += h.
fn add(z: &mut [Real], h: &[Real]) {
    z.iter_mut().zip(h).for_each(|(z, h)| *z += h);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::EdgeList;
    use crate::rng::Stream;

    const WIDTH: usize = 5;

    /// A random graph with weights, and representations of its nodes.
    fn example(n: usize, edges: usize) -> (Adjacency, Vec<Real>) {
        let mut stream = Stream::new(4, "test", "smooth", 0);
        let pairs = (0..edges).map(|_| (stream.below(n) as u32, stream.below(n) as u32));
        let pairs: Vec<(u32, u32)> = pairs.filter(|(a, b)| a != b).collect();
        let weights = pairs.iter().map(|_| 0.1 + stream.below(100) as Real / 50.0).collect();
        let adjacency = EdgeList { pairs, weights: Some(weights) }.into_adjacency(n).unwrap().0;
        let z = (0..n * WIDTH).map(|_| stream.normal() as Real).collect();
        (adjacency, z)
    }

    /// Z + Âⁿ·Z by dense loops, with Â from its definition.
    fn reference(adjacency: &Adjacency, z: &[Real], steps: usize) -> Vec<f64> {
        let n = adjacency.n_rows();
        let mut a = vec![vec![0.0; n]; n];
        for (row, to) in a.iter_mut().enumerate() {
            adjacency.entries(row).for_each(|(column, weight)| to[column as usize] = f64::from(weight));
            to[row] += 1.0;
        }
        let degree: Vec<f64> = a.iter().map(|row| row.iter().sum()).collect();
        let z: Vec<f64> = z.iter().map(|x| f64::from(*x)).collect();
        let mut h = z.clone();
        for _ in 0..steps {
            let at = |row: usize, column: usize| -> f64 {
                let term = |k: usize| a[row][k] / (degree[row] * degree[k]).sqrt() * h[k * WIDTH + column];
                (0..n).map(term).sum()
            };
            h = (0..n * WIDTH).map(|place| at(place / WIDTH, place % WIDTH)).collect();
        }
        z.iter().zip(&h).map(|(z, h)| z + h).collect()
    }

    #[test]
    fn equals_a_dense_computation() {
        let (adjacency, z) = example(40, 90);
        for steps in [1, 2, 5] {
            let mut smoothed = z.clone();
            Smoothing { adjacency: &adjacency, steps, width: WIDTH }.smooth(&mut smoothed);
            for (found, expected) in smoothed.iter().zip(reference(&adjacency, &z, steps)) {
                assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
        let mut same = z.clone();
        Smoothing { adjacency: &adjacency, steps: 0, width: WIDTH }.smooth(&mut same);
        assert_eq!(same, z);
    }

    #[test]
    fn blocks_give_the_bytes_of_the_whole() {
        let (adjacency, z) = example(40_000, 90_000);
        let folder = tempfile::tempdir().unwrap();
        for steps in [0, 1, 3] {
            let smoothing = Smoothing { adjacency: &adjacency, steps, width: WIDTH };
            assert!(smoothing.blocks().len() > 2);
            let collect = |in_blocks: bool| {
                let mut all = Vec::new();
                let mut rows = |block: &[Real]| {
                    all.extend_from_slice(block);
                    Ok(())
                };
                let make =
                    |rows: &mut dyn FnMut(&[Real]) -> Result<()>| z.chunks(7 * WIDTH).try_for_each(rows);
                if in_blocks {
                    smoothing.in_blocks(folder.path(), &mut rows, make).unwrap();
                } else {
                    all = z.clone();
                    smoothing.smooth(&mut all);
                }
                all
            };
            assert!(collect(true) == collect(false), "{steps} steps");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "temporary files are removed");
    }
}
