//! Wilcoxon's signed-rank test (Individual comparisons by ranking methods, Biometrics Bulletin 1945), as recommended for two
//! methods on several data sets (Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 2006).

use serde::{Deserialize, Serialize};

/// Result of a signed-rank test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignedRankTest {
    /// Number of differences that are not zero.
    pub n: usize,
    /// Sum of the ranks of the positive differences.
    pub positive: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// Tests whether paired differences are symmetric about zero; `None` if all are zero.
///
/// Zeros are dropped, and differences of the same size share their mean rank. The p-value is exact: among all 2ⁿ choices of
/// the signs, the share of those whose rank sum is at least as far from the middle.
pub fn signed_rank(differences: &[f64]) -> Option<SignedRankTest> {
    let mut sorted: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0 && d.is_finite()).collect();
    if sorted.is_empty() {
        return None;
    }
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    // Twice the ranks, which are whole numbers even where ranks are shared.
    let mut doubled: Vec<usize> = Vec::with_capacity(sorted.len());
    for group in sorted.chunk_by(|a, b| a.abs().total_cmp(&b.abs()).is_eq()) {
        let rank = 2 * doubled.len() + group.len() + 1;
        doubled.extend(std::iter::repeat_n(rank, group.len()));
    }
    let positive: usize = sorted.iter().zip(&doubled).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
    let shares = rank_sum_distribution(&doubled);
    let (below, above): (f64, f64) = (shares[..=positive].iter().sum(), shares[positive..].iter().sum());
    let p = (2.0 * below.min(above)).min(1.0);
    Some(SignedRankTest { n: sorted.len(), positive: positive as f64 / 2.0, p })
}

/// Probability of each sum of a random subset of the ranks.
fn rank_sum_distribution(ranks: &[usize]) -> Vec<f64> {
    let mut shares = vec![0.0; ranks.iter().sum::<usize>() + 1];
    shares[0] = 1.0;
    let mut most = 0;
    for rank in ranks {
        for sum in (0..=most).rev() {
            let half = 0.5 * shares[sum];
            shares[sum] = half;
            shares[sum + rank] += half;
        }
        most += rank;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_those_of_scipy() {
        #[derive(Deserialize)]
        struct Case {
            name: String,
            differences: Vec<f64>,
            n: usize,
            positive: f64,
            p: f64,
        }
        let cases: Vec<Case> =
            serde_json::from_str(include_str!("../../tests/fixtures/wilcoxon.json")).unwrap();
        assert!(cases.len() > 10);
        for Case { name, differences, n, positive, p } in cases {
            let test = signed_rank(&differences).unwrap();
            assert_eq!((test.n, test.positive), (n, positive), "{name}");
            assert!((test.p - p).abs() < 1e-12, "{name}: {} instead of {p}", test.p);
        }
    }

    #[test]
    fn without_differences_there_is_no_test() {
        assert_eq!(signed_rank(&[]), None);
        assert_eq!(signed_rank(&[0.0, 0.0]), None);
    }
}
