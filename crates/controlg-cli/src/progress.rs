//! How far a run is: one line that changes on a terminal, a line an epoch elsewhere.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use controlg::config::Config;
use controlg::trace::Record;

use crate::output::Output;

/// The least time between two changes of the line.
const PAUSE: Duration = Duration::from_millis(100);

/// What is shown of a run while it goes on.
pub(crate) struct Progress<'o> {
    output: &'o Output,
    objectives: Vec<String>,
    epochs: usize,
    total: u64,
    live: bool,
    start: Instant,
    shown: Option<Instant>,
    /// Steps seen since the start of this process, for the rate.
    seen: u64,
    epoch: usize,
    /// Blocks of each objective in this epoch, and its last loss.
    blocks: Vec<u64>,
    loss: Vec<f64>,
    /// How many blocks each objective is behind its plan, where there is one.
    deficit: Vec<f64>,
    pending: Option<String>,
}

impl<'o> Progress<'o> {
    pub(crate) fn new(config: &Config, output: &'o Output) -> Self {
        let k = config.objectives.len();
        Progress {
            output,
            objectives: config.objectives.clone(),
            epochs: config.train.epochs,
            total: config.total_steps(),
            live: std::io::stderr().is_terminal(),
            start: Instant::now(),
            shown: None,
            seen: 0,
            epoch: 0,
            blocks: vec![0; k],
            loss: vec![f64::NAN; k],
            deficit: Vec::new(),
            pending: None,
        }
    }

    pub(crate) fn show(&mut self, record: &Record) {
        match record {
            Record::Warmup(line) if self.live => {
                self.output.status(format_args!("warm-up, round {}", line.round + 1));
            }
            Record::Block(block) => {
                if block.epoch != self.epoch {
                    self.flush();
                    self.epoch = block.epoch;
                    self.blocks.fill(0);
                }
                if let Some(task) = self.objectives.iter().position(|name| *name == block.task) {
                    self.blocks[task] += 1;
                    self.loss[task] = block.loss;
                }
                // A method that mixes has no shares to show.
                if block.losses.len() == self.loss.len() {
                    self.loss.clone_from(&block.losses);
                }
                self.deficit.clone_from(&block.deficit);
                self.seen += block.steps;
                let line = self.line(block.step + block.steps);
                if self.live && self.shown.is_none_or(|shown| shown.elapsed() > PAUSE) {
                    self.output.status(&line);
                    self.shown = Some(Instant::now());
                }
                self.pending = Some(line);
            }
            _ => {}
        }
    }

    /// Ends what was being shown.
    pub(crate) fn end(&mut self) {
        self.flush();
        if self.live {
            self.output.status("");
        }
    }

    /// Elsewhere than on a terminal an epoch is one line.
    fn flush(&mut self) {
        if let Some(line) = self.pending.take().filter(|_| !self.live) {
            self.output.remark(line);
        }
    }

    fn line(&self, step: u64) -> String {
        let rate = self.seen as f64 / self.start.elapsed().as_secs_f64().max(1e-9);
        let left = Duration::from_secs_f64((self.total - step) as f64 / rate.max(1e-9));
        let done: u64 = self.blocks.iter().sum();
        let mut line = format!("epoch {}/{} step {step}/{}", self.epoch, self.epochs, self.total);
        // A narrow terminal cuts the end: what matters most comes first. Writing to a String cannot fail.
        let _ = write!(line, ", {rate:.1} steps/s, {} left", in_words(left));
        for (task, name) in self.objectives.iter().enumerate() {
            let _ = write!(line, " | {}", name.strip_prefix("p_").unwrap_or(name));
            if done > 0 {
                let _ = write!(line, " {:.0}%", 100.0 * self.blocks[task] as f64 / done as f64);
            }
            if !self.loss[task].is_nan() {
                let _ = write!(line, " {:.3}", self.loss[task]);
            }
            if let Some(deficit) = self.deficit.get(task) {
                let _ = write!(line, " {deficit:+.1}");
            }
        }
        line
    }
}

pub(crate) fn in_words(time: Duration) -> String {
    match time.as_secs() {
        s if s < 60 => format!("{s} s"),
        s if s < 3600 => format!("{}:{:02} min", s / 60, s % 60),
        s => format!("{}:{:02} h", s / 3600, s / 60 % 60),
    }
}
