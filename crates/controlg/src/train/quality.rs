//! Measures the quality of the embeddings without labels after every epoch (`train.quality`).
//!
//! The embeddings are those that would be written now, of the whole graph, or of the subgraph that is sensed if the graph is
//! large or trained in mini-batches, without some edges: those are hidden from the encoder, to see how well the embeddings predict them. The encoder may have
//! trained on these edges, since hiding them from training would change the run. Everything is drawn once from streams of its own,
//! so a measurement changes nothing, and a resumed run measures the same.

use std::cell::OnceCell;

use super::model::Model;
use super::normalization::{Normalization, normalized_graph};
use super::readout::{EmbeddingReadout, ReadoutState};
use crate::config::{BatchMode, Config, EmbedSettings};
use crate::data::EdgeSplit;
use crate::encoder::Encoder;
use crate::error::Result;
use crate::eval::quality::{PairSample, Quality};
use crate::graph::norm::ColumnScale;
use crate::graph::{Graph, Subgraph};
use crate::rng::Stream;

/// Nodes that are clustered.
const NODES: usize = 2048;
/// Edges that are hidden: one in so many, and at most so many.
const ONE_IN: usize = 10;
const MOST_EDGES: usize = 4096;
/// Nodes up to which the whole graph is measured, whatever is sensed.
const WHOLE_UP_TO: usize = 50_000;

/// What is measured: the graph without the hidden edges, and the sampled nodes and pairs.
#[derive(Clone, Debug)]
pub(super) struct QualitySample {
    graph: Graph,
    nodes: Vec<u32>,
    pairs: PairSample,
    /// The readout of a run on the whole graph.
    settings: EmbedSettings,
}

impl QualitySample {
    /// Draws the sample. `visible` is the training graph before its features are normalized, `normalized` after that, and
    /// `probe` the subgraph that is sensed, if there is one.
    pub(super) fn draw(
        (visible, normalized, probe): (&Graph, &Graph, Option<&Subgraph>),
        (normalization, scale): (Normalization, Option<&ColumnScale>),
        config: &Config,
    ) -> Result<QualitySample> {
        // Structural features are computed again without the hidden edges, and then normalized.
        let structural = visible.has_features_from_edges();
        let graph = match probe.filter(|_| measures_probe(normalized, config)) {
            None if structural => visible.clone(),
            None => normalized.clone(),
            Some(probe) if structural => Subgraph::induced(visible, &probe.nodes)?.graph,
            Some(probe) => probe.graph.clone(),
        };
        let pairs = draw_pairs(&graph, config.seed);
        let graph = without(&graph, &pairs)?;
        let graph = if structural { normalized_graph(graph, normalization.how, scale)? } else { graph };
        let n = graph.n_nodes();
        let nodes = Stream::new(config.seed, "quality", "nodes", 0).sample(n, NODES.min(n));
        let mut settings = config.embed.clone();
        if normalized.n_nodes() > BatchMode::WHOLE_UP_TO {
            settings.features = 0;
        }
        Ok(QualitySample { graph, nodes, pairs, settings })
    }

    /// Bytes that the sample takes beside the graph that it was drawn from.
    pub(super) fn bytes(graph: &Graph) -> usize {
        graph.adjacency().memory_bytes() + NODES.min(graph.n_nodes()) * size_of::<u32>()
    }
}

/// Whether a run on this graph is measured on the subgraph that it senses, if it has one.
pub(super) fn measures_probe(graph: &Graph, config: &Config) -> bool {
    let n = graph.n_nodes();
    n > WHOLE_UP_TO || config.train.batch.on(n) != BatchMode::Full
}

/// Edges to hide and as many other pairs. Small or dense graphs have none.
fn draw_pairs(graph: &Graph, seed: u64) -> PairSample {
    let (n, count) = (graph.n_nodes(), (graph.n_edges() / ONE_IN).min(MOST_EDGES));
    let mut edges: Vec<(u32, u32)> = graph.edges().collect();
    let chosen = Stream::new(seed, "quality", "edges", 0).sample(edges.len(), count);
    edges = chosen.into_iter().map(|at| edges[at as usize]).collect();
    edges.sort_unstable();
    let mut stream = Stream::new(seed, "quality", "non-edges", 0);
    let mut non_edges = Vec::with_capacity(count);
    // Nearly complete graphs have few such pairs.
    for _ in 0..20 * count {
        let (u, v) = (stream.below(n) as u32, stream.below(n) as u32);
        if u != v && !graph.adjacency().contains(u, v) {
            non_edges.push((u.min(v), u.max(v)));
        }
        if non_edges.len() == count {
            return PairSample { edges, non_edges };
        }
    }
    PairSample::default()
}

/// The graph without the edges of a sample.
fn without(graph: &Graph, pairs: &PairSample) -> Result<Graph> {
    let train = graph.edges().filter(|edge| pairs.edges.binary_search(edge).is_err()).collect();
    let none = Vec::new;
    let split = EdgeSplit {
        seed: 0,
        train,
        val: pairs.edges.clone(),
        test: none(),
        train_negatives: none(),
        val_negatives: none(),
        test_negatives: none(),
    };
    split.training_graph(graph)
}

/// Measures the embeddings of a model in training.
pub(super) struct QualityMeter<'g> {
    sample: &'g QualitySample,
    readout: EmbeddingReadout<'g>,
    /// Chosen at the first measurement; it depends on the graph alone.
    state: OnceCell<ReadoutState>,
}

impl<'g> QualityMeter<'g> {
    pub(super) fn new(sample: &'g QualitySample, encoder: &dyn Encoder) -> Self {
        let readout = EmbeddingReadout::new(&sample.graph, encoder, &sample.settings);
        QualityMeter { sample, readout, state: OnceCell::new() }
    }

    /// The quality of the embeddings as the model stands. Changes nothing.
    pub(super) fn measure(&self, model: &Model<'_>) -> Result<Quality> {
        let state = match self.state.get() {
            Some(state) => state,
            None => {
                let state = self.readout.fit()?;
                self.state.get_or_init(|| state)
            }
        };
        let embeddings = model.embed_graph(&self.sample.graph, &self.readout, state)?;
        Quality::measure(&embeddings, &self.sample.nodes, &self.sample.pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::data::LoadOptions;
    use crate::train::Input;

    fn input(name: &str, set: &[&str]) -> (Graph, Config, Input) {
        let mut table = Config::preset("any");
        set.iter().for_each(|assignment| config::set(&mut table, assignment).unwrap());
        let config = Config::from_table(table).unwrap();
        let options = LoadOptions { features: config.features, ..LoadOptions::default() };
        let graph = crate::data::load(name, &options).unwrap().graph;
        let input = Input::new(&graph, &config).unwrap();
        (graph, config, input)
    }

    #[test]
    fn hidden_edges_are_edges_of_the_training_graph_that_the_encoder_does_not_see() {
        for set in [&["edges=train"][..], &["edges=all"], &["edges=train", "features=structural"]] {
            let (graph, _, input) = input("synthetic:nodes=300", set);
            let sample = input.quality.as_ref().unwrap();
            let count = input.graph.n_edges() / ONE_IN;
            assert_eq!((sample.pairs.edges.len(), sample.pairs.non_edges.len()), (count, count));
            assert_eq!(sample.graph.n_edges(), input.graph.n_edges() - count);
            for &(u, v) in &sample.pairs.edges {
                assert!(input.graph.adjacency().contains(u, v) && !sample.graph.adjacency().contains(u, v));
                assert!(graph.adjacency().contains(u, v));
            }
            assert!(sample.pairs.non_edges.iter().all(|&(u, v)| !input.graph.adjacency().contains(u, v)));
        }
    }

    #[test]
    fn large_graphs_are_measured_on_the_subgraph_that_is_sensed() {
        let set = ["sense.probe_nodes=1000", "train.batch=cluster"];
        let (_, _, input) = input("synthetic:nodes=3000", &set);
        let sample = input.quality.as_ref().unwrap();
        let probe = input.probe.as_ref().unwrap();
        assert_eq!(sample.graph.n_nodes(), probe.graph.n_nodes());
        assert_eq!(sample.nodes.len(), probe.graph.n_nodes().min(NODES));
    }

    #[test]
    fn small_graphs_are_measured_whole_if_a_subgraph_is_sensed() {
        let set = ["sense.whole_up_to=1000", "sense.probe_nodes=1000"];
        let (_, _, input) = input("synthetic:nodes=3000", &set);
        assert!(input.probe.is_some());
        assert_eq!(input.quality.unwrap().graph.n_nodes(), 3000);
    }

    #[test]
    fn graphs_without_edges_have_no_pairs() {
        let features = crate::graph::Features::dense(20, 2, (0..40).map(|x| x as crate::Real).collect());
        let graph = Graph::from_edges(20, &[], features.unwrap()).unwrap();
        assert_eq!(draw_pairs(&graph, 0), PairSample::default());
        let complete: Vec<(u32, u32)> = (0..20).flat_map(|u| (0..u).map(move |v| (v, u))).collect();
        let complete = Graph::from_edges(20, &complete, graph.features().clone()).unwrap();
        assert_eq!(draw_pairs(&complete, 0), PairSample::default());
    }
}
