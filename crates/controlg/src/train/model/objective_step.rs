//! One objective's step: its loss on a graph, and the gradient of that.

use super::ENCODER;
use super::prepared_graph::PreparedGraph;
use crate::Real;
use crate::config::Recompute;
use crate::encoder::{Encoder, Pass};
use crate::error::{Error, Result};
use crate::graph::EdgeDropper;
use crate::kernels::reduce;
use crate::objective::{AugmentedView, LossInput, Objective, Purpose};
use crate::rng::Stream;
use crate::tensor::{Buffer, Grads, ParamId, Params, Pool, Tape, Var};

/// One objective's step, and what it is taken with.
pub(in crate::train) struct ObjectiveStep<'m> {
    pub(in crate::train) name: &'m str,
    pub(in crate::train) task: usize,
    pub(in crate::train) second: usize,
    pub(in crate::train) step: u64,
    pub(in crate::train) seed: u64,
    pub(in crate::train) encoder: &'m dyn Encoder,
    pub(in crate::train) params: &'m Params,
    pub(in crate::train) pool: &'m Pool,
    pub(in crate::train) recompute: Recompute,
}

impl<'m> ObjectiveStep<'m> {
    /// The loss on a graph, its gradient added.
    pub(in crate::train) fn differentiate(
        &self,
        scene: &PreparedGraph<'_>,
        objective: &dyn Objective,
        grads: &mut Grads,
        dropper: &mut EdgeDropper,
    ) -> Result<f64> {
        let mut stream = Stream::new(self.seed, "train", self.name, self.step);
        let PreparedGraph { graph, prepared, .. } = scene;
        let augmented: Vec<AugmentedView<'_>> = objective
            .views()
            .iter()
            .map(|spec| objective.augment(spec, graph, prepared, dropper, &mut stream))
            .collect();
        let value = match recomputes(self.recompute, self.encoder, objective, graph.n_nodes()) {
            false => self.kept(scene, objective, &augmented, stream, grads)?,
            true => self.encoded_again(scene, objective, &augmented, stream, grads)?,
        };
        let groups = [ENCODER, self.task + 1, self.second];
        if groups.iter().filter_map(|&group| grads.group(group)).any(|g| !reduce::all_finite(g)) {
            return Err(no_number("the gradient", "infinite or NaN", self.name, self.step));
        }
        Ok(value)
    }

    /// On one tape: what all views leave on their way to the loss is kept for the way back.
    fn kept(
        &self,
        scene: &PreparedGraph<'_>,
        objective: &dyn Objective,
        augmented: &[AugmentedView<'_>],
        stream: Stream,
        grads: &mut Grads,
    ) -> Result<f64> {
        let mut tape = Tape::new(self.params, self.pool);
        let mut dropout = self.dropout();
        let z: Vec<Var> =
            augmented.iter().map(|augmented| self.encode(&mut tape, augmented, &mut dropout)).collect();
        let loss = self.loss(&mut tape, scene, objective, augmented, &z, stream);
        let value = finite(tape.scalar(loss), self.name, self.step)?;
        tape.backward_last(loss, grads);
        Ok(value)
    }

    /// On a tape for the head, and another for each view: of a view its representations alone are kept until their
    /// gradient is there. The order of all sums is that of one tape.
    fn encoded_again(
        &self,
        scene: &PreparedGraph<'_>,
        objective: &dyn Objective,
        augmented: &[AugmentedView<'_>],
        stream: Stream,
        grads: &mut Grads,
    ) -> Result<f64> {
        let mut dropout = self.dropout();
        let mut starts = Vec::new();
        let mut head = Tape::new(self.params, self.pool);
        let mut z = Vec::new();
        for augmented in augmented {
            starts.push(dropout.clone());
            let mut tape = Tape::forward_only(self.params, self.pool);
            let encoded = self.encode(&mut tape, augmented, &mut dropout);
            let (shape, values) = tape.into_value(encoded);
            z.push(head.leaf_of(shape, values));
        }
        let mark = head.mark();
        let loss = self.loss(&mut head, scene, objective, augmented, &z, stream);
        let value = finite(head.scalar(loss), self.name, self.step)?;
        head.backward_since(mark, loss, grads);
        let mut at_z: Vec<Option<Buffer<'_>>> = z.iter().map(|&z| head.take_gradient(z)).collect();
        drop(head);
        for ((augmented, start), at_z) in augmented.iter().zip(&mut starts).zip(&mut at_z).rev() {
            let Some(gradient) = at_z.take() else { continue };
            let mut tape = Tape::new(self.params, self.pool);
            let encoded = self.encode(&mut tape, augmented, start);
            tape.backward_last_from(encoded, gradient, grads);
        }
        Ok(value)
    }

    fn dropout(&self) -> Stream {
        Stream::new(self.seed, "train", "dropout", self.step)
    }

    fn encode<'a>(&self, tape: &mut Tape<'a>, augmented: &AugmentedView<'a>, dropout: &mut Stream) -> Var {
        let token = token(tape, augmented, self.task);
        let pass = Pass { token, dropout: Some(dropout), ..Pass::default() };
        self.encoder.encode(tape, ENCODER, &augmented.view, pass)
    }

    fn loss<'a>(
        &self,
        tape: &mut Tape<'a>,
        scene: &'a PreparedGraph<'_>,
        objective: &'a dyn Objective,
        augmented: &'a [AugmentedView<'a>],
        z: &[Var],
        mut stream: Stream,
    ) -> Var
    where
        'm: 'a,
    {
        objective.loss(
            tape,
            LossInput {
                graph: scene.graph,
                prepared: &scene.prepared,
                group: self.task + 1,
                encoder: self.encoder,
                second: self.second,
                augmented,
                z,
                stream: &mut stream,
                purpose: Purpose::Training,
            },
        )
    }
}

/// Bytes that views may keep before `auto` rather encodes them again.
const KEPT_UP_TO: usize = 512 << 20;

/// Whether the views of a step on a graph of so many nodes are encoded again for their gradient.
pub(in crate::train) fn recomputes(
    recompute: Recompute,
    encoder: &dyn Encoder,
    objective: &dyn Objective,
    nodes: usize,
) -> bool {
    match recompute {
        Recompute::Never => false,
        Recompute::Always => true,
        Recompute::Auto => {
            let kept = objective.views().len() * nodes * encoder.kept_per_node();
            kept * size_of::<Real>() > KEPT_UP_TO
        }
    }
}

/// The token of an objective that hides nodes.
pub(in crate::train) fn token(
    tape: &mut Tape<'_>,
    augmented: &AugmentedView<'_>,
    task: usize,
) -> Option<Var> {
    augmented.hidden.is_some().then(|| tape.param(ParamId { group: task + 1, entry: 0 }))
}

pub(in crate::train) fn finite(loss: f64, name: &str, step: u64) -> Result<f64> {
    if loss.is_finite() { Ok(loss) } else { Err(no_number("the loss", &loss.to_string(), name, step)) }
}

fn no_number(what: &str, became: &str, name: &str, step: u64) -> Error {
    Error::Failed(format!(
        "{what} of {name} became {became} at step {step}; a smaller train.lr or train.clip may help"
    ))
}
