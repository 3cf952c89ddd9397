//! The method of a run, ready to be built.

use std::fmt;
use std::sync::Arc;

use super::Config;
use super::custom::Custom;
use super::resolve::single_objectives;
use crate::coordinator::{
    ActiveMethod, Coordinator, CoordinatorFactory, Method, Mixer, MixerContext, SchedulerSettings,
};
use crate::error::Result;

/// Where a run's method comes from.
#[derive(Clone)]
pub(super) enum MethodSource {
    Listed(Method),
    Custom(Arc<CoordinatorFactory>),
}

impl MethodSource {
    pub(super) fn find(name: &str, custom: &Custom) -> Result<MethodSource> {
        if let Some(factory) = custom.coordinator(name) {
            return Ok(MethodSource::Custom(factory));
        }
        if custom.objective(name).is_some() {
            return Ok(MethodSource::Listed(Method::single("custom objective")));
        }
        Method::find(name, &single_objectives()).map(MethodSource::Listed)
    }

    /// The method, unless it is the user's own.
    pub(super) fn listed(&self) -> Option<&Method> {
        match self {
            MethodSource::Listed(method) => Some(method),
            MethodSource::Custom(_) => None,
        }
    }
}

impl fmt::Debug for MethodSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.listed().map_or("custom", |method| method.name))
    }
}

/// Configs are compared by the method's name, which is a field of its own.
impl PartialEq for MethodSource {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Config {
    /// Builds the method in its initial state.
    pub fn build_method(&self) -> Result<ActiveMethod> {
        match self.build_mixer() {
            Some(mixer) => Ok(ActiveMethod::Mix(mixer)),
            None => self.build_coordinator().map(ActiveMethod::Schedule),
        }
    }

    /// The settings of the feedback loop.
    pub fn scheduler(&self) -> SchedulerSettings {
        SchedulerSettings {
            seed: self.seed,
            blocks_per_epoch: self.train.blocks_per_epoch(),
            sense: self.sense.clone(),
            plan: self.plan.clone(),
            control: self.control.clone(),
        }
    }

    /// Whether the feedback loop schedules, complete or ablated.
    pub fn is_feedback_loop(&self) -> bool {
        self.method_source.listed().is_some_and(Method::is_feedback_loop)
    }

    pub(super) fn build_mixer(&self) -> Option<Box<dyn Mixer>> {
        let context = MixerContext {
            n_objectives: self.objectives.len(),
            seed: self.seed,
            lr: self.train.lr,
            width: self.encoder.width(),
        };
        self.mix.values().next().map(|factory| factory(&context))
    }

    fn build_coordinator(&self) -> Result<Box<dyn Coordinator>> {
        match &self.method_source {
            MethodSource::Custom(factory) => Ok(factory(&self.objectives)),
            MethodSource::Listed(method) => method.coordinator(&self.objectives, &self.scheduler()),
        }
    }

    /// Whether the method starts with a warm-up.
    pub(super) fn warms_up(&self) -> bool {
        self.mix.is_empty() && self.build_coordinator().is_ok_and(|coordinator| coordinator.needs_warm_up())
    }

    /// Whether the method senses losses and gradients.
    pub(super) fn senses(&self) -> bool {
        self.mix.is_empty() && self.build_coordinator().is_ok_and(|coordinator| coordinator.needs_reading())
    }

    /// Whether sensings include held-out samples.
    pub(crate) fn senses_held_out(&self) -> bool {
        self.mix.is_empty() && self.build_coordinator().is_ok_and(|coordinator| coordinator.needs_held_out())
    }
}
