//! Column sums at the speed of memory: blocks of rows that stay in the L1 cache, taken a strip of columns at a
//! time, so that a strip's sums stay in registers and meet their f64 totals once for the whole block.

use crate::Real;
use std::ops::Range;

/// Rows of a block.
const ROWS: usize = 8;

/// Work on `N` columns, from column `at` on, of a few rows.
pub(crate) trait Strip {
    /// Does it.
    fn run<const N: usize>(&mut self, rows: Range<usize>, at: usize);
}

/// Runs the strip over all blocks of rows and all columns. To be called within `simd!`, where it is inlined.
#[inline(always)]
pub(crate) fn in_strips(rows: usize, cols: usize, mut strip: impl Strip) {
    for first in (0..rows).step_by(ROWS) {
        let block = first..rows.min(first + ROWS);
        let mut at = 0;
        while cols - at >= 32 {
            strip.run::<32>(block.clone(), at);
            at += 32;
        }
        while cols - at >= 8 {
            strip.run::<8>(block.clone(), at);
            at += 8;
        }
        while at < cols {
            strip.run::<1>(block.clone(), at);
            at += 1;
        }
    }
}

/// Adds the sums of a block to their totals.
#[inline(always)]
pub(crate) fn add_to<const N: usize>(totals: &mut [f64], sums: &[Real; N]) {
    totals[..N].iter_mut().zip(sums).for_each(|(total, &sum)| *total += f64::from(sum));
}
