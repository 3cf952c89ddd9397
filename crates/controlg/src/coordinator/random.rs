//! Trains an objective drawn uniformly at random in each block.

use super::{Coordinator, Decision, from_json, to_json};
use crate::error::Result;
use crate::rng::Stream;

/// Uniform random scheduling.
pub(super) struct Random {
    pub(super) n_objectives: usize,
    pub(super) seed: u64,
    pub(super) blocks: u64,
}

impl Coordinator for Random {
    fn next(&mut self) -> Decision {
        let draw = Stream::new(self.seed, "schedule", "", self.blocks).uniform();
        self.blocks += 1;
        Decision::sampled(vec![1.0 / self.n_objectives as f64; self.n_objectives], draw)
    }

    fn save(&self) -> Result<String> {
        to_json(&self.blocks)
    }

    fn restore(&mut self, saved: &str) -> Result<()> {
        self.blocks = from_json(saved)?;
        Ok(())
    }
}
