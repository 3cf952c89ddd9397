//! A step of a method that mixes: the gradients of all objectives, one way made of them.
//!
//! Objectives are differentiated one after the other, so that never more than one tape is alive; what is left of each
//! is its flat gradient at the encoder's parameters. The mixer sees their inner products and gives weights; encoder and
//! heads then move in one step of the optimiser.

use super::Model;
use super::model::ENCODER;
use crate::Real;
use crate::coordinator::{Mixer, Mixture, Seen};
use crate::error::{Error, Result};
use crate::kernels::{reduce, rows};
use crate::tensor::Params;

/// A mixer with the gradients that it mixes.
pub(super) struct Mixing {
    pub(super) mixer: Box<dyn Mixer>,
    /// The gradient of each objective at the encoder's parameters.
    gradients: Vec<Vec<Real>>,
}

/// What a step came to.
pub(super) struct Mixed {
    /// The losses of all objectives.
    pub(super) loss: Vec<f64>,
    /// How they were weighed.
    pub(super) mixture: Mixture,
}

impl Mixing {
    pub(super) fn new(mixer: Box<dyn Mixer>, model: &Model<'_>) -> Self {
        let len = model.params().groups()[ENCODER].data().len();
        Mixing { mixer, gradients: vec![vec![0.0; len]; model.names().len()] }
    }

    /// One step of the optimiser on all objectives. Draws are those of [`Model::step`] for each. A loss, gradient or
    /// weight that is not finite is an error, and nothing has moved.
    pub(super) fn step(&mut self, model: &mut Model<'_>, step: u64) -> Result<Mixed> {
        model.grads.reset();
        let mut loss = Vec::with_capacity(self.gradients.len());
        for (task, gradient) in self.gradients.iter_mut().enumerate() {
            loss.push(model.differentiate(task, step)?);
            model.grads.take_group(ENCODER, gradient);
        }
        let mixture = self.weigh(model, step, &loss)?;
        model.grads.combine_group(ENCODER, &mixture.encoder, &self.gradients);
        for (task, &weight) in mixture.heads.iter().enumerate() {
            if let Some(gradient) = model.grads.group_mut(task + 1) {
                rows::scale(weight as Real, gradient);
            }
        }
        model.optimisers[0].step_at(step, &mut model.params, &mut model.grads);
        Ok(Mixed { loss, mixture })
    }

    fn weigh(&mut self, model: &mut Model<'_>, step: u64, loss: &[f64]) -> Result<Mixture> {
        let wants = self.mixer.wants();
        let gram = if wants.gram { reduce::gram(&self.gradients) } else { Vec::new() };
        let last_layer = match wants.last_layer {
            true => {
                let span = last_weight(model.params());
                self.gradients.iter().map(|g| reduce::sum_squares(&g[span.clone()]).sqrt()).collect()
            }
            false => Vec::new(),
        };
        let mixture = self.mixer.mix(&mut Seen { step, loss, gram: &gram, last_layer: &last_layer });
        let weights = || mixture.encoder.iter().chain(&mixture.heads);
        if weights().any(|weight| !weight.is_finite()) {
            let weights: Vec<&f64> = weights().collect();
            return Err(Error::Failed(format!(
                "the weights of the objectives became {weights:?} at step {step}"
            )));
        }
        Ok(mixture)
    }
}

/// The place of the last layer's weight among the encoder's parameters.
fn last_weight(params: &Params) -> std::ops::Range<usize> {
    let entries = params.groups()[ENCODER].entries();
    let weight = |name: &str| name.ends_with(".weight") && !name.ends_with("norm.weight");
    let last = entries.iter().rev().find(|entry| weight(&entry.name)).or(entries.last());
    last.map_or(0..0, crate::tensor::Entry::span)
}
