//! Batch norm over the nodes of a pass, layer norm within each node.

use super::Activation;
use super::activation::Epilogue;
use crate::Real;
use crate::kernels::rowwise::{Act, SavedActivation};
use crate::kernels::{layer_norm, norm};
use crate::tensor::backward::copy_or_add;
use crate::tensor::{Tape, Var};

/// Mean and 1/√(variance + 1e-5) of each column: the statistics of a batch norm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStats {
    /// The mean of each column.
    pub mean: Vec<Real>,
    /// The inverse standard deviation of each column.
    pub inverse_std: Vec<Real>,
}

impl Tape<'_> {
    /// Batch norm: Y = act(γ ⊙ (X − μ)/√(σ² + 1e-5) + β) with mean μ and population variance σ² of each column. X: n×c,
    /// γ, β: 1×c. Differentiates through μ and σ². Stores the statistics in `record` if given.
    pub fn batch_norm(
        &mut self,
        x: Var,
        gamma: Var,
        beta: Var,
        activation: Activation,
        record: Option<&mut ColumnStats>,
    ) -> Var {
        let shape @ (n, c) = self.shape(x);
        let pool = self.pool();
        let (act, slope, learned) = self.act(activation);
        let (mut out, mut mean, mut inverse_std) = (pool.take(n * c), pool.take(c), pool.take(c));
        self.compute(|| {
            let (x, g, b) = (self.value(x), self.value(gamma), self.value(beta));
            norm::batch_norm(n, c, x, g, b, act, slope, &mut out, &mut mean, &mut inverse_std);
        });
        if let Some(record) = record {
            record.mean = mean.to_vec();
            record.inverse_std = inverse_std.to_vec();
        }
        let inputs: Vec<Var> = [x, gamma, beta].into_iter().chain(learned).collect();
        self.push(shape, out, &inputs, move |ctx, mut gradient| {
            let pool = ctx.pool();
            let (mut dgamma, mut dbeta) = (pool.zeros(c), pool.zeros(c));
            let mut dslope = 0.0;
            ctx.compute(|| {
                norm::batch_norm_backward(
                    n,
                    c,
                    ctx.value(x),
                    &mean,
                    &inverse_std,
                    ctx.value(gamma),
                    ctx.value(beta),
                    act,
                    slope,
                    &mut gradient,
                    &mut dgamma,
                    &mut dbeta,
                    learned.is_some().then_some(&mut dslope),
                );
            });
            ctx.accumulate_grad(x, gradient);
            ctx.accumulate_grad(gamma, dgamma);
            ctx.accumulate_grad(beta, dbeta);
            if let Some(learned) = learned {
                ctx.accumulate_grad_with(learned, |slot, add| copy_or_add(&[dslope], slot, add));
            }
        })
    }

    /// [`Tape::batch_norm`] with given statistics, for inference; it has no derivative.
    pub fn batch_norm_given(
        &mut self,
        x: Var,
        gamma: Var,
        beta: Var,
        activation: Activation,
        stats: &ColumnStats,
    ) -> Var {
        let shape @ (n, c) = self.shape(x);
        let (act, slope, _) = self.act(activation);
        let mut out = self.pool().take(n * c);
        self.compute(|| {
            let (x, g, b) = (self.value(x), self.value(gamma), self.value(beta));
            norm::batch_norm_apply(n, c, x, &stats.mean, &stats.inverse_std, g, b, act, slope, &mut out);
        });
        self.push(shape, out, &[], |_, _| ())
    }

    /// Layer norm: Y = act(γ ⊙ (X − μ)/√(σ² + 1e-5) + β) with mean μ and population variance σ² of each row. X: n×c,
    /// γ, β: 1×c. Differentiates through μ and σ².
    pub fn layer_norm(&mut self, x: Var, gamma: Var, beta: Var, activation: Activation) -> Var {
        let shape @ (n, c) = self.shape(x);
        let pool = self.pool();
        let (mut out, mut mean, mut inverse_std) = (pool.take(n * c), pool.take(n), pool.take(n));
        let (act, slope, learned) = self.act(activation);
        // Fused with the norm, unless the derivative needs the activation's argument.
        let fused = act.output_is_enough(slope);
        let with = if fused { (act, slope) } else { (Act::Identity, 0.0) };
        self.compute(|| {
            let (x, g, b) = (self.value(x), self.value(gamma), self.value(beta));
            layer_norm::layer_norm(n, c, x, g, b, with, &mut out, &mut mean, &mut inverse_std);
        });
        let rest = Epilogue { bias: None, activation };
        let saved = if fused { None } else { self.finish_in_place(c, &mut out, rest) };
        let inputs: Vec<Var> = [Some(x), Some(gamma), Some(beta), learned].into_iter().flatten().collect();
        let result = self.next();
        self.push(shape, out, &inputs, move |ctx, mut gradient| {
            let pool = ctx.pool();
            let (mut dgamma, mut dbeta) = (pool.zeros(c), pool.zeros(c));
            let saved = saved
                .as_deref()
                .map_or_else(|| SavedActivation::Output(ctx.value(result)), SavedActivation::Input);
            let dslope = ctx.compute(|| {
                layer_norm::layer_norm_backward(
                    n,
                    c,
                    ctx.value(x),
                    &mean,
                    &inverse_std,
                    ctx.value(gamma),
                    (saved, act, slope),
                    &mut gradient,
                    &mut dgamma,
                    &mut dbeta,
                )
            });
            ctx.accumulate_grad(x, gradient);
            ctx.accumulate_grad(gamma, dgamma);
            ctx.accumulate_grad(beta, dbeta);
            if let Some(learned) = learned {
                ctx.accumulate_grad_with(learned, |slot, add| copy_or_add(&[dslope], slot, add));
            }
        })
    }
}
