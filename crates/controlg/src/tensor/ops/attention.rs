//! Graph attention, all heads at once.

use super::Activation;
use crate::Real;
use crate::graph::{Operand, Operator};
use crate::kernels::attention;
use crate::rng::Stream;
use crate::tensor::{Tape, Var};

/// The shape of an attention layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// Number of heads; each works on its own share of the columns, side by side.
    pub heads: usize,
    /// Slope of the leaky ReLU on the scores.
    pub negative_slope: Real,
    /// Share of the attention that is set to zero, with the rest divided by what is left; where draws are given.
    pub dropout: f64,
}

impl<'a> Tape<'a> {
    /// act(out + b), out_i = Σⱼ αᵢⱼ hⱼ with αᵢⱼ = softmax over the entries (i, j) of leaky(a_dst·hᵢ + a_src·hⱼ), for each head.
    /// H: n×c, a_src and a_dst: heads × c/heads, result n×c with the heads side by side. The operator gives who
    /// attends to whom (itself included where it has a loop); its values are not used. Dropout takes its draws from
    /// `draws`, one for each entry and head; without them nothing is dropped.
    ///
    /// # Panics
    /// When the heads do not divide the columns.
    #[allow(clippy::too_many_arguments)] // what a layer is made of, in the order of its equation
    pub fn attention(
        &mut self,
        operator: impl Into<Operand<'a, Operator>>,
        h: Var,
        a_src: Var,
        a_dst: Var,
        shape: Attention,
        bias: Option<Var>,
        activation: Activation,
        draws: Option<&mut Stream>,
    ) -> Var {
        let operator = operator.into();
        let (n, c) = self.shape(h);
        assert_eq!(c % shape.heads, 0, "heads of the same width");
        let width = c / shape.heads;
        let per_entry = operator.matrix().n_entries() * shape.heads;
        let pool = self.pool();
        let (mut alpha, mut slopes, mut out) = (pool.take(per_entry), pool.take(per_entry), pool.take(n * c));
        let factors = draws.filter(|_| shape.dropout > 0.0).map(|stream| {
            let rest = (1.0 / (1.0 - shape.dropout)) as Real;
            let mut factors = pool.take(per_entry);
            factors.iter_mut().for_each(|f| *f = if stream.uniform() < shape.dropout { 0.0 } else { rest });
            factors
        });
        let layer = layer(&operator, shape, width, self.value(a_src), self.value(a_dst), factors.as_deref());
        attention::forward(layer, self.value(h), &mut alpha, &mut slopes, &mut out);
        self.push_activated((n, c), out, bias, activation, &[h, a_src, a_dst], move |back, gradient| {
            let pool = back.pool();
            let (mut dh, mut d_src, mut d_dst) = (pool.take(n * c), pool.zeros(c), pool.zeros(c));
            let (a_src_value, a_dst_value) = (back.value(a_src), back.value(a_dst));
            let layer = self::layer(&operator, shape, width, a_src_value, a_dst_value, factors.as_deref());
            let h_value = back.value(h);
            attention::backward(layer, h_value, &alpha, &slopes, &gradient, &mut dh, &mut d_src, &mut d_dst);
            back.give(h, dh);
            back.give(a_src, d_src);
            back.give(a_dst, d_dst);
        })
    }
}

impl<'a> Tape<'a> {
    /// [`Tape::attention`] of some rows of a larger operator: its columns are rows of `h`, and row i itself stands at
    /// `own[i]`. For evaluation: nothing is recorded.
    #[allow(clippy::too_many_arguments)] // as above
    pub fn attention_rows(
        &mut self,
        operator: &Operator,
        own: &[u32],
        h: Var,
        a_src: Var,
        a_dst: Var,
        shape: Attention,
        bias: Option<Var>,
        activation: Activation,
    ) -> Var {
        let (n, c) = (operator.matrix().n_rows(), self.shape(h).1);
        let mut out = self.pool().take(n * c);
        let layer = attention::AttentionInput {
            pattern: operator.forward(),
            reverse: &[],
            heads: shape.heads,
            width: c / shape.heads,
            a_src: self.value(a_src),
            a_dst: self.value(a_dst),
            slope: shape.negative_slope,
            factors: None,
        };
        attention::forward_rows(layer, own, self.value(h), &mut out);
        self.push_activated((n, c), out, bias, activation, &[], |_, _| ())
    }
}

fn layer<'l>(
    operator: &'l Operator,
    shape: Attention,
    width: usize,
    a_src: &'l [Real],
    a_dst: &'l [Real],
    factors: Option<&'l [Real]>,
) -> attention::AttentionInput<'l> {
    attention::AttentionInput {
        pattern: operator.forward(),
        reverse: operator.reverse(),
        heads: shape.heads,
        width,
        a_src,
        a_dst,
        slope: shape.negative_slope,
        factors,
    }
}
