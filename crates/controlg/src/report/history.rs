//! The record, sorted by what figures want of it.

use crate::error::{Error, Result};
use crate::trace::{BlockLine, Record, RunLine, SealedLine, SenseLine, WarmupLine};

/// A run as its record tells it.
pub(super) struct History {
    pub(super) run: RunLine,
    pub(super) warm_up: Vec<WarmupLine>,
    pub(super) sensings: Vec<SenseLine>,
    pub(super) blocks: Vec<BlockLine>,
    /// The objective of each block by its place; none where all are mixed.
    pub(super) tasks: Vec<Option<usize>>,
}

impl History {
    /// Sorts the lines of a record.
    pub(super) fn new(lines: Vec<SealedLine>) -> Result<History> {
        let mut records = lines.into_iter().map(|line| line.record);
        let Some(Record::Run(run)) = records.next() else {
            return Err(Error::value("the record", "no header", "a first line of kind run"));
        };
        let (mut warm_up, mut sensings, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        for record in records {
            match record {
                Record::Run(_) | Record::Scheduler(_) => {}
                Record::Warmup(line) => warm_up.push(line),
                Record::Sense(line) => sensings.push(*line),
                Record::Block(line) => blocks.push(*line),
            }
        }
        let place = |block: &BlockLine| run.objectives.iter().position(|name| *name == block.task);
        let tasks = blocks.iter().map(place).collect();
        Ok(History { run: *run, warm_up, sensings, blocks, tasks })
    }

    /// How many objectives there are.
    pub(super) fn k(&self) -> usize {
        self.run.objectives.len()
    }

    /// Whether every step takes all objectives.
    pub(super) fn mixes(&self) -> bool {
        self.blocks.first().is_some_and(|block| !block.weight.is_empty())
    }

    /// A figure of every sensing, one line an objective: (step, value).
    pub(super) fn sensed(&self, of: impl Fn(&SenseLine) -> &[f64]) -> Vec<Vec<(f64, f64)>> {
        let line = |k: usize| {
            let point = |sensing: &SenseLine| (sensing.step as f64, at(of(sensing), k));
            self.sensings.iter().map(point).collect()
        };
        (0..self.k()).map(line).collect()
    }

    /// A figure of every block, one line an objective: (step, value).
    pub(super) fn decided(&self, of: impl Fn(&BlockLine) -> &[f64]) -> Vec<Vec<(f64, f64)>> {
        let line = |k: usize| {
            let point = |block: &BlockLine| (block.step as f64, at(of(block), k));
            self.blocks.iter().map(point).collect()
        };
        (0..self.k()).map(line).collect()
    }

    /// The losses of each objective as they were measured: on frozen samples where the method senses, else on what it was
    /// trained with.
    pub(super) fn losses(&self) -> Vec<Vec<(f64, f64)>> {
        let line = |k: usize| -> Vec<(f64, f64)> {
            if !self.sensings.is_empty() {
                let warm = self.warm_up.iter().map(|line| (line.step as f64, at(&line.loss, k)));
                let sensed = self.sensings.iter().map(|line| (line.step as f64, at(&line.loss, k)));
                return warm.chain(sensed).collect();
            }
            if self.mixes() {
                return self.blocks.iter().map(|block| (block.step as f64, at(&block.losses, k))).collect();
            }
            let own = self.blocks.iter().zip(&self.tasks).filter(|(_, task)| **task == Some(k));
            own.map(|(block, _)| (block.step as f64, block.loss)).collect()
        };
        (0..self.k()).map(line).collect()
    }

    /// The share of each objective among the last `window` blocks, at every block.
    pub(super) fn recent_shares(&self, window: usize) -> Vec<Vec<(f64, f64)>> {
        let mut shares = vec![Vec::with_capacity(self.blocks.len()); self.k()];
        let mut counts = vec![0_usize; self.k()];
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

    /// Blocks between two turns of an objective: how often each length of waiting came about.
    pub(super) fn waits(&self) -> Vec<usize> {
        let mut waits = Vec::new();
        for k in 0..self.k() {
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

/// The k-th of some values; NaN where there are fewer.
pub(super) fn at(values: &[f64], k: usize) -> f64 {
    values.get(k).copied().unwrap_or(f64::NAN)
}
