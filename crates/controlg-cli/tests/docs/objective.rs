//! An objective: predict the degree of a node, up to a factor of two.
//!
//! L = mean over all nodes of the cross-entropy between Z·W + b and the node's bucket ⌊log₂(1 + degree)⌋.
//! Z: n × width, W: width × buckets.

use controlg::objective::{HeadDims, LossInput, Objective, ViewSpec};
use controlg::rng::Stream;
use controlg::tensor::{Activation, Init, Params, Tape, Var};
use controlg::{Graph, Result};
use controlg::graph::Subgraph;

const BUCKETS: usize = 16;

#[derive(Clone, Default)]
pub(crate) struct Degree {
    /// The bucket of each node, computed by `prepare`.
    bucket: Vec<u32>,
}

impl Objective for Degree {
    fn prepare(&mut self, graph: &Graph) -> Result<()> {
        let bucket = |node| (1 + graph.neighbors(node).len()).ilog2().min(BUCKETS as u32 - 1);
        self.bucket = (0..graph.n_nodes()).map(bucket).collect();
        Ok(())
    }

    fn prepare_for_parts(&mut self, graph: &Graph) -> Result<()> {
        self.prepare(graph)
    }

    fn on_part(&self, part: &Subgraph) -> Result<Box<dyn Objective>> {
        // In a mini-batch, nodes keep their degree in the whole graph.
        let bucket = part.nodes.iter().map(|&node| self.bucket[node as usize]).collect();
        Ok(Box::new(Degree { bucket }))
    }

    fn init(&self, dims: HeadDims, params: &mut Params, group: usize, stream: &mut Stream) {
        params.add(group, "weight", (dims.width, BUCKETS), Init::XavierUniform, stream);
        params.add(group, "bias", (1, BUCKETS), Init::Constant(0.0), stream);
    }

    fn views(&self) -> Vec<ViewSpec> {
        // One view with a third of the edges dropped, so that the degree is not visible.
        vec![ViewSpec { drop_edges: 0.3, ..ViewSpec::default() }]
    }

    fn loss<'a>(&'a self, tape: &mut Tape<'a>, step: LossInput<'a, '_>) -> Var {
        let head = tape.group(step.group);
        let logits = tape.linear(step.z[0], head[0], Some(head[1]), Activation::Identity);
        tape.cross_entropy(logits, &self.bucket)
    }
}
