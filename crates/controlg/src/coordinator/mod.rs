//! Who learns next, decided from numbers alone: losses, gradient geometry, counts.
//!
//! [`METHODS`] lists the ways to decide. A [`Coordinator`] gives each block to one objective. The loop of the paper is
//! in `feedback/`: [`Scheduler`] is that loop for people who keep their own training loop; the ablations are the same
//! loop with a part switched off. A [`Mixer`] takes all objectives at every step and weighs their gradients; these are
//! in `mix/`, one file each.

mod feedback;
mod method;
pub mod min_norm;
mod mix;
mod random;
mod round_robin;

pub use feedback::*;
pub use method::{METHODS, Method, UNTRAINED};
pub(crate) use mix::cma;
pub use mix::{
    Lookahead, MixWeights, Mixer, MixerContext, MixerFactory, MixerInput, MixerNeeds, NodeEmbeddings, WeightSearch,
    WeightBounds,
};

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// A way to decide.
pub trait Coordinator: Send {
    /// Whether it wants the objectives' losses from a few rounds of one step each before the first decision.
    fn needs_warm_up(&self) -> bool {
        false
    }

    /// Takes the losses of one such round.
    fn warm_up(&mut self, _losses: &[f64]) {}

    /// Whether the next decision wants a reading.
    fn needs_reading(&self) -> bool {
        false
    }

    /// Takes a reading, and tells what was made of it.
    fn sense(&mut self, _reading: &Reading) -> Option<Sensing> {
        None
    }

    /// The objective of the next block, and how it was chosen.
    fn next(&mut self) -> Decision;

    /// Everything it remembers, as JSON.
    fn save(&self) -> Result<String>;

    /// Takes over what [`Coordinator::save`] gave.
    fn restore(&mut self, saved: &str) -> Result<()>;
}

/// Builds a coordinator for the objectives of these names.
pub type CoordinatorFactory = dyn Fn(&[String]) -> Box<dyn Coordinator> + Send + Sync;

/// A method at work.
pub enum ActiveMethod {
    /// Each block goes to one objective.
    Schedule(Box<dyn Coordinator>),
    /// Every step takes all of them.
    Mix(Box<dyn Mixer>),
}

impl ActiveMethod {
    /// Whether it wants losses before the first decision; see [`Coordinator::needs_warm_up`].
    pub fn needs_warm_up(&self) -> bool {
        matches!(self, ActiveMethod::Schedule(coordinator) if coordinator.needs_warm_up())
    }
}

/// What was made of a reading: the sensed figures, the state after them and the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sensing {
    /// Weights, conflicts, normalized scores.
    #[serde(flatten)]
    pub sensed: Sensed,
    /// Difficulties, normalized losses, scales, reference points.
    #[serde(flatten)]
    pub state: LoopState,
    /// Sensitivities, priorities, shares.
    #[serde(flatten)]
    pub plan: Plan,
}

/// Writes down and takes over what a coordinator remembers.
fn to_json(state: &impl Serialize) -> Result<String> {
    serde_json::to_string(state).map_err(|error| crate::Error::Failed(error.to_string()))
}

fn from_json<'de, T: Deserialize<'de>>(saved: &'de str) -> Result<T> {
    serde_json::from_str(saved)
        .map_err(|error| crate::Error::value("scheduler state", error, "what this version saved"))
}
