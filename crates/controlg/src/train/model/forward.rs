//! The forward pass of one objective: augment the views, encode them, compute the loss.
//!
//! Training steps ([`super::step`]) and sensing ([`super::sense`]) share it. They differ in their random streams, in
//! dropout, and in what they differentiate.

use super::data::PreparedGraph;
use crate::encoder::{Encoder, Pass};
use crate::error::{Error, Result};
use crate::graph::EdgeDropper;
use crate::objective::{AugmentedView, LossInput, Objective, Purpose, ViewSpec};
use crate::rng::Stream;
use crate::tensor::{ParamId, Params, Pool, Tape, Var};

/// The parameter group of the encoder.
pub(in crate::train) const ENCODER: usize = 0;

/// The parameter group of an objective's head.
pub(in crate::train) fn head_group(task: usize) -> usize {
    task + 1
}

/// The parts of a model that forward passes read.
#[derive(Clone, Copy)]
pub(in crate::train) struct ForwardContext<'m> {
    pub(in crate::train) encoder: &'m dyn Encoder,
    pub(in crate::train) params: &'m Params,
    pub(in crate::train) pool: &'m Pool,
    /// The objectives' names.
    pub(in crate::train) names: &'m [String],
    /// For each objective the parameter group of its auxiliary network; its head's group if it has none.
    pub(in crate::train) aux_groups: &'m [usize],
    pub(in crate::train) seed: u64,
}

/// One objective on one graph.
#[derive(Clone, Copy)]
pub(in crate::train) struct ObjectivePass<'a> {
    pub(in crate::train) context: ForwardContext<'a>,
    pub(in crate::train) task: usize,
    pub(in crate::train) objective: &'a dyn Objective,
    pub(in crate::train) data: &'a PreparedGraph<'a>,
    pub(in crate::train) purpose: Purpose,
}

impl<'a> ObjectivePass<'a> {
    /// Draws one view.
    pub(in crate::train) fn augment(
        &self,
        spec: &ViewSpec,
        dropper: &mut EdgeDropper,
        stream: &mut Stream,
    ) -> AugmentedView<'a> {
        self.objective.augment(spec, self.data.graph, &self.data.prepared, dropper, stream)
    }

    /// The representations of a view. An objective that masks nodes gives the encoder its mask token.
    pub(in crate::train) fn encode(
        &self,
        tape: &mut Tape<'a>,
        augmented: &AugmentedView<'a>,
        dropout: Option<&mut Stream>,
    ) -> Var {
        let token = ParamId { group: head_group(self.task), entry: 0 };
        let token = augmented.masked.is_some().then(|| tape.param(token));
        let pass = Pass { token, dropout, ..Pass::default() };
        self.context.encoder.encode(tape, ENCODER, &augmented.view, pass)
    }

    /// The loss of the representations `z`, with its value. A loss that is not finite is an error.
    pub(in crate::train) fn loss(
        &self,
        tape: &mut Tape<'a>,
        augmented: &[AugmentedView<'a>],
        z: &[Var],
        stream: &mut Stream,
        step: u64,
    ) -> Result<(Var, f64)> {
        let loss = self.objective.loss(
            tape,
            LossInput {
                graph: self.data.graph,
                prepared: &self.data.prepared,
                group: head_group(self.task),
                encoder: self.context.encoder,
                aux_group: self.context.aux_groups[self.task],
                views: augmented,
                z,
                stream,
                purpose: self.purpose,
            },
        );
        let value = tape.scalar(loss);
        if !value.is_finite() {
            return Err(self.not_finite("the loss", &value.to_string(), step));
        }
        Ok((loss, value))
    }

    /// The objective's name.
    pub(in crate::train) fn name(&self) -> &'a str {
        &self.context.names[self.task]
    }

    /// The error about a loss or gradient that is not finite.
    pub(in crate::train) fn not_finite(&self, what: &str, became: &str, step: u64) -> Error {
        Error::Failed(format!(
            "{what} of {} became {became} at step {step}; a smaller train.lr or train.clip may help",
            self.name()
        ))
    }
}
