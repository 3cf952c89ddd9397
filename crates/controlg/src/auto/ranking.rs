//! How runs are compared without labels.

use serde::{Deserialize, Serialize};

use super::AutoOutcome;
use crate::eval::quality::Quality;
use crate::eval::ranks::{MissingRank, ranks};

/// How runs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// By the mean of the ranks of the Calinski–Harabasz index and of the edge AUC.
    MeanRank,
    /// By the edge AUC, for link prediction.
    EdgeAuc,
}

/// Embeddings that vary in fewer directions have collapsed.
const COLLAPSED: f64 = 1.5;

impl Ranking {
    /// The score of each run, its mean rank; lower is better. Runs that failed or collapsed share the last ranks.
    pub fn scores(self, qualities: &[Option<Quality>]) -> Vec<f64> {
        let index: fn(&Quality) -> Option<f64> = |quality| quality.calinski_harabasz;
        let area: fn(&Quality) -> Option<f64> = |quality| quality.edge_auc;
        let measures = match self {
            Ranking::MeanRank => vec![index, area],
            Ranking::EdgeAuc => vec![area],
        };
        let is_sound = |quality: &Quality| quality.effective_rank.is_some_and(|rank| rank >= COLLAPSED);
        let mut sums = vec![0.0; qualities.len()];
        for measure in &measures {
            let values: Vec<Option<f64>> =
                qualities.iter().map(|quality| measure(quality.as_ref().filter(|q| is_sound(q))?)).collect();
            let ranks = ranks(&values, MissingRank::Last);
            sums.iter_mut().zip(ranks).for_each(|(sum, rank)| *sum += rank.unwrap_or_default());
        }
        sums.iter().map(|sum| sum / measures.len() as f64).collect()
    }

    /// The candidates of the best runs, best first; ties go to the one that is listed first. `None` without outcomes, or if all
    /// runs failed.
    pub fn best(self, outcomes: &[AutoOutcome], count: usize) -> Option<Vec<usize>> {
        let qualities: Vec<Option<Quality>> = outcomes.iter().map(|outcome| outcome.quality).collect();
        qualities.iter().flatten().next()?;
        let scores = self.scores(&qualities);
        let mut order: Vec<usize> = (0..outcomes.len()).collect();
        // The sort is stable.
        order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        Some(order.into_iter().take(count).map(|at| outcomes[at].candidate).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn quality(index: f64, area: f64) -> Option<Quality> {
        Some(Quality { calinski_harabasz: Some(index), edge_auc: Some(area), effective_rank: Some(9.0) })
    }

    fn outcomes(qualities: &[Option<Quality>]) -> Vec<AutoOutcome> {
        let outcome = |(candidate, &quality)| AutoOutcome { candidate, quality, failure: None, score: 0.0 };
        qualities.iter().enumerate().map(outcome).collect()
    }

    #[test]
    fn mean_ranks_with_failed_and_collapsed_runs_last() {
        let collapsed = Quality { effective_rank: Some(1.0), ..quality(900.0, 1.0).unwrap() };
        let all = [quality(5.0, 0.9), quality(9.0, 0.8), None, Some(collapsed), quality(7.0, 0.95)];
        assert_eq!(Ranking::MeanRank.scores(&all), [2.5, 2.0, 4.5, 4.5, 1.5]);
        assert_eq!(Ranking::MeanRank.best(&outcomes(&all), 2), Some(vec![4, 1]));
        assert_eq!(Ranking::EdgeAuc.best(&outcomes(&all), 2), Some(vec![4, 0]));
        assert_eq!(Ranking::MeanRank.best(&outcomes(&[None, None]), 1), None);
        // Without edges, the index alone decides.
        let without = |index| Some(Quality { edge_auc: None, ..quality(index, 0.0).unwrap() });
        assert_eq!(Ranking::MeanRank.best(&outcomes(&[without(1.0), without(2.0)]), 1), Some(vec![1]));
    }

    proptest! {
        /// Scores follow the runs when these are reordered, and depend on the order of the numbers only.
        #[test]
        fn order_and_scale_do_not_matter(values in prop::collection::vec((0.0_f64..100.0, 0.0_f64..1.0), 2..9)) {
            let all: Vec<_> = values.iter().map(|&(index, area)| quality(index, area)).collect();
            let scaled: Vec<_> = values.iter().map(|&(index, area)| quality(index.exp(), area / 2.0)).collect();
            let mut reversed = all.clone();
            reversed.reverse();
            let mut scores = Ranking::MeanRank.scores(&reversed);
            scores.reverse();
            prop_assert_eq!(&scores, &Ranking::MeanRank.scores(&all));
            prop_assert_eq!(&scores, &Ranking::MeanRank.scores(&scaled));
            let total: f64 = scores.iter().sum();
            let n = values.len() as f64;
            prop_assert!((total - n * (n + 1.0) / 2.0).abs() < 1e-9);
        }
    }
}
