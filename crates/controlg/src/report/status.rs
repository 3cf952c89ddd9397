//! The state of a run on its live page.

use super::run_trace::RunTrace;
use crate::data::info::grouped;

/// Number of recent blocks whose time predicts the rest of the run.
const RECENT: usize = 100;

/// Whether a run is still training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// The run trains.
    Running,
    /// The run has written its embeddings.
    Finished,
    /// The run ended with this error.
    Failed(String),
}

impl RunStatus {
    /// The name of the state; also a CSS class.
    pub(super) fn name(&self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Finished => "finished",
            RunStatus::Failed(_) => "failed",
        }
    }

    /// What the state of a run is, with the time left.
    pub(super) fn describe(&self, trace: &RunTrace) -> String {
        let (steps, total) = (trace.steps_done(), trace.run.config.total_steps());
        let done = format!("step {} of {}", grouped(steps as usize), grouped(total as usize));
        match self {
            RunStatus::Failed(error) => format!("{done}; {error}"),
            RunStatus::Finished => format!("{done} in {}", unbroken(trace.seconds())),
            RunStatus::Running if steps >= total => format!("{done}, writing the embeddings"),
            RunStatus::Running => match seconds_left(trace) {
                Some(seconds) => format!("{done}, about {} left", unbroken(seconds)),
                None => format!("{done}, warming up"),
            },
        }
    }
}

/// Time left, from the time of the recent blocks and of the sensings between them; `None` before the first block.
fn seconds_left(trace: &RunTrace) -> Option<f64> {
    let recent = &trace.blocks[trace.blocks.len().saturating_sub(RECENT)..];
    let first = recent.first()?.step;
    let sensing: f64 = trace.sensings.iter().filter(|line| line.step >= first).map(|line| line.ms).sum();
    let training: f64 = recent.iter().map(|block| block.ms).sum();
    let steps = trace.steps_done() - first;
    let left = trace.run.config.total_steps().saturating_sub(trace.steps_done());
    (steps > 0).then(|| (training + sensing) / 1e3 / steps as f64 * left as f64)
}

/// A duration as `12 s`, `3:05 min` or `1:20 h`, rounded up to seconds.
pub fn format_duration(seconds: f64) -> String {
    match seconds.max(0.0).ceil() as u64 {
        s if s < 60 => format!("{s} s"),
        s if s < 3600 => format!("{}:{:02} min", s / 60, s % 60),
        s => format!("{}:{:02} h", s / 3600, s / 60 % 60),
    }
}

/// A duration whose number and unit stay on one line of a page.
fn unbroken(seconds: f64) -> String {
    format_duration(seconds).replace(' ', "\u{a0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_one_unit() {
        assert_eq!(
            [0.2, 59.5, 185.0, 4800.0].map(format_duration),
            ["1 s", "1:00 min", "3:05 min", "1:20 h"]
        );
    }
}
