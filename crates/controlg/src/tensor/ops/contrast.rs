//! InfoNCE: each row should find its partner among all.

use crate::kernels::infonce::{self, Contrast};
use crate::tensor::{Tape, Var};

impl Tape<'_> {
    /// −(1/n) Σᵢ log( e^{pᵢ·qᵢ/τ} / Σⱼ e^{pᵢ·qⱼ/τ} ), with rows of the same view among the negatives and both
    /// directions averaged where `how` says so. P, Q: n×c, rows normalized by the caller for cosines. The n×n
    /// scores are formed a block of rows at a time.
    pub fn info_nce(&mut self, p: Var, q: Var, how: Contrast) -> Var {
        let (n, c) = self.shape(p);
        assert_eq!((n, c), self.shape(q), "rows come in pairs");
        let (mut dp, mut dq) = (self.pool().take(n * c), self.pool().take(n * c));
        let value = infonce::infonce(n, c, self.value(p), self.value(q), how, &mut dp, &mut dq);
        self.push_loss(value, [(p, dp), (q, dq)])
    }
}
