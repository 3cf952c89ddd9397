//! The objectives take turns in their fixed order. An objective alone takes every turn.

use super::{Coordinator, Decision, from_json, to_json};
use crate::error::Result;

/// Counts blocks.
pub(super) struct RoundRobin {
    pub(super) n_objectives: usize,
    pub(super) blocks: u64,
}

impl Coordinator for RoundRobin {
    fn next(&mut self) -> Decision {
        let task = (self.blocks % self.n_objectives as u64) as usize;
        self.blocks += 1;
        Decision { task, ..Decision::default() }
    }

    fn save(&self) -> Result<String> {
        to_json(&self.blocks)
    }

    fn restore(&mut self, saved: &str) -> Result<()> {
        self.blocks = from_json(saved)?;
        Ok(())
    }
}
