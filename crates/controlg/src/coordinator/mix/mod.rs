//! Mixing methods: every step combines the gradients of all objectives into one update.
//!
//! A [`Mixer`] works on plain numbers. Given the K losses and the K × K Gram matrix of the gradients g_k with respect to
//! the encoder's parameters, it returns weights: the encoder steps along Σ w_k g_k, and each head along its own gradient
//! times a weight of its own.

mod adam;
pub(super) mod autossl;
pub(super) mod autossl_es;
pub(super) mod cagrad;
pub(crate) mod cma;
pub(super) mod dtp;
pub(super) mod gradnorm;
pub(super) mod mgda;
pub(super) mod nash;
pub(super) mod pcgrad;
mod simplex;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod torchjd;
pub(super) mod uncertainty;
pub(super) mod uniform;
pub(super) mod was;

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Builds a mixer for a run, from checked settings.
pub type MixerFactory = dyn Fn(&MixerContext) -> Box<dyn Mixer> + Send + Sync;

/// What a mixer knows about its run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixerContext {
    /// Number of objectives.
    pub n_objectives: usize,
    /// Random seed.
    pub seed: u64,
    /// Learning rate of the network.
    pub lr: f64,
    /// Embedding width.
    pub width: usize,
}

/// Combines the gradients of all objectives at every step.
pub trait Mixer: Send {
    /// Checks that it can train on a graph of this size.
    fn check(&self, _n_nodes: usize) -> Result<()> {
        Ok(())
    }

    /// What it needs besides the losses.
    fn needs(&self) -> MixerNeeds {
        MixerNeeds::default()
    }

    /// Computes the weights of one step.
    fn mix(&mut self, input: &MixerInput<'_>) -> MixWeights;

    /// Whether it ever requests a lookahead.
    fn uses_lookahead(&self) -> bool {
        false
    }

    /// The lookahead to compute after this step, if any.
    fn lookahead(&self, _step: u64) -> Option<Lookahead> {
        None
    }

    /// Takes the gradient of the lookahead loss with respect to the weights of the step.
    fn update(&mut self, _gradient: &[f64]) {}

    /// What the user should know after the last update, for the output and the record.
    fn note(&self) -> Option<String> {
        None
    }

    /// The search for its weights that must precede the first step; `None` once they are known.
    fn weight_search(&self) -> Option<WeightSearch> {
        None
    }

    /// Takes the weights found by the search.
    fn set_weights(&mut self, _weights: Vec<f64>) {}

    /// Bounds that its encoder weights always satisfy.
    fn weight_bounds(&self) -> WeightBounds;

    /// Saves its state as JSON.
    fn save(&self) -> Result<String> {
        Ok("null".to_owned())
    }

    /// Restores the state that [`Mixer::save`] returned.
    fn restore(&mut self, _saved: &str) -> Result<()> {
        Ok(())
    }
}

/// What a mixer needs besides the losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MixerNeeds {
    /// The Gram matrix of the gradients.
    pub gram: bool,
    /// The gradient norms at the weight of the last shared layer.
    pub last_layer: bool,
    /// The node embeddings of the clean graph.
    pub nodes: bool,
}

/// What a mixer sees at a step.
pub struct MixerInput<'a> {
    /// Index of the step, from 0.
    pub step: u64,
    /// The losses.
    pub loss: &'a [f64],
    /// Gram matrix of the gradients with respect to the encoder's parameters; empty unless needed.
    pub gram: &'a [Vec<f64>],
    /// Gradient norms at the weight of the last shared layer; empty unless needed.
    pub last_layer: &'a [f64],
    /// Node embeddings, if needed.
    pub nodes: Option<&'a dyn NodeEmbeddings>,
}

/// The unit-norm embeddings z_v of the clean graph, without access to single rows.
pub trait NodeEmbeddings {
    /// Number of nodes.
    fn count(&self) -> usize;

    /// z_v·d for every direction d and node v, direction-major.
    fn project(&self, directions: &[Vec<f64>]) -> Vec<f64>;

    /// Σ_v c_vk z_v for each column k of the n × `width` coefficients, given row-major.
    fn weighted_sums(&self, coefficients: &[f64], width: usize) -> Vec<Vec<f64>>;
}

/// A lookahead: the pseudo-homophily after a step, which is how often neighbors fall into the same soft cluster of the
/// embeddings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lookahead {
    /// Number of clusters.
    pub clusters: usize,
    /// Restarts of K-means, of which the best is used.
    pub starts: usize,
    /// σ² of the softmax over −‖z − center‖²/σ².
    pub variance: ClusterVariance,
}

/// The softness of clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClusterVariance {
    /// σ² itself.
    Absolute(f64),
    /// Relative to the median squared distance of the nodes to the centers of their clusters.
    Relative(f64),
}

/// A search for fixed loss weights. Each candidate is scored by a short training run: the pseudo-homophily of its
/// embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightSearch {
    /// Number of generations.
    pub generations: u64,
    /// Candidates per generation.
    pub population: usize,
    /// Training steps per candidate.
    pub steps: u64,
    /// Number of clusters.
    pub clusters: usize,
}

impl WeightSearch {
    /// Training steps of all candidates.
    pub fn total_steps(&self) -> u64 {
        self.generations.saturating_mul(self.population as u64).saturating_mul(self.steps)
    }
}

/// The weights of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixWeights {
    /// The encoder steps along Σ w_k g_k.
    pub encoder: Vec<f64>,
    /// Each head steps along its own gradient times its weight.
    pub heads: Vec<f64>,
}

impl MixWeights {
    /// Weights of the encoder gradients; heads use their own gradients unweighted.
    fn for_encoder(weights: Vec<f64>) -> MixWeights {
        MixWeights { heads: vec![1.0; weights.len()], encoder: weights }
    }

    /// Weights of the losses, for encoder and heads alike.
    fn for_losses(weights: Vec<f64>) -> MixWeights {
        MixWeights { heads: weights.clone(), encoder: weights }
    }
}

/// Bounds on the encoder weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightBounds {
    /// Minimum of every weight.
    pub min: f64,
    /// Maximum of every weight.
    pub max: f64,
    /// Sum of the weights, if fixed.
    pub sum: Option<f64>,
}

impl WeightBounds {
    /// Nonnegative weights that sum to one.
    const SIMPLEX: WeightBounds = WeightBounds { min: 0.0, max: 1.0, sum: Some(1.0) };

    /// Weights bounded from below.
    fn at_least(min: f64) -> WeightBounds {
        WeightBounds { min, max: f64::INFINITY, sum: None }
    }
}

/// The absolute value of a loss or norm, bounded away from zero to divide by.
fn nonzero_scale(loss: f64) -> f64 {
    loss.abs().max(1e-8)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Gw: the inner products of each gradient with Σ w_k g_k.
fn times(gram: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    gram.iter().map(|row| dot(row, weights)).collect()
}
