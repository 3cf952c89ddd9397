//! The record of a run, grouped by kind of line.

use crate::error::{Error, Result};
use crate::trace::{BlockLine, Record, RunLine, SealedLine, SenseLine, WarmupLine};

/// The lines of a record by kind.
pub(super) struct RunTrace {
    pub(super) run: RunLine,
    pub(super) warm_up: Vec<WarmupLine>,
    pub(super) sensings: Vec<SenseLine>,
    pub(super) blocks: Vec<BlockLine>,
    /// Index of the objective of each block; `None` if the method mixes gradients.
    pub(super) tasks: Vec<Option<usize>>,
}

impl RunTrace {
    /// Groups the lines of a record.
    pub(super) fn new(lines: Vec<SealedLine>) -> Result<RunTrace> {
        let mut records = lines.into_iter().map(|line| line.record);
        let Some(Record::Run(run)) = records.next() else {
            return Err(Error::value("record", "no header", "a first line of kind run"));
        };
        let (mut warm_up, mut sensings, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        for record in records {
            match record {
                Record::Run(_) | Record::Scheduler(_) | Record::End(_) => {}
                Record::Warmup(line) => warm_up.push(line),
                Record::Sense(line) => sensings.push(*line),
                Record::Block(line) => blocks.push(*line),
            }
        }
        let index = |block: &BlockLine| run.objectives.iter().position(|name| *name == block.task);
        let tasks = blocks.iter().map(index).collect();
        Ok(RunTrace { run: *run, warm_up, sensings, blocks, tasks })
    }

    /// Number of steps in the record, without the warm-up.
    pub(super) fn steps_done(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.step + block.steps)
    }

    /// Recorded time of warm-up, sensing and training in seconds.
    pub(super) fn seconds(&self) -> f64 {
        let warm_up: f64 = self.warm_up.iter().map(|line| line.ms).sum();
        let sensing: f64 = self.sensings.iter().map(|line| line.ms).sum();
        let training: f64 = self.blocks.iter().map(|block| block.ms).sum();
        (warm_up + sensing + training) / 1e3
    }

    /// Number of objectives.
    pub(super) fn n_objectives(&self) -> usize {
        self.run.objectives.len()
    }

    /// Whether the method mixes the gradients of all objectives in every step.
    pub(super) fn mixes_gradients(&self) -> bool {
        self.blocks.first().is_some_and(|block| !block.weight.is_empty())
    }

    /// A quantity per sensing: one series (step, value) per objective.
    pub(super) fn per_sensing(&self, of: impl Fn(&SenseLine) -> &[f64]) -> Vec<Vec<(f64, f64)>> {
        let line = |k: usize| {
            let point = |sensing: &SenseLine| (sensing.step as f64, value_at(of(sensing), k));
            self.sensings.iter().map(point).collect()
        };
        (0..self.n_objectives()).map(line).collect()
    }

    /// A quantity per block: one series (step, value) per objective.
    pub(super) fn per_block(&self, of: impl Fn(&BlockLine) -> &[f64]) -> Vec<Vec<(f64, f64)>> {
        let line = |k: usize| {
            let point = |block: &BlockLine| (block.step as f64, value_at(of(block), k));
            self.blocks.iter().map(point).collect()
        };
        (0..self.n_objectives()).map(line).collect()
    }

    /// Losses of each objective: on the fixed samples if the method senses, otherwise training losses.
    pub(super) fn losses(&self) -> Vec<Vec<(f64, f64)>> {
        let line = |k: usize| -> Vec<(f64, f64)> {
            if !self.sensings.is_empty() {
                let warm = self.warm_up.iter().map(|line| (line.step as f64, value_at(&line.loss, k)));
                let sensed = self.sensings.iter().map(|line| (line.step as f64, value_at(&line.loss, k)));
                return warm.chain(sensed).collect();
            }
            if self.mixes_gradients() {
                return self
                    .blocks
                    .iter()
                    .map(|block| (block.step as f64, value_at(&block.losses, k)))
                    .collect();
            }
            let own = self.blocks.iter().zip(&self.tasks).filter(|(_, task)| **task == Some(k));
            own.map(|(block, _)| (block.step as f64, block.loss)).collect()
        };
        (0..self.n_objectives()).map(line).collect()
    }

    /// Losses of each objective on its held-out samples, from sensings and from the ends of epochs.
    pub(super) fn held_out_losses(&self) -> Vec<Vec<(f64, f64)>> {
        let sensed = self.sensings.iter().map(|line| (line.step, &line.held_out));
        let ends = self.blocks.iter().map(|block| (block.step + block.steps, &block.held_out));
        let mut all: Vec<(u64, &Vec<f64>)> =
            sensed.chain(ends).filter(|(_, loss)| !loss.is_empty()).collect();
        // The end of an epoch and the sensing at the start of the next measure the same.
        all.sort_by_key(|(step, _)| *step);
        all.dedup_by_key(|(step, _)| *step);
        let line = |k: usize| all.iter().map(|(step, loss)| (*step as f64, value_at(loss, k))).collect();
        (0..self.n_objectives()).map(line).collect()
    }

    /// Share of each objective in the last `window` blocks, at every block.
    pub(super) fn recent_shares(&self, window: usize) -> Vec<Vec<(f64, f64)>> {
        let mut shares = vec![Vec::with_capacity(self.blocks.len()); self.n_objectives()];
        let mut counts = vec![0_usize; self.n_objectives()];
        for (at, block) in self.blocks.iter().enumerate() {
            if let Some(task) = self.tasks[at] {
                counts[task] += 1;
            }
            if at >= window
                && let Some(task) = self.tasks[at - window]
            {
                counts[task] -= 1;
            }
            let seen = (at + 1).min(window) as f64;
            for (line, count) in shares.iter_mut().zip(&counts) {
                line.push((block.step as f64, *count as f64 / seen));
            }
        }
        shares
    }

    /// Histogram of the number of blocks between two blocks of the same objective.
    pub(super) fn wait_counts(&self) -> Vec<usize> {
        let mut waits = Vec::new();
        for k in 0..self.n_objectives() {
            let mut last = None;
            for (at, task) in self.tasks.iter().enumerate() {
                if *task == Some(k) {
                    let wait = last.map_or(0, |last: usize| at - last - 1);
                    if last.is_some() {
                        if waits.len() <= wait {
                            waits.resize(wait + 1, 0);
                        }
                        waits[wait] += 1;
                    }
                    last = Some(at);
                }
            }
        }
        waits
    }
}

/// The k-th value; NaN if there is none.
pub(super) fn value_at(values: &[f64], k: usize) -> f64 {
    values.get(k).copied().unwrap_or(f64::NAN)
}
