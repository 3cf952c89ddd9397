//! Graph neural networks that turn a view of a graph into node representations.
//!
//! An encoder is a shape, built from its table in the run file; its weights live in a group of
//! [`Params`](crate::tensor::Params), so that one shape can serve two networks (a target network, a second view).

mod gat;
mod gcn;
mod layer;

use crate::error::{Error, Result};
use crate::graph::{Dense, Prepared, View};
use crate::registry::{self, Entry};
use crate::rng::Stream;
use crate::tensor::{ColumnStats, Params, Pool, Tape, Var};

pub use gat::{Gat, Settings as GatSettings};
pub use gcn::Gcn;
pub use layer::{Common, Kind, Last, Norm};

/// All encoders.
pub const ENCODERS: &[Entry<dyn Encoder>] = &[gcn::ENTRY, gat::ENTRY];

/// The shape of a network from features to representations.
pub trait Encoder: Send + Sync {
    /// Number of columns of the representations.
    fn width(&self) -> usize;

    /// Adds the network's parameters to an empty group and initialises them.
    fn init(&self, n_features: usize, params: &mut Params, group: usize, stream: &mut Stream);

    /// The representations of a view's nodes, n × width, from the parameters of a group.
    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, pass: Pass<'_>) -> Var;
}

/// What differs from one pass to the next. The default is a training pass without dropout.
#[derive(Default)]
pub struct Pass<'p> {
    /// Stands in for the features of the view's masked nodes (1 × features); without it they read as zero.
    pub token: Option<Var>,
    /// Where dropout draws from; without it nothing is dropped.
    pub dropout: Option<&'p mut Stream>,
    /// Where batch norms get their statistics.
    pub norms: Norms<'p>,
}

/// Where batch norms get their statistics.
#[derive(Default)]
pub enum Norms<'p> {
    /// From the pass itself.
    #[default]
    Batch,
    /// From the pass itself, and they are written down, one entry a batch norm.
    Record(&'p mut Vec<ColumnStats>),
    /// From an earlier pass.
    Given(&'p [ColumnStats]),
}

/// Builds the encoder that a table of the run file describes; its `kind` is `gcn` unless it says otherwise.
pub fn build(mut table: toml::Table) -> Result<Box<dyn Encoder>> {
    let kind = match table.remove("kind") {
        None => "gcn".to_owned(),
        Some(toml::Value::String(kind)) => kind,
        Some(other) => return Err(Error::value("encoder.kind", other, "the name of an encoder")),
    };
    (registry::find("encoder", ENCODERS, &kind)?.build)(table)
}

/// The representations of the whole graph, with batch norms that use the whole graph's statistics: what they are does
/// not depend on the last view that training happened to see.
pub fn embed(
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    graph: &Prepared<'_>,
    pool: &Pool,
) -> Dense {
    evaluate(encoder, params, group, graph, pool, Norms::Batch)
}

/// The batch norms' statistics on the whole graph, to be kept for [`embed_with`].
pub fn statistics(
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    graph: &Prepared<'_>,
    pool: &Pool,
) -> Vec<ColumnStats> {
    let mut stats = Vec::new();
    evaluate(encoder, params, group, graph, pool, Norms::Record(&mut stats));
    stats
}

/// The representations of another graph, with the statistics of the one that the encoder was trained on.
pub fn embed_with(
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    graph: &Prepared<'_>,
    stats: &[ColumnStats],
    pool: &Pool,
) -> Dense {
    evaluate(encoder, params, group, graph, pool, Norms::Given(stats))
}

fn evaluate(
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    graph: &Prepared<'_>,
    pool: &Pool,
    norms: Norms<'_>,
) -> Dense {
    let mut tape = Tape::forward_only(params, pool);
    let pass = Pass { norms, ..Pass::default() };
    let z = encoder.encode(&mut tape, group, &graph.whole(), pass);
    let (rows, cols) = tape.shape(z);
    Dense::new(rows, cols, tape.value(z).to_vec())
}
