//! `p_par`, partition prediction: classify nodes into METIS clusters.
//!
//! L = mean over all nodes of the cross-entropy between Z·W + b and the node's cluster. METIS partitions the training graph
//! into `parts` clusters once, fewer if the graph is small: clusters of less than ten nodes say little. Z: n×h, W: h×parts.
//! The initial loss is about ln(parts).

use serde::{Deserialize, Serialize};

use super::held_out::NodeSplit;
use super::{HeadDims, LossInput, Objective, Purpose, ViewSpec, unsuitable};
use crate::error::Result;
use crate::graph::{Graph, Subgraph, partition};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Activation, Init, Params, Tape, Var};

/// Entry in the list of objectives.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "p_par",
    summary: "partition prediction: classify nodes into METIS clusters",
    paper: "You et al., When Does Self-Supervision Help Graph Convolutional Networks?, ICML 2020; Karypis and Kumar, \
            A Fast and High Quality Multilevel Scheme for Partitioning Irregular Graphs, SIAM J. Sci. Comput. 1998",
    keys: KEYS,
    defaults: || setting::table_of(&ParSettings::default()),
    build: |table| {
        let settings: ParSettings = setting::settings("objective.p_par", KEYS, table)?;
        Ok(Box::new(Par { parts: settings.parts, settings, cluster: vec![], split: None }))
    },
};

/// Fewest nodes per cluster on average.
const NODES_PER_PART: usize = 10;

const KEYS: &[Key] = &[
    Key::new("parts", Range::Whole(2, 1 << 20), "number of clusters, at most one per ten nodes"),
    Key::new("imbalance", Range::Number(1.001, 2.0), "maximum cluster size relative to the mean"),
    Key::new("seed", Range::Whole(0, i32::MAX as u64), "random seed of METIS, independent of the run's seed"),
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct ParSettings {
    parts: usize,
    imbalance: f64,
    seed: i32,
}

impl Default for ParSettings {
    fn default() -> Self {
        ParSettings { parts: 20, imbalance: 1.03, seed: 0 }
    }
}

#[derive(Clone)]
struct Par {
    settings: ParSettings,
    /// The number of clusters on the graph that it is prepared for.
    parts: usize,
    /// The cluster of each node.
    cluster: Vec<u32>,
    /// The nodes whose clusters are held out.
    split: Option<NodeSplit>,
}

impl Par {
    /// The number of clusters on a graph.
    fn parts_on(&self, graph: &Graph) -> usize {
        self.settings.parts.min((graph.n_nodes() / NODES_PER_PART).max(2))
    }
}

impl Objective for Par {
    fn check(&self, graph: &Graph) -> Result<()> {
        if graph.n_nodes() < 2 {
            return Err(unsuitable("p_par", "one node", "at least two nodes"));
        }
        Ok(())
    }

    fn note(&self, graph: &Graph) -> Option<String> {
        let (parts, wanted) = (self.parts_on(graph), self.settings.parts);
        let reason = format!("because the graph has only {} nodes", graph.n_nodes());
        (parts < wanted).then(|| format!("p_par uses {parts} clusters instead of {wanted}, {reason}"))
    }

    fn prepare(&mut self, graph: &Graph) -> Result<()> {
        let ParSettings { imbalance, seed, .. } = self.settings;
        self.parts = self.parts_on(graph);
        self.cluster = partition::partition(graph.adjacency(), self.parts, imbalance, seed)?;
        Ok(())
    }

    fn prepare_for_batches(&mut self, graph: &Graph) -> Result<()> {
        self.prepare(graph)
    }

    fn prepare_shapes(&mut self, graph: &Graph) -> Result<()> {
        self.parts = self.parts_on(graph);
        self.cluster = vec![0; graph.n_nodes()];
        Ok(())
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        // The head predicts the clusters of the whole graph, so a node keeps its own.
        let cluster = batch.nodes.iter().map(|&node| self.cluster[node as usize]).collect();
        let split = self.split.as_ref().map(|split| split.on_batch(batch));
        Ok(Box::new(Par { cluster, split, ..self.clone() }))
    }

    fn hold_out(&mut self, graph: &Graph, share: f64, stream: &mut Stream) -> Result<()> {
        self.split = Some(NodeSplit::draw("p_par", graph, share, 1, stream)?);
        Ok(())
    }

    fn n_held_out(&self) -> usize {
        self.split.as_ref().map_or(0, |split| split.held_out.len())
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        params.add(group, "weight", (dims.width, self.parts), Init::XavierUniform, stream);
        params.add(group, "bias", (1, self.parts), Init::Constant(0.0), stream);
    }

    fn prepared_bytes(&self, graph: &Graph) -> usize {
        graph.n_nodes() * size_of::<u32>()
    }

    fn views(&self) -> Vec<ViewSpec> {
        vec![ViewSpec::default()]
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        classify(tape, &input, &self.cluster, self.split.as_ref())
    }
}

/// The mean cross-entropy of Z·W + b and the class of each node, over all nodes or one side of a split.
pub(super) fn classify<'a>(
    tape: &mut Tape<'a>,
    input: &LossInput<'a, '_>,
    class: &'a [u32],
    split: Option<&'a NodeSplit>,
) -> Var {
    let head = tape.group(input.group);
    let Some(split) = split else {
        let logits = tape.linear(input.z[0], head[0], Some(head[1]), Activation::Identity);
        return tape.cross_entropy(logits, class);
    };
    let nodes = split.nodes(input.purpose == Purpose::HeldOut);
    let z = tape.gather(input.z[0], nodes);
    let logits = tape.linear(z, head[0], Some(head[1]), Activation::Identity);
    let targets: Vec<u32> = nodes.iter().map(|&node| class[node as usize]).collect();
    tape.cross_entropy(logits, targets)
}
