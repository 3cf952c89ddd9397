//! Progress of a run: a live table on a terminal, otherwise one line per epoch.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use controlg::config::Config;
use controlg::report::format_duration;
use controlg::trace::Record;

use crate::console::Console;

/// Minimum time between two updates of the table.
const REFRESH: Duration = Duration::from_millis(100);

/// Progress display of a run.
pub(crate) struct ProgressBar<'o> {
    console: &'o Console,
    objectives: Vec<String>,
    epochs: usize,
    total: u64,
    live: bool,
    start: Instant,
    last_update: Option<Instant>,
    /// Steps done by this process, for the rate.
    steps_done: u64,
    epoch: usize,
    /// Number of blocks of each objective in this epoch, and its last loss.
    blocks: Vec<u64>,
    loss: Vec<f64>,
    /// Planned shares and deficits (blocks behind the plan); empty for methods without a plan.
    plan: Vec<f64>,
    deficit: Vec<f64>,
    /// Gradient weights; empty unless the method mixes gradients.
    weight: Vec<f64>,
    pending: Option<String>,
}

impl<'o> ProgressBar<'o> {
    pub(crate) fn new(config: &Config, console: &'o Console) -> Self {
        let k = config.objectives.len();
        ProgressBar {
            console,
            objectives: config.objectives.clone(),
            epochs: config.train.epochs,
            total: config.total_steps(),
            live: std::io::stderr().is_terminal(),
            start: Instant::now(),
            last_update: None,
            steps_done: 0,
            epoch: 0,
            blocks: vec![0; k],
            loss: vec![f64::NAN; k],
            plan: Vec::new(),
            deficit: Vec::new(),
            weight: Vec::new(),
            pending: None,
        }
    }

    pub(crate) fn show(&mut self, record: &Record) {
        match record {
            Record::Warmup(line) if self.live => {
                self.console.status(format_args!("warm-up, round {}", line.round + 1));
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
                // A mixing method reports the losses of all objectives.
                if block.losses.len() == self.loss.len() {
                    self.loss.clone_from(&block.losses);
                }
                self.plan.clone_from(&block.plan);
                self.deficit.clone_from(&block.deficit);
                self.weight.clone_from(&block.weight);
                self.steps_done += block.steps;
                let step = block.step + block.steps;
                if !self.live {
                    self.pending = Some(self.line(step));
                } else if self.last_update.is_none_or(|time| time.elapsed() > REFRESH) {
                    self.console.status(self.table(step));
                    self.last_update = Some(Instant::now());
                }
            }
            _ => {}
        }
    }

    /// Clears the display.
    pub(crate) fn end(&mut self) {
        self.flush();
        if self.live {
            self.console.status("");
        }
    }

    /// Prints the pending line of the last epoch.
    fn flush(&mut self) {
        if let Some(line) = self.pending.take() {
            self.console.log(line);
        }
    }

    fn line(&self, step: u64) -> String {
        let done: u64 = self.blocks.iter().sum();
        let mut line = self.header(step);
        for (task, name) in self.objectives.iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = write!(line, " | {}", short(name));
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

    /// One line per objective: share of this epoch's blocks with a mark at the planned share, loss, deficit.
    fn table(&self, step: u64) -> String {
        let done: u64 = self.blocks.iter().sum();
        let mut table = self.header(step);
        let width = self.objectives.iter().map(|name| short(name).len()).max().unwrap_or(0);
        for (task, name) in self.objectives.iter().enumerate() {
            let _ = write!(table, "\n  {:<width$}", short(name));
            let (share, plan) = match self.weight.get(task) {
                Some(&weight) => (weight, None),
                None => (self.blocks[task] as f64 / done.max(1) as f64, self.plan.get(task).copied()),
            };
            let _ = write!(table, "  {} {share:>5.2}", bar(share, plan));
            if !self.loss[task].is_nan() {
                let _ = write!(table, "  loss {:>8.3}", self.loss[task]);
            }
            if let Some(deficit) = self.deficit.get(task) {
                let _ = write!(table, "  deficit {deficit:+5.1}");
            }
        }
        table
    }

    fn header(&self, step: u64) -> String {
        let rate = self.steps_done as f64 / self.start.elapsed().as_secs_f64().max(1e-9);
        let left = (self.total - step) as f64 / rate.max(1e-9);
        format!(
            "epoch {}/{} step {step}/{}, {rate:.1} steps/s, {} left",
            self.epoch,
            self.epochs,
            self.total,
            format_duration(left)
        )
    }
}

/// The name of an objective without the common prefix.
fn short(name: &str) -> &str {
    name.strip_prefix("p_").unwrap_or(name)
}

/// A share as a bar, with a mark at the planned share.
fn bar(share: f64, plan: Option<f64>) -> String {
    const WIDTH: usize = 24;
    let cells = |share: f64| (share.clamp(0.0, 1.0) * WIDTH as f64).round() as usize;
    let mark = plan.map(|plan| cells(plan).min(WIDTH - 1));
    let cell = |at: usize| match at {
        _ if mark == Some(at) => '|',
        _ if at < cells(share) => '#',
        _ => '.',
    };
    (0..WIDTH).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_shows_share_and_plan() {
        assert_eq!(bar(0.5, None), "############............");
        assert_eq!(bar(0.25, Some(0.5)), "######......|...........");
        assert_eq!(bar(7.0, Some(1.0)), "#######################|");
        assert_eq!(bar(f64::NAN, None), "........................");
    }
}
