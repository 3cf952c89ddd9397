//! `was`, weigh and select: each node has its own say in how much an objective counts (after Fan et al., 2024).
//!
//! The published method distils teachers with labels. This is its label-free rendering on one encoder, which keeps the two
//! decoupled modules and weighs losses instead:
//!
//! 1. ℓ_k = L_k / L_k at the first step; z_v the clean graph's representations, of length one, without a gradient.
//! 2. Scores to weigh by, W_vk = z_v·(μ_k ⊙ ν), and to select by, S_v = (z_v·(μ′_k ⊙ ν′))_k Q.
//! 3. π_v = softmax(S_v) / max; κ_vk ~ Bernoulli(π_vk), relaxed at `select_temperature` and straight-through; a node that
//!    selects none takes its likeliest.
//! 4. λ_v = softmax of W_v over the selected; Λ_k = mean_v λ_vk; L = K Σ Λ_k ℓ_k + select_l1 · mean π_vk.
//! 5. Adam on μ, ν, Q at the network's rate; then μ′ ← ema_beta μ′ + (1 − ema_beta) μ, and ν′ alike.
//!
//! It tends towards the objectives whose losses fall fastest, and varies much between seeds.

use serde::{Deserialize, Serialize};

use super::adam::WeightAdam;
use super::{
    MixWeights, Mixer, MixerContext, MixerFactory, MixerInput, MixerNeeds, NodeEmbeddings, WeightBounds,
    as_scale, dot,
};
use crate::coordinator::{from_json, to_json};
use crate::error::Result;
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};

/// On the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "was",
    summary: "losses weighted and selected node by node, without labels",
    paper: "Fan et al., Decoupling Weighing and Selecting for Integrating Multiple Graph Pre-training Tasks, ICLR 2024",
    keys: KEYS,
    defaults: || setting::table_of(&WasSettings::default()),
    build: |table| {
        let settings: WasSettings = setting::settings("mix.was", KEYS, table)?;
        Ok(Box::new(move |setup| Box::new(Was::new(settings.clone(), setup))))
    },
};

const KEYS: &[Key] = &[
    Key::new("ema_beta", Range::Number(0.0, 1.0), "how much of the slow copies is kept at every step"),
    Key::new("select_temperature", Range::Number(1e-3, 1e3), "how soft the selection is for its derivative"),
    Key::new("select_l1", Range::Number(0.0, 1e6), "price of a selection"),
];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct WasSettings {
    ema_beta: f64,
    select_temperature: f64,
    select_l1: f64,
}

impl Default for WasSettings {
    fn default() -> Self {
        WasSettings { ema_beta: 0.9, select_temperature: 1.0, select_l1: 1e-3 }
    }
}

/// Probabilities are kept this far from 0 and 1 before their logit is taken.
const MARGIN: f64 = 1e-6;

struct Was {
    settings: WasSettings,
    setup: MixerContext,
    state: WasState,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct WasState {
    /// μ (K × h), ν (h), Q (K × K), one after the other.
    fast: Vec<f64>,
    /// μ′ and ν′.
    slow: Vec<f64>,
    /// The losses at the first step.
    first: Option<Vec<f64>>,
    adam: WeightAdam,
}

impl Was {
    fn new(settings: WasSettings, setup: &MixerContext) -> Self {
        let (k, h) = (setup.n_objectives, setup.width);
        let mut stream = Stream::new(setup.seed, "init", "was", 0);
        let start = 1.0 / (h as f64).sqrt();
        let slow: Vec<f64> = (0..(k + 1) * h).map(|_| start * (1.0 + 0.1 * stream.normal())).collect();
        let mut fast = slow.clone();
        fast.extend((0..k * k).map(|at| if at / k == at % k { 1.0 } else { 0.0 }));
        Was {
            settings,
            setup: *setup,
            state: WasState { fast, slow, first: None, adam: WeightAdam::default() },
        }
    }

    /// The mean shares Λ of the objectives, and the slopes of the loss by μ, ν and Q.
    fn judge(&self, nodes: &dyn NodeEmbeddings, relative: &[f64], step: u64) -> (Vec<f64>, Vec<f64>) {
        let (k, h, n) = (self.setup.n_objectives, self.setup.width, nodes.count());
        let WasState { fast, slow, .. } = &self.state;
        let (vectors, select) = fast.split_at((k + 1) * h);
        let mut directions = products(vectors, k, h);
        directions.extend(products(slow, k, h));
        let scores = nodes.project(&directions);

        let price = Price {
            loss: relative.iter().map(|loss| k as f64 * loss / n as f64).collect(),
            selection: self.settings.select_l1 / (n * k) as f64,
        };
        let mut stream = Stream::new(self.setup.seed, "mix", "was", step);
        let mut shares = vec![0.0; k];
        let mut by_score = vec![0.0; n * k];
        let mut by_select = vec![0.0; k * k];
        for v in 0..n {
            let noise: Vec<f64> = (0..k).map(|_| logistic(&mut stream)).collect();
            let at = |j: usize| scores[j * n + v];
            let weigh: Vec<f64> = (0..k).map(at).collect();
            let slow: Vec<f64> = (k..2 * k).map(at).collect();
            let voice = Voice::of(&weigh, &slow, select, &noise, self.settings.select_temperature);
            shares.iter_mut().zip(&voice.share).for_each(|(sum, share)| *sum += share / n as f64);
            let (weigh_slopes, select_slopes) = voice.slopes(&price);
            by_score[v * k..(v + 1) * k].copy_from_slice(&weigh_slopes);
            for i in 0..k {
                for j in 0..k {
                    by_select[i * k + j] += slow[i] * select_slopes[j];
                }
            }
        }
        // ∂W_vk/∂(μ_k ⊙ ν) = z_v
        let sums = nodes.weighted_sums(&by_score, k);
        let (mu, nu) = vectors.split_at(k * h);
        let mut slopes: Vec<f64> =
            sums.iter().flat_map(|sum| sum.iter().zip(nu).map(|(s, nu)| s * nu)).collect();
        slopes.extend((0..h).map(|i| (0..k).map(|task| sums[task][i] * mu[task * h + i]).sum::<f64>()));
        slopes.extend(by_select);
        (shares, slopes)
    }
}

impl Mixer for Was {
    fn needs(&self) -> MixerNeeds {
        MixerNeeds { nodes: true, ..MixerNeeds::default() }
    }

    fn mix(&mut self, seen: &MixerInput<'_>) -> MixWeights {
        let k = self.setup.n_objectives as f64;
        let first = self.state.first.get_or_insert_with(|| seen.loss.to_vec()).clone();
        let relative: Vec<f64> =
            seen.loss.iter().zip(&first).map(|(now, &then)| now / as_scale(then)).collect();
        let Some(nodes) = seen.nodes else { return MixWeights::of_losses(vec![1.0; first.len()]) };
        let (shares, slopes) = self.judge(nodes, &relative, seen.step);
        let WasState { fast, slow, adam, .. } = &mut self.state;
        adam.step(self.setup.rate, fast, &slopes);
        let keep = self.settings.ema_beta;
        slow.iter_mut().zip(fast.iter()).for_each(|(slow, fast)| *slow = keep * *slow + (1.0 - keep) * fast);
        MixWeights::of_losses(
            shares.iter().zip(&first).map(|(share, &then)| k * share / as_scale(then)).collect(),
        )
    }

    fn weight_bounds(&self) -> WeightBounds {
        WeightBounds::at_least(0.0)
    }

    fn save(&self) -> Result<String> {
        to_json(&self.state)
    }

    fn restore(&mut self, saved: &str) -> Result<()> {
        self.state = from_json(saved)?;
        Ok(())
    }
}

/// μ_k ⊙ ν for each objective.
fn products(vectors: &[f64], k: usize, h: usize) -> Vec<Vec<f64>> {
    let (mu, nu) = vectors.split_at(k * h);
    mu.chunks_exact(h).map(|mu| mu.iter().zip(nu).map(|(mu, nu)| mu * nu).collect()).collect()
}

fn logistic(stream: &mut Stream) -> f64 {
    let u = stream.uniform().clamp(1e-12, 1.0 - 1e-12);
    (u / (1.0 - u)).ln()
}

/// What a share of an objective and a selection cost.
struct Price {
    loss: Vec<f64>,
    selection: f64,
}

/// What one node says.
struct Voice {
    /// λ: the shares of the objectives.
    share: Vec<f64>,
    /// e^W over the sum of the selected: what the share is, or would be.
    odds: Vec<f64>,
    /// π, and ∂κ/∂π.
    pi: Vec<f64>,
    ease: Vec<f64>,
    likeliest: usize,
}

impl Voice {
    fn of(weigh: &[f64], slow: &[f64], select: &[f64], noise: &[f64], temperature: f64) -> Voice {
        let k = weigh.len();
        let scores: Vec<f64> = (0..k).map(|j| (0..k).map(|i| slow[i] * select[i * k + j]).sum()).collect();
        let likeliest = (0..k).fold(0, |best, j| if scores[j] > scores[best] { j } else { best });
        let pi: Vec<f64> = scores.iter().map(|score| (score - scores[likeliest]).exp()).collect();
        let logit = |p: f64| (p / (1.0 - p)).ln();
        let (mut selected, mut ease) = (vec![false; k], vec![0.0; k]);
        for j in 0..k {
            let p = pi[j].clamp(MARGIN, 1.0 - MARGIN);
            let soft = 1.0 / (1.0 + (-(logit(p) + noise[j]) / temperature).exp());
            selected[j] = soft > 0.5;
            ease[j] = soft * (1.0 - soft) / temperature / (p * (1.0 - p));
        }
        if !selected.contains(&true) {
            selected[likeliest] = true;
        }
        let most = weigh.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = weigh.iter().map(|w| (w - most).exp()).collect();
        let total: f64 =
            powers.iter().zip(&selected).filter(|(_, selected)| **selected).map(|(p, _)| p).sum();
        let odds: Vec<f64> = powers.iter().map(|power| power / total).collect();
        let share = odds.iter().zip(&selected).map(|(&odds, &on)| if on { odds } else { 0.0 }).collect();
        Voice { share, odds, pi, ease, likeliest }
    }

    /// The slopes of the loss by the scores to weigh by, and by those to select by.
    fn slopes(&self, price: &Price) -> (Vec<f64>, Vec<f64>) {
        let mean = dot(&self.share, &price.loss);
        let gap: Vec<f64> = price.loss.iter().map(|loss| loss - mean).collect();
        let weigh = self.share.iter().zip(&gap).map(|(share, gap)| share * gap).collect();
        let mut select = vec![0.0; gap.len()];
        // π of the likeliest is 1 whatever the scores are; the others are e to the distance from it.
        for j in (0..gap.len()).filter(|&j| j != self.likeliest) {
            let slope = (self.odds[j] * gap[j] * self.ease[j] + price.selection) * self.pi[j];
            select[j] += slope;
            select[self.likeliest] -= slope;
        }
        (weigh, select)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, mixer};
    use super::*;

    /// Two nodes in the plane of the first axes of R⁸.
    struct Two;

    impl NodeEmbeddings for Two {
        fn count(&self) -> usize {
            2
        }

        fn project(&self, directions: &[Vec<f64>]) -> Vec<f64> {
            directions.iter().flat_map(|d| [d[0], 0.6 * d[0] + 0.8 * d[1]]).collect()
        }

        fn weighted_sums(&self, factors: &[f64], width: usize) -> Vec<Vec<f64>> {
            let sum = |k: usize| {
                let mut sum = vec![0.0; 8];
                sum[0] = factors[k] + 0.6 * factors[width + k];
                sum[1] = 0.8 * factors[width + k];
                sum
            };
            (0..width).map(sum).collect()
        }
    }

    const PRICE: [f64; 3] = [0.3, 0.9, -0.4];

    fn cost(weigh: &[f64], slow: &[f64], select: &[f64], noise: &[f64], per_selection: f64) -> f64 {
        let voice = Voice::of(weigh, slow, select, noise, 0.7);
        dot(&voice.share, &PRICE) + per_selection * voice.pi.iter().sum::<f64>()
    }

    #[test]
    fn slopes_are_those_of_finite_differences() {
        let (weigh, slow) = ([0.3, -0.2, 0.5], [0.1, 0.4, 0.2]);
        let select = [1.0, 0.1, 0.0, 0.2, 0.9, -0.1, 0.0, 0.3, 1.1];
        let noise = [0.5, -0.1, 3.0];
        let selection = 0.05;
        let voice = Voice::of(&weigh, &slow, &select, &noise, 0.7);
        assert!(voice.share.iter().filter(|&&share| share > 0.0).count() >= 2, "{:?}", voice.share);
        let (by_weigh, _) = voice.slopes(&Price { loss: PRICE.to_vec(), selection });
        let (_, by_select) = voice.slopes(&Price { loss: vec![0.0; 3], selection });
        for i in 0..3 {
            let step = 1e-6;
            let moved = |sign: f64| {
                let mut weigh = weigh;
                weigh[i] += sign * step;
                cost(&weigh, &slow, &select, &noise, 0.0)
            };
            assert!(((moved(1.0) - moved(-1.0)) / (2.0 * step) - by_weigh[i]).abs() < 1e-8);
            // The price of the selections alone is smooth in Q: ∂/∂Q_ij = slow_i · ∂/∂S_j.
            let moved = |sign: f64| {
                let mut select = select;
                select[3 + i] += sign * step;
                selection * Voice::of(&weigh, &slow, &select, &noise, 0.7).pi.iter().sum::<f64>()
            };
            let expected = (moved(1.0) - moved(-1.0)) / (2.0 * step);
            assert!((expected - slow[1] * by_select[i]).abs() < 1e-8, "{expected}");
        }
    }

    #[test]
    fn the_selection_goes_straight_through_its_relaxation() {
        // κ replaced by π's first-order change: ∂λ/∂κ by differences, times ∂κ/∂π times ∂π/∂S.
        let voice = Voice::of(&[0.1, 0.4], &[0.2, 0.5], &[1.0, 0.0, 0.0, 1.0], &[2.0, 0.3], 1.0);
        assert_eq!(voice.likeliest, 1);
        let (_, select) = voice.slopes(&Price { loss: vec![1.0, 0.0], selection: 0.0 });
        let share = |kappa: f64| kappa * 0.1f64.exp() / (kappa * 0.1f64.exp() + 0.4f64.exp());
        let by_kappa = (share(1.0 + 1e-6) - share(1.0 - 1e-6)) / 2e-6;
        let expected = by_kappa * voice.ease[0] * voice.pi[0];
        assert_close(&select, &[expected, -expected], 1e-6);
    }

    #[test]
    fn shares_sum_to_one_start_even_and_move_to_the_loss_that_fell() {
        let mut mixer = mixer(&ENTRY, "", 2);
        let mut mix = |step, losses: [f64; 2]| {
            mixer
                .mix(&MixerInput { step, loss: &losses, gram: &[], last_layer: &[], nodes: Some(&Two) })
                .encoder
        };
        // Weights are K Λ_k / L_k at the first step.
        let first = mix(0, [2.0, 5.0]);
        assert!((first[0] * 2.0 + first[1] * 5.0 - 2.0).abs() < 1e-9, "{first:?}");
        let mean = |weights: &[Vec<f64>]| weights.iter().map(|w| w[0]).sum::<f64>() / weights.len() as f64;
        let early: Vec<Vec<f64>> = (1..60).map(|step| mix(step, [0.4, 5.0])).collect();
        (60..400).for_each(|step| {
            mix(step, [0.4, 5.0]);
        });
        let late: Vec<Vec<f64>> = (400..460).map(|step| mix(step, [0.4, 5.0])).collect();
        assert!(mean(&late) > mean(&early), "{} to {}", mean(&early), mean(&late));
    }
}
