//! Sense: turning losses and gradient geometry into a difficulty and a normalized loss per objective.

use serde::{Deserialize, Serialize};

use crate::coordinator::min_norm;
use crate::setting::{Key, Range, Scalar};

/// Added to the scale of a loss before dividing by it.
pub(super) const SCALE_EPSILON: f64 = 1e-12;

/// Settings of sensing (`[sense]` in the run file).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SenseSettings {
    /// Blocks between sensings.
    pub period: usize,
    /// Weight of the Rayleigh quotient (spectral demand) in the difficulty.
    pub alpha: f64,
    /// Weight of gradient conflict (interference) in the difficulty.
    pub beta: f64,
    /// EMA coefficient of new values in the difficulty.
    pub rho: f64,
    /// EMA coefficient of new values in the normalized loss.
    pub rho_loss: f64,
    /// Lower bound of the difficulty.
    pub difficulty_min: f64,
    /// Upper bound of the difficulty.
    pub difficulty_max: f64,
    /// Number of nodes up to which the whole graph is sensed.
    pub whole_up_to: usize,
    /// Nodes of the fixed subgraph that is sensed instead of a larger graph.
    pub probe_nodes: usize,
    /// Share of the samples of each objective that is held out; 0 for none.
    pub held_out: f64,
    /// The weights of relations in the Rayleigh quotient.
    pub relation_weights: RelationWeights,
}

/// The weights of relations in the Rayleigh quotient RQ = Σᵣ wᵣ·RQᵣ of a graph with types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelationWeights {
    /// The share of edges.
    #[default]
    Edges,
    /// The same for all relations.
    Equal,
}

impl SenseSettings {
    /// The settings' names and ranges.
    pub const KEYS: &[Key] = &[
        Key::new("period", Range::Whole(1, 1_000_000), "blocks between sensings"),
        Key::new("alpha", Range::Number(0.0, 1e6), "weight of the Rayleigh quotient in the difficulty"),
        Key::new("beta", Range::Number(0.0, 1e6), "weight of gradient conflict in the difficulty"),
        Key::new("rho", Range::Number(0.0, 1.0), "EMA coefficient of new values in the difficulty"),
        Key::new("rho_loss", Range::Number(0.0, 1.0), "EMA coefficient of new values in the normalized loss"),
        Key::new("difficulty_min", Range::Number(0.0, 1e6), "lower bound of the difficulty"),
        Key::new("difficulty_max", Range::Number(0.0, 1e6), "upper bound of the difficulty"),
        Key::new(
            "whole_up_to",
            Range::Whole(0, 1 << 40),
            "number of nodes up to which the whole graph is sensed",
        ),
        Key::new(
            "probe_nodes",
            Range::Whole(2, 1 << 40),
            "nodes of the fixed subgraph that is sensed for larger graphs",
        ),
        Key::new(
            "held_out",
            Range::Number(0.0, 0.5),
            "share of each objective's samples that is held out to measure losses; 0: none",
        )
        .added_later(Scalar::Number(0.0)),
        Key::new(
            "relation_weights",
            Range::OneOf(&["edges", "equal"]),
            "weights of relations in the Rayleigh quotient: their shares of the edges, or equal",
        )
        .added_later(Scalar::Text("edges")),
    ];
}

impl Default for SenseSettings {
    fn default() -> Self {
        SenseSettings {
            period: 10,
            alpha: 1.0,
            beta: 0.25,
            rho: 0.3,
            rho_loss: 0.3,
            difficulty_min: 0.0,
            difficulty_max: 3.0,
            whole_up_to: 50_000,
            probe_nodes: 20_000,
            held_out: 0.0,
            relation_weights: RelationWeights::Edges,
        }
    }
}

/// Measurements of all objectives at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Losses.
    pub loss: Vec<f64>,
    /// Norms of the gradients with respect to the shared parameters.
    pub grad_norm: Vec<f64>,
    /// Cosines between those gradients.
    #[serde(rename = "gram", alias = "cosine")]
    pub cosine: Vec<Vec<f64>>,
    /// Rayleigh quotients of the gradients with respect to the embeddings, in [0, 2].
    pub rq: Vec<f64>,
    /// The Rayleigh quotients in each relation (rows) that `rq` is the weighted mean of; empty for a homogeneous graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rq_relation: Vec<Vec<f64>>,
    /// Measurements on held-out samples, which planning by expected gain needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOutReading>,
}

/// Measurements on held-out samples at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldOutReading {
    /// Losses on the held-out samples.
    pub loss: Vec<f64>,
    /// Row j, column k: the inner product of the gradient of held-out loss j and what a step on objective k moves the shared
    /// parameters by, which to first order is the fall of loss j.
    pub transfer: Vec<Vec<f64>>,
    /// Cost of a step on each objective, in any unit.
    pub cost: Vec<f64>,
}

impl Reading {
    /// Makes a reading from the inner products of the gradients.
    pub fn from_products(loss: Vec<f64>, products: &[Vec<f64>], rq: Vec<f64>) -> Reading {
        let grad_norm: Vec<f64> =
            products.iter().enumerate().map(|(k, row)| row[k].max(0.0).sqrt()).collect();
        let cosine = |k: usize, j: usize| {
            let norms = grad_norm[k] * grad_norm[j];
            match (k == j, norms > 0.0) {
                (_, false) => 0.0,
                (true, true) => 1.0,
                (false, true) => (products[k][j] / norms).clamp(-1.0, 1.0),
            }
        };
        let cosine = (0..loss.len()).map(|k| (0..loss.len()).map(|j| cosine(k, j)).collect()).collect();
        Reading { loss, grad_norm, cosine, rq, rq_relation: Vec::new(), held_out: None }
    }

    /// Whether objective `k` was measured successfully. If its gradient is zero or a value is not finite, it is left out
    /// of the geometry (a zero vector would get all the weight) and keeps its previous state.
    pub(crate) fn usable(&self, k: usize) -> bool {
        self.loss[k].is_finite()
            && self.rq[k].is_finite()
            && self.grad_norm[k].is_finite()
            && self.grad_norm[k] > 0.0
            && self.cosine[k].iter().all(|cosine| cosine.is_finite())
    }
}

/// The state of the objectives between sensings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopState {
    /// Difficulty D.
    pub difficulty: Vec<f64>,
    /// Normalized, smoothed loss L̃.
    pub loss_norm: Vec<f64>,
    /// The fixed scale that each loss is divided by.
    pub loss_scale: Vec<f64>,
    /// Reference point r of the planner.
    pub reference: Vec<f64>,
}

/// What sensing derives from a reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sensed {
    /// Weights of the minimum-norm point in the convex hull of the unit gradients.
    pub lambda: Vec<f64>,
    /// Conflict of each objective with the others: Conf_k = Σ_{j≠k} λ_j·max(0, −cos(g_k, g_j)).
    pub conf: Vec<f64>,
    /// Robustly normalized Rayleigh quotients.
    pub rq_norm: Vec<f64>,
    /// Robustly normalized conflicts.
    pub conf_norm: Vec<f64>,
}

/// Updates difficulty and normalized loss from a reading:
/// D ← clip((1−ρ)D + ρ(αR̄ + βC̄)), L̃ ← (1−ρ_L)L̃ + ρ_L·loss/scale.
pub fn sense(reading: &Reading, state: &mut LoopState, settings: &SenseSettings) -> Sensed {
    let k = reading.loss.len();
    let usable: Vec<usize> = (0..k).filter(|&k| reading.usable(k)).collect();
    let cosine: Vec<Vec<f64>> =
        usable.iter().map(|&a| usable.iter().map(|&b| reading.cosine[a][b]).collect()).collect();
    let lambda =
        scatter(k, &usable, &if usable.is_empty() { Vec::new() } else { min_norm::weights(&cosine) });
    let conf: Vec<f64> = (0..k)
        .map(|a| {
            let conflict = |b: usize| lambda[b] * (-reading.cosine[a][b]).max(0.0);
            if reading.usable(a) {
                usable.iter().filter(|&&b| b != a).map(|&b| conflict(b)).sum()
            } else {
                0.0
            }
        })
        .collect();
    let normalized = |values: &[f64]| {
        let picked: Vec<f64> = usable.iter().map(|&k| values[k]).collect();
        scatter(k, &usable, &robust_norm(&picked))
    };
    let (rq_norm, conf_norm) = (normalized(&reading.rq), normalized(&conf));
    for &k in &usable {
        let drive = settings.alpha * rq_norm[k] + settings.beta * conf_norm[k];
        let difficulty = (1.0 - settings.rho) * state.difficulty[k] + settings.rho * drive;
        state.difficulty[k] = difficulty.clamp(settings.difficulty_min, settings.difficulty_max);
        let loss = reading.loss[k] / (state.loss_scale[k] + SCALE_EPSILON);
        state.loss_norm[k] = (1.0 - settings.rho_loss) * state.loss_norm[k] + settings.rho_loss * loss;
    }
    Sensed { lambda, conf, rq_norm, conf_norm }
}

/// Robust z-scores: (x − median) / max(1.4826·MAD, 0.05·range, 1e-6), clipped to ±3; zeros if all values are equal. The
/// range bounds the scale from below because most conflicts are 0, and then the MAD is 0 too.
pub fn robust_norm(values: &[f64]) -> Vec<f64> {
    let median = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
    };
    if values.is_empty() {
        return Vec::new();
    }
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let range = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least;
    if range < 1e-6 {
        return vec![0.0; values.len()];
    }
    let center = median(values);
    let deviations: Vec<f64> = values.iter().map(|x| (x - center).abs()).collect();
    let scale = (1.4826 * median(&deviations)).max(0.05 * range).max(1e-6);
    values.iter().map(|x| ((x - center) / scale).clamp(-3.0, 3.0)).collect()
}

/// Scatters the values of some objectives into a vector of all, filled with zeros.
fn scatter(k: usize, places: &[usize], values: &[f64]) -> Vec<f64> {
    let mut all = vec![0.0; k];
    for (&place, &value) in places.iter().zip(values) {
        all[place] = value;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(k: usize) -> LoopState {
        LoopState {
            difficulty: vec![0.0; k],
            loss_norm: vec![1.0; k],
            loss_scale: vec![2.0; k],
            reference: vec![1.1; k],
        }
    }

    fn reading(cosine: Vec<Vec<f64>>) -> Reading {
        let k = cosine.len();
        Reading {
            loss: vec![1.0; k],
            grad_norm: vec![1.0; k],
            cosine,
            rq: vec![1.0; k],
            rq_relation: vec![],
            held_out: None,
        }
    }

    fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < tolerance, "{found:?} against {expected:?}");
        }
    }

    #[test]
    fn robust_norm_vector() {
        let found = robust_norm(&[0.4, 0.5, 0.9, 1.0, 0.45]);
        assert_close(&found, &[-0.674, 0.0, 2.698, 3.0, -0.337], 1e-3);
        assert_eq!(robust_norm(&[0.3, 0.3]), [0.0, 0.0]);
        // With a MAD of 0 the range sets the scale, and the outlier is clipped.
        assert_eq!(robust_norm(&[0.0, 0.0, 0.0, 1.0]), [0.0, 0.0, 0.0, 3.0]);
    }

    #[test]
    fn conflict_vectors() {
        let settings = SenseSettings::default();
        let two = sense(&reading(vec![vec![1.0, -0.5], vec![-0.5, 1.0]]), &mut state(2), &settings);
        assert_close(&two.conf, &[0.25, 0.25], 1e-9);
        let three = vec![vec![1.0, -0.6, 0.2], vec![-0.6, 1.0, 0.3], vec![0.2, 0.3, 1.0]];
        let three = sense(&reading(three), &mut state(3), &settings);
        assert_close(&three.conf, &[0.3, 0.3, 0.0], 1e-9);
        let five = vec![
            vec![1.0, 0.3, -0.4, 0.1, -0.1],
            vec![0.3, 1.0, -0.2, 0.0, 0.2],
            vec![-0.4, -0.2, 1.0, 0.25, -0.3],
            vec![0.1, 0.0, 0.25, 1.0, -0.5],
            vec![-0.1, 0.2, -0.3, -0.5, 1.0],
        ];
        let five = sense(&reading(five), &mut state(5), &settings);
        assert_close(&five.conf, &[0.13323, 0.05170, 0.18604, 0.14913, 0.18951], 1e-5);
    }

    #[test]
    fn an_objective_that_could_not_be_measured_keeps_its_state() {
        let products = vec![vec![4.0, 0.0, -2.0], vec![0.0, 0.0, 0.0], vec![-2.0, 0.0, 9.0]];
        let reading = Reading::from_products(vec![1.0, f64::NAN, 3.0], &products, vec![0.5, 0.0, 1.5]);
        assert_close(&reading.grad_norm, &[2.0, 0.0, 3.0], 1e-12);
        let mut after = state(3);
        let sensed = sense(&reading, &mut after, &SenseSettings::default());
        assert_eq!((sensed.lambda[1], sensed.conf[1]), (0.0, 0.0));
        assert_eq!((after.difficulty[1], after.loss_norm[1]), (0.0, 1.0));
        assert!((sensed.lambda[0] + sensed.lambda[2] - 1.0).abs() < 1e-12);
        assert_close(&after.loss_norm, &[0.7 + 0.3 * 0.5, 1.0, 0.7 + 0.3 * 1.5], 1e-9);
    }
}
