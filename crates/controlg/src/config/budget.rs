//! The length of a run: steps, blocks, evaluations of objectives.

use super::{BatchMode, Config, TrainSettings};
use crate::coordinator::UNTRAINED;

impl Config {
    /// The number of training steps.
    pub fn total_steps(&self) -> u64 {
        if self.method == UNTRAINED { 0 } else { self.train.total_steps() }
    }

    /// The number of steps in a block, counted from 1 within its epoch, after `done` steps of the run. The last block of
    /// an epoch and of the run may be shorter.
    pub fn steps_of_block(&self, block: usize, done: u64) -> u64 {
        let TrainSettings { batches_per_epoch, block: block_steps, .. } = self.train;
        let left_in_epoch = (batches_per_epoch - (block - 1) * block_steps) as u64;
        (block_steps as u64).min(left_in_epoch).min(self.total_steps() - done)
    }

    /// The number of objective evaluations in the whole run, with or without gradients: one per step, or one per
    /// objective and step for a method that mixes; plus one per objective in every warm-up round, every sensing (two if it
    /// includes held-out samples), every measurement of held-out losses and every step of a weight search. The extra
    /// encoder passes of `was` (one per step, without gradients) and `autossl` (one every `meta_every` steps) evaluate no
    /// objective and do not count.
    pub fn evaluations(&self) -> u64 {
        self.evaluations_with(1.0)
    }

    /// [`Config::evaluations`] on a graph of this size, where a sensing on a subgraph counts by its share of the nodes.
    pub fn evaluations_on(&self, n_nodes: usize) -> u64 {
        self.evaluations_with(self.sensed_share(n_nodes))
    }

    /// The share of the nodes of a step that a sensing sees; 1 with mini-batches, which are smaller than the graph too.
    pub fn sensed_share(&self, n_nodes: usize) -> f64 {
        let whole = n_nodes <= self.sense.whole_up_to || self.train.batch.on(n_nodes) != BatchMode::Full;
        let sensed = if whole { n_nodes } else { self.sense.probe_nodes.min(n_nodes) };
        sensed as f64 / n_nodes.max(1) as f64
    }

    /// Evaluations, where the sensing of an objective counts as a share of one.
    fn evaluations_with(&self, sensed_share: f64) -> u64 {
        let (steps, k) = (self.total_steps(), self.objectives.len() as u64);
        if let Some(mixer) = self.build_mixer() {
            let search = mixer.weight_search().map_or(0, |search| search.total_steps());
            let measured = k * self.held_out_measurements();
            return steps.saturating_add(search).saturating_mul(k).saturating_add(measured);
        }
        let rounds = if self.warms_up() { self.train.warmup_rounds as u64 + 1 } else { 0 };
        let per_sensing = if self.senses_held_out() { 2 } else { 1 };
        let sensed = (k * per_sensing * self.sensings()) as f64 * sensed_share;
        steps + k * (rounds + self.held_out_measurements()) + sensed.ceil() as u64
    }

    /// How often the held-out losses are measured apart from sensings: after every epoch.
    fn held_out_measurements(&self) -> u64 {
        let scheduled = self.total_steps() - self.warm_up_steps();
        let epochs = scheduled.div_ceil(self.train.batches_per_epoch as u64);
        if self.sense.held_out > 0.0 { epochs } else { 0 }
    }

    /// The number of sensings in the whole run; zero for a method that does not sense.
    pub fn sensings(&self) -> u64 {
        if !self.senses() {
            return 0;
        }
        let TrainSettings { batches_per_epoch, block, .. } = self.train;
        let sensings_in = |steps: u64| steps.div_ceil(block as u64).div_ceil(self.sense.period as u64);
        let (scheduled, epoch) = (self.total_steps() - self.warm_up_steps(), batches_per_epoch as u64);
        scheduled / epoch * sensings_in(epoch) + sensings_in(scheduled % epoch)
    }

    /// The number of training steps spent in the warm-up; zero for a method without one.
    pub fn warm_up_steps(&self) -> u64 {
        let rounds = if self.warms_up() { self.train.warmup_rounds } else { 0 };
        rounds as u64 * self.objectives.len() as u64
    }
}
