//! A table or figure of the paper.

use super::{Part, ReproduceSettings};
use crate::error::{Error, Result};
use crate::eval::Task;

/// A number of the paper, with the half-width of its 95 % interval if it has one.
pub type PaperNumber = (f64, Option<f64>);

/// A table or figure of the paper.
pub struct ReproduceTarget {
    /// Name on the command line.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Where it is in the paper.
    pub paper: &'static str,
    /// The task of its numbers; `None` for what is not a table of scores.
    pub task: Option<Task>,
    /// The comparisons that it needs.
    pub(super) parts: fn(&ReproduceSettings) -> Vec<Part>,
    /// The number in the paper, by data set and row, with the half-width of its interval if it has one.
    pub(super) published: fn(&str, &str) -> Option<PaperNumber>,
}

impl ReproduceTarget {
    /// The name of the target that measures time.
    pub const TIMING: &str = "timing";
    /// The name of the target that draws the record of a run.
    pub const FIGURES: &str = "figures";
    /// The name of the target that tries many gains.
    pub const GAINS: &str = "gains";

    /// The target with this name.
    pub fn find(name: &str) -> Result<&'static ReproduceTarget> {
        let names = super::TARGETS.iter().map(|target| target.name);
        super::TARGETS
            .iter()
            .find(|target| target.name == name)
            .ok_or_else(|| Error::unknown("target", name, names))
    }

    /// The comparisons that it needs.
    pub fn parts(&self, settings: &ReproduceSettings) -> Vec<Part> {
        (self.parts)(settings)
    }

    /// The number in the paper, with the half-width of its interval if it has one.
    pub fn published(&self, data: &str, row: &str) -> Option<PaperNumber> {
        (self.published)(data, row)
    }
}
