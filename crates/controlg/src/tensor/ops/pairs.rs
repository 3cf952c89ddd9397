//! Scores of pairs of nodes.

use crate::graph::Operand;
use crate::kernels::loss::Averaging;
use crate::kernels::{columns, links, pairs, rows};
use crate::tensor::{Tape, Var};

impl<'a> Tape<'a> {
    /// z_u·z_v of each pair (u, v). Z: n×c, result: pairs×1. No row is copied; the derivative is a product with the
    /// graph of the pairs.
    pub fn pair_dot(
        &mut self,
        z: Var,
        us: impl Into<Operand<'a, [u32]>>,
        vs: impl Into<Operand<'a, [u32]>>,
    ) -> Var {
        let (us, vs) = (us.into(), vs.into());
        let (n, c) = self.shape(z);
        check(n, &us, &vs);
        let mut out = self.pool().take(us.len());
        pairs::pair_dot(self.value(z), c, &us, &vs, &mut out);
        self.push((us.len(), 1), out, &[z], move |back, gradient| {
            let mut graph = back.pool().pair_graph();
            graph.rebuild(n, &us, &vs);
            let value = back.value(z);
            back.accumulate(z, |dz, add| graph.backward(value, c, &gradient, dz, add));
        })
    }

    /// [`Tape::binary_cross_entropy`] of [`Tape::pair_dot`] in one pass, with the gradient of Z: the first
    /// `n_positive` pairs should score high, the others low.
    pub fn link_loss(&mut self, z: Var, us: &[u32], vs: &[u32], n_positive: usize, mean: Averaging) -> Var {
        let (n, c) = self.shape(z);
        check(n, us, vs);
        let mut graph = self.pool().pair_graph();
        graph.rebuild(n, us, vs);
        let mut saved = self.pool().take(n * c);
        let value = links::link_loss(&graph, self.value(z), c, n_positive, mean, &mut saved);
        self.push_loss(value, [(z, saved)])
    }

    /// Σ_k w_k·U_uk·U_vk of each pair (u, v). U: n×c, w: 1×c, result: pairs×1.
    ///
    /// With Y = (G + Gᵀ)·U, G the pairs' matrix of gradients: dU = Y ⊙ w and dw = ½ Σ_v U_v ⊙ Y_v.
    pub fn pair_dot_weighted(
        &mut self,
        u: Var,
        w: Var,
        us: impl Into<Operand<'a, [u32]>>,
        vs: impl Into<Operand<'a, [u32]>>,
    ) -> Var {
        let (us, vs) = (us.into(), vs.into());
        let (n, c) = self.shape(u);
        assert_eq!(self.shape(w), (1, c), "one weight a column");
        check(n, &us, &vs);
        let mut out = self.pool().take(us.len());
        columns::weighted_pair_dot(self.value(u), c, self.value(w), &us, &vs, &mut out);
        self.push((us.len(), 1), out, &[u, w], move |back, gradient| {
            let (u_value, w_value) = (back.value(u), back.value(w));
            let mut graph = back.pool().pair_graph();
            graph.rebuild(n, &us, &vs);
            let mut y = back.pool().take(n * c);
            graph.backward(u_value, c, &gradient, &mut y, false);
            let mut dw = back.pool().take(c);
            columns::dots(c, u_value, &y, &mut dw);
            rows::scale(0.5, &mut dw);
            back.give(w, dw);
            back.accumulate(u, |du, add| columns::scale(c, w_value, &y, du, add));
        })
    }
}

fn check(n: usize, us: &[u32], vs: &[u32]) {
    assert_eq!(us.len(), vs.len(), "pairs have two ends");
    assert!(us.iter().chain(vs).all(|&id| (id as usize) < n), "ends below {n}");
}
