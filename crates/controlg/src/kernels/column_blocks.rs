//! Copying blocks of columns between matrices: concatenation and slicing.

use super::parallel::{chunk_rows, each_chunk};
use super::rows::add_chunk;
use crate::Real;

/// A block of consecutive columns of a row-major matrix.
#[derive(Clone, Copy, Debug)]
pub struct ColumnBlock {
    /// Columns of the matrix.
    pub cols: usize,
    /// The first column of the block.
    pub start: usize,
}

/// Copies `width` columns from one matrix to another, or adds them with `add`.
pub fn copy_columns(
    width: usize,
    from: ColumnBlock,
    x: &[Real],
    to: ColumnBlock,
    out: &mut [Real],
    add: bool,
) {
    assert!(from.start + width <= from.cols && to.start + width <= to.cols);
    if width == 0 {
        return;
    }
    assert_eq!(x.len() / from.cols, out.len() / to.cols);
    let step = chunk_rows(to.cols);
    each_chunk(out, step * to.cols, |start, out| {
        let x = &x[start / to.cols * from.cols..];
        for (out, x) in out.chunks_exact_mut(to.cols).zip(x.chunks_exact(from.cols)) {
            let (out, x) = (&mut out[to.start..to.start + width], &x[from.start..from.start + width]);
            if add { add_chunk(1.0, x, out) } else { out.copy_from_slice(x) }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_copied_or_added_in_place() {
        let x: Vec<Real> = (0..12).map(|value| value as Real).collect();
        let mut out = vec![100.0; 8];
        let (from, to) = (ColumnBlock { cols: 3, start: 1 }, ColumnBlock { cols: 2, start: 0 });
        copy_columns(2, from, &x, to, &mut out, false);
        assert_eq!(out, [1.0, 2.0, 4.0, 5.0, 7.0, 8.0, 10.0, 11.0]);
        copy_columns(1, from, &x, ColumnBlock { cols: 2, start: 1 }, &mut out, true);
        assert_eq!(out, [1.0, 3.0, 4.0, 9.0, 7.0, 15.0, 10.0, 21.0]);
    }
}
