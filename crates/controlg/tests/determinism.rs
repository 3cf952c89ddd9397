//! Training gives the same bytes at any number of threads, and nearly the same numbers without SIMD.
#![cfg_attr(feature = "f64", allow(clippy::useless_conversion))] // f64::from(x) of a Real

mod common;
#[path = "common/training.rs"]
mod training;

use controlg::{Real, kernels::simd};
use training::{Run, random_graph};

/// The encoder's parameters and all losses of fifty steps.
fn train(kind: &str, threads: usize) -> (Vec<Real>, Vec<f64>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        let graph = random_graph(700, 90);
        let mut run = Run::new(&graph, kind);
        let losses = (0..50).map(|_| run.step()).collect();
        (run.params().to_vec(), losses)
    })
}

fn bits(params: &[Real]) -> Vec<u64> {
    params.iter().map(|&x| f64::from(x).to_bits()).collect()
}

/// One test, because disabling SIMD affects the whole process.
#[test]
fn fifty_steps_give_the_same_bytes_at_any_number_of_threads_and_nearly_the_same_without_simd() {
    for kind in ["gcn", "gat"] {
        let (one, losses) = train(kind, 1);
        assert!(losses.iter().all(|loss| loss.is_finite()), "{losses:?}");
        for first in [0, 1, 4] {
            assert!(losses[45 + first] < losses[first], "{kind}: loss {first} falls: {losses:?}");
        }
        for threads in [2, 4] {
            let (more, again) = train(kind, threads);
            assert_eq!(bits(&one), bits(&more), "{kind}: parameters at {threads} threads");
            assert_eq!(losses, again, "{kind}: losses at {threads} threads");
        }
    }
    let (_, losses) = train("gcn", 2);
    simd::force_plain();
    let (_, plain) = train("gcn", 2);
    for (step, (a, b)) in losses.iter().zip(&plain).enumerate() {
        // Rounding differs, and training amplifies the difference.
        assert!((a - b).abs() < 0.02 * a.abs(), "step {step}: {a} with SIMD, {b} without");
    }
    assert!((losses[0] - plain[0]).abs() < 1e-4 * losses[0].abs());
}
