//! The loop: warm up, then block by block sense when it is due, decide, step. A method that mixes only steps.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::batch::BatchLoader;
use super::mixing::{Mixing, weight_search};
use super::model::init::tasks;
use super::{Input, Model, ModelSpec};
use crate::config::{Config, RecordedConfig};
use crate::coordinator::{ActiveMethod, Coordinator};
use crate::error::Result;
use crate::trace::{BlockLine, Record, RunLine, SenseLine, WarmupLine};

/// A run in progress.
pub struct Training<'g> {
    config: Config,
    model: Model<'g>,
    method: Driver,
    progress: TrainProgress,
    timings: Timings,
}

/// Who decides.
enum Driver {
    Schedule(Box<dyn Coordinator>),
    Mix(Mixing),
}

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainProgress {
    /// Rounds of warm-up whose losses were taken; the last takes no steps.
    pub rounds: usize,
    /// Blocks done.
    pub blocks: u64,
    /// Steps done, those of the warm-up included.
    pub steps: u64,
}

/// Where the time went, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// Measuring losses and gradients, the warm-up's included.
    pub sensing: f64,
    /// Making a plan of them.
    pub planning: f64,
    /// Choosing objectives.
    pub control: f64,
    /// Steps of the optimizer.
    pub training: f64,
}

impl<'g> Training<'g> {
    /// A run at its start. Settings that the graph cannot serve are refused before any work.
    pub fn new(input: &'g Input, config: &Config) -> Result<Self> {
        let feed = BatchLoader::new(&input.graph, config)?;
        let decider = config.build_method()?;
        if let ActiveMethod::Mix(mixer) = &decider {
            // Who looks at all nodes looks at the probe where steps see parts of the graph.
            let seen =
                input.probe.as_ref().filter(|_| feed.is_some()).map_or(&input.graph, |probe| &probe.graph);
            mixer.check(seen.n_nodes())?;
        }
        let parts = parts(config, &decider)?;
        let model = Model::fed(&input.graph, input.probe.as_ref(), feed, parts)?;
        Ok(Training {
            method: match decider {
                ActiveMethod::Schedule(coordinator) => Driver::Schedule(coordinator),
                ActiveMethod::Mix(mixer) => Driver::Mix(Mixing::new(mixer, &model)),
            },
            model,
            config: config.clone(),
            progress: TrainProgress::default(),
            timings: Timings::default(),
        })
    }

    /// The first line of the record.
    pub fn header(&self) -> Record {
        let Config { data, method, seed, objectives, .. } = self.config.clone();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Record::Run(Box::new(RunLine {
            version,
            data,
            method,
            seed,
            objectives,
            config: RecordedConfig::from(&self.config),
        }))
    }

    /// Does the next round of the warm-up or the next block, and gives its lines of the record; `None` at the end.
    pub fn advance(&mut self) -> Result<Option<Vec<Record>>> {
        let (rounds, steps) = (self.progress.rounds, self.progress.steps);
        match &mut self.method {
            Driver::Schedule(coordinator)
                if coordinator.wants_warm_up() && rounds <= self.config.train.warmup_rounds =>
            {
                Ok(Some(vec![self.round()?]))
            }
            _ if steps >= self.config.total_steps() => Ok(None),
            Driver::Schedule(coordinator) if coordinator.wants_reading() => {
                let sensed = self.sense()?;
                Ok(Some(sensed.into_iter().chain([self.block()?]).collect()))
            }
            _ => Ok(Some(vec![self.block()?])),
        }
    }

    /// Takes the losses and, but for the last time, one step on each objective.
    fn round(&mut self) -> Result<Record> {
        let start = Instant::now();
        let (round, step) = (self.progress.rounds, self.progress.steps);
        let loss = self.model.losses(step)?;
        if let Driver::Schedule(coordinator) = &mut self.method {
            coordinator.warm_up(&loss);
        }
        self.timings.sensing += start.elapsed().as_secs_f64();
        if round < self.config.train.warmup_rounds {
            let start = Instant::now();
            for task in 0..self.config.objectives.len() {
                self.model.step(task, self.progress.steps)?;
                self.progress.steps += 1;
            }
            self.timings.training += start.elapsed().as_secs_f64();
        }
        self.progress.rounds += 1;
        Ok(Record::Warmup(WarmupLine { round, step, loss, ms: milliseconds(start) }))
    }

    fn sense(&mut self) -> Result<Option<Record>> {
        let (epoch, block) = self.place();
        let step = self.progress.steps;
        let start = Instant::now();
        let reading = self.model.measure(step)?;
        let measured = start.elapsed().as_secs_f64();
        let sensing = match &mut self.method {
            Driver::Schedule(coordinator) => coordinator.sense(&reading),
            Driver::Mix(_) => None,
        };
        self.timings.sensing += measured;
        self.timings.planning += start.elapsed().as_secs_f64() - measured;
        Ok(sensing.map(|sensing| {
            Record::Sense(Box::new(SenseLine {
                epoch,
                block,
                step,
                loss: reading.loss,
                grad_norm: reading.grad_norm,
                rq: reading.rq,
                cosine: reading.cosine,
                sensing,
                ms: milliseconds(start),
            }))
        }))
    }

    /// Lets trial runs find the weights of a method that wants them from there.
    fn find_weights(&mut self) -> Result<()> {
        let Driver::Mix(mixing) = &mut self.method else { return Ok(()) };
        let Some(trial) = mixing.mixer.trial() else { return Ok(()) };
        let start = Instant::now();
        mixing.mixer.found(weight_search::weights(self.model.clean().graph, &self.config, &trial)?);
        self.timings.planning += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// The steps of one block, for one objective or for all.
    fn block(&mut self) -> Result<Record> {
        self.find_weights()?;
        let (epoch, block) = self.place();
        let step = self.progress.steps;
        let steps = self.config.steps_of_block(block, step);
        let mut start = Instant::now();
        let line = match &mut self.method {
            Driver::Schedule(coordinator) => {
                let decision = coordinator.next();
                self.timings.control += start.elapsed().as_secs_f64();
                start = Instant::now();
                let mut total = 0.0;
                for at in step..step + steps {
                    total += self.model.step(decision.task, at)?;
                }
                let line = BlockLine::of(decision, &self.config.objectives);
                BlockLine { loss: total / steps as f64, ..line }
            }
            Driver::Mix(mixing) => mixed_block(mixing, &mut self.model, step, steps)?,
        };
        self.timings.training += start.elapsed().as_secs_f64();
        self.progress.steps += steps;
        self.progress.blocks += 1;
        let ms = milliseconds(start);
        Ok(Record::Block(Box::new(BlockLine { epoch, block, step, steps, ms, ..line })))
    }

    /// The epoch and the block within it that come next, both from 1.
    fn place(&self) -> (usize, usize) {
        let blocks = self.config.train.blocks_per_epoch();
        (self.progress.blocks as usize / blocks + 1, self.progress.blocks as usize % blocks + 1)
    }

    /// Whether an epoch has just ended.
    pub fn at_epoch_end(&self) -> bool {
        self.progress.blocks > 0 && self.place().1 == 1
    }

    /// How far it is.
    pub fn progress(&self) -> &TrainProgress {
        &self.progress
    }

    /// What is trained.
    pub fn model(&self) -> &Model<'g> {
        &self.model
    }

    /// Where the time went.
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn model_mut(&mut self) -> &mut Model<'g> {
        &mut self.model
    }

    pub(super) fn save_method(&self) -> Result<String> {
        match &self.method {
            Driver::Schedule(coordinator) => coordinator.save(),
            Driver::Mix(mixing) => mixing.mixer.save(),
        }
    }

    pub(super) fn restore(&mut self, progress: TrainProgress, method: &str) -> Result<()> {
        match &mut self.method {
            Driver::Schedule(coordinator) => coordinator.restore(method)?,
            Driver::Mix(mixing) => mixing.mixer.restore(method)?,
        }
        self.progress = progress;
        Ok(())
    }
}

/// The encoder, the objectives and the optimizer that the settings name.
pub(super) fn parts(config: &Config, decider: &ActiveMethod) -> Result<ModelSpec> {
    Ok(ModelSpec {
        encoder: config.encoder.shared(),
        tasks: tasks(config),
        optimizer: config.train.optimizer(),
        // Who mixes the gradients has one gradient.
        per_task_moments: config.train.per_task_moments && matches!(decider, ActiveMethod::Schedule(_)),
        seed: config.seed,
        total_steps: config.total_steps(),
        recompute: config.train.recompute,
    })
}

/// The steps of a block that take all objectives, and what came of them.
fn mixed_block(mixing: &mut Mixing, model: &mut Model<'_>, step: u64, steps: u64) -> Result<BlockLine> {
    let mut losses = vec![0.0; model.names().len()];
    let (mut weight, mut slope) = (Vec::new(), Vec::new());
    for at in step..step + steps {
        let mixed = mixing.step(model, at)?;
        losses.iter_mut().zip(&mixed.loss).for_each(|(sum, loss)| *sum += loss / steps as f64);
        weight = mixed.mixture.encoder;
        slope = mixed.slopes.unwrap_or(slope);
    }
    Ok(BlockLine { weight, slope, loss: losses.iter().sum(), losses, ..BlockLine::default() })
}

/// To the microsecond, which is all a clock can say.
fn milliseconds(start: Instant) -> f64 {
    (start.elapsed().as_secs_f64() * 1e6).round() / 1e3
}
