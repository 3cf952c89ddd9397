//! Planning by expected gain: how much a step on each objective lowers the held-out losses of all, by work.
//!
//! To first order a step on objective k lowers held-out loss j by T_jk = ⟨g_j, P g_k⟩, where g_j is the gradient of that loss, g_k
//! the training gradient of k, and P the learning rate times the optimizer's diagonal preconditioner. With c_k the cost of a
//! step on k, c̄ the mean cost, s_j the scale of loss j and w_j what its fall counts,
//!
//! U_k = (c̄/c_k) Σ_j w_j T_jk / s_j,  Ū_k ← (1−ρ)Ū_k + ρU_k,  f_k = floor + (1 − K·floor)·a_k/Σa with a_k = max(Ū_k, 0)^(1/τ).
//!
//! The prediction can be wrong: a step moves the head too, and one that learns random classes by heart raises the held-out loss
//! although the encoder's gradients promise a fall. With `trust`, loss j counts by how far its falls have come true (see [`TrustState`]).
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
    /// What was expected of the held-out losses, if it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trust: Option<TrustState>,
}

/// How far the expected falls of the held-out losses come true.
///
/// Between two sensings, loss j is expected to fall by p_j = Σ_k n_k T_jk, with n_k blocks on objective k, and falls by r_j. The
/// trust in j is the slope of r_j over p_j, an exponential moving average of r_j·p_j over one of p_j², from 0 to 1. It starts at 1.
/// A loss that rises because others harm it keeps its trust, since the harm was expected. Blocks of several steps fall further
/// than p_j, which a slope of at most 1 ignores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TrustState {
    /// The last held-out losses and effects.
    loss: Vec<f64>,
    transfer: Vec<Vec<f64>>,
    /// Blocks since then.
    blocks: Vec<u64>,
    /// The averages of r_j·p_j and of p_j²; empty before the second sensing.
    covariance: Vec<f64>,
    variance: Vec<f64>,
}

impl TrustState {
    fn new(reading: &HeldOutReading) -> TrustState {
        TrustState {
            loss: reading.loss.clone(),
            transfer: reading.transfer.clone(),
            blocks: vec![0; reading.loss.len()],
            covariance: Vec::new(),
            variance: Vec::new(),
        }
    }

    /// Compares what was expected with a new reading.
    fn observe(&mut self, reading: &HeldOutReading, rho: f64) {
        let expected: Vec<f64> = self
            .transfer
            .iter()
            .map(|row| row.iter().zip(&self.blocks).map(|(fall, &blocks)| fall * blocks as f64).sum())
            .collect();
        if self.variance.is_empty() {
            self.variance = expected.iter().map(|p| p * p).collect();
            self.covariance.clone_from(&self.variance);
        }
        for (j, &p) in expected.iter().enumerate() {
            let realized = self.loss[j] - reading.loss[j];
            // What could not be measured says nothing.
            if p.is_finite() && realized.is_finite() && self.variance[j].is_finite() {
                self.covariance[j] = (1.0 - rho) * self.covariance[j] + rho * realized * p;
                self.variance[j] = (1.0 - rho) * self.variance[j] + rho * p * p;
            }
        }
        let averages = (std::mem::take(&mut self.covariance), std::mem::take(&mut self.variance));
        *self = TrustState { covariance: averages.0, variance: averages.1, ..TrustState::new(reading) };
    }

    fn trust(&self) -> Vec<f64> {
        let slope = |j: usize| match self.variance.get(j) {
            Some(&variance) if variance > 0.0 && variance.is_finite() => {
                (self.covariance[j] / variance).clamp(0.0, 1.0)
            }
            _ => 1.0,
        };
        (0..self.loss.len()).map(slope).collect()
    }
}

impl GainState {
    /// Counts a block on an objective.
    pub(super) fn count(&mut self, objective: usize) {
        if let Some(trust) = &mut self.trust {
            trust.blocks[objective] += 1;
        }
    }
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
    let trust = settings.trust.then(|| match state.as_mut().and_then(|state| state.trust.take()) {
        None => TrustState::new(reading),
        Some(mut trust) => {
            trust.observe(reading, settings.rho);
            trust
        }
    });
    let trusted = trust.as_ref().map(TrustState::trust);
    let gain = gains(reading, &weights(&plan.hv_weight, settings.weights, trusted.as_deref()), &scale);
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
    *state = Some(GainState { scale, smoothed, trust });
    let trust = trusted.unwrap_or_default();
    Plan { plan: shares(&priority, settings.floor), gain, trust, priority, ..plan }
}

/// w_j: what the fall of each loss counts, times the trust in it.
fn weights(hv_weight: &[f64], weights: GainWeights, trust: Option<&[f64]>) -> Vec<f64> {
    let of = |j: usize| {
        let weight = if weights == GainWeights::Equal { 1.0 } else { hv_weight[j] };
        weight * trust.map_or(1.0, |trust| trust[j])
    };
    (0..hv_weight.len()).map(of).collect()
}

/// U_k = (c̄/c_k) Σ_j w_j T_jk / s_j. A number that could not be measured counts as zero.
fn gains(reading: &HeldOutReading, weights: &[f64], scale: &[f64]) -> Vec<f64> {
    let k = scale.len();
    let mean = reading.cost.iter().sum::<f64>() / k as f64;
    let fall = |j: usize, k: usize| weights[j] * reading.transfer[j][k] / scale[j];
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
            trust: vec![],
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
    fn a_loss_that_does_not_fall_as_expected_loses_its_say() {
        let settings = PlanSettings { floor: 0.1, trust: true, rho: 0.5, ..PlanSettings::default() };
        let mut state = None;
        let first = replan(&mut state, &reading(), plan(), &settings);
        close(&first.trust, &[1.0; 3]);
        close(&first.gain, &[0.2, 0.35, -0.1]);
        // Two blocks on objective 0 and one on objective 1: falls of 0.5, 0.3 and 0 are expected.
        [0, 1, 0].into_iter().for_each(|objective| state.as_mut().unwrap().count(objective));
        // The first loss falls by half as much, the second rises.
        let later = HeldOutReading { loss: vec![1.75, 1.6, 0.4], ..reading() };
        let second = replan(&mut state, &later, plan(), &settings);
        // (1 + 1/2)/2 and (1 − 2)/2; of the third nothing was expected.
        close(&second.trust, &[0.75, 0.0, 1.0]);
        // 2·0.75·0.1, 0.75·0.05 and −2/3·0.75·0.05, smoothed.
        close(&second.gain, &[0.15, 0.0375, -0.025]);
        close(&second.priority, &[0.175, 0.19375, 0.0]);
        // Without blocks nothing is expected, and the trust stays.
        let third = replan(&mut state, &later, plan(), &settings);
        close(&third.trust, &second.trust);
        // A loss that rises as expected keeps its trust.
        let mut harmed = reading();
        harmed.transfer[0] = vec![-0.2, 0.0, 0.0];
        let mut state = None;
        replan(&mut state, &harmed, plan(), &settings);
        state.as_mut().unwrap().count(0);
        let rises = HeldOutReading { loss: vec![2.2, 1.0, 0.5], ..harmed };
        close(&replan(&mut state, &rises, plan(), &settings).trust, &[1.0, 1.0, 1.0]);
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
