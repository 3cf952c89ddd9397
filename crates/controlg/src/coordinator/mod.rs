//! Methods that decide how several objectives train one encoder. They work on plain numbers: losses, inner products of
//! gradients, counts.
//!
//! [`METHODS`] lists them all. A [`Coordinator`] assigns each block of steps to one objective. [`Scheduler`], in
//! `feedback/`, is the feedback loop of the paper; it also works in your own training loop. Ablations are the same loop
//! with a part switched off. A [`Mixer`] combines the gradients of all objectives at every step; each has a file in
//! `mix/`.

mod feedback;
mod flat;
mod method;
pub mod min_norm;
mod mix;
mod random;
mod round_robin;

pub use feedback::*;
pub use flat::FlatWatch;
pub use method::{METHODS, Method, UNTRAINED};
pub(crate) use mix::cma;
pub use mix::{
    ClusterVariance, Lookahead, MixWeights, Mixer, MixerContext, MixerFactory, MixerInput, MixerNeeds,
    NodeEmbeddings, WeightBounds, WeightSearch,
};

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Schedules objectives: decides which one each block of steps trains.
pub trait Coordinator: Send {
    /// Whether it needs a warm-up: rounds of one step per objective, whose losses it sees before the first decision.
    fn needs_warm_up(&self) -> bool {
        false
    }

    /// Takes the losses of one warm-up round.
    fn warm_up(&mut self, _losses: &[f64]) {}

    /// Whether it needs a reading before the next decision.
    fn needs_reading(&self) -> bool {
        false
    }

    /// Whether readings must include held-out samples; see [`Reading::held_out`].
    fn needs_held_out(&self) -> bool {
        false
    }

    /// Takes a reading; returns what it derived from it, for the record.
    fn sense(&mut self, _reading: &Reading) -> Option<Sensing> {
        None
    }

    /// Chooses the objective of the next block.
    fn next(&mut self) -> Decision;

    /// Saves its state as JSON.
    fn save(&self) -> Result<String>;

    /// Restores the state that [`Coordinator::save`] returned.
    fn restore(&mut self, saved: &str) -> Result<()>;
}

/// Builds a coordinator for the objectives of these names.
pub type CoordinatorFactory = dyn Fn(&[String]) -> Box<dyn Coordinator> + Send + Sync;

/// A method in use.
pub enum ActiveMethod {
    /// Trains one objective per block.
    Schedule(Box<dyn Coordinator>),
    /// Trains all objectives at every step.
    Mix(Box<dyn Mixer>),
}

impl ActiveMethod {
    /// Whether it needs a warm-up; see [`Coordinator::needs_warm_up`].
    pub fn needs_warm_up(&self) -> bool {
        matches!(self, ActiveMethod::Schedule(coordinator) if coordinator.needs_warm_up())
    }
}

/// What the feedback loop derived from a reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sensing {
    /// Min-norm weights, conflicts and robust scores.
    #[serde(flatten)]
    pub sensed: Sensed,
    /// The state after the update.
    #[serde(flatten)]
    pub state: LoopState,
    /// The new plan.
    #[serde(flatten)]
    pub plan: Plan,
}

fn to_json(state: &impl Serialize) -> Result<String> {
    serde_json::to_string(state).map_err(|error| crate::Error::Failed(error.to_string()))
}

fn from_json<'de, T: Deserialize<'de>>(saved: &'de str) -> Result<T> {
    serde_json::from_str(saved)
        .map_err(|error| crate::Error::value("scheduler state", error, "a state that this version saved"))
}
