//! What a record is judged by: the settings of a run, or of a scheduler in somebody's own loop.

use super::AuditedMethod;
use crate::config::Config;
use crate::coordinator::{ActiveMethod, Scheduler, SchedulerSettings};
use crate::error::Result;
use crate::trace::{BlockLine, SchedulerLine};

/// The settings that a record has to follow.
pub(super) struct Terms {
    pub(super) method: String,
    pub(super) objectives: Vec<String>,
    pub(super) settings: SchedulerSettings,
    /// Of a run of ours. Nobody has promised how long somebody's own loop warms up and trains.
    run: Option<Config>,
}

impl Terms {
    /// Of a run, and who decides in it.
    pub(super) fn of_run(config: Config) -> Result<(Terms, AuditedMethod)> {
        let method = match config.build_method()? {
            ActiveMethod::Schedule(coordinator) => AuditedMethod::Schedule(coordinator),
            ActiveMethod::Mix(mixer) => AuditedMethod::Mix(mixer.weight_bounds()),
        };
        let terms = Terms {
            method: config.method.clone(),
            objectives: config.objectives.clone(),
            settings: config.scheduler(),
            run: Some(config),
        };
        Ok((terms, method))
    }

    /// Of somebody's own loop, and who decides in it.
    pub(super) fn of_loop(header: &SchedulerLine) -> Result<(Terms, AuditedMethod)> {
        let SchedulerLine { objectives, settings, .. } = header.clone();
        let scheduler = Scheduler::new(objectives.clone(), settings.clone())?;
        let terms = Terms { method: "controlg".to_owned(), objectives, settings, run: None };
        Ok((terms, AuditedMethod::Schedule(Box::new(scheduler))))
    }

    /// How many objectives there are.
    pub(super) fn k(&self) -> usize {
        self.objectives.len()
    }

    /// Blocks of an epoch.
    pub(super) fn blocks_per_epoch(&self) -> usize {
        self.settings.blocks_per_epoch
    }

    /// Rounds of warm-up with steps, after which there is one without; nothing where any number will do.
    pub(super) fn warm_up_rounds(&self) -> Option<usize> {
        self.run.as_ref().map(|config| config.train.warmup_rounds)
    }

    /// Steps of that round of the warm-up. In somebody's own loop they are not counted.
    pub(super) fn steps_of_round(&self, round: usize) -> u64 {
        match self.warm_up_rounds() {
            Some(rounds) if round < rounds => self.k() as u64,
            _ => 0,
        }
    }

    /// Whether there is nothing to do after this many steps.
    pub(super) fn ended(&self, steps: u64) -> bool {
        steps >= self.total_steps().unwrap_or(u64::MAX)
    }

    /// Steps of the whole, where they are known.
    pub(super) fn total_steps(&self) -> Option<u64> {
        self.run.as_ref().map(Config::total_steps)
    }

    /// Steps that a block must have after `done` ones. Somebody's own loop may choose, but takes one at least.
    pub(super) fn steps_of_block(&self, found: &BlockLine, done: u64) -> u64 {
        match &self.run {
            Some(config) => config.steps_of_block(found.block, done),
            None => found.steps.max(1),
        }
    }

    /// Whether a block's loss stands in its line.
    pub(super) fn knows_loss(&self) -> bool {
        self.run.is_some()
    }
}
