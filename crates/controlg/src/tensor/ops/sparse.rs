//! Products with the graph's propagation matrix.

use super::Activation;
use super::activation::Epilogue;
use crate::Real;
use crate::graph::{Operand, Operator};
use crate::kernels::{CsrView, rows, spmm};
use crate::tensor::backward::BackwardCtx;
use crate::tensor::{Buffer, Pool, Tape, Var};

impl<'a> Tape<'a> {
    /// Y = S·H with a sparse S. S: n×m, H: m×c. dH = Sᵀ·dY.
    pub fn propagate(&mut self, operator: impl Into<Operand<'a, Operator>>, h: Var) -> Var {
        let operator = operator.into();
        let (n, c) = (operator.forward().n_rows, self.shape(h).1);
        self.count_product(2 * operator.matrix().n_entries() * c, &[h]);
        let mut out = self.pool().take(n * c);
        self.record_scratch(|| spmm::scratch_lens(operator.forward(), c));
        self.compute(|| spmm::spmm(operator.forward(), self.value(h), c, &mut out, false));
        self.push((n, c), out, &[h], move |ctx, gradient| {
            ctx.accumulate_grad_with(h, |dh, add| spmm::spmm(operator.backward(), &gradient, c, dh, add));
        })
    }

    /// Y = act(S·H + b) with a sparse S. S: n×m, H: m×c, b: 1×c. With d = act′ ⊙ dY: dH = Sᵀ·d, db = Σ rows of d.
    pub fn propagate_act(
        &mut self,
        operator: impl Into<Operand<'a, Operator>>,
        h: Var,
        bias: Option<Var>,
        activation: Activation,
    ) -> Var {
        let operator = operator.into();
        let (n, c) = (operator.forward().n_rows, self.shape(h).1);
        self.count_product(2 * operator.matrix().n_entries() * c, &[h]);
        let epilogue = Epilogue { bias, activation };
        let mut out = self.pool().take(n * c);
        let saved = self.propagate_into(&operator, self.value(h), c, &mut out, epilogue);
        self.push_with_epilogue((n, c), out, saved, epilogue, &[h], move |ctx, gradient| {
            ctx.accumulate_grad_with(h, |dh, add| spmm::spmm(operator.backward(), &gradient, c, dh, add));
        })
    }

    /// The mean along walks, Y = (I + S + … + S^hops)·H/(hops + 1). S: n×n, H: n×c. dH is the same with Sᵀ. Horner's rule
    /// takes one product per hop in each pass.
    pub fn walk_mean(&mut self, operator: impl Into<Operand<'a, Operator>>, h: Var, hops: usize) -> Var {
        let operator = operator.into();
        let shape @ (_, c) = self.shape(h);
        self.count_product(2 * hops * operator.matrix().n_entries() * c, &[h]);
        let out = walk_mean(self.pool(), operator.forward(), c, hops, self.value(h), None);
        self.push(shape, out, &[h], move |ctx, gradient| {
            let dh = walk_mean(ctx.pool(), operator.backward(), c, hops, &gradient, None);
            ctx.accumulate_grad(h, dh);
        })
    }

    /// [`Tape::walk_mean`] at some nodes: equals `gather` of the result, without the last hop of the other nodes.
    pub fn walk_mean_at(
        &mut self,
        operator: impl Into<Operand<'a, Operator>>,
        h: Var,
        hops: usize,
        ids: impl Into<Operand<'a, [u32]>>,
    ) -> Var {
        let (operator, ids) = (operator.into(), ids.into());
        let (n, c) = self.shape(h);
        assert!(ids.iter().all(|&id| (id as usize) < n), "rows below {n}");
        self.count_product(2 * hops * operator.matrix().n_entries() * c, &[h]);
        let out = walk_mean(self.pool(), operator.forward(), c, hops, self.value(h), Some(&ids));
        self.push((ids.len(), c), out, &[h], move |ctx, gradient| {
            let mut all = ctx.pool().zeros(n * c);
            ctx.compute(|| rows::scatter_add_rows(c, &gradient, &ids, &mut all));
            drop(gradient);
            let dh = walk_mean(ctx.pool(), operator.backward(), c, hops, &all, None);
            drop(all);
            ctx.accumulate_grad(h, dh);
        })
    }

    /// A graph convolution, Y = act(S·H·W + b). S: n×n, H: n×k, W: k×c, b: 1×c. With d = act′ ⊙ dY: dH = Sᵀ·d·Wᵀ,
    /// dW = (S·H)ᵀ·d = Hᵀ·(Sᵀ·d), db = Σ rows of d.
    ///
    /// S multiplies the narrower side: S·(H·W) if c ≤ k, with H·W freed at once, else (S·H)·W.
    pub fn convolve(
        &mut self,
        operator: impl Into<Operand<'a, Operator>>,
        h: Var,
        w: Var,
        bias: Option<Var>,
        activation: Activation,
    ) -> Var {
        let operator = operator.into();
        let ((n, k), (inner, c)) = (self.shape(h), self.shape(w));
        assert_eq!(k, inner, "inner sizes of a product");
        let epilogue = Epilogue { bias, activation };
        let mut out = self.pool().take(n * c);
        self.count_product(2 * n * k * c, &[h, w]);
        self.count_product(2 * operator.matrix().n_entries() * k.min(c), &[if k < c { h } else { w }]);
        if k < c {
            let mut sh = self.pool().take(n * k);
            self.compute(|| spmm::spmm(operator.forward(), self.value(h), k, &mut sh, false));
            let saved = self.multiply((n, k, c), &sh, self.value(w), &mut out, epilogue);
            return self.push_with_epilogue((n, c), out, saved, epilogue, &[h, w], move |ctx, gradient| {
                let (w_value, precision) = (ctx.value(w), ctx.precision);
                ctx.accumulate_grad_with(w, |dw, add| precision.tn(k, n, c, &sh, &gradient, dw, add));
                if ctx.requires_grad(h) {
                    let mut d = ctx.pool().take(n * k);
                    ctx.compute(|| precision.nt(n, c, k, &gradient, w_value, &mut d, false));
                    drop(gradient);
                    ctx.accumulate_grad_with(h, |dh, add| spmm::spmm(operator.backward(), &d, k, dh, add));
                }
            });
        }
        let mut hw = self.pool().take(n * c);
        self.compute(|| self.precision().nn(n, k, c, self.value(h), self.value(w), &mut hw, false));
        let saved = self.propagate_into(&operator, &hw, c, &mut out, epilogue);
        drop(hw);
        self.push_with_epilogue((n, c), out, saved, epilogue, &[h, w], move |ctx, gradient| {
            let d = propagate_backward(ctx, &operator, gradient, c);
            let (h_value, w_value, precision) = (ctx.value(h), ctx.value(w), ctx.precision);
            ctx.accumulate_grad_with(w, |dw, add| precision.tn(k, n, c, h_value, &d, dw, add));
            ctx.accumulate_grad_with(h, |dh, add| precision.nt(n, c, k, &d, w_value, dh, add));
        })
    }

    /// out = act(S·H + b). Returns the argument of the activation where its derivative needs it.
    pub(super) fn propagate_into(
        &self,
        operator: &Operator,
        h: &[Real],
        c: usize,
        out: &mut Buffer<'a>,
        epilogue: Epilogue,
    ) -> Option<Buffer<'a>> {
        let s = operator.forward();
        self.record_scratch(|| spmm::scratch_lens(s, c));
        if let Some((bias, act, slope)) = self.fused(epilogue) {
            self.compute(|| spmm::spmm_bias_act(s, h, c, out, bias, act, slope));
            return None;
        }
        self.compute(|| spmm::spmm(s, h, c, out, false));
        self.finish_in_place(c, out, epilogue)
    }
}

/// Sᵀ·d; frees the buffer of d.
pub(super) fn propagate_backward<'a>(
    ctx: &BackwardCtx<'_, 'a>,
    operator: &Operator,
    d: Buffer<'a>,
    c: usize,
) -> Buffer<'a> {
    let s = operator.backward();
    let mut out = ctx.pool().take(s.n_rows * c);
    ctx.compute(|| spmm::spmm(s, &d, c, &mut out, false));
    out
}

/// Some rows, or all, of (I + S + … + S^hops)·H/(hops + 1).
fn walk_mean<'a>(
    pool: &'a Pool,
    s: CsrView<'_>,
    c: usize,
    hops: usize,
    h: &[Real],
    ids: Option<&[u32]>,
) -> Buffer<'a> {
    let factor = 1.0 / (hops + 1) as Real;
    let n = s.n_rows;
    let mut sum: Option<Buffer<'a>> = None;
    for hop in 1..=hops {
        let (ids, factor) = if hop == hops { (ids, factor) } else { (None, 1.0) };
        let mut next = pool.take(ids.map_or(n, <[u32]>::len) * c);
        if !next.is_shape_only() {
            spmm::spmm_onto(s, sum.as_deref().unwrap_or(h), h, factor, ids, c, &mut next);
        }
        sum = Some(next);
    }
    sum.unwrap_or_else(|| {
        let mut out = pool.take(ids.map_or(n, <[u32]>::len) * c);
        if !out.is_shape_only() {
            match ids {
                Some(ids) => rows::gather_rows(c, h, ids, &mut out),
                None => rows::copy(h, &mut out),
            }
        }
        out
    })
}
