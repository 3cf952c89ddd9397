//! Where a step led: how its weights influence the likeness of neighbors after it.
//!
//! One update of Adam lies between the weights λ and the parameters θ, and no g_k depends on λ. So
//! ∂L/∂λ_k = ⟨∂L/∂θ ⊙ ∂θ/∂g, g_k⟩ with g = Σ λ_k g_k, all at hand after the step. Clipping of g is taken as a constant
//! factor, which the weights' own Adam does not notice.

use rayon::prelude::*;

use crate::Real;
use crate::coordinator::Lookahead;
use crate::encoder::Pass;
use crate::error::Result;
use crate::eval::kmeans;
use crate::graph::{Dense, Features, Graph};
use crate::kernels::{adam, reduce};
use crate::tensor::Tape;
use crate::train::Model;
use crate::train::model::ENCODER;
use crate::train::model::prepared_graph::PreparedGraph;

/// The derivatives of the outlook's loss by the weights of the step that was just taken; `gradients` are the
/// objectives', `combined` the one that was stepped along.
pub(in crate::train) fn slopes(
    model: &mut Model<'_>,
    outlook: &Lookahead,
    gradients: &[Vec<Real>],
    combined: &[Real],
) -> Result<Vec<f64>> {
    let Model { params, pool, grads, encoder, ground, probe, optimizers, .. } = model;
    let PreparedGraph { graph, prepared, .. } = ground.clean(probe.as_ref());
    let mut tape = Tape::new(params, pool);
    let z = encoder.encode(&mut tape, ENCODER, &prepared.whole(), Pass::default());
    let centers = centers(tape.value(z), encoder.width(), outlook)?;
    let (_, at_z) = unlikeness(graph, tape.value(z), encoder.width(), &centers, outlook.variance);
    let mut buffer = pool.take(at_z.len());
    buffer.copy_from_slice(&at_z);
    grads.reset();
    tape.backward_from(z, buffer, grads);
    drop(tape);

    let (settings, mean, square) = optimizers[0].last_step(ENCODER);
    let mut influence = pool.take(combined.len());
    match grads.group(ENCODER) {
        Some(at_encoder) => adam::influence(settings, at_encoder, combined, mean, square, &mut influence),
        None => influence.fill(0.0),
    }
    Ok(gradients.iter().map(|gradient| reduce::dot(&influence, gradient)).collect())
}

/// The centers of K-means, row by row.
fn centers(z: &[Real], width: usize, outlook: &Lookahead) -> Result<Vec<Vec<f64>>> {
    let n = z.len() / width;
    let points = Features::Dense(Dense::from_parts(n, width, z.to_vec()));
    let settings = kmeans::KMeansSettings { starts: outlook.starts, ..kmeans::KMeansSettings::default() };
    // The same random state at every look: clusters change with the representations alone.
    let parts = kmeans::cluster(&points, outlook.clusters, 0, &settings)?.parts;
    let mut sums = vec![vec![0.0; width]; outlook.clusters];
    let mut counts = vec![0usize; outlook.clusters];
    for (row, &part) in z.chunks_exact(width).zip(&parts) {
        let sum = &mut sums[part as usize];
        sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
        counts[part as usize] += 1;
    }
    for (sum, &count) in sums.iter_mut().zip(&counts) {
        sum.iter_mut().for_each(|x| *x /= count.max(1) as f64);
    }
    Ok(sums)
}

/// The mean of |p_u − p_v| over edges and clusters with p_v = softmax_j(−‖z_v − center_j‖²/variance), and its gradient
/// at the representations.
fn unlikeness(
    graph: &Graph,
    z: &[Real],
    width: usize,
    centers: &[Vec<f64>],
    variance: f64,
) -> (f64, Vec<Real>) {
    let c = centers.len();
    let p: Vec<f64> =
        z.par_chunks_exact(width).flat_map_iter(|row| memberships(row, centers, variance)).collect();
    let share = 1.0 / (graph.n_edges().max(1) * c) as f64;
    let mut total = 0.0;
    let mut by_p = vec![0.0; p.len()];
    for (u, v) in graph.edges() {
        for j in 0..c {
            let (a, b) = (u as usize * c + j, v as usize * c + j);
            let gap = p[a] - p[b];
            total += gap.abs();
            let slope = if gap == 0.0 { 0.0 } else { share * gap.signum() };
            by_p[a] += slope;
            by_p[b] -= slope;
        }
    }
    let rows = p.par_chunks_exact(c).zip(by_p.par_chunks_exact(c));
    let at_z = rows.flat_map_iter(|(p, by_p)| {
        let mean: f64 = p.iter().zip(by_p).map(|(p, slope)| p * slope).sum();
        // The slopes by the logits sum to zero, so the parts along z_v cancel and those along the centers stay.
        let factors: Vec<f64> =
            p.iter().zip(by_p).map(|(p, slope)| 2.0 / variance * p * (slope - mean)).collect();
        (0..width)
            .map(move |i| factors.iter().zip(centers).map(|(f, center)| f * center[i]).sum::<f64>() as Real)
    });
    (total * share, at_z.collect())
}

/// p_v.
fn memberships(row: &[Real], centers: &[Vec<f64>], variance: f64) -> Vec<f64> {
    let logit = |center: &Vec<f64>| {
        let square: f64 = row.iter().zip(center).map(|(&x, c)| (f64::from(x) - c).powi(2)).sum();
        -square / variance
    };
    let logits: Vec<f64> = centers.iter().map(logit).collect();
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|logit| (logit - most).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.iter().map(|power| power / total).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::config::{self, Config};
    use crate::coordinator::{MixWeights, Mixer, MixerInput, WeightBounds};
    use crate::rng::Stream;
    use crate::train::mixing::Mixing;
    use crate::train::{Input, Training};

    fn small_graph() -> Graph {
        crate::data::load("synthetic:nodes=60,features=20", &Default::default()).unwrap().graph
    }

    #[test]
    fn the_gradient_at_the_representations_is_that_of_finite_differences() {
        let graph = small_graph();
        let (n, width) = (graph.n_nodes(), 3);
        let mut stream = Stream::new(1, "test", "", 0);
        let z: Vec<Real> = (0..n * width).map(|_| stream.normal() as Real).collect();
        let centers: Vec<Vec<f64>> = (0..4).map(|_| (0..width).map(|_| stream.normal()).collect()).collect();
        let (_, found) = unlikeness(&graph, &z, width, &centers, 2.0);
        // Small enough that hardly a pair changes sides, large enough for numbers of seven digits.
        let step: Real = 1.0 / 512.0;
        for at in (0..n * width).step_by(7) {
            let moved = |sign: Real| {
                let mut z = z.clone();
                z[at] += sign * step;
                unlikeness(&graph, &z, width, &centers, 2.0).0
            };
            let expected = (moved(1.0) - moved(-1.0)) / f64::from(2.0 * step);
            let gap = (f64::from(found[at]) - expected).abs();
            assert!(gap < 2e-3 * expected.abs().max(1e-3), "{}: {} against {expected}", at, found[at]);
        }
    }

    /// Given weights, and what is learned of their influence.
    struct LookaheadInput {
        weights: Vec<f64>,
        learned: Arc<Mutex<Vec<f64>>>,
    }

    const AHEAD: Lookahead = Lookahead { clusters: 3, starts: 2, variance: 0.5 };
    const STEPS: u64 = 4;

    impl Mixer for LookaheadInput {
        fn mix(&mut self, _: &MixerInput<'_>) -> MixWeights {
            MixWeights { encoder: self.weights.clone(), heads: vec![1.0; self.weights.len()] }
        }

        fn outlook(&self, step: u64) -> Option<Lookahead> {
            (step + 1 == STEPS).then_some(AHEAD)
        }

        fn learn(&mut self, slopes: &[f64]) {
            *self.learned.lock().unwrap() = slopes.to_vec();
        }

        fn promise(&self) -> WeightBounds {
            WeightBounds { least: 0.0, most: 1.0, sum: None }
        }
    }

    /// The representations after a few steps of which the last has these weights, and the slopes that were learned there.
    fn after(graph: &Graph, last: &[f64]) -> (Vec<Real>, Vec<f64>) {
        let mut table = Config::preset("any");
        for set in [
            "encoder.width=6",
            "encoder.norm=none",
            "train.lr=0.02", // at more, rounding of another kind of processor moves the slopes
            "objectives=p_link,p_recon,p_decor",
            "method=uniform",
        ] {
            config::set(&mut table, set).unwrap();
        }
        let config = Config::from_table(table).unwrap();
        let input = Input::new(graph, &config).unwrap();
        let mut training = Training::new(&input, &config).unwrap();
        let learned = Arc::new(Mutex::new(Vec::new()));
        let given = |weights: &[f64]| LookaheadInput { weights: weights.to_vec(), learned: learned.clone() };
        let mut mixing = Mixing::new(Box::new(given(&[0.4, 0.3, 0.3])), training.model());
        for step in 0..STEPS {
            if step + 1 == STEPS {
                mixing.mixer = Box::new(given(last));
            }
            mixing.step(training.model_mut(), step).unwrap();
        }
        let z = training.model().embed().unwrap().0.data().to_vec();
        let slopes = learned.lock().unwrap().clone();
        (z, slopes)
    }

    #[test]
    fn slopes_by_the_weights_are_those_of_finite_differences_through_a_step_of_adam() {
        let graph = small_graph();
        let base = [0.4, 0.3, 0.3];
        let (z, found) = after(&graph, &base);
        let centers = centers(&z, 6, &AHEAD).unwrap();
        let step = 0.02;
        let expected: Vec<f64> = (0..3)
            .map(|k| {
                let moved = |sign: f64| {
                    let mut weights = base;
                    weights[k] += sign * step;
                    unlikeness(&graph, &after(&graph, &weights).0, 6, &centers, AHEAD.variance).0
                };
                (moved(1.0) - moved(-1.0)) / (2.0 * step)
            })
            .collect();
        let largest = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 0.05 * largest, "{found} against {expected} of {largest}");
        }
    }
}
