//! Self-supervised objectives on a shared encoder, one file each.
//!
//! An objective declares the augmented views it needs ([`Objective::views`]), gets the encoder's embeddings of those views
//! and computes a loss ([`Objective::loss`]). Encoding, the backward pass and the optimizer step are done for it. Training
//! and sensing use the same two functions.

mod autoencoder;
mod baselines;
mod decor;
mod decorrelation;
mod head;
mod held_out;
mod link;
mod metapaths;
mod minsg;
mod par;
mod recon;
mod relation_pairs;
mod stress;
mod view_spec;

pub use baselines::BASELINES;
pub use stress::STRESS;
pub use view_spec::{AugmentedView, ViewSpec};

use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::graph::{EdgeDropper, EncoderInput, Graph, Operator, Subgraph};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::tensor::{Params, Tape, Var};

/// The paper's objectives in its order, which are the default pool. [`BASELINES`] lists more, [`STRESS`] those for testing;
/// all of them can be combined.
pub const OBJECTIVES: &[Entry<dyn Objective>] =
    &[link::ENTRY, recon::ENTRY, minsg::ENTRY, decor::ENTRY, par::ENTRY];

/// One self-supervised objective. Implementations derive [`Clone`]; a run prepares its own copy.
pub trait Objective: CloneObjective + Send + Sync {
    /// Checks that it can train on a graph, before any work is done.
    fn check(&self, _graph: &Graph) -> Result<()> {
        Ok(())
    }

    /// What it adapts to a graph, in one line for the user; `None` if nothing.
    fn note(&self, _graph: &Graph) -> Option<String> {
        None
    }

    /// Computes what stays fixed during the run, such as a partition or an operator.
    fn prepare(&mut self, _graph: &Graph) -> Result<()> {
        Ok(())
    }

    /// Like [`Objective::prepare`], for mini-batch training: computes only what every batch needs from the whole graph.
    /// [`Objective::on_batch`] does the rest.
    fn prepare_for_batches(&mut self, _graph: &Graph) -> Result<()> {
        Ok(())
    }

    /// Prepares for a shape pass, which reads sizes but no contents: an objective whose [`Objective::prepare`] is expensive
    /// fills in placeholders of the right sizes.
    fn prepare_shapes(&mut self, graph: &Graph) -> Result<()> {
        self.prepare(graph)
    }

    /// Keeps a share of its samples (edges, nodes) aside, drawn from the stream. From then on no training loss uses them, and
    /// [`Purpose::HeldOut`] is the loss on them. Called once, after [`Objective::prepare`] or
    /// [`Objective::prepare_for_batches`]; [`Objective::on_batch`] keeps the split. An objective that cannot do this does
    /// nothing.
    fn hold_out(&mut self, _graph: &Graph, _share: f64, _stream: &mut Stream) -> Result<()> {
        Ok(())
    }

    /// How many samples it keeps aside on the graph that it is prepared for.
    fn n_held_out(&self) -> usize {
        0
    }

    /// The same objective, with the same head, on a mini-batch of the graph that it was prepared for.
    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>>;

    /// Adds the parameters of its head to an empty group. An objective that masks nodes adds its mask token first.
    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream);

    /// Bytes of what [`Objective::prepare`] keeps of a graph, for the memory estimate.
    fn prepared_bytes(&self, _graph: &Graph) -> usize {
        0
    }

    /// The views it needs, one per forward pass. Objectives with equal views share the passes when sensing.
    fn views(&self) -> Vec<ViewSpec>;

    /// Draws an augmented view. An objective that draws its views in its own way marks them with [`ViewSpec::custom`].
    fn augment<'a>(
        &'a self,
        spec: &ViewSpec,
        graph: &'a Graph,
        prepared: &'a EncoderInput<'a>,
        dropper: &mut EdgeDropper,
        stream: &mut Stream,
    ) -> AugmentedView<'a> {
        spec.sample(graph, prepared, dropper, stream)
    }

    /// The auxiliary network it needs beside the encoder, with the same architecture.
    fn aux_network(&self) -> Option<AuxNetwork> {
        None
    }

    /// If the embeddings of the auxiliary network are added to those of the encoder after training alone: the operator it
    /// propagates with. Several objectives share only the encoder, whose embeddings are then the result.
    fn aux_operator(&self) -> Option<&Operator> {
        None
    }

    /// Whether it propagates with an operator that has one column per node. The operator of a relational encoder on a graph with
    /// types has one per message.
    fn needs_square_operator(&self) -> bool {
        false
    }

    /// Computes the loss, a scalar.
    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var;
}

/// Clones a boxed objective. Every objective that is [`Clone`] has it.
pub trait CloneObjective {
    /// A boxed copy.
    fn clone_box(&self) -> Box<dyn Objective>;
}

impl<T: Objective + Clone + 'static> CloneObjective for T {
    fn clone_box(&self) -> Box<dyn Objective> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Objective> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// Input and output dimensions for a head.
#[derive(Clone, Copy, Debug)]
pub struct HeadDims {
    /// Number of features.
    pub n_features: usize,
    /// Embedding width.
    pub width: usize,
    /// Number of relations; 1 for a homogeneous graph.
    pub n_relations: usize,
}

/// A second network with the encoder's architecture and its own parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AuxNetwork {
    /// Trained like the encoder.
    Trained,
    /// A target network: initialized independently, it gets no gradient and follows the encoder as an exponential moving
    /// average. It moves after each step on its own objective, not after steps on others.
    Ema {
        /// The initial update rate, which decays to zero along a half cosine over the steps of the whole run.
        rate: f64,
    },
}

/// What an objective gets to compute its loss.
pub struct LossInput<'a, 's> {
    /// The graph.
    pub graph: &'a Graph,
    /// The graph as prepared for the encoder.
    pub prepared: &'a EncoderInput<'a>,
    /// The parameter group of its head.
    pub group: usize,
    /// The encoder, for an objective with an auxiliary network.
    pub encoder: &'s dyn Encoder,
    /// The parameter group of the auxiliary network; its own group without [`Objective::aux_network`].
    pub aux_group: usize,
    /// The augmented views, in the order of [`Objective::views`].
    pub views: &'s [AugmentedView<'a>],
    /// The embeddings of each view, n × width.
    pub z: &'s [Var],
    /// Random numbers.
    pub stream: &'s mut Stream,
    /// Whether the loss is for training or a measurement.
    pub purpose: Purpose,
}

/// The purpose of a loss. Measurements use larger samples, the same at every sensing of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A training step.
    Training,
    /// A measurement on samples that the objective trains on.
    Sensing,
    /// A measurement on the samples that it keeps aside; see [`Objective::hold_out`].
    HeldOut,
}

/// Builds an objective by name from its table of the run file.
pub fn build(name: &str, table: toml::Table) -> Result<Box<dyn Objective>> {
    (find(name)?.build)(table)
}

/// Finds an objective by name; the error suggests the nearest name.
pub fn find(name: &str) -> Result<&'static Entry<dyn Objective>> {
    let found = all().find(|entry| entry.name == name);
    found.ok_or_else(|| Error::unknown("objective", name, all().map(|entry| entry.name)))
}

/// All objectives, each of which can be trained alone or with others: [`OBJECTIVES`], [`BASELINES`] and [`STRESS`].
pub fn all() -> impl Iterator<Item = &'static Entry<dyn Objective>> {
    OBJECTIVES.iter().chain(BASELINES).chain(STRESS)
}

/// Checks an objective against a mini-batch and prepares it.
fn prepared_on(mut objective: impl Objective + 'static, batch: &Subgraph) -> Result<Box<dyn Objective>> {
    objective.check(&batch.graph)?;
    objective.prepare(&batch.graph)?;
    Ok(Box::new(objective))
}

/// The mean of losses with these weights, or with equal weights.
fn weighted_mean(tape: &mut Tape<'_>, mut terms: Vec<(f64, Var)>, equal: bool) -> Var {
    if equal {
        terms.iter_mut().for_each(|term| term.0 = 1.0);
    }
    let total: f64 = terms.iter().map(|term| term.0).sum();
    terms.iter_mut().for_each(|term| term.0 /= total);
    match terms[..] {
        [] => tape.constant(1, 1, vec![0.0]),
        _ => tape.weighted_sum(&terms),
    }
}

/// The error for a graph that an objective cannot train on.
fn unsuitable(name: &str, found: impl std::fmt::Display, expected: &str) -> Error {
    Error::value(format_args!("objective {name}"), found, expected)
}

/// Checks that a fraction `mask` of the nodes is at least one node.
fn check_masked_nodes(name: &str, mask: f64, graph: &Graph) -> Result<()> {
    if (mask * graph.n_nodes() as f64) < 1.0 {
        let found = format!("{} nodes with objective.{name}.mask = {mask}", graph.n_nodes());
        return Err(unsuitable(name, found, "at least one masked node"));
    }
    Ok(())
}
