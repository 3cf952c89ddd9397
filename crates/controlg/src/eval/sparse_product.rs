//! Products and concatenations of sparse matrices.

use rayon::prelude::*;

use crate::Real;
use crate::graph::{Csr, Dense, Features};

/// Product A·B of two sparse matrices.
pub(super) fn sparse_product(a: &Csr, b: &Csr) -> Csr {
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

/// Matrices with equal numbers of rows side by side; sparse if that takes less memory.
pub(super) fn side_by_side<const B: usize>(blocks: [Features; B]) -> Features {
    let n = blocks[0].n_rows();
    let d: usize = blocks.iter().map(Features::n_cols).sum();
    let nonzeros: usize = blocks.iter().map(Features::n_nonzeros).sum();
    if 2 * nonzeros >= n * d {
        let mut data = vec![0.0; n * d];
        data.par_chunks_mut(d).enumerate().for_each(|(row, to)| {
            let mut first = 0;
            for block in &blocks {
                match block {
                    Features::Dense(dense) => {
                        to[first..first + dense.n_cols()].copy_from_slice(dense.row(row));
                    }
                    Features::Sparse(csr) => {
                        csr.entries(row).for_each(|(column, x)| to[first + column as usize] = x);
                    }
                }
                first += block.n_cols();
            }
        });
        return Features::Dense(Dense::from_parts(n, d, data));
    }
    let (mut offsets, mut columns, mut values) =
        (vec![0], Vec::with_capacity(nonzeros), Vec::with_capacity(nonzeros));
    for row in 0..n {
        let mut first = 0;
        for block in &blocks {
            let mut push = |column: u32, x: Real| {
                columns.push(first + column);
                values.push(x);
            };
            match block {
                Features::Dense(dense) => {
                    let row = (0..).zip(dense.row(row));
                    row.filter(|(_, x)| **x != 0.0).for_each(|(column, &x)| push(column, x));
                }
                Features::Sparse(csr) => csr.entries(row).for_each(|(column, x)| push(column, x)),
            }
            first += block.n_cols() as u32;
        }
        offsets.push(columns.len());
    }
    Features::Sparse(Csr::from_parts(d, offsets, columns, Some(values)))
}
