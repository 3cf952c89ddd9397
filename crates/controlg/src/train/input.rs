//! The graph as training sees it: visible edges, normalized features, a probe for sensing.

use super::normalization::{Normalization, column_scale, normalized_graph};
use super::quality::QualitySample;
use crate::config::{BatchMode, Config, EdgeScope};
use crate::data::EdgeSplit;
use crate::error::{Error, Result};
use crate::graph::norm::ColumnScale;
use crate::graph::{Graph, OperatorKind, Subgraph};
use crate::objective::AuxNetwork;
use crate::rng::Stream;

/// Number of balls (breadth-first neighborhoods) in a probe.
const BALLS: usize = 8;

/// A graph ready for training.
#[derive(Clone, Debug)]
pub struct Input {
    /// The visible edges, with normalized features.
    pub graph: Graph,
    /// The subgraph used for sensing; `None` if the full graph is used.
    pub probe: Option<Subgraph>,
    /// Mean and standard deviation of the feature columns, if they were standardized; needed to embed new nodes.
    pub scale: Option<ColumnScale>,
    /// Whether the features are structural, computed from the edges.
    pub structural: bool,
    /// Hash of the graph.
    pub data_hash: String,
    /// What was chosen for this graph, and why: the feature normalization, the number of clusters.
    pub notes: Vec<String>,
    /// How the features were normalized.
    pub(super) normalization: Normalization,
    /// What the quality of embeddings is measured on; `None` if it is not.
    pub(super) quality: Option<QualitySample>,
}

impl Input {
    /// Prepares a graph for training with these settings. Features on disk stay there in mini-batch training and are
    /// loaded for full-batch training.
    pub fn new(graph: &Graph, config: &Config) -> Result<Input> {
        // The direction of edges is lost when a graph is built without it.
        if config.directed && graph.relations().is_none() {
            let expected = "a graph that was loaded with LoadOptions::directed, or directed = false";
            return Err(Error::value("directed", "a graph whose edges have no direction", expected));
        }
        let full_batch = config.train.batch.on(graph.n_nodes()) == BatchMode::Full;
        let graph = if full_batch { graph.resident()? } else { graph.clone() };
        let visible = match config.edges {
            EdgeScope::All => graph,
            EdgeScope::Train => EdgeSplit::draw(&graph, config.seed)?.training_graph(&graph)?,
        };
        let structural = visible.has_features_from_edges();
        let normalization = Normalization::of(config.normalize, &visible)?;
        let scale = column_scale(&visible, normalization.how)?;
        let graph = normalized_graph(visible.clone(), normalization.how, scale.as_ref())?;
        let probe = if !full_batch || graph.n_nodes() > config.sense.whole_up_to {
            let stream = &mut Stream::new(config.seed, "sense", "probe", 0);
            Some(Subgraph::balls(&graph, config.sense.probe_nodes, BALLS, stream)?)
        } else {
            None
        };
        let quality = match config.train.quality && config.total_steps() > 0 {
            true => {
                let graphs = (&visible, &graph, probe.as_ref());
                Some(QualitySample::draw(graphs, (normalization, scale.as_ref()), config)?)
            }
            false => None,
        };
        let notes = config.objectives.iter().filter_map(|name| config.objective[name].note(&graph));
        let notes = normalization.note(&graph).into_iter().chain(notes).chain(shared_encoder_note(config));
        let notes = notes.chain(relations_note(&graph, config));
        let notes = notes.chain(precision_note(config)).chain(one_block_note(config)).collect();
        let data_hash = graph.fingerprint();
        Ok(Input { graph, probe, scale, structural, data_hash, notes, normalization, quality })
    }
}

/// Says that the controller cannot act, because its counts are reset before every decision.
fn one_block_note(config: &Config) -> Option<String> {
    let resets =
        config.is_feedback_loop() && config.train.blocks_per_epoch() == 1 && config.objectives.len() > 1;
    resets.then(|| {
        "every epoch has one block, so the controller starts anew before each decision and cannot track the plan: set \
         train.batches_per_epoch to at least 25 times train.block"
            .to_owned()
    })
}

/// Says that the encoder does not tell relations apart.
fn relations_note(graph: &Graph, config: &Config) -> Option<String> {
    let relations = graph.several_relations()?;
    let is_blind = config.encoder.operator().kind != OperatorKind::Relations;
    is_blind.then(|| {
        let count = relations.schema().relations().len();
        format!("the encoder does not tell the {count} relations and the node types apart; encoder.kind = rgcn does")
    })
}

/// Says that training steps use f32 because the CPU has no bf16 products.
fn precision_note(config: &Config) -> Option<String> {
    (!config.train.precision.factors().is_available()).then(|| {
        "train.precision = bf16: this CPU has no bf16 products, so training steps use f32".to_owned()
    })
}

/// Says that objectives which alone would embed with two networks embed with the shared encoder in a pool.
fn shared_encoder_note(config: &Config) -> Option<String> {
    let trained = |name: &&String| config.objective[*name].aux_network() == Some(AuxNetwork::Trained);
    let names: Vec<&str> = config.objectives.iter().filter(trained).map(String::as_str).collect();
    (config.objectives.len() > 1 && !names.is_empty()).then(|| {
        format!(
            "the embeddings are those of the shared encoder, without the second network of {}",
            names.join(" and ")
        )
    })
}
