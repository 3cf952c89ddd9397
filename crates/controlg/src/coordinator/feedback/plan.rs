//! Plan: computing the share of blocks that each objective should get.

use serde::{Deserialize, Serialize};

use super::sense::LoopState;
use crate::setting::{Key, Range};

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
}

/// What determines the shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanMode {
    /// The sensitivity of the log-hypervolume, damped by difficulty, as in the paper.
    #[default]
    LogHypervolume,
    /// Equal shares.
    Uniform,
}

impl PlanSettings {
    /// The settings' names and ranges.
    pub const KEYS: &[Key] = &[
        Key::new(
            "mode",
            Range::OneOf(&["log-hypervolume", "uniform"]),
            "shares from the log-hypervolume's sensitivity damped by difficulty, or equal shares",
        ),
        Key::new("gamma", Range::Number(0.0, 1e6), "how strongly difficulty lowers an objective's share"),
        Key::new("floor", Range::Below(0.0, 1.0), "minimum share of an objective; must be below 1/K"),
        Key::new(
            "delta",
            Range::Number(1e-9, 1e6),
            "minimum distance between the reference point and the loss",
        ),
    ];
}

impl Default for PlanSettings {
    fn default() -> Self {
        PlanSettings { mode: PlanMode::default(), gamma: 1.0, floor: 0.1, delta: 0.1 }
    }
}

/// Planned shares and how they were computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Sensitivities w_k = 1/(r_k − L̃_k + ε).
    pub hv_weight: Vec<f64>,
    /// Priorities a_k = w_k/(1 + γD_k).
    pub priority: Vec<f64>,
    /// Shares f_k = floor + (1 − K·floor)·a_k/Σa; they sum to 1.
    pub plan: Vec<f64>,
}

/// Raises the reference point where a loss comes within δ of it (r ← max(r, L̃ + δ)) and plans the shares.
pub fn plan(state: &mut LoopState, settings: &PlanSettings) -> Plan {
    let k = state.loss_norm.len();
    for (reference, loss) in state.reference.iter_mut().zip(&state.loss_norm) {
        *reference = reference.max(loss + settings.delta);
    }
    let slacks = state.reference.iter().zip(&state.loss_norm);
    let hv_weight: Vec<f64> = slacks.map(|(r, loss)| 1.0 / (r - loss + SLACK_EPSILON)).collect();
    let tempered = hv_weight.iter().zip(&state.difficulty);
    let priority: Vec<f64> = tempered.map(|(w, d)| w / (1.0 + settings.gamma * d)).collect();
    let total: f64 = priority.iter().sum();
    let free = 1.0 - k as f64 * settings.floor;
    let plan = match settings.mode {
        PlanMode::LogHypervolume => priority.iter().map(|a| settings.floor + free * a / total).collect(),
        PlanMode::Uniform => vec![1.0 / k as f64; k],
    };
    Plan { hv_weight, priority, plan }
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
