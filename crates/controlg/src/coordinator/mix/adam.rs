//! Adam for learned loss weights (Kingma and Ba, 2015).

use serde::{Deserialize, Serialize};

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPS: f64 = 1e-8;

/// The moments and the step count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct WeightAdam {
    steps: i32,
    mean: Vec<f64>,
    square: Vec<f64>,
}

impl WeightAdam {
    /// Takes one step of gradient descent.
    pub(super) fn step(&mut self, lr: f64, values: &mut [f64], gradient: &[f64]) {
        self.mean.resize(values.len(), 0.0);
        self.square.resize(values.len(), 0.0);
        self.steps = self.steps.saturating_add(1);
        let (correct1, correct2) = (1.0 - BETA1.powi(self.steps), 1.0 - BETA2.powi(self.steps));
        let moments = self.mean.iter_mut().zip(&mut self.square);
        for ((value, slope), (mean, square)) in values.iter_mut().zip(gradient).zip(moments) {
            *mean = BETA1 * *mean + (1.0 - BETA1) * slope;
            *square = BETA2 * *square + (1.0 - BETA2) * slope * slope;
            *value -= lr * (*mean / correct1) / ((*square / correct2).sqrt() + EPS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_has_the_size_of_the_learning_rate_and_adam_minimizes_a_parabola() {
        let mut adam = WeightAdam::default();
        let mut x = [1.0, -2.0];
        adam.step(0.1, &mut x, &[5.0, -0.01]);
        assert!((x[0] - 0.9).abs() < 1e-6 && (x[1] + 1.9).abs() < 1e-6);
        for _ in 0..2000 {
            let gradient = [2.0 * (x[0] - 3.0), 8.0 * x[1]];
            adam.step(0.02, &mut x, &gradient);
        }
        assert!((x[0] - 3.0).abs() < 1e-2 && x[1].abs() < 1e-2, "{x:?}");
    }
}
