//! The list of ways to decide.

use super::mix::{self, MixerFactory};
use super::random::Random;
use super::round_robin::RoundRobin;
use super::{ActiveMethod, ControlMode, Coordinator, MixerContext, PlanMode, Scheduler, SchedulerSettings};
use crate::error::{Error, Result};
use crate::registry::{Entry, EntrySummary};
use crate::setting::Key;

type Build = fn(Vec<String>, &SchedulerSettings) -> Result<Box<dyn Coordinator>>;

/// One named way to train several objectives.
#[derive(Clone, Copy)]
pub struct Method {
    /// The name users type.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Where it comes from; empty for our own.
    pub paper: &'static str,
    way: MethodKind,
}

#[derive(Clone, Copy)]
enum MethodKind {
    /// Each block goes to one objective.
    Schedule {
        /// What it changes in the settings, whatever the run file says.
        adjust: fn(&mut SchedulerSettings),
        build: Build,
    },
    /// Every step takes all of them; settings in its own table `[mix.NAME]`.
    Mix(&'static Entry<MixerFactory>),
}

const PAPER: &str = "ControlG";

/// The method that takes no step: the encoder as it was initialized.
pub const UNTRAINED: &str = "untrained";

/// All methods, but for the objectives alone, which go by the objectives' names.
pub const METHODS: &[Method] = &[
    Method {
        name: "controlg",
        summary: "sense difficulty and conflict, plan shares, track them with a PID controller",
        paper: PAPER,
        way: MethodKind::Schedule { adjust: |_| {}, build: feedback },
    },
    Method {
        name: "random",
        summary: "every block a uniform draw",
        paper: "",
        way: MethodKind::Schedule { adjust: |_| {}, build: draws },
    },
    Method {
        name: "round-robin",
        summary: "the objectives take turns",
        paper: "",
        way: MethodKind::Schedule { adjust: |_| {}, build: turns },
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
    Method {
        name: "controlg-no-spectral",
        summary: "controlg without the Rayleigh quotient in the difficulty",
        paper: PAPER,
        way: MethodKind::Schedule { adjust: |settings| settings.sense.alpha = 0.0, build: feedback },
    },
    Method {
        name: "controlg-no-interference",
        summary: "controlg without the conflict in the difficulty",
        paper: PAPER,
        way: MethodKind::Schedule { adjust: |settings| settings.sense.beta = 0.0, build: feedback },
    },
    Method {
        name: "controlg-no-planner",
        summary: "controlg with equal shares, tracked by its controller",
        paper: PAPER,
        way: MethodKind::Schedule {
            adjust: |settings| settings.plan.mode = PlanMode::Uniform,
            build: feedback,
        },
    },
    Method {
        name: "controlg-no-controller",
        summary: "controlg with independent draws from its plan",
        paper: PAPER,
        way: MethodKind::Schedule {
            adjust: |settings| settings.control.mode = ControlMode::Draw,
            build: feedback,
        },
    },
    Method {
        name: "controlg-no-state",
        summary: "controlg without any difficulty: shares from the log-hypervolume alone",
        paper: PAPER,
        way: MethodKind::Schedule {
            adjust: |settings| (settings.sense.alpha, settings.sense.beta) = (0.0, 0.0),
            build: feedback,
        },
    },
    Method {
        name: "controlg-max-deficit",
        summary: "controlg that always serves the objective furthest behind its plan",
        paper: PAPER,
        way: MethodKind::Schedule {
            adjust: |settings| settings.control.mode = ControlMode::MaxDeficit,
            build: feedback,
        },
    },
    Method {
        name: UNTRAINED,
        summary: "no step at all: the encoder as it was initialized",
        paper: "",
        way: MethodKind::Schedule { adjust: |_| {}, build: turns },
    },
];

impl Method {
    /// The method of that name; an objective's name is the objective alone, which takes every turn.
    pub fn find(name: &str, objectives: &[&'static str]) -> Result<Method> {
        if let Some(method) = METHODS.iter().find(|method| method.name == name) {
            return Ok(*method);
        }
        match objectives.iter().find(|objective| **objective == name) {
            Some(alone) => Ok(Method {
                name: alone,
                summary: "this objective alone",
                paper: "",
                way: MethodKind::Schedule { adjust: |_| {}, build: turns },
            }),
            None => {
                let names = METHODS.iter().map(|method| method.name).chain(objectives.iter().copied());
                Err(Error::unknown("method", name, names))
            }
        }
    }

    /// What a listing shows.
    pub fn summary(&self) -> EntrySummary {
        let paper = (!self.paper.is_empty()).then_some(self.paper);
        EntrySummary { name: self.name, summary: self.summary, paper }
    }

    /// Whether every step takes the gradients of all objectives.
    pub fn mixes(&self) -> bool {
        matches!(self.way, MethodKind::Mix(_))
    }

    /// What it changes in the settings of the loop, whatever the run file says.
    pub fn adjust(&self, settings: &mut SchedulerSettings) {
        if let MethodKind::Schedule { adjust, .. } = self.way {
            adjust(settings);
        }
    }

    /// The settings of its own table, `[mix.NAME]`.
    pub fn keys(&self) -> &'static [Key] {
        match self.way {
            MethodKind::Schedule { .. } => &[],
            MethodKind::Mix(entry) => entry.keys,
        }
    }

    /// What they are when nothing is said.
    pub fn defaults(&self) -> Result<toml::Table> {
        match self.way {
            MethodKind::Schedule { .. } => Ok(toml::Table::new()),
            MethodKind::Mix(entry) => (entry.defaults)(),
        }
    }

    /// Builds it for these objectives: from the settings of the loop, or from its own table and what it is to know of
    /// the run.
    pub fn build(
        &self,
        tasks: Vec<String>,
        settings: &SchedulerSettings,
        table: toml::Table,
        setup: &MixerContext,
    ) -> Result<ActiveMethod> {
        Ok(match self.way {
            MethodKind::Schedule { build, .. } => ActiveMethod::Schedule(build(tasks, settings)?),
            MethodKind::Mix(entry) => ActiveMethod::Mix((entry.build)(table)?(setup)),
        })
    }
}

/// A method that mixes.
const fn mixing(entry: &'static Entry<MixerFactory>) -> Method {
    Method { name: entry.name, summary: entry.summary, paper: entry.paper, way: MethodKind::Mix(entry) }
}

fn feedback(tasks: Vec<String>, settings: &SchedulerSettings) -> Result<Box<dyn Coordinator>> {
    Ok(Box::new(Scheduler::new(tasks, settings.clone())?))
}

fn draws(tasks: Vec<String>, settings: &SchedulerSettings) -> Result<Box<dyn Coordinator>> {
    Ok(Box::new(Random { n_tasks: tasks.len(), seed: settings.seed, blocks: 0 }))
}

fn turns(tasks: Vec<String>, _: &SchedulerSettings) -> Result<Box<dyn Coordinator>> {
    Ok(Box::new(RoundRobin { n_tasks: tasks.len(), blocks: 0 }))
}
