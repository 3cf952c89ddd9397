//! Choosing encoder, regularization and objectives without labels (`controlg pretrain DATA --auto`).
//!
//! The candidates are those of `grids/auto.toml`. They are compared by short runs in rounds (successive halving, Jamieson &
//! Talwalkar 2016): all of them for a quarter of the steps of a run, the better half for half of its steps. The best of these is
//! trained in full. [`Ranking`] says how runs are compared; no label is involved. Candidates without the nodes' own features take
//! part only where smoothing loses little of what the features say (`graph/hop_signal`).
//!
//! The number of steps is known beforehand. Every short run is a run folder with its own record; `auto.json` holds the
//! candidates and the outcome of every round, and [`audit`](crate::audit::audit) derives the choice again.

mod ranking;
mod search;

pub use ranking::Ranking;
pub(crate) use search::finished;
pub use search::{AutoEvent, AutoFolder};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Table;

use crate::compare::Grid;
use crate::config::{self, Config, EdgeScope};
use crate::error::{Error, Result};
use crate::eval::quality::Quality;
use crate::{files, run_files};

/// A search: `auto.json` in a run folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoSearch {
    /// The version that started it.
    pub version: String,
    /// How candidates are compared.
    pub ranking: Ranking,
    /// The candidates.
    pub candidates: Vec<AutoCandidate>,
    /// The rounds.
    pub rounds: Vec<AutoRound>,
    /// Steps of all short runs, as planned beforehand.
    pub steps: u64,
    /// How much the features of a node say, against features smoothed over two hops, from 0 to 1; `None` before the first round
    /// and in searches of older versions, which compared all candidates alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_share: Option<f64>,
    /// Index of the chosen candidate; `None` before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<usize>,
}

/// Settings to try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoCandidate {
    /// What makes it a candidate, as `key=value`.
    pub settings: Vec<String>,
    /// The complete settings of its full run.
    pub config: Table,
}

/// One round of short runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoRound {
    /// Steps of each run.
    pub steps: u64,
    /// Number of runs.
    pub runs: usize,
    /// The outcome of each run; empty before the end of the round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<AutoOutcome>,
}

/// The outcome of a short run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoOutcome {
    /// Index of the candidate.
    pub candidate: usize,
    /// The quality of its embeddings at the end; `None` if the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<Quality>,
    /// Why the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Its score among the runs of the round; lower is better.
    pub score: f64,
}

/// The shares of the steps of a full run that the rounds train for, each with the share of the candidates that take part.
const ROUNDS: [(u64, usize); 2] = [(4, 1), (2, 2)];

/// The `own_share` up to which embeddings may do without the nodes' own features.
const SMOOTH_UP_TO: f64 = 1.0 / 3.0;

impl AutoSearch {
    /// Plans a search. `given` are the user's settings, which all candidates share: a candidate that differs from another one
    /// only in settings that the user gave is left out.
    pub fn plan(given: &Table) -> Result<AutoSearch> {
        let mut seen = BTreeSet::new();
        let mut candidates = Vec::new();
        for settings in Grid::auto().combinations("", "", None) {
            let mut table = Table::new();
            settings.iter().try_for_each(|setting| config::set(&mut table, setting))?;
            config::merge(&mut table, given.clone());
            config::set(&mut table, "train.quality=true")?;
            let config = Config::from_table(table)?;
            if seen.insert(config.hash()?) {
                let text = config.to_toml()?;
                let config =
                    text.parse().map_err(|error: toml::de::Error| Error::Failed(error.to_string()))?;
                candidates.push(AutoCandidate { settings, config });
            }
        }
        let configs: Vec<Config> =
            candidates.iter().map(|one| Config::from_table(one.config.clone())).collect::<Result<_>>()?;
        let total = configs.iter().map(Config::total_steps).max().unwrap_or(0);
        let warm_up = configs.iter().map(Config::warm_up_steps).max().unwrap_or(0);
        let round = |&(share, of): &(u64, usize)| AutoRound {
            // A run is at least as long as its warm-up, and as long again.
            steps: (total / share).max(2 * warm_up).clamp(1, total.max(1)),
            runs: candidates.len().div_ceil(of),
            outcomes: Vec::new(),
        };
        let rounds: Vec<AutoRound> = ROUNDS.iter().map(round).collect();
        let ranking = match configs.first().map(|config| config.edges) {
            Some(EdgeScope::Train) => Ranking::EdgeAuc,
            _ => Ranking::MeanRank,
        };
        Ok(AutoSearch {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ranking,
            steps: rounds.iter().map(|round| round.steps * round.runs as u64).sum(),
            candidates,
            rounds,
            own_share: None,
            winner: None,
        })
    }

    /// Reads the search of a run folder.
    pub fn read(folder: &Path) -> Result<AutoSearch> {
        let (path, expected) = (folder.join(run_files::AUTO), "a file written by controlg pretrain --auto");
        let wrong =
            |place: String, found: &dyn std::fmt::Display| Error::input(&path, place, found, expected);
        let search: AutoSearch = files::read_json(&path, expected)?;
        let mut taking_part = search.candidates.len();
        for (at, round) in search.rounds.iter().enumerate() {
            if round.runs == 0 || round.runs > taking_part {
                let found = format!("{} runs of {taking_part} candidates", round.runs);
                return Err(wrong(format!("round {}", at + 1), &found));
            }
            let known = |outcome: &AutoOutcome| outcome.candidate < search.candidates.len();
            if !round.outcomes.is_empty()
                && (round.outcomes.len() != round.runs || !round.outcomes.iter().all(known))
            {
                return Err(wrong(format!("round {}", at + 1), &"outcomes of other runs"));
            }
            taking_part = round.runs;
        }
        if search.own_share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return Err(wrong("own_share".to_owned(), &"a number beyond 0 to 1"));
        }
        if search.winner.is_some_and(|winner| winner >= search.candidates.len()) {
            return Err(wrong("winner".to_owned(), &"a candidate that does not exist"));
        }
        Ok(search)
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(run_files::AUTO), self)
    }

    /// The candidates of a round: all of them, or the best of the round before. `None` before that round's end.
    pub fn taking_part(&self, round: usize) -> Option<Vec<usize>> {
        match round.checked_sub(1) {
            None => Some((0..self.candidates.len()).take(self.rounds.first()?.runs).collect()),
            Some(before) => {
                let outcomes = self.judged(&self.rounds[before].outcomes);
                let mut best = self.ranking.best(&outcomes, self.rounds.get(round)?.runs)?;
                best.sort_unstable();
                Some(best)
            }
        }
    }

    /// The winner that follows from the last round; `None` before its end, or if all its runs failed.
    pub fn derived_winner(&self) -> Option<usize> {
        self.ranking.best(&self.judged(&self.rounds.last()?.outcomes), 1)?.first().copied()
    }

    /// The score of each outcome of a round; lower is better.
    pub(crate) fn scores(&self, outcomes: &[AutoOutcome]) -> Vec<f64> {
        let qualities: Vec<Option<Quality>> =
            self.judged(outcomes).iter().map(|outcome| outcome.quality).collect();
        self.ranking.scores(&qualities)
    }

    /// The outcomes as they are compared. Embeddings without the nodes' own features cluster and predict edges best wherever
    /// smoothing makes neighbors alike, also where that loses what the features say. So they count as failed unless the smoothed
    /// features say at least twice as much as the features, or no other run is left. Link prediction is about neighbors: it
    /// compares all alike.
    fn judged(&self, outcomes: &[AutoOutcome]) -> Vec<AutoOutcome> {
        let needs_features =
            self.ranking == Ranking::MeanRank && self.own_share.is_some_and(|share| share > SMOOTH_UP_TO);
        let counts = |outcome: &AutoOutcome| !needs_features || self.keeps_features(outcome.candidate);
        let without = |outcome: &AutoOutcome| {
            let quality = outcome.quality.filter(|_| counts(outcome));
            AutoOutcome { quality, ..outcome.clone() }
        };
        match outcomes.iter().any(|outcome| counts(outcome) && outcome.quality.is_some()) {
            true => outcomes.iter().map(without).collect(),
            false => outcomes.to_vec(),
        }
    }

    /// Whether the embeddings of a candidate have the nodes' own features beside the representations.
    fn keeps_features(&self, candidate: usize) -> bool {
        let embed = self.candidates[candidate].config.get("embed");
        embed.and_then(|embed| embed.get("features")?.as_integer()).is_some_and(|columns| columns > 0)
    }

    /// The settings of the full run of a candidate.
    pub fn full_config(&self, candidate: usize) -> Result<Config> {
        Config::from_table(self.candidates[candidate].config.clone())
    }

    /// The settings of a short run: those of the full run with one epoch of fewer steps.
    pub fn short_config(&self, round: usize, candidate: usize) -> Result<Config> {
        let mut table = self.candidates[candidate].config.clone();
        for setting in
            ["train.epochs=1".to_owned(), format!("train.batches_per_epoch={}", self.rounds[round].steps)]
        {
            config::set(&mut table, &setting)?;
        }
        Config::from_table(table)
    }

    /// The folder of a short run.
    pub fn run_folder(folder: &Path, round: usize, candidate: usize) -> PathBuf {
        folder
            .join(run_files::AUTO_RUNS)
            .join(format!("round-{}", round + 1))
            .join(format!("candidate-{}", candidate + 1))
    }

    /// The plan in words.
    pub fn describe(&self) -> String {
        let rounds: Vec<String> =
            self.rounds.iter().map(|round| format!("{} runs of {} steps", round.runs, round.steps)).collect();
        format!(
            "{} candidates: {}; {} steps before the full run",
            self.candidates.len(),
            rounds.join(", then "),
            self.steps
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(set: &[&str]) -> Table {
        let mut table = Config::preset("my/graph");
        set.iter().for_each(|setting| config::set(&mut table, setting).unwrap());
        table
    }

    #[test]
    fn the_budget_is_known_beforehand() {
        let search = AutoSearch::plan(&given(&[])).unwrap();
        assert_eq!(search.candidates.len(), 8);
        // A quarter of 200 steps for all, half of them for the better half.
        let rounds: Vec<(u64, usize)> = search.rounds.iter().map(|round| (round.steps, round.runs)).collect();
        assert_eq!((rounds, search.steps), (vec![(50, 8), (100, 4)], 800));
        assert_eq!(
            search.describe(),
            "8 candidates: 8 runs of 50 steps, then 4 runs of 100 steps; 800 steps before the full run"
        );
        assert_eq!((search.ranking, search.winner), (Ranking::MeanRank, None));
        assert_eq!(AutoSearch::plan(&given(&["edges=train"])).unwrap().ranking, Ranking::EdgeAuc);
    }

    #[test]
    fn the_first_candidate_is_the_default_and_given_settings_win() {
        let search = AutoSearch::plan(&given(&[])).unwrap();
        let default = Config::from_table(given(&[])).unwrap();
        assert_eq!(search.full_config(0).unwrap().hash().unwrap(), default.hash().unwrap());
        // With the objectives given, the candidates that differ in them only are one.
        let search =
            AutoSearch::plan(&given(&["objectives=p_link,p_par", "encoder.width=16", "seed=3"])).unwrap();
        assert_eq!(search.candidates.len(), 7);
        for at in 0..7 {
            let config = search.full_config(at).unwrap();
            assert_eq!((config.objectives.len(), config.encoder.width(), config.seed), (2, 16, 3));
            let short = search.short_config(1, at).unwrap();
            assert_eq!(short.total_steps(), 100);
            assert!(short.train.quality);
        }
        let short = AutoSearch::plan(&given(&["train.epochs=1", "train.batches_per_epoch=60"])).unwrap();
        assert!(short.rounds.iter().all(|round| round.steps == 50), "twice the warm-up");
    }

    #[test]
    fn embeddings_without_features_count_only_where_smoothing_loses_nothing() {
        let mut search = AutoSearch::plan(&given(&[])).unwrap();
        let quality = |candidate: usize| {
            let high = 1.0 + candidate as f64;
            Some(Quality {
                calinski_harabasz: Some(high),
                edge_auc: Some(high / 9.0),
                effective_rank: Some(9.0),
            })
        };
        let outcome = |candidate: usize| AutoOutcome {
            candidate,
            quality: quality(candidate),
            failure: None,
            score: 0.0,
        };
        search.rounds[0].outcomes = (0..8).map(outcome).collect();
        // The last three candidates are the best and have no features beside the representations.
        let second = |own_share: Option<f64>| {
            let search = AutoSearch { own_share, ..search.clone() };
            search.taking_part(1).unwrap()
        };
        assert_eq!(second(None), [4, 5, 6, 7]);
        assert_eq!(second(Some(0.2)), [4, 5, 6, 7]);
        assert_eq!(second(Some(0.5)), [1, 2, 3, 4]);
        // If nothing else is left, or for links, they count.
        search.rounds[0].outcomes.iter_mut().take(5).for_each(|outcome| outcome.quality = None);
        let left = AutoSearch { own_share: Some(0.9), ..search.clone() };
        assert_eq!(left.taking_part(1).unwrap(), [0, 5, 6, 7]);
        search.rounds[0].outcomes = (0..8).map(outcome).collect();
        let links = AutoSearch { own_share: Some(0.9), ranking: Ranking::EdgeAuc, ..search };
        assert_eq!(links.taking_part(1).unwrap(), [4, 5, 6, 7]);
    }

    #[test]
    fn a_changed_file_is_an_error_that_names_the_place() {
        let folder = tempfile::tempdir().unwrap();
        let search = AutoSearch::plan(&given(&[])).unwrap();
        search.write(folder.path()).unwrap();
        assert_eq!(AutoSearch::read(folder.path()).unwrap(), search);
        for (changed, place) in [
            (AutoSearch { winner: Some(8), ..search.clone() }, "winner"),
            (AutoSearch { candidates: search.candidates[..7].to_vec(), ..search.clone() }, "round 1"),
        ] {
            changed.write(folder.path()).unwrap();
            let error = AutoSearch::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains("auto.json") && error.contains(place), "{error}");
        }
    }
}
