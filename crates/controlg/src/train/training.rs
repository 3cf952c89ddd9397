//! The training loop: warm up, then for each block sense if due, decide, and step. Mixing methods only step.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::batch::BatchLoader;
use super::input::Input;
use super::mixing::{Mixing, search_weights};
use super::model::{Model, ModelSpec};
use super::normalization::Normalization;
use super::quality::QualityMeter;
use crate::collective::Ranks;
use crate::config::{Config, RecordedConfig};
use crate::coordinator::{ActiveMethod, Coordinator, FlatWatch};
use crate::error::{Error, Result};
use crate::eval::quality::Quality;
use crate::trace::{BlockLine, Record, RunLine, SenseLine, WarmupLine};

/// The training loop. [`pretrain`](super::pretrain) and [`RunFolder`](super::RunFolder) run it to its end.
///
/// ```
/// use controlg::config::Config;
/// use controlg::train::{Input, Training};
///
/// let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
/// let config = Config::for_data("synthetic")?.width(16).epochs(1).steps_per_epoch(30).build()?;
/// let input = Input::new(&graph, &config)?;
/// let mut training = Training::new(&input, &config)?;
/// while training.advance()?.is_some() {}
/// assert_eq!(training.progress().steps, 30);
/// let (embeddings, _norms) = training.model().embed()?;
/// assert_eq!(embeddings.n_cols(), 16);
/// # Ok::<(), controlg::Error>(())
/// ```
pub struct Training<'g> {
    config: Config,
    normalization: Normalization,
    data_hash: String,
    notes: Vec<String>,
    model: Model<'g>,
    method: Driver,
    progress: TrainProgress,
    timings: Timings,
    quality: Option<QualityMeter<'g>>,
}

/// The method with its working memory.
enum Driver {
    Schedule(Box<dyn Coordinator>),
    Mix(Mixing),
}

/// How far a run has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainProgress {
    /// Warm-up rounds done. The last one only measures losses.
    pub rounds: usize,
    /// Blocks done.
    pub blocks: u64,
    /// Steps done, including those of the warm-up.
    pub steps: u64,
    /// The held-out losses so far.
    #[serde(default, skip_serializing_if = "FlatWatch::is_new")]
    pub held_out: FlatWatch,
}

/// Where the time went, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// Measuring losses and gradients, including the warm-up.
    pub sensing: f64,
    /// Planning shares.
    pub planning: f64,
    /// Choosing objectives.
    pub control: f64,
    /// Training steps.
    pub training: f64,
}

impl<'g> Training<'g> {
    /// A run at its start. Fails early if the settings do not fit the graph.
    pub fn new(input: &'g Input, config: &Config) -> Result<Self> {
        Training::on_ranks(input, config, Ranks::alone())
    }

    /// [`Training::new`] for one of several ranks, which all run the same training: each computes its share of every step and
    /// of every sensing. Every step must have at least one mini-batch per rank.
    pub fn on_ranks(input: &'g Input, config: &Config, ranks: Ranks<'g>) -> Result<Self> {
        if config.train.shards < ranks.size() {
            let expected = format!("at least {}, one per rank", ranks.size());
            return Err(Error::value("train.shards", config.train.shards, expected));
        }
        let loader = BatchLoader::new(&input.graph, config)?;
        let method = config.build_method()?;
        if let ActiveMethod::Mix(mixer) = &method {
            // Mixers that use all nodes use those of the probe in mini-batch training.
            let clean =
                input.probe.as_ref().filter(|_| loader.is_some()).map_or(&input.graph, |probe| &probe.graph);
            mixer.check(clean.n_nodes())?;
        }
        let spec = ModelSpec::from_config(config, &method);
        let model = Model::with_loader(&input.graph, input.probe.as_ref(), loader, spec)?.on_ranks(ranks);
        let quality = input.quality.as_ref().map(|sample| QualityMeter::new(sample, &*config.encoder));
        Ok(Training {
            quality,
            method: match method {
                ActiveMethod::Schedule(coordinator) => Driver::Schedule(coordinator),
                ActiveMethod::Mix(mixer) => Driver::Mix(Mixing::new(mixer, &model)),
            },
            model,
            normalization: input.normalization,
            data_hash: input.data_hash.clone(),
            notes: input.notes.clone(),
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
            data_hash: Some(self.data_hash.clone()),
            normalize: self.normalization.chosen_for.map(|_| self.normalization.how),
            notes: self.notes.clone(),
            relations: self.model.relation_lines(),
            integral_rule: self.config.is_feedback_loop().then_some(self.config.control.integral),
            config: RecordedConfig::from(&self.config),
        }))
    }

    /// Runs the next warm-up round or block and returns its lines of the record; `None` at the end.
    pub fn advance(&mut self) -> Result<Option<Vec<Record>>> {
        let (rounds, steps, is_flat) = (self.progress.rounds, self.progress.steps, self.is_flat());
        match &mut self.method {
            Driver::Schedule(coordinator)
                if coordinator.needs_warm_up() && rounds <= self.config.train.warmup_rounds =>
            {
                Ok(Some(vec![self.round()?]))
            }
            _ if is_flat || steps >= self.config.total_steps() => Ok(None),
            Driver::Schedule(coordinator) if coordinator.needs_reading() => {
                let sensed = self.sense()?;
                Ok(Some(sensed.into_iter().chain([self.block()?]).collect()))
            }
            _ => Ok(Some(vec![self.block()?])),
        }
    }

    /// Measures the losses and, except in the last round, takes one step on each objective.
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
            for task in 0..self.model.names().len() {
                self.model.step(task, self.progress.steps)?;
                self.progress.steps += 1;
            }
            self.timings.training += start.elapsed().as_secs_f64();
        }
        self.progress.rounds += 1;
        Ok(Record::Warmup(WarmupLine { round, step, loss, ms: milliseconds(start) }))
    }

    fn sense(&mut self) -> Result<Option<Record>> {
        let (epoch, block) = self.position();
        let step = self.progress.steps;
        let start = Instant::now();
        let held_out = matches!(&self.method, Driver::Schedule(method) if method.needs_held_out());
        let reading = match held_out {
            true => self.model.measure_with_held_out(step)?,
            false => self.model.measure(step)?,
        };
        let measured = start.elapsed().as_secs_f64();
        let sensing = match &mut self.method {
            Driver::Schedule(coordinator) => coordinator.sense(&reading),
            Driver::Mix(_) => None,
        };
        self.timings.sensing += measured;
        self.timings.planning += start.elapsed().as_secs_f64() - measured;
        Ok(sensing.map(|sensing| {
            let ms = milliseconds(start);
            Record::Sense(Box::new(SenseLine { epoch, block, step, ms, ..SenseLine::of(reading, sensing) }))
        }))
    }

    /// Runs the weight search of a method that needs one.
    fn find_weights(&mut self) -> Result<()> {
        let Driver::Mix(mixing) = &mut self.method else { return Ok(()) };
        let Some(trial) = mixing.mixer.weight_search() else { return Ok(()) };
        let start = Instant::now();
        let (graph, config) = (self.model.clean().graph, &self.config);
        mixing.mixer.set_weights(self.model.ranks().decide(|| search_weights(graph, config, &trial))?);
        self.timings.planning += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// The steps of one block, on one objective or on all.
    fn block(&mut self) -> Result<Record> {
        self.find_weights()?;
        let (epoch, block) = self.position();
        let step = self.progress.steps;
        let steps = self.config.steps_of_block(block, step);
        let mut start = Instant::now();
        let line = match &mut self.method {
            Driver::Schedule(coordinator) => {
                let decision = coordinator.next();
                // Rank 0 decides. The coordinators of the others only follow the course of the run.
                let decision = self.model.ranks().decide(|| Ok(decision))?;
                self.timings.control += start.elapsed().as_secs_f64();
                start = Instant::now();
                let mut total = 0.0;
                for at in step..step + steps {
                    total += self.model.step(decision.objective, at)?;
                }
                let line = BlockLine::of(decision, self.model.names());
                BlockLine { loss: total / steps as f64, ..line }
            }
            Driver::Mix(mixing) => mixed_block(mixing, &mut self.model, step, steps)?,
        };
        self.timings.training += start.elapsed().as_secs_f64();
        self.progress.steps += steps;
        self.progress.blocks += 1;
        let ms = milliseconds(start);
        let (held_out, quality) =
            match self.at_epoch_end() || self.progress.steps >= self.config.total_steps() {
                true => (self.held_out_losses()?, self.measure_quality()?),
                false => (Vec::new(), None),
            };
        Ok(Record::Block(Box::new(BlockLine { epoch, block, step, steps, held_out, quality, ms, ..line })))
    }

    /// The quality of the embeddings, if it is to be measured. It is recorded only, so rank 0 alone measures it.
    fn measure_quality(&mut self) -> Result<Option<Quality>> {
        let start = Instant::now();
        let quality = self.quality.as_ref().filter(|_| self.model.ranks().is_first());
        let quality = quality.map(|meter| meter.measure(&self.model)).transpose()?;
        self.timings.sensing += start.elapsed().as_secs_f64();
        Ok(quality)
    }

    /// The losses on held-out samples, if there are some.
    fn held_out_losses(&mut self) -> Result<Vec<f64>> {
        let start = Instant::now();
        let losses = self.model.held_out_losses(self.progress.steps)?;
        self.timings.sensing += start.elapsed().as_secs_f64();
        let losses = losses.unwrap_or_default();
        if self.config.train.stop_when_flat > 0 {
            self.progress.held_out.observe(&losses);
        }
        Ok(losses)
    }

    /// Whether the run ends here because the held-out losses have stopped falling (`train.stop_when_flat`).
    pub fn is_flat(&self) -> bool {
        self.progress.held_out.stops_after(self.config.train.stop_when_flat)
    }

    /// The next epoch and the next block within it, both counted from 1.
    fn position(&self) -> (usize, usize) {
        let blocks = self.config.train.blocks_per_epoch();
        (self.progress.blocks as usize / blocks + 1, self.progress.blocks as usize % blocks + 1)
    }

    /// Whether an epoch has just ended.
    pub fn at_epoch_end(&self) -> bool {
        self.progress.blocks > 0 && self.position().1 == 1
    }

    /// How far the run has come.
    pub fn progress(&self) -> &TrainProgress {
        &self.progress
    }

    /// The model.
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

/// The steps of a block on all objectives.
fn mixed_block(mixing: &mut Mixing, model: &mut Model<'_>, step: u64, steps: u64) -> Result<BlockLine> {
    let mut losses = vec![0.0; model.names().len()];
    let (mut weight, mut slope, mut note) = (Vec::new(), Vec::new(), None);
    for at in step..step + steps {
        let mixed = mixing.step(model, at)?;
        losses.iter_mut().zip(&mixed.loss).for_each(|(sum, loss)| *sum += loss / steps as f64);
        weight = mixed.weights.encoder;
        slope = mixed.slopes.unwrap_or(slope);
        note = mixed.note.or(note);
    }
    Ok(BlockLine { weight, slope, note, loss: losses.iter().sum(), losses, ..BlockLine::default() })
}

/// Milliseconds since `start`, rounded to microseconds.
fn milliseconds(start: Instant) -> f64 {
    (start.elapsed().as_secs_f64() * 1e6).round() / 1e3
}
