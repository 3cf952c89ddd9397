//! Graph neural networks that encode a view of a graph into node representations.
//!
//! An [`Encoder`] is an architecture, built from its table in the run file. Its weights live in a group of [`Params`], so
//! that one architecture can serve two networks, such as an online and a target network.

mod blocks;
mod gat;
mod gcn;
mod layer;
mod rgcn;
mod sage;

use crate::error::{Error, Result};
use crate::graph::{Dense, EncoderInput, Graph, OperatorSpec, View};
use crate::registry::{self, Entry};
use crate::rng::Stream;
use crate::tensor::{ColumnStats, Params, Pool, Tape, Var};

pub use blocks::{Block, BlockSource, Network, embed_in_blocks};
pub(crate) use blocks::{block_bytes, embed_in_blocks_on};
pub use gat::{Gat, GatInit, GatSettings};
pub use gcn::{Gcn, GcnSettings};
pub use layer::{ActivationKind, Jump, LastLayer, LayerSettings, Norm};
pub use rgcn::{Rgcn, RgcnSettings};
pub use sage::{Sage, SageSettings};

/// All encoders.
pub const ENCODERS: &[Entry<dyn Encoder>] = &[gcn::ENTRY, sage::ENTRY, gat::ENTRY, rgcn::ENTRY];

/// The architecture of a network from features to representations.
///
/// [`Encoder::encode`] runs a whole pass. The methods after it run one layer on the clean graph in stages, for
/// [`embed_in_blocks`]: transform, aggregate, post. Both ways give the same bits.
pub trait Encoder: Send + Sync {
    /// Embedding width, the number of columns of the representations.
    fn width(&self) -> usize;

    /// The widths of the parts that the representations consist of, side by side.
    fn channels(&self) -> Vec<usize> {
        vec![self.width()]
    }

    /// The operator that it propagates with.
    fn operator(&self) -> OperatorSpec {
        OperatorSpec::GCN
    }

    /// Whether a layer sees the node itself besides its neighbors.
    fn sees_own_node(&self) -> bool {
        self.operator().self_loops
    }

    /// Adds the network's parameters to an empty group and initializes them.
    fn init(&self, n_features: usize, params: &mut Params, group: usize, stream: &mut Stream);

    /// [`Encoder::init`] for a graph that may have node types and relations. An encoder without weights of their own for these
    /// needs the number of features only.
    fn init_for(&self, dims: InputDims, params: &mut Params, group: usize, stream: &mut Stream) {
        self.init(dims.n_features, params, group, stream);
    }

    /// The representations of a view's nodes, n × width, with the parameters of a group.
    fn encode<'a>(&self, tape: &mut Tape<'a>, group: usize, view: &View<'a>, pass: Pass<'_>) -> Var;

    /// Number of layers.
    fn layers(&self) -> usize;

    /// Whether a layer ends with a batch norm, which needs statistics over all nodes.
    fn has_batch_norm(&self, layer: usize) -> bool;

    /// Whether it can compute a layer for some nodes at a time, with the methods below. Otherwise a graph that is trained on in
    /// mini-batches is embedded in memory.
    fn embeds_in_blocks(&self) -> bool {
        true
    }

    /// A layer's per-node transform before it aggregates neighbors; `None` if it aggregates first.
    fn transform<'a>(
        &self,
        _tape: &mut Tape<'a>,
        _group: usize,
        _layer: usize,
        _rows: BlockSource<'a>,
    ) -> Option<Var> {
        unreachable!("an encoder that embeds in blocks implements transform")
    }

    /// How many products [`Encoder::transform`] puts side by side; for the memory estimate.
    fn products(&self) -> usize {
        1
    }

    /// A layer's aggregation over neighbors, up to its norm, for the nodes of a block. `rows` are the inputs of the nodes
    /// that the block reaches; `transformed` says whether [`Encoder::transform`] was applied to them.
    fn aggregate<'a>(
        &self,
        _tape: &mut Tape<'a>,
        _group: usize,
        _layer: usize,
        _block: &'a Block,
        _rows: Var,
        _transformed: bool,
    ) -> Var {
        unreachable!("an encoder that embeds in blocks implements aggregate")
    }

    /// Whether the embedding consists of a feature channel (a projection of the features) and the outputs of all layers, side
    /// by side, instead of the output of the last layer.
    fn has_feature_channel(&self) -> bool {
        false
    }

    /// The feature channel of some nodes up to its norm. For [`Encoder::has_batch_norm`] and [`Encoder::post`] it is the layer
    /// after the last.
    fn project_rows<'a>(&self, _tape: &mut Tape<'a>, _group: usize, _rows: BlockSource<'a>) -> Var {
        unreachable!("an encoder with a feature channel implements project_rows")
    }

    /// A layer's norm and activation, unless [`Encoder::aggregate`] has applied them.
    fn post<'a>(
        &self,
        _tape: &mut Tape<'a>,
        _group: usize,
        _layer: usize,
        _h: Var,
        _norms: Norms<'_>,
    ) -> Var {
        unreachable!("an encoder that embeds in blocks implements post")
    }
}

/// What the parameters of an encoder depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputDims {
    /// Number of features.
    pub n_features: usize,
    /// Number of node types.
    pub n_types: usize,
    /// Number of relations.
    pub n_relations: usize,
    /// Number of directions of all relations.
    pub n_directions: usize,
}

impl InputDims {
    /// The dimensions of a graph.
    pub fn of(graph: &Graph) -> InputDims {
        let homogeneous = InputDims::homogeneous(graph.n_features());
        graph.relations().map_or(homogeneous, |relations| InputDims {
            n_types: relations.schema().types().len(),
            n_relations: relations.schema().relations().len(),
            n_directions: relations.schema().directions().len(),
            ..homogeneous
        })
    }

    /// The dimensions of a graph without node types and relations.
    pub fn homogeneous(n_features: usize) -> InputDims {
        InputDims { n_features, n_types: 1, n_relations: 1, n_directions: 1 }
    }
}

/// The options of one forward pass. The default is a training pass without dropout.
#[derive(Default)]
pub struct Pass<'p> {
    /// Replaces the features of the view's masked nodes (1 × features); without it they read as zero.
    pub token: Option<Var>,
    /// The random stream of dropout; without it nothing is dropped.
    pub dropout: Option<&'p mut Stream>,
    /// The statistics of batch norms.
    pub norms: Norms<'p>,
}

/// The statistics that batch norms use.
#[derive(Default)]
pub enum Norms<'p> {
    /// Those of the pass itself.
    #[default]
    Batch,
    /// Those of the pass itself, which are also recorded, one entry per batch norm.
    Record(&'p mut Vec<ColumnStats>),
    /// Those of an earlier pass.
    Given(&'p [ColumnStats]),
}

/// Builds an encoder from its table in the run file. `kind` defaults to `gcn`.
pub fn build(mut table: toml::Table) -> Result<Box<dyn Encoder>> {
    let kind = match table.remove("kind") {
        None => "gcn".to_owned(),
        Some(toml::Value::String(kind)) => kind,
        Some(other) => return Err(Error::value("encoder.kind", other, "the name of an encoder")),
    };
    (registry::find("encoder", ENCODERS, &kind)?.build)(table)
}

/// The representations of the whole graph. Batch norms use the statistics of the whole graph, so the result does not depend
/// on the last view of the training.
pub fn embed(
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    graph: &EncoderInput<'_>,
    pool: &Pool,
) -> Dense {
    evaluate(encoder, params, group, graph, pool, Norms::Batch)
}

/// The batch norms' statistics on the whole graph, for [`embed_with`].
pub fn statistics(
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    graph: &EncoderInput<'_>,
    pool: &Pool,
) -> Vec<ColumnStats> {
    let mut stats = Vec::new();
    evaluate(encoder, params, group, graph, pool, Norms::Record(&mut stats));
    stats
}

/// The representations of a graph with given batch norm statistics, usually those of the training graph.
pub fn embed_with(
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    graph: &EncoderInput<'_>,
    stats: &[ColumnStats],
    pool: &Pool,
) -> Dense {
    evaluate(encoder, params, group, graph, pool, Norms::Given(stats))
}

/// The representations of a view. Batch norms use the view's own statistics.
pub fn embed_view(
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    view: &View<'_>,
    pool: &Pool,
) -> Dense {
    evaluate_view(encoder, params, group, view, pool, Norms::Batch)
}

fn evaluate(
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    graph: &EncoderInput<'_>,
    pool: &Pool,
    norms: Norms<'_>,
) -> Dense {
    evaluate_view(encoder, params, group, &graph.whole(), pool, norms)
}

fn evaluate_view(
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    view: &View<'_>,
    pool: &Pool,
    norms: Norms<'_>,
) -> Dense {
    let mut tape = Tape::forward_only(params, pool);
    let pass = Pass { norms, ..Pass::default() };
    let z = encoder.encode(&mut tape, group, view, pass);
    let (rows, cols) = tape.shape(z);
    Dense::from_parts(rows, cols, tape.value(z).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Real;
    use crate::graph::{Csr, EdgeList, Features, Graph, Ids};
    use crate::tensor::ParamId;

    fn network(text: &str) -> Result<Box<dyn Encoder>> {
        build(text.parse().unwrap())
    }

    /// A ring of eight nodes and an isolated node, relabeled by `order`.
    fn ring(order: &[u32]) -> Graph {
        let at = |node: u32| order[node as usize];
        let pairs = (0..8).map(|u| (at(u), at((u + 1) % 8))).collect();
        let (adjacency, _) = EdgeList { pairs, weights: None }.into_adjacency(9).unwrap();
        let mut rows = vec![(0u32, 0.0); 9];
        (0..9u32).for_each(|node| rows[at(node) as usize] = (node % 4, 1.0 + Real::from(node as u8)));
        let (columns, values) = rows.into_iter().unzip();
        let features = Csr::from_parts(4, (0..=9).collect(), columns, Some(values));
        Graph::new(adjacency, Features::Sparse(features), Ids::Numbered(9)).unwrap()
    }

    fn initialized(encoder: &dyn Encoder) -> Params {
        let mut params = Params::new();
        let group = params.add_group("encoder");
        encoder.init(4, &mut params, group, &mut Stream::new(1, "init", "", 0));
        params
    }

    #[test]
    fn representations_are_permutation_equivariant() {
        let order = [3, 8, 0, 1, 7, 6, 2, 5, 4];
        let straight: Vec<u32> = (0..9).collect();
        for entry in ENCODERS {
            let encoder = network(&format!("kind = '{}'\nwidth = 24\njump = 'concat'", entry.name)).unwrap();
            let params = initialized(&*encoder);
            let [a, b] = [ring(&straight), ring(&order)].map(|graph| {
                let input = EncoderInput::with_spec(&graph, encoder.operator());
                embed(&*encoder, &params, 0, &input, &Pool::new())
            });
            for (node, &moved) in order.iter().enumerate() {
                for (x, y) in a.row(node).iter().zip(b.row(moved as usize)) {
                    assert!((x - y).abs() < 1e-4, "{}: node {node}: {x} {y}", entry.name);
                }
            }
        }
    }

    #[test]
    fn recorded_statistics_reproduce_the_representations() {
        let graph = ring(&(0..9).collect::<Vec<_>>());
        let (prepared, pool) = (EncoderInput::new(&graph), Pool::new());
        let encoder = network("width = 8\nlayers = 3").unwrap();
        let params = initialized(&*encoder);
        let stats = statistics(&*encoder, &params, 0, &prepared, &pool);
        assert_eq!(stats.len(), 3);
        let direct = embed(&*encoder, &params, 0, &prepared, &pool);
        assert_eq!(direct, embed_with(&*encoder, &params, 0, &prepared, &stats, &pool));
        assert_eq!((direct.n_rows(), direct.n_cols()), (9, encoder.width()));
    }

    #[test]
    fn concatenated_embeddings_are_the_features_and_all_layers() {
        let graph = ring(&(0..9).collect::<Vec<_>>());
        for entry in ENCODERS {
            let of = |rest: &str| {
                let encoder = network(&format!("kind = '{}'\nhidden = 4\n{rest}", entry.name)).unwrap();
                let params = initialized(&*encoder);
                let input = EncoderInput::with_spec(&graph, encoder.operator());
                (encoder.channels(), embed(&*encoder, &params, 0, &input, &Pool::new()))
            };
            let (last, (channels, all)) = (of("width = 4").1, of("width = 16\njump = 'concat'"));
            assert_eq!((&channels[..], all.n_cols()), (&[8, 4, 4][..], 16));
            // The layers come before the feature channel in the random stream, so the last one is the same.
            for node in 0..9 {
                assert_eq!(all.row(node)[12..], last.row(node)[..], "{}", entry.name);
            }
            // Nodes 0, 4 and 8 have the same feature, up to its size, but 0 and 4 share no neighbor and 8 has none.
            let signs = |node: usize| all.row(node)[..8].iter().map(|&x| x > 0.0).collect::<Vec<_>>();
            assert_eq!(signs(4), signs(8), "{}", entry.name);
        }
    }

    #[test]
    fn attention_init_has_the_variance_of_its_settings() {
        for (init, [weight, vector]) in
            [("uniform", [2.0 / 800.0, 2.0 / 104.0]), ("normal", [4.0 / 800.0, 4.0 / 500.0])]
        {
            let encoder = network(&format!("kind = 'gat'\nwidth = 400\ninit = '{init}'")).unwrap();
            let mut params = Params::new();
            let group = params.add_group("encoder");
            encoder.init(400, &mut params, group, &mut Stream::new(1, "init", "", 0));
            let of = |entry| params.get(ParamId { group, entry });
            for (values, want) in [(of(0), weight), (of(1), vector), (of(2), vector)] {
                let mean = values.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / values.len() as f64;
                assert!((mean / want - 1.0).abs() < 0.25, "{init}: {mean} {want}");
            }
        }
    }

    #[test]
    fn invalid_settings_are_rejected_with_name_and_value() {
        let message = |text: &str| network(text).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(message("kind = 'gcm'"), "unknown encoder 'gcm', did you mean 'gcn'?");
        assert_eq!(message("width = 0"), "encoder.width: found 0, expected 1 to 65536");
        assert_eq!(message("layers = 99"), "encoder.layers: found 99, expected 1 to 16");
        assert_eq!(message("dropout = 1"), "encoder.dropout: found 1.0, expected at least 0 and below 1");
        let heads = message("kind = 'gat'\nheads = 3");
        assert_eq!(heads, "encoder.heads: found 3, expected a number that divides the width 512");
        let narrow = message("width = 9\nhidden = 5\njump = 'concat'");
        let room = "expected room for 2 layers of width 5 and the features beside each other";
        assert_eq!(narrow, format!("encoder.width: found 9, {room}"));
        assert!(
            message("heads = 3").starts_with("encoder: found an unknown setting 'heads', expected one of ")
        );
        assert!(message("norm = 'bacth'").starts_with("encoder.norm: found \"bacth\", expected "));
    }
}
