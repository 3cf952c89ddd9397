//! Self-supervised tasks on a shared encoder, one file each.
//!
//! An objective says how it wants to see the graph ([`Objective::views`]), gets the representations of those views,
//! and gives a loss ([`Objective::loss`]). Who encodes, differentiates and steps is not its concern: the same two
//! functions serve training and sensing.

mod baselines;
mod decor;
mod head;
mod link;
mod minsg;
mod par;
mod recon;
mod view_spec;

pub use baselines::BASELINES;
pub use view_spec::{AugmentedView, ViewSpec};

use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::graph::{EdgeDropper, EncoderInput, Graph, Operator, Subgraph};
use crate::registry::{self, Entry};
use crate::rng::Stream;
use crate::tensor::{Params, Tape, Var};

/// The objectives that are combined, in the paper's order. Those of methods of their own are on [`BASELINES`].
pub const OBJECTIVES: &[Entry<dyn Objective>] =
    &[link::ENTRY, recon::ENTRY, minsg::ENTRY, decor::ENTRY, par::ENTRY];

/// One self-supervised objective. Implementations derive [`Clone`]; a run prepares its own copy.
pub trait Objective: CloneObjective + Send + Sync {
    /// Refuses a graph that it cannot serve, before any work is done.
    fn check(&self, _graph: &Graph) -> Result<()> {
        Ok(())
    }

    /// Computes what does not change during the run: a partition, an operator.
    fn prepare(&mut self, _graph: &Graph) -> Result<()> {
        Ok(())
    }

    /// Computes what parts need to know of the whole graph, when it is never seen whole; what a part can compute for
    /// itself is left to [`Objective::on_batch`].
    fn prepare_for_batches(&mut self, _graph: &Graph) -> Result<()> {
        Ok(())
    }

    /// The same objective with the same head on a part of the graph that it was prepared for, whole or for parts.
    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>>;

    /// Adds the head's parameters to an empty group. One that masks nodes declares its token first.
    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream);

    /// The buffers that a loss and its way back hold at once, as (numbers, how many such): what memory is foretold by.
    fn buffers(&self, graph: &Graph, width: usize) -> Vec<(usize, usize)>;

    /// Bytes of what it keeps of a graph that it is prepared for.
    fn prepared_bytes(&self, _graph: &Graph) -> usize {
        0
    }

    /// How the encoder is shown the graph, one entry a pass. Equal sights of two objectives are sensed in one pass.
    fn views(&self) -> Vec<ViewSpec>;

    /// Draws the view of a sight.
    fn augment<'a>(
        &'a self,
        spec: &ViewSpec,
        graph: &'a Graph,
        prepared: &'a EncoderInput<'a>,
        dropper: &mut EdgeDropper,
        stream: &mut Stream,
    ) -> AugmentedView<'a> {
        spec.draw(graph, prepared, dropper, stream)
    }

    /// The second network that it needs beside the encoder, of the same shape.
    fn aux_network(&self) -> Option<AuxNetwork> {
        None
    }

    /// The operator through which the second network sees the graph when its representations are added to the encoder's,
    /// in the end; none where the encoder's are all.
    fn aux_operator(&self) -> Option<&Operator> {
        None
    }

    /// The loss of one step, a scalar.
    fn loss<'a>(&'a self, tape: &mut Tape<'a>, step: LossInput<'a, '_>) -> Var;
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

/// What a head is built between.
#[derive(Clone, Copy, Debug)]
pub struct HeadDims {
    /// Columns of the features.
    pub n_features: usize,
    /// Columns of the representations.
    pub width: usize,
}

/// A network of the encoder's shape with parameters of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AuxNetwork {
    /// It is trained like the encoder.
    Trained,
    /// No gradient reaches it; it starts on its own and follows the encoder after each step.
    Ema {
        /// The share of the way that it goes at first; half a cosine brings it down to zero at the end of the run.
        rate: f64,
    },
}

/// What an objective gets for one loss.
pub struct LossInput<'a, 's> {
    /// The graph.
    pub graph: &'a Graph,
    /// The graph with its features, as the encoder sees it.
    pub prepared: &'a EncoderInput<'a>,
    /// The group of its own parameters.
    pub group: usize,
    /// The network, for an objective that has a second one.
    pub encoder: &'s dyn Encoder,
    /// The group of the second network's parameters; there is none unless [`Objective::aux_network`] asked for it.
    pub second: usize,
    /// What the encoder was shown, in the order of the sights.
    pub augmented: &'s [AugmentedView<'a>],
    /// The representations of each, n × width.
    pub z: &'s [Var],
    /// Where draws come from.
    pub stream: &'s mut Stream,
    /// What the loss is for.
    pub purpose: Purpose,
}

/// What a loss is for. Sensing takes larger samples, which are the same at every sensing of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A step of the optimizer.
    Training,
    /// A measurement.
    Sensing,
}

/// Builds an objective by its name from its table of the run file.
pub fn build(name: &str, table: toml::Table) -> Result<Box<dyn Objective>> {
    match BASELINES.iter().find(|entry| entry.name == name) {
        Some(entry) => (entry.build)(table),
        None => (registry::find("objective", OBJECTIVES, name)?.build)(table),
    }
}

/// Everything that can be trained alone: the objectives that are combined, and those of methods of their own.
pub fn all() -> impl Iterator<Item = &'static Entry<dyn Objective>> {
    OBJECTIVES.iter().chain(BASELINES)
}

/// An objective that was checked against and prepared for a part of the graph.
fn prepared(mut objective: impl Objective + 'static, part: &Subgraph) -> Result<Box<dyn Objective>> {
    objective.check(&part.graph)?;
    objective.prepare(&part.graph)?;
    Ok(Box::new(objective))
}

/// The error about a graph that an objective cannot serve.
fn unfit(name: &str, found: impl std::fmt::Display, expected: &str) -> Error {
    Error::value(format_args!("objective {name}"), found, expected)
}

/// Refuses a graph of which a share of `mask` is less than one node.
fn hides_some(name: &str, mask: f64, graph: &Graph) -> Result<()> {
    if (mask * graph.n_nodes() as f64) < 1.0 {
        let found = format!("{} nodes with objective.{name}.mask = {mask}", graph.n_nodes());
        return Err(unfit(name, found, "at least one hidden node"));
    }
    Ok(())
}
