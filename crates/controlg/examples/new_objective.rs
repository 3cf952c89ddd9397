//! Adds an objective of your own to the built-in ones: predict the degree of each node, in powers of two.
//!
//! ```sh
//! cargo run --release -p controlg --example new_objective
//! ```

use controlg::config::{Config, ObjectiveKind};
use controlg::graph::{Graph, Subgraph};
use controlg::objective::{HeadDims, LossInput, Objective, ViewSpec};
use controlg::rng::Stream;
use controlg::tensor::{Activation, Init, Params, Tape, Var};
use controlg::trace::Record;

const CLASSES: usize = 8;

#[derive(Clone, Default)]
struct DegreeClass {
    /// ⌊log₂(degree + 1)⌋ of each node.
    targets: Vec<u32>,
}

impl Objective for DegreeClass {
    fn prepare(&mut self, graph: &Graph) -> controlg::Result<()> {
        let class = |node| ((graph.degree(node) + 1).ilog2()).min(CLASSES as u32 - 1);
        self.targets = (0..graph.n_nodes()).map(class).collect();
        Ok(())
    }

    fn prepare_for_batches(&mut self, graph: &Graph) -> controlg::Result<()> {
        self.prepare(graph)
    }

    /// A mini-batch keeps the degrees of the full graph.
    fn on_batch(&self, batch: &Subgraph) -> controlg::Result<Box<dyn Objective>> {
        let targets = batch.nodes.iter().map(|&node| self.targets[node as usize]).collect();
        Ok(Box::new(DegreeClass { targets }))
    }

    fn init_head(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        params.add(group, "weight", (dims.width, CLASSES), Init::XavierUniform, stream);
        params.add(group, "bias", (1, CLASSES), Init::Constant(0.0), stream);
    }

    /// One view: the unaugmented graph.
    fn views(&self) -> Vec<ViewSpec> {
        vec![ViewSpec::default()]
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
        let head = tape.group(input.group);
        let logits = tape.linear(input.z[0], head[0], Some(head[1]), Activation::Identity);
        tape.cross_entropy(logits, &self.targets)
    }
}

fn main() -> controlg::Result<()> {
    let graph = controlg::data::load("synthetic:nodes=300", &Default::default())?.graph;
    let config = Config::for_data("synthetic")?
        .objectives([ObjectiveKind::Link, ObjectiveKind::Decor])
        .custom_objective("degree", DegreeClass::default())
        .width(16)
        .epochs(2)
        .steps_per_epoch(30);
    let model = controlg::pretrain(&graph, &config)?;
    for objective in &model.config().objectives {
        let is_its = |line: &&Record| matches!(line, Record::Block(block) if block.task == *objective);
        println!("{objective}: {} blocks", model.record().iter().filter(is_its).count());
    }
    Ok(())
}
