//! Agreement with TorchJD on random gradients; `tests/fixtures/make_mixers.py` makes the reference values.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::testing::assert_close;
use super::{cagrad, dot, mgda, nash, pcgrad, times};
use crate::coordinator::min_norm;

#[derive(Deserialize)]
struct Case {
    gram: Vec<Vec<f64>>,
    mgda: Vec<f64>,
    pcgrad: Vec<f64>,
    /// By c.
    cagrad: BTreeMap<String, Vec<f64>>,
    nash: Option<Vec<f64>>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("../../../tests/fixtures/mixers.json")).unwrap()
}

#[test]
fn pcgrad_agrees() {
    for Case { gram, pcgrad, .. } in cases() {
        assert_close(&pcgrad::project(&gram, |_| {}), &pcgrad, 1e-9);
    }
}

#[test]
fn mgda_agrees() {
    for Case { gram, mgda, .. } in cases() {
        let (ours, theirs) =
            (min_norm::value(&gram, &mgda::min_norm_weights(&gram)), min_norm::value(&gram, &mgda));
        let longest = gram.iter().enumerate().map(|(k, row)| row[k]).fold(0.0, f64::max);
        // Theirs is iterative, so ours may be shorter but not longer.
        assert!(ours <= theirs + 1e-9 * longest, "{ours} against {theirs}");
        assert!(theirs - ours < 1e-2 * theirs, "{ours} against {theirs}");
    }
}

#[test]
fn cagrad_agrees() {
    for Case { gram, cagrad, .. } in cases() {
        for (c, theirs) in cagrad {
            let c: f64 = c.parse().unwrap();
            let ours: Vec<f64> = cagrad::weights(&gram, c, 100).iter().map(|w| w * (1.0 + c * c)).collect();
            let gap: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| a - b).collect();
            let length = |w: &[f64]| dot(&times(&gram, w), w).sqrt();
            let apart = length(&gap) / length(&theirs);
            assert!(apart < 1e-3, "c = {c}: {ours:?} against {theirs:?}, {apart} apart");
        }
    }
}

#[test]
fn nash_mtl_agrees() {
    let mut compared = 0;
    for Case { gram, nash, .. } in cases() {
        let Some(theirs) = nash else { continue };
        let k = gram.len();
        let cosine = |i: usize, j: usize| gram[i][j] / (gram[i][i] * gram[j][j]).sqrt();
        let unit: Vec<Vec<f64>> = (0..k).map(|i| (0..k).map(|j| cosine(i, j)).collect()).collect();
        let length = (k as f64).sqrt();
        let ours: Vec<f64> = nash::bargain(&unit).iter().map(|w| w / length).collect();
        assert_close(&ours, &theirs, 5e-3);
        compared += 1;
    }
    assert!(compared >= 8, "{compared}");
}
