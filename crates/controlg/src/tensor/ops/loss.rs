//! Losses over scores and over pairs of rows. Most compute their gradients together with their value: the backward pass
//! of a scalar only scales them.

use crate::Real;
use crate::graph::Operand;
use crate::kernels::loss::{self, Averaging};
use crate::kernels::{reduce, rows};
use crate::tensor::{Buffer, Tape, Var};

impl<'a> Tape<'a> {
    /// Binary cross-entropy of logits s, of which the first `n_positive` are positives: −log σ(s) for those and
    /// −log(1 − σ(s)) for the rest, averaged as `mean` says. The gradient of a logit is (σ(s) − label)/count.
    pub fn binary_cross_entropy(&mut self, scores: Var, n_positive: usize, mean: Averaging) -> Var {
        let mut saved = self.pool().take(self.numel(scores));
        let value = self.compute(|| loss::bce_with_logits(self.value(scores), n_positive, mean, &mut saved));
        self.push_loss(value, [(scores, saved)])
    }

    /// Cross-entropy, the mean over rows of −log softmax(row)\[target\]. Logits: n×classes. The gradient is
    /// (softmax − one-hot)/n.
    ///
    /// # Panics
    /// If there is not one target per row, below the number of classes.
    pub fn cross_entropy(&mut self, logits: Var, targets: impl Into<Operand<'a, [u32]>>) -> Var {
        let targets = targets.into();
        let (n, classes) = self.shape(logits);
        let mut saved = self.pool().take(n * classes);
        let value = self
            .compute(|| loss::softmax_cross_entropy(n, classes, self.value(logits), &targets, &mut saved));
        self.push_loss(value, [(logits, saved)])
    }

    /// (1/n) Σ aᵢ·bᵢ over the rows of two n×c matrices; the mean cosine similarity if the rows are normalized. dA = B·d/n,
    /// dB = A·d/n.
    pub fn mean_row_dot(&mut self, a: Var, b: Var) -> Var {
        assert_eq!(self.shape(a), self.shape(b), "matrices of the same shape");
        let share = 1.0 / self.shape(a).0.max(1) as f64;
        let value = self.compute(|| reduce::dot(self.value(a), self.value(b)) * share);
        self.push_scalar(value, &[a, b], move |ctx, gradient| {
            for (to, from) in [(a, ctx.value(b)), (b, ctx.value(a))] {
                ctx.accumulate_grad_with(to, |slot, add| {
                    if !add {
                        slot.fill(0.0);
                    }
                    rows::axpy(gradient[0] * share as Real, from, slot);
                });
            }
        })
    }

    /// Adds a loss whose gradients are already known.
    pub(in crate::tensor) fn push_loss<const N: usize>(
        &mut self,
        value: f64,
        gradients: [(Var, Buffer<'a>); N],
    ) -> Var {
        let inputs = gradients.each_ref().map(|(var, _)| *var);
        let mut saved = gradients.map(|(var, gradient)| (var, Some(gradient)));
        self.push_scalar(value, &inputs, move |ctx, gradient| {
            let factor = gradient.first().copied().unwrap_or_default();
            for (var, saved) in &mut saved {
                ctx.accumulate_saved_grad(*var, saved, factor);
            }
        })
    }
}
