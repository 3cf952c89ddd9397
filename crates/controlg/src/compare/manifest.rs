//! `comparison.json`: the definition of a comparison.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Comparison, ComparisonReport, GridChoice, ResultCell};
use crate::data::limits;
use crate::error::{Error, Result};
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
        let path = folder.join(Self::FILE);
        let text = limits::read_text(&path)?;
        serde_json::from_str(&text).map_err(|error| {
            Error::input(
                &path,
                format_args!("line {}", error.line()),
                error,
                "a file written by controlg compare",
            )
        })
    }

    /// Writes the manifest.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::Failed(error.to_string()))?;
        files::atomic_write_bytes(&folder.join(Self::FILE), text + "\n")
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
