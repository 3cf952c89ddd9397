//! Self-supervised tasks on a shared encoder, one file each.
//!
//! An objective says how it wants to see the graph ([`Objective::sights`]), gets the representations of those views,
//! and gives a loss ([`Objective::loss`]). Who encodes, differentiates and steps is not its concern: the same two
//! functions serve training and sensing.

mod decor;
mod head;
mod link;
mod minsg;
mod par;
mod recon;
mod sight;

pub use sight::{Shown, Sight};

use crate::error::{Error, Result};
use crate::graph::{Graph, Prepared, Subgraph};
use crate::registry::{self, Entry};
use crate::rng::Stream;
use crate::tensor::{Params, Tape, Var};

/// All objectives, in the paper's order.
pub const OBJECTIVES: &[Entry<dyn Objective>] =
    &[link::ENTRY, recon::ENTRY, minsg::ENTRY, decor::ENTRY, par::ENTRY];

/// One self-supervised task.
pub trait Objective: Send + Sync {
    /// Refuses a graph that it cannot serve, before any work is done.
    fn check(&self, _graph: &Graph) -> Result<()> {
        Ok(())
    }

    /// Computes what does not change during the run: a partition, an operator.
    fn prepare(&mut self, _graph: &Graph) -> Result<()> {
        Ok(())
    }

    /// The same objective with the same head on a part of the graph that it was prepared for.
    fn on_part(&self, part: &Subgraph) -> Result<Box<dyn Objective>>;

    /// Adds the head's parameters to an empty group. One that masks nodes declares its token first.
    fn init(&self, sizes: Sizes, params: &mut Params, group: usize, stream: &mut Stream);

    /// The buffers that a loss and its way back hold at once, as (numbers, how many such): what memory is foretold by.
    fn buffers(&self, graph: &Graph, width: usize) -> Vec<(usize, usize)>;

    /// How the encoder is shown the graph, one entry a pass. Equal sights of two objectives are sensed in one pass.
    fn sights(&self) -> Vec<Sight>;

    /// The loss of one step, a scalar.
    fn loss<'a>(&'a self, tape: &mut Tape<'a>, step: Step<'a, '_>) -> Var;
}

/// What a head is built between.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Columns of the features.
    pub n_features: usize,
    /// Columns of the representations.
    pub width: usize,
}

/// What an objective gets for one loss.
pub struct Step<'a, 's> {
    /// The graph.
    pub graph: &'a Graph,
    /// The graph with its features, as the encoder sees it.
    pub prepared: &'a Prepared<'a>,
    /// The group of its own parameters.
    pub group: usize,
    /// What the encoder was shown, in the order of the sights.
    pub shown: &'s [Shown<'a>],
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
    /// A step of the optimiser.
    Training,
    /// A measurement.
    Sensing,
}

/// Builds an objective by its name from its table of the run file.
pub fn build(name: &str, table: toml::Table) -> Result<Box<dyn Objective>> {
    (registry::find("objective", OBJECTIVES, name)?.build)(table)
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
