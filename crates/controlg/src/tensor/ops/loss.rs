//! Losses over scores and over pairs of rows. Their gradients are made together with their values: what comes
//! back to a scalar is one factor.

use crate::Real;
use crate::graph::Operand;
use crate::kernels::loss::{self, Averaging};
use crate::kernels::{reduce, rows};
use crate::tensor::{Buffer, Tape, Var};

impl<'a> Tape<'a> {
    /// Binary cross-entropy of scores s, of which the first `n_positive` should be high and the rest low:
    /// −log σ(s) of the former and −log(1 − σ(s)) of the latter, averaged as `mean` says.
    pub fn binary_cross_entropy(&mut self, scores: Var, n_positive: usize, mean: Averaging) -> Var {
        let mut saved = self.pool().take(self.value(scores).len());
        let value = loss::bce_with_logits(self.value(scores), n_positive, mean, &mut saved);
        self.push_loss(value, [(scores, saved)])
    }

    /// The mean over rows of `−log softmax(row)[target]`. Logits: n×classes.
    ///
    /// # Panics
    /// When there is not one target a row, below the number of classes.
    pub fn cross_entropy(&mut self, logits: Var, targets: impl Into<Operand<'a, [u32]>>) -> Var {
        let targets = targets.into();
        let (n, classes) = self.shape(logits);
        let mut saved = self.pool().take(n * classes);
        let value = loss::softmax_cross_entropy(n, classes, self.value(logits), &targets, &mut saved);
        self.push_loss(value, [(logits, saved)])
    }

    /// (1/n) Σ aᵢ·bᵢ over the rows of two n×c matrices: the mean cosine, when the rows are normalized.
    pub fn mean_row_dot(&mut self, a: Var, b: Var) -> Var {
        assert_eq!(self.shape(a), self.shape(b), "matrices of the same shape");
        let share = 1.0 / self.shape(a).0.max(1) as f64;
        let value = reduce::dot(self.value(a), self.value(b)) * share;
        self.push_scalar(value, &[a, b], move |back, gradient| {
            let factor = gradient[0] * share as Real;
            for (to, from) in [(a, back.value(b)), (b, back.value(a))] {
                back.accumulate(to, |slot, add| {
                    if !add {
                        slot.fill(0.0);
                    }
                    rows::axpy(factor, from, slot);
                });
            }
        })
    }

    /// Puts a loss on the tape whose gradients are known already.
    pub(in crate::tensor) fn push_loss<const N: usize>(
        &mut self,
        value: f64,
        gradients: [(Var, Buffer<'a>); N],
    ) -> Var {
        let inputs = gradients.each_ref().map(|(var, _)| *var);
        let mut saved = gradients.map(|(var, gradient)| (var, Some(gradient)));
        self.push_scalar(value, &inputs, move |back, gradient| {
            for (var, saved) in &mut saved {
                back.give_saved(*var, saved, gradient[0]);
            }
        })
    }
}
