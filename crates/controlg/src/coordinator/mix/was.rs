//! `was`, weigh and select: every node weights and selects the objectives (after Fan et al., 2024).
//!
//! The published method distills teachers and needs labels. This label-free variant on one encoder keeps its two decoupled
//! modules and weights losses instead:
//!
//! 1. ℓ_k = L_k / L_k⁽⁰⁾ with the loss of the first step; z_v are the unit-norm embeddings of the clean graph, detached.
//! 2. Weighing scores W_vk = z_v·(μ_k ⊙ ν); selection scores S_v = (z_v·(μ′_k ⊙ ν′))_k Q.
//! 3. π_v = softmax(S_v) / max; κ_vk ~ Bernoulli(π_vk), relaxed with `select_temperature`, straight-through; a node that
//!    selects no objective takes the most probable one.
//! 4. λ_v = softmax of W_v over the selected objectives; Λ_k = mean_v λ_vk; L = K Σ Λ_k ℓ_k + select_l1 · mean π_vk.
//! 5. Adam on μ, ν, Q at the network's learning rate; then μ′ ← ema_beta μ′ + (1 − ema_beta) μ, likewise ν′.
//!
//! It tends to favor objectives whose losses decrrelaxation fastest, and varies considerably between seeds.

use serde::{Deserialize, Serialize};

use super::adam::WeightAdam;
use super::{
    MixWeights, Mixer, MixerContext, MixerFactory, MixerInput, MixerNeeds, NodeEmbeddings, WeightBounds, dot,
    nonzero_scale,
};
use crate::coordinator::{from_json, to_json};
use crate::error::Result;
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};

/// Entry in the list of methods.
pub(in crate::coordinator) const ENTRY: Entry<MixerFactory> = Entry {
    name: "was",
    summary: "losses weighted and selected per node, without labels",
    paper: "Fan et al., Decoupling Weighing and Selecting for Integrating Multiple Graph Pre-training Tasks, ICLR 2024",
    keys: KEYS,
    defaults: || setting::table_of(&WasSettings::default()),
    build: |table| {
        let settings: WasSettings = setting::settings("mix.was", KEYS, table)?;
        Ok(Box::new(move |context| Box::new(Was::new(settings.clone(), context))))
    },
};

const KEYS: &[Key] = &[
    Key::new("ema_beta", Range::Number(0.0, 1.0), "EMA decay of the target parameters"),
    Key::new("select_temperature", Range::Number(1e-3, 1e3), "temperature of the relaxed selection"),
    Key::new("select_l1", Range::Number(0.0, 1e6), "L1 penalty on the selection probabilities"),
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

/// Probabilities are clipped this far from 0 and 1 before taking logits.
const MARGIN: f64 = 1e-6;

struct Was {
    settings: WasSettings,
    context: MixerContext,
    state: WasState,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct WasState {
    /// μ (K × h), ν (h), Q (K × K), concatenated.
    fast: Vec<f64>,
    /// μ′ and ν′, concatenated.
    slow: Vec<f64>,
    /// The losses at the first step.
    first: Option<Vec<f64>>,
    adam: WeightAdam,
}

impl Was {
    fn new(settings: WasSettings, context: &MixerContext) -> Self {
        let (k, h) = (context.n_objectives, context.width);
        let mut stream = Stream::new(context.seed, "init", "was", 0);
        let start = 1.0 / (h as f64).sqrt();
        let slow: Vec<f64> = (0..(k + 1) * h).map(|_| start * (1.0 + 0.1 * stream.normal())).collect();
        let mut fast = slow.clone();
        fast.extend((0..k * k).map(|at| if at / k == at % k { 1.0 } else { 0.0 }));
        Was {
            settings,
            context: *context,
            state: WasState { fast, slow, first: None, adam: WeightAdam::default() },
        }
    }

    /// The mean weights Λ of the objectives, and the gradient of the loss with respect to μ, ν and Q.
    fn evaluate(&self, nodes: &dyn NodeEmbeddings, relative: &[f64], step: u64) -> (Vec<f64>, Vec<f64>) {
        let (k, h, n) = (self.context.n_objectives, self.context.width, nodes.count());
        let WasState { fast, slow, .. } = &self.state;
        let (vectors, select) = fast.split_at((k + 1) * h);
        let mut directions = products(vectors, k, h);
        directions.extend(products(slow, k, h));
        let scores = nodes.project(&directions);

        let costs = Costs {
            weight: relative.iter().map(|loss| k as f64 * loss / n as f64).collect(),
            selection: self.settings.select_l1 / (n * k) as f64,
        };
        let mut stream = Stream::new(self.context.seed, "mix", "was", step);
        let mut mean_weights = vec![0.0; k];
        let mut by_score = vec![0.0; n * k];
        let mut by_select = vec![0.0; k * k];
        for v in 0..n {
            let noise: Vec<f64> = (0..k).map(|_| logistic(&mut stream)).collect();
            let at = |j: usize| scores[j * n + v];
            let weigh: Vec<f64> = (0..k).map(at).collect();
            let slow: Vec<f64> = (k..2 * k).map(at).collect();
            let node = NodeWeights::new(&weigh, &slow, select, &noise, self.settings.select_temperature);
            mean_weights.iter_mut().zip(&node.weight).for_each(|(sum, weight)| *sum += weight / n as f64);
            let (weigh_gradient, select_gradient) = node.gradients(&costs);
            by_score[v * k..(v + 1) * k].copy_from_slice(&weigh_gradient);
            for i in 0..k {
                for j in 0..k {
                    by_select[i * k + j] += slow[i] * select_gradient[j];
                }
            }
        }
        // ∂W_vk/∂(μ_k ⊙ ν) = z_v
        let sums = nodes.weighted_sums(&by_score, k);
        let (mu, nu) = vectors.split_at(k * h);
        let mut gradient: Vec<f64> =
            sums.iter().flat_map(|sum| sum.iter().zip(nu).map(|(s, nu)| s * nu)).collect();
        gradient.extend((0..h).map(|i| (0..k).map(|j| sums[j][i] * mu[j * h + i]).sum::<f64>()));
        gradient.extend(by_select);
        (mean_weights, gradient)
    }
}

impl Mixer for Was {
    fn needs(&self) -> MixerNeeds {
        MixerNeeds { nodes: true, ..MixerNeeds::default() }
    }

    fn mix(&mut self, input: &MixerInput<'_>) -> MixWeights {
        let k = self.context.n_objectives as f64;
        let first = self.state.first.get_or_insert_with(|| input.loss.to_vec()).clone();
        let relative: Vec<f64> =
            input.loss.iter().zip(&first).map(|(now, &then)| now / nonzero_scale(then)).collect();
        let Some(nodes) = input.nodes else { return MixWeights::for_losses(vec![1.0; first.len()]) };
        let (mean_weights, gradient) = self.evaluate(nodes, &relative, input.step);
        let WasState { fast, slow, adam, .. } = &mut self.state;
        adam.step(self.context.lr, fast, &gradient);
        let decay = self.settings.ema_beta;
        slow.iter_mut()
            .zip(fast.iter())
            .for_each(|(slow, fast)| *slow = decay * *slow + (1.0 - decay) * fast);
        MixWeights::for_losses(
            mean_weights.iter().zip(&first).map(|(weight, &then)| k * weight / nonzero_scale(then)).collect(),
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

/// Coefficients of the loss: of the weights λ_vk and of the selection probabilities π_vk.
struct Costs {
    weight: Vec<f64>,
    selection: f64,
}

/// The weights of one node.
struct NodeWeights {
    /// λ: the weight of each objective, zero unless selected.
    weight: Vec<f64>,
    /// e^W divided by its sum over the selected objectives: the weight if selected.
    potential: Vec<f64>,
    /// π, the selection probabilities.
    probability: Vec<f64>,
    /// ∂κ/∂π of the relaxed selection.
    relaxation: Vec<f64>,
    most_probable: usize,
}

impl NodeWeights {
    fn new(weigh: &[f64], slow: &[f64], select: &[f64], noise: &[f64], temperature: f64) -> NodeWeights {
        let k = weigh.len();
        let scores: Vec<f64> = (0..k).map(|j| (0..k).map(|i| slow[i] * select[i * k + j]).sum()).collect();
        let most_probable = (0..k).fold(0, |best, j| if scores[j] > scores[best] { j } else { best });
        let probability: Vec<f64> =
            scores.iter().map(|score| (score - scores[most_probable]).exp()).collect();
        let logit = |p: f64| (p / (1.0 - p)).ln();
        let (mut selected, mut relaxation) = (vec![false; k], vec![0.0; k]);
        for j in 0..k {
            let p = probability[j].clamp(MARGIN, 1.0 - MARGIN);
            let soft = 1.0 / (1.0 + (-(logit(p) + noise[j]) / temperature).exp());
            selected[j] = soft > 0.5;
            relaxation[j] = soft * (1.0 - soft) / temperature / (p * (1.0 - p));
        }
        if !selected.contains(&true) {
            selected[most_probable] = true;
        }
        let most = weigh.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = weigh.iter().map(|w| (w - most).exp()).collect();
        let total: f64 =
            powers.iter().zip(&selected).filter(|(_, selected)| **selected).map(|(p, _)| p).sum();
        let potential: Vec<f64> = powers.iter().map(|power| power / total).collect();
        let weight = potential
            .iter()
            .zip(&selected)
            .map(|(&potential, &on)| if on { potential } else { 0.0 })
            .collect();
        NodeWeights { weight, potential, probability, relaxation, most_probable }
    }

    /// The gradients of the loss with respect to the weighing scores and the selection scores.
    fn gradients(&self, costs: &Costs) -> (Vec<f64>, Vec<f64>) {
        let mean = dot(&self.weight, &costs.weight);
        let gap: Vec<f64> = costs.weight.iter().map(|cost| cost - mean).collect();
        let weigh = self.weight.iter().zip(&gap).map(|(weight, gap)| weight * gap).collect();
        let mut select = vec![0.0; gap.len()];
        // π of the most probable objective is 1 for any scores; the others are exp(score difference).
        for j in (0..gap.len()).filter(|&j| j != self.most_probable) {
            let slope =
                (self.potential[j] * gap[j] * self.relaxation[j] + costs.selection) * self.probability[j];
            select[j] += slope;
            select[self.most_probable] -= slope;
        }
        (weigh, select)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, mixer};
    use super::*;

    /// Two nodes in the plane of the first two axes of R⁸.
    struct TwoNodes;

    impl NodeEmbeddings for TwoNodes {
        fn count(&self) -> usize {
            2
        }

        fn project(&self, directions: &[Vec<f64>]) -> Vec<f64> {
            directions.iter().flat_map(|d| [d[0], 0.6 * d[0] + 0.8 * d[1]]).collect()
        }

        fn weighted_sums(&self, coefficients: &[f64], width: usize) -> Vec<Vec<f64>> {
            let sum = |k: usize| {
                let mut sum = vec![0.0; 8];
                sum[0] = coefficients[k] + 0.6 * coefficients[width + k];
                sum[1] = 0.8 * coefficients[width + k];
                sum
            };
            (0..width).map(sum).collect()
        }
    }

    const COSTS: [f64; 3] = [0.3, 0.9, -0.4];

    fn cost(weigh: &[f64], slow: &[f64], select: &[f64], noise: &[f64], per_selection: f64) -> f64 {
        let node = NodeWeights::new(weigh, slow, select, noise, 0.7);
        dot(&node.weight, &COSTS) + per_selection * node.probability.iter().sum::<f64>()
    }

    #[test]
    fn gradients_match_finite_differences() {
        let (weigh, slow) = ([0.3, -0.2, 0.5], [0.1, 0.4, 0.2]);
        let select = [1.0, 0.1, 0.0, 0.2, 0.9, -0.1, 0.0, 0.3, 1.1];
        let noise = [0.5, -0.1, 3.0];
        let selection = 0.05;
        let node = NodeWeights::new(&weigh, &slow, &select, &noise, 0.7);
        assert!(node.weight.iter().filter(|&&weight| weight > 0.0).count() >= 2, "{:?}", node.weight);
        let (by_weigh, _) = node.gradients(&Costs { weight: COSTS.to_vec(), selection });
        let (_, by_select) = node.gradients(&Costs { weight: vec![0.0; 3], selection });
        for i in 0..3 {
            let step = 1e-6;
            let moved = |sign: f64| {
                let mut weigh = weigh;
                weigh[i] += sign * step;
                cost(&weigh, &slow, &select, &noise, 0.0)
            };
            assert!(((moved(1.0) - moved(-1.0)) / (2.0 * step) - by_weigh[i]).abs() < 1e-8);
            // The selection penalty alone is smooth in Q: ∂/∂Q_ij = slow_i · ∂/∂S_j.
            let moved = |sign: f64| {
                let mut select = select;
                select[3 + i] += sign * step;
                selection
                    * NodeWeights::new(&weigh, &slow, &select, &noise, 0.7).probability.iter().sum::<f64>()
            };
            let expected = (moved(1.0) - moved(-1.0)) / (2.0 * step);
            assert!((expected - slow[1] * by_select[i]).abs() < 1e-8, "{expected}");
        }
    }

    #[test]
    fn the_selection_is_straight_through() {
        // κ replaced by π's first-order change: ∂λ/∂κ by differences, times ∂κ/∂π times ∂π/∂S.
        let node = NodeWeights::new(&[0.1, 0.4], &[0.2, 0.5], &[1.0, 0.0, 0.0, 1.0], &[2.0, 0.3], 1.0);
        assert_eq!(node.most_probable, 1);
        let (_, select) = node.gradients(&Costs { weight: vec![1.0, 0.0], selection: 0.0 });
        let share = |kappa: f64| kappa * 0.1f64.exp() / (kappa * 0.1f64.exp() + 0.4f64.exp());
        let by_kappa = (share(1.0 + 1e-6) - share(1.0 - 1e-6)) / 2e-6;
        let expected = by_kappa * node.relaxation[0] * node.probability[0];
        assert_close(&select, &[expected, -expected], 1e-6);
    }

    #[test]
    fn weights_sum_to_one_start_equal_and_move_to_the_decreasing_loss() {
        let mut mixer = mixer(&ENTRY, "", 2);
        let mut mix = |step, losses: [f64; 2]| {
            mixer
                .mix(&MixerInput { step, loss: &losses, gram: &[], last_layer: &[], nodes: Some(&TwoNodes) })
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
