//! The audit of a search for settings (`pretrain --auto`).

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::auto::{AutoSearch, finished};
use crate::config::{self, Config};
use crate::error::{Error, Result};
use crate::run_files;

/// What a search did, if it follows from its records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchSummary {
    /// Number of candidates.
    pub candidates: usize,
    /// Number of short runs, those that failed included.
    pub runs: usize,
    /// Number of short runs that failed.
    pub failed: usize,
    /// The chosen candidate, from 1.
    pub winner: usize,
    /// What makes it a candidate, as `key=value`.
    pub settings: Vec<String>,
}

/// Audits the record of every short run, and derives the choice again from the qualities in them. `None` if there was no search.
pub(super) fn audit(run: &Path) -> Result<Option<SearchSummary>> {
    let path = run.join(run_files::AUTO);
    if !path.exists() {
        return Ok(None);
    }
    let search = AutoSearch::read(run)?;
    let (mut runs, mut failed) = (0, 0);
    for (at, round) in search.rounds.iter().enumerate() {
        let place = |field: &str| SearchPlace { file: &path, place: format!("round {}, {field}", at + 1) };
        let found: Vec<usize> = round.outcomes.iter().map(|outcome| outcome.candidate).collect();
        let expected = search.taking_part(at).unwrap_or_default();
        place("candidates").same(&found, &expected)?;
        for outcome in &round.outcomes {
            runs += 1;
            if outcome.failure.is_some() {
                failed += 1;
                continue;
            }
            let folder = AutoSearch::run_folder(run, at, outcome.candidate);
            super::audit(&folder)?;
            let recorded = finished(&folder, &search.short_config(at, outcome.candidate)?)?;
            place(&format!("candidate {}", outcome.candidate + 1)).same(&outcome.quality, &recorded)?;
        }
        let scores: Vec<f64> = round.outcomes.iter().map(|outcome| outcome.score).collect();
        place("score").same(&scores, &search.scores(&round.outcomes))?;
    }
    let winner = SearchPlace { file: &path, place: "winner".to_owned() };
    winner.same(&search.winner, &search.derived_winner())?;
    let Some(index) = search.winner else { return Err(winner.differs("none", "a candidate")) };
    let settings = run.join(run_files::CONFIG);
    let trained = Config::from_table(config::read(&settings)?)?;
    if let Some((key, was, is)) = config::first_difference(&trained, &search.full_config(index)?)? {
        return Err(SearchPlace { file: &settings, place: key }.differs(was, is));
    }
    let settings = search.candidates[index].settings.clone();
    Ok(Some(SearchSummary { candidates: search.candidates.len(), runs, failed, winner: index + 1, settings }))
}

/// A place in a file of the search.
struct SearchPlace<'p> {
    file: &'p PathBuf,
    place: String,
}

impl SearchPlace<'_> {
    fn differs(&self, found: impl std::fmt::Display, expected: impl std::fmt::Display) -> Error {
        let (file, place) = (self.file.clone(), self.place.clone());
        Error::Check { file, place, found: found.to_string(), expected: expected.to_string() }
    }

    fn same<T: PartialEq + std::fmt::Debug>(&self, found: &T, expected: &T) -> Result<()> {
        match found == expected {
            true => Ok(()),
            false => Err(self.differs(format_args!("{found:?}"), format_args!("{expected:?}"))),
        }
    }
}
