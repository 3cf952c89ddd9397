//! Trains the objectives in turn. A single objective gets every block.

use super::{Coordinator, Decision, from_json, to_json};
use crate::error::Result;

/// Round-robin scheduling.
pub(super) struct RoundRobin {
    pub(super) n_objectives: usize,
    pub(super) blocks: u64,
}

impl Coordinator for RoundRobin {
    fn next(&mut self) -> Decision {
        let objective = (self.blocks % self.n_objectives as u64) as usize;
        self.blocks += 1;
        Decision { objective, ..Decision::default() }
    }

    fn save(&self) -> Result<String> {
        to_json(&self.blocks)
    }

    fn restore(&mut self, saved: &str) -> Result<()> {
        self.blocks = from_json(saved)?;
        Ok(())
    }
}
