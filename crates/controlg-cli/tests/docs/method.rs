//! A scheduling method: random permutations of the objectives.

use controlg::Result;
use controlg::coordinator::{Coordinator, Decision};
use controlg::rng::Stream;

/// Trains every objective once, in random order, then draws the next order.
pub(crate) struct Shuffled {
    n_objectives: usize,
    seed: u64,
    /// Blocks decided so far.
    blocks: u64,
}

impl Shuffled {
    pub(crate) fn new(n_objectives: usize, seed: u64) -> Self {
        Shuffled { n_objectives, seed, blocks: 0 }
    }
}

impl Coordinator for Shuffled {
    fn next(&mut self) -> Decision {
        let n = self.n_objectives;
        let (round, place) = (self.blocks / n as u64, self.blocks % n as u64);
        // A stream depends only on its name and number: nothing else has to be saved.
        let order = Stream::new(self.seed, "schedule", "shuffled", round).sample(n, n);
        self.blocks += 1;
        Decision { objective: order[place as usize] as usize, ..Decision::default() }
    }

    fn save(&self) -> Result<String> {
        Ok(self.blocks.to_string())
    }

    fn restore(&mut self, saved: &str) -> Result<()> {
        self.blocks =
            saved.parse().map_err(|_| controlg::Error::value("state", saved, "a number of blocks"))?;
        Ok(())
    }
}
