//! Losses on the correlations between the columns of two views.

use crate::Real;
use crate::kernels::correlate;
use crate::tensor::{Tape, Var};

impl Tape<'_> {
    /// Y = (X − mean)/(std + eps) per column, with the population standard deviation or, if `sample`, that of a sample
    /// (n − 1). X, Y: n×c. dX removes from dY its mean and its component along Y, divided by std + eps.
    pub fn standardize_columns(&mut self, x: Var, sample: bool, eps: f64) -> Var {
        let shape @ (n, c) = self.shape(x);
        let eps = eps as Real;
        let (mut out, mut std) = (self.pool().take(n * c), self.pool().take(c));
        self.compute(|| correlate::standardize(n, c, self.value(x), sample, eps, &mut out, &mut std));
        let y = self.next();
        self.push(shape, out, &[x], move |ctx, gradient| {
            let mut dx = ctx.pool().take(n * c);
            ctx.compute(|| {
                correlate::standardize_backward(n, c, ctx.value(y), &std, sample, eps, &gradient, &mut dx);
            });
            ctx.accumulate_grad(x, dx);
        })
    }

    /// Barlow Twins loss: Σᵢ (1 − Cᵢᵢ)² + λ Σ_{i≠j} Cᵢⱼ² with C = Y₁ᵀY₂/n. Y₁, Y₂: n×c with standardized columns. Both
    /// gradients are computed with the value.
    pub fn barlow(&mut self, y1: Var, y2: Var, lambda: f64) -> Var {
        let (n, c) = self.shape(y1);
        assert_eq!((n, c), self.shape(y2), "two views of the same nodes");
        self.count_product(2 * n * c * c, &[y1, y2]);
        let (mut d1, mut d2) = (self.pool().take(n * c), self.pool().take(n * c));
        let value = self.compute(|| {
            correlate::barlow(
                self.precision(),
                n,
                c,
                self.value(y1),
                self.value(y2),
                lambda,
                &mut d1,
                &mut d2,
            )
        });
        self.push_loss(value, [(y1, d1), (y2, d2)])
    }

    /// CCA-SSG loss: −Σᵢ Cᵢᵢ + λ(‖I − C₁‖² + ‖I − C₂‖²) with C = Y₁ᵀY₂/n, Cᵥ = YᵥᵀYᵥ/n. Y₁, Y₂: n×c, standardized. Both
    /// gradients are computed with the value.
    pub fn cca_ssg(&mut self, y1: Var, y2: Var, lambda: f64) -> Var {
        let (n, c) = self.shape(y1);
        assert_eq!((n, c), self.shape(y2), "two views of the same nodes");
        self.count_product(2 * n * c * c, &[y1]);
        self.count_product(2 * n * c * c, &[y2]);
        let (mut d1, mut d2) = (self.pool().take(n * c), self.pool().take(n * c));
        let value = self.compute(|| {
            correlate::cca_ssg(
                self.precision(),
                n,
                c,
                self.value(y1),
                self.value(y2),
                lambda,
                &mut d1,
                &mut d2,
            )
        });
        self.push_loss(value, [(y1, d1), (y2, d2)])
    }
}
