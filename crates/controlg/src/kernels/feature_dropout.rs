//! Dropout of feature entries without a stored mask.
//!
//! Whether an entry is kept is a hash of its row and column. Forward pass, backward pass and the transposed matrix therefore
//! agree, and no mask of the size of the features is needed.

use super::parallel::each_chunk;
use crate::Real;

/// Which entries are kept: each independently, with the same probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureDropout {
    key: u64,
    /// An entry is kept if its hash is at least this.
    threshold: u64,
    transposed: bool,
}

impl FeatureDropout {
    /// Drops entries with probability `rate`, which must be below 1. Different keys drop different entries.
    pub fn new(rate: f64, key: u64) -> Self {
        assert!((0.0..1.0).contains(&rate), "a dropout rate in [0, 1), not {rate}");
        FeatureDropout { key, threshold: (rate * 2f64.powi(64)) as u64, transposed: false }
    }

    /// The same dropout for the transposed matrix.
    #[must_use]
    pub fn transposed(self) -> Self {
        FeatureDropout { transposed: !self.transposed, ..self }
    }

    /// Whether an entry is kept.
    #[inline]
    pub fn keeps(&self, row: usize, column: usize) -> bool {
        let (row, column) = if self.transposed { (column, row) } else { (row, column) };
        // SplitMix64 of the entry and the key.
        let mut x =
            self.key.wrapping_add(((row as u64) << 32 | column as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31 >= self.threshold
    }

    /// The factor 1/(1 − rate) of the kept entries, which preserves the expected value.
    pub fn factor(&self) -> Real {
        (2f64.powi(64) / (2f64.powi(64) - self.threshold as f64)) as Real
    }

    /// Copies a row-major matrix and sets the dropped entries to zero.
    pub fn apply(&self, cols: usize, x: &[Real], out: &mut [Real]) {
        assert!(x.len() == out.len() && cols > 0);
        each_chunk(out, cols, |start, out| {
            for (column, (out, &x)) in out.iter_mut().zip(&x[start..]).enumerate() {
                *out = if self.keeps(start / cols, column) { x } else { 0.0 };
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_dropped_independently_at_the_given_rate() {
        let (rows, cols) = (400, 500);
        for (rate, key) in [(0.2, 0), (0.2, 1), (0.75, 1), (0.0, 3)] {
            let dropout = FeatureDropout::new(rate, key);
            let share = |hits: usize, of: usize| hits as f64 / of as f64 - (1.0 - rate);
            let bound = |of: usize| 5.0 * (rate * (1.0 - rate) / of as f64).sqrt() + 1e-12;
            let kept = |row: usize| (0..cols).filter(|&column| dropout.keeps(row, column)).count();
            let all: usize = (0..rows).map(kept).sum();
            assert!(share(all, rows * cols).abs() < bound(rows * cols), "{rate}: {all}");
            assert!((0..rows).all(|row| share(kept(row), cols).abs() < bound(cols)));
            let both = |row: usize| {
                (1..cols).filter(|&c| dropout.keeps(row, c) && dropout.keeps(row, c - 1)).count()
            };
            let pairs: usize = (0..rows).map(both).sum();
            let expected = (1.0 - rate).powi(2);
            assert!((pairs as f64 / (rows * (cols - 1)) as f64 - expected).abs() < 0.01, "{rate}: {pairs}");
            assert!((f64::from(dropout.factor()) * (1.0 - rate) - 1.0).abs() < 1e-6);
        }
        let [one, other] = [0, 1].map(|key| FeatureDropout::new(0.5, key));
        let same = (0..cols).filter(|&c| one.keeps(0, c) == other.keeps(0, c)).count();
        assert!((180..320).contains(&same), "two keys agree on {same} of {cols} entries");
        assert!((0..cols).all(|c| one.keeps(7, c) == one.transposed().keeps(c, 7)));
    }
}
