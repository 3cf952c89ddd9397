//! Test helpers: building a mixer, random gradients, their Gram matrix.

use proptest::prelude::*;

use super::{Mixer, MixerContext, MixerFactory, MixerInput, dot};
use crate::registry::Entry;

/// A mixer of `k` objectives with these settings.
pub(super) fn mixer(entry: &Entry<MixerFactory>, table: &str, k: usize) -> Box<dyn Mixer> {
    let factory = (entry.build)(table.parse().unwrap()).unwrap();
    factory(&MixerContext { n_objectives: k, seed: 3, lr: 0.01, width: 8 })
}

/// The input of one step.
pub(super) fn input<'a>(step: u64, loss: &'a [f64], gram: &'a [Vec<f64>]) -> MixerInput<'a> {
    MixerInput { step, loss, gram, last_layer: &[], nodes: None }
}

/// Gram matrix.
pub(super) fn gram(vectors: &[Vec<f64>]) -> Vec<Vec<f64>> {
    vectors.iter().map(|a| vectors.iter().map(|b| dot(a, b)).collect()).collect()
}

/// Σ w_k g_k.
pub(super) fn combined(vectors: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let column = |i: usize| vectors.iter().zip(weights).map(|(g, w)| w * g[i]).sum();
    (0..vectors[0].len()).map(column).collect()
}

/// One to six gradients in R⁸ with norms over four orders of magnitude.
pub(super) fn gradients() -> impl Strategy<Value = Vec<Vec<f64>>> {
    let one = (prop::collection::vec(-1.0f64..1.0, 8), -2.0f64..2.0).prop_map(|(direction, decade)| {
        let length = dot(&direction, &direction).sqrt().max(1e-3);
        direction.iter().map(|x| x / length * 10f64.powf(decade)).collect()
    });
    prop::collection::vec(one, 1..7)
}

pub(super) fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{found:?} against {expected:?}");
    }
}
