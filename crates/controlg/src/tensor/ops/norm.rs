//! BatchNorm over the nodes of a pass, LayerNorm within each node.

use super::Activation;
use crate::Real;
use crate::kernels::rowwise::{Act, SavedActivation};
use crate::kernels::{layer_norm, norm};
use crate::tensor::tape::put;
use crate::tensor::{Tape, Var};

/// Mean and 1/√(variance + 1e-5) of each column, as a batch norm saw them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStats {
    /// The mean of each column.
    pub mean: Vec<Real>,
    /// The inverse of each column's standard deviation.
    pub inverse_std: Vec<Real>,
}

impl Tape<'_> {
    /// act(γ ⊙ (x − μ)/√(σ² + 1e-5) + β) with the columns' own mean μ and population variance σ². x: n×c, γ, β: 1×c.
    /// The statistics are left in `record` when it is given.
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
        let (g, b) = (self.value(gamma), self.value(beta));
        norm::batch_norm(n, c, self.value(x), g, b, act, slope, &mut out, &mut mean, &mut inverse_std);
        if let Some(record) = record {
            record.mean = mean.to_vec();
            record.inverse_std = inverse_std.to_vec();
        }
        let inputs: Vec<Var> = [x, gamma, beta].into_iter().chain(learned).collect();
        self.push(shape, out, &inputs, move |back, gradient| {
            let pool = back.pool();
            let (mut dx, mut dgamma, mut dbeta) = (pool.take(n * c), pool.zeros(c), pool.zeros(c));
            let mut dslope = 0.0;
            norm::batch_norm_backward(
                n,
                c,
                back.value(x),
                &mean,
                &inverse_std,
                back.value(gamma),
                back.value(beta),
                act,
                slope,
                &gradient,
                &mut dx,
                &mut dgamma,
                &mut dbeta,
                learned.is_some().then_some(&mut dslope),
            );
            back.give(x, dx);
            back.give(gamma, dgamma);
            back.give(beta, dbeta);
            if let Some(learned) = learned {
                back.accumulate(learned, |slot, add| put(&[dslope], slot, add));
            }
        })
    }

    /// [`Tape::batch_norm`] with the statistics of an earlier pass, for evaluation: nothing is recorded.
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
        let (g, b) = (self.value(gamma), self.value(beta));
        let x = self.value(x);
        norm::batch_norm_apply(n, c, x, &stats.mean, &stats.inverse_std, g, b, act, slope, &mut out);
        self.push(shape, out, &[], |_, _| ())
    }

    /// act(γ ⊙ (x − μ)/√(σ² + 1e-5) + β) with each row's own mean and population variance. x: n×c, γ, β: 1×c.
    pub fn layer_norm(&mut self, x: Var, gamma: Var, beta: Var, activation: Activation) -> Var {
        let shape @ (n, c) = self.shape(x);
        let pool = self.pool();
        let (mut out, mut mean, mut inverse_std) = (pool.take(n * c), pool.take(n), pool.take(n));
        let (g, b) = (self.value(gamma), self.value(beta));
        let (act, slope, learned) = self.act(activation);
        // With the norm itself, unless the derivative needs what the activation is applied to.
        let at_once = act.output_is_enough(slope);
        let with = if at_once { (act, slope) } else { (Act::Identity, 0.0) };
        layer_norm::layer_norm(n, c, self.value(x), g, b, with, &mut out, &mut mean, &mut inverse_std);
        let kept = (!at_once).then(|| self.activate_kept(c, &mut out, None, activation));
        let inputs: Vec<Var> = [Some(x), Some(gamma), Some(beta), learned].into_iter().flatten().collect();
        let result = self.next();
        self.push(shape, out, &inputs, move |back, mut gradient| {
            let pool = back.pool();
            let (mut dgamma, mut dbeta) = (pool.zeros(c), pool.zeros(c));
            let (x_value, g) = (back.value(x), back.value(gamma));
            let saved = kept
                .as_deref()
                .map_or_else(|| SavedActivation::Output(back.value(result)), SavedActivation::Input);
            let dslope = layer_norm::layer_norm_backward(
                n,
                c,
                x_value,
                &mean,
                &inverse_std,
                g,
                (saved, act, slope),
                &mut gradient,
                &mut dgamma,
                &mut dbeta,
            );
            back.give(x, gradient);
            back.give(gamma, dgamma);
            back.give(beta, dbeta);
            if let Some(learned) = learned {
                back.accumulate(learned, |slot, add| put(&[dslope], slot, add));
            }
        })
    }
}
