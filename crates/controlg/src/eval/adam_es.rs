//! Early-stopping probe: full-batch Adam, best epoch on validation.
//!
//! Follows GraphMAE: learning rate 0.01, weight decay added to the gradients of weights and bias, the last of equally
//! good epochs. Unlike GraphMAE it starts at W = 0, so that the result depends on the data alone. Ties between weight
//! decays go to the larger one.

use super::logistic::{losses_and_gradients, predict};
use super::metrics::accuracy;
use super::probe::{ProbeData, SelectedModel};
use rayon::prelude::*;

/// Candidate weight decays.
pub const DECAYS: [f64; 4] = [0.0, 1e-4, 1e-3, 1e-2];
/// Number of epochs.
pub const EPOCHS: usize = 2000;
const LEARNING_RATE: f64 = 0.01;

pub(super) fn choose(data: &ProbeData<'_>) -> SelectedModel {
    let ((design, targets), (val, truth)) = (&data.train, &data.val);
    let size = (design.n_cols() + 1) * data.n_classes;
    let mut runs: Vec<ProbeAdam> = DECAYS.iter().map(|&decay| ProbeAdam::new(decay, size)).collect();
    for epoch in 1..=EPOCHS {
        let models: Vec<&[f64]> = runs.iter().map(|run| &run.model[..]).collect();
        let gradients = losses_and_gradients(design, targets, data.n_classes, &models);
        runs.par_iter_mut().zip(gradients).for_each(|(run, found)| run.step(epoch, &found.gradient));
        let models: Vec<&[f64]> = runs.iter().map(|run| &run.model[..]).collect();
        let predicted = predict(val, &models, data.n_classes);
        for (run, predicted) in runs.iter_mut().zip(predicted) {
            run.update_best(accuracy(&predicted, truth));
        }
    }
    let last_best = runs.into_iter().reduce(|best, run| if run.best.0 >= best.best.0 { run } else { best });
    let ProbeAdam { decay, best: (val, model), .. } = last_best.unwrap_or_else(|| ProbeAdam::new(0.0, size));
    SelectedModel { model, val, setting: decay, exhausted: 0 }
}

/// Adam state for one weight decay, and its best model so far.
struct ProbeAdam {
    decay: f64,
    model: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
    best: (f64, Vec<f64>),
}

impl ProbeAdam {
    fn new(decay: f64, size: usize) -> Self {
        let zeros = || vec![0.0; size];
        ProbeAdam { decay, model: zeros(), first: zeros(), second: zeros(), best: (-1.0, zeros()) }
    }

    fn step(&mut self, epoch: usize, gradient: &[f64]) {
        const BETA: (f64, f64) = (0.9, 0.999);
        let (correction1, correction2) = (1.0 - BETA.0.powf(epoch as f64), 1.0 - BETA.1.powf(epoch as f64));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((w, g), (first, second)) in self.model.iter_mut().zip(gradient).zip(moments) {
            let g = g + self.decay * *w;
            *first = BETA.0 * *first + (1.0 - BETA.0) * g;
            *second = BETA.1 * *second + (1.0 - BETA.1) * g * g;
            *w -= LEARNING_RATE * (*first / correction1) / ((*second / correction2).sqrt() + 1e-8);
        }
    }

    fn update_best(&mut self, val: f64) {
        if val >= self.best.0 {
            self.best.0 = val;
            self.best.1.copy_from_slice(&self.model);
        }
    }
}
