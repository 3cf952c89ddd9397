//! Control: from planned shares to the task of the next block.

use serde::{Deserialize, Serialize};

use crate::setting::{Key, Range};

/// How the plan is tracked (`[control]` in the run file).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ControlSettings {
    /// `pid` as in the paper, `max-deficit` for the task that is furthest behind, `draw` for independent draws from
    /// the plan.
    pub mode: ControlMode,
    /// Gain of the deficit.
    pub kp: Gain,
    /// Gain of its running sum.
    pub ki: Gain,
    /// Gain of its change.
    pub kd: Gain,
    /// Share of the probability that is spread over all tasks alike.
    pub explore: f64,
    /// Temperature of the softmax.
    pub temperature: f64,
    /// Bound of the running sum, against wind-up.
    pub integral_limit: f64,
}

/// How a task is picked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlMode {
    /// A draw from the softmax of PID logits, with exploration.
    #[default]
    Pid,
    /// The task with the largest deficit, the first of equals.
    MaxDeficit,
    /// A draw from the plan, whatever happened before.
    Draw,
}

/// A gain: one for all tasks, or one for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Gain {
    /// The same for every task.
    All(f64),
    /// One a task, in the order of the tasks.
    Each(Vec<f64>),
}

impl Gain {
    /// The gain of a task.
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
            "a draw from the softmax of PID logits, the largest deficit, or independent draws from the plan",
        ),
        Key::new("kp", Range::Gain(0.0, 1e6), "gain of the deficit"),
        Key::new("ki", Range::Gain(0.0, 1e6), "gain of the deficits' running sum"),
        Key::new("kd", Range::Gain(0.0, 1e6), "gain of the deficit's change"),
        Key::new(
            "explore",
            Range::Number(0.0, 1.0),
            "share of the probability spread over all objectives alike",
        ),
        Key::new("temperature", Range::Number(1e-6, 1e6), "temperature of the softmax"),
        Key::new("integral_limit", Range::Number(0.0, 1e9), "bound of the running sum, against wind-up"),
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
        }
    }
}

/// What the controller remembers within an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tracking {
    /// Blocks each task should have had: the running sum of the plans.
    pub count_ref: Vec<f64>,
    /// Blocks each task has had.
    pub count: Vec<u64>,
    /// Running sum of the deficits.
    pub integral: Vec<f64>,
    /// Deficits of the block before.
    pub previous: Vec<f64>,
}

/// One decision and how it came about. A method that does without a figure leaves it empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The planned shares.
    pub plan: Vec<f64>,
    /// Blocks each task should have had after this one.
    pub count_ref: Vec<f64>,
    /// Blocks each task has had before this one.
    pub count: Vec<u64>,
    /// Deficits e = count_ref − count; they sum to 1.
    pub deficit: Vec<f64>,
    /// Running sums of the deficits after this one.
    pub integral: Vec<f64>,
    /// Changes of the deficits.
    pub delta: Vec<f64>,
    /// Logits ν = K_P·e + K_I·I + K_D·Δe.
    pub logit: Vec<f64>,
    /// Probabilities (1−ε)·softmax(ν/τ) + ε/K.
    pub prob: Vec<f64>,
    /// The uniform number that the draw used.
    pub draw: Option<f64>,
    /// The task.
    pub task: usize,
}

impl Decision {
    /// A draw from probabilities that need no explanation.
    pub(crate) fn drawn(prob: Vec<f64>, draw: f64) -> Decision {
        Decision { task: drawn(&prob, draw), prob, draw: Some(draw), ..Decision::default() }
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

    /// Picks the task of the next block from the plan and a uniform number, and counts it.
    pub fn decide(&mut self, plan: &[f64], draw: f64, settings: &ControlSettings) -> Decision {
        let k = plan.len();
        let mut decision = Decision {
            plan: plan.to_vec(),
            count: self.count.clone(),
            draw: Some(draw),
            ..Decision::default()
        };
        for (i, share) in plan.iter().enumerate() {
            self.count_ref[i] += share;
            let deficit = self.count_ref[i] - self.count[i] as f64;
            // The deficits sum to 1 at every block. Summing up their mean 1/K as well would drive all integrals to
            // the same bound and end their work; the softmax does not see it.
            let integral = self.integral[i] + deficit - 1.0 / k as f64;
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
        decision.task = drawn(&decision.prob, draw);
        self.count[decision.task] += 1;
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

/// The task in whose stretch of [0, 1) the draw falls.
fn drawn(prob: &[f64], draw: f64) -> usize {
    let mut end = 0.0;
    for (task, p) in prob.iter().enumerate() {
        end += p;
        if draw < end {
            return task;
        }
    }
    // Rounding may leave the sum a little under the draw: the last task that can be drawn at all.
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
        fn deficits_sum_to_one_and_probabilities_are_such(
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
        fn the_largest_deficit_rule_never_runs_a_whole_block_ahead(plan in plans()) {
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
        // Simulated values for 50 blocks: .034 with PID, .109 with independent draws, .01 with the largest deficit.
        let (pid, draw, most) =
            (distance(ControlMode::Pid), distance(ControlMode::Draw), distance(ControlMode::MaxDeficit));
        assert!(
            (pid - 0.034).abs() < 0.006 && (draw - 0.109).abs() < 0.015 && most < 0.02,
            "{pid} {draw} {most}"
        );
    }

    #[test]
    fn droughts_have_a_geometric_tail() {
        // A task that is never planned still comes up by exploration: P(gap > s) ≤ (1 − ε/K)^s.
        let (k, explore) = (4.0, 0.2);
        let settings = ControlSettings { explore, ..ControlSettings::default() };
        let plan = [0.5, 0.3, 0.2, 0.0];
        let (mut gaps, mut gap) = (Vec::new(), 0);
        let mut stream = Stream::new(1, "test", "drought", 0);
        for _ in 0..2000 {
            let mut tracking = Tracking::new(4);
            for _ in 0..50 {
                if tracking.decide(&plan, stream.uniform(), &settings).task == 3 {
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
    fn a_draw_falls_in_its_stretch_and_rounding_never_leads_astray() {
        assert_eq!([0.0, 0.29, 0.3, 0.999].map(|draw| drawn(&[0.3, 0.2, 0.5], draw)), [0, 0, 1, 2]);
        assert_eq!(drawn(&[0.5, 0.4999999, 0.0], 0.99999999), 1);
    }
}
