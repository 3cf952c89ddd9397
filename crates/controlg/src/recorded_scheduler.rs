//! The scheduler alone, for people who keep their own training loop, with its input checked and its record kept.
//!
//! [`Scheduler`] decides; [`RecordedScheduler`] puts what a stranger's loop needs around it: it refuses readings that cannot be
//! and calls in the wrong order, and writes a record that [`crate::audit`] accepts.
//!
//! ```
//! use controlg::own_loop::OwnLoop;
//!
//! let tasks = vec!["contrast".to_owned(), "rebuild".to_owned()];
//! let mut own = OwnLoop::new(tasks, Default::default(), None).unwrap();
//! for _block in 0..100 {
//!     if own.due() {
//!         // losses, inner products of the tasks' gradients, Rayleigh quotients
//!         let products = [vec![1.0, -0.2], vec![-0.2, 0.5]];
//!         own.sense(vec![1.5, 0.8], &products, vec![0.4, 0.9]).unwrap();
//!     }
//!     let task = own.next(1).unwrap().objective; // train this one for a block of one step
//! #   assert!(task < 2);
//! }
//! ```

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::coordinator::{Decision, Reading, Scheduler, SchedulerSettings, Sensing};
use crate::error::{Error, Result};
use crate::trace::{BlockLine, Record, RecordWriter, SchedulerLine, SenseLine, TraceEnd, WarmupLine};

/// A scheduler in somebody's own loop.
#[derive(Debug)]
pub struct RecordedScheduler {
    state: SchedulerSnapshot,
    record: Option<(PathBuf, RecordWriter)>,
    /// When the line before was made: the time a block took is known to the loop alone, that since is not.
    last: Instant,
}

/// All that is remembered.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SchedulerSnapshot {
    scheduler: Scheduler,
    blocks_per_epoch: usize,
    rounds: usize,
    blocks: u64,
    steps: u64,
    /// Whether the next block has had its reading.
    sensed: bool,
    /// Where the record ended, for a loop that keeps one.
    end: Option<TraceEnd>,
}

impl RecordedScheduler {
    /// A scheduler of these tasks, which keeps its record in a file where one is named. A file that is there already is
    /// refused; to go on with it, use [`RecordedScheduler::restore`].
    pub fn new(
        tasks: Vec<String>,
        settings: SchedulerSettings,
        record: Option<&Path>,
    ) -> Result<RecordedScheduler> {
        if let Some(twice) = tasks.iter().enumerate().find(|(at, name)| tasks[..*at].contains(name)) {
            return Err(Error::value("tasks", format_args!("'{}' twice", twice.1), "each name once"));
        }
        let header = SchedulerLine {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            objectives: tasks.clone(),
            settings: settings.clone(),
        };
        let blocks_per_epoch = settings.blocks_per_epoch;
        let scheduler = Scheduler::new(tasks, settings)?;
        let record = match record {
            Some(path) if path.exists() => {
                let expected = "a new file, or the saved state of the loop that wrote this one";
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
        let mut own = RecordedScheduler { state, record, last: Instant::now() };
        own.write(|| Record::Scheduler(Box::new(header)))?;
        Ok(own)
    }

    /// Takes the losses before training, or after a round of a few steps on each task. Only before the first reading;
    /// without it, the losses of the first reading set the scale.
    pub fn warm_up(&mut self, loss: Vec<f64>) -> Result<()> {
        if self.state.blocks > 0 || self.state.sensed {
            return Err(Error::value("warm_up", "a loop under way", "all rounds before the first reading"));
        }
        self.check("losses", &loss)?;
        self.state.scheduler.warm_up(&loss);
        let (round, step) = (self.state.rounds, self.state.steps);
        self.state.rounds += 1;
        let ms = self.lap();
        self.write(|| Record::Warmup(WarmupLine { round, step, loss, ms }))
    }

    /// Whether the next block wants a reading first.
    pub fn due(&self) -> bool {
        self.state.scheduler.sensing_due() && !self.state.sensed
    }

    /// Takes a reading: losses, inner products of the tasks' gradients at the shared parameters, Rayleigh quotients of
    /// their gradients at the representations. A gradient that could not be measured is NaN.
    pub fn sense(&mut self, loss: Vec<f64>, products: &[Vec<f64>], rq: Vec<f64>) -> Result<Sensing> {
        if !self.due() {
            return Err(Error::value("sense", "a reading", "none before this block; due() says when"));
        }
        self.check("losses", &loss)?;
        self.check_products(products)?;
        let k = loss.len();
        if rq.len() != k || rq.iter().any(|&x| !x.is_nan() && !(0.0..=2.0 + 1e-9).contains(&x)) {
            return Err(Error::value(
                "rayleigh",
                format_args!("{rq:?}"),
                format_args!("{k} numbers of 0 to 2"),
            ));
        }
        let reading = Reading::from_products(loss, products, rq);
        let (sensed, plan) = self.state.scheduler.sense(&reading);
        let sensing = Sensing { sensed, state: self.state.scheduler.state().clone(), plan };
        self.state.sensed = true;
        let ((epoch, block), step, ms) = (self.place(), self.state.steps, self.lap());
        self.write(|| {
            let Reading { loss, grad_norm, cosine, rq } = reading;
            let sensing = sensing.clone();
            Record::Sense(Box::new(SenseLine {
                epoch,
                block,
                step,
                loss,
                grad_norm,
                rq,
                cosine,
                sensing,
                ms,
            }))
        })?;
        Ok(sensing)
    }

    /// The task of the next block, which will have this many steps.
    #[allow(clippy::should_implement_trait)] // an endless source of decisions is no collection to iterate over
    pub fn next(&mut self, steps: u64) -> Result<Decision> {
        if self.due() {
            return Err(Error::value("next", "no reading", "sense(...) first: it is due before this block"));
        }
        if steps == 0 {
            return Err(Error::value("steps", 0, "at least 1"));
        }
        let ((epoch, block), step) = (self.place(), self.state.steps);
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

    /// The tasks' names.
    pub fn tasks(&self) -> &[String] {
        self.state.scheduler.objectives()
    }

    /// The planned shares.
    pub fn shares(&self) -> &[f64] {
        self.state.scheduler.shares()
    }

    /// Everything it remembers, as JSON. The record up to here is on the disk when this returns.
    pub fn save(&self) -> Result<String> {
        let mut state = self.state.clone();
        state.end = match &self.record {
            Some((_, writer)) => Some(writer.sync()?),
            None => None,
        };
        serde_json::to_string(&state).map_err(|error| Error::Failed(error.to_string()))
    }

    /// Takes over what [`RecordedScheduler::save`] gave. A record is kept on in `record`: what was written after the state was
    /// saved is removed from it.
    pub fn restore(saved: &str, record: Option<&Path>) -> Result<RecordedScheduler> {
        let state: SchedulerSnapshot = serde_json::from_str(saved)
            .map_err(|error| Error::value("scheduler state", error, "what this version saved"))?;
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

    /// The epoch and the block within it that come next, both from 1.
    fn place(&self) -> (usize, usize) {
        let blocks = self.state.blocks as usize;
        (blocks / self.state.blocks_per_epoch + 1, blocks % self.state.blocks_per_epoch + 1)
    }

    /// Milliseconds since the line before.
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

    /// One finite number a task.
    fn check(&self, what: &str, values: &[f64]) -> Result<()> {
        let k = self.tasks().len();
        if values.len() == k && values.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        Err(Error::value(
            what,
            format_args!("{values:?}"),
            format_args!("{k} finite numbers, one for each task"),
        ))
    }

    fn check_products(&self, products: &[Vec<f64>]) -> Result<()> {
        let k = self.tasks().len();
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

    fn drive(own: &mut RecordedScheduler, blocks: std::ops::Range<usize>) -> Vec<usize> {
        blocks
            .map(|block| {
                if own.due() {
                    let x = (block as f64 * 0.37).sin();
                    let products = [vec![1.0, 0.5 * x, -0.2], vec![0.5 * x, 2.0, 0.1], vec![-0.2, 0.1, 0.7]];
                    own.sense(vec![1.0 + 0.1 * x, 0.8, 0.5 - 0.2 * x], &products, vec![0.3, 1.0, 1.4])
                        .unwrap();
                }
                own.next(2).unwrap().objective
            })
            .collect()
    }

    #[test]
    fn a_record_passes_the_audit_also_after_going_on_from_a_saved_state() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("record.jsonl");
        let mut own = RecordedScheduler::new(names(), SchedulerSettings::default(), Some(&path)).unwrap();
        own.warm_up(vec![1.0, 1.0, 1.0]).unwrap();
        let mut tasks = drive(&mut own, 0..70);
        let saved = own.save().unwrap();
        drive(&mut own, 70..90);
        drop(own);
        assert!(RecordedScheduler::new(names(), SchedulerSettings::default(), Some(&path)).is_err());

        let mut own = RecordedScheduler::restore(&saved, Some(&path)).unwrap();
        tasks.extend(drive(&mut own, 70..120));
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
    fn a_record_passes_the_audit_whatever_the_loop_may_do() {
        let home = tempfile::tempdir().unwrap();
        // A warm-up that a uniform plan has no use for.
        let path = home.path().join("uniform.jsonl");
        let mut uniform = SchedulerSettings::default();
        uniform.plan.mode = PlanMode::Uniform;
        let mut own = RecordedScheduler::new(names(), uniform, Some(&path)).unwrap();
        own.warm_up(vec![1.0, 1.0, 1.0]).unwrap();
        drive(&mut own, 0..20);
        drop(own);
        assert_eq!(audit(&path).unwrap().blocks, 20);
        // Rayleigh quotients that could not be measured, of one task and of all.
        let path = home.path().join("unknown.jsonl");
        let mut own = RecordedScheduler::new(names(), SchedulerSettings::default(), Some(&path)).unwrap();
        let products = [vec![1.0, -0.5, 0.1], vec![-0.5, 2.0, 0.1], vec![0.1, 0.1, 0.7]];
        for block in 0..40 {
            if own.due() {
                let unknown = if block < 20 { vec![0.3, f64::NAN, 1.4] } else { vec![f64::NAN; 3] };
                own.sense(vec![1.0, 0.8, 0.5], &products, unknown).unwrap();
            }
            own.next(1).unwrap();
        }
        drop(own);
        assert_eq!(audit(&path).unwrap().blocks, 40);
        // More tasks than the geometry is solved for exactly.
        let path = home.path().join("many.jsonl");
        let mut settings = SchedulerSettings::default();
        settings.plan.floor = 0.01;
        let k = 12;
        let mut own =
            RecordedScheduler::new((0..k).map(|a| format!("task {a}")).collect(), settings, Some(&path))
                .unwrap();
        let cosine =
            |a: usize, b: usize| if a == b { 1.0 } else { 0.9 * ((a * b + a + b) as f64).sin() / k as f64 };
        let products: Vec<Vec<f64>> = (0..k).map(|a| (0..k).map(|b| cosine(a, b)).collect()).collect();
        for _ in 0..15 {
            if own.due() {
                own.sense(vec![1.0; k], &products, vec![0.5; k]).unwrap();
            }
            own.next(1).unwrap();
        }
        drop(own);
        assert_eq!(audit(&path).unwrap().blocks, 15);
    }

    #[test]
    fn what_cannot_be_and_what_comes_out_of_turn_is_refused() {
        let mut own = RecordedScheduler::new(names(), SchedulerSettings::default(), None).unwrap();
        let gram = vec![vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]];
        let message = |result: Result<Sensing>| result.unwrap_err().to_string();
        assert!(own.next(1).unwrap_err().to_string().contains("sense(...) first"));
        assert!(message(own.sense(vec![1.0], &gram, vec![0.0; 3])).contains("3 finite numbers"));
        assert!(message(own.sense(vec![f64::NAN; 3], &gram, vec![0.0; 3])).contains("3 finite numbers"));
        assert!(message(own.sense(vec![1.0; 3], &gram[..2], vec![0.0; 3])).contains("3 × 3"));
        assert!(message(own.sense(vec![1.0; 3], &gram, vec![3.0; 3])).contains("0 to 2"));
        let mut askew = gram.clone();
        askew[2][0] = 0.5;
        assert!(message(own.sense(vec![1.0; 3], &askew, vec![0.0; 3])).contains("gram[2][0]"));
        own.sense(vec![1.0; 3], &gram, vec![0.0; 3]).unwrap();
        assert!(own.sense(vec![1.0; 3], &gram, vec![0.0; 3]).is_err());
        assert!(own.warm_up(vec![1.0; 3]).is_err());
        assert!(
            RecordedScheduler::new(vec!["a".into(), "a".into()], SchedulerSettings::default(), None).is_err()
        );
    }
}
