//! Column sums at memory bandwidth: rows are read in order and added to f32 accumulators that stay in the L1 cache. Every few
//! rows, the accumulators are added to f64 totals.

use crate::Real;

/// Rows summed in f32 before they are added to the totals; few enough to keep the rounding error small.
pub(crate) const ROWS: usize = 16;
/// Columns per block.
const WIDTH: usize = 512;

/// What a row adds to S sums per column.
pub(crate) trait AddRow<const S: usize> {
    /// Adds row i to the accumulators `sums[s]`, which stand for the columns `at..at + sums[s].len()`. It must be
    /// `#[inline(always)]`: a function that is not inlined into the loop is compiled for the baseline CPU.
    fn add(&mut self, i: usize, at: usize, sums: [&mut [Real]; S]);
}

struct Closure<F>(F);

impl<const S: usize, F: FnMut(usize, usize, [&mut [Real]; S])> AddRow<S> for Closure<F> {
    #[inline(always)]
    fn add(&mut self, i: usize, at: usize, sums: [&mut [Real]; S]) {
        (self.0)(i, at, sums);
    }
}

/// [`sum_rows_of`] for a closure. The compiler inlines it unless it is large.
#[inline(always)]
pub(crate) fn sum_rows<const S: usize>(
    rows: usize,
    cols: usize,
    totals: &mut [f64],
    row: impl FnMut(usize, usize, [&mut [Real]; S]),
) {
    sum_rows_of(rows, cols, totals, Closure(row));
}

/// Adds every row and block of columns to S accumulators; their totals go to `totals[s * cols..]`. Call it within `simd!`,
/// where it is inlined.
#[inline(always)]
pub(crate) fn sum_rows_of<const S: usize>(
    rows: usize,
    cols: usize,
    totals: &mut [f64],
    mut row: impl AddRow<S>,
) {
    // Aligned, so that no vector spans two cache lines.
    #[repr(align(64))]
    struct AlignedSums<const S: usize>([[Real; WIDTH]; S]);
    let AlignedSums(lines) = &mut AlignedSums([[0.0; WIDTH]; S]);
    for at in (0..cols).step_by(WIDTH) {
        let width = WIDTH.min(cols - at);
        for first in (0..rows).step_by(ROWS) {
            lines.iter_mut().for_each(|line| line[..width].fill(0.0));
            for i in first..rows.min(first + ROWS) {
                row.add(i, at, lines.each_mut().map(|line| &mut line[..width]));
            }
            for (s, line) in lines.iter().enumerate() {
                let totals = &mut totals[s * cols + at..][..width];
                totals.iter_mut().zip(line).for_each(|(total, &sum)| *total += f64::from(sum));
            }
        }
    }
}
