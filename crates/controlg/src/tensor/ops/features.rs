//! Products of a view's features, X·W and Â·X·W.

use super::Activation;
use super::activation::Epilogue;
use super::sparse::propagate_backward;
use crate::Real;
use crate::graph::{Features, Operator, View};
use crate::kernels::feature_dropout::FeatureDropout;
use crate::kernels::select::Selection;
use crate::kernels::{CsrView, matmul, reduce, rows, select, spmm, spmm_chain};
use crate::tensor::backward::{BackwardCtx, copy_or_add};
use crate::tensor::{Buffer, Pool, Tape, Var};

impl<'a> Tape<'a> {
    /// Y = X·W for the features X of a view: masked columns and dropped entries read as zero, masked rows as the token
    /// (1×d) or as zero. X: n×d, W: d×c. dW = Xᵀ·dY; the token's gradient is (Σ masked rows of dY)·Wᵀ.
    pub fn project(&mut self, view: &View<'a>, w: Var, token: Option<Var>) -> Var {
        let c = self.shape(w).1;
        self.count_product(feature_product(view, c), &[w]);
        let out = self.project_value(view, w, token);
        let view = view.clone();
        let inputs: Vec<Var> = std::iter::once(w).chain(token).collect();
        self.push((view.of().features().n_rows(), c), out, &inputs, move |ctx, gradient| {
            project_backward(ctx, &view, w, token, gradient);
        })
    }

    /// The first graph convolution of a view, Y = act(Â·X·W + b). X: n×d, W: d×c, b: 1×c. With d = act′ ⊙ dY:
    /// dW = Xᵀ·(Âᵀ·d), db = Σ rows of d.
    ///
    /// For dense X without masked rows or dropped entries, Â·X is formed (once per run if no edge is dropped), and the
    /// derivative needs no sparse product.
    pub fn convolve_view(
        &mut self,
        view: &View<'a>,
        w: Var,
        token: Option<Var>,
        bias: Option<Var>,
        activation: Activation,
    ) -> Var {
        let c = self.shape(w).1;
        let n = view.of().features().n_rows();
        let epilogue = Epilogue { bias, activation };
        if let Some(smoothed) = self.smoothed_features(view, c) {
            return self.convolve_smoothed(view, smoothed, w, epilogue);
        }
        let operator = view.operator();
        self.count_product(feature_product(view, c) + 2 * operator.matrix().n_entries() * c, &[w]);
        let mut out = self.pool().take(n * c);
        if let Some((x, xt)) = chained_features(view, &operator, c) {
            let fused = self.fused(epilogue);
            self.record_scratch(|| spmm_chain::scratch_lens(operator.forward(), x, c));
            self.compute(|| {
                spmm_chain::spmm_chain(operator.forward(), x, self.value(w), c, &mut out, false, fused)
            });
            let saved = if fused.is_some() { None } else { self.finish_in_place(c, &mut out, epilogue) };
            return self.push_with_epilogue((n, c), out, saved, epilogue, &[w], move |ctx, gradient| {
                let s = operator.backward();
                ctx.accumulate_grad_with(w, |dw, add| {
                    spmm_chain::spmm_chain(xt, s, &gradient, c, dw, add, None)
                });
            });
        }
        let xw = self.project_value(view, w, token);
        let saved = self.propagate_into(&operator, &xw, c, &mut out, epilogue);
        drop(xw);
        let view = view.clone();
        let inputs: Vec<Var> = std::iter::once(w).chain(token).collect();
        self.push_with_epilogue((n, c), out, saved, epilogue, &inputs, move |ctx, gradient| {
            let d = propagate_backward(ctx, &operator, gradient, c);
            project_backward(ctx, &view, w, token, d);
        })
    }

    /// Y = Â·act(Â·X·W + b) for a view: the first convolution and the second one's propagation. Equals
    /// [`Tape::convolve_view`] followed by [`Tape::propagate`], but for large sparse X all products run strip by strip.
    pub fn convolve_view_then_propagate(
        &mut self,
        view: &View<'a>,
        w: Var,
        token: Option<Var>,
        bias: Option<Var>,
        activation: Activation,
    ) -> Var {
        let c = self.shape(w).1;
        let operator = view.operator();
        let chained = chained_features(view, &operator, c).filter(|_| self.requires_grad(w));
        let fused = self.fused(Epilogue { bias, activation });
        let (Some((x, xt)), Some(fused)) = (chained, fused) else {
            let h = self.convolve_view(view, w, token, bias, activation);
            return self.propagate(operator, h);
        };
        let n = view.of().features().n_rows();
        self.count_product(feature_product(view, c) + 4 * operator.matrix().n_entries() * c, &[w]);
        let (mut hidden, mut out) = (self.pool().take(n * c), self.pool().take(n * c));
        self.record_scratch(|| spmm_chain::scratch_lens(operator.forward(), x, c));
        self.compute(|| {
            spmm_chain::spmm_chain_forward(
                operator.forward(),
                x,
                self.value(w),
                c,
                fused,
                &mut hidden,
                &mut out,
            );
        });
        let (act, slope, learned) = self.act(activation);
        let inputs: Vec<Var> = [Some(w), bias, learned].into_iter().flatten().collect();
        self.push((n, c), out, &inputs, move |ctx, gradient| {
            let mut dbias = ctx.pool().take(c);
            let mut dslope = 0.0;
            ctx.accumulate_grad_with(w, |dw, add| {
                let (s, saved) = (operator.backward(), (&hidden[..], act, slope));
                dslope = spmm_chain::spmm_chain_backward(s, xt, &gradient, c, saved, dw, add, &mut dbias);
            });
            if let Some(bias) = bias {
                ctx.accumulate_grad(bias, dbias);
            }
            if let Some(slope) = learned {
                ctx.accumulate_grad_with(slope, |slot, add| copy_or_add(&[dslope], slot, add));
            }
        })
    }

    /// Whether [`Tape::convolve_view_then_propagate`] is faster than its parts. It is not without a backward pass.
    pub fn fuses_propagation(&self, view: &View<'a>, w: Var) -> bool {
        self.requires_grad(w) && chained_features(view, &view.operator(), self.shape(w).1).is_some()
    }

    /// Â·X where it pays to form it.
    fn smoothed_features(&self, view: &View<'a>, width: usize) -> Option<SmoothedFeatures<'a>> {
        let Features::Dense(x) = view.of().features() else { return None };
        if view.masked().is_some() || view.order().is_some() || view.feature_dropout().is_some() {
            return None;
        }
        if view.has_all_edges() {
            let of = view.of();
            return Some(SmoothedFeatures::Borrowed(if self.is_shape_only() {
                &[]
            } else {
                of.smoothed()?.data()
            }));
        }
        // One sparse product as wide as X, against two as wide as the result.
        (x.n_cols() <= 2 * width).then(|| {
            let mut smoothed = self.pool().take(x.data().len());
            self.compute(|| {
                spmm::spmm(view.operator().forward(), x.data(), x.n_cols(), &mut smoothed, false);
            });
            SmoothedFeatures::Owned(smoothed)
        })
    }

    fn convolve_smoothed(
        &mut self,
        view: &View<'a>,
        smoothed: SmoothedFeatures<'a>,
        w: Var,
        epilogue: Epilogue,
    ) -> Var {
        let (k, c) = self.shape(w);
        let n = view.of().features().n_rows();
        if let SmoothedFeatures::Owned(_) = smoothed {
            self.count_product(2 * view.operator().matrix().n_entries() * k, &[]);
        }
        self.count_product(2 * n * k * c, &[w]);
        let mut out = self.pool().take(n * c);
        let weight = self.unmasked_rows(view, w);
        let weight = weight.as_deref().unwrap_or(self.value(w));
        let saved = self.multiply((n, k, c), smoothed.data(), weight, &mut out, epilogue);
        let view = view.clone();
        self.push_with_epilogue((n, c), out, saved, epilogue, &[w], move |ctx, gradient| {
            dense_weight_backward(ctx, &view, smoothed.data(), w, &gradient);
        })
    }

    fn project_value(&self, view: &View<'a>, w: Var, token: Option<Var>) -> Buffer<'a> {
        let (d, c) = self.shape(w);
        let features = view.of().features();
        let n = features.n_rows();
        assert_eq!(d, features.n_cols(), "one row of the weights per feature");
        let mut out = self.pool().take(n * c);
        let in_order = view.order().is_none();
        match features {
            Features::Sparse(x) => {
                let selection = Selection {
                    keep_cols: view.columns().map(|keep| &keep[..]),
                    skip_rows: view.masked().filter(|_| in_order).map(|masked| masked.member()),
                    dropout: view.feature_dropout(),
                };
                // The backward pass selects from the transpose, whose panels have n rows.
                let xt = view.of().transposed().map_or(x.sparse(), |xt| xt.sparse());
                self.record_scratch(|| match selection {
                    Selection { keep_cols: None, skip_rows: None, dropout: None } => {
                        spmm::scratch_lens(xt, c)
                    }
                    _ => select::scratch_lens(xt, c),
                });
                self.compute(|| {
                    select::spmm_select(x.sparse(), selection, self.value(w), c, &mut out, false);
                });
            }
            Features::Dense(x) => {
                let unmasked = self.unmasked_rows(view, w);
                let dropped = dropped_entries(self.pool(), view, x.data());
                self.compute(|| {
                    let w = unmasked.as_deref().unwrap_or(self.value(w));
                    let x = dropped.as_deref().unwrap_or(x.data());
                    self.precision().nn(n, d, c, x, w, &mut out, false);
                });
            }
        }
        if let Some(dropout) = view.feature_dropout() {
            rows::scale(dropout.factor(), &mut out);
        }
        if let Some(order) = view.order() {
            let mut ordered = self.pool().take(n * c);
            self.compute(|| rows::gather_rows(c, &out, order, &mut ordered));
            out = ordered;
        }
        if let Some(masked) = view.masked() {
            let mut row = self.pool().zeros(c);
            self.compute(|| {
                if let Some(token) = token {
                    matmul::nn(1, d, c, self.value(token), self.value(w), &mut row, false);
                }
                rows::fill_rows(c, &row, masked.ids(), &mut out);
            });
        }
        out
    }

    /// W with the rows of masked columns of X set to zero; `None` if no column is masked.
    fn unmasked_rows(&self, view: &View<'a>, w: Var) -> Option<Buffer<'a>> {
        let keep = view.columns()?;
        let mut unmasked = self.copy(w);
        clear_rows(&mut unmasked, self.shape(w).1, keep);
        Some(unmasked)
    }
}

/// Operations of X·W, where W has `width` columns.
fn feature_product(view: &View<'_>, width: usize) -> usize {
    2 * width
        * match view.of().features() {
            Features::Sparse(x) => x.n_entries(),
            Features::Dense(x) => x.n_rows() * x.n_cols(),
        }
}

/// X and Xᵀ if X is sparse, the view shows all of it, and it is large enough for chained products with Â in both passes.
fn chained_features<'a>(
    view: &View<'a>,
    operator: &Operator,
    width: usize,
) -> Option<(CsrView<'a>, CsrView<'a>)> {
    let Features::Sparse(x) = view.of().features() else { return None };
    if view.masked().is_some()
        || view.order().is_some()
        || view.feature_dropout().is_some()
        || view.columns().is_some()
    {
        return None;
    }
    let (x, xt) = (x.sparse(), view.of().transposed().expect("sparse features have a transpose").sparse());
    let pays = spmm_chain::is_profitable(operator.forward(), x, width)
        && spmm_chain::is_profitable(xt, operator.backward(), width);
    pays.then_some((x, xt))
}

/// Â·X, computed for one step or once per run.
enum SmoothedFeatures<'a> {
    Borrowed(&'a [Real]),
    Owned(Buffer<'a>),
}

impl SmoothedFeatures<'_> {
    fn data(&self) -> &[Real] {
        match self {
            SmoothedFeatures::Borrowed(borrowed) => borrowed,
            SmoothedFeatures::Owned(owned) => owned,
        }
    }
}

/// Dense features with the view's feature dropout applied; `None` if it has none.
fn dropped_entries<'a>(pool: &'a Pool, view: &View<'_>, x: &[Real]) -> Option<Buffer<'a>> {
    let dropout = view.feature_dropout()?;
    let mut out = pool.take(x.len());
    if !out.is_shape_only() {
        dropout.apply(view.of().features().n_cols(), x, &mut out);
    }
    Some(out)
}

fn clear_rows(x: &mut [Real], cols: usize, keep: &[bool]) {
    let dropped = x.chunks_exact_mut(cols).zip(keep).filter(|(_, keep)| !**keep);
    dropped.for_each(|(row, _)| row.fill(0.0));
}

/// dW and the token's gradient from that of X·W.
fn project_backward<'a>(
    ctx: &mut BackwardCtx<'_, 'a>,
    view: &View<'a>,
    w: Var,
    token: Option<Var>,
    mut gradient: Buffer<'a>,
) {
    let features = view.of().features();
    let (n, d) = (features.n_rows(), features.n_cols());
    let c = gradient.len() / n.max(1);
    let mut masked_sum = None;
    if let Some(masked) = view.masked() {
        if token.is_some() {
            let mut picked = ctx.pool().take(masked.ids().len() * c);
            let mut sum = ctx.pool().take(c);
            ctx.compute(|| {
                rows::gather_rows(c, &gradient, masked.ids(), &mut picked);
                reduce::column_sums(masked.ids().len(), c, &picked, &mut sum, false);
            });
            masked_sum = Some(sum);
        }
        let zero = ctx.pool().zeros(c);
        ctx.compute(|| rows::fill_rows(c, &zero, masked.ids(), &mut gradient));
    }
    if let Some(order) = view.order() {
        let mut ordered = ctx.pool().zeros(n * c);
        ctx.compute(|| rows::scatter_add_rows(c, &gradient, order, &mut ordered));
        gradient = ordered;
    }
    if let Some(dropout) = view.feature_dropout() {
        rows::scale(dropout.factor(), &mut gradient);
    }
    match features {
        Features::Dense(x) => {
            let dropped = dropped_entries(ctx.pool(), view, x.data());
            dense_weight_backward(ctx, view, dropped.as_deref().unwrap_or(x.data()), w, &gradient);
        }
        Features::Sparse(_) => {
            let skip = view.columns().map(|keep| {
                let mut skip = ctx.pool().take::<bool>(d);
                skip.iter_mut().zip(keep.iter()).for_each(|(skip, keep)| *skip = !keep);
                skip
            });
            let xt = view.of().transposed().expect("sparse features have a transpose").sparse();
            let selection = Selection {
                keep_cols: None,
                skip_rows: skip.as_deref(),
                dropout: view.feature_dropout().map(FeatureDropout::transposed),
            };
            ctx.accumulate_grad_with(w, |dw, add| select::spmm_select(xt, selection, &gradient, c, dw, add));
        }
    }
    if let (Some(token), Some(sum)) = (token, masked_sum) {
        let (token_value, w_value) = (ctx.value(token), ctx.value(w));
        ctx.accumulate_grad_with(w, |dw, add| matmul::tn(d, 1, c, token_value, &sum, dw, add));
        ctx.accumulate_grad_with(token, |dt, add| matmul::nt(1, c, d, &sum, w_value, dt, add));
    }
}

/// dW = Xᵀ·d, with the rows of masked columns set to zero.
fn dense_weight_backward<'a>(
    ctx: &mut BackwardCtx<'_, 'a>,
    view: &View<'a>,
    x: &[Real],
    w: Var,
    gradient: &[Real],
) {
    let features = view.of().features();
    let (n, k, c) = (features.n_rows(), features.n_cols(), ctx.shape(w).1);
    let precision = ctx.precision;
    let Some(keep) = view.columns() else {
        return ctx.accumulate_grad_with(w, |dw, add| precision.tn(k, n, c, x, gradient, dw, add));
    };
    let mut full = ctx.pool().take(k * c);
    ctx.compute(|| {
        precision.tn(k, n, c, x, gradient, &mut full, false);
        clear_rows(&mut full, c, keep);
    });
    ctx.accumulate_grad_with(w, |dw, add| copy_or_add(&full, dw, add));
}
