//! Products and sums of dense matrices.

use super::Activation;
use crate::Real;
use crate::kernels::{matmul, reduce, rows};
use crate::tensor::tape::{put, scale};
use crate::tensor::{Buffer, Tape, Var};

impl<'a> Tape<'a> {
    /// A·B. A: m×k, B: k×n. dA = dC·Bᵀ, dB = Aᵀ·dC.
    pub fn matmul(&mut self, a: Var, b: Var) -> Var {
        self.linear(a, b, None, Activation::Identity)
    }

    /// act(X·W + b). X: n×k, W: k×c, b: 1×c.
    pub fn linear(&mut self, x: Var, w: Var, bias: Option<Var>, activation: Activation) -> Var {
        let ((n, k), (inner, c)) = (self.shape(x), self.shape(w));
        assert_eq!(k, inner, "inner sizes of a product");
        let mut out = self.pool().take(n * c);
        let kept = self.multiply((n, k, c), self.value(x), self.value(w), &mut out, bias, activation);
        self.push_done((n, c), out, kept, bias, activation, &[x, w], move |back, gradient| {
            let (x_value, w_value) = (back.value(x), back.value(w));
            back.accumulate(w, |dw, add| matmul::tn(k, n, c, x_value, &gradient, dw, add));
            back.accumulate(x, |dx, add| matmul::nt(n, c, k, &gradient, w_value, dx, add));
        })
    }

    /// out = act(A·B + b), A: n×k, B: k×c; gives back the argument of the activation where its derivative needs it.
    pub(in crate::tensor) fn multiply(
        &self,
        (n, k, c): (usize, usize, usize),
        a: &[Real],
        b: &[Real],
        out: &mut [Real],
        bias: Option<Var>,
        activation: Activation,
    ) -> Option<Buffer<'a>> {
        if let Some((bias, act, slope)) = self.fused(bias, activation) {
            matmul::nn_bias_act(n, k, c, a, b, out, bias, act, slope);
            return None;
        }
        matmul::nn(n, k, c, a, b, out, false);
        Some(self.activate_kept(c, out, bias, activation))
    }

    /// A·Bᵀ. A: m×k, B: n×k. dA = dC·B, dB = dCᵀ·A.
    pub fn matmul_transposed(&mut self, a: Var, b: Var) -> Var {
        let ((m, k), (n, inner)) = (self.shape(a), self.shape(b));
        assert_eq!(k, inner, "inner sizes of a product");
        let mut out = self.pool().take(m * n);
        matmul::nt(m, k, n, self.value(a), self.value(b), &mut out, false);
        self.push((m, n), out, &[a, b], move |back, gradient| {
            let (a_value, b_value) = (back.value(a), back.value(b));
            back.accumulate(a, |da, add| matmul::nn(m, n, k, &gradient, b_value, da, add));
            back.accumulate(b, |db, add| matmul::tn(n, m, k, &gradient, a_value, db, add));
        })
    }

    /// Σ cᵢ·Xᵢ of matrices, or of losses, of the same shape.
    ///
    /// # Panics
    /// When the list is empty or the shapes differ.
    pub fn weighted_sum(&mut self, terms: &[(f64, Var)]) -> Var {
        let shape = self.shape(terms[0].1);
        assert!(terms.iter().all(|term| self.shape(term.1) == shape), "terms of the same shape");
        let inputs: Vec<Var> = terms.iter().map(|term| term.1).collect();
        let kept = terms.to_vec();
        let back = move |back: &mut crate::tensor::tape::Back<'_, '_>,
                         gradient: crate::tensor::Buffer<'_>| {
            for &(factor, var) in &kept {
                back.accumulate(var, |slot, add| {
                    if !add {
                        slot.fill(0.0);
                    }
                    rows::axpy(factor as Real, &gradient, slot);
                });
            }
        };
        if shape == (1, 1) {
            let exact = terms.iter().map(|&(factor, var)| factor * self.scalar(var)).sum();
            return self.push_scalar(exact, &inputs, back);
        }
        let mut out = self.pool().zeros(shape.0 * shape.1);
        for &(factor, var) in terms {
            rows::axpy(factor as Real, self.value(var), &mut out);
        }
        self.push(shape, out, &inputs, back)
    }

    /// A + B.
    pub fn add(&mut self, a: Var, b: Var) -> Var {
        self.weighted_sum(&[(1.0, a), (1.0, b)])
    }

    /// c·X.
    pub fn scale(&mut self, x: Var, factor: f64) -> Var {
        self.weighted_sum(&[(factor, x)])
    }

    /// A ⊙ B, element by element.
    pub fn hadamard(&mut self, a: Var, b: Var) -> Var {
        let shape = self.shape(a);
        assert_eq!(shape, self.shape(b), "factors of the same shape");
        let mut out = self.pool().take(shape.0 * shape.1);
        rows::hadamard(self.value(a), self.value(b), &mut out, false);
        self.push(shape, out, &[a, b], move |back, gradient| {
            let (a_value, b_value) = (back.value(a), back.value(b));
            back.accumulate(a, |da, add| rows::hadamard(b_value, &gradient, da, add));
            back.accumulate(b, |db, add| rows::hadamard(a_value, &gradient, db, add));
        })
    }

    /// The mean of all rows, 1×c: a graph's summary.
    pub fn mean_of_rows(&mut self, x: Var) -> Var {
        let (n, c) = self.shape(x);
        let share = 1.0 / n.max(1) as Real;
        let mut out = self.pool().take(c);
        reduce::column_sums(n, c, self.value(x), &mut out, false);
        scale(&mut out, share);
        self.push((1, c), out, &[x], move |back, mut gradient| {
            scale(&mut gradient, share);
            back.accumulate(x, |dx, add| dx.chunks_exact_mut(c).for_each(|row| put(&gradient, row, add)));
        })
    }
}
