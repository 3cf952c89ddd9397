//! Choosing, placing, blanking and normalizing rows.

use crate::graph::{NodeSet, Operand};
use crate::kernels::rows;
use crate::tensor::{Tape, Var};

impl<'a> Tape<'a> {
    /// Row i of the result is row `ids[i]` of X. X: n×c, result: ids×c.
    pub fn gather(&mut self, x: Var, ids: impl Into<Operand<'a, [u32]>>) -> Var {
        let ids = ids.into();
        let (n, c) = self.shape(x);
        assert!(ids.iter().all(|&id| (id as usize) < n), "rows below {n}");
        let mut out = self.pool().take(ids.len() * c);
        rows::gather_rows(c, self.value(x), &ids, &mut out);
        self.push((ids.len(), c), out, &[x], move |back, gradient| {
            back.accumulate(x, |dx, add| {
                if !add {
                    dx.fill(0.0);
                }
                rows::scatter_add_rows(c, &gradient, &ids, dx);
            });
        })
    }

    /// Row i of X is added to row `ids[i]` of n rows that start at zero. X: ids×c, result: n×c.
    pub fn scatter(&mut self, x: Var, ids: impl Into<Operand<'a, [u32]>>, n: usize) -> Var {
        let ids = ids.into();
        let (count, c) = self.shape(x);
        assert_eq!(count, ids.len(), "one place a row");
        assert!(ids.iter().all(|&id| (id as usize) < n), "rows below {n}");
        let mut out = self.pool().zeros(n * c);
        rows::scatter_add_rows(c, self.value(x), &ids, &mut out);
        self.push((n, c), out, &[x], move |back, gradient| {
            let mut dx = back.pool().take(ids.len() * c);
            rows::gather_rows(c, &gradient, &ids, &mut dx);
            back.give(x, dx);
        })
    }

    /// X with the rows of some nodes replaced by a token (1×c), or by zero.
    pub fn mask_rows(&mut self, x: Var, nodes: impl Into<Operand<'a, NodeSet>>, token: Option<Var>) -> Var {
        let nodes = nodes.into();
        let shape @ (n, c) = self.shape(x);
        assert_eq!(nodes.member().len(), n, "a set of these rows");
        let mut out = self.pool().copy(self.value(x));
        match token {
            Some(token) => rows::fill_rows(c, self.value(token), nodes.ids(), &mut out),
            None => rows::fill_rows(c, &self.pool().zeros(c), nodes.ids(), &mut out),
        }
        let inputs: Vec<Var> = std::iter::once(x).chain(token).collect();
        self.push(shape, out, &inputs, move |back, mut gradient| {
            if let Some(token) = token {
                let mut picked = back.pool().take(nodes.ids().len() * c);
                rows::gather_rows(c, &gradient, nodes.ids(), &mut picked);
                back.accumulate(token, |dt, add| {
                    crate::kernels::reduce::column_sums(nodes.ids().len(), c, &picked, dt, add);
                });
            }
            rows::fill_rows(c, &back.pool().zeros(c), nodes.ids(), &mut gradient);
            back.give(x, gradient);
        })
    }

    /// Each row divided by max(‖row‖, 1e-8).
    pub fn normalize_rows(&mut self, x: Var) -> Var {
        let shape @ (n, c) = self.shape(x);
        let (mut out, mut norms) = (self.pool().take(n * c), self.pool().take(n));
        rows::row_normalize(n, c, self.value(x), &mut out, &mut norms);
        let y = self.next();
        self.push(shape, out, &[x], move |back, gradient| {
            let y = back.value(y);
            back.accumulate(x, |dx, add| {
                rows::row_normalize_backward(n, c, y, &norms, &gradient, dx, add);
            });
        })
    }
}
