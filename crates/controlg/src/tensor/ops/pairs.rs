//! Scores of pairs of nodes.

use crate::graph::Operand;
use crate::kernels::loss::Averaging;
use crate::kernels::{columns, links, pairs, rows};
use crate::tensor::{Tape, Var};

impl<'a> Tape<'a> {
    /// s_p = z_u·z_v for each pair p = (u, v). Z: n×c, s: pairs×1. No row is copied; with G the n×n matrix of the pairs'
    /// gradients, dZ = (G + Gᵀ)·Z.
    pub fn pair_dot(
        &mut self,
        z: Var,
        us: impl Into<Operand<'a, [u32]>>,
        vs: impl Into<Operand<'a, [u32]>>,
    ) -> Var {
        let (us, vs) = (us.into(), vs.into());
        let (n, c) = self.shape(z);
        check(n, &us, &vs);
        self.count_product(2 * us.len() * c, &[z, z]);
        let mut out = self.pool().take(us.len());
        self.compute(|| pairs::pair_dot(self.value(z), c, &us, &vs, &mut out));
        self.push((us.len(), 1), out, &[z], move |ctx, gradient| {
            let mut graph = ctx.pool().pair_graph(n, &us, &vs);
            let value = ctx.value(z);
            ctx.accumulate_grad_with(z, |dz, add| graph.backward(value, c, &gradient, dz, add));
        })
    }

    /// [`Tape::binary_cross_entropy`] of [`Tape::pair_dot`] in one pass, with the gradient of Z: the first `n_positive`
    /// pairs are positives.
    pub fn link_loss(&mut self, z: Var, us: &[u32], vs: &[u32], n_positive: usize, mean: Averaging) -> Var {
        let (n, c) = self.shape(z);
        check(n, us, vs);
        self.count_product(2 * us.len() * c, &[z, z]);
        let graph = self.pool().pair_graph(n, us, vs);
        let mut saved = self.pool().take(n * c);
        let value = self.compute(|| links::link_loss(&graph, self.value(z), c, n_positive, mean, &mut saved));
        self.push_loss(value, [(z, saved)])
    }

    /// s_p = Σ_k w_k·U_uk·U_vk for each pair p = (u, v). U: n×c, w: 1×c, s: pairs×1.
    ///
    /// With G the n×n matrix of the pairs' gradients and Y = (G + Gᵀ)·U: dU = Y ⊙ w and dw = ½ Σ_v U_v ⊙ Y_v.
    pub fn pair_dot_weighted(
        &mut self,
        u: Var,
        w: Var,
        us: impl Into<Operand<'a, [u32]>>,
        vs: impl Into<Operand<'a, [u32]>>,
    ) -> Var {
        let (us, vs) = (us.into(), vs.into());
        let (n, c) = self.shape(u);
        assert_eq!(self.shape(w), (1, c), "one weight per column");
        check(n, &us, &vs);
        let mut out = self.pool().take(us.len());
        self.compute(|| {
            columns::weighted_pair_dot(self.value(u), c, self.value(w), &us, &vs, &mut out);
        });
        self.push((us.len(), 1), out, &[u, w], move |ctx, gradient| {
            let (u_value, w_value) = (ctx.value(u), ctx.value(w));
            let mut graph = ctx.pool().pair_graph(n, &us, &vs);
            let mut y = ctx.pool().take(n * c);
            let mut dw = ctx.pool().take(c);
            ctx.compute(|| {
                graph.backward(u_value, c, &gradient, &mut y, false);
                columns::dots(c, u_value, &y, &mut dw);
                rows::scale(0.5, &mut dw);
            });
            ctx.accumulate_grad(w, dw);
            ctx.accumulate_grad_with(u, |du, add| columns::scale(c, w_value, &y, du, add));
        })
    }
}

fn check(n: usize, us: &[u32], vs: &[u32]) {
    assert_eq!(us.len(), vs.len(), "pairs have two ends");
    assert!(us.iter().chain(vs).all(|&id| (id as usize) < n), "ends below {n}");
}
