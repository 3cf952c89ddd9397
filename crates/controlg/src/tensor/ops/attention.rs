//! Graph attention, all heads at once.

use super::Activation;
use super::activation::Epilogue;
use crate::Real;
use crate::graph::{Operand, Operator};
use crate::kernels::attention;
use crate::rng::Stream;
use crate::tensor::{Tape, Var};

/// The settings of an attention layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// Number of heads; each has its own share of the columns.
    pub heads: usize,
    /// Slope of the leaky ReLU on the scores.
    pub negative_slope: Real,
    /// Dropout rate of the attention weights, used where a random stream is given.
    pub dropout: f64,
}

/// The parameters of an attention layer and its activation.
#[derive(Clone, Copy, Debug)]
pub struct AttentionParams {
    /// a_src, heads × c/heads.
    pub source: Var,
    /// a_dst, heads × c/heads.
    pub target: Var,
    /// b, 1×c.
    pub bias: Option<Var>,
    /// act.
    pub activation: Activation,
}

impl AttentionParams {
    fn epilogue(self) -> Epilogue {
        Epilogue { bias: self.bias, activation: self.activation }
    }
}

impl<'a> Tape<'a> {
    /// Graph attention: Y = act(O + b), Oᵢ = Σⱼ αᵢⱼ hⱼ per head, where αᵢⱼ is the softmax over the entries (i, j) of the
    /// operator of leaky(a_dst·hᵢ + a_src·hⱼ). H: n×c, Y: n×c with the heads side by side.
    ///
    /// Only the operator's sparsity pattern is used; a node attends to itself if it has a self-loop. Dropout draws one
    /// number from `stream` per entry and head.
    ///
    /// # Panics
    /// If the number of heads does not divide the number of columns.
    pub fn attention(
        &mut self,
        operator: impl Into<Operand<'a, Operator>>,
        h: Var,
        params: AttentionParams,
        settings: Attention,
        stream: Option<&mut Stream>,
    ) -> Var {
        let operator = operator.into();
        let AttentionParams { source, target, .. } = params;
        let (n, c) = self.shape(h);
        assert_eq!(c % settings.heads, 0, "heads of the same width");
        let width = c / settings.heads;
        let per_entry = operator.matrix().n_entries() * settings.heads;
        self.count_product(4 * n * c + 2 * operator.matrix().n_entries() * c + 8 * per_entry, &[h, source]);
        let pool = self.pool();
        let (mut alpha, mut slopes, mut out) = (pool.take(per_entry), pool.take(per_entry), pool.take(n * c));
        let factors = stream.filter(|_| settings.dropout > 0.0).map(|stream| {
            let rest = (1.0 / (1.0 - settings.dropout)) as Real;
            let mut factors = pool.take(per_entry);
            factors
                .iter_mut()
                .for_each(|f| *f = if stream.uniform() < settings.dropout { 0.0 } else { rest });
            factors
        });
        self.record_scratch(|| {
            vec![attention::scratch_len(operator.matrix().n_entries(), n, settings.heads)]
        });
        self.compute(|| {
            let vectors = [self.value(source), self.value(target)];
            let layer = layer(&operator, settings, width, vectors, factors.as_deref());
            attention::forward(layer, self.value(h), &mut alpha, &mut slopes, &mut out);
        });
        let epilogue = params.epilogue();
        let saved = self.finish_in_place(c, &mut out, epilogue);
        self.push_with_epilogue((n, c), out, saved, epilogue, &[h, source, target], move |ctx, gradient| {
            let pool = ctx.pool();
            let (mut dh, mut d_src, mut d_dst) = (pool.take(n * c), pool.zeros(c), pool.zeros(c));
            ctx.compute(|| {
                let vectors = [ctx.value(source), ctx.value(target)];
                let layer = self::layer(&operator, settings, width, vectors, factors.as_deref());
                let h = ctx.value(h);
                attention::backward(layer, h, &alpha, &slopes, &gradient, &mut dh, &mut d_src, &mut d_dst);
            });
            ctx.accumulate_grad(h, dh);
            ctx.accumulate_grad(source, d_src);
            ctx.accumulate_grad(target, d_dst);
        })
    }

    /// [`Tape::attention`] for some rows of a larger operator: its columns index rows of `h`, and row i belongs to the node
    /// at `own[i]`. For inference; it has no derivative.
    pub fn attention_rows(
        &mut self,
        operator: &Operator,
        own: &[u32],
        h: Var,
        params: AttentionParams,
        settings: Attention,
    ) -> Var {
        let (n, c) = (operator.matrix().n_rows(), self.shape(h).1);
        let mut out = self.pool().take(n * c);
        self.compute(|| {
            let layer = attention::AttentionInput {
                pattern: operator.forward(),
                reverse: &[],
                heads: settings.heads,
                width: c / settings.heads,
                a_src: self.value(params.source),
                a_dst: self.value(params.target),
                slope: settings.negative_slope,
                factors: None,
            };
            attention::forward_rows(layer, own, self.value(h), &mut out);
        });
        self.finish_in_place(c, &mut out, params.epilogue());
        self.push((n, c), out, &[], |_, _| ())
    }
}

fn layer<'l>(
    operator: &'l Operator,
    settings: Attention,
    width: usize,
    [a_src, a_dst]: [&'l [Real]; 2],
    factors: Option<&'l [Real]>,
) -> attention::AttentionInput<'l> {
    attention::AttentionInput {
        pattern: operator.forward(),
        reverse: operator.reverse(),
        heads: settings.heads,
        width,
        a_src,
        a_dst,
        slope: settings.negative_slope,
        factors,
    }
}
