//! `comparison.json`: the definition of a comparison.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Comparison, ComparisonReport, GridChoice, ResultCell};
use crate::error::Result;
use crate::files;

/// Definition of a comparison as stored in its folder; enough to rebuild the tables from `results.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Definition of the comparison.
    pub comparison: Comparison,
    /// Reference method of the paired differences.
    pub reference: String,
    /// Whether to show the paper's numbers.
    pub against_paper: bool,
    /// Settings chosen by a grid search.
    pub choices: Vec<GridChoice>,
}

impl Manifest {
    /// File name.
    pub const FILE: &str = "comparison.json";

    /// Reads the manifest of a comparison.
    pub fn read(folder: &Path) -> Result<Manifest> {
        files::read_json(&folder.join(Self::FILE), "a file written by controlg compare")
    }

    /// Writes the manifest.
    pub fn write(&self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(Self::FILE), self)
    }

    /// The results that belong to this comparison.
    pub fn cells(&self, all: &[ResultCell]) -> Result<Vec<ResultCell>> {
        Ok(self.comparison.results_of(&self.comparison.jobs(&self.choices)?, all))
    }

    /// Builds the tables.
    pub fn report(&self, cells: &[ResultCell]) -> Result<ComparisonReport> {
        ComparisonReport::new(&self.comparison, cells, &self.reference, self.against_paper)
    }
}
