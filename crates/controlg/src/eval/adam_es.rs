//! The probe that stops early: Adam on the whole training set, the best epoch on validation.
//!
//! As GraphMAE has it: rate 0.01, decay added to the gradient of weights and bias, the last of equally good epochs.
//! The start is W = 0 instead of random, so that the result depends on nothing but the data; equals among the decays
//! go to the larger one.

use super::logistic::{pass, predict};
use super::metrics::accuracy;
use super::probe::{PenaltyChoice, ProbeParts};
use rayon::prelude::*;

/// Weight decays that are tried.
pub const DECAYS: [f64; 4] = [0.0, 1e-4, 1e-3, 1e-2];
/// Epochs of each.
pub const EPOCHS: usize = 2000;
const RATE: f64 = 0.01;

pub(super) fn choose(parts: &ProbeParts<'_>) -> PenaltyChoice {
    let ((design, targets), (val, truth)) = (&parts.train, &parts.val);
    let size = (design.n_cols() + 1) * parts.n_classes;
    let mut runs: Vec<ProbeAdam> = DECAYS.iter().map(|&decay| ProbeAdam::new(decay, size)).collect();
    for epoch in 1..=EPOCHS {
        let models: Vec<&[f64]> = runs.iter().map(|run| &run.model[..]).collect();
        let answers = pass(design, targets, parts.n_classes, &models);
        runs.par_iter_mut().zip(answers).for_each(|(run, answer)| run.step(epoch, &answer.gradient));
        let models: Vec<&[f64]> = runs.iter().map(|run| &run.model[..]).collect();
        let predicted = predict(val, &models, parts.n_classes);
        for (run, predicted) in runs.iter_mut().zip(predicted) {
            run.remember(accuracy(&predicted, truth));
        }
    }
    let last_best = runs.into_iter().reduce(|best, run| if run.best.0 >= best.best.0 { run } else { best });
    let ProbeAdam { decay, best: (val, model), .. } = last_best.unwrap_or_else(|| ProbeAdam::new(0.0, size));
    PenaltyChoice { model, val, setting: decay, exhausted: 0 }
}

/// One run and the best model it met.
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
        let (short1, short2) = (1.0 - BETA.0.powf(epoch as f64), 1.0 - BETA.1.powf(epoch as f64));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((w, g), (first, second)) in self.model.iter_mut().zip(gradient).zip(moments) {
            let g = g + self.decay * *w;
            *first = BETA.0 * *first + (1.0 - BETA.0) * g;
            *second = BETA.1 * *second + (1.0 - BETA.1) * g * g;
            *w -= RATE * (*first / short1) / ((*second / short2).sqrt() + 1e-8);
        }
    }

    fn remember(&mut self, val: f64) {
        if val >= self.best.0 {
            self.best.0 = val;
            self.best.1.copy_from_slice(&self.model);
        }
    }
}
