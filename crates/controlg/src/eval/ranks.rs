//! Ranks of methods and their averages over data sets.

use serde::{Deserialize, Serialize};

/// Treatment of methods without a value on a data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissingRank {
    /// No rank; the data set is left out of the average.
    #[default]
    Skip,
    /// Shares the last ranks with other missing methods.
    Last,
}

/// Average rank of a method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AverageRank {
    /// Mean of the ranks.
    pub rank: f64,
    /// Number of data sets.
    pub n: usize,
}

/// Rank of each value, 1 for the highest; ties get their mean rank.
pub fn ranks(values: &[Option<f64>], missing: MissingRank) -> Vec<Option<f64>> {
    let mut order: Vec<usize> = (0..values.len()).filter(|&at| values[at].is_some()).collect();
    let value = |at: usize| values[at].unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
    let mut ranks = vec![None; values.len()];
    let mut above = 0;
    for group in order.chunk_by(|&a, &b| value(a).total_cmp(&value(b)).is_eq()) {
        assign_mean_rank(group.iter().copied(), above, &mut ranks);
        above += group.len();
    }
    if missing == MissingRank::Last {
        assign_mean_rank((0..values.len()).filter(|&at| values[at].is_none()), above, &mut ranks);
    }
    ranks
}

/// Average rank of each method over data sets; `values[data set][method]`. `None` for a method without ranks.
pub fn average_ranks(values: &[Vec<Option<f64>>], missing: MissingRank) -> Vec<Option<AverageRank>> {
    let n_methods = values.iter().map(Vec::len).max().unwrap_or(0);
    let ranked: Vec<_> = values.iter().map(|of_methods| ranks(of_methods, missing)).collect();
    let average = |method: usize| {
        let own: Vec<f64> = ranked.iter().filter_map(|ranks| *ranks.get(method)?).collect();
        let n = own.len();
        (n > 0).then(|| AverageRank { rank: own.iter().sum::<f64>() / n as f64, n })
    };
    (0..n_methods).map(average).collect()
}

/// Spearman's rank correlation: the correlation of the ranks, with ties at their mean rank. `None` for fewer than three pairs
/// or if one side is constant.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    assert_eq!(x.len(), y.len(), "pairs");
    let centered = |values: &[f64]| -> Vec<f64> {
        let some: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        let middle = (values.len() + 1) as f64 / 2.0;
        // The highest value has rank 1; both sides are turned alike.
        ranks(&some, MissingRank::Skip).into_iter().flatten().map(|rank| rank - middle).collect()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (x, y) = (centered(x), centered(y));
    let lengths = (dot(&x, &x) * dot(&y, &y)).sqrt();
    (x.len() >= 3 && lengths > 0.0).then(|| dot(&x, &y) / lengths)
}

/// Critical difference of average ranks at the 5 % level by Nemenyi's test (Demšar, Statistical comparisons of classifiers
/// over multiple data sets, JMLR 2006).
pub fn critical_difference(methods: usize, data_sets: usize) -> Option<f64> {
    const Q: [f64; 19] = [
        1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164, 3.219, 3.268, 3.313, 3.354, 3.391,
        3.426, 3.458, 3.489, 3.517, 3.544,
    ];
    let q = Q.get(methods.checked_sub(2)?)?;
    let k = methods as f64;
    (data_sets > 0).then(|| q * (k * (k + 1.0) / (6.0 * data_sets as f64)).sqrt())
}

/// Assigns a tied group the mean of the ranks from `above + 1` on.
fn assign_mean_rank(group: impl Iterator<Item = usize> + Clone, above: usize, ranks: &mut [Option<f64>]) {
    let size = group.clone().count();
    let rank = above as f64 + (size as f64 + 1.0) / 2.0;
    group.for_each(|at| ranks[at] = Some(rank));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_share_ranks_and_missing_values_are_skipped_or_last() {
        let values = [Some(3.0), None, Some(5.0), Some(3.0), None];
        assert_eq!(ranks(&values, MissingRank::Skip), [Some(2.5), None, Some(1.0), Some(2.5), None]);
        let last = [Some(2.5), Some(4.5), Some(1.0), Some(2.5), Some(4.5)];
        assert_eq!(ranks(&values, MissingRank::Last), last);
    }

    #[test]
    fn correlations_of_few_or_constant_values_do_not_exist() {
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[5.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[0.0, -6.0, -9.0]), Some(-1.0));
        assert_eq!(
            (spearman(&[1.0, 2.0], &[1.0, 2.0]), spearman(&[1.0; 4], &[1.0, 2.0, 3.0, 4.0])),
            (None, None)
        );
    }

    #[test]
    fn averages_count_the_data_sets() {
        let values = [vec![Some(2.0), Some(1.0), None], vec![Some(1.0), None, None]];
        let first = Some(AverageRank { rank: 1.0, n: 2 });
        let second = Some(AverageRank { rank: 2.0, n: 1 });
        assert_eq!(average_ranks(&values, MissingRank::Skip), [first, second, None]);
        let last = average_ranks(&values, MissingRank::Last);
        assert_eq!(last[2], Some(AverageRank { rank: 2.75, n: 2 }));
    }

    #[test]
    fn critical_difference_matches_demsar() {
        // Demšar's example: 4 classifiers, 14 data sets.
        assert!((critical_difference(4, 14).unwrap() - 1.25).abs() < 0.01);
        assert_eq!((critical_difference(1, 5), critical_difference(40, 5)), (None, None));
    }

    proptest! {
        #[test]
        fn sum_of_ranks_is_preserved(values in prop::collection::vec(prop::option::of(0u8..4), 0..12)) {
            let values: Vec<Option<f64>> = values.into_iter().map(|value| value.map(f64::from)).collect();
            let places = |n: usize| (n * (n + 1)) as f64 / 2.0;
            let sum = |missing| ranks(&values, missing).into_iter().flatten().sum::<f64>();
            prop_assert!((sum(MissingRank::Last) - places(values.len())).abs() < 1e-9);
            prop_assert!((sum(MissingRank::Skip) - places(values.iter().flatten().count())).abs() < 1e-9);
        }
    }
}
