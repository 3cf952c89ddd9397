//! Column sums at the speed of memory: rows are read in order, added to lines of `Real` that stay in the L1 cache,
//! and every few rows the lines are added to their f64 totals.

use crate::Real;

/// Rows added up before the totals are touched: few, so that f32 loses nothing that matters.
pub(crate) const ROWS: usize = 16;
/// Columns of a line.
const WIDTH: usize = 512;

/// Calls `row(i, at, lines)` for every row and adds up what it adds to the lines: line s stands for columns
/// `at..at + lines[s].len()`, and its totals are `totals[s * cols..]`. To be called within `simd!`, where it is
/// inlined.
#[inline(always)]
pub(crate) fn sum_rows<const S: usize>(
    rows: usize,
    cols: usize,
    totals: &mut [f64],
    mut row: impl FnMut(usize, usize, [&mut [Real]; S]),
) {
    let mut lines = [[0.0; WIDTH]; S];
    for at in (0..cols).step_by(WIDTH) {
        let width = WIDTH.min(cols - at);
        for first in (0..rows).step_by(ROWS) {
            lines.iter_mut().for_each(|line| line[..width].fill(0.0));
            for i in first..rows.min(first + ROWS) {
                row(i, at, lines.each_mut().map(|line| &mut line[..width]));
            }
            for (s, line) in lines.iter().enumerate() {
                let totals = &mut totals[s * cols + at..][..width];
                totals.iter_mut().zip(line).for_each(|(total, &sum)| *total += f64::from(sum));
            }
        }
    }
}
