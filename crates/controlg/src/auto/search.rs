//! Runs a search in a run folder.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use toml::Table;

use super::{AutoOutcome, AutoSearch};
use crate::config::{self, Config};
use crate::error::{Error, Result};
use crate::eval::quality::Quality;
use crate::files::FolderLock;
use crate::graph::{Graph, HopWeights};
use crate::run_files;
use crate::trace::{self, Record};
use crate::train::{RunFolder, has_files, remove_run};

/// A run folder whose settings are chosen by a search. A search that was interrupted continues where it stopped.
pub struct AutoFolder<'a> {
    path: &'a Path,
    search: AutoSearch,
    stop: Option<&'a AtomicBool>,
    replace: bool,
}

/// Progress events of a search.
pub enum AutoEvent<'e> {
    /// A short run ended: its round, its number among `runs` runs, and the settings and quality of its candidate.
    Ran {
        /// The round, from 1.
        round: usize,
        /// The number of the run in the round, from 1.
        number: usize,
        /// Runs of the round.
        runs: usize,
        /// The outcome, without its score.
        outcome: &'e AutoOutcome,
    },
    /// The search ended with this candidate.
    Chosen {
        /// Its index.
        candidate: usize,
        /// What makes it a candidate.
        settings: &'e [String],
    },
}

impl fmt::Display for AutoEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AutoEvent::Ran { round, number, runs, outcome } => {
                let candidate = outcome.candidate + 1;
                write!(f, "auto: round {round}, run {number}/{runs}: candidate {candidate}, {outcome}")
            }
            AutoEvent::Chosen { candidate, settings } => {
                write!(f, "auto: chose candidate {}: {}", candidate + 1, settings.join(" "))
            }
        }
    }
}

impl fmt::Display for AutoOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(quality) = self.quality else {
            return write!(f, "failed: {}", self.failure.as_deref().unwrap_or_default());
        };
        let number = |name: &str, value: Option<f64>, digits: usize| match value {
            Some(value) => format!("{name} {value:.digits$}"),
            None => format!("{name} unknown"),
        };
        let measures = [
            number("Calinski–Harabasz", quality.calinski_harabasz, 1),
            number("edge AUC", quality.edge_auc, 3),
            number("effective rank", quality.effective_rank, 1),
        ];
        write!(f, "{}", measures.join(", "))
    }
}

impl<'a> AutoFolder<'a> {
    /// A folder for a search with the user's settings. A folder with a run or a search in it is an error, unless `resume` is set
    /// and the search is the same, or `replace` is set.
    pub fn open(path: &'a Path, given: &Table, resume: bool, replace: bool) -> Result<Self> {
        let planned = AutoSearch::plan(given)?;
        let search = match path.join(run_files::AUTO).exists() {
            _ if replace => planned,
            true if resume => {
                let stored = AutoSearch::read(path)?;
                if stored.candidates != planned.candidates {
                    let found = "other candidates";
                    let expected =
                        "those of the search in the folder, which --resume without settings continues";
                    return Err(Error::input(&path.join(run_files::AUTO), "candidates", found, expected));
                }
                stored
            }
            true => {
                let expected = "a new folder, --resume to continue the search, or --force to replace it";
                return Err(Error::input(path, "", "a search", expected));
            }
            false if path.join(run_files::CONFIG).exists() || (has_files(path) && !resume) => {
                return Err(Error::input(path, "", "a folder with other files", "a new or empty folder"));
            }
            false => planned,
        };
        Ok(AutoFolder { path, search, stop: None, replace })
    }

    /// The search of a folder, to continue it.
    pub fn resume(path: &'a Path) -> Result<Self> {
        Ok(AutoFolder { path, search: AutoSearch::read(path)?, stop: None, replace: false })
    }

    /// Stops after the current block when the flag is set: returns [`Error::Interrupted`].
    pub fn stop_when(self, flag: &'a AtomicBool) -> Self {
        AutoFolder { stop: Some(flag), ..self }
    }

    /// The search as it stands.
    pub fn search(&self) -> &AutoSearch {
        &self.search
    }

    /// Runs what is missing, and returns the settings of the full run.
    pub fn run(mut self, graph: &Graph, mut on_event: impl FnMut(AutoEvent<'_>)) -> Result<Config> {
        fs::create_dir_all(self.path)
            .map_err(|error| Error::io(format_args!("creating {}", self.path.display()), error))?;
        let _lock = FolderLock::take(self.path, Duration::ZERO)?;
        if self.replace {
            remove_run(self.path)?;
        }
        if self.search.own_share.is_none() && self.search.rounds.iter().all(|round| round.outcomes.is_empty())
        {
            let weights = HopWeights::of(graph)?;
            self.search.own_share = Some(weights.own / (weights.own + weights.twice));
        }
        self.search.write(self.path)?;
        for round in 0..self.search.rounds.len() {
            if !self.search.rounds[round].outcomes.is_empty() {
                continue;
            }
            let candidates = self.search.taking_part(round).ok_or_else(|| self.all_failed(round))?;
            let mut outcomes = Vec::new();
            for (number, &candidate) in candidates.iter().enumerate() {
                let outcome = self.short_run(graph, round, candidate)?;
                on_event(AutoEvent::Ran {
                    round: round + 1,
                    number: number + 1,
                    runs: candidates.len(),
                    outcome: &outcome,
                });
                outcomes.push(outcome);
            }
            let scores = self.search.scores(&outcomes);
            outcomes.iter_mut().zip(scores).for_each(|(outcome, score)| outcome.score = score);
            self.search.rounds[round].outcomes = outcomes;
            self.search.write(self.path)?;
        }
        let winner = self.search.derived_winner().ok_or_else(|| self.all_failed(self.search.rounds.len()))?;
        self.search.winner = Some(winner);
        self.search.write(self.path)?;
        on_event(AutoEvent::Chosen { candidate: winner, settings: &self.search.candidates[winner].settings });
        self.search.full_config(winner)
    }

    /// One short run, or what is known of it.
    fn short_run(&self, graph: &Graph, round: usize, candidate: usize) -> Result<AutoOutcome> {
        let config = self.search.short_config(round, candidate)?;
        let folder = AutoSearch::run_folder(self.path, round, candidate);
        let of = |quality, failure| AutoOutcome { candidate, quality, failure, score: 0.0 };
        if let Some(quality) = finished(&folder, &config)? {
            remove_artifacts(&folder)?;
            return Ok(of(Some(quality), None));
        }
        let mut run = RunFolder::open(&folder, &config, true)?;
        if let Some(flag) = self.stop {
            run = run.stop_when(flag);
        }
        match run.pretrain(graph, |_| {}) {
            Ok(_) => {}
            Err(error @ (Error::Interrupted(_) | Error::Io { .. })) => return Err(error),
            // A candidate may not suit the graph, or diverge.
            Err(error) => return Ok(of(None, Some(error.to_string()))),
        }
        let quality = finished(&folder, &config)?;
        remove_artifacts(&folder)?;
        Ok(of(quality, None))
    }

    fn all_failed(&self, round: usize) -> Error {
        let outcomes = round.checked_sub(1).map(|before| &self.search.rounds[before].outcomes);
        let first = outcomes.into_iter().flatten().find_map(|outcome| outcome.failure.clone());
        Error::Failed(format!("every candidate of --auto failed; the first: {}", first.unwrap_or_default()))
    }
}

/// The quality at the end of a short run with these settings; `None` if it has not ended.
pub(crate) fn finished(folder: &Path, config: &Config) -> Result<Option<Quality>> {
    let (settings, record) = (folder.join(run_files::CONFIG), folder.join(run_files::TRACE));
    if !settings.exists() || !record.exists() {
        return Ok(None);
    }
    let before = Config::from_table(config::read(&settings)?)?;
    if let Some((key, was, is)) = config::first_difference(&before, config)? {
        return Err(Error::input(&settings, key, format_args!("{was}, but now {is}"), "the same settings"));
    }
    let lines = trace::read(&record)?;
    let last = lines.iter().rev().find_map(|line| match &line.record {
        Record::Block(block) => Some(block),
        _ => None,
    });
    let ended = last.filter(|block| block.step + block.steps >= config.total_steps());
    Ok(ended.and_then(|block| block.quality))
}

/// Removes the large files of a short run; keeps its settings and its record.
fn remove_artifacts(run: &Path) -> Result<()> {
    for name in run_files::ALL.iter().filter(|name| ![run_files::CONFIG, run_files::TRACE].contains(name)) {
        let path = run.join(name);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(format_args!("removing {}", path.display()), error));
            }
            _ => {}
        }
    }
    Ok(())
}
