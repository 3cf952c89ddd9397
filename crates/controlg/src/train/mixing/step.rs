//! A step of a mixing method: the gradients of all objectives are combined into one update direction.
//!
//! The objectives are differentiated one after the other, so only one tape is alive at a time; what remains of each is
//! its flat gradient at the encoder's parameters. The mixer gets their inner products and returns weights; encoder and
//! heads then move in one optimizer step.

use super::lookahead;
use crate::Real;
use crate::coordinator::{MixWeights, Mixer, MixerInput, NodeEmbeddings};
use crate::encoder;
use crate::error::{Error, Result};
use crate::kernels::{matmul, reduce, rows};
use crate::tensor::Params;
use crate::train::model::{ENCODER, Model};

/// A mixer with its working memory.
pub(in crate::train) struct Mixing {
    pub(in crate::train) mixer: Box<dyn Mixer>,
    /// The gradient of each objective at the encoder's parameters.
    gradients: Vec<Vec<Real>>,
    /// The combined gradient of the last step, for a lookahead; empty until one is due.
    combined: Vec<Real>,
}

/// The result of a step.
pub(in crate::train) struct Mixed {
    /// The losses of all objectives.
    pub(in crate::train) loss: Vec<f64>,
    /// Their weights.
    pub(in crate::train) weights: MixWeights,
    /// The derivatives that a lookahead found, if one was due.
    pub(in crate::train) slopes: Option<Vec<f64>>,
    /// What the user should know.
    pub(in crate::train) note: Option<String>,
}

impl Mixing {
    pub(in crate::train) fn new(mixer: Box<dyn Mixer>, model: &Model<'_>) -> Self {
        let len = model.params().groups()[ENCODER].data().len();
        Mixing { mixer, gradients: vec![vec![0.0; len]; model.names().len()], combined: Vec::new() }
    }

    /// One optimizer step on all objectives, each with the random draws of [`Model::step`]. A loss, gradient or weight
    /// that is not finite is an error and leaves the parameters unchanged.
    pub(in crate::train) fn step(&mut self, model: &mut Model<'_>, step: u64) -> Result<Mixed> {
        model.grads.reset();
        let n = self.gradients.len();
        let mut loss = Vec::with_capacity(n);
        for (task, gradient) in self.gradients.iter_mut().enumerate() {
            loss.push(model.differentiate(task, step, task + 1 < n)?);
            model.grads.take_group(ENCODER, gradient);
        }
        let ranks = model.ranks();
        let weights = ranks.decide(|| self.weigh(model, step, &loss))?;
        model.grads.combine_group(ENCODER, &weights.encoder, &self.gradients);
        for (task, &weight) in weights.heads.iter().enumerate() {
            for group in model.own_groups(task) {
                if let Some(gradient) = model.grads.group_mut(group) {
                    rows::scale(weight as Real, gradient);
                }
            }
        }
        model.optimizers[0].step_at(step, &mut model.params, &mut model.grads);
        (0..weights.heads.len()).for_each(|task| model.update_ema(task, step));
        let (mut slopes, mut note) = (None, None);
        // The state of a mixer is that of rank 0, which alone decides.
        if ranks.is_first()
            && let Some(lookahead) = self.mixer.lookahead(step)
        {
            self.combined.resize(self.gradients[0].len(), 0.0);
            model.grads.take_group(ENCODER, &mut self.combined);
            let found = lookahead::slopes(model, &lookahead, &self.gradients, &self.combined)?;
            if found.iter().all(|slope| slope.is_finite()) {
                self.mixer.update(&found);
                note = self.mixer.note();
                slopes = Some(found);
            }
        }
        Ok(Mixed { loss, weights, slopes, note })
    }

    fn weigh(&mut self, model: &mut Model<'_>, step: u64, loss: &[f64]) -> Result<MixWeights> {
        let wants = self.mixer.needs();
        let gram = if wants.gram { reduce::gram(&self.gradients) } else { Vec::new() };
        let last_layer = if wants.last_layer {
            let span = last_weight(model.params());
            self.gradients.iter().map(|g| reduce::sum_squares(&g[span.clone()]).sqrt()).collect()
        } else {
            Vec::new()
        };
        let rows = wants.nodes.then(|| RepresentationRows::of(model));
        let nodes = rows.as_ref().map(|rows| rows as &dyn NodeEmbeddings);
        let weights = self.mixer.mix(&MixerInput { step, loss, gram: &gram, last_layer: &last_layer, nodes });
        let all = || weights.encoder.iter().chain(&weights.heads);
        if all().any(|weight| !weight.is_finite()) {
            let all: Vec<&f64> = all().collect();
            return Err(Error::Failed(format!(
                "the weights of the objectives became {all:?} at step {step}"
            )));
        }
        Ok(weights)
    }
}

/// The row-normalized representations of the unaugmented graph, or of the probe in mini-batch training.
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

impl NodeEmbeddings for RepresentationRows {
    fn count(&self) -> usize {
        self.data.len() / self.width
    }

    fn project(&self, directions: &[Vec<f64>]) -> Vec<f64> {
        let (n, m) = (self.count(), directions.len());
        let transposed: Vec<Real> = directions.concat().iter().map(|&x| x as Real).collect();
        let mut out = vec![0.0; n * m];
        matmul::nt(m, self.width, n, &transposed, &self.data, &mut out, false);
        out.into_iter().map(f64::from).collect()
    }

    fn weighted_sums(&self, factors: &[f64], width: usize) -> Vec<Vec<f64>> {
        let factors: Vec<Real> = factors.iter().map(|&x| x as Real).collect();
        let mut out = vec![0.0; width * self.width];
        matmul::tn(width, self.count(), self.width, &factors, &self.data, &mut out, false);
        out.chunks_exact(self.width).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect()
    }
}

/// Where the last layer's weight lies among the encoder's parameters.
fn last_weight(params: &Params) -> std::ops::Range<usize> {
    let entries = params.groups()[ENCODER].entries();
    let weight = |name: &str| name.ends_with(".weight") && !name.ends_with("norm.weight");
    let last = entries.iter().rev().find(|entry| weight(&entry.name)).or(entries.last());
    last.map_or(0..0, crate::tensor::ParamEntry::span)
}
