//! Classification metrics.

/// Fraction of correct predictions; 0 for empty input.
pub fn accuracy(predicted: &[u32], truth: &[u32]) -> f64 {
    assert_eq!(predicted.len(), truth.len(), "one prediction per item");
    let correct = predicted.iter().zip(truth).filter(|(p, t)| p == t).count();
    correct as f64 / truth.len().max(1) as f64
}

/// Macro-averaged F1, F1 = 2·correct / (predicted + true) per class that is predicted or true; 0 for empty input.
pub fn macro_f1(predicted: &[u32], truth: &[u32]) -> f64 {
    assert_eq!(predicted.len(), truth.len(), "one prediction per item");
    let n_classes = predicted.iter().chain(truth).max().map_or(0, |&class| class as usize + 1);
    let (mut correct, mut total) = (vec![0usize; n_classes], vec![0usize; n_classes]);
    for (&p, &t) in predicted.iter().zip(truth) {
        total[p as usize] += 1;
        total[t as usize] += 1;
        correct[t as usize] += usize::from(p == t);
    }
    let present = || (0..n_classes).filter(|&class| total[class] > 0);
    let sum: f64 = present().map(|class| 2.0 * correct[class] as f64 / total[class] as f64).sum();
    sum / present().count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_values_computed_by_hand() {
        let (predicted, truth) = ([0, 0, 1, 3], [0, 1, 1, 1]);
        assert!((accuracy(&predicted, &truth) - 0.5).abs() < 1e-12);
        // class 0: 2·1/3, class 1: 2·1/4, class 3: 0; class 2 does not occur.
        assert!((macro_f1(&predicted, &truth) - (2.0 / 3.0 + 0.5) / 3.0).abs() < 1e-12);
        assert!(accuracy(&[], &[]).abs() < 1e-12 && macro_f1(&[], &[]).abs() < 1e-12);
    }
}
