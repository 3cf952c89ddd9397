//! Products with the graph's operator and with the features.

use super::Activation;
use crate::Real;
use crate::graph::{Features, Operand, Operator, View};
use crate::kernels::feature_dropout::FeatureDropout;
use crate::kernels::select::Selection;
use crate::kernels::{CsrView, matmul, reduce, rows, select, spmm, spmm_chain};
use crate::tensor::tape::{Back, put};
use crate::tensor::{Buffer, Pool, Tape, Var};

impl<'a> Tape<'a> {
    /// S·H with a sparse operator S. H: n×c. dH = Sᵀ·d.
    pub fn propagate(&mut self, operator: impl Into<Operand<'a, Operator>>, h: Var) -> Var {
        let operator = operator.into();
        let c = self.shape(h).1;
        let s = operator.forward();
        let n = s.n_rows;
        let mut out = self.pool().take(n * c);
        spmm::spmm(s, self.value(h), c, &mut out, false);
        self.push((n, c), out, &[h], move |back, gradient| {
            back.accumulate(h, |dh, add| spmm::spmm(operator.backward(), &gradient, c, dh, add));
        })
    }

    /// act(S·H + b) with a sparse operator S. H: m×c, S: n×m.
    pub fn propagate_act(
        &mut self,
        operator: impl Into<Operand<'a, Operator>>,
        h: Var,
        bias: Option<Var>,
        activation: Activation,
    ) -> Var {
        let operator = operator.into();
        let (n, c) = (operator.forward().n_rows, self.shape(h).1);
        let mut out = self.pool().take(n * c);
        let kept = self.carry(&operator, self.value(h), &mut out, bias, activation);
        self.push_done((n, c), out, kept, bias, activation, &[h], move |back, gradient| {
            back.accumulate(h, |dh, add| spmm::spmm(operator.backward(), &gradient, c, dh, add));
        })
    }

    /// (I + S + … + S^hops)·H/(hops + 1): the mean along walks. H: n×c, S: n×n. Horner's rule takes a product for each
    /// hop, there and back.
    pub fn walk_mean(&mut self, operator: impl Into<Operand<'a, Operator>>, h: Var, hops: usize) -> Var {
        let operator = operator.into();
        let shape @ (_, c) = self.shape(h);
        let share = 1.0 / (hops + 1) as Real;
        let pool = self.pool();
        let along = move |s: CsrView<'_>, h: &[Real]| {
            let mut sum = pool.copy(h);
            for _ in 0..hops {
                let mut next = pool.copy(h);
                spmm::spmm(s, &sum, c, &mut next, true);
                sum = next;
            }
            rows::scale(share, &mut sum);
            sum
        };
        let out = along(operator.forward(), self.value(h));
        self.push(shape, out, &[h], move |back, gradient| {
            back.give(h, along(operator.backward(), &gradient));
        })
    }

    /// A graph convolution, act(S·H·W + b). H: n×k, W: k×c.
    ///
    /// S goes to the narrower side: S·(H·W) when c ≤ k, with the product H·W given back at once, else (S·H)·W.
    pub fn convolve(
        &mut self,
        operator: impl Into<Operand<'a, Operator>>,
        h: Var,
        w: Var,
        bias: Option<Var>,
        activation: Activation,
    ) -> Var {
        let operator = operator.into();
        let ((n, k), (inner, c)) = (self.shape(h), self.shape(w));
        assert_eq!(k, inner, "inner sizes of a product");
        let mut out = self.pool().take(n * c);
        if k < c {
            let mut carried = self.pool().take(n * k);
            spmm::spmm(operator.forward(), self.value(h), k, &mut carried, false);
            let kept = self.multiply((n, k, c), &carried, self.value(w), &mut out, bias, activation);
            return self.push_done((n, c), out, kept, bias, activation, &[h, w], move |back, gradient| {
                let w_value = back.value(w);
                back.accumulate(w, |dw, add| matmul::tn(k, n, c, &carried, &gradient, dw, add));
                if back.wanted(h) {
                    let mut d = back.pool().take(n * k);
                    matmul::nt(n, c, k, &gradient, w_value, &mut d, false);
                    drop(gradient);
                    back.accumulate(h, |dh, add| spmm::spmm(operator.backward(), &d, k, dh, add));
                }
            });
        }
        let mut product = self.pool().take(n * c);
        matmul::nn(n, k, c, self.value(h), self.value(w), &mut product, false);
        let kept = self.carry(&operator, &product, &mut out, bias, activation);
        drop(product);
        self.push_done((n, c), out, kept, bias, activation, &[h, w], move |back, gradient| {
            let carried = carry_back(back, &operator, gradient, c);
            let (h_value, w_value) = (back.value(h), back.value(w));
            back.accumulate(w, |dw, add| matmul::tn(k, n, c, h_value, &carried, dw, add));
            back.accumulate(h, |dh, add| matmul::nt(n, c, k, &carried, w_value, dh, add));
        })
    }

    /// X·W of a view's features: masked columns and entries read as zero, masked rows as the token (1×d) or as zero. W: d×c.
    pub fn project(&mut self, view: &View<'a>, w: Var, token: Option<Var>) -> Var {
        let c = self.shape(w).1;
        let out = self.project_value(view, w, token);
        let view = view.clone();
        let inputs = [Some(w), token];
        let inputs: Vec<Var> = inputs.into_iter().flatten().collect();
        self.push((view.of().features().n_rows(), c), out, &inputs, move |back, gradient| {
            project_back(back, &view, w, token, c, gradient);
        })
    }

    /// The first graph convolution, act(Â·X·W + b) of a view. Where X is dense and no row or entry of it is replaced, Â·X is
    /// formed (once for all, when no edge is dropped) and the derivative needs no sparse product at all.
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
        if let Some(carried) = self.carried_features(view, c) {
            return self.convolve_carried(view, carried, w, bias, activation);
        }
        let operator = view.operator();
        let mut out = self.pool().take(n * c);
        if let Some((x, transposed)) = chained_features(view, &operator, c) {
            let (s, h) = (operator.forward(), self.value(w));
            let fused = self.fused(bias, activation);
            spmm_chain::spmm_chain(s, x, h, c, &mut out, false, fused);
            let kept = fused.is_none().then(|| self.activate_kept(c, &mut out, bias, activation));
            return self.push_done((n, c), out, kept, bias, activation, &[w], move |back, gradient| {
                let s = operator.backward();
                back.accumulate(w, |dw, add| {
                    spmm_chain::spmm_chain(transposed, s, &gradient, c, dw, add, None)
                });
            });
        }
        let product = self.project_value(view, w, token);
        let kept = self.carry(&operator, &product, &mut out, bias, activation);
        drop(product);
        let view = view.clone();
        let inputs: Vec<Var> = std::iter::once(w).chain(token).collect();
        self.push_done((n, c), out, kept, bias, activation, &inputs, move |back, gradient| {
            let carried = carry_back(back, &operator, gradient, c);
            project_back(back, &view, w, token, c, carried);
        })
    }

    /// Â·act(Â·X·W + b) of a view: the first convolution, and of the second what comes before its weights. Like
    /// [`Tape::convolve_view`] and [`Tape::propagate`], but where X is sparse and large all of it is done strip by strip.
    pub fn convolve_view_and_carry(
        &mut self,
        view: &View<'a>,
        w: Var,
        token: Option<Var>,
        bias: Option<Var>,
        activation: Activation,
    ) -> Var {
        let c = self.shape(w).1;
        let operator = view.operator();
        let chained = chained_features(view, &operator, c).filter(|_| self.wanted(w));
        let (Some((x, transposed)), Some(tail)) = (chained, self.fused(bias, activation)) else {
            let h = self.convolve_view(view, w, token, bias, activation);
            return self.propagate(operator, h);
        };
        let n = view.of().features().n_rows();
        let (mut hidden, mut out) = (self.pool().take(n * c), self.pool().take(n * c));
        spmm_chain::spmm_chain_forward(operator.forward(), x, self.value(w), c, tail, &mut hidden, &mut out);
        let (act, slope, learned) = self.act(activation);
        let inputs: Vec<Var> = [Some(w), bias, learned].into_iter().flatten().collect();
        self.push((n, c), out, &inputs, move |back, gradient| {
            let mut of_bias = back.pool().take(c);
            let mut of_slope = 0.0;
            back.accumulate(w, |dw, add| {
                let (s, kept) = (operator.backward(), (&hidden[..], act, slope));
                of_slope =
                    spmm_chain::spmm_chain_backward(s, transposed, &gradient, c, kept, dw, add, &mut of_bias);
            });
            if let Some(bias) = bias {
                back.give(bias, of_bias);
            }
            if let Some(slope) = learned {
                back.accumulate(slope, |slot, add| put(&[of_slope], slot, add));
            }
        })
    }

    /// Whether [`Tape::convolve_view_and_carry`] is faster than its parts: nothing is gained without a way back.
    pub fn carries_in_strips(&self, view: &View<'a>, w: Var) -> bool {
        self.wanted(w) && chained_features(view, &view.operator(), self.shape(w).1).is_some()
    }

    /// out = act(S·h + b); gives back the argument of the activation where its derivative needs it.
    fn carry(
        &self,
        operator: &Operator,
        h: &[Real],
        out: &mut [Real],
        bias: Option<Var>,
        activation: Activation,
    ) -> Option<Buffer<'a>> {
        let s = operator.forward();
        let width = out.len() / s.n_rows.max(1);
        if let Some((bias, act, slope)) = self.fused(bias, activation) {
            spmm::spmm_bias_act(s, h, width, out, bias, act, slope);
            return None;
        }
        spmm::spmm(s, h, width, out, false);
        Some(self.activate_kept(width, out, bias, activation))
    }

    /// Â·X where it pays to form it.
    fn carried_features(&self, view: &View<'a>, width: usize) -> Option<Carried<'a>> {
        let Features::Dense(x) = view.of().features() else { return None };
        if view.masked().is_some() || view.order().is_some() || view.feature_dropout().is_some() {
            return None;
        }
        if view.has_all_edges() {
            return view.of().smoothed().map(|smoothed| Carried::Lent(smoothed.data()));
        }
        // One sparse product as wide as X, against two as wide as the result.
        (x.n_cols() <= 2 * width).then(|| {
            let mut carried = self.pool().take(x.data().len());
            spmm::spmm(view.operator().forward(), x.data(), x.n_cols(), &mut carried, false);
            Carried::Own(carried)
        })
    }

    fn convolve_carried(
        &mut self,
        view: &View<'a>,
        carried: Carried<'a>,
        w: Var,
        bias: Option<Var>,
        activation: Activation,
    ) -> Var {
        let (k, c) = self.shape(w);
        let n = view.of().features().n_rows();
        let mut out = self.pool().take(n * c);
        let weight = self.kept_rows(view, w);
        let weight = weight.as_deref().unwrap_or(self.value(w));
        let kept = self.multiply((n, k, c), carried.data(), weight, &mut out, bias, activation);
        let view = view.clone();
        self.push_done((n, c), out, kept, bias, activation, &[w], move |back, gradient| {
            dense_weight_back(back, &view, carried.data(), w, (k, c), &gradient);
        })
    }

    fn project_value(&self, view: &View<'a>, w: Var, token: Option<Var>) -> Buffer<'a> {
        let (d, c) = self.shape(w);
        let features = view.of().features();
        let n = features.n_rows();
        assert_eq!(d, features.n_cols(), "one row of the weights a feature");
        let mut out = self.pool().take(n * c);
        let in_order = view.order().is_none();
        match features {
            Features::Sparse(x) => {
                let selection = Selection {
                    keep_cols: view.columns().map(|keep| &keep[..]),
                    skip_rows: view.masked().filter(|_| in_order).map(|masked| masked.member()),
                    dropout: view.feature_dropout(),
                };
                select::spmm_select(x.sparse(), selection, self.value(w), c, &mut out, false);
            }
            Features::Dense(x) => {
                let kept = self.kept_rows(view, w);
                let w = kept.as_deref().unwrap_or(self.value(w));
                let thinned = thinned(self.pool(), view, d, x.data());
                matmul::nn(n, d, c, thinned.as_deref().unwrap_or(x.data()), w, &mut out, false);
            }
        }
        if let Some(thinned) = view.feature_dropout() {
            rows::scale(thinned.factor(), &mut out);
        }
        if let Some(order) = view.order() {
            let mut ordered = self.pool().take(n * c);
            rows::gather_rows(c, &out, order, &mut ordered);
            out = ordered;
        }
        if let Some(masked) = view.masked() {
            let mut row = self.pool().zeros(c);
            if let Some(token) = token {
                matmul::nn(1, d, c, self.value(token), self.value(w), &mut row, false);
            }
            rows::fill_rows(c, &row, masked.ids(), &mut out);
        }
        out
    }

    /// W with the rows of masked columns of X set to zero; `None` when all are kept.
    fn kept_rows(&self, view: &View<'a>, w: Var) -> Option<Buffer<'a>> {
        let keep = view.columns()?;
        let mut kept = self.pool().copy(self.value(w));
        clear_rows(&mut kept, self.shape(w).1, keep);
        Some(kept)
    }
}

/// X and Xᵀ where X is sparse, seen whole, and large enough for products with Â to follow strip by strip, there and back.
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
    let (x, transposed) = (x.sparse(), view.of().transposed().expect("made with sparse features").sparse());
    let pay = spmm_chain::is_profitable(operator.forward(), x, width)
        && spmm_chain::is_profitable(transposed, operator.backward(), width);
    pay.then_some((x, transposed))
}

/// Â·X, formed for one step or for all.
enum Carried<'a> {
    Lent(&'a [Real]),
    Own(Buffer<'a>),
}

impl Carried<'_> {
    fn data(&self) -> &[Real] {
        match self {
            Carried::Lent(lent) => lent,
            Carried::Own(own) => own,
        }
    }
}

/// Dense features without the entries that a view leaves out; `None` when it leaves out none.
fn thinned<'a>(pool: &'a Pool, view: &View<'_>, cols: usize, x: &[Real]) -> Option<Buffer<'a>> {
    let feature_dropout = view.feature_dropout()?;
    let mut out = pool.take(x.len());
    feature_dropout.apply(cols, x, &mut out);
    Some(out)
}

fn clear_rows(x: &mut [Real], cols: usize, keep: &[bool]) {
    let dropped = x.chunks_exact_mut(cols).zip(keep).filter(|(_, keep)| !**keep);
    dropped.for_each(|(row, _)| row.fill(0.0));
}

/// Sᵀ·d; the buffer of d goes back at once.
fn carry_back<'a>(
    back: &Back<'_, 'a>,
    operator: &Operator,
    gradient: Buffer<'a>,
    width: usize,
) -> Buffer<'a> {
    let s = operator.backward();
    let mut carried = back.pool().take(s.n_rows * width);
    spmm::spmm(s, &gradient, width, &mut carried, false);
    carried
}

/// dW and the token's gradient from that of X·W, which is used up.
fn project_back<'a>(
    back: &mut Back<'_, 'a>,
    view: &View<'a>,
    w: Var,
    token: Option<Var>,
    c: usize,
    mut gradient: Buffer<'a>,
) {
    let features = view.of().features();
    let (n, d) = (features.n_rows(), features.n_cols());
    let mut of_token = None;
    if let Some(masked) = view.masked() {
        if token.is_some() {
            let mut picked = back.pool().take(masked.ids().len() * c);
            rows::gather_rows(c, &gradient, masked.ids(), &mut picked);
            let mut sum = back.pool().take(c);
            reduce::column_sums(masked.ids().len(), c, &picked, &mut sum, false);
            of_token = Some(sum);
        }
        let zero = back.pool().zeros(c);
        rows::fill_rows(c, &zero, masked.ids(), &mut gradient);
    }
    if let Some(order) = view.order() {
        let mut ordered = back.pool().zeros(n * c);
        rows::scatter_add_rows(c, &gradient, order, &mut ordered);
        gradient = ordered;
    }
    if let Some(thinned) = view.feature_dropout() {
        rows::scale(thinned.factor(), &mut gradient);
    }
    match features {
        Features::Dense(x) => {
            let thinned = thinned(back.pool(), view, d, x.data());
            dense_weight_back(back, view, thinned.as_deref().unwrap_or(x.data()), w, (d, c), &gradient);
        }
        Features::Sparse(_) => {
            let skip = view.columns().map(|keep| {
                let mut skip = back.pool().take::<bool>(d);
                skip.iter_mut().zip(keep.iter()).for_each(|(skip, keep)| *skip = !keep);
                skip
            });
            let transposed = view.of().transposed().expect("made with sparse features").sparse();
            let selection = Selection {
                keep_cols: None,
                skip_rows: skip.as_deref(),
                dropout: view.feature_dropout().map(FeatureDropout::transposed),
            };
            back.accumulate(w, |dw, add| select::spmm_select(transposed, selection, &gradient, c, dw, add));
        }
    }
    if let (Some(token), Some(sum)) = (token, of_token) {
        let (token_value, w_value) = (back.value(token), back.value(w));
        back.accumulate(w, |dw, add| matmul::tn(d, 1, c, token_value, &sum, dw, add));
        back.accumulate(token, |dt, add| matmul::nt(1, c, d, &sum, w_value, dt, add));
    }
}

/// dW = Xᵀ·d, with the rows of masked columns zero.
fn dense_weight_back<'a>(
    back: &mut Back<'_, 'a>,
    view: &View<'a>,
    x: &[Real],
    w: Var,
    (k, c): (usize, usize),
    gradient: &[Real],
) {
    let n = x.len() / k;
    let Some(keep) = view.columns() else {
        return back.accumulate(w, |dw, add| matmul::tn(k, n, c, x, gradient, dw, add));
    };
    let mut full = back.pool().take(k * c);
    matmul::tn(k, n, c, x, gradient, &mut full, false);
    clear_rows(&mut full, c, keep);
    back.accumulate(w, |dw, add| put(&full, dw, add));
}
