//! Column-wise scaling and dot products, and weighted dot products of pairs of rows.

use super::parallel::{chunk_rows, each_chunk, sum_chunks};
use super::scratch;
use super::simd::madd;
use crate::Real;

/// Multiplies each column by a factor: `out[i][j] = factors[j]·x[i][j]`. With `add`, the result is added to `out`.
pub fn scale(cols: usize, factors: &[Real], x: &[Real], out: &mut [Real], add: bool) {
    assert!(factors.len() == cols && x.len() == out.len());
    if cols == 0 {
        return;
    }
    let span = chunk_rows(cols) * cols;
    each_chunk(out, span, |start, out| scale_chunk(cols, factors, &x[start..][..out.len()], out, add));
}

/// `out[j] = Σ_i x[i][j]·y[i][j]`.
pub fn dots(cols: usize, x: &[Real], y: &[Real], out: &mut [Real]) {
    assert!(out.len() == cols && x.len() == y.len());
    if cols == 0 {
        return;
    }
    let span = chunk_rows(cols) * cols;
    scratch::with(cols, |total: &mut [f64]| {
        sum_chunks(x.len().div_ceil(span), total, |chunk, partial| {
            let part = chunk * span..x.len().min((chunk + 1) * span);
            dots_chunk(cols, &x[part.clone()], &y[part], partial);
        });
        out.iter_mut().zip(total.iter()).for_each(|(out, &total)| *out = total as Real);
    });
}

/// `out[p] = Σ_k weights[k]·z[us[p]][k]·z[vs[p]][k]`, without copying rows.
pub fn weighted_pair_dot(
    z: &[Real],
    width: usize,
    weights: &[Real],
    us: &[u32],
    vs: &[u32],
    out: &mut [Real],
) {
    assert!(us.len() == out.len() && vs.len() == out.len() && weights.len() == width);
    const PAIRS: usize = 256;
    each_chunk(out, PAIRS, |start, out| {
        let pairs = start..start + out.len();
        weighted_pairs(z, width, weights, &us[pairs.clone()], &vs[pairs], out);
    });
}

simd! {
    fn weighted_pairs[FMA](z: &[Real], width: usize, weights: &[Real], us: &[u32], vs: &[u32], out: &mut [Real]) {
        const LANES: usize = 16;
        for ((o, &u), &v) in out.iter_mut().zip(us).zip(vs) {
            let (a, b) = (&z[u as usize * width..][..width], &z[v as usize * width..][..width]);
            let mut lanes = [0.0; LANES];
            let whole = width / LANES * LANES;
            for at in (0..whole).step_by(LANES) {
                let (a, b, w) = (&a[at..at + LANES], &b[at..at + LANES], &weights[at..at + LANES]);
                for i in 0..LANES {
                    lanes[i] = madd::<FMA>(a[i] * w[i], b[i], lanes[i]);
                }
            }
            let rest: Real = (whole..width).map(|k| a[k] * weights[k] * b[k]).sum();
            *o = lanes.iter().sum::<Real>() + rest;
        }
    }
}

simd! {
    fn scale_chunk[FMA](cols: usize, factors: &[Real], x: &[Real], out: &mut [Real], add: bool) {
        for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(cols)) {
            for ((o, &x), &factor) in out.iter_mut().zip(x).zip(factors) {
                *o = if add { madd::<FMA>(factor, x, *o) } else { factor * x };
            }
        }
    }
}

simd! {
    fn dots_chunk[FMA](cols: usize, x: &[Real], y: &[Real], partial: &mut [f64]) {
        for (x, y) in x.chunks_exact(cols).zip(y.chunks_exact(cols)) {
            for ((sum, &x), &y) in partial.iter_mut().zip(x).zip(y) {
                *sum += f64::from(x) * f64::from(y);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn each_equals_its_definition_at_any_thread_count() {
        let (rows, cols) = (150, 37);
        let mut numbers = Numbers::new(7);
        let (x, y, w) = (numbers.vec(rows * cols), numbers.vec(rows * cols), numbers.vec(cols));
        let cell = |i: usize, j: usize| f64::from(w[j]) * f64::from(x[i * cols + j]);
        assert_same_at_any_thread_count(|| {
            let mut out = y.clone();
            scale(cols, &w, &x, &mut out, true);
            let want: Vec<Real> =
                (0..rows * cols).map(|at| (cell(at / cols, at % cols) + f64::from(y[at])) as Real).collect();
            assert_close(&out, &want, 1e-6);
            out
        });
        assert_same_at_any_thread_count(|| {
            let mut out = vec![0.0; cols];
            dots(cols, &x, &y, &mut out);
            let sum = |j: usize| {
                (0..rows).map(|i| f64::from(x[i * cols + j]) * f64::from(y[i * cols + j])).sum::<f64>()
            };
            assert_close(&out, &(0..cols).map(|j| sum(j) as Real).collect::<Vec<_>>(), 1e-5);
            out
        });
        let (us, vs): (Vec<u32>, Vec<u32>) = (0..600u32).map(|p| (p * 7 % 150, p * 13 % 150)).unzip();
        assert_same_at_any_thread_count(|| {
            let mut out = vec![0.0; us.len()];
            weighted_pair_dot(&x, cols, &w, &us, &vs, &mut out);
            let score = |p: usize| {
                (0..cols)
                    .map(|k| cell(us[p] as usize, k) * f64::from(x[vs[p] as usize * cols + k]))
                    .sum::<f64>()
            };
            assert_close(&out, &(0..us.len()).map(|p| score(p) as Real).collect::<Vec<_>>(), 1e-5);
            out
        });
    }
}
