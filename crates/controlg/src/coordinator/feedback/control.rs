//! Control: choosing the objective of the next block so that realized shares track the plan.

use serde::{Deserialize, Serialize};

use crate::setting::{Key, Range, Scalar};

/// Settings of the controller (`[control]` in the run file).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ControlSettings {
    /// How the next objective is chosen.
    pub mode: ControlMode,
    /// Proportional gain: weight of the deficit.
    pub kp: Gain,
    /// Integral gain: weight of the accumulated deficit.
    pub ki: Gain,
    /// Derivative gain: weight of the change in the deficit.
    pub kd: Gain,
    /// Share of the probability that is spread uniformly over all objectives.
    pub explore: f64,
    /// Temperature of the softmax.
    pub temperature: f64,
    /// Bound on the absolute value of the integral (anti-windup).
    pub integral_limit: f64,
    /// What the integral accumulates. Schedulers that were stored without it accumulated centered deficits.
    #[serde(default = "IntegralRule::before_it_was_a_setting")]
    pub integral: IntegralRule,
}

/// What the integral of the controller accumulates.
///
/// The deficits sum to 1, so in the paper's form every integral drifts upward by 1/K per block on average and ends at the
/// bound. The softmax ignores a common shift, so the two forms differ only where the bound is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IntegralRule {
    /// The deficits, as in the paper: I ← clip(I + e).
    #[default]
    Paper,
    /// The deficits without their mean: I ← clip(I + e − 1/K).
    Centered,
}

impl IntegralRule {
    const fn before_it_was_a_setting() -> Self {
        IntegralRule::Centered
    }
}

/// How the next objective is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlMode {
    /// Sampled from the softmax of the PID logits, with exploration, as in the paper.
    #[default]
    Pid,
    /// The objective with the largest deficit; ties go to the first.
    MaxDeficit,
    /// Sampled from the plan, independently of earlier blocks.
    Draw,
}

/// A controller gain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Gain {
    /// The same for every objective.
    All(f64),
    /// One per objective, in their order.
    Each(Vec<f64>),
}

impl Gain {
    /// The gain of objective `k`.
    pub(crate) fn of(&self, k: usize) -> f64 {
        match self {
            Gain::All(gain) => *gain,
            Gain::Each(gains) => gains[k],
        }
    }
}

impl ControlSettings {
    /// The settings' names and ranges.
    pub const KEYS: &[Key] = &[
        Key::new(
            "mode",
            Range::OneOf(&["pid", "max-deficit", "draw"]),
            "sample from PID logits, take the largest deficit, or sample from the plan independently",
        ),
        Key::new("kp", Range::Gain(0.0, 1e6), "proportional gain: weight of the deficit"),
        Key::new("ki", Range::Gain(0.0, 1e6), "integral gain: weight of the accumulated deficit"),
        Key::new("kd", Range::Gain(0.0, 1e6), "derivative gain: weight of the change in the deficit"),
        Key::new(
            "explore",
            Range::Number(0.0, 1.0),
            "share of the probability spread uniformly over all objectives",
        ),
        Key::new("temperature", Range::Number(1e-6, 1e6), "softmax temperature"),
        Key::new(
            "integral_limit",
            Range::Number(0.0, 1e9),
            "bound on the absolute value of the integral (anti-windup)",
        ),
        Key::new(
            "integral",
            Range::OneOf(&["paper", "centered"]),
            "what the integral accumulates: deficits, or deficits without their mean 1/K",
        )
        .added_later(Scalar::Text("centered")),
    ];
}

impl Default for ControlSettings {
    fn default() -> Self {
        ControlSettings {
            mode: ControlMode::default(),
            kp: Gain::All(0.5),
            ki: Gain::All(0.1),
            kd: Gain::All(0.1),
            explore: 0.05,
            temperature: 1.0,
            integral_limit: 10.0,
            integral: IntegralRule::default(),
        }
    }
}

/// The state of the controller, reset every epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tracking {
    /// Planned number of blocks per objective: the sum of the plans so far.
    pub count_ref: Vec<f64>,
    /// Number of blocks per objective so far.
    pub count: Vec<u64>,
    /// Accumulated deficits.
    pub integral: Vec<f64>,
    /// Deficits at the previous block.
    pub previous: Vec<f64>,
}

/// One scheduling decision and how it was reached. Values that a method does not use are empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Planned shares.
    pub plan: Vec<f64>,
    /// Planned number of blocks per objective, including this one.
    pub count_ref: Vec<f64>,
    /// Number of blocks per objective before this one.
    pub count: Vec<u64>,
    /// Deficits e = count_ref − count; they sum to 1.
    pub deficit: Vec<f64>,
    /// Accumulated deficits, including this one.
    pub integral: Vec<f64>,
    /// Changes of the deficits.
    pub delta: Vec<f64>,
    /// Logits ν = K_P·e + K_I·I + K_D·Δe.
    pub logit: Vec<f64>,
    /// Probabilities (1−ε)·softmax(ν/τ) + ε/K.
    pub prob: Vec<f64>,
    /// The uniform random number used for sampling.
    pub draw: Option<f64>,
    /// The index of the chosen objective.
    #[serde(rename = "task")] // kept from version 0.1: stored in files
    pub objective: usize,
}

impl Decision {
    /// A sample from fixed probabilities.
    pub(crate) fn sampled(prob: Vec<f64>, draw: f64) -> Decision {
        Decision { objective: sample(&prob, draw), prob, draw: Some(draw), ..Decision::default() }
    }
}

impl Tracking {
    /// The start of an epoch.
    pub fn new(k: usize) -> Self {
        Tracking {
            count_ref: vec![0.0; k],
            count: vec![0; k],
            integral: vec![0.0; k],
            previous: vec![0.0; k],
        }
    }

    /// Chooses the objective of the next block, given the plan and a uniform random number, and counts the block.
    pub fn decide(&mut self, plan: &[f64], draw: f64, settings: &ControlSettings) -> Decision {
        let k = plan.len();
        let common = match settings.integral {
            IntegralRule::Paper => 0.0,
            IntegralRule::Centered => 1.0 / k as f64,
        };
        let mut decision = Decision {
            plan: plan.to_vec(),
            count: self.count.clone(),
            draw: Some(draw),
            ..Decision::default()
        };
        for (i, share) in plan.iter().enumerate() {
            self.count_ref[i] += share;
            let deficit = self.count_ref[i] - self.count[i] as f64;
            let integral = self.integral[i] + deficit - common;
            self.integral[i] = integral.clamp(-settings.integral_limit, settings.integral_limit);
            let delta = deficit - self.previous[i];
            self.previous[i] = deficit;
            let (kp, ki, kd) = (settings.kp.of(i), settings.ki.of(i), settings.kd.of(i));
            decision.logit.push(kp * deficit + ki * self.integral[i] + kd * delta);
            decision.count_ref.push(self.count_ref[i]);
            decision.deficit.push(deficit);
            decision.integral.push(self.integral[i]);
            decision.delta.push(delta);
        }
        decision.prob = match settings.mode {
            ControlMode::Pid => explored_softmax(&decision.logit, settings),
            ControlMode::Draw => plan.to_vec(),
            ControlMode::MaxDeficit => {
                let most = largest(&decision.deficit);
                (0..k).map(|i| if i == most { 1.0 } else { 0.0 }).collect()
            }
        };
        decision.objective = sample(&decision.prob, draw);
        self.count[decision.objective] += 1;
        decision
    }
}

/// (1−ε)·softmax(ν/τ) + ε/K.
fn explored_softmax(logits: &[f64], settings: &ControlSettings) -> Vec<f64> {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|logit| ((logit - most) / settings.temperature).exp()).collect();
    let total: f64 = powers.iter().sum();
    let explored = settings.explore / logits.len() as f64;
    powers.iter().map(|power| (1.0 - settings.explore) * power / total + explored).collect()
}

/// The index whose interval of the cumulative distribution contains `draw`.
fn sample(prob: &[f64], draw: f64) -> usize {
    let mut end = 0.0;
    for (index, p) in prob.iter().enumerate() {
        end += p;
        if draw < end {
            return index;
        }
    }
    // Rounding can leave the total slightly below `draw`: take the last index with a positive probability.
    prob.iter().rposition(|&p| p > 0.0).unwrap_or(0)
}

fn largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use proptest::prelude::*;

    fn plans() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(0.01f64..1.0, 2..9).prop_map(|shares| {
            let total: f64 = shares.iter().sum();
            shares.iter().map(|share| share / total).collect()
        })
    }

    proptest! {
        #[test]
        fn deficits_and_probabilities_sum_to_one(
            plan in plans(),
            gains in (0.0f64..3.0, 0.0f64..0.6, 0.0f64..0.6),
            explore in 0.0f64..0.3,
            temperature in 0.1f64..3.0,
            seed in 0u64..1000,
        ) {
            let settings = ControlSettings {
                kp: Gain::All(gains.0), ki: Gain::All(gains.1), kd: Gain::All(gains.2),
                explore, temperature, ..ControlSettings::default()
            };
            let (mut tracking, mut stream) = (Tracking::new(plan.len()), Stream::new(seed, "test", "", 0));
            for block in 1..=300u64 {
                let decision = tracking.decide(&plan, stream.uniform(), &settings);
                prop_assert!((decision.deficit.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                prop_assert!((decision.prob.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                prop_assert!(decision.prob.iter().all(|&p| p >= explore / plan.len() as f64 - 1e-12));
                prop_assert_eq!(tracking.count.iter().sum::<u64>(), block);
            }
        }

        #[test]
        fn max_deficit_never_runs_a_full_block_ahead(plan in plans()) {
            let settings = ControlSettings { mode: ControlMode::MaxDeficit, ..ControlSettings::default() };
            let mut tracking = Tracking::new(plan.len());
            for _ in 0..2000 {
                tracking.decide(&plan, 0.5, &settings);
                for (reference, &count) in tracking.count_ref.iter().zip(&tracking.count) {
                    // d = N − m·f after the block: the paper's bounded tracking, −(K−1) < d < 1.
                    let ahead = count as f64 - reference;
                    prop_assert!(ahead < 1.0 && ahead > -(plan.len() as f64 - 1.0), "{ahead}");
                }
            }
        }
    }

    #[test]
    fn realized_shares_track_the_plan_better_than_independent_draws() {
        let plan = [0.4, 0.25, 0.15, 0.1, 0.1];
        let distance = |mode| {
            let settings = ControlSettings { mode, ..ControlSettings::default() };
            let mut total = 0.0;
            for seed in 0..200 {
                let (mut tracking, mut stream) = (Tracking::new(5), Stream::new(seed, "test", "track", 0));
                for _ in 0..50 {
                    tracking.decide(&plan, stream.uniform(), &settings);
                }
                let shares = tracking.count.iter().map(|&count| count as f64 / 50.0);
                total += shares.zip(plan).map(|(share, plan)| (share - plan).abs()).sum::<f64>() / 2.0;
            }
            total / 200.0
        };
        // Simulated values for 50 blocks: 0.034 with PID, 0.109 with independent draws, 0.01 with max-deficit.
        let (pid, draw, most) =
            (distance(ControlMode::Pid), distance(ControlMode::Draw), distance(ControlMode::MaxDeficit));
        assert!(
            (pid - 0.034).abs() < 0.006 && (draw - 0.109).abs() < 0.015 && most < 0.02,
            "{pid} {draw} {most}"
        );
    }

    #[test]
    fn integrals_differ_only_where_the_bound_is_reached() {
        let plan = [0.6, 0.3, 0.1];
        let probabilities = |integral, integral_limit| -> Vec<Vec<f64>> {
            let settings = ControlSettings { integral, integral_limit, ..ControlSettings::default() };
            let mut tracking = Tracking::new(3);
            // Fixed draws: the same history whatever the probabilities.
            (0..60).map(|_| tracking.decide(&plan, 0.0, &settings).prob).collect()
        };
        let largest = |limit: f64| -> f64 {
            let [paper, centered] =
                [IntegralRule::Paper, IntegralRule::Centered].map(|rule| probabilities(rule, limit));
            let pairs = paper.iter().flatten().zip(centered.iter().flatten());
            pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        assert!(largest(1e9) < 1e-12, "the softmax ignores a common shift");
        assert!(largest(10.0) > 0.01);
        // The paper's form: the first integrals are the first deficits, which are the shares.
        let decision = Tracking::new(3).decide(&plan, 0.5, &ControlSettings::default());
        assert_eq!(decision.integral, plan);
    }

    #[test]
    fn controllers_stored_without_a_rule_are_centered() {
        let mut stored = serde_json::to_value(ControlSettings::default()).unwrap();
        stored.as_object_mut().unwrap().remove("integral");
        let settings: ControlSettings = serde_json::from_value(stored).unwrap();
        assert_eq!(settings.integral, IntegralRule::Centered);
        assert_eq!(ControlSettings::default().integral, IntegralRule::Paper);
    }

    #[test]
    fn gaps_between_blocks_have_a_geometric_tail() {
        // Exploration trains even an objective with share 0: P(gap > s) ≤ (1 − ε/K)^s.
        let (k, explore) = (4.0, 0.2);
        let settings = ControlSettings { explore, ..ControlSettings::default() };
        let plan = [0.5, 0.3, 0.2, 0.0];
        let (mut gaps, mut gap) = (Vec::new(), 0);
        let mut stream = Stream::new(1, "test", "drought", 0);
        for _ in 0..2000 {
            let mut tracking = Tracking::new(4);
            for _ in 0..50 {
                if tracking.decide(&plan, stream.uniform(), &settings).objective == 3 {
                    gaps.push(gap);
                    gap = 0;
                } else {
                    gap += 1;
                }
            }
        }
        let n = gaps.len() as f64;
        for s in [5, 10, 20, 40, 80] {
            let bound = (1.0 - explore / k).powi(s);
            let tail = gaps.iter().filter(|&&gap| gap > s).count() as f64 / n;
            assert!(
                tail <= bound + 3.0 * (bound * (1.0 - bound) / n).sqrt(),
                "P(gap > {s}) = {tail}, bound {bound}"
            );
        }
    }

    #[test]
    fn sampling_inverts_the_cumulative_distribution_and_tolerates_rounding() {
        assert_eq!([0.0, 0.29, 0.3, 0.999].map(|draw| sample(&[0.3, 0.2, 0.5], draw)), [0, 0, 1, 2]);
        assert_eq!(sample(&[0.5, 0.4999999, 0.0], 0.99999999), 1);
    }
}
