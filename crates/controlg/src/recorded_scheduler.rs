//! The scheduler for training loops of your own, with checked input and a record.
//!
//! [`RecordedScheduler`] wraps [`Scheduler`]: it rejects impossible measurements and calls in the wrong order, and can
//! write a record that [`audit`](crate::audit::audit) accepts.
//!
//! ```
//! use controlg::recorded_scheduler::RecordedScheduler;
//!
//! let objectives = vec!["contrast".to_owned(), "reconstruct".to_owned()];
//! let mut scheduler = RecordedScheduler::new(objectives, Default::default(), None)?;
//! for _block in 0..100 {
//!     if scheduler.due() {
//!         // Losses, inner products of the gradients at the shared parameters, Rayleigh quotients.
//!         let products = [vec![1.0, -0.2], vec![-0.2, 0.5]];
//!         scheduler.sense(vec![1.5, 0.8], &products, vec![0.4, 0.9])?;
//!     }
//!     let objective = scheduler.next(1)?.objective; // train this one for a block of one step
//! #   assert!(objective < 2);
//! }
//! # Ok::<(), controlg::Error>(())
//! ```

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::coordinator::{Decision, PlanMode, Reading, Scheduler, SchedulerSettings, Sensing};
use crate::error::{Error, Result};
use crate::trace::{BlockLine, Record, RecordWriter, SchedulerLine, SenseLine, TraceEnd, WarmupLine};

/// A scheduler for a training loop of your own.
#[derive(Debug)]
pub struct RecordedScheduler {
    state: SchedulerSnapshot,
    record: Option<(PathBuf, RecordWriter)>,
    /// When the previous line was written; the record shows the time between lines.
    last: Instant,
}

/// The state that is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SchedulerSnapshot {
    scheduler: Scheduler,
    blocks_per_epoch: usize,
    rounds: usize,
    blocks: u64,
    steps: u64,
    /// Whether the sensing of the next block is done.
    sensed: bool,
    /// The end of the record, if there is one.
    end: Option<TraceEnd>,
}

impl RecordedScheduler {
    /// A scheduler of these objectives, which writes its record to a file if one is given. An existing file is an error;
    /// to continue it, use [`RecordedScheduler::restore`].
    pub fn new(
        objectives: Vec<String>,
        settings: SchedulerSettings,
        record: Option<&Path>,
    ) -> Result<RecordedScheduler> {
        if let Some(twice) = objectives.iter().enumerate().find(|(at, name)| objectives[..*at].contains(name))
        {
            return Err(Error::value("objectives", format_args!("'{}' twice", twice.1), "each name once"));
        }
        let header = SchedulerLine {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            objectives: objectives.clone(),
            integral_rule: Some(settings.control.integral),
            settings: settings.clone(),
        };
        if settings.plan.mode == PlanMode::Gain {
            let expected =
                "log-hypervolume or uniform: a scheduler for your own loop gets no held-out losses";
            return Err(Error::value("plan.mode", "gain", expected));
        }
        let blocks_per_epoch = settings.blocks_per_epoch;
        let scheduler = Scheduler::new(objectives, settings)?;
        let record = match record {
            Some(path) if path.exists() => {
                let expected =
                    "a new file, or restore() with the saved state of the loop that wrote this one";
                return Err(Error::input(path, "", "a file", expected));
            }
            Some(path) => Some((path.to_owned(), RecordWriter::open(path, TraceEnd::default())?)),
            None => None,
        };
        let state = SchedulerSnapshot {
            scheduler,
            blocks_per_epoch,
            rounds: 0,
            blocks: 0,
            steps: 0,
            sensed: false,
            end: None,
        };
        let mut scheduler = RecordedScheduler { state, record, last: Instant::now() };
        scheduler.write(|| Record::Scheduler(Box::new(header)))?;
        Ok(scheduler)
    }

    /// Records the losses before training, or after a round of a few steps on each objective. Only before the first
    /// sensing; without a warm-up, the losses of the first sensing set the scale.
    pub fn warm_up(&mut self, loss: Vec<f64>) -> Result<()> {
        if self.state.blocks > 0 || self.state.sensed {
            return Err(Error::value(
                "warm_up",
                "a call after the first sensing or block",
                "all rounds before",
            ));
        }
        self.check("losses", &loss)?;
        self.state.scheduler.warm_up(&loss);
        let (round, step) = (self.state.rounds, self.state.steps);
        self.state.rounds += 1;
        let ms = self.lap();
        self.write(|| Record::Warmup(WarmupLine { round, step, loss, ms }))
    }

    /// Whether a sensing is due before the next block.
    pub fn due(&self) -> bool {
        self.state.scheduler.sensing_due() && !self.state.sensed
    }

    /// Takes measurements: losses, inner products of the objectives' gradients at the shared parameters, and Rayleigh
    /// quotients of their gradients at the representations. NaN marks what could not be measured.
    pub fn sense(&mut self, loss: Vec<f64>, products: &[Vec<f64>], rq: Vec<f64>) -> Result<Sensing> {
        if !self.due() {
            return Err(Error::value("sense", "a call", "none before this block; due() tells when one is"));
        }
        self.check("losses", &loss)?;
        self.check_products(products)?;
        let k = loss.len();
        if rq.len() != k || rq.iter().any(|&x| !x.is_nan() && !(0.0..=2.0 + 1e-9).contains(&x)) {
            return Err(Error::value(
                "rayleigh",
                format_args!("{rq:?}"),
                format_args!("{k} numbers from 0 to 2"),
            ));
        }
        let reading = Reading::from_products(loss, products, rq);
        let (sensed, plan) = self.state.scheduler.sense(&reading);
        let sensing = Sensing { sensed, state: self.state.scheduler.state().clone(), plan };
        self.state.sensed = true;
        let ((epoch, block), step, ms) = (self.position(), self.state.steps, self.lap());
        self.write(|| {
            let line = SenseLine::of(reading, sensing.clone());
            Record::Sense(Box::new(SenseLine { epoch, block, step, ms, ..line }))
        })?;
        Ok(sensing)
    }

    /// The objective of the next block, which will have this many steps.
    #[allow(clippy::should_implement_trait)] // it takes an argument and never ends
    pub fn next(&mut self, steps: u64) -> Result<Decision> {
        if self.due() {
            return Err(Error::value("next", "no sensing", "sense(...) first: it is due before this block"));
        }
        if steps == 0 {
            return Err(Error::value("steps", 0, "at least 1"));
        }
        let ((epoch, block), step) = (self.position(), self.state.steps);
        let decision = self.state.scheduler.next();
        self.state.sensed = false;
        self.state.blocks += 1;
        self.state.steps += steps;
        if self.record.is_some() {
            let line = BlockLine::of(decision.clone(), self.state.scheduler.objectives());
            let ms = self.lap();
            let line = BlockLine { epoch, block, step, steps, loss: f64::NAN, ms, ..line };
            self.write(|| Record::Block(Box::new(line)))?;
        }
        Ok(decision)
    }

    /// The names of the objectives.
    pub fn objectives(&self) -> &[String] {
        self.state.scheduler.objectives()
    }

    /// The planned shares.
    pub fn shares(&self) -> &[f64] {
        self.state.scheduler.shares()
    }

    /// The state as JSON. Also flushes the record to disk.
    pub fn save(&self) -> Result<String> {
        let mut state = self.state.clone();
        state.end = match &self.record {
            Some((_, writer)) => Some(writer.sync()?),
            None => None,
        };
        serde_json::to_string(&state).map_err(|error| Error::Failed(error.to_string()))
    }

    /// Restores a state from [`RecordedScheduler::save`]. The record in `record` is continued; lines written after the
    /// state was saved are removed.
    pub fn restore(saved: &str, record: Option<&Path>) -> Result<RecordedScheduler> {
        let state: SchedulerSnapshot = serde_json::from_str(saved)
            .map_err(|error| Error::value("scheduler state", error, "a state saved by this version"))?;
        let record = match (record, &state.end) {
            (Some(path), Some(end)) => Some((path.to_owned(), RecordWriter::open(path, end.clone())?)),
            (Some(path), None) => {
                let expected = "the state of a loop that kept a record";
                return Err(Error::input(path, "", "a state without a record", expected));
            }
            (None, _) => None,
        };
        Ok(RecordedScheduler { state, record, last: Instant::now() })
    }

    /// The next epoch and the next block within it, both counted from 1.
    fn position(&self) -> (usize, usize) {
        let blocks = self.state.blocks as usize;
        (blocks / self.state.blocks_per_epoch + 1, blocks % self.state.blocks_per_epoch + 1)
    }

    /// Milliseconds since the previous line.
    fn lap(&mut self) -> f64 {
        let ms = (self.last.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        self.last = Instant::now();
        ms
    }

    fn write(&mut self, record: impl FnOnce() -> Record) -> Result<()> {
        match &mut self.record {
            Some((_, writer)) => writer.append(&record()),
            None => Ok(()),
        }
    }

    /// Checks that there is one finite number per objective.
    fn check(&self, what: &str, values: &[f64]) -> Result<()> {
        let k = self.objectives().len();
        if values.len() == k && values.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        Err(Error::value(
            what,
            format_args!("{values:?}"),
            format_args!("{k} finite numbers, one per objective"),
        ))
    }

    fn check_products(&self, products: &[Vec<f64>]) -> Result<()> {
        let k = self.objectives().len();
        if products.len() != k || products.iter().any(|row| row.len() != k) {
            let found = format!("{} rows", products.len());
            return Err(Error::value("gram", found, format_args!("{k} × {k} inner products")));
        }
        for a in 0..k {
            for b in 0..a {
                let (x, y) = (products[a][b], products[b][a]);
                let size = (products[a][a] * products[b][b]).abs().sqrt();
                if (x - y).abs() > 1e-6 * size {
                    let place = format!("gram[{a}][{b}]");
                    return Err(Error::value(place, x, format_args!("{y}, as in gram[{b}][{a}]")));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::audit;
    use crate::coordinator::PlanMode;

    fn names() -> Vec<String> {
        vec!["a".into(), "b".into(), "c".into()]
    }

    fn drive(scheduler: &mut RecordedScheduler, blocks: std::ops::Range<usize>) -> Vec<usize> {
        blocks
            .map(|block| {
                if scheduler.due() {
                    let x = (block as f64 * 0.37).sin();
                    let products = [vec![1.0, 0.5 * x, -0.2], vec![0.5 * x, 2.0, 0.1], vec![-0.2, 0.1, 0.7]];
                    scheduler
                        .sense(vec![1.0 + 0.1 * x, 0.8, 0.5 - 0.2 * x], &products, vec![0.3, 1.0, 1.4])
                        .unwrap();
                }
                scheduler.next(2).unwrap().objective
            })
            .collect()
    }

    #[test]
    fn a_restored_scheduler_continues_and_its_record_passes_the_audit() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("record.jsonl");
        let mut scheduler =
            RecordedScheduler::new(names(), SchedulerSettings::default(), Some(&path)).unwrap();
        scheduler.warm_up(vec![1.0, 1.0, 1.0]).unwrap();
        let mut tasks = drive(&mut scheduler, 0..70);
        let saved = scheduler.save().unwrap();
        drive(&mut scheduler, 70..90);
        drop(scheduler);
        assert!(RecordedScheduler::new(names(), SchedulerSettings::default(), Some(&path)).is_err());

        let mut scheduler = RecordedScheduler::restore(&saved, Some(&path)).unwrap();
        tasks.extend(drive(&mut scheduler, 70..120));
        let summary = audit(&path).unwrap();
        assert_eq!((summary.blocks, summary.sensings, summary.steps), (120, 12, 240));
        let mut whole = RecordedScheduler::new(names(), SchedulerSettings::default(), None).unwrap();
        whole.warm_up(vec![1.0, 1.0, 1.0]).unwrap();
        assert_eq!(drive(&mut whole, 0..120), tasks);

        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("\"steps\":2", "\"steps\":3", 1)).unwrap();
        assert!(audit(&path).is_err());
    }

    #[test]
    fn records_of_unusual_loops_pass_the_audit() {
        let home = tempfile::tempdir().unwrap();
        // A warm-up that a uniform plan does not need.
        let path = home.path().join("uniform.jsonl");
        let mut uniform = SchedulerSettings::default();
        uniform.plan.mode = PlanMode::Uniform;
        let mut scheduler = RecordedScheduler::new(names(), uniform, Some(&path)).unwrap();
        scheduler.warm_up(vec![1.0, 1.0, 1.0]).unwrap();
        drive(&mut scheduler, 0..20);
        drop(scheduler);
        assert_eq!(audit(&path).unwrap().blocks, 20);
        // Unknown Rayleigh quotients, of one objective and of all.
        let path = home.path().join("unknown.jsonl");
        let mut scheduler =
            RecordedScheduler::new(names(), SchedulerSettings::default(), Some(&path)).unwrap();
        let products = [vec![1.0, -0.5, 0.1], vec![-0.5, 2.0, 0.1], vec![0.1, 0.1, 0.7]];
        for block in 0..40 {
            if scheduler.due() {
                let unknown = if block < 20 { vec![0.3, f64::NAN, 1.4] } else { vec![f64::NAN; 3] };
                scheduler.sense(vec![1.0, 0.8, 0.5], &products, unknown).unwrap();
            }
            scheduler.next(1).unwrap();
        }
        drop(scheduler);
        assert_eq!(audit(&path).unwrap().blocks, 40);
        // More objectives than the min-norm point is computed exactly for.
        let path = home.path().join("many.jsonl");
        let mut settings = SchedulerSettings::default();
        settings.plan.floor = 0.01;
        let k = 12;
        let mut scheduler =
            RecordedScheduler::new((0..k).map(|a| format!("task {a}")).collect(), settings, Some(&path))
                .unwrap();
        let cosine =
            |a: usize, b: usize| if a == b { 1.0 } else { 0.9 * ((a * b + a + b) as f64).sin() / k as f64 };
        let products: Vec<Vec<f64>> = (0..k).map(|a| (0..k).map(|b| cosine(a, b)).collect()).collect();
        for _ in 0..15 {
            if scheduler.due() {
                scheduler.sense(vec![1.0; k], &products, vec![0.5; k]).unwrap();
            }
            scheduler.next(1).unwrap();
        }
        drop(scheduler);
        assert_eq!(audit(&path).unwrap().blocks, 15);
    }

    #[test]
    fn impossible_input_and_calls_out_of_order_are_errors() {
        let mut scheduler = RecordedScheduler::new(names(), SchedulerSettings::default(), None).unwrap();
        let gram = vec![vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]];
        let message = |result: Result<Sensing>| result.unwrap_err().to_string();
        assert!(scheduler.next(1).unwrap_err().to_string().contains("sense(...) first"));
        assert!(message(scheduler.sense(vec![1.0], &gram, vec![0.0; 3])).contains("3 finite numbers"));
        assert!(
            message(scheduler.sense(vec![f64::NAN; 3], &gram, vec![0.0; 3])).contains("3 finite numbers")
        );
        assert!(message(scheduler.sense(vec![1.0; 3], &gram[..2], vec![0.0; 3])).contains("3 × 3"));
        assert!(message(scheduler.sense(vec![1.0; 3], &gram, vec![3.0; 3])).contains("from 0 to 2"));
        let mut askew = gram.clone();
        askew[2][0] = 0.5;
        assert!(message(scheduler.sense(vec![1.0; 3], &askew, vec![0.0; 3])).contains("gram[2][0]"));
        scheduler.sense(vec![1.0; 3], &gram, vec![0.0; 3]).unwrap();
        assert!(scheduler.sense(vec![1.0; 3], &gram, vec![0.0; 3]).is_err());
        assert!(scheduler.warm_up(vec![1.0; 3]).is_err());
        assert!(
            RecordedScheduler::new(vec!["a".into(), "a".into()], SchedulerSettings::default(), None).is_err()
        );
    }
}
