//! Does every decision of a run follow from its record?
//!
//! The measured numbers (losses, gradient norms, cosines, Rayleigh quotients) are taken from the record; everything
//! that was made of them is derived again with the settings in its first line: scores, difficulties, reference points,
//! weights, plans, deficits, integrals, logits, probabilities, draws and tasks. The laws of the method are checked on
//! the recorded numbers themselves. A line that was changed in any other way is betrayed by its seal.
//!
//! A method that mixes decides from gradients, which no record could hold: of such a run the audit checks that its steps
//! add up, that every number is finite, and that weights are what the method promises.
//!
//! The record of a scheduler in somebody's own loop ([`crate::recorded_scheduler`]) is judged in the same way; only the length of
//! its warm-up and of its blocks is taken as it stands.

mod laws;
mod terms;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::coordinator::{ControlMode, Coordinator, Decision, Sensing, WeightBounds};
use crate::error::{Error, Result};
use crate::run_files;
use crate::setting;
use crate::trace::{self, BlockLine, Record, RunLine, SchedulerLine, SealedLine, SenseLine, WarmupLine};
use terms::Terms;

/// What an audit that found nothing wrong has seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditSummary {
    /// The record.
    pub record: PathBuf,
    /// The method.
    pub method: String,
    /// The objectives; arrays are in their order.
    pub objectives: Vec<String>,
    /// Sensings.
    pub sensings: usize,
    /// Blocks.
    pub blocks: usize,
    /// Steps that the record accounts for.
    pub steps: u64,
    /// Steps of the whole run.
    pub total_steps: u64,
    /// Mean planned share of each objective; empty for a method without a plan.
    pub planned: Vec<f64>,
    /// Share of the blocks that each objective got; empty for a method that mixes.
    pub realized: Vec<f64>,
    /// Mean recorded weight of each objective; empty for a method that does not mix.
    pub weights: Vec<f64>,
    /// Largest difference between realized and planned share at the end of a whole epoch.
    pub tracking_error: Option<f64>,
    /// Largest deficit, in blocks.
    pub worst_deficit: Option<f64>,
    /// Most blocks in a row without one of the objectives.
    pub longest_drought: usize,
    /// What exploration promises with 99 % certainty for a run of this length.
    pub drought_bound: Option<f64>,
}

/// Derives a run's decisions again. `run` is its folder or its record. The first thing that does not follow is an
/// [`Error::Check`].
pub fn audit(run: &Path) -> Result<AuditSummary> {
    let path = if run.is_dir() { run.join(run_files::TRACE) } else { run.to_owned() };
    let lines = trace::read(&path)?;
    let mut audit: Option<Audit> = None;
    for line in &lines {
        let place = |field: &str| Place { path: &path, line: line.number, field: field.to_owned() };
        match (&line.record, &mut audit) {
            (Record::Run(header), None) => audit = Some(Audit::of_run(header, &place(""))?),
            (Record::Scheduler(header), None) => audit = Some(Audit::of_loop(header, &place(""))?),
            (Record::Warmup(found), Some(audit)) => audit.warm_up(found, &place)?,
            (Record::Sense(found), Some(audit)) => audit.sense(found, &place)?,
            (Record::Block(found), Some(audit)) => audit.block(found, &place)?,
            (Record::Run(_) | Record::Scheduler(_), Some(_)) | (_, None) => {
                return Err(place("kind").differs("a second header", "one header, first"));
            }
        }
        check_seal(line, &place("seal"))?;
    }
    let Some(audit) = audit else { return Err(Error::input(&path, "", "no header", "a run's record")) };
    Ok(audit.summary(path))
}

fn check_seal(line: &SealedLine, place: &Place<'_>) -> Result<()> {
    if line.sealed {
        Ok(())
    } else {
        Err(place.differs("a line that was changed", "the line as it was written"))
    }
}

/// A field of a line.
struct Place<'p> {
    path: &'p Path,
    line: usize,
    field: String,
}

impl Place<'_> {
    fn differs(&self, found: impl std::fmt::Display, expected: impl std::fmt::Display) -> Error {
        let field = if self.field.is_empty() { String::new() } else { format!(", {}", self.field) };
        Error::Check {
            file: self.path.to_owned(),
            place: format!("line {}{field}", self.line),
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// A count that must be the same.
    fn same<T: PartialEq + std::fmt::Display>(&self, found: T, expected: T) -> Result<()> {
        if found == expected { Ok(()) } else { Err(self.differs(found, expected)) }
    }

    /// Numbers that must be the same but for the last digits, in which mathematical libraries differ.
    fn close(&self, found: &[f64], expected: &[f64]) -> Result<()> {
        if found.len() != expected.len() {
            let count = |n: usize| format!("{n} numbers");
            return Err(self.differs(count(found.len()), count(expected.len())));
        }
        for (k, (&found, &expected)) in found.iter().zip(expected).enumerate() {
            if (found - expected).abs() > 1e-9 * expected.abs().max(1.0)
                || found.is_nan() != expected.is_nan()
            {
                let place = Place { path: self.path, line: self.line, field: format!("{}[{k}]", self.field) };
                return Err(place.differs(found, expected));
            }
        }
        Ok(())
    }
}

/// A run that is being lived through again.
struct Audit {
    terms: Terms,
    method: AuditedMethod,
    rounds: usize,
    steps: u64,
    sensings: usize,
    blocks: usize,
    /// Whether the next block wanted a reading and has had it.
    sensed: bool,
    state: Option<Sensing>,
    figures: Figures,
}

/// Who decided.
enum AuditedMethod {
    Schedule(Box<dyn Coordinator>),
    Mix(WeightBounds),
}

/// What the summary is made of.
#[derive(Default)]
struct Figures {
    plan_total: Vec<f64>,
    served: Vec<usize>,
    weight_total: Vec<f64>,
    served_in_epoch: Vec<u64>,
    since: Vec<usize>,
    longest: usize,
    worst_deficit: Option<f64>,
    tracking_error: Option<f64>,
}

/// Whether a table has all that another has.
fn contains(whole: &toml::Table, part: &toml::Table) -> bool {
    part.iter().all(|(key, value)| match (whole.get(key), value) {
        (Some(toml::Value::Table(whole)), toml::Value::Table(part)) => contains(whole, part),
        (found, value) => found == Some(value),
    })
}

impl Audit {
    fn of_run(header: &RunLine, place: &Place<'_>) -> Result<Audit> {
        let config =
            header.config.resolve().map_err(|error| place.differs(error, "settings that a run can have"))?;
        let named = (&header.data, &header.method, header.seed, &header.objectives);
        // Settings that came after the record was written are not in it.
        let is_as_written = contains(&setting::table_of(&config)?, &header.config.to_table()?);
        if !is_as_written || named != (&config.data, &config.method, config.seed, &config.objectives) {
            return Err(place.differs("a header that contradicts its settings", "the settings of the run"));
        }
        Ok(Audit::start(Terms::of_run(config)?))
    }

    fn of_loop(header: &SchedulerLine, place: &Place<'_>) -> Result<Audit> {
        let started = Terms::of_loop(header);
        Ok(Audit::start(started.map_err(|error| place.differs(error, "settings that a scheduler can have"))?))
    }

    fn start((terms, method): (Terms, AuditedMethod)) -> Audit {
        let k = terms.k();
        let figures = Figures {
            plan_total: vec![0.0; k],
            served: vec![0; k],
            weight_total: vec![0.0; k],
            served_in_epoch: vec![0; k],
            since: vec![0; k],
            ..Figures::default()
        };
        Audit {
            terms,
            method,
            rounds: 0,
            steps: 0,
            sensings: 0,
            blocks: 0,
            sensed: false,
            state: None,
            figures,
        }
    }

    fn warm_up<'p>(&mut self, found: &WarmupLine, place: &dyn Fn(&str) -> Place<'p>) -> Result<()> {
        let more = match self.terms.warm_up_rounds() {
            Some(rounds) => self.rounds <= rounds,
            None => self.sensings == 0 && self.blocks == 0,
        };
        // Somebody's own loop may warm up whatever the plan.
        let wanted = |coordinator: &dyn Coordinator| {
            self.terms.warm_up_rounds().is_none() || coordinator.needs_warm_up()
        };
        let coordinator = match &mut self.method {
            AuditedMethod::Schedule(coordinator) if wanted(&**coordinator) && more => coordinator,
            _ => return Err(place("kind").differs("a round of warm-up", "no more rounds")),
        };
        place("round").same(found.round, self.rounds)?;
        place("step").same(found.step, self.steps)?;
        laws::finite(&found.loss, self.terms.k(), &place("loss"))?;
        coordinator.warm_up(&found.loss);
        self.steps += self.terms.steps_of_round(self.rounds);
        self.rounds += 1;
        Ok(())
    }

    fn sense<'p>(&mut self, found: &SenseLine, place: &dyn Fn(&str) -> Place<'p>) -> Result<()> {
        self.check_warmed_up(&place("kind"))?;
        self.check_place(found.epoch, found.block, found.step, place)?;
        let coordinator = match &mut self.method {
            AuditedMethod::Schedule(coordinator) if coordinator.needs_reading() && !self.sensed => {
                coordinator
            }
            _ => return Err(place("kind").differs("a sensing", "none before this block")),
        };
        laws::measured(found, self.terms.k(), place)?;
        let Some(derived) = coordinator.sense(&found.reading()) else {
            return Err(place("kind").differs("a sensing", "none with this method"));
        };
        let (a, b) = (&found.sensing, &derived);
        for (field, found, expected) in [
            ("lambda", &a.sensed.lambda, &b.sensed.lambda),
            ("conf", &a.sensed.conf, &b.sensed.conf),
            ("rq_norm", &a.sensed.rq_norm, &b.sensed.rq_norm),
            ("conf_norm", &a.sensed.conf_norm, &b.sensed.conf_norm),
            ("difficulty", &a.state.difficulty, &b.state.difficulty),
            ("loss_norm", &a.state.loss_norm, &b.state.loss_norm),
            ("loss_scale", &a.state.loss_scale, &b.state.loss_scale),
            ("reference", &a.state.reference, &b.state.reference),
            ("hv_weight", &a.plan.hv_weight, &b.plan.hv_weight),
            ("priority", &a.plan.priority, &b.plan.priority),
            ("plan", &a.plan.plan, &b.plan.plan),
        ] {
            place(field).close(found, expected)?;
        }
        laws::sensed(found, self.state.as_ref(), &self.terms, place)?;
        self.state = Some(derived);
        self.sensed = true;
        self.sensings += 1;
        Ok(())
    }

    fn block<'p>(&mut self, found: &BlockLine, place: &dyn Fn(&str) -> Place<'p>) -> Result<()> {
        self.check_warmed_up(&place("kind"))?;
        let decision = match &mut self.method {
            AuditedMethod::Schedule(coordinator) if coordinator.needs_reading() && !self.sensed => {
                return Err(place("kind").differs("a block", "the sensing that is due before it"));
            }
            // Past the end there is nothing to derive, which the checks below say.
            AuditedMethod::Schedule(coordinator) => Some(coordinator.next()),
            AuditedMethod::Mix(_) => None,
        };
        self.check_place(found.epoch, found.block, found.step, place)?;
        if self.terms.ended(self.steps) {
            return Err(place("kind").differs("a block", "the end of the run"));
        }
        self.sensed = false;
        let steps = self.terms.steps_of_block(found, self.steps);
        match (&self.method, &decision) {
            (AuditedMethod::Mix(promise), _) => laws::mixed(found, self.terms.k(), promise, place)?,
            (_, Some(decision)) => {
                self.compare(found, decision, place)?;
                laws::decided(found, &self.terms, place)?;
            }
            _ => {}
        }
        place("steps").same(found.steps, steps)?;
        if self.terms.knows_loss() {
            laws::finite(&[found.loss], 1, &place("loss"))?;
        }
        self.steps += steps;
        self.blocks += 1;
        match decision {
            Some(decision) => {
                self.figures.count(&decision, found.block == self.terms.blocks_per_epoch());
            }
            None => {
                let totals = self.figures.weight_total.iter_mut();
                totals.zip(&found.weight).for_each(|(total, weight)| *total += weight);
            }
        }
        Ok(())
    }

    fn compare<'p>(
        &self,
        found: &BlockLine,
        derived: &Decision,
        place: &dyn Fn(&str) -> Place<'p>,
    ) -> Result<()> {
        let counts = |counts: &[u64]| counts.iter().map(|&n| n as f64).collect::<Vec<f64>>();
        place("plan").close(&found.plan, &derived.plan)?;
        place("count_ref").close(&found.count_ref, &derived.count_ref)?;
        place("count").close(&counts(&found.count), &counts(&derived.count))?;
        place("deficit").close(&found.deficit, &derived.deficit)?;
        place("integral").close(&found.integral, &derived.integral)?;
        place("delta").close(&found.delta, &derived.delta)?;
        place("logit").close(&found.logit, &derived.logit)?;
        place("prob").close(&found.prob, &derived.prob)?;
        place("draw").close(found.draw.as_slice(), derived.draw.as_slice())?;
        place("task").same(found.task.as_str(), self.terms.objectives[derived.objective].as_str())
    }

    fn check_warmed_up(&self, place: &Place<'_>) -> Result<()> {
        let warms_up =
            matches!(&self.method, AuditedMethod::Schedule(coordinator) if coordinator.needs_warm_up());
        if warms_up && self.terms.warm_up_rounds().is_some_and(|rounds| self.rounds <= rounds) {
            let expected = format!("round {} of the warm-up", self.rounds);
            return Err(place.differs("the loop's first line", expected));
        }
        Ok(())
    }

    fn check_place<'p>(
        &self,
        epoch: usize,
        block: usize,
        step: u64,
        place: &dyn Fn(&str) -> Place<'p>,
    ) -> Result<()> {
        let blocks = self.terms.blocks_per_epoch();
        place("epoch").same(epoch, self.blocks / blocks + 1)?;
        place("block").same(block, self.blocks % blocks + 1)?;
        place("step").same(step, self.steps)
    }

    fn summary(self, record: PathBuf) -> AuditSummary {
        let mixes = matches!(self.method, AuditedMethod::Mix(_));
        let Audit { terms, figures, blocks, .. } = self;
        let control = &terms.settings.control;
        let share = |total: f64| total / blocks.max(1) as f64;
        let k = terms.k() as f64;
        let explores = control.mode == ControlMode::Pid && control.explore > 0.0;
        let planned = figures.worst_deficit.is_some();
        let drought_bound = (planned && explores && k > 1.0).then(|| {
            // P(gap > s) ≤ (1 − ε/K)^s for each objective and start: the s at which all together stay below 1 %.
            (0.01 / (k * blocks.max(1) as f64)).ln() / (1.0 - control.explore / k).ln()
        });
        AuditSummary {
            record,
            method: terms.method.clone(),
            sensings: self.sensings,
            blocks,
            steps: self.steps,
            total_steps: terms.total_steps().unwrap_or(self.steps),
            planned: if planned {
                figures.plan_total.iter().map(|&p| share(p)).collect()
            } else {
                Vec::new()
            },
            realized: figures.served.iter().filter(|_| !mixes).map(|&n| share(n as f64)).collect(),
            weights: figures.weight_total.iter().filter(|_| mixes).map(|&w| share(w)).collect(),
            tracking_error: figures.tracking_error,
            worst_deficit: figures.worst_deficit,
            longest_drought: figures.longest,
            drought_bound,
            objectives: terms.objectives,
        }
    }
}

impl Figures {
    fn count(&mut self, decision: &Decision, epoch_ends: bool) {
        self.served[decision.objective] += 1;
        self.served_in_epoch[decision.objective] += 1;
        for (k, since) in self.since.iter_mut().enumerate() {
            *since = if k == decision.objective { 0 } else { *since + 1 };
            self.longest = self.longest.max(*since);
        }
        self.plan_total.iter_mut().zip(&decision.plan).for_each(|(total, share)| *total += share);
        let largest = |values: &mut dyn Iterator<Item = f64>, so_far: Option<f64>| {
            values.fold(so_far, |most, x| Some(most.map_or(x, |most: f64| most.max(x))))
        };
        self.worst_deficit = largest(&mut decision.deficit.iter().copied(), self.worst_deficit);
        if epoch_ends {
            let blocks: u64 = self.served_in_epoch.iter().sum();
            let behind = decision.count_ref.iter().zip(&self.served_in_epoch);
            let mut errors = behind.map(|(planned, &served)| (planned - served as f64).abs() / blocks as f64);
            self.tracking_error = largest(&mut errors, self.tracking_error);
            self.served_in_epoch.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Config};
    use crate::data::{self, LoadOptions};
    use crate::trace::{RecordWriter, TraceEnd};
    use crate::train::{Input, Training};

    #[test]
    fn a_record_of_before_a_setting_came_is_no_false_one() {
        let mut table = Config::preset("any");
        let set =
            ["data=own", "method=random", "encoder.width=8", "train.epochs=1", "train.batches_per_epoch=6"];
        set.iter().for_each(|setting| config::set(&mut table, setting).unwrap());
        config::set(&mut table, "objective.p_par.parts=3").unwrap();
        let config = Config::from_table(table).unwrap();
        let graph = data::load("synthetic:nodes=80", &LoadOptions::default()).unwrap().graph;
        let input = Input::new(&graph, &config).unwrap();
        let home = tempfile::tempdir().unwrap();
        let written = |name: &str, change: &dyn Fn(&mut RunLine)| {
            let mut training = Training::new(&input, &config).unwrap();
            let path = home.path().join(name);
            let mut trace = RecordWriter::open(&path, TraceEnd::default()).unwrap();
            let Record::Run(mut header) = training.header() else { panic!("a run's header") };
            change(&mut header);
            trace.append(&Record::Run(header)).unwrap();
            while let Some(records) = training.advance().unwrap() {
                records.iter().for_each(|record| trace.append(record).unwrap());
            }
            trace.sync().unwrap();
            audit(&path)
        };
        assert_eq!(written("whole", &|_| ()).unwrap().steps, 6);
        let older = |header: &mut RunLine| {
            assert!(header.config.encoder.remove("feature_dropout").is_some());
        };
        assert_eq!(written("older", &older).unwrap().steps, 6);
        assert!(written("other", &|header| header.seed += 1).is_err());
    }
}
