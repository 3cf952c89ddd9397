//! `x_noise`: classify nodes into random classes.
//!
//! L = mean over all nodes of the cross-entropy between Z·W + b and the node's class, which is drawn once, uniformly and
//! independently of the graph. Z: n×h, W: h×classes. The initial loss is about ln(classes), and no encoder lowers it on
//! nodes that it was not trained on.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::graph::{Graph, Subgraph};
use crate::objective::held_out::NodeSplit;
use crate::objective::par::classify;
use crate::objective::{HeadDims, LossInput, Objective, ViewSpec};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::setting::{self, Key, Range};
use crate::tensor::{Init, Params, Tape, Var};

/// Entry in the list of objectives.
pub(super) const ENTRY: Entry<dyn Objective> = Entry {
    name: "x_noise",
    summary: "for testing: classify nodes into random classes",
    paper: "",
    keys: KEYS,
    defaults: || setting::table_of(&NoiseSettings::default()),
    build: |table| {
        let settings = setting::settings("objective.x_noise", KEYS, table)?;
        Ok(Box::new(Noise { settings, class: vec![], split: None }))
    },
};

const KEYS: &[Key] = &[
    Key::new("classes", Range::Whole(2, 1 << 20), "number of classes"),
    Key::new(
        "seed",
        Range::Whole(0, i32::MAX as u64),
        "random seed of the classes, independent of the run's seed",
    ),
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct NoiseSettings {
    classes: usize,
    seed: u64,
}

impl Default for NoiseSettings {
    fn default() -> Self {
        NoiseSettings { classes: 10, seed: 0 }
    }
}

#[derive(Clone)]
struct Noise {
    settings: NoiseSettings,
    /// The class of each node.
    class: Vec<u32>,
    /// The nodes whose classes are held out.
    split: Option<NodeSplit>,
}

impl Objective for Noise {
    fn prepare(&mut self, graph: &Graph) -> Result<()> {
        let NoiseSettings { classes, seed } = self.settings;
        let mut stream = Stream::new(seed, "objective", "x_noise", 0);
        self.class = (0..graph.n_nodes()).map(|_| stream.below(classes) as u32).collect();
        Ok(())
    }

    fn prepare_for_batches(&mut self, graph: &Graph) -> Result<()> {
        self.prepare(graph)
    }

    fn on_batch(&self, batch: &Subgraph) -> Result<Box<dyn Objective>> {
        // A node has the same class in every batch.
        let class = batch.nodes.iter().map(|&node| self.class[node as usize]).collect();
        let split = self.split.as_ref().map(|split| split.on_batch(batch));
        Ok(Box::new(Noise { class, split, ..self.clone() }))
    }

    fn hold_out(&mut self, graph: &Graph, share: f64, stream: &mut Stream) -> Result<()> {
        self.split = Some(NodeSplit::draw("x_noise", graph, share, 1, stream)?);
        Ok(())
    }

    fn n_held_out(&self) -> usize {
        self.split.as_ref().map_or(0, |split| split.held_out.len())
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        let classes = self.settings.classes;
        params.add(group, "weight", (dims.width, classes), Init::XavierUniform, stream);
        params.add(group, "bias", (1, classes), Init::Constant(0.0), stream);
    }

    fn prepared_bytes(&self, graph: &Graph) -> usize {
        graph.n_nodes() * size_of::<u32>()
    }

    fn views(&self) -> Vec<ViewSpec> {
        vec![ViewSpec::default()]
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        classify(tape, &input, &self.class, self.split.as_ref())
    }
}
