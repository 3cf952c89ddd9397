//! Graph attention (GAT): scores, softmax over the neighbors of each node, and aggregation, for all heads at once.
//!
//! With h (n × heads·width), for an entry (i, j) of the sparsity pattern and one head:
//! e_ij = leaky_relu(a_dst·h_i + a_src·h_j), α_ij = softmax of e_ij over row i, out_i = Σ_j α_ij h_j. With attention dropout,
//! α is multiplied by given factors. Self-loops are ordinary entries. The pattern must be symmetric: the backward pass
//! collects the gradients of column j from row j, through the index of the reverse entries.

use super::CsrView;
use super::parallel::{SharedSlice, each, sum_chunks};
use super::rows::short_dot;
use super::scratch;
use super::simd::{exp, madd, prefetch};
use super::spmm::{PANEL, PREFETCH_DISTANCE, columns_ahead, row_panels};
use super::sums::sum_rows;
use crate::Real;

/// Rows per task.
const ROWS: usize = 32;

/// The shape and the parameters of an attention layer.
#[derive(Clone, Copy, Debug)]
pub struct AttentionInput<'a> {
    /// The sparsity pattern, n × n: node i attends to the columns of row i. Values are not used.
    pub pattern: CsrView<'a>,
    /// For each entry (i, j), the index of (j, i): see [`reverse_entries`].
    pub reverse: &'a [u32],
    /// Number of heads.
    pub heads: usize,
    /// Width of each head.
    pub width: usize,
    /// Attention vector of the source (the neighbor), heads·width.
    pub a_src: &'a [Real],
    /// Attention vector of the target (the node itself), heads·width.
    pub a_dst: &'a [Real],
    /// Slope of the leaky ReLU on the scores.
    pub slope: Real,
    /// Dropout factors of α, entries × heads; `None` without dropout.
    pub factors: Option<&'a [Real]>,
}

impl AttentionInput<'_> {
    fn check(&self, h: &[Real]) {
        self.pattern.check();
        let (n, entries, wide) = (self.pattern.n_rows, self.pattern.columns.len(), self.heads * self.width);
        assert!(n == self.pattern.n_cols && self.reverse.len() == entries && h.len() == n * wide);
        assert!(self.a_src.len() == wide && self.a_dst.len() == wide);
        assert!(self.factors.is_none_or(|factors| factors.len() == entries * self.heads));
    }

    /// The dropout factor of an entry and head.
    #[inline(always)]
    fn factor(&self, at: usize) -> Real {
        self.factors.map_or(1.0, |factors| factors[at])
    }
}

/// For each entry (i, j) of a symmetric pattern with sorted rows, the index of (j, i).
///
/// # Panics
/// If the pattern is not symmetric.
pub fn reverse_entries(pattern: CsrView<'_>) -> Vec<u32> {
    pattern.check();
    // Rows are sorted, so the entries (j, i) of row j are met in order as i increases.
    let mut next: Vec<usize> = pattern.offsets[..pattern.n_rows].to_vec();
    let mut reverse = vec![0u32; pattern.columns.len()];
    for row in 0..pattern.n_rows {
        let span = pattern.offsets[row]..pattern.offsets[row + 1];
        for (&other, reverse) in pattern.columns[span.clone()].iter().zip(&mut reverse[span]) {
            let other = other as usize;
            let at = next[other];
            assert!(
                at < pattern.offsets[other + 1] && pattern.columns[at] as usize == row,
                "a symmetric pattern"
            );
            *reverse = at as u32;
            next[other] += 1;
        }
    }
    reverse
}

/// The forward pass. Saves the attention in `alpha` and the derivative of the leaky ReLU in `pre` (both entries × heads) for the
/// backward pass.
pub fn forward(
    layer: AttentionInput<'_>,
    h: &[Real],
    alpha: &mut [Real],
    pre: &mut [Real],
    out: &mut [Real],
) {
    layer.check(h);
    rows_forward(layer, None, h, alpha, pre, out);
}

/// [`forward`] for some rows of a larger pattern: the columns are rows of `h`, and node i itself is row `own[i]`. Saves nothing
/// for a backward pass, so `layer.reverse` may be empty.
pub fn forward_rows(layer: AttentionInput<'_>, own: &[u32], h: &[Real], out: &mut [Real]) {
    layer.pattern.check();
    let wide = layer.heads * layer.width;
    assert!(own.len() == layer.pattern.n_rows && h.len() == layer.pattern.n_cols * wide);
    assert!(layer.a_src.len() == wide && layer.a_dst.len() == wide && layer.factors.is_none());
    scratch::with(2 * layer.pattern.columns.len() * layer.heads, |both: &mut [Real]| {
        let (alpha, pre) = both.split_at_mut(layer.pattern.columns.len() * layer.heads);
        rows_forward(layer, Some(own), h, alpha, pre, out);
    });
}

fn rows_forward(
    layer: AttentionInput<'_>,
    own: Option<&[u32]>,
    h: &[Real],
    alpha: &mut [Real],
    pre: &mut [Real],
    out: &mut [Real],
) {
    let (n, heads, wide) = (layer.pattern.n_rows, layer.heads, layer.heads * layer.width);
    let sources = layer.pattern.n_cols;
    assert!(
        alpha.len() == layer.pattern.columns.len() * heads
            && pre.len() == alpha.len()
            && out.len() == n * wide
    );
    scratch::with(2 * sources * heads, |scores: &mut [Real]| {
        let (src, dst) = scores.split_at_mut(sources * heads);
        head_scores(layer, h, src, dst);
        let (src, dst) = (&*src, &*dst);
        let (alpha, pre, out) = (SharedSlice::new(alpha), SharedSlice::new(pre), SharedSlice::new(out));
        each(n.div_ceil(ROWS), |chunk| {
            for row in chunk * ROWS..n.min((chunk + 1) * ROWS) {
                let (from, to) = (layer.pattern.offsets[row], layer.pattern.offsets[row + 1]);
                // SAFETY: each row, with its entries, belongs to one task.
                let (alpha, pre, out) = unsafe {
                    (
                        alpha.slice(from * heads, (to - from) * heads),
                        pre.slice(from * heads, (to - from) * heads),
                        out.slice(row * wide, wide),
                    )
                };
                let columns = &layer.pattern.columns[from..to];
                let target = own.map_or(row, |own| own[row] as usize);
                attend(layer.slope, columns, src, &dst[target * heads..(target + 1) * heads], alpha, pre);
                aggregate(layer, row, alpha, h, out);
            }
        });
    });
}

/// Elements of scratch space that [`backward`] needs, which is more than [`forward`].
pub fn scratch_len(entries: usize, n: usize, heads: usize) -> usize {
    (entries + 2 * n) * heads
}

/// The backward pass: sets `dh`, and adds to the gradients of a_src and a_dst.
pub fn backward(
    layer: AttentionInput<'_>,
    h: &[Real],
    alpha: &[Real],
    pre: &[Real],
    dout: &[Real],
    dh: &mut [Real],
    da_src: &mut [Real],
    da_dst: &mut [Real],
) {
    layer.check(h);
    let (n, heads, wide) = (layer.pattern.n_rows, layer.heads, layer.heads * layer.width);
    let entries = layer.pattern.columns.len();
    assert!(alpha.len() == entries * heads && pre.len() == alpha.len());
    assert!(dout.len() == n * wide && dh.len() == n * wide && da_src.len() == wide && da_dst.len() == wide);
    scratch::with(scratch_len(entries, n, heads), |all: &mut [Real]| {
        let (de, d_scores) = all.split_at_mut(entries * heads);
        let (d_src, d_dst) = d_scores.split_at_mut(n * heads);
        {
            let (de, d_dst) = (SharedSlice::new(de), SharedSlice::new(d_dst));
            each(n.div_ceil(ROWS), |chunk| {
                for row in chunk * ROWS..n.min((chunk + 1) * ROWS) {
                    let (from, to) = (layer.pattern.offsets[row], layer.pattern.offsets[row + 1]);
                    let span = from * heads..to * heads;
                    // SAFETY: each row, with its entries, belongs to one task.
                    let (de, d_dst) =
                        unsafe { (de.slice(span.start, span.len()), d_dst.slice(row * heads, heads)) };
                    let columns = &layer.pattern.columns[from..to];
                    attend_backward(
                        layer,
                        from,
                        columns,
                        &alpha[span.clone()],
                        &pre[span],
                        h,
                        &dout[row * wide..(row + 1) * wide],
                        de,
                        d_dst,
                    );
                }
            });
        }
        {
            let (de, d_dst) = (&*de, &*d_dst);
            let (dh, d_src) = (SharedSlice::new(dh), SharedSlice::new(d_src));
            each(n.div_ceil(ROWS), |chunk| {
                for row in chunk * ROWS..n.min((chunk + 1) * ROWS) {
                    // SAFETY: each row belongs to one task.
                    let (dh, d_src) =
                        unsafe { (dh.slice(row * wide, wide), d_src.slice(row * heads, heads)) };
                    aggregate_backward(
                        layer,
                        row,
                        alpha,
                        de,
                        dout,
                        d_src,
                        &d_dst[row * heads..(row + 1) * heads],
                        dh,
                    );
                }
            });
        }
        parameter_sums(layer, h, d_src, da_src);
        parameter_sums(layer, h, d_dst, da_dst);
    });
}

/// src = a_src·h and dst = a_dst·h for every row and head.
fn head_scores(layer: AttentionInput<'_>, h: &[Real], src: &mut [Real], dst: &mut [Real]) {
    let (n, heads, wide) = (layer.pattern.n_cols, layer.heads, layer.heads * layer.width);
    let (src, dst) = (SharedSlice::new(src), SharedSlice::new(dst));
    each(n.div_ceil(ROWS), |chunk| {
        for row in chunk * ROWS..n.min((chunk + 1) * ROWS) {
            // SAFETY: each row belongs to one task.
            let (src, dst) = unsafe { (src.slice(row * heads, heads), dst.slice(row * heads, heads)) };
            let h = &h[row * wide..(row + 1) * wide];
            dot_heads(layer.width, h, layer.a_src, src);
            dot_heads(layer.width, h, layer.a_dst, dst);
        }
    });
}

/// da = Σ_i d_score_i · h_i for every head.
fn parameter_sums(layer: AttentionInput<'_>, h: &[Real], d_score: &[Real], da: &mut [Real]) {
    let (n, heads, width, wide) = (layer.pattern.n_rows, layer.heads, layer.width, layer.heads * layer.width);
    scratch::with(wide, |total: &mut [f64]| {
        sum_chunks(n.div_ceil(8 * ROWS), total, |chunk, partial| {
            let (first, last) = (chunk * 8 * ROWS, n.min((chunk + 1) * 8 * ROWS));
            add_heads(width, &d_score[first * heads..last * heads], &h[first * wide..last * wide], partial);
        });
        da.iter_mut().zip(total.iter()).for_each(|(d, &t)| *d += t as Real);
    });
}

simd! {
    fn dot_heads[FMA](width: usize, h: &[Real], a: &[Real], out: &mut [Real]) {
        for ((h, a), o) in h.chunks_exact(width).zip(a.chunks_exact(width)).zip(out) {
            *o = short_dot::<FMA>(h, a);
        }
    }
}

simd! {
    fn add_heads[FMA](width: usize, d: &[Real], h: &[Real], partial: &mut [f64]) {
        let wide = partial.len();
        let heads = wide / width.max(1);
        sum_rows(h.len() / wide.max(1), wide, partial, |i, at, [sums]| {
            let mut done = 0;
            while done < sums.len() {
                // The rest of this head, or of the block of columns.
                let (head, place) = ((at + done) / width, (at + done) % width);
                let len = (width - place).min(sums.len() - done);
                let (d, h) = (d[i * heads + head], &h[i * wide + at + done..][..len]);
                sums[done..done + len].iter_mut().zip(h).for_each(|(sum, &h)| *sum = madd::<FMA>(d, h, *sum));
                done += len;
            }
        });
    }
}

simd! {
    /// α for the entries of one row; `pre` receives the derivative of the leaky ReLU.
    fn attend[FMA](slope: Real, columns: &[u32], src: &[Real], dst: &[Real], alpha: &mut [Real], pre: &mut [Real]) {
        let heads = dst.len();
        for (k, &dst) in dst.iter().enumerate() {
            let mut max = Real::NEG_INFINITY;
            for (e, &column) in columns.iter().enumerate() {
                let score = src[column as usize * heads + k] + dst;
                let along = if score > 0.0 { 1.0 } else { slope };
                pre[e * heads + k] = along;
                alpha[e * heads + k] = score * along;
                max = max.max(score * along);
            }
            let mut sum = 0.0;
            for e in 0..columns.len() {
                let a = &mut alpha[e * heads + k];
                *a = exp::<FMA>(*a - max);
                sum += *a;
            }
            (0..columns.len()).for_each(|e| alpha[e * heads + k] /= sum);
        }
    }
}

simd! {
    fn aggregate[FMA](layer: AttentionInput<'_>, row: usize, alpha: &[Real], h: &[Real], out: &mut [Real]) {
        let (pattern, wide, heads, width) = (layer.pattern, out.len(), layer.heads, layer.width);
        let (columns, ahead) = (pattern.row(row).0, columns_ahead::<PREFETCH_DISTANCE>(pattern, row, pattern.n_rows));
        let first = pattern.offsets[row] * heads;
        for k in 0..heads {
            let value = |e: usize| alpha[e * heads + k] * layer.factor(first + e * heads + k);
            row_panels::<FMA, PANEL>(columns, value, ahead, h, wide, k * width..(k + 1) * width, out, false);
        }
    }
}

simd! {
    /// de for the entries of one row, through the aggregation, the softmax and the leaky ReLU.
    fn attend_backward[FMA](layer: AttentionInput<'_>, first: usize, columns: &[u32], alpha: &[Real], pre: &[Real], h: &[Real], dout: &[Real], de: &mut [Real], d_dst: &mut [Real]) {
        let (wide, heads, width) = (dout.len(), d_dst.len(), layer.width);
        for (e, &column) in columns.iter().enumerate() {
            if let Some(&next) = columns.get(e + 2) {
                prefetch(h, next as usize * wide, wide);
            }
            let h = &h[column as usize * wide..(column as usize + 1) * wide];
            for ((h, dout), de) in h.chunks_exact(width).zip(dout.chunks_exact(width)).zip(&mut de[e * heads..]) {
                *de = short_dot::<FMA>(h, dout);
            }
        }
        if let Some(factors) = layer.factors {
            de.iter_mut().zip(&factors[first * heads..]).for_each(|(de, factor)| *de *= factor);
        }
        for (k, d_dst) in d_dst.iter_mut().enumerate() {
            let mean: Real = (0..columns.len()).map(|e| alpha[e * heads + k] * de[e * heads + k]).sum();
            *d_dst = 0.0;
            for at in (0..columns.len()).map(|e| e * heads + k) {
                de[at] = alpha[at] * (de[at] - mean) * pre[at];
                *d_dst += de[at];
            }
        }
    }
}

simd! {
    /// dh for one row, through the aggregation of its neighbors and through its two scores.
    fn aggregate_backward[FMA](layer: AttentionInput<'_>, row: usize, alpha: &[Real], de: &[Real], dout: &[Real], d_src: &mut [Real], d_dst: &[Real], dh: &mut [Real]) {
        let (wide, heads, width) = (dh.len(), layer.heads, layer.width);
        let (columns, ahead) = (layer.pattern.row(row).0, columns_ahead::<PREFETCH_DISTANCE>(layer.pattern, row, layer.pattern.n_rows));
        let back = &layer.reverse[layer.pattern.offsets[row]..layer.pattern.offsets[row + 1]];
        d_src.fill(0.0);
        for &back in back {
            let de = &de[back as usize * heads..(back as usize + 1) * heads];
            d_src.iter_mut().zip(de).for_each(|(d, &e)| *d += e);
        }
        for k in 0..heads {
            let value = |e: usize| {
                let at = back[e] as usize * heads + k;
                alpha[at] * layer.factor(at)
            };
            row_panels::<FMA, PANEL>(columns, value, ahead, dout, wide, k * width..(k + 1) * width, dh, false);
        }
        for (k, dh) in dh.chunks_exact_mut(width).enumerate() {
            let (a_src, a_dst) = (&layer.a_src[k * width..], &layer.a_dst[k * width..]);
            for (j, d) in dh.iter_mut().enumerate() {
                *d = madd::<FMA>(d_src[k], a_src[j], madd::<FMA>(d_dst[k], a_dst[j], *d));
            }
        }
    }
}

#[cfg(test)]
mod tests;
