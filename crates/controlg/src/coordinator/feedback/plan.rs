//! Plan: computing the share of blocks that each objective should get.

use serde::{Deserialize, Serialize};

use super::sense::LoopState;
use crate::setting::{Key, Range, Scalar};

/// Added to the slack r − L̃ before dividing by it.
const SLACK_EPSILON: f64 = 1e-8;

/// Settings of the planner (`[plan]` in the run file).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanSettings {
    /// What determines the shares.
    pub mode: PlanMode,
    /// How strongly difficulty lowers an objective's share.
    pub gamma: f64,
    /// The minimum share of an objective.
    pub floor: f64,
    /// The minimum distance between the reference point and the loss.
    pub delta: f64,
    /// What the expected fall of each loss counts (`mode = gain`).
    pub weights: GainWeights,
    /// The temperature of the shares (`mode = gain`): below 1 they follow the gains more sharply, above 1 less so.
    pub temperature: f64,
    /// EMA coefficient of new gains (`mode = gain`).
    pub rho: f64,
    /// Whether each held-out loss counts by how far its expected falls have come true (`mode = gain`).
    pub trust: bool,
}

/// What determines the shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanMode {
    /// The sensitivity of the log-hypervolume, damped by difficulty, as in the paper.
    #[default]
    LogHypervolume,
    /// The expected fall of all held-out losses by the work of a step.
    Gain,
    /// Equal shares.
    Uniform,
}

/// What the expected fall of each loss counts when shares follow expected gains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GainWeights {
    /// The same.
    #[default]
    Equal,
    /// The sensitivity of the log-hypervolume: the gain is then the expected rise of the log-hypervolume.
    LogHypervolume,
}

impl PlanSettings {
    /// The settings' names and ranges.
    pub const KEYS: &[Key] = &[
        Key::new(
            "mode",
            Range::OneOf(&["log-hypervolume", "gain", "uniform"]),
            "shares from the log-hypervolume's sensitivity damped by difficulty, from expected gains on held-out losses, \
             or equal shares",
        ),
        Key::new("gamma", Range::Number(0.0, 1e6), "how strongly difficulty lowers an objective's share"),
        Key::new("floor", Range::Below(0.0, 1.0), "minimum share of an objective; must be below 1/K"),
        Key::new(
            "delta",
            Range::Number(1e-9, 1e6),
            "minimum distance between the reference point and the loss",
        ),
        Key::new(
            "weights",
            Range::OneOf(&["equal", "log-hypervolume"]),
            "mode = gain: what the fall of each loss counts",
        )
        .added_later(Scalar::Text("equal")),
        Key::new("temperature", Range::Number(0.01, 100.0), "mode = gain: temperature of the shares")
            .added_later(Scalar::Number(1.0)),
        Key::new("rho", Range::Number(1e-6, 1.0), "mode = gain: EMA coefficient of new gains")
            .added_later(Scalar::Number(0.3)),
        Key::new(
            "trust",
            Range::Flag,
            "mode = gain: whether each held-out loss counts by how far its expected falls have come true",
        )
        .added_later(Scalar::Flag(false)),
    ];
}

impl Default for PlanSettings {
    fn default() -> Self {
        PlanSettings {
            mode: PlanMode::default(),
            gamma: 1.0,
            floor: 0.1,
            delta: 0.1,
            weights: GainWeights::default(),
            temperature: 1.0,
            rho: 0.3,
            trust: false,
        }
    }
}

/// Planned shares and how they were computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Sensitivities w_k = 1/(r_k − L̃_k + ε).
    pub hv_weight: Vec<f64>,
    /// Expected gains U_k; empty unless they determine the shares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gain: Vec<f64>,
    /// How far the expected falls of each held-out loss have come true; empty unless it counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trust: Vec<f64>,
    /// Priorities a_k = w_k/(1 + γD_k), or max(Ū_k, 0)^(1/τ) with the smoothed gains Ū.
    pub priority: Vec<f64>,
    /// Shares f_k = floor + (1 − K·floor)·a_k/Σa; they sum to 1.
    pub plan: Vec<f64>,
    /// Log-hypervolume φ = Σ log(r_k − L̃_k); older versions did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_hv: Option<f64>,
}

/// Shares floor + (1 − K·floor)·a_k/Σa; equal ones if all priorities are zero.
pub(super) fn shares(priority: &[f64], floor: f64) -> Vec<f64> {
    let (k, total) = (priority.len() as f64, priority.iter().sum::<f64>());
    match total > 0.0 {
        true => priority.iter().map(|a| floor + (1.0 - k * floor) * a / total).collect(),
        false => vec![1.0 / k; priority.len()],
    }
}

/// Raises the reference point where a loss comes within δ of it (r ← max(r, L̃ + δ)) and plans the shares.
pub fn plan(state: &mut LoopState, settings: &PlanSettings) -> Plan {
    let k = state.loss_norm.len();
    for (reference, loss) in state.reference.iter_mut().zip(&state.loss_norm) {
        *reference = reference.max(loss + settings.delta);
    }
    let slacks = state.reference.iter().zip(&state.loss_norm);
    let log_hv = slacks.clone().map(|(r, loss)| (r - loss).ln()).sum();
    let hv_weight: Vec<f64> = slacks.map(|(r, loss)| 1.0 / (r - loss + SLACK_EPSILON)).collect();
    let tempered = hv_weight.iter().zip(&state.difficulty);
    let priority: Vec<f64> = tempered.map(|(w, d)| w / (1.0 + settings.gamma * d)).collect();
    let total: f64 = priority.iter().sum();
    let free = 1.0 - k as f64 * settings.floor;
    let plan = match settings.mode {
        PlanMode::LogHypervolume => priority.iter().map(|a| settings.floor + free * a / total).collect(),
        // Without measurements on held-out samples there are no gains to follow.
        PlanMode::Uniform | PlanMode::Gain => vec![1.0 / k as f64; k],
    };
    Plan { hv_weight, gain: Vec::new(), trust: Vec::new(), priority, plan, log_hv: Some(log_hv) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_vector() {
        let mut state = LoopState {
            difficulty: vec![0.0, 1.0, 2.0, 0.0, 0.5],
            loss_norm: vec![0.5, 0.9, 1.0, 0.2, 0.7],
            loss_scale: vec![1.0; 5],
            reference: vec![1.1; 5],
        };
        let shares = |floor, state: &mut LoopState| {
            plan(state, &PlanSettings { floor, ..PlanSettings::default() }).plan
        };
        let plain = shares(0.0, &mut state);
        let floored = shares(0.1, &mut state);
        let expected = [0.16216, 0.24324, 0.32432, 0.10811, 0.16216];
        let expected_floored = [0.18108, 0.22162, 0.26216, 0.15405, 0.18108];
        for k in 0..5 {
            assert!((plain[k] - expected[k]).abs() < 1e-5, "{plain:?}");
            assert!((floored[k] - expected_floored[k]).abs() < 1e-5, "{floored:?}");
        }
    }

    proptest! {
        #[test]
        fn shares_sum_to_one_and_respect_the_floor_and_references_never_fall(
            objectives in prop::collection::vec((0.0f64..3.0, 0.0f64..5.0, 0.0f64..5.0), 1..8),
            gamma in 0.0f64..2.0,
            floor in 0.0f64..1.0,
            delta in 0.01f64..1.0,
        ) {
            let k = objectives.len();
            let settings = PlanSettings { gamma, floor: floor / k as f64 * 0.99, delta, ..PlanSettings::default() };
            let mut state = LoopState {
                difficulty: objectives.iter().map(|objective| objective.0).collect(),
                loss_norm: objectives.iter().map(|objective| objective.1).collect(),
                loss_scale: vec![1.0; k],
                reference: objectives.iter().map(|objective| objective.2).collect(),
            };
            let before = state.reference.clone();
            let made = plan(&mut state, &settings);
            prop_assert!((made.plan.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            for (k, old) in before.into_iter().enumerate() {
                prop_assert!(made.plan[k] >= settings.floor - 1e-12 && made.hv_weight[k] > 0.0);
                prop_assert!(state.reference[k] >= old);
                prop_assert!(state.reference[k] - state.loss_norm[k] >= delta * (1.0 - 1e-9));
            }
        }
    }
}
