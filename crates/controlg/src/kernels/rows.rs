//! Operations on rows and on whole slices: gather, scatter, normalize, scale, add.

use super::parallel::{CHUNK, SharedSlice, chunk_rows, each, each_chunk};
use super::simd::madd;
use crate::Real;

/// Lower bound of the divisor in [`row_normalize`].
pub const SMALLEST_NORM: Real = 1e-8;

/// `out[i] = x[index[i]]`.
pub fn gather_rows(cols: usize, x: &[Real], index: &[u32], out: &mut [Real]) {
    assert_eq!(out.len(), index.len() * cols);
    if cols == 0 {
        return;
    }
    let step = chunk_rows(cols);
    each_chunk(out, step * cols, |start, out| {
        for (out, &i) in out.chunks_exact_mut(cols).zip(&index[start / cols..]) {
            out.copy_from_slice(&x[i as usize * cols..(i as usize + 1) * cols]);
        }
    });
}

/// `out[index[i]] += x[i]`, in the order of i.
pub fn scatter_add_rows(cols: usize, x: &[Real], index: &[u32], out: &mut [Real]) {
    assert_eq!(x.len(), index.len() * cols);
    // Each task owns a panel of columns of all rows, so tasks never collide, whatever the indices.
    const PANEL: usize = 64;
    let shared = SharedSlice::new(out);
    each(cols.div_ceil(PANEL), |panel| {
        let (from, len) = (panel * PANEL, PANEL.min(cols - panel * PANEL));
        for (i, &to) in index.iter().enumerate() {
            // SAFETY: different tasks write different columns.
            let out = unsafe { shared.slice(to as usize * cols + from, len) };
            add_chunk(1.0, &x[i * cols + from..i * cols + from + len], out);
        }
    });
}

/// `out[i] = row` for every i in `index`.
pub fn fill_rows(cols: usize, row: &[Real], index: &[u32], out: &mut [Real]) {
    assert_eq!(row.len(), cols);
    index.iter().for_each(|&i| out[i as usize * cols..(i as usize + 1) * cols].copy_from_slice(row));
}

/// out = x / max(‖x‖, 1e-8) for every row; `norms` receives the divisors.
pub fn row_normalize(rows: usize, cols: usize, x: &[Real], out: &mut [Real], norms: &mut [Real]) {
    assert!(x.len() == rows * cols && out.len() == rows * cols && norms.len() == rows);
    if cols == 0 {
        return norms.fill(SMALLEST_NORM);
    }
    let step = chunk_rows(cols);
    let norms = SharedSlice::new(norms);
    each_chunk(out, step * cols, |start, out| {
        // SAFETY: different chunks have different rows.
        let norms = unsafe { norms.slice(start / cols, out.len() / cols) };
        normalize_chunk(cols, &x[start..][..out.len()], out, norms);
    });
}

/// The backward pass of [`row_normalize`] from its output: dx = (dout − out (out·dout)) / norm. With `add`, the gradient is added
/// to `dx`.
pub fn row_normalize_backward(
    rows: usize,
    cols: usize,
    out: &[Real],
    norms: &[Real],
    dout: &[Real],
    dx: &mut [Real],
    add: bool,
) {
    assert!(
        out.len() == rows * cols
            && dout.len() == rows * cols
            && dx.len() == rows * cols
            && norms.len() == rows
    );
    if cols == 0 {
        return;
    }
    let step = chunk_rows(cols);
    each_chunk(dx, step * cols, |start, dx| {
        let span = start..start + dx.len();
        let norms = &norms[start / cols..][..dx.len() / cols];
        normalize_backward_chunk(cols, &out[span.clone()], norms, &dout[span], dx, add);
    });
}

/// out = scale·x where `keep` is set, else 0. The backward pass is the same call on the gradient.
pub fn dropout(x: &[Real], keep: &[bool], scale: Real, out: &mut [Real]) {
    assert!(x.len() == out.len() && keep.len() == out.len());
    each_chunk(out, CHUNK, |start, out| {
        for ((o, &x), &keep) in out.iter_mut().zip(&x[start..]).zip(&keep[start..]) {
            *o = if keep { x * scale } else { 0.0 };
        }
    });
}

/// y += alpha·x.
pub fn axpy(alpha: Real, x: &[Real], y: &mut [Real]) {
    assert_eq!(x.len(), y.len());
    each_chunk(y, CHUNK, |start, y| add_chunk(alpha, &x[start..], y));
}

/// out = Σₖ weights[k]·xs[k], in one pass.
pub fn combine(weights: &[f64], xs: &[Vec<Real>], out: &mut [Real]) {
    assert!(weights.len() == xs.len() && xs.iter().all(|x| x.len() == out.len()));
    each_chunk(out, CHUNK, |start, out| {
        out.fill(0.0);
        for (&weight, x) in weights.iter().zip(xs) {
            add_chunk(weight as Real, &x[start..], out);
        }
    });
}

/// x *= alpha.
pub fn scale(alpha: Real, x: &mut [Real]) {
    each_chunk(x, CHUNK, |_, x| x.iter_mut().for_each(|x| *x *= alpha));
}

/// out = x.
pub fn copy<T: Copy + Send + Sync>(x: &[T], out: &mut [T]) {
    assert_eq!(x.len(), out.len());
    each_chunk(out, CHUNK, |start, out| out.copy_from_slice(&x[start..][..out.len()]));
}

/// out = value.
pub fn fill<T: Copy + Send + Sync>(value: T, out: &mut [T]) {
    each_chunk(out, CHUNK, |_, out| out.fill(value));
}

/// out = x ⊙ y. With `add`, the product is added to `out`.
pub fn hadamard(x: &[Real], y: &[Real], out: &mut [Real], add: bool) {
    assert!(x.len() == out.len() && y.len() == out.len());
    each_chunk(out, CHUNK, |start, out| hadamard_chunk(&x[start..], &y[start..], out, add));
}

/// Multiplies each row by a factor: `out[i] = factors[i]·x[i]`. With `add`, the result is added to `out`.
pub fn scale_rows(cols: usize, factors: &[Real], x: &[Real], out: &mut [Real], add: bool) {
    assert!(x.len() == factors.len() * cols && out.len() == x.len());
    if cols == 0 {
        return;
    }
    let step = chunk_rows(cols);
    each_chunk(out, step * cols, |start, out| {
        let rows = out.chunks_exact_mut(cols).zip(x[start..].chunks_exact(cols));
        for ((out, x), &factor) in rows.zip(&factors[start / cols..]) {
            if add {
                add_chunk(factor, x, out);
            } else {
                out.iter_mut().zip(x).for_each(|(o, &x)| *o = factor * x);
            }
        }
    });
}

simd! {
    pub(super) fn add_chunk[FMA](alpha: Real, x: &[Real], y: &mut [Real]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = madd::<FMA>(alpha, x, *y);
        }
    }
}

simd! {
    fn hadamard_chunk[FMA](x: &[Real], y: &[Real], out: &mut [Real], add: bool) {
        if add {
            out.iter_mut().zip(x).zip(y).for_each(|((o, &x), &y)| *o = madd::<FMA>(x, y, *o));
        } else {
            out.iter_mut().zip(x).zip(y).for_each(|((o, &x), &y)| *o = x * y);
        }
    }
}

/// x·y in 32 accumulators.
#[inline(always)]
pub(crate) fn short_dot<const FMA: bool>(x: &[Real], y: &[Real]) -> Real {
    const LANES: usize = 32;
    let mut lanes = [0.0; LANES];
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let mut rest = 0.0;
    for (&x, &y) in xs.remainder().iter().zip(ys.remainder()) {
        rest = madd::<FMA>(x, y, rest);
    }
    for (x, y) in xs.zip(ys) {
        for i in 0..LANES {
            lanes[i] = madd::<FMA>(x[i], y[i], lanes[i]);
        }
    }
    fold_lanes(&lanes) + rest
}

/// The sum of N accumulators, where N is a power of two. Never inlined: together with the preceding loop, the compiler would
/// vectorize that loop with 2 lanes instead of 8.
#[inline(never)]
pub(crate) fn fold_lanes<const N: usize>(lanes: &[Real; N]) -> Real {
    let mut lanes = *lanes;
    let mut width = N / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
        width /= 2;
    }
    lanes[0]
}

simd! {
    fn normalize_chunk[FMA](cols: usize, x: &[Real], out: &mut [Real], norms: &mut [Real]) {
        for ((x, out), norm) in x.chunks_exact(cols).zip(out.chunks_exact_mut(cols)).zip(norms) {
            *norm = short_dot::<FMA>(x, x).sqrt().max(SMALLEST_NORM);
            let inverse = 1.0 / *norm;
            out.iter_mut().zip(x).for_each(|(o, &x)| *o = x * inverse);
        }
    }
}

simd! {
    fn normalize_backward_chunk[FMA](cols: usize, out: &[Real], norms: &[Real], dout: &[Real], dx: &mut [Real], add: bool) {
        let rows = out.chunks_exact(cols).zip(dout.chunks_exact(cols)).zip(dx.chunks_exact_mut(cols));
        for (((y, d), dx), &norm) in rows.zip(norms) {
            // At the lower bound the divisor is constant, and the second term vanishes.
            let along = if norm > SMALLEST_NORM { short_dot::<FMA>(y, d) } else { 0.0 };
            let inverse = 1.0 / norm;
            for ((dx, &y), &d) in dx.iter_mut().zip(y).zip(d) {
                let value = madd::<FMA>(-along, y, d) * inverse;
                *dx = if add { *dx + value } else { value };
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn scatter_add_is_the_transpose_of_gather() {
        let (n, cols) = (50, 70);
        let mut numbers = Numbers::new(9);
        let x = numbers.vec(n * cols);
        let index: Vec<u32> = (0..400).map(|_| numbers.below(n) as u32).collect();
        let mut got = vec![0.0; 400 * cols];
        gather_rows(cols, &x, &index, &mut got);
        for (i, row) in got.chunks(cols).enumerate() {
            assert_eq!(row, &x[index[i] as usize * cols..][..cols]);
        }
        let back = || {
            let mut back = vec![0.0; n * cols];
            scatter_add_rows(cols, &got, &index, &mut back);
            back
        };
        let mut want = vec![0.0; n * cols];
        for (i, &to) in index.iter().enumerate() {
            (0..cols).for_each(|j| want[to as usize * cols + j] += got[i * cols + j]);
        }
        assert_close(&back(), &want, 1e-6);
        assert_same_at_any_thread_count(back);
    }

    #[test]
    fn normalized_rows_and_their_gradient() {
        let (rows, cols) = (9, 21);
        let mut numbers = Numbers::new(10);
        let mut x = numbers.vec(rows * cols);
        x[3 * cols..4 * cols].fill(0.0);
        let (mut y, mut norms, weights) = (vec![0.0; x.len()], vec![0.0; rows], numbers.vec(rows * cols));
        row_normalize(rows, cols, &x, &mut y, &mut norms);
        for (i, row) in y.chunks(cols).enumerate() {
            let norm: f64 = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            assert!((norm - if i == 3 { 0.0 } else { 1.0 }).abs() < 1e-5);
        }
        let mut dx = vec![0.0; x.len()];
        row_normalize_backward(rows, cols, &y, &norms, &weights, &mut dx, false);
        // The zero row is divided by the constant 1e-8. Its gradient is known, and too large to compare with the others.
        assert_close(
            &dx[3 * cols..4 * cols],
            &weights[3 * cols..4 * cols].iter().map(|w| w / SMALLEST_NORM).collect::<Vec<_>>(),
            1e-6,
        );
        for i in (0..rows).filter(|&i| i != 3) {
            let span = i * cols..(i + 1) * cols;
            assert_gradient(&x[span.clone()], &dx[span.clone()], |x| {
                let (mut y, mut norm) = (vec![0.0; cols], [0.0]);
                row_normalize(1, cols, x, &mut y, &mut norm);
                y.iter().zip(&weights[span.clone()]).map(|(&y, &w)| f64::from(y) * f64::from(w)).sum()
            });
        }
    }

    #[test]
    fn small_operations_equal_their_loops() {
        let n = CHUNK + 13;
        let mut numbers = Numbers::new(11);
        let (x, y) = (numbers.vec(n), numbers.vec(n));
        let keep: Vec<bool> = (0..n).map(|_| numbers.below(2) == 0).collect();
        let mut out = y.clone();
        axpy(0.5, &x, &mut out);
        assert_close(&out, &x.iter().zip(&y).map(|(x, y)| y + 0.5 * x).collect::<Vec<_>>(), 1e-6);
        hadamard(&x, &y, &mut out, false);
        hadamard(&x, &y, &mut out, true);
        assert_close(&out, &x.iter().zip(&y).map(|(x, y)| 2.0 * x * y).collect::<Vec<_>>(), 1e-6);
        scale(2.0, &mut out);
        dropout(&x, &keep, 2.0, &mut out);
        assert_eq!(out, x.iter().zip(&keep).map(|(x, &k)| if k { 2.0 * x } else { 0.0 }).collect::<Vec<_>>());
        let mut rows = vec![1.0; 6];
        scale_rows(3, &[2.0, -1.0], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &mut rows, true);
        assert_eq!(rows, [3.0, 5.0, 7.0, -3.0, -4.0, -5.0]);
        fill_rows(3, &[7.0, 8.0, 9.0], &[1], &mut rows);
        assert_eq!(rows[3..], [7.0, 8.0, 9.0]);
    }
}
