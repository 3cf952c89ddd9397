//! Stopping a run whose held-out losses have stopped falling.

use serde::{Deserialize, Serialize};

/// Watches the held-out losses of all objectives, measured once per epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlatWatch {
    /// The lowest loss of each objective so far.
    best: Vec<f64>,
    /// Epochs since any of them fell.
    flat: usize,
}

impl FlatWatch {
    /// Takes the losses after an epoch.
    pub fn observe(&mut self, losses: &[f64]) {
        if self.best.is_empty() {
            self.best = vec![f64::INFINITY; losses.len()];
        }
        let mut fell = false;
        for (best, &loss) in self.best.iter_mut().zip(losses) {
            fell |= loss < *best;
            *best = best.min(loss);
        }
        self.flat = if fell { 0 } else { self.flat + 1 };
    }

    /// Whether no loss has fallen for `epochs` epochs; never if that is 0.
    pub fn stops_after(&self, epochs: usize) -> bool {
        epochs > 0 && self.flat >= epochs
    }

    /// Whether nothing has been observed.
    pub fn is_new(&self) -> bool {
        self.best.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_flat_when_no_loss_has_fallen_for_some_epochs() {
        let mut watch = FlatWatch::default();
        let mut stops = |losses: &[f64]| {
            watch.observe(losses);
            [0, 1, 2].map(|epochs| watch.stops_after(epochs))
        };
        assert_eq!(stops(&[1.0, 2.0]), [false; 3]);
        assert_eq!(stops(&[1.5, 1.9]), [false; 3]);
        assert_eq!(stops(&[1.2, 1.9]), [false, true, false]);
        assert_eq!(stops(&[1.0, f64::NAN]), [false, true, true]);
        assert_eq!(stops(&[0.9, 3.0]), [false; 3]);
    }
}
