//! Products and sums of dense matrices.

use super::Activation;
use super::activation::Epilogue;
use crate::Real;
use crate::kernels::{reduce, rows};
use crate::tensor::backward::{BackwardCtx, copy_or_add, scale};
use crate::tensor::{Buffer, Tape, Var};

impl<'a> Tape<'a> {
    /// C = A·B. A: m×k, B: k×n. dA = dC·Bᵀ, dB = Aᵀ·dC.
    pub fn matmul(&mut self, a: Var, b: Var) -> Var {
        self.linear(a, b, None, Activation::Identity)
    }

    /// Y = act(X·W + b). X: n×k, W: k×c, b: 1×c. With d = act′ ⊙ dY: dX = d·Wᵀ, dW = Xᵀ·d, db = Σ rows of d.
    pub fn linear(&mut self, x: Var, w: Var, bias: Option<Var>, activation: Activation) -> Var {
        let ((n, k), (inner, c)) = (self.shape(x), self.shape(w));
        assert_eq!(k, inner, "inner sizes of a product");
        self.count_product(2 * n * k * c, &[x, w]);
        let epilogue = Epilogue { bias, activation };
        let mut out = self.pool().take(n * c);
        let saved = self.multiply((n, k, c), self.value(x), self.value(w), &mut out, epilogue);
        self.push_with_epilogue((n, c), out, saved, epilogue, &[x, w], move |ctx, gradient| {
            let (x_value, w_value, precision) = (ctx.value(x), ctx.value(w), ctx.precision);
            ctx.accumulate_grad_with(w, |dw, add| precision.tn(k, n, c, x_value, &gradient, dw, add));
            ctx.accumulate_grad_with(x, |dx, add| precision.nt(n, c, k, &gradient, w_value, dx, add));
        })
    }

    /// out = act(A·B + b). A: n×k, B: k×c. Returns the argument of the activation where its derivative needs it.
    pub(in crate::tensor) fn multiply(
        &self,
        (n, k, c): (usize, usize, usize),
        a: &[Real],
        b: &[Real],
        out: &mut Buffer<'a>,
        epilogue: Epilogue,
    ) -> Option<Buffer<'a>> {
        if let Some((bias, act, slope)) = self.fused(epilogue) {
            self.compute(|| self.precision().nn_bias_act(n, k, c, a, b, out, bias, act, slope));
            return None;
        }
        self.compute(|| self.precision().nn(n, k, c, a, b, out, false));
        self.finish_in_place(c, out, epilogue)
    }

    /// C = A·Bᵀ. A: m×k, B: n×k. dA = dC·B, dB = dCᵀ·A.
    pub fn matmul_transposed(&mut self, a: Var, b: Var) -> Var {
        let ((m, k), (n, inner)) = (self.shape(a), self.shape(b));
        assert_eq!(k, inner, "inner sizes of a product");
        self.count_product(2 * m * k * n, &[a, b]);
        let mut out = self.pool().take(m * n);
        self.compute(|| self.precision().nt(m, k, n, self.value(a), self.value(b), &mut out, false));
        self.push((m, n), out, &[a, b], move |ctx, gradient| {
            let (a_value, b_value, precision) = (ctx.value(a), ctx.value(b), ctx.precision);
            ctx.accumulate_grad_with(a, |da, add| precision.nn(m, n, k, &gradient, b_value, da, add));
            ctx.accumulate_grad_with(b, |db, add| precision.tn(n, m, k, &gradient, a_value, db, add));
        })
    }

    /// Y = Σ cᵢ·Xᵢ of matrices or scalars of the same shape. dXᵢ = cᵢ·dY.
    ///
    /// # Panics
    /// If the list is empty or the shapes differ.
    pub fn weighted_sum(&mut self, terms: &[(f64, Var)]) -> Var {
        let shape = self.shape(terms[0].1);
        assert!(terms.iter().all(|term| self.shape(term.1) == shape), "terms of the same shape");
        let inputs: Vec<Var> = terms.iter().map(|term| term.1).collect();
        let saved = terms.to_vec();
        let backward = move |ctx: &mut BackwardCtx<'_, '_>, gradient: Buffer<'_>| {
            for &(factor, var) in &saved {
                ctx.accumulate_grad_with(var, |slot, add| {
                    if !add {
                        slot.fill(0.0);
                    }
                    rows::axpy(factor as Real, &gradient, slot);
                });
            }
        };
        if shape == (1, 1) {
            let exact = terms.iter().map(|&(factor, var)| factor * self.scalar(var)).sum();
            return self.push_scalar(exact, &inputs, backward);
        }
        let mut out = self.pool().zeros(shape.0 * shape.1);
        self.compute(|| {
            for &(factor, var) in terms {
                rows::axpy(factor as Real, self.value(var), &mut out);
            }
        });
        self.push(shape, out, &inputs, backward)
    }

    /// A + B.
    pub fn add(&mut self, a: Var, b: Var) -> Var {
        self.weighted_sum(&[(1.0, a), (1.0, b)])
    }

    /// c·X.
    pub fn scale(&mut self, x: Var, factor: f64) -> Var {
        self.weighted_sum(&[(factor, x)])
    }

    /// Y = A ⊙ B, elementwise. dA = B ⊙ dY, dB = A ⊙ dY.
    pub fn hadamard(&mut self, a: Var, b: Var) -> Var {
        let shape = self.shape(a);
        assert_eq!(shape, self.shape(b), "factors of the same shape");
        let mut out = self.pool().take(shape.0 * shape.1);
        self.compute(|| rows::hadamard(self.value(a), self.value(b), &mut out, false));
        self.push(shape, out, &[a, b], move |ctx, gradient| {
            let (a_value, b_value) = (ctx.value(a), ctx.value(b));
            ctx.accumulate_grad_with(a, |da, add| rows::hadamard(b_value, &gradient, da, add));
            ctx.accumulate_grad_with(b, |db, add| rows::hadamard(a_value, &gradient, db, add));
        })
    }

    /// The mean of all rows, a graph-level readout. X: n×c, y: 1×c. Every row of dX is dy/n.
    pub fn mean_of_rows(&mut self, x: Var) -> Var {
        let (n, c) = self.shape(x);
        let share = 1.0 / n.max(1) as Real;
        let mut out = self.pool().take(c);
        self.compute(|| {
            reduce::column_sums(n, c, self.value(x), &mut out, false);
            scale(&mut out, share);
        });
        self.push((1, c), out, &[x], move |ctx, mut gradient| {
            scale(&mut gradient, share);
            ctx.accumulate_grad_with(x, |dx, add| {
                dx.chunks_exact_mut(c).for_each(|row| copy_or_add(&gradient, row, add));
            });
        })
    }
}
