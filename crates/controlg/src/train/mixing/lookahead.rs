//! One-step lookahead: how the weights of a step change the pseudo-homophily after it.
//!
//! One Adam update lies between the weights λ and the parameters θ, and no g_k depends on λ. So
//! ∂L/∂λ_k = ⟨∂L/∂θ ⊙ ∂θ/∂g, g_k⟩ with g = Σ λ_k g_k, all available after the step. Gradient clipping of g is treated as
//! a constant factor, to which the Adam that updates the weights is invariant.

use rayon::prelude::*;

use crate::Real;
use crate::coordinator::{ClusterVariance, Lookahead};
use crate::encoder::Pass;
use crate::error::Result;
use crate::eval::kmeans;
use crate::graph::{Dense, Features, Graph};
use crate::kernels::{adam, reduce};
use crate::tensor::Tape;
use crate::train::model::data::PreparedGraph;
use crate::train::model::{ENCODER, Model};

/// The derivatives of the lookahead loss with respect to the weights of the last step. `gradients` are those of the
/// objectives, `combined` is their weighted sum.
pub(super) fn slopes(
    model: &mut Model<'_>,
    lookahead: &Lookahead,
    gradients: &[Vec<Real>],
    combined: &[Real],
) -> Result<Vec<f64>> {
    let Model { params, pool, grads, encoder, data, probe, optimizers, .. } = model;
    let PreparedGraph { graph, prepared, .. } = data.clean(probe.as_ref());
    let mut tape = Tape::new(params, pool);
    let z = encoder.encode(&mut tape, ENCODER, &prepared.whole(), Pass::default());
    let clusters = Clusters::of(tape.value(z), encoder.width(), lookahead)?;
    let variance = match lookahead.variance {
        ClusterVariance::Absolute(variance) => variance,
        ClusterVariance::Relative(factor) => factor * clusters.median_square(tape.value(z)),
    };
    if variance <= 0.0 {
        // More than half of the nodes lie on their centers: memberships are hard, and nothing changes them.
        return Ok(vec![0.0; gradients.len()]);
    }
    let (_, z_grad) = disagreement(graph, tape.value(z), encoder.width(), &clusters.centers, variance);
    let mut buffer = pool.take(z_grad.len());
    buffer.copy_from_slice(&z_grad);
    grads.reset();
    tape.backward_from(z, buffer, grads);
    drop(tape);

    let (settings, mean, square) = optimizers[0].last_step(ENCODER);
    let mut influence = pool.take(combined.len());
    match grads.group(ENCODER) {
        Some(encoder_grad) => adam::influence(settings, encoder_grad, combined, mean, square, &mut influence),
        None => influence.fill(0.0),
    }
    Ok(gradients.iter().map(|gradient| reduce::dot(&influence, gradient)).collect())
}

/// The k-means clusters of the representations.
pub(super) struct Clusters {
    /// The centers, as rows.
    pub(super) centers: Vec<Vec<f64>>,
    parts: Vec<u32>,
}

impl Clusters {
    pub(super) fn of(z: &[Real], width: usize, lookahead: &Lookahead) -> Result<Clusters> {
        let points = Features::Dense(Dense::from_parts(z.len() / width, width, z.to_vec()));
        let settings =
            kmeans::KMeansSettings { n_init: lookahead.starts, ..kmeans::KMeansSettings::default() };
        // The same random state every time: clusters change only with the representations.
        let parts = kmeans::cluster(&points, lookahead.clusters, 0, &settings)?.assignments;
        Ok(Clusters { centers: centers(z, width, &parts, lookahead.clusters), parts })
    }

    /// The median squared distance of the nodes to their centers.
    pub(super) fn median_square(&self, z: &[Real]) -> f64 {
        let rows = z.par_chunks_exact(z.len() / self.parts.len()).zip(&self.parts);
        let mut squares: Vec<f64> =
            rows.map(|(row, &part)| square_distance(row, &self.centers[part as usize])).collect();
        let middle = squares.len() / 2;
        *squares.select_nth_unstable_by(middle, f64::total_cmp).1
    }
}

/// The means of the clusters.
fn centers(z: &[Real], width: usize, parts: &[u32], clusters: usize) -> Vec<Vec<f64>> {
    let mut sums = vec![vec![0.0; width]; clusters];
    let mut counts = vec![0usize; clusters];
    for (row, &part) in z.chunks_exact(width).zip(parts) {
        let sum = &mut sums[part as usize];
        sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
        counts[part as usize] += 1;
    }
    for (sum, &count) in sums.iter_mut().zip(&counts) {
        sum.iter_mut().for_each(|x| *x /= count.max(1) as f64);
    }
    sums
}

fn square_distance(row: &[Real], center: &[f64]) -> f64 {
    row.iter().zip(center).map(|(&x, c)| (f64::from(x) - c).powi(2)).sum()
}

/// The mean of |p_u − p_v| over edges and clusters with p_v = softmax_j(−‖z_v − center_j‖²/variance), and its gradient
/// with respect to the representations.
pub(super) fn disagreement(
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
    let z_grad = rows.flat_map_iter(|(p, by_p)| {
        let mean: f64 = p.iter().zip(by_p).map(|(p, slope)| p * slope).sum();
        // The derivatives by the logits sum to zero, so the terms along z_v cancel and those along the centers remain.
        let factors: Vec<f64> =
            p.iter().zip(by_p).map(|(p, slope)| 2.0 / variance * p * (slope - mean)).collect();
        (0..width)
            .map(move |i| factors.iter().zip(centers).map(|(f, center)| f * center[i]).sum::<f64>() as Real)
    });
    (total * share, z_grad.collect())
}

/// Soft cluster memberships p_v.
fn memberships(row: &[Real], centers: &[Vec<f64>], variance: f64) -> Vec<f64> {
    let logits: Vec<f64> = centers.iter().map(|center| -square_distance(row, center) / variance).collect();
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|logit| (logit - most).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.iter().map(|power| power / total).collect()
}
