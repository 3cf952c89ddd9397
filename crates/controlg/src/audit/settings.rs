//! The settings that a record must follow: those of a run, or of a recorded scheduler.

use crate::config::Config;
use crate::coordinator::{ActiveMethod, Coordinator, FlatWatch, Scheduler, SchedulerSettings, WeightBounds};
use crate::error::Result;
use crate::trace::{BlockLine, SchedulerLine};

/// The method that decided.
pub(super) enum AuditedMethod {
    Schedule(Box<dyn Coordinator>),
    Mix(WeightBounds),
}

/// The settings that a record must follow.
pub(super) struct AuditSettings {
    pub(super) method: String,
    pub(super) objectives: Vec<String>,
    pub(super) scheduler: SchedulerSettings,
    /// The settings of a run; `None` for a recorded scheduler, whose warm-up and blocks may have any length.
    run: Option<Config>,
}

impl AuditSettings {
    /// The settings of a run, and its method.
    pub(super) fn of_run(config: Config) -> Result<(AuditSettings, AuditedMethod)> {
        let method = match config.build_method()? {
            ActiveMethod::Schedule(coordinator) => AuditedMethod::Schedule(coordinator),
            ActiveMethod::Mix(mixer) => AuditedMethod::Mix(mixer.weight_bounds()),
        };
        let audited = AuditSettings {
            method: config.method.clone(),
            objectives: config.objectives.clone(),
            scheduler: config.scheduler(),
            run: Some(config),
        };
        Ok((audited, method))
    }

    /// The settings of a recorded scheduler, and its method.
    pub(super) fn of_scheduler(header: &SchedulerLine) -> Result<(AuditSettings, AuditedMethod)> {
        let SchedulerLine { objectives, settings, .. } = header.clone();
        let scheduler = Scheduler::new(objectives.clone(), settings.clone())?;
        let audited =
            AuditSettings { method: "controlg".to_owned(), objectives, scheduler: settings, run: None };
        Ok((audited, AuditedMethod::Schedule(Box::new(scheduler))))
    }

    /// Number of objectives.
    pub(super) fn k(&self) -> usize {
        self.objectives.len()
    }

    /// Blocks per epoch.
    pub(super) fn blocks_per_epoch(&self) -> usize {
        self.scheduler.blocks_per_epoch
    }

    /// Warm-up rounds with training steps, which one round without steps follows; `None` if any number is allowed.
    pub(super) fn warm_up_rounds(&self) -> Option<usize> {
        self.run.as_ref().map(|config| config.train.warmup_rounds)
    }

    /// Steps of a warm-up round. Those of a recorded scheduler are not counted.
    pub(super) fn steps_of_round(&self, round: usize) -> u64 {
        match self.warm_up_rounds() {
            Some(rounds) if round < rounds => self.k() as u64,
            _ => 0,
        }
    }

    /// Whether the run ends after this many steps.
    pub(super) fn ended(&self, steps: u64) -> bool {
        steps >= self.total_steps().unwrap_or(u64::MAX)
    }

    /// Steps of the whole run, if known.
    pub(super) fn total_steps(&self) -> Option<u64> {
        self.run.as_ref().map(Config::total_steps)
    }

    /// Steps that a block must have after `done` steps. A recorded scheduler may choose any positive number.
    pub(super) fn steps_of_block(&self, found: &BlockLine, done: u64) -> u64 {
        match &self.run {
            Some(config) => config.steps_of_block(found.block, done),
            None => found.steps.max(1),
        }
    }

    /// Whether held-out losses are measured after each epoch.
    pub(super) fn holds_out(&self) -> bool {
        self.run.as_ref().is_some_and(|config| config.sense.held_out > 0.0)
    }

    /// Whether the quality of the embeddings is measured after each epoch.
    pub(super) fn measures_quality(&self) -> bool {
        self.run.as_ref().is_some_and(|config| config.train.quality)
    }

    /// Whether the run ends because its held-out losses have stopped falling.
    pub(super) fn is_flat(&self, watch: &FlatWatch) -> bool {
        self.run.as_ref().is_some_and(|config| watch.stops_after(config.train.stop_when_flat))
    }

    /// Whether block lines contain a loss.
    pub(super) fn knows_loss(&self) -> bool {
        self.run.is_some()
    }
}
