//! The audit: recomputes every decision of a run from its record.
//!
//! The measured numbers (losses, gradient norms, cosines, Rayleigh quotients) are taken from the record. Everything
//! derived from them is computed again with the settings in its header: scores, difficulties, reference points, weights,
//! plans, deficits, integrals, logits, probabilities, draws and chosen objectives. The recorded numbers must also satisfy
//! the invariants of the method. The seal of each line shows any other change.
//!
//! The last line of a record holds the digests of the run's results. In a run folder the audit compares them, and the
//! settings and the model, with the record. [`Replay`] trains again, and [`sign`] and [`verify`] tell who vouches for a
//! record.
//!
//! A mixing method decides from gradients, which the record does not hold. For such a run the audit checks that the steps
//! add up, that all numbers are finite, and that the weights are within the bounds of the method.
//!
//! The record of a [`RecordedScheduler`](crate::recorded_scheduler::RecordedScheduler) is audited in the same way, except
//! that the length of its warm-up and of its blocks is free.

mod invariants;
mod place;
mod replay;
mod run_folder;
mod search;
mod settings;
mod signature;
mod statistics;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use self::place::{Place, PlaceOf};
pub use self::search::SearchSummary;
use self::settings::{AuditSettings, AuditedMethod};
use self::statistics::Statistics;
use crate::config::{Config, Custom};
use crate::coordinator::{ControlMode, Coordinator, Decision, FlatWatch, IntegralRule, Sensing};
use crate::error::{Error, Result};
use crate::run_files;
use crate::setting;
use crate::trace::{
    self, BlockLine, EndLine, Record, RunLine, SchedulerLine, SealedLine, SenseLine, WarmupLine,
};

pub use self::replay::{Replay, ReplaySummary};
pub use self::signature::{sign, verify};

/// The result of an audit that found no difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditSummary {
    /// The path of the record.
    #[serde(serialize_with = "crate::files::shown_path")]
    pub record: PathBuf,
    /// The method.
    pub method: String,
    /// The objectives; all arrays are in this order.
    pub objectives: Vec<String>,
    /// Number of sensings.
    pub sensings: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// Steps in the record.
    pub steps: u64,
    /// Steps of the whole run.
    pub total_steps: u64,
    /// Whether the record is whole: it ends where its run ended. A record of version 0.1 is whole if it has all steps.
    pub complete: bool,
    /// The files of the run folder that belong to the record.
    pub files: Vec<String>,
    /// What the audit could not check.
    pub notes: Vec<String>,
    /// Mean planned share of each objective; empty if the method does not plan.
    pub planned: Vec<f64>,
    /// Share of the blocks of each objective; empty for mixing methods.
    pub realized: Vec<f64>,
    /// Mean weight of each objective; empty unless the method mixes.
    pub weights: Vec<f64>,
    /// Largest difference between realized and planned share at the end of an epoch.
    pub tracking_error: Option<f64>,
    /// Largest deficit, in blocks.
    pub worst_deficit: Option<f64>,
    /// Largest number of consecutive blocks without some objective.
    pub longest_drought: usize,
    /// Upper bound of [`AuditSummary::longest_drought`] that exploration guarantees with probability 99 %.
    pub drought_bound: Option<f64>,
    /// The search that chose the settings, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSummary>,
}

/// Audits a run folder or a record, and the search that chose its settings, if there was one. The first difference is an [`Error::Check`].
///
/// ```
/// # let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
/// # let config = controlg::Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
/// # let home = tempfile::tempdir().unwrap();
/// # let dir = home.path().join("run");
/// controlg::pretrain(&graph, &config)?.save(&dir)?;
/// let summary = controlg::audit::audit(&dir)?;
/// assert_eq!(summary.steps, 30);
/// # Ok::<(), controlg::Error>(())
/// ```
pub fn audit(run: &Path) -> Result<AuditSummary> {
    audit_with(run, &Custom::default())
}

/// [`audit`] for a run with encoders, objectives or coordinators of your own: pass them again under the same names. The
/// decisions of a coordinator of your own are recomputed with it.
pub fn audit_with(run: &Path, custom: &Custom) -> Result<AuditSummary> {
    let path = record_of(run);
    let lines = trace::read(&path)?;
    let mut audit: Option<Audit> = None;
    for line in &lines {
        let place = |field: &str| Place { path: &path, line: line.number, field: field.to_owned() };
        match (&line.record, &mut audit) {
            (_, Some(audit)) if audit.ended => {
                return Err(place("kind").differs("more lines", "the end of the record"));
            }
            (Record::Run(header), None) => audit = Some(Audit::of_run(header, custom, &place(""))?),
            (Record::Scheduler(header), None) => audit = Some(Audit::of_scheduler(header, &place(""))?),
            (Record::Warmup(found), Some(audit)) => audit.warm_up(found, &place)?,
            (Record::Sense(found), Some(audit)) => audit.sense(found, &place)?,
            (Record::Block(found), Some(audit)) => audit.block(found, &place)?,
            (Record::End(found), Some(audit)) => audit.end(found, &place)?,
            (Record::Run(_) | Record::Scheduler(_), Some(_)) | (_, None) => {
                return Err(place("kind").differs("a second header", "one header, in the first line"));
            }
        }
        check_seal(line, &place("seal"))?;
        if let Some(unknown) = &line.unknown {
            return Err(place(unknown).differs("an unknown field", "none"));
        }
    }
    let Some(audit) = audit else { return Err(Error::input(&path, "", "no header", "the record of a run")) };
    let mut summary = audit.summary(path);
    if let Some(Record::Run(header)) = lines.first().map(|line| &line.record) {
        let end = lines.last().and_then(|line| match &line.record {
            Record::End(end) => Some(end),
            _ => None,
        });
        let folder = if run.is_dir() { Some(run) } else { None };
        run_folder::check(folder, header, end, custom, &mut summary)?;
    } else {
        summary.notes.push(FREE_LENGTH.to_owned());
    }
    summary.search = if run.is_dir() { search::audit(run)? } else { None };
    Ok(summary)
}

const FREE_LENGTH: &str = "a loop of your own has no planned length: missing last lines do not show";

/// The record of a run folder, or the record itself.
fn record_of(run: &Path) -> PathBuf {
    if run.is_dir() { run.join(run_files::TRACE) } else { run.to_owned() }
}

fn check_seal(line: &SealedLine, place: &Place<'_>) -> Result<()> {
    if line.sealed { Ok(()) } else { Err(place.differs("a line that was changed", "the original line")) }
}

/// The rule that the header names is that of the settings; older headers name none.
fn check_integral_rule(named: Option<IntegralRule>, set: IntegralRule, place: &Place<'_>) -> Result<()> {
    match named {
        Some(named) if named != set => Err(place.differs(
            format_args!("integral_rule {named:?}, which contradicts the settings"),
            format_args!("{set:?}"),
        )),
        _ => Ok(()),
    }
}

/// A run in the course of its audit.
struct Audit {
    settings: AuditSettings,
    method: AuditedMethod,
    rounds: usize,
    steps: u64,
    sensings: usize,
    blocks: usize,
    /// Whether the sensing of the next block has been seen.
    sensed: bool,
    state: Option<Sensing>,
    /// The held-out losses so far.
    watch: FlatWatch,
    statistics: Statistics,
    /// The weights of the relations of a graph with types.
    relations: Vec<f64>,
    /// Whether the header names the data, so that the record has a last line.
    has_end: bool,
    /// Whether the last line has been seen.
    ended: bool,
}

/// Whether a table contains all values of another.
fn contains(whole: &toml::Table, part: &toml::Table) -> bool {
    part.iter().all(|(key, value)| match (whole.get(key), value) {
        (Some(toml::Value::Table(whole)), toml::Value::Table(part)) => contains(whole, part),
        (found, value) => found == Some(value),
    })
}

impl Audit {
    fn of_run(header: &RunLine, custom: &Custom, place: &Place<'_>) -> Result<Audit> {
        let config = Config::from_table_with(header.config.to_table()?, custom)
            .map_err(|error| place.differs(error, "the settings of a run"))?;
        let named = (&header.data, &header.method, header.seed, &header.objectives);
        // A record of an older version lacks newer settings.
        let is_as_written = contains(&setting::table_of(&config)?, &header.config.to_table()?);
        if !is_as_written || named != (&config.data, &config.method, config.seed, &config.objectives) {
            return Err(place.differs("a header that contradicts its settings", "the settings of the run"));
        }
        check_integral_rule(header.integral_rule, config.control.integral, place)?;
        let has_end = header.data_hash.is_some();
        let relations = header.relations.iter().map(|relation| relation.weight).collect();
        Ok(Audit { has_end, relations, ..Audit::start(AuditSettings::of_run(config)?) })
    }

    fn of_scheduler(header: &SchedulerLine, place: &Place<'_>) -> Result<Audit> {
        check_integral_rule(header.integral_rule, header.settings.control.integral, place)?;
        let started = AuditSettings::of_scheduler(header);
        Ok(Audit::start(started.map_err(|error| place.differs(error, "the settings of a scheduler"))?))
    }

    fn start((settings, method): (AuditSettings, AuditedMethod)) -> Audit {
        let k = settings.k();
        Audit {
            settings,
            method,
            rounds: 0,
            steps: 0,
            sensings: 0,
            blocks: 0,
            sensed: false,
            state: None,
            watch: FlatWatch::default(),
            statistics: Statistics::new(k),
            relations: Vec::new(),
            has_end: false,
            ended: false,
        }
    }

    fn warm_up<'p>(&mut self, found: &WarmupLine, place: PlaceOf<'_, 'p>) -> Result<()> {
        let more = match self.settings.warm_up_rounds() {
            Some(rounds) => self.rounds <= rounds,
            None => self.sensings == 0 && self.blocks == 0,
        };
        // A recorded scheduler may warm up with any plan.
        let expected = |coordinator: &dyn Coordinator| {
            self.settings.warm_up_rounds().is_none() || coordinator.needs_warm_up()
        };
        let coordinator = match &mut self.method {
            AuditedMethod::Schedule(coordinator) if expected(&**coordinator) && more => coordinator,
            _ => return Err(place("kind").differs("a round of warm-up", "no more rounds")),
        };
        place("round").same(found.round, self.rounds)?;
        place("step").same(found.step, self.steps)?;
        invariants::finite(&found.loss, self.settings.k(), &place("loss"))?;
        coordinator.warm_up(&found.loss);
        self.steps += self.settings.steps_of_round(self.rounds);
        self.rounds += 1;
        Ok(())
    }

    fn sense<'p>(&mut self, found: &SenseLine, place: PlaceOf<'_, 'p>) -> Result<()> {
        self.check_warmed_up(&place("kind"))?;
        self.check_position(found.epoch, found.block, found.step, place)?;
        let coordinator = match &mut self.method {
            AuditedMethod::Schedule(coordinator) if coordinator.needs_reading() && !self.sensed => {
                coordinator
            }
            _ => return Err(place("kind").differs("a sensing", "none before this block")),
        };
        let with_held_out = coordinator.needs_held_out();
        invariants::measured(found, self.settings.k(), place)?;
        invariants::relations(found, self.settings.k(), &self.relations, place)?;
        invariants::held_out(found, self.settings.k(), with_held_out, place)?;
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
            ("gain", &a.plan.gain, &b.plan.gain),
            ("trust", &a.plan.trust, &b.plan.trust),
            ("priority", &a.plan.priority, &b.plan.priority),
            ("plan", &a.plan.plan, &b.plan.plan),
        ] {
            place(field).close(found, expected)?;
        }
        // Older versions did not record it.
        if a.plan.log_hv.is_some() {
            place("log_hv").close(a.plan.log_hv.as_slice(), b.plan.log_hv.as_slice())?;
        }
        invariants::sensed(found, self.state.as_ref(), &self.settings, place)?;
        self.state = Some(derived);
        self.sensed = true;
        self.sensings += 1;
        Ok(())
    }

    fn block<'p>(&mut self, found: &BlockLine, place: PlaceOf<'_, 'p>) -> Result<()> {
        self.check_warmed_up(&place("kind"))?;
        let decision = match &mut self.method {
            AuditedMethod::Schedule(coordinator) if coordinator.needs_reading() && !self.sensed => {
                return Err(place("kind").differs("a block", "the sensing that is due before this block"));
            }
            // Past the end of the run this decision is unused: the checks below fail.
            AuditedMethod::Schedule(coordinator) => Some(coordinator.next()),
            AuditedMethod::Mix(_) => None,
        };
        self.check_position(found.epoch, found.block, found.step, place)?;
        if self.settings.ended(self.steps) || self.settings.is_flat(&self.watch) {
            return Err(place("kind").differs("a block", "the end of the run"));
        }
        self.sensed = false;
        let steps = self.settings.steps_of_block(found, self.steps);
        match (&self.method, &decision) {
            (AuditedMethod::Mix(bounds), _) => invariants::mixed(found, self.settings.k(), bounds, place)?,
            (_, Some(decision)) => {
                self.compare(found, decision, place)?;
                invariants::decided(found, &self.settings, place)?;
            }
            _ => {}
        }
        place("steps").same(found.steps, steps)?;
        if self.settings.knows_loss() {
            invariants::finite(&[found.loss], 1, &place("loss"))?;
        }
        self.steps += steps;
        self.blocks += 1;
        let at_end = found.block == self.settings.blocks_per_epoch() || self.settings.ended(self.steps);
        let with_quality = at_end && self.settings.measures_quality();
        invariants::quality(found.quality.as_ref(), with_quality, &place("quality"))?;
        let measured = self.settings.holds_out() && at_end;
        let count = if measured { self.settings.k() } else { 0 };
        invariants::finite(&found.held_out, count, &place("held_out"))?;
        if measured {
            self.watch.observe(&found.held_out);
        }
        match decision {
            Some(decision) => {
                self.statistics.count(&decision, found.block == self.settings.blocks_per_epoch());
            }
            None => {
                let totals = self.statistics.weight_total.iter_mut();
                totals.zip(&found.weight).for_each(|(total, weight)| *total += weight);
            }
        }
        Ok(())
    }

    fn end<'p>(&mut self, found: &EndLine, place: PlaceOf<'_, 'p>) -> Result<()> {
        if !self.has_end {
            return Err(place("kind").differs("a last line", "none in a record that does not name its data"));
        }
        place("steps").same(found.steps, self.steps)?;
        let results: BTreeSet<&str> = run_files::RESULTS.into_iter().collect();
        let named: BTreeSet<&str> = found.files.keys().map(String::as_str).collect();
        if let Some(name) = results.symmetric_difference(&named).next() {
            let (found, expected) =
                if named.contains(name) { ("a digest", "none") } else { ("nothing", "a digest") };
            return Err(place(&format!("files.{name}")).differs(found, expected));
        }
        self.ended = true;
        Ok(())
    }

    /// Whether the record ends where its run ended.
    fn is_complete(&self) -> bool {
        let trained = self.settings.total_steps().is_none_or(|total| self.steps >= total)
            || self.settings.is_flat(&self.watch);
        if self.has_end { self.ended } else { trained }
    }

    fn compare<'p>(&self, found: &BlockLine, derived: &Decision, place: PlaceOf<'_, 'p>) -> Result<()> {
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
        place("task").same(found.task.as_str(), self.settings.objectives[derived.objective].as_str())
    }

    fn check_warmed_up(&self, place: &Place<'_>) -> Result<()> {
        let warms_up =
            matches!(&self.method, AuditedMethod::Schedule(coordinator) if coordinator.needs_warm_up());
        if warms_up && self.settings.warm_up_rounds().is_some_and(|rounds| self.rounds <= rounds) {
            let expected = format!("round {} of the warm-up", self.rounds);
            return Err(place.differs("a line of the main loop", expected));
        }
        Ok(())
    }

    fn check_position<'p>(
        &self,
        epoch: usize,
        block: usize,
        step: u64,
        place: PlaceOf<'_, 'p>,
    ) -> Result<()> {
        let blocks = self.settings.blocks_per_epoch();
        place("epoch").same(epoch, self.blocks / blocks + 1)?;
        place("block").same(block, self.blocks % blocks + 1)?;
        place("step").same(step, self.steps)
    }

    fn summary(self, record: PathBuf) -> AuditSummary {
        let mixes = matches!(self.method, AuditedMethod::Mix(_));
        let complete = self.is_complete();
        let Audit { settings, statistics, blocks, .. } = self;
        let control = &settings.scheduler.control;
        let share = |total: f64| total / blocks.max(1) as f64;
        let k = settings.k() as f64;
        let explores = control.mode == ControlMode::Pid && control.explore > 0.0;
        let planned = statistics.worst_deficit.is_some();
        let drought_bound = (planned && explores && k > 1.0).then(|| {
            // P(gap > s) ≤ (1 − ε/K)^s for each objective and start; the union bound over all of them is 1 % at this s.
            (0.01 / (k * blocks.max(1) as f64)).ln() / (1.0 - control.explore / k).ln()
        });
        AuditSummary {
            record,
            method: settings.method.clone(),
            sensings: self.sensings,
            blocks,
            steps: self.steps,
            total_steps: settings.total_steps().unwrap_or(self.steps),
            complete,
            files: Vec::new(),
            notes: Vec::new(),
            planned: if planned {
                statistics.plan_total.iter().map(|&p| share(p)).collect()
            } else {
                Vec::new()
            },
            realized: statistics.served.iter().filter(|_| !mixes).map(|&n| share(n as f64)).collect(),
            weights: statistics.weight_total.iter().filter(|_| mixes).map(|&w| share(w)).collect(),
            tracking_error: statistics.tracking_error,
            worst_deficit: statistics.worst_deficit,
            longest_drought: statistics.longest,
            drought_bound,
            search: None,
            objectives: settings.objectives,
        }
    }
}
