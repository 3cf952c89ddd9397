//! Methods that mix: every step takes the gradients of all objectives and goes one way that is made of them.
//!
//! A [`Mixer`] sees numbers only, the K losses and the K × K inner products of the gradients g_k at the encoder's
//! parameters, and answers with weights: the encoder moves along Σ w_k g_k, each head along its own gradient times a
//! weight of its own.

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

use crate::error::Result;

/// A way to mix whose settings are checked, to be started for a run.
pub type MixerFactory = dyn Fn(&MixerContext) -> Box<dyn Mixer> + Send + Sync;

/// What a mixer knows of its run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixerContext {
    /// Number of objectives.
    pub n_objectives: usize,
    /// Where its draws start.
    pub seed: u64,
    /// The learning rate of the network.
    pub rate: f64,
    /// Columns of the representations.
    pub width: usize,
}

/// A way to mix.
pub trait Mixer: Send {
    /// Refuses a graph of this many nodes that it cannot serve, before any work is done.
    fn check(&self, _n_nodes: usize) -> Result<()> {
        Ok(())
    }

    /// What it wants to see besides the losses.
    fn needs(&self) -> MixerNeeds {
        MixerNeeds::default()
    }

    /// The weights of one step.
    fn mix(&mut self, seen: &MixerInput<'_>) -> MixWeights;

    /// Whether it ever wants to know how its weights influence what a step led to.
    fn uses_lookahead(&self) -> bool {
        false
    }

    /// What it wants to know of where this step led, if anything.
    fn lookahead(&self, _step: u64) -> Option<Lookahead> {
        None
    }

    /// Takes the derivatives of the outlook's loss by the weights of the step.
    fn update(&mut self, _slopes: &[f64]) {}

    /// The trial runs that its weights shall be found by before the first step; none once they are known.
    fn weight_search(&self) -> Option<WeightSearch> {
        None
    }

    /// Takes the weights that a trial found.
    fn set_weights(&mut self, _weights: Vec<f64>) {}

    /// What its weights for the encoder promise to be.
    fn weight_bounds(&self) -> WeightBounds;

    /// Everything it remembers, as JSON.
    fn save(&self) -> Result<String> {
        Ok("null".to_owned())
    }

    /// Takes over what [`Mixer::save`] gave.
    fn restore(&mut self, _saved: &str) -> Result<()> {
        Ok(())
    }
}

/// What a mixer wants to see besides the losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MixerNeeds {
    /// The inner products of the gradients.
    pub gram: bool,
    /// The lengths of the gradients at the last shared layer's weight.
    pub last_layer: bool,
    /// The representations of the nodes of the clean graph.
    pub nodes: bool,
}

/// What a mixer sees of a step.
pub struct MixerInput<'a> {
    /// Number of the step, from 0.
    pub step: u64,
    /// The losses.
    pub loss: &'a [f64],
    /// Inner products of the gradients at the encoder's parameters; empty unless wanted.
    pub gram: &'a [Vec<f64>],
    /// Lengths of the gradients at the last shared layer's weight; empty unless wanted.
    pub last_layer: &'a [f64],
    /// The nodes, where they are wanted.
    pub nodes: Option<&'a dyn NodeEmbeddings>,
}

/// The representations z_v of the clean graph's nodes, each of length one, seen through sums.
pub trait NodeEmbeddings {
    /// Number of nodes.
    fn count(&self) -> usize;

    /// z_v·d of every node, node by node, for each of the directions in turn.
    fn project(&self, directions: &[Vec<f64>]) -> Vec<f64>;

    /// Σ_v c_vk z_v for each k of `width` factors that a node has, node by node.
    fn weighted_sums(&self, factors: &[f64], width: usize) -> Vec<Vec<f64>>;
}

/// A look ahead: how alike the ends of an edge are after a step, told by soft clusters of the representations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lookahead {
    /// Number of clusters.
    pub clusters: usize,
    /// Starts of K-means, of which the best counts.
    pub starts: usize,
    /// σ² of the softmax over −‖z − center‖²/σ².
    pub variance: f64,
}

/// A search for fixed weights: each candidate has a short run of its own and is judged by how alike the ends of an edge
/// are after it, told by clusters of the representations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightSearch {
    /// Generations of candidates.
    pub generations: u64,
    /// Candidates of a generation.
    pub population: usize,
    /// Steps of a candidate's run.
    pub steps: u64,
    /// Number of clusters.
    pub clusters: usize,
}

impl WeightSearch {
    /// Steps of all its runs.
    pub fn total_steps(&self) -> u64 {
        self.generations.saturating_mul(self.population as u64).saturating_mul(self.steps)
    }
}

/// The weights of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct MixWeights {
    /// The encoder moves along Σ w_k g_k.
    pub encoder: Vec<f64>,
    /// Each head moves along its own gradient times its weight.
    pub heads: Vec<f64>,
}

impl MixWeights {
    /// Heads that move along the plain gradients of their own losses.
    fn of_encoder(weights: Vec<f64>) -> MixWeights {
        MixWeights { heads: vec![1.0; weights.len()], encoder: weights }
    }

    /// A weighted sum of the losses.
    fn of_losses(weights: Vec<f64>) -> MixWeights {
        MixWeights { heads: weights.clone(), encoder: weights }
    }
}

/// What every weight for the encoder is, and what they add up to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightBounds {
    /// The least that a weight can be.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// Their sum, where that is promised.
    pub sum: Option<f64>,
}

impl WeightBounds {
    /// No weight is negative, and they sum to one.
    const SIMPLEX: WeightBounds = WeightBounds { least: 0.0, most: 1.0, sum: Some(1.0) };

    /// No weight is less than this.
    fn at_least(least: f64) -> WeightBounds {
        WeightBounds { least, most: f64::INFINITY, sum: None }
    }
}

/// A loss to divide by.
fn as_scale(loss: f64) -> f64 {
    loss.abs().max(1e-8)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Gw: the inner products of each gradient with Σ w_k g_k.
fn times(gram: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    gram.iter().map(|row| dot(row, weights)).collect()
}
