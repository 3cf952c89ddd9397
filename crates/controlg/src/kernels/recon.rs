//! Feature reconstruction losses on selected rows: scaled cosine error (1 − cos)^γ and squared error.
//!
//! The dense form takes x̂. The sparse form never materializes it: with x̂_v = r_v W + b, everything follows from G = WWᵀ and
//! sparse products. ∂L/∂x̂_v = s_v x_v + t_v x̂_v in both errors, hence
//! ∂L/∂r = s⊙(XWᵀ) + t⊙(rG + 1(Wb)ᵀ),  ∂L/∂W = (s⊙r)ᵀX + (rᵀ(t⊙r))W + (rᵀt)bᵀ,  ∂L/∂b = sᵀX + (tᵀr)W + (Σt)b.

use super::parallel::{SharedSlice, chunk_rows, each, sum_chunks};
use super::rows::short_dot;
use super::select::{UNMAPPED, spmm_mapped, spmm_rows};
use super::simd::madd;
use super::{CsrView, matmul, reduce, rows as slices, scratch};
use crate::Real;

/// The error between x̂ and x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distance {
    /// mean over the rows of (1 − c)^γ with c = x̂·x / (max(‖x̂‖, least)·‖x‖).
    Cosine {
        /// The power γ.
        gamma: f64,
        /// Lower bound of ‖x̂‖ in the divisor. With 0, a row x̂ = 0 has c = 0 and no gradient; with a small bound, its gradient is
        /// very large.
        least: f64,
    },
    /// mean over all elements of (x̂ − x)².
    Squared,
}

impl Distance {
    /// The loss of a row and its (s, t), from x̂·x, ‖x̂‖² and ‖x‖². The mean is over `rows`, or over `rows · cols` elements.
    fn term(self, dot: f64, square: f64, target: f64, rows: usize, cols: usize) -> (f64, f64, f64) {
        match self {
            Distance::Squared => {
                let share = 1.0 / (rows * cols).max(1) as f64;
                ((square - 2.0 * dot + target) * share, -2.0 * share, 2.0 * share)
            }
            Distance::Cosine { gamma, least } => {
                let share = 1.0 / rows.max(1) as f64;
                // False for NaN, which then propagates to the loss.
                if (square <= 1e-24 && least <= 0.0) || target <= 0.0 {
                    return (share, 0.0, 0.0);
                }
                let is_short = square < least * least;
                let size = if is_short { least * target.sqrt() } else { (square * target).sqrt() };
                // Rounding may exceed the range of a cosine, by far if x̂ is nothing but rounding errors.
                let cosine = (dot / size).clamp(-1.0, 1.0);
                let miss = 1.0 - cosine;
                let slope = gamma * miss.powf(gamma - 1.0) * share;
                // At the lower bound the divisor is constant, so there is no gradient along x̂.
                let along = if is_short { 0.0 } else { slope * cosine / square };
                (miss.powf(gamma) * share, -slope / size, along)
            }
        }
    }
}

/// The error between `xhat` (index.len() × cols) and the rows `index` of `x`; `dxhat` receives the gradient.
pub fn dense(
    cols: usize,
    xhat: &[Real],
    x: &[Real],
    index: &[u32],
    distance: Distance,
    dxhat: &mut [Real],
) -> f64 {
    let rows = index.len();
    assert!(xhat.len() == rows * cols && dxhat.len() == xhat.len());
    let step = chunk_rows(cols);
    let shared = SharedSlice::new(dxhat);
    let mut total = [0.0];
    sum_chunks(rows.div_ceil(step), &mut total, |chunk, partial| {
        for i in chunk * step..rows.min((chunk + 1) * step) {
            let (target, guess) = (&x[index[i] as usize * cols..][..cols], &xhat[i * cols..(i + 1) * cols]);
            let [dot, square, size] = three_dots(guess, target);
            let (term, s, t) = distance.term(dot, square, size, rows, cols);
            partial[0] += term;
            // SAFETY: each row belongs to one task.
            combine(s as Real, target, t as Real, guess, unsafe { shared.slice(i * cols, cols) });
        }
    });
    total[0]
}

simd! {
    fn three_dots[FMA](guess: &[Real], target: &[Real]) -> [f64; 3] {
        let mut lanes = [[0.0f64; 8]; 3];
        let (gs, ts) = (guess.chunks_exact(8), target.chunks_exact(8));
        let mut sums = [0.0f64; 3];
        for (&g, &t) in gs.remainder().iter().zip(ts.remainder()) {
            let (g, t) = (f64::from(g), f64::from(t));
            sums = [sums[0] + g * t, sums[1] + g * g, sums[2] + t * t];
        }
        for (g, t) in gs.zip(ts) {
            for i in 0..8 {
                let (g, t) = (f64::from(g[i]), f64::from(t[i]));
                lanes[0][i] += g * t;
                lanes[1][i] += g * g;
                lanes[2][i] += t * t;
            }
        }
        std::array::from_fn(|k| sums[k] + lanes[k].iter().sum::<f64>())
    }
}

simd! {
    fn combine[FMA](s: Real, x: &[Real], t: Real, y: &[Real], out: &mut [Real]) {
        for ((o, &x), &y) in out.iter_mut().zip(x).zip(y) {
            *o = madd::<FMA>(s, x, t * y);
        }
    }
}

/// The input of the sparse form.
#[derive(Clone, Copy, Debug)]
pub struct SparseReconInput<'a> {
    /// The features X, n × d.
    pub x: CsrView<'a>,
    /// Xᵀ, d × n.
    pub xt: CsrView<'a>,
    /// The rows of X to reconstruct, each at most once.
    pub index: &'a [u32],
    /// The decoder input r, index.len() × h.
    pub r: &'a [Real],
    /// The decoder weights, transposed: Wᵀ, d × h.
    pub wt: &'a [Real],
    /// The decoder bias, d numbers.
    pub bias: Option<&'a [Real]>,
    /// The error to compute.
    pub distance: Distance,
}

/// Elements of scratch space that [`sparse`] needs for m rows of width h.
pub fn scratch_len(m: usize, h: usize) -> usize {
    h * h + 2 * m * h + h + 2 * m
}

/// The error of x̂ = r·W + b against the rows `index` of X, without materializing x̂. `dr` (shaped like r), `dwt` (shaped like wt)
/// and `dbias` receive the gradients. Without `dwt`, the gradients of the decoder are not computed.
pub fn sparse(
    task: SparseReconInput<'_>,
    dr: &mut [Real],
    dwt: Option<&mut [Real]>,
    dbias: Option<&mut [Real]>,
) -> f64 {
    let SparseReconInput { x, xt, index, r, wt, bias, .. } = task;
    let (d, m) = (x.n_cols, index.len());
    let h = wt.len() / d.max(1);
    assert!(wt.len() == d * h && r.len() == m * h && dr.len() == r.len());
    assert!(dwt.as_ref().is_none_or(|dwt| dwt.len() == wt.len()));
    assert!(xt.n_rows == d && xt.n_cols == x.n_rows && bias.is_none_or(|b| b.len() == d));
    scratch::with(scratch_len(m, h), |all: &mut [Real]| {
        let (gram, all) = all.split_at_mut(h * h);
        let (rg, all) = all.split_at_mut(m * h);
        let (scaled, all) = all.split_at_mut(m * h);
        let (wb, all) = all.split_at_mut(h);
        let (s, t) = all.split_at_mut(m);

        matmul::tn(h, d, h, wt, wt, gram, false);
        matmul::nn(m, h, h, r, gram, rg, false);
        match bias {
            Some(bias) => matmul::tn(h, d, 1, wt, bias, wb, false),
            None => wb.fill(0.0),
        }
        let bias_square = bias.map_or(0.0, reduce::sum_squares);
        let xw = dr;
        spmm_rows(x, index, wt, h, xw, false);
        let value = row_terms(task, h, xw, rg, wb, bias_square, s, t);
        let (s, t) = (&*s, &*t);
        combine_rows(h, s, t, wb, rg, xw);
        let Some(dwt) = dwt else { return value };

        // ∂L/∂W, transposed: Xᵀ(s⊙r) + Wᵀ(rᵀ(t⊙r)) + b(rᵀt)ᵀ; `gram` and `wb` are reused as buffers.
        slices::scale_rows(h, t, r, scaled, false);
        matmul::tn(h, m, h, r, scaled, gram, false);
        matmul::nn(d, h, h, wt, gram, dwt, false);
        reduce::column_sums(m, h, scaled, wb, false);
        slices::scale_rows(h, s, r, scaled, false);
        with_positions(x.n_rows, index, |position| {
            spmm_mapped(xt, position, scaled, h, dwt, true);
            let Some(dbias) = dbias else { return };
            spmm_mapped(xt, position, s, 1, dbias, false);
            matmul::nn(d, h, 1, wt, wb, dbias, true);
            if let Some(bias) = bias {
                slices::axpy(reduce::sum(t) as Real, bias, dbias);
            }
        });
        if let Some(bias) = bias {
            outer(h, bias, wb, dwt);
        }
        value
    })
}

/// The loss of all rows and their s and t. `xw` holds (XWᵀ)_v, `rg` holds r_v G.
fn row_terms(
    task: SparseReconInput<'_>,
    h: usize,
    xw: &[Real],
    rg: &[Real],
    wb: &[Real],
    bias_square: f64,
    s: &mut [Real],
    t: &mut [Real],
) -> f64 {
    let SparseReconInput { x, index, r, bias, distance, .. } = task;
    const STEP: usize = 64;
    let (s, t) = (SharedSlice::new(s), SharedSlice::new(t));
    let mut total = [0.0];
    sum_chunks(index.len().div_ceil(STEP), &mut total, |chunk, partial| {
        for i in chunk * STEP..index.len().min((chunk + 1) * STEP) {
            let row = i * h..(i + 1) * h;
            let [of_xw, of_rg, of_wb] = dots_with(&r[row.clone()], &xw[row.clone()], &rg[row], wb);
            let (mut of_bias, mut target) = (0.0, 0.0);
            for (column, value) in x.entries(index[i] as usize) {
                of_bias += bias.map_or(0.0, |b| f64::from(b[column]) * f64::from(value));
                target += f64::from(value) * f64::from(value);
            }
            let square = of_rg + 2.0 * of_wb + bias_square;
            let (term, si, ti) = distance.term(of_xw + of_bias, square, target, index.len(), x.n_cols);
            partial[0] += term;
            // SAFETY: each row belongs to one task.
            unsafe { (s.slice(i, 1)[0], t.slice(i, 1)[0]) = (si as Real, ti as Real) };
        }
    });
    total[0]
}

simd! {
    fn dots_with[FMA](r: &[Real], a: &[Real], b: &[Real], c: &[Real]) -> [f64; 3] {
        [f64::from(short_dot::<FMA>(r, a)), f64::from(short_dot::<FMA>(r, b)), f64::from(short_dot::<FMA>(r, c))]
    }
}

/// dr = s⊙xw + t⊙(rg + wb), in place of `xw`.
fn combine_rows(h: usize, s: &[Real], t: &[Real], wb: &[Real], rg: &[Real], xw: &mut [Real]) {
    let step = chunk_rows(h);
    let shared = SharedSlice::new(xw);
    each(s.len().div_ceil(step), |chunk| {
        for i in chunk * step..s.len().min((chunk + 1) * step) {
            // SAFETY: each row belongs to one task.
            let out = unsafe { shared.slice(i * h, h) };
            for ((o, &g), &w) in out.iter_mut().zip(&rg[i * h..(i + 1) * h]).zip(wb) {
                *o = s[i] * *o + t[i] * (g + w);
            }
        }
    });
}

/// out[i] += x[i]·row.
fn outer(h: usize, x: &[Real], row: &[Real], out: &mut [Real]) {
    let step = chunk_rows(h);
    let shared = SharedSlice::new(out);
    each(x.len().div_ceil(step), |chunk| {
        let (first, last) = (chunk * step, x.len().min((chunk + 1) * step));
        // SAFETY: each row belongs to one task.
        let out = unsafe { shared.slice(first * h, (last - first) * h) };
        for (out, &x) in out.chunks_exact_mut(h).zip(&x[first..last]) {
            out.iter_mut().zip(row).for_each(|(o, &r)| *o += x * r);
        }
    });
}

/// Calls `work` with the inverse of `index`: the position of each of n rows in it, or [`UNMAPPED`].
fn with_positions(n: usize, index: &[u32], work: impl FnOnce(&[u32])) {
    scratch::with(n, |position: &mut [u32]| {
        position.fill(UNMAPPED);
        index.iter().enumerate().for_each(|(i, &v)| position[v as usize] = i as u32);
        work(position);
    });
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn reference(cols: usize, xhat: &[Real], x: &[Real], index: &[u32], distance: Distance) -> f64 {
        let row = |v: &[Real], i: usize| {
            v[i * cols..(i + 1) * cols].iter().map(|&x| f64::from(x)).collect::<Vec<_>>()
        };
        let term = |i: usize| {
            let (a, b) = (row(xhat, i), row(x, index[i] as usize));
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            match distance {
                Distance::Squared => {
                    a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / cols as f64
                }
                Distance::Cosine { gamma, least } => {
                    let size = dot(&a, &a).sqrt().max(least) * dot(&b, &b).sqrt();
                    (1.0 - if size > 0.0 { dot(&a, &b) / size } else { 0.0 }).powf(gamma)
                }
            }
        };
        (0..index.len()).map(term).sum::<f64>() / index.len() as f64
    }

    // Rows of 19 or 45 numbers in ±1 have a norm between 0 and 9.
    const DISTANCES: [Distance; 5] = [
        Distance::Squared,
        Distance::Cosine { gamma: 1.0, least: 0.0 },
        Distance::Cosine { gamma: 2.0, least: 0.0 },
        Distance::Cosine { gamma: 3.0, least: 0.0 },
        Distance::Cosine { gamma: 3.0, least: 9.0 },
    ];

    #[test]
    fn the_gradient_of_a_zero_row_follows_the_lower_bound() {
        let (x, zero, mut d) = ([3.0, 4.0], [0.0, 0.0], [1.0, 1.0]);
        for (least, want) in [(0.0, [0.0, 0.0]), (0.5, [-3.6, -4.8])] {
            let value = dense(2, &zero, &x, &[0], Distance::Cosine { gamma: 3.0, least }, &mut d);
            assert!((value - 1.0).abs() < 1e-12);
            // γ / least · x/‖x‖
            assert_close(&d, &want, 1e-6);
        }
    }

    #[test]
    fn the_dense_form_has_the_defined_value_and_gradient() {
        let (n, cols) = (12, 19);
        let mut numbers = Numbers::new(22);
        let mut x = numbers.vec(n * cols);
        x[4 * cols..5 * cols].fill(0.0);
        let index = [1, 4, 7, 11];
        let xhat = numbers.vec(index.len() * cols);
        for distance in DISTANCES {
            let mut d = vec![0.0; xhat.len()];
            let value = dense(cols, &xhat, &x, &index, distance, &mut d);
            assert!((value - reference(cols, &xhat, &x, &index, distance)).abs() < 1e-6);
            assert_gradient(&xhat, &d, |xhat| reference(cols, xhat, &x, &index, distance));
        }
    }

    #[test]
    fn the_sparse_form_equals_the_dense_one() {
        let (n, d, h) = (60, 45, 17);
        let mut numbers = Numbers::new(23);
        let x = OwnedCsr::random(n, d, 5, &mut numbers);
        let xt = x.transposed();
        let index: Vec<u32> = (0..n as u32).step_by(2).collect();
        let (m, wt, b) = (index.len(), numbers.vec(d * h), numbers.vec(d));
        let r = numbers.vec(m * h);
        for distance in DISTANCES {
            for bias in [None, Some(&b[..])] {
                let mut xhat = vec![0.0; m * d];
                matmul::nt(m, h, d, &r, &wt, &mut xhat, false);
                if let Some(bias) = bias {
                    xhat.iter_mut().enumerate().for_each(|(i, x)| *x += bias[i % d]);
                }
                let mut dxhat = vec![0.0; m * d];
                let want = dense(d, &xhat, &x.dense(), &index, distance, &mut dxhat);
                let (mut want_dr, mut want_dwt, mut want_db) =
                    (vec![0.0; m * h], vec![0.0; d * h], vec![0.0; d]);
                matmul::nn(m, d, h, &dxhat, &wt, &mut want_dr, false);
                matmul::tn(d, m, h, &dxhat, &r, &mut want_dwt, false);
                reduce::column_sums(m, d, &dxhat, &mut want_db, false);
                let task = SparseReconInput {
                    x: x.view(),
                    xt: xt.view(),
                    index: &index,
                    r: &r,
                    wt: &wt,
                    bias,
                    distance,
                };
                let run = || {
                    let (mut dr, mut dwt, mut db) = (vec![0.0; m * h], vec![0.0; d * h], vec![0.0; d]);
                    let value = sparse(task, &mut dr, Some(&mut dwt), Some(&mut db));
                    (value, dr, dwt, db)
                };
                let (value, dr, dwt, db) = run();
                let tolerance = if size_of::<Real>() == 4 { 2e-5 } else { 1e-9 };
                assert!((value - want).abs() < tolerance * want.abs().max(1.0), "{value} {want}");
                assert_close(&dr, &want_dr, tolerance);
                assert_close(&dwt, &want_dwt, tolerance);
                assert_close(&db, &want_db, tolerance);
                assert_same_at_any_thread_count(|| [run().1, run().2, run().3].concat());
            }
        }
    }
}
