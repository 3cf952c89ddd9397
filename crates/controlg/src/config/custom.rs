//! Encoders, objectives and coordinators of the user's own.

use std::fmt;
use std::sync::Arc;

use super::resolve::single_objectives;
use crate::coordinator::{Coordinator, CoordinatorFactory, METHODS};
use crate::encoder::{ENCODERS, Encoder};
use crate::error::{Error, Result};
use crate::objective::Objective;

/// Implementations of your own beside the built-in lists, each under the name that the run file gives it.
///
/// They have no settings in the run file: whatever configures them is part of the value. Their names must differ from
/// the built-in ones.
#[derive(Clone, Default)]
pub struct Custom {
    encoders: Vec<(String, Arc<dyn Encoder>)>,
    objectives: Vec<(String, Box<dyn Objective>)>,
    coordinators: Vec<(String, Arc<CoordinatorFactory>)>,
}

impl Custom {
    /// Adds an encoder, to be selected by `encoder.kind`.
    pub fn add_encoder(&mut self, name: impl Into<String>, encoder: impl Encoder + 'static) {
        self.encoders.push((name.into(), Arc::new(encoder)));
    }

    /// Adds an objective, to be listed in `objectives` or named as the method.
    pub fn add_objective(&mut self, name: impl Into<String>, objective: impl Objective + 'static) {
        self.add_boxed_objective(name, Box::new(objective));
    }

    /// Adds a boxed objective.
    pub fn add_boxed_objective(&mut self, name: impl Into<String>, objective: Box<dyn Objective>) {
        self.objectives.push((name.into(), objective));
    }

    /// Adds a coordinator, to be selected by `method`. The factory gets the names of the objectives; a run builds the
    /// coordinator more than once, for example to plan its steps.
    pub fn add_coordinator<C: Coordinator + 'static>(
        &mut self,
        name: impl Into<String>,
        factory: impl Fn(&[String]) -> C + Send + Sync + 'static,
    ) {
        let boxed = move |objectives: &[String]| -> Box<dyn Coordinator> { Box::new(factory(objectives)) };
        self.coordinators.push((name.into(), Arc::new(boxed)));
    }

    /// Rejects names that are taken by built-in implementations.
    pub(super) fn check(&self) -> Result<()> {
        let methods = || METHODS.iter().map(|method| method.name).chain(single_objectives());
        let encoders = ENCODERS.iter().map(|entry| entry.name);
        check_names("encoder", &self.encoders, encoders)?;
        check_names("objective", &self.objectives, methods())?;
        check_names("coordinator", &self.coordinators, methods())
    }

    pub(super) fn encoder(&self, name: &str) -> Option<Arc<dyn Encoder>> {
        find(&self.encoders, name).cloned()
    }

    pub(super) fn objective(&self, name: &str) -> Option<&dyn Objective> {
        find(&self.objectives, name).map(|objective| &**objective)
    }

    pub(super) fn objectives(&self) -> &[(String, Box<dyn Objective>)] {
        &self.objectives
    }

    pub(super) fn coordinator(&self, name: &str) -> Option<Arc<CoordinatorFactory>> {
        find(&self.coordinators, name).cloned()
    }
}

/// The value added last under that name.
fn find<'a, T>(list: &'a [(String, T)], name: &str) -> Option<&'a T> {
    list.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn check_names<'a, T>(
    what: &str,
    list: &[(String, T)],
    mut built_in: impl Iterator<Item = &'a str>,
) -> Result<()> {
    match built_in.find(|taken| list.iter().any(|(name, _)| name == taken)) {
        Some(taken) => {
            Err(Error::value(format_args!("custom {what}"), taken, "a name that no built-in one has"))
        }
        None => Ok(()),
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn names<T>(list: &[(String, T)]) -> Vec<&String> {
            list.iter().map(|(name, _)| name).collect()
        }
        f.debug_struct("Custom")
            .field("encoders", &names(&self.encoders))
            .field("objectives", &names(&self.objectives))
            .field("coordinators", &names(&self.coordinators))
            .finish()
    }
}
