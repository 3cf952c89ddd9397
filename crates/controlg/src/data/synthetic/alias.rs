//! Constant-time sampling from a discrete distribution (Walker's alias method, built as by Vose).

use crate::rng::Stream;

/// A distribution over 0..n.
pub(super) struct AliasTable {
    /// For each slot: the probability of returning the slot itself, and the alternative.
    slots: Vec<(f32, u32)>,
}

impl AliasTable {
    /// The distribution proportional to `weights`, which must be positive and not empty.
    pub(super) fn new(weights: &[f64]) -> Self {
        let n = weights.len();
        let mean = weights.iter().sum::<f64>() / n as f64;
        let mut scaled: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let mut slots = vec![(1.0, 0); n];
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| scaled[i] < 1.0);
        while let (Some(&little), Some(&much)) = (small.last(), large.last()) {
            small.pop();
            slots[little] = (scaled[little] as f32, much as u32);
            scaled[much] -= 1.0 - scaled[little];
            if scaled[much] < 1.0 {
                large.pop();
                small.push(much);
            }
        }
        AliasTable { slots }
    }

    /// Draws a sample.
    pub(super) fn sample(&self, stream: &mut Stream) -> usize {
        let slot = stream.below(self.slots.len());
        let (probability, other) = self.slots[slot];
        if (stream.uniform() as f32) < probability { slot } else { other as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_the_weights() {
        let (weights, mut stream) = ([1.0, 2.0, 0.5, 6.5], Stream::new(0, "test", "alias", 0));
        let alias = AliasTable::new(&weights);
        let mut counts = [0.0; 4];
        for _ in 0..100_000 {
            counts[alias.sample(&mut stream)] += 1.0;
        }
        for (count, weight) in counts.iter().zip(weights) {
            assert!((count / 100_000.0 - weight / 10.0).abs() < 0.01, "{counts:?}");
        }
    }
}
