//! The list of training methods.

use super::mix::{self, MixerFactory};
use super::random::Random;
use super::round_robin::RoundRobin;
use super::{ControlMode, Coordinator, PlanMode, Scheduler, SchedulerSettings};
use crate::error::{Error, Result};
use crate::registry::{Entry, EntrySummary};

type BuildScheduler = fn(usize, u64) -> Box<dyn Coordinator>;

/// One entry of [`METHODS`]: a named way to train several objectives on one encoder.
#[derive(Clone, Copy)]
pub struct Method {
    /// The name users type.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The source; empty for our own.
    pub paper: &'static str,
    strategy: Strategy,
}

#[derive(Clone, Copy)]
enum Strategy {
    /// The feedback loop of the paper schedules one objective per block.
    Feedback(Variant),
    /// A fixed rule schedules one objective per block, given the number of objectives and the seed.
    Schedule(BuildScheduler),
    /// Every step mixes the gradients of all objectives; settings in the table `[mix.NAME]`.
    Mix(&'static Entry<MixerFactory>),
}

/// A variant of the feedback loop, which changes settings whatever the run file says.
#[derive(Clone, Copy)]
enum Variant {
    /// As in the run file.
    Unchanged,
    /// A part of the loop is switched off.
    Ablation(fn(&mut SchedulerSettings)),
    /// Shares follow expected gains.
    Gain,
}

const PAPER: &str = "ControlG";

/// The method that takes no training step and keeps the initialized encoder.
pub const UNTRAINED: &str = "untrained";

/// All methods. An objective's name is a method too: it trains that objective alone.
pub const METHODS: &[Method] = &[
    Method {
        name: "controlg",
        summary: "sense difficulty and conflict, plan shares, track them with a PID controller",
        paper: PAPER,
        strategy: Strategy::Feedback(Variant::Unchanged),
    },
    Method {
        name: "controlg-gain",
        summary: "plan shares by the expected fall of all held-out losses per operation, track them with a PID controller",
        paper: "",
        strategy: Strategy::Feedback(Variant::Gain),
    },
    Method {
        name: "random",
        summary: "each block trains an objective drawn uniformly at random",
        paper: "",
        strategy: Strategy::Schedule(random),
    },
    Method {
        name: "round-robin",
        summary: "the objectives take turns in a fixed order",
        paper: "",
        strategy: Strategy::Schedule(round_robin),
    },
    mixing(&mix::uniform::ENTRY),
    mixing(&mix::pcgrad::ENTRY),
    mixing(&mix::cagrad::ENTRY),
    mixing(&mix::mgda::MGDA),
    mixing(&mix::mgda::PARETOGNN),
    mixing(&mix::autossl::ENTRY),
    mixing(&mix::autossl_es::ENTRY),
    mixing(&mix::was::ENTRY),
    mixing(&mix::gradnorm::ENTRY),
    mixing(&mix::uncertainty::ENTRY),
    mixing(&mix::nash::ENTRY),
    mixing(&mix::dtp::ENTRY),
    ablation(
        "controlg-no-spectral",
        "controlg without the Rayleigh quotient in the difficulty",
        |settings| settings.sense.alpha = 0.0,
    ),
    ablation(
        "controlg-no-interference",
        "controlg without gradient conflict in the difficulty",
        |settings| {
            settings.sense.beta = 0.0;
        },
    ),
    ablation("controlg-no-planner", "controlg with equal shares instead of planned ones", |settings| {
        settings.plan.mode = PlanMode::Uniform;
    }),
    ablation(
        "controlg-no-controller",
        "controlg with independent draws from the plan instead of a controller",
        |settings| settings.control.mode = ControlMode::Draw,
    ),
    ablation(
        "controlg-no-state",
        "controlg without difficulty: shares from the log-hypervolume alone",
        |settings| (settings.sense.alpha, settings.sense.beta) = (0.0, 0.0),
    ),
    ablation(
        "controlg-max-deficit",
        "controlg that always trains the objective furthest behind its plan",
        |settings| settings.control.mode = ControlMode::MaxDeficit,
    ),
    Method {
        name: UNTRAINED,
        summary: "no training: the encoder as initialized",
        paper: "",
        strategy: Strategy::Schedule(round_robin),
    },
];

impl Method {
    /// Finds a method by name; the name of one of `objectives` is the method that trains it alone.
    pub fn find(name: &str, objectives: &[&'static str]) -> Result<Method> {
        if let Some(method) = METHODS.iter().find(|method| method.name == name) {
            return Ok(*method);
        }
        match objectives.iter().find(|objective| **objective == name) {
            Some(objective) => Ok(Method::single(objective)),
            None => {
                let names = METHODS.iter().map(|method| method.name).chain(objectives.iter().copied());
                Err(Error::unknown("method", name, names))
            }
        }
    }

    /// The method that trains one objective alone.
    pub const fn single(objective: &'static str) -> Method {
        Method {
            name: objective,
            summary: "this objective alone",
            paper: "",
            strategy: Strategy::Schedule(round_robin),
        }
    }

    /// What a listing shows.
    pub fn summary(&self) -> EntrySummary {
        let paper = (!self.paper.is_empty()).then_some(self.paper);
        EntrySummary { name: self.name, summary: self.summary, paper }
    }

    /// Whether every step mixes the gradients of all objectives.
    pub fn mixes(&self) -> bool {
        matches!(self.strategy, Strategy::Mix(_))
    }

    /// Whether the feedback loop schedules, complete or ablated: it warms up and senses all gradients.
    pub fn is_feedback_loop(&self) -> bool {
        matches!(self.strategy, Strategy::Feedback(_))
    }

    /// Whether it is the feedback loop with a part switched off.
    pub fn is_ablation(&self) -> bool {
        matches!(self.strategy, Strategy::Feedback(Variant::Ablation(_)))
    }

    /// Whether it is the feedback loop that plans by expected gain.
    pub fn plans_by_gain(&self) -> bool {
        matches!(self.strategy, Strategy::Feedback(Variant::Gain))
    }

    /// Applies a variant to the settings of the feedback loop; other methods change nothing.
    pub fn adjust(&self, settings: &mut SchedulerSettings) {
        match self.strategy {
            Strategy::Feedback(Variant::Ablation(switch_off)) => switch_off(settings),
            Strategy::Feedback(Variant::Gain) => settings.plan.mode = PlanMode::Gain,
            _ => {}
        }
    }

    /// Its entry, if it mixes: the settings of `[mix.NAME]` and how to build it.
    pub fn mixer(&self) -> Option<&'static Entry<MixerFactory>> {
        match self.strategy {
            Strategy::Mix(entry) => Some(entry),
            _ => None,
        }
    }

    /// Builds the coordinator that schedules these objectives. A method that mixes has none; see [`Method::mixer`].
    pub fn coordinator(
        &self,
        objectives: &[String],
        settings: &SchedulerSettings,
    ) -> Result<Box<dyn Coordinator>> {
        match self.strategy {
            Strategy::Feedback(_) => Ok(Box::new(Scheduler::new(objectives.to_vec(), settings.clone())?)),
            Strategy::Schedule(build) => Ok(build(objectives.len(), settings.seed)),
            Strategy::Mix(_) => Err(Error::value("method", self.name, "a method that schedules objectives")),
        }
    }
}

const fn mixing(entry: &'static Entry<MixerFactory>) -> Method {
    Method { name: entry.name, summary: entry.summary, paper: entry.paper, strategy: Strategy::Mix(entry) }
}

const fn ablation(
    name: &'static str,
    summary: &'static str,
    switch_off: fn(&mut SchedulerSettings),
) -> Method {
    let strategy = Strategy::Feedback(Variant::Ablation(switch_off));
    Method { name, summary, paper: PAPER, strategy }
}

fn random(n_objectives: usize, seed: u64) -> Box<dyn Coordinator> {
    Box::new(Random { n_objectives, seed, blocks: 0 })
}

fn round_robin(n_objectives: usize, _: u64) -> Box<dyn Coordinator> {
    Box::new(RoundRobin { n_objectives, blocks: 0 })
}
