//! A step of a method that mixes: the gradients of all objectives, one way made of them.
//!
//! Objectives are differentiated one after the other, so that never more than one tape is alive; what is left of each
//! is its flat gradient at the encoder's parameters. The mixer sees their inner products and gives weights; encoder and
//! heads then move in one step of the optimizer.

mod lookahead;
pub(super) mod weight_search;

use super::Model;
use super::model::ENCODER;
use crate::Real;
use crate::coordinator::{MixWeights, Mixer, MixerInput, Nodes};
use crate::encoder;
use crate::error::{Error, Result};
use crate::kernels::{matmul, reduce, rows};
use crate::tensor::Params;

/// A mixer with the gradients that it mixes.
pub(super) struct Mixing {
    pub(super) mixer: Box<dyn Mixer>,
    /// The gradient of each objective at the encoder's parameters.
    gradients: Vec<Vec<Real>>,
    /// The one that was stepped along, for a look ahead; empty until there is one.
    combined: Vec<Real>,
}

/// What a step came to.
pub(super) struct Mixed {
    /// The losses of all objectives.
    pub(super) loss: Vec<f64>,
    /// How they were weighed.
    pub(super) mixture: MixWeights,
    /// What a look ahead found, where there was one.
    pub(super) slopes: Option<Vec<f64>>,
}

impl Mixing {
    pub(super) fn new(mixer: Box<dyn Mixer>, model: &Model<'_>) -> Self {
        let len = model.params().groups()[ENCODER].data().len();
        Mixing { mixer, gradients: vec![vec![0.0; len]; model.names().len()], combined: Vec::new() }
    }

    /// One step of the optimizer on all objectives. Draws are those of [`Model::step`] for each. A loss, gradient or
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
        model.optimizers[0].step_at(step, &mut model.params, &mut model.grads);
        let mut found = None;
        if let Some(outlook) = self.mixer.outlook(step) {
            self.combined.resize(self.gradients[0].len(), 0.0);
            model.grads.take_group(ENCODER, &mut self.combined);
            let slopes = lookahead::slopes(model, &outlook, &self.gradients, &self.combined)?;
            if slopes.iter().all(|slope| slope.is_finite()) {
                self.mixer.learn(&slopes);
                found = Some(slopes);
            }
        }
        Ok(Mixed { loss, mixture, slopes: found })
    }

    fn weigh(&mut self, model: &mut Model<'_>, step: u64, loss: &[f64]) -> Result<MixWeights> {
        let wants = self.mixer.wants();
        let gram = if wants.gram { reduce::gram(&self.gradients) } else { Vec::new() };
        let last_layer = match wants.last_layer {
            true => {
                let span = last_weight(model.params());
                self.gradients.iter().map(|g| reduce::sum_squares(&g[span.clone()]).sqrt()).collect()
            }
            false => Vec::new(),
        };
        let rows = wants.nodes.then(|| RepresentationRows::of(model));
        let nodes = rows.as_ref().map(|rows| rows as &dyn Nodes);
        let mixture = self.mixer.mix(&MixerInput { step, loss, gram: &gram, last_layer: &last_layer, nodes });
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

/// The clean graph's representations, rows of length one; the probe's where steps see parts of the graph.
struct RepresentationRows {
    width: usize,
    data: Vec<Real>,
}

impl RepresentationRows {
    fn of(model: &Model<'_>) -> RepresentationRows {
        let prepared = &model.clean().prepared;
        let z = encoder::embed(&*model.encoder, &model.params, ENCODER, prepared, &model.pool);
        let (n, width) = (z.n_rows(), z.n_cols());
        let mut data = vec![0.0; n * width];
        rows::row_normalize(n, width, z.data(), &mut data, &mut vec![0.0; n]);
        RepresentationRows { width, data }
    }
}

impl Nodes for RepresentationRows {
    fn count(&self) -> usize {
        self.data.len() / self.width
    }

    fn along(&self, directions: &[Vec<f64>]) -> Vec<f64> {
        let (n, m) = (self.count(), directions.len());
        let transposed: Vec<Real> = directions.concat().iter().map(|&x| x as Real).collect();
        let mut out = vec![0.0; n * m];
        matmul::nt(m, self.width, n, &transposed, &self.data, &mut out, false);
        out.into_iter().map(f64::from).collect()
    }

    fn sums(&self, factors: &[f64], width: usize) -> Vec<Vec<f64>> {
        let factors: Vec<Real> = factors.iter().map(|&x| x as Real).collect();
        let mut out = vec![0.0; width * self.width];
        matmul::tn(width, self.count(), self.width, &factors, &self.data, &mut out, false);
        out.chunks_exact(self.width).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect()
    }
}

/// The place of the last layer's weight among the encoder's parameters.
fn last_weight(params: &Params) -> std::ops::Range<usize> {
    let entries = params.groups()[ENCODER].entries();
    let weight = |name: &str| name.ends_with(".weight") && !name.ends_with("norm.weight");
    let last = entries.iter().rev().find(|entry| weight(&entry.name)).or(entries.last());
    last.map_or(0..0, crate::tensor::ParamEntry::span)
}
