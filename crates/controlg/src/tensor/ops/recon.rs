//! Feature reconstruction.

use crate::graph::{EncoderInput, Features, Operand};
use crate::kernels::recon::{self, Distance, SparseReconInput};
use crate::kernels::select;
use crate::tensor::{Activation, Tape, Var};

impl<'a> Tape<'a> {
    /// The distance between X̂ = R·Vᵀ + b and the features of the nodes `ids` (each at most once). R: ids×h, V: d×h (the
    /// decoder's weights, stored by feature), b: 1×d. All gradients are computed with the value.
    ///
    /// For sparse features X̂ is never formed: its inner products with X and with itself follow from VᵀV.
    pub fn reconstruct(
        &mut self,
        r: Var,
        weight: Var,
        bias: Option<Var>,
        of: &'a EncoderInput<'_>,
        ids: impl Into<Operand<'a, [u32]>>,
        distance: Distance,
    ) -> Var {
        let ids = ids.into();
        let (Features::Sparse(x), Some(xt)) = (of.features(), of.transposed()) else {
            let xhat = self.matmul_transposed(r, weight);
            let xhat = match bias {
                Some(_) => self.activate(xhat, bias, Activation::Identity),
                None => xhat,
            };
            return self.feature_distance(xhat, of, ids, distance);
        };
        let (n, width) = self.shape(r);
        assert_eq!(n, ids.len(), "one row per node");
        // The Gram matrix of the weights, its product with R, and the features' part.
        let entries = x.n_entries() * n / x.n_rows().max(1);
        self.count_product(2 * width * (x.n_cols() * width + n * width + entries), &[r, weight]);
        let pool = self.pool();
        let mut dr = pool.take(n * width);
        let learned = self.requires_grad(weight);
        let mut dw = learned.then(|| pool.take(self.numel(weight)));
        let mut db = bias.filter(|_| learned).map(|_| pool.take(x.n_cols()));
        self.record_scratch(|| {
            // The errors of the rows, then products with selected rows of X and columns of its transpose.
            let mut lens = select::scratch_lens(x.sparse(), width);
            lens.extend([recon::scratch_len(n, width), x.n_rows()]);
            lens
        });
        let value = self.compute(|| {
            let task = SparseReconInput {
                x: x.sparse(),
                xt: xt.sparse(),
                index: &ids,
                r: self.value(r),
                wt: self.value(weight),
                bias: bias.map(|bias| self.value(bias)),
                distance,
            };
            recon::sparse(task, &mut dr, dw.as_deref_mut(), db.as_deref_mut())
        });
        match (dw, bias.zip(db)) {
            (Some(dw), Some((bias, db))) => self.push_loss(value, [(r, dr), (weight, dw), (bias, db)]),
            (Some(dw), None) => self.push_loss(value, [(r, dr), (weight, dw)]),
            (None, _) => self.push_loss(value, [(r, dr)]),
        }
    }

    /// The distance between X̂ (ids×d) and the features of the nodes `ids`, with the gradient of X̂. Sparse features are
    /// densified, so prefer [`Tape::reconstruct`] where X̂ is a linear map of something narrow.
    pub fn feature_distance(
        &mut self,
        xhat: Var,
        of: &'a EncoderInput<'_>,
        ids: impl Into<Operand<'a, [u32]>>,
        distance: Distance,
    ) -> Var {
        let ids = ids.into();
        let (n, d) = self.shape(xhat);
        assert_eq!((n, d), (ids.len(), of.features().n_cols()), "one row per node");
        let mut dxhat = self.pool().take(n * d);
        let value = match of.features() {
            Features::Dense(x) => {
                self.compute(|| recon::dense(d, self.value(xhat), x.data(), &ids, distance, &mut dxhat))
            }
            Features::Sparse(x) => {
                let mut targets = self.pool().zeros(n * d);
                let mut all = self.pool().take::<u32>(n);
                self.compute(|| {
                    for (row, &id) in targets.chunks_exact_mut(d).zip(ids.iter()) {
                        x.entries(id as usize).for_each(|(column, value)| row[column as usize] = value);
                    }
                    all.iter_mut().enumerate().for_each(|(i, row)| *row = i as u32);
                    recon::dense(d, self.value(xhat), &targets, &all, distance, &mut dxhat)
                })
            }
        };
        self.push_loss(value, [(xhat, dxhat)])
    }
}
