//! Logistic regression over a grid of L2 penalties; all fits share each pass over the data.
//!
//! A fit minimizes mean cross-entropy + (μ/2)‖W‖² from W = 0, with an unpenalized bias, so it depends only on the data
//! and the penalty. Data are f32, parameters and sums f64.
//!
//! Parameters are a row-major (inputs + 1) × outputs matrix with the bias in the last row. One output is binary logistic
//! regression (the log-odds of target 1); more outputs are classes with a softmax.

use super::design_matrix::DesignMatrix;
use super::lbfgs::{Lbfgs, LbfgsOutcome, LbfgsSettings};
use crate::Real;
use crate::kernels::{scratch, simd};
use rayon::prelude::*;

/// L2 penalties μ of the grid, {1, 3}·10^{-6..-1}.
pub const PENALTIES: [f64; 12] = [1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1];

/// A fitted model.
#[derive(Clone, Debug)]
pub(super) struct LogisticFit {
    /// Weights and bias.
    pub(super) parameters: Vec<f64>,
    /// Why the minimization stopped.
    pub(super) outcome: LbfgsOutcome,
}

/// Fits one model per penalty.
pub(super) fn fit_grid(
    design: &DesignMatrix<'_>,
    targets: &[u32],
    outputs: usize,
    penalties: &[f64],
    settings: LbfgsSettings,
) -> Vec<LogisticFit> {
    let size = (design.n_cols() + 1) * outputs;
    let mut fits: Vec<Lbfgs> = penalties.iter().map(|_| Lbfgs::new(vec![0.0; size], settings)).collect();
    loop {
        let (open, points): (Vec<usize>, Vec<&[f64]>) =
            fits.iter().enumerate().filter_map(|(at, fit)| Some((at, fit.ask()?))).unzip();
        if open.is_empty() {
            break;
        }
        let mut gradients = losses_and_gradients(design, targets, outputs, &points);
        for (found, (&at, point)) in gradients.iter_mut().zip(open.iter().zip(points)) {
            found.add_penalty(penalties[at], &point[..design.n_cols() * outputs]);
        }
        let unfinished = fits.iter_mut().enumerate().filter(|(at, _)| open.contains(at));
        let pairs: Vec<_> = unfinished.zip(gradients).collect();
        pairs.into_par_iter().for_each(|((_, fit), found)| fit.tell(found.loss, found.gradient));
    }
    let fit = |fit: Lbfgs| LogisticFit {
        outcome: fit.outcome().unwrap_or(LbfgsOutcome::Exhausted),
        parameters: fit.into_point(),
    };
    fits.into_iter().map(fit).collect()
}

/// Calls `work(first_row, scores)` for each block of rows; a row of `scores` holds the outputs of all models.
pub(super) fn for_each_scores(
    design: &DesignMatrix<'_>,
    models: &[&[f64]],
    outputs: usize,
    mut work: impl FnMut(usize, &mut [Real]),
) {
    let stacked = StackedModels::new(models, outputs, design.n_cols());
    let width = stacked.width;
    design.for_each_block(|first, block| {
        scratch::with(block.n_rows() * width, |scores: &mut [Real]| {
            block.times(&stacked.weights, width, scores);
            scores.par_chunks_mut(width).with_min_len(256).for_each(|row| {
                row.iter_mut().zip(&stacked.bias).for_each(|(score, bias)| *score += bias);
            });
            work(first, scores);
        });
    });
}

/// Class predicted by each model for each row; ties go to the first class.
pub(super) fn predict(design: &DesignMatrix<'_>, models: &[&[f64]], outputs: usize) -> Vec<Vec<u32>> {
    let mut classes = vec![Vec::with_capacity(design.n_rows()); models.len()];
    for_each_scores(design, models, outputs, |_, scores| {
        for row in scores.chunks_exact(outputs * models.len()) {
            for (classes, scores) in classes.iter_mut().zip(row.chunks_exact(outputs)) {
                classes.push(argmax(scores));
            }
        }
    });
    classes
}

/// Index of the largest score; ties go to the first.
fn argmax(scores: &[Real]) -> u32 {
    (1..scores.len()).fold(0, |best, at| if scores[at] > scores[best] { at } else { best }) as u32
}

/// Weights of several models in one matrix, so that one product serves all.
struct StackedModels {
    width: usize,
    weights: Vec<Real>,
    bias: Vec<Real>,
}

impl StackedModels {
    fn new(models: &[&[f64]], outputs: usize, inputs: usize) -> Self {
        let width = models.len() * outputs;
        let mut weights = vec![0.0; inputs * width];
        let mut bias = Vec::with_capacity(width);
        for (at, model) in models.iter().enumerate() {
            for (to, from) in weights.chunks_exact_mut(width).zip(model.chunks_exact(outputs)) {
                let to = &mut to[at * outputs..(at + 1) * outputs];
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = from as Real);
            }
            bias.extend(model[inputs * outputs..].iter().map(|&b| b as Real));
        }
        StackedModels { width, weights, bias }
    }
}

/// Mean loss of one model and its gradient.
pub(super) struct LossGradient {
    pub(super) loss: f64,
    pub(super) gradient: Vec<f64>,
}

impl LossGradient {
    fn add_penalty(&mut self, penalty: f64, weights: &[f64]) {
        self.loss += 0.5 * penalty * weights.iter().map(|w| w * w).sum::<f64>();
        self.gradient.iter_mut().zip(weights).for_each(|(g, w)| *g += penalty * w);
    }
}

/// Loss and gradient of every model in one pass over the data.
pub(super) fn losses_and_gradients(
    design: &DesignMatrix<'_>,
    targets: &[u32],
    outputs: usize,
    models: &[&[f64]],
) -> Vec<LossGradient> {
    let (inputs, n) = (design.n_cols(), design.n_rows() as f64);
    let width = models.len() * outputs;
    let mut losses = vec![0.0f64; models.len()];
    let mut bias = vec![0.0f64; width];
    let mut weights = vec![0.0f64; inputs * width];
    let mut block_weights = vec![0.0; inputs * width];
    let stacked = StackedModels::new(models, outputs, inputs);
    design.for_each_block(|first, block| {
        scratch::with(block.n_rows() * width, |scores: &mut [Real]| {
            block.times(&stacked.weights, width, scores);
            let targets = &targets[first..first + block.n_rows()];
            for partial in differentiate(scores, &stacked.bias, targets, outputs) {
                losses.iter_mut().zip(&partial[..models.len()]).for_each(|(sum, x)| *sum += x);
                bias.iter_mut().zip(&partial[models.len()..]).for_each(|(sum, x)| *sum += x);
            }
            block.transposed_times(scores, width, &mut block_weights);
        });
        weights.iter_mut().zip(&block_weights).for_each(|(sum, &x)| *sum += f64::from(x));
    });
    let gradient_of = |at: usize| {
        let own = at * outputs..(at + 1) * outputs;
        let rows = weights.chunks_exact(width).chain([&bias[..]]);
        let gradient = rows.flat_map(|row| row[own.clone()].iter().map(|g| g / n)).collect();
        LossGradient { loss: losses[at] / n, gradient }
    };
    (0..models.len()).map(gradient_of).collect()
}

/// Replaces scores without bias by the derivatives of the losses. Returns for each chunk of rows the summed losses of each
/// model, followed by the column sums of the derivatives.
fn differentiate(scores: &mut [Real], bias: &[Real], targets: &[u32], outputs: usize) -> Vec<Vec<f64>> {
    const ROWS: usize = 128;
    let width = bias.len();
    let chunks = scores.par_chunks_mut(ROWS * width).zip(targets.par_chunks(ROWS));
    let chunk = |(scores, targets): (&mut [Real], &[u32])| {
        let models = width / outputs;
        let mut sums = vec![0.0f64; models + width];
        let (losses, columns) = sums.split_at_mut(models);
        for (row, &target) in scores.chunks_exact_mut(width).zip(targets) {
            row.iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
            if outputs == 1 {
                row.iter_mut().zip(&mut *losses).for_each(|(score, loss)| *loss += binary(score, target));
            } else {
                let models = row.chunks_exact_mut(outputs).zip(&mut *losses);
                models.for_each(|(scores, loss)| *loss += softmax(scores, target as usize));
            }
            columns.iter_mut().zip(row).for_each(|(sum, d)| *sum += f64::from(*d));
        }
        sums
    };
    chunks.map(chunk).collect()
}

/// Binary cross-entropy −log σ(±score); replaces the score by the derivative.
fn binary(score: &mut Real, target: u32) -> f64 {
    let (x, y) = (f64::from(*score), f64::from(target));
    let small = (-x.abs()).exp();
    let sigmoid = if x > 0.0 { 1.0 } else { small } / (1.0 + small);
    *score = (sigmoid - y) as Real;
    x.max(0.0) - x * y + small.ln_1p()
}

/// Cross-entropy −log softmax(scores) of the target; replaces the scores by the derivatives.
fn softmax(scores: &mut [Real], target: usize) -> f64 {
    let max = scores.iter().fold(Real::NEG_INFINITY, |max, &x| if x > max { x } else { max });
    let margin = f64::from(max) - f64::from(scores[target]);
    scores.iter_mut().for_each(|x| *x = simd::exp::<false>(*x - max));
    let sum: Real = scores.iter().sum();
    let share = 1.0 / sum;
    scores.iter_mut().for_each(|x| *x *= share);
    scores[target] -= 1.0;
    f64::from(sum).ln() + margin
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Dense, Features};
    use crate::rng::Stream;

    fn data(n: usize, d: usize, classes: usize) -> (Features, Vec<u32>) {
        let mut stream = Stream::new(1, "test", "logistic", 0);
        let data = (0..n * d).map(|_| stream.normal() as Real).collect();
        (
            Features::Dense(Dense::from_parts(n, d, data)),
            (0..n).map(|_| stream.below(classes) as u32).collect(),
        )
    }

    fn all(n: usize) -> Vec<u32> {
        (0..n as u32).collect()
    }

    #[test]
    fn gradients_match_finite_differences() {
        for outputs in [1, 3] {
            let (matrix, targets) = data(60, 4, outputs.max(2));
            let rows = all(60);
            let design = DesignMatrix::of_rows(&matrix, &rows);
            let mut model: Vec<f64> = (0..5 * outputs).map(|i| 0.1 * i as f64 - 0.4).collect();
            let other = vec![0.0; model.len()];
            let gradient =
                losses_and_gradients(&design, &targets, outputs, &[&other, &model]).remove(1).gradient;
            for at in 0..model.len() {
                let mut loss = |step: f64| {
                    model[at] += step;
                    let found = losses_and_gradients(&design, &targets, outputs, &[&model]).remove(0);
                    model[at] -= step;
                    found.loss
                };
                let slope = (loss(1e-2) - loss(-1e-2)) / 2e-2;
                assert!((slope - gradient[at]).abs() < 2e-4, "{slope} {}", gradient[at]);
            }
        }
    }

    #[test]
    fn a_fit_does_not_depend_on_other_fits_or_threads() {
        let (matrix, targets) = data(300, 40, 5);
        let rows = all(300);
        let fit = |penalties: &[f64], threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let design = DesignMatrix::of_rows(&matrix, &rows);
            pool.install(|| fit_grid(&design, &targets, 5, penalties, LbfgsSettings::default()))
        };
        let together = fit(&PENALTIES, 1);
        for threads in [2, 4] {
            for (one, more) in together.iter().zip(fit(&PENALTIES, threads)) {
                assert_eq!(one.parameters, more.parameters);
            }
        }
        let alone = fit(&[PENALTIES[7]], 1).remove(0);
        assert_eq!(alone.outcome, LbfgsOutcome::Converged);
        for (a, b) in alone.parameters.iter().zip(&together[7].parameters) {
            assert!((a - b).abs() < 1e-3); // products of other widths round differently
        }
    }

    #[test]
    fn bias_is_the_log_odds_of_the_targets() {
        let matrix = Features::Dense(Dense::from_parts(4, 1, vec![0.0; 4]));
        let rows = all(4);
        let fit = fit_grid(
            &DesignMatrix::of_rows(&matrix, &rows),
            &[1, 1, 1, 0],
            1,
            &[0.1],
            LbfgsSettings::default(),
        );
        assert!((fit[0].parameters[1] - 3f64.ln()).abs() < 1e-3);
    }
}
