//! The list of ways to decide.

use super::random::Random;
use super::round_robin::RoundRobin;
use super::{ControlMode, Coordinator, PlanMode, Scheduler, Settings};
use crate::error::{Error, Result};
use crate::registry::Summary;

type Build = fn(Vec<String>, &Settings) -> Result<Box<dyn Coordinator>>;

/// One named way to share the blocks among the objectives.
pub struct Method {
    /// The name users type.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Where it comes from; empty for our own.
    pub paper: &'static str,
    /// What it changes in the settings, whatever the run file says.
    pub adjust: fn(&mut Settings),
    build: Build,
}

const PAPER: &str = "ControlG";

/// The method that takes no step: the encoder as it was initialised.
pub const UNTRAINED: &str = "untrained";

/// All methods, but for the objectives alone, which go by the objectives' names.
pub const METHODS: &[Method] = &[
    Method {
        name: "controlg",
        summary: "sense difficulty and conflict, plan shares, track them with a PID controller",
        paper: PAPER,
        adjust: |_| {},
        build: feedback,
    },
    Method {
        name: "random",
        summary: "every block a uniform draw",
        paper: "",
        adjust: |_| {},
        build: |tasks, settings| {
            Ok(Box::new(Random { n_tasks: tasks.len(), seed: settings.seed, blocks: 0 }))
        },
    },
    Method {
        name: "round-robin",
        summary: "the objectives take turns",
        paper: "",
        adjust: |_| {},
        build: turns,
    },
    Method {
        name: "controlg-no-spectral",
        summary: "controlg without the Rayleigh quotient in the difficulty",
        paper: PAPER,
        adjust: |settings| settings.sense.alpha = 0.0,
        build: feedback,
    },
    Method {
        name: "controlg-no-interference",
        summary: "controlg without the conflict in the difficulty",
        paper: PAPER,
        adjust: |settings| settings.sense.beta = 0.0,
        build: feedback,
    },
    Method {
        name: "controlg-no-planner",
        summary: "controlg with equal shares, tracked by its controller",
        paper: PAPER,
        adjust: |settings| settings.plan.mode = PlanMode::Uniform,
        build: feedback,
    },
    Method {
        name: "controlg-no-controller",
        summary: "controlg with independent draws from its plan",
        paper: PAPER,
        adjust: |settings| settings.control.mode = ControlMode::Draw,
        build: feedback,
    },
    Method {
        name: "controlg-no-state",
        summary: "controlg without any difficulty: shares from the log-hypervolume alone",
        paper: PAPER,
        adjust: |settings| (settings.sense.alpha, settings.sense.beta) = (0.0, 0.0),
        build: feedback,
    },
    Method {
        name: "controlg-max-deficit",
        summary: "controlg that always serves the objective furthest behind its plan",
        paper: PAPER,
        adjust: |settings| settings.control.mode = ControlMode::MaxDeficit,
        build: feedback,
    },
    Method {
        name: UNTRAINED,
        summary: "no step at all: the encoder as it was initialised",
        paper: "",
        adjust: |_| {},
        build: turns,
    },
];

impl Method {
    /// The method of that name; an objective's name is the objective alone, which takes every turn.
    pub fn find(name: &str, objectives: &[&'static str]) -> Result<Method> {
        if let Some(method) = METHODS.iter().find(|method| method.name == name) {
            return Ok(Method { ..*method });
        }
        match objectives.iter().find(|objective| **objective == name) {
            Some(alone) => Ok(Method {
                name: alone,
                summary: "this objective alone",
                paper: "",
                adjust: |_| {},
                build: turns,
            }),
            None => {
                let names = METHODS.iter().map(|method| method.name).chain(objectives.iter().copied());
                Err(Error::unknown("method", name, names))
            }
        }
    }

    /// What a listing shows.
    pub fn summary(&self) -> Summary {
        let paper = (!self.paper.is_empty()).then_some(self.paper);
        Summary { name: self.name, summary: self.summary, paper }
    }

    /// Builds it for these objectives.
    pub fn build(&self, tasks: Vec<String>, settings: &Settings) -> Result<Box<dyn Coordinator>> {
        (self.build)(tasks, settings)
    }
}

fn feedback(tasks: Vec<String>, settings: &Settings) -> Result<Box<dyn Coordinator>> {
    Ok(Box::new(Scheduler::new(tasks, settings.clone())?))
}

fn turns(tasks: Vec<String>, _: &Settings) -> Result<Box<dyn Coordinator>> {
    Ok(Box::new(RoundRobin { n_tasks: tasks.len(), blocks: 0 }))
}
