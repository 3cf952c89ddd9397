//! The feedback loop of the paper: sense, plan, control.
//!
//! [`Scheduler`] combines the three. It works on plain numbers, so it fits into any training loop:
//!
//! ```
//! use controlg::coordinator::{Reading, Scheduler, SchedulerSettings};
//!
//! let mut scheduler = Scheduler::new(vec!["contrast".into(), "rebuild".into()], SchedulerSettings::default())?;
//! scheduler.warm_up(&[2.0, 1.0]); // losses before training, then after a few steps of each objective
//! scheduler.warm_up(&[1.8, 0.9]);
//! for _block in 0..100 {
//!     if scheduler.sensing_due() {
//!         // losses, inner products of the objectives' gradients, Rayleigh quotients
//!         let products = vec![vec![1.0, -0.2], vec![-0.2, 0.5]];
//!         scheduler.sense(&Reading::from_products(vec![1.5, 0.8], &products, vec![0.4, 0.9]));
//!     }
//!     let objective = scheduler.next().objective; // train this one for a block
//! #   assert!(objective < 2);
//! }
//! # Ok::<(), controlg::Error>(())
//! ```

mod control;
mod gain;
mod plan;
mod sense;

pub use control::{ControlMode, ControlSettings, Decision, Gain, IntegralRule, Tracking};
pub use plan::{GainWeights, Plan, PlanMode, PlanSettings, plan};
pub use sense::{
    HeldOutReading, LoopState, Reading, RelationWeights, SenseSettings, Sensed, robust_norm, sense,
};

use gain::GainState;

use serde::{Deserialize, Serialize};

use super::{Coordinator, Sensing, from_json, to_json};
use crate::error::{Error, Result};
use crate::rng::Stream;
use crate::setting::{self, Key, Range};

/// All settings of the feedback loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SchedulerSettings {
    /// Random seed of the schedule.
    pub seed: u64,
    /// Blocks per epoch; counts and integrals are reset at the start of each epoch.
    pub blocks_per_epoch: usize,
    /// How measurements update the state.
    pub sense: SenseSettings,
    /// How the state determines the shares.
    pub plan: PlanSettings,
    /// How decisions track the shares.
    pub control: ControlSettings,
}

impl Default for SchedulerSettings {
    fn default() -> Self {
        SchedulerSettings {
            seed: 0,
            blocks_per_epoch: 50,
            sense: SenseSettings::default(),
            plan: PlanSettings::default(),
            control: ControlSettings::default(),
        }
    }
}

impl SchedulerSettings {
    /// The top-level settings.
    const KEYS: &[Key] = &[
        Key::new("seed", Range::Whole(0, i64::MAX as u64), "random seed of the schedule"),
        Key::new(
            "blocks_per_epoch",
            Range::Whole(1, 1_000_000),
            "blocks per epoch, after which counts are reset",
        ),
    ];

    /// Reads settings from a table with the run file's tables `sense`, `plan` and `control`. Missing settings take their
    /// defaults.
    pub fn from_table(mut table: toml::Table) -> Result<SchedulerSettings> {
        let mut take = |name: &str| match table.remove(name) {
            Some(toml::Value::Table(table)) => Ok(table),
            Some(other) => Err(Error::value(name, other, format_args!("a table [{name}]"))),
            None => Ok(toml::Table::new()),
        };
        let (sense, plan, control) = (take("sense")?, take("plan")?, take("control")?);
        let SchedulerKeys { seed, blocks_per_epoch } = setting::settings("", SchedulerSettings::KEYS, table)?;
        Ok(SchedulerSettings {
            seed,
            blocks_per_epoch,
            sense: setting::settings("sense", SenseSettings::KEYS, sense)?,
            plan: setting::settings("plan", PlanSettings::KEYS, plan)?,
            control: setting::settings("control", ControlSettings::KEYS, control)?,
        })
    }

    /// Checks all settings for this number of objectives.
    pub fn check(&self, n_objectives: usize) -> Result<()> {
        let SchedulerSettings { blocks_per_epoch, sense, plan, control, .. } = self;
        if *blocks_per_epoch == 0 {
            return Err(Error::value("blocks_per_epoch", 0, "at least 1"));
        }
        setting::check("sense", SenseSettings::KEYS, sense)?;
        setting::check("plan", PlanSettings::KEYS, plan)?;
        setting::check("control", ControlSettings::KEYS, control)?;
        if sense.difficulty_min > sense.difficulty_max {
            let expected = format!("at most difficulty_max, {}", sense.difficulty_max);
            return Err(Error::value("sense.difficulty_min", sense.difficulty_min, expected));
        }
        for (key, gain) in
            [("control.kp", &control.kp), ("control.ki", &control.ki), ("control.kd", &control.kd)]
        {
            if let Gain::Each(gains) = gain
                && gains.len() != n_objectives
            {
                let expected = format!("one number, or {n_objectives}, one for each objective");
                return Err(Error::value(key, format_args!("{} numbers", gains.len()), expected));
            }
        }
        // A single objective gets every block, whatever its floor.
        let most = if n_objectives == 1 { f64::INFINITY } else { 1.0 / n_objectives as f64 };
        if !(0.0..most).contains(&plan.floor) {
            let expected = format!(
                "less than 1/{n_objectives} = {most:.4} for {n_objectives} objectives, and not negative"
            );
            return Err(Error::value("plan.floor", plan.floor, expected));
        }
        Ok(())
    }
}

/// The top-level settings.
#[derive(Serialize, Deserialize)]
#[serde(default)]
struct SchedulerKeys {
    seed: u64,
    blocks_per_epoch: usize,
}

impl Default for SchedulerKeys {
    fn default() -> Self {
        let SchedulerSettings { seed, blocks_per_epoch, .. } = SchedulerSettings::default();
        SchedulerKeys { seed, blocks_per_epoch }
    }
}

/// The feedback loop with its state: decides which objective to train next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scheduler {
    #[serde(rename = "tasks")] // kept from version 0.1: stored in checkpoints
    objectives: Vec<String>,
    settings: SchedulerSettings,
    state: LoopState,
    shares: Vec<f64>,
    tracking: Tracking,
    /// Blocks decided so far, over all epochs.
    blocks: u64,
    warmed_up: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gain: Option<GainState>,
    /// Whether plans come with the log-hypervolume. Checkpoints from before it was recorded continue without it.
    #[serde(default)]
    with_log_hv: bool,
}

impl Scheduler {
    /// Creates a scheduler for objectives of these names.
    pub fn new(objectives: Vec<String>, settings: SchedulerSettings) -> Result<Self> {
        let k = objectives.len();
        if k == 0 {
            return Err(Error::value("objectives", "none", "at least one"));
        }
        settings.check(k)?;
        let state = LoopState {
            difficulty: vec![settings.sense.difficulty_min; k],
            loss_norm: vec![1.0; k],
            loss_scale: vec![1.0; k],
            reference: vec![1.0 + settings.plan.delta; k],
        };
        let shares = vec![1.0 / k as f64; k];
        Ok(Scheduler {
            objectives,
            settings,
            state,
            shares,
            tracking: Tracking::new(k),
            blocks: 0,
            warmed_up: false,
            gain: None,
            with_log_hv: true,
        })
    }

    /// Takes the losses of one warm-up round. The first round sets the scale of each loss, so that normalized losses start
    /// at 1; the reference point is set above the largest loss of all rounds.
    pub fn warm_up(&mut self, losses: &[f64]) {
        assert_eq!(losses.len(), self.objectives.len(), "one loss per objective");
        for (k, &loss) in losses.iter().enumerate() {
            if !self.warmed_up {
                self.state.loss_scale[k] = loss.abs().max(1e-8);
            }
            let normalized = loss / (self.state.loss_scale[k] + sense::SCALE_EPSILON);
            self.state.loss_norm[k] = normalized;
            let reference = normalized + self.settings.plan.delta;
            let highest = if self.warmed_up { self.state.reference[k] } else { f64::NEG_INFINITY };
            self.state.reference[k] = highest.max(reference);
        }
        self.warmed_up = true;
    }

    /// Whether a sensing is due before the next block.
    pub fn sensing_due(&self) -> bool {
        let block = self.blocks as usize % self.settings.blocks_per_epoch;
        self.settings.plan.mode != PlanMode::Uniform && block.is_multiple_of(self.settings.sense.period)
    }

    /// Updates the state from a reading and makes a new plan. Without a warm-up, the losses of the first reading set the
    /// scale. Planning by expected gain needs a reading of held-out samples; without one all shares are equal.
    pub fn sense(&mut self, reading: &Reading) -> (Sensed, Plan) {
        if !self.warmed_up {
            self.warm_up(&reading.loss);
        }
        let sensed = sense(reading, &mut self.state, &self.settings.sense);
        let mut planned = plan(&mut self.state, &self.settings.plan);
        planned.log_hv = planned.log_hv.filter(|_| self.with_log_hv);
        if let (PlanMode::Gain, Some(held_out)) = (self.settings.plan.mode, &reading.held_out) {
            planned = gain::replan(&mut self.gain, held_out, planned, &self.settings.plan);
        }
        self.shares.clone_from(&planned.plan);
        (sensed, planned)
    }

    /// Chooses the objective of the next block. Counts are reset every `blocks_per_epoch` blocks.
    #[allow(clippy::should_implement_trait)] // an endless stream of decisions, not a collection
    pub fn next(&mut self) -> Decision {
        if (self.blocks as usize).is_multiple_of(self.settings.blocks_per_epoch) {
            self.tracking = Tracking::new(self.objectives.len());
        }
        let draw = Stream::new(self.settings.seed, "schedule", "", self.blocks).uniform();
        self.blocks += 1;
        let decision = self.tracking.decide(&self.shares, draw, &self.settings.control);
        if let Some(gain) = &mut self.gain {
            gain.count(decision.objective);
        }
        decision
    }

    /// The names of the objectives.
    pub fn objectives(&self) -> &[String] {
        &self.objectives
    }

    /// The state of the objectives.
    pub fn state(&self) -> &LoopState {
        &self.state
    }

    /// The planned shares.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }
}

impl Coordinator for Scheduler {
    fn needs_warm_up(&self) -> bool {
        // Equal shares need no reference point.
        self.settings.plan.mode != PlanMode::Uniform
    }

    fn warm_up(&mut self, losses: &[f64]) {
        Scheduler::warm_up(self, losses);
    }

    fn needs_reading(&self) -> bool {
        self.sensing_due()
    }

    fn needs_held_out(&self) -> bool {
        self.settings.plan.mode == PlanMode::Gain
    }

    fn sense(&mut self, reading: &Reading) -> Option<Sensing> {
        let (sensed, plan) = Scheduler::sense(self, reading);
        Some(Sensing { sensed, state: self.state.clone(), plan })
    }

    fn next(&mut self) -> Decision {
        Scheduler::next(self)
    }

    fn save(&self) -> Result<String> {
        to_json(self)
    }

    fn restore(&mut self, saved: &str) -> Result<()> {
        *self = from_json(saved)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(k: usize) -> Vec<String> {
        (0..k).map(|k| format!("objective {k}")).collect()
    }

    fn reading(block: usize) -> Reading {
        let x = (block as f64 * 0.37).sin();
        let products = vec![vec![1.0, 0.5 * x, -0.2], vec![0.5 * x, 2.0, 0.1], vec![-0.2, 0.1, 0.7]];
        Reading::from_products(
            vec![1.0 + 0.1 * x, 0.8, 0.5 - 0.2 * x],
            &products,
            vec![0.3, 1.0 + x / 2.0, 1.4],
        )
    }

    fn drive(scheduler: &mut Scheduler, blocks: usize) -> Vec<usize> {
        (0..blocks)
            .map(|block| {
                if scheduler.sensing_due() {
                    scheduler.sense(&reading(block));
                }
                scheduler.next().objective
            })
            .collect()
    }

    #[test]
    fn the_same_readings_and_seed_give_the_same_schedule_also_after_saving() {
        let mut whole = Scheduler::new(names(3), SchedulerSettings::default()).unwrap();
        whole.warm_up(&[1.0, 1.0, 1.0]);
        let mut first = whole.clone();
        let expected = drive(&mut whole, 120);
        assert_eq!(drive(&mut first, 70), expected[..70]);
        let saved = serde_json::to_string(&first).unwrap();
        let mut second: Scheduler = serde_json::from_str(&saved).unwrap();
        assert_eq!(second, first);
        let rest: Vec<usize> = (70..120)
            .map(|block| {
                if second.sensing_due() {
                    second.sense(&reading(block));
                }
                second.next().objective
            })
            .collect();
        assert_eq!(rest, expected[70..]);
    }

    #[test]
    fn warm_up_sets_scale_and_reference() {
        let mut scheduler = Scheduler::new(names(2), SchedulerSettings::default()).unwrap();
        scheduler.warm_up(&[4.0, 10.0]);
        scheduler.warm_up(&[2.0, 15.0]);
        let state = scheduler.state();
        assert_eq!(state.loss_scale, [4.0, 10.0]);
        for (found, expected) in state.loss_norm.iter().zip([0.5, 1.5]) {
            assert!((found - expected).abs() < 1e-9);
        }
        for (found, expected) in state.reference.iter().zip([1.1, 1.6]) {
            assert!((found - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn a_single_objective_gets_every_block_and_bad_settings_are_named() {
        let mut single = Scheduler::new(names(1), SchedulerSettings::default()).unwrap();
        single.sense(&Reading::from_products(vec![1.0], &[vec![0.0]], vec![0.0]));
        assert_eq!(single.next().objective, 0);
        assert!((single.shares()[0] - 1.0).abs() < 1e-12);

        let rejected = |change: fn(&mut SchedulerSettings)| {
            let mut settings = SchedulerSettings::default();
            change(&mut settings);
            Scheduler::new(names(5), settings).unwrap_err().to_string()
        };
        assert!(
            rejected(|s| s.plan.floor = 0.2).starts_with("plan.floor: found 0.2, expected less than 1/5")
        );
        assert!(rejected(|s| s.control.explore = 1.5).starts_with("control.explore: found 1.5"));
        assert!(rejected(|s| s.control.kp = Gain::Each(vec![1.0])).contains("one number, or 5"));
        assert!(rejected(|s| s.sense.period = 0).starts_with("sense.period: found 0"));
        assert!(rejected(|s| s.sense.rho = f64::NAN).starts_with("sense.rho: found nan"));
    }
}
