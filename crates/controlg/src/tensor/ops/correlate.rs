//! Losses on the correlations between the columns of two views.

use crate::Real;
use crate::kernels::correlate;
use crate::tensor::{Tape, Var};

impl Tape<'_> {
    /// Each column minus its mean, divided by its standard deviation + `eps`. The deviation is that of the
    /// population, or with `sample` that of a sample (n − 1).
    pub fn standardize_columns(&mut self, x: Var, sample: bool, eps: f64) -> Var {
        let shape @ (n, c) = self.shape(x);
        let eps = eps as Real;
        let (mut out, mut std) = (self.pool().take(n * c), self.pool().take(c));
        correlate::standardize(n, c, self.value(x), sample, eps, &mut out, &mut std);
        let y = self.next();
        self.push(shape, out, &[x], move |back, gradient| {
            let mut dx = back.pool().take(n * c);
            correlate::standardize_backward(n, c, back.value(y), &std, sample, eps, &gradient, &mut dx);
            back.give(x, dx);
        })
    }

    /// Barlow Twins: Σᵢ (1 − Cᵢᵢ)² + λ Σ_{i≠j} Cᵢⱼ² with C = Y₁ᵀY₂/n. Y₁, Y₂: n×c with standardized columns.
    pub fn barlow(&mut self, y1: Var, y2: Var, lambda: f64) -> Var {
        let (n, c) = self.shape(y1);
        assert_eq!((n, c), self.shape(y2), "two views of the same nodes");
        let (mut d1, mut d2) = (self.pool().take(n * c), self.pool().take(n * c));
        let value = correlate::barlow(n, c, self.value(y1), self.value(y2), lambda, &mut d1, &mut d2);
        self.push_loss(value, [(y1, d1), (y2, d2)])
    }

    /// CCA-SSG: −Σᵢ Cᵢᵢ + λ(‖I − C₁‖² + ‖I − C₂‖²) with C = Y₁ᵀY₂/n, Cᵥ = YᵥᵀYᵥ/n. Y₁, Y₂: n×c, standardized.
    pub fn cca_ssg(&mut self, y1: Var, y2: Var, lambda: f64) -> Var {
        let (n, c) = self.shape(y1);
        assert_eq!((n, c), self.shape(y2), "two views of the same nodes");
        let (mut d1, mut d2) = (self.pool().take(n * c), self.pool().take(n * c));
        let value = correlate::cca_ssg(n, c, self.value(y1), self.value(y2), lambda, &mut d1, &mut d2);
        self.push_loss(value, [(y1, d1), (y2, d2)])
    }
}
