//! Gathering, scattering, masking and normalizing rows.

use crate::graph::{NodeSet, Operand};
use crate::kernels::{reduce, rows};
use crate::tensor::{Tape, Var};

impl<'a> Tape<'a> {
    /// Yᵢ = X_{ids\[i\]}. X: n×c, Y: ids×c. dX is the scatter-add of dY.
    pub fn gather(&mut self, x: Var, ids: impl Into<Operand<'a, [u32]>>) -> Var {
        let ids = ids.into();
        let (n, c) = self.shape(x);
        assert!(ids.iter().all(|&id| (id as usize) < n), "rows below {n}");
        let mut out = self.pool().take(ids.len() * c);
        self.compute(|| rows::gather_rows(c, self.value(x), &ids, &mut out));
        self.push((ids.len(), c), out, &[x], move |ctx, gradient| {
            ctx.accumulate_grad_with(x, |dx, add| {
                if !add {
                    rows::fill(0.0, dx);
                }
                rows::scatter_add_rows(c, &gradient, &ids, dx);
            });
        })
    }

    /// Matrices one below the other. All have the same number of columns.
    pub fn concat_rows(&mut self, parts: &[Var]) -> Var {
        if let [alone] = parts {
            return *alone;
        }
        let c = self.shape(parts[0]).1;
        assert!(parts.iter().all(|&part| self.shape(part).1 == c), "parts of the same width");
        let total: usize = parts.iter().map(|&part| self.numel(part)).sum();
        let mut out = self.pool().take(total);
        let mut start = 0;
        let spans: Vec<_> = parts
            .iter()
            .map(|&part| {
                start += self.numel(part);
                (part, start - self.numel(part)..start)
            })
            .collect();
        self.compute(|| {
            spans.iter().for_each(|(part, span)| rows::copy(self.value(*part), &mut out[span.clone()]))
        });
        self.push((total / c.max(1), c), out, parts, move |ctx, gradient| {
            for (part, span) in &spans {
                ctx.accumulate_grad_with(*part, |slot, add| {
                    if add {
                        rows::axpy(1.0, &gradient[span.clone()], slot);
                    } else {
                        rows::copy(&gradient[span.clone()], slot);
                    }
                });
            }
        })
    }

    /// Scatter-add: Y_{ids\[i\]} += Xᵢ, starting from zero. X: ids×c, Y: n×c. dX gathers the rows of dY.
    pub fn scatter(&mut self, x: Var, ids: impl Into<Operand<'a, [u32]>>, n: usize) -> Var {
        let ids = ids.into();
        let (count, c) = self.shape(x);
        assert_eq!(count, ids.len(), "one target per row");
        assert!(ids.iter().all(|&id| (id as usize) < n), "rows below {n}");
        let mut out = self.pool().zeros(n * c);
        self.compute(|| rows::scatter_add_rows(c, self.value(x), &ids, &mut out));
        self.push((n, c), out, &[x], move |ctx, gradient| {
            let mut dx = ctx.pool().take(ids.len() * c);
            ctx.compute(|| rows::gather_rows(c, &gradient, &ids, &mut dx));
            ctx.accumulate_grad(x, dx);
        })
    }

    /// X with the rows of some nodes replaced by a token (1×c), or by zero. The token's gradient is the sum of dY over
    /// those rows; dX is zero there.
    pub fn mask_rows(&mut self, x: Var, nodes: impl Into<Operand<'a, NodeSet>>, token: Option<Var>) -> Var {
        let nodes = nodes.into();
        let shape @ (n, c) = self.shape(x);
        assert_eq!(nodes.member().len(), n, "a set of these rows");
        let mut out = self.copy(x);
        let zero = token.is_none().then(|| self.pool().zeros(c));
        self.compute(|| {
            let row = token.map(|token| self.value(token)).or(zero.as_deref()).unwrap_or_default();
            rows::fill_rows(c, row, nodes.ids(), &mut out);
        });
        drop(zero);
        let inputs: Vec<Var> = std::iter::once(x).chain(token).collect();
        self.push(shape, out, &inputs, move |ctx, mut gradient| {
            if let Some(token) = token {
                let mut picked = ctx.pool().take(nodes.ids().len() * c);
                ctx.compute(|| rows::gather_rows(c, &gradient, nodes.ids(), &mut picked));
                ctx.accumulate_grad_with(token, |dt, add| {
                    reduce::column_sums(nodes.ids().len(), c, &picked, dt, add);
                });
            }
            let zero = ctx.pool().zeros(c);
            ctx.compute(|| rows::fill_rows(c, &zero, nodes.ids(), &mut gradient));
            ctx.accumulate_grad(x, gradient);
        })
    }

    /// L2 normalization, yᵢ = xᵢ/max(‖xᵢ‖, 1e-8). dxᵢ = (dyᵢ − (dyᵢ·yᵢ)yᵢ)/‖xᵢ‖.
    pub fn normalize_rows(&mut self, x: Var) -> Var {
        let shape @ (n, c) = self.shape(x);
        let (mut out, mut norms) = (self.pool().take(n * c), self.pool().take(n));
        self.compute(|| rows::row_normalize(n, c, self.value(x), &mut out, &mut norms));
        let y = self.next();
        self.push(shape, out, &[x], move |ctx, gradient| {
            let y = ctx.value(y);
            ctx.accumulate_grad_with(x, |dx, add| {
                rows::row_normalize_backward(n, c, y, &norms, &gradient, dx, add);
            });
        })
    }
}
