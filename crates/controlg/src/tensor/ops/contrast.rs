//! InfoNCE: each row should find its partner among all.

use crate::kernels::infonce::{self, Contrast};
use crate::tensor::{Tape, Var};

impl Tape<'_> {
    /// InfoNCE loss, −(1/n) Σᵢ log( e^{pᵢ·qᵢ/τ} / Σⱼ e^{pᵢ·qⱼ/τ} ). P, Q: n×c, rows normalized by the caller for cosine
    /// similarity. `how` adds the rows of the same view to the negatives, or averages both directions.
    ///
    /// The n×n scores are formed one block of rows at a time. Both gradients are computed with the value.
    pub fn info_nce(&mut self, p: Var, q: Var, how: Contrast) -> Var {
        let (n, c) = self.shape(p);
        assert_eq!((n, c), self.shape(q), "rows come in pairs");
        let scores = if how.intra_view { 2 } else { 1 } * if how.both_directions { 2 } else { 1 };
        self.count_product(2 * scores * n * n * c, &[p, q]);
        let (mut dp, mut dq) = (self.pool().take(n * c), self.pool().take(n * c));
        self.record_scratch(|| infonce::scratch_lens(n, c, how));
        let value = self.compute(|| {
            infonce::infonce(self.precision(), n, c, self.value(p), self.value(q), how, &mut dp, &mut dq)
        });
        self.push_loss(value, [(p, dp), (q, dq)])
    }
}
