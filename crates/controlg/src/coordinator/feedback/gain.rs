//! Planning by expected gain: how much a step on each objective lowers the held-out losses of all, by work.
//!
//! To first order a step on objective k lowers held-out loss j by T_jk = ⟨g_j, P g_k⟩, where g_j is the gradient of that loss, g_k
//! the training gradient of k, and P the learning rate times the optimizer's diagonal preconditioner. With c_k the cost of a
//! step on k, c̄ the mean cost, s_j the scale of loss j and w_j what its fall counts,
//!
//! U_k = (c̄/c_k) Σ_j w_j T_jk / s_j,  Ū_k ← (1−ρ)Ū_k + ρU_k,  f_k = floor + (1 − K·floor)·a_k/Σa with a_k = max(Ū_k, 0)^(1/τ).
//!
//! An objective that fits only its own training samples has no gain on the held-out ones, so it falls to the floor, and so does
//! one that raises the losses of the others. The floor keeps every head trained: the gradient of an objective whose head does
//! not follow the encoder says little.

use serde::{Deserialize, Serialize};

use super::plan::{GainWeights, Plan, PlanSettings, shares};
use super::sense::HeldOutReading;

/// The state of the planner between sensings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct GainState {
    /// The first held-out losses, by which falls are divided.
    scale: Vec<f64>,
    /// Smoothed gains.
    smoothed: Vec<f64>,
}

/// Updates the gains from a reading and replaces the shares of a plan, which has the weights.
pub(super) fn replan(
    state: &mut Option<GainState>,
    reading: &HeldOutReading,
    plan: Plan,
    settings: &PlanSettings,
) -> Plan {
    let scale = match &*state {
        Some(state) => state.scale.clone(),
        None => reading.loss.iter().map(|loss| loss.abs().max(1e-8)).collect(),
    };
    let gain = gains(reading, &plan.hv_weight, &scale, settings.weights);
    let smoothed = match &*state {
        // The first gains are taken as they are.
        None => gain.clone(),
        Some(before) => {
            let both = before.smoothed.iter().zip(&gain);
            both.map(|(before, new)| (1.0 - settings.rho) * before + settings.rho * new).collect()
        }
    };
    let priority: Vec<f64> =
        smoothed.iter().map(|gain: &f64| gain.max(0.0).powf(1.0 / settings.temperature)).collect();
    *state = Some(GainState { scale, smoothed });
    Plan { plan: shares(&priority, settings.floor), gain, priority, ..plan }
}

/// U_k = (c̄/c_k) Σ_j w_j T_jk / s_j. A number that could not be measured counts as zero.
fn gains(reading: &HeldOutReading, hv_weight: &[f64], scale: &[f64], weights: GainWeights) -> Vec<f64> {
    let k = scale.len();
    let mean = reading.cost.iter().sum::<f64>() / k as f64;
    let fall = |j: usize, k: usize| {
        let weight = if weights == GainWeights::Equal { 1.0 } else { hv_weight[j] };
        weight * reading.transfer[j][k] / scale[j]
    };
    let gain = |k: usize| -> f64 {
        let falls = (0..scale.len()).map(|j| fall(j, k)).filter(|fall| fall.is_finite());
        mean / reading.cost[k] * falls.sum::<f64>()
    };
    (0..k).map(gain).map(|gain| if gain.is_finite() { gain } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            hv_weight: vec![1.0, 1.0, 10.0],
            gain: vec![],
            priority: vec![1.0; 3],
            plan: vec![1.0 / 3.0; 3],
            log_hv: None,
        }
    }

    fn reading() -> HeldOutReading {
        HeldOutReading {
            loss: vec![2.0, 1.0, 0.5],
            // Objective 1 helps itself and objective 0, objective 2 harms both.
            transfer: vec![vec![0.2, 0.1, -0.1], vec![0.0, 0.3, -0.1], vec![0.0, 0.0, 0.0]],
            cost: vec![1.0, 2.0, 3.0],
        }
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
    }

    #[test]
    fn known_vector() {
        let settings = PlanSettings { floor: 0.1, ..PlanSettings::default() };
        let mut state = None;
        let first = replan(&mut state, &reading(), plan(), &settings);
        // Σ_j T_jk/s_j = 0.1, 0.35, −0.15, at costs of 1/2, 1, 3/2 means.
        close(&first.gain, &[0.2, 0.35, -0.1]);
        close(&first.plan, &[0.1 + 0.7 * 0.2 / 0.55, 0.1 + 0.7 * 0.35 / 0.55, 0.1]);
        // Later gains are smoothed and keep the first scale.
        let later = HeldOutReading { loss: vec![9.0; 3], ..reading() };
        let later = HeldOutReading { cost: vec![2.0; 3], ..later };
        let second = replan(&mut state, &later, plan(), &settings);
        close(&second.gain, &[0.1, 0.35, -0.15]);
        close(&second.priority, &[0.7 * 0.2 + 0.3 * 0.1, 0.35, 0.0]);
    }

    #[test]
    fn weights_and_temperature() {
        let mut reading = reading();
        reading.transfer[2][0] = -0.01;
        let settings = PlanSettings {
            weights: GainWeights::LogHypervolume,
            temperature: 0.5,
            floor: 0.0,
            ..PlanSettings::default()
        };
        let made = replan(&mut None, &reading, plan(), &settings);
        // The fall of the third loss counts ten times.
        close(&made.gain, &[2.0 * (0.1 - 0.2), 0.35, -0.1]);
        close(&made.plan, &[0.0, 1.0, 0.0]);
    }

    #[test]
    fn without_any_gain_shares_are_equal() {
        let mut reading = reading();
        reading.transfer.iter_mut().flatten().for_each(|x| *x = -1.0);
        reading.transfer[0][1] = f64::NAN;
        let made = replan(&mut None, &reading, plan(), &PlanSettings::default());
        close(&made.plan, &[1.0 / 3.0; 3]);
        assert!(made.gain.iter().all(|gain| gain.is_finite()));
    }
}
