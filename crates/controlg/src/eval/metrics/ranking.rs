//! Ranking metrics of binary scores.

use crate::Real;

/// Area under the ROC curve: probability that a positive scores higher than a negative, with ties counted half. `None` if
/// there are no positives, no negatives, or a score is NaN.
pub fn roc_auc(scores: &[Real], positive: &[bool]) -> Option<f64> {
    let order = descending(scores, positive)?;
    let n_positive = positive.iter().filter(|&&is| is).count() as f64;
    let n_negative = positive.len() as f64 - n_positive;
    if n_positive <= 0.0 || n_negative <= 0.0 {
        return None;
    }
    // In descending order, the positives of a tied group beat all negatives below and half of those in the group.
    let (mut below, mut area) = (n_negative, 0.0);
    for_each_tie(scores, positive, &order, |positives, negatives| {
        below -= negatives;
        area += positives * (below + 0.5 * negatives);
    });
    Some(area / (n_positive * n_negative))
}

/// Average precision: Σ (recallᵢ − recallᵢ₋₁) · precisionᵢ over descending thresholds. `None` without positives or if a
/// score is NaN.
pub fn average_precision(scores: &[Real], positive: &[bool]) -> Option<f64> {
    let order = descending(scores, positive)?;
    let n_positive = positive.iter().filter(|&&is| is).count() as f64;
    if n_positive <= 0.0 {
        return None;
    }
    let (mut right, mut taken, mut sum) = (0.0, 0.0, 0.0);
    for_each_tie(scores, positive, &order, |positives, negatives| {
        right += positives;
        taken += positives + negatives;
        sum += positives * right / taken;
    });
    Some(sum / n_positive)
}

fn descending(scores: &[Real], positive: &[bool]) -> Option<Vec<u32>> {
    assert_eq!(scores.len(), positive.len(), "one score per item");
    if scores.iter().any(|x| x.is_nan()) {
        return None;
    }
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
    Some(order)
}

/// Calls `work(positives, negatives)` for each group of tied scores.
#[allow(clippy::float_cmp)] // ties are exact
fn for_each_tie(scores: &[Real], positive: &[bool], order: &[u32], mut work: impl FnMut(f64, f64)) {
    for group in order.chunk_by(|&a, &b| scores[a as usize] == scores[b as usize]) {
        let positives = group.iter().filter(|&&at| positive[at as usize]).count();
        work(positives as f64, (group.len() - positives) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn matches_values_computed_by_hand() {
        let auc = |scores: &[Real], positive: &[bool]| roc_auc(scores, positive).unwrap();
        assert!((auc(&[0.9, 0.5, 0.5, 0.1], &[true, false, true, false]) - 0.875).abs() < 1e-12);
        assert!((auc(&[1.0; 5], &[true, false, false, true, true]) - 0.5).abs() < 1e-12);
        assert!((auc(&[0.0, -0.0], &[true, false]) - 0.5).abs() < 1e-12);
        let precision = average_precision(&[0.9, 0.8, 0.7], &[true, false, true]).unwrap();
        assert!((precision - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
    }

    #[test]
    fn undefined_without_both_classes() {
        assert_eq!(roc_auc(&[1.0, 2.0], &[true, true]), None);
        assert_eq!(roc_auc(&[1.0, Real::NAN], &[true, false]), None);
        assert_eq!(average_precision(&[], &[]), None);
    }

    proptest! {
        #[test]
        fn auc_is_the_fraction_of_ordered_pairs_and_flips_with_the_sign(
            items in prop::collection::vec((-5i8..5, any::<bool>()), 2..60))
        {
            let scores: Vec<Real> = items.iter().map(|(x, _)| Real::from(*x)).collect();
            let positive: Vec<bool> = items.iter().map(|(_, is)| *is).collect();
            let (mut wins, mut pairs) = (0.0, 0.0);
            for (x, _) in items.iter().filter(|item| item.1) {
                for (y, _) in items.iter().filter(|item| !item.1) {
                    wins += if x > y { 1.0 } else if x == y { 0.5 } else { 0.0 };
                    pairs += 1.0;
                }
            }
            let area = roc_auc(&scores, &positive);
            prop_assert_eq!(area.is_some(), pairs > 0.0);
            if let Some(area) = area {
                prop_assert!((area - wins / pairs).abs() < 1e-12);
                let negated: Vec<Real> = scores.iter().map(|x| -x).collect();
                let swapped: Vec<bool> = positive.iter().map(|is| !is).collect();
                prop_assert!((roc_auc(&negated, &positive).unwrap() - (1.0 - area)).abs() < 1e-12);
                prop_assert!((roc_auc(&scores, &swapped).unwrap() - (1.0 - area)).abs() < 1e-12);
                let precision = average_precision(&scores, &positive).unwrap();
                prop_assert!(precision > 0.0 && precision <= 1.0 + 1e-12);
            }
        }
    }
}
