//! Sparse times dense: out = S·h, the product behind Â·H, X·W, Xᵀ·dH and the pairs' backward.

use super::Sparse;
use super::parallel::chunk_rows;
use super::simd::madd;
use crate::Real;
use rayon::prelude::*;

/// out(n_rows×width) = S · h(n_cols×width), added to `out` when `add` is set.
pub fn spmm(s: Sparse<'_>, h: &[Real], width: usize, out: &mut [Real], add: bool) {
    spmm_select(s, None, None, h, width, out, add);
}

/// [`spmm`] that leaves out entries of columns not in `keep_cols` and all entries of rows in `skip_rows`: a
/// skipped row of the product is zero.
pub fn spmm_select(
    s: Sparse<'_>,
    keep_cols: Option<&[bool]>,
    skip_rows: Option<&[bool]>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    add: bool,
) {
    s.check();
    assert!(h.len() == s.n_cols * width && out.len() == s.n_rows * width, "sizes of a sparse product");
    assert!(keep_cols.is_none_or(|keep| keep.len() == s.n_cols));
    assert!(skip_rows.is_none_or(|skip| skip.len() == s.n_rows));
    if width == 0 {
        return;
    }
    let step = chunk_rows(width);
    out.par_chunks_mut(step * width).enumerate().for_each(|(chunk, out)| {
        for (i, out) in out.chunks_exact_mut(width).enumerate() {
            let row = chunk * step + i;
            if !add {
                out.fill(0.0);
            }
            if skip_rows.is_some_and(|skip| skip[row]) {
                continue;
            }
            for (column, value) in s.entries(row) {
                if keep_cols.is_none_or(|keep| keep[column]) {
                    add_row(value, &h[column * width..(column + 1) * width], out);
                }
            }
        }
    });
}

/// In the map of [`spmm_mapped`]: a column that is left out.
pub const NOWHERE: u32 = u32::MAX;

/// out[i] = row `rows[i]` of S · h: the product for chosen rows.
pub fn spmm_rows(s: Sparse<'_>, rows: &[u32], h: &[Real], width: usize, out: &mut [Real], add: bool) {
    s.check();
    assert!(h.len() == s.n_cols * width && out.len() == rows.len() * width, "sizes of a sparse product");
    if width == 0 {
        return;
    }
    let step = chunk_rows(width);
    out.par_chunks_mut(step * width).zip(rows.par_chunks(step)).for_each(|(out, rows)| {
        for (out, &row) in out.chunks_exact_mut(width).zip(rows) {
            if !add {
                out.fill(0.0);
            }
            for (column, value) in s.entries(row as usize) {
                add_row(value, &h[column * width..(column + 1) * width], out);
            }
        }
    });
}

/// [`spmm`] whose column c reads row `map[c]` of `h`, or nothing where that is [`NOWHERE`].
pub fn spmm_mapped(s: Sparse<'_>, map: &[u32], h: &[Real], width: usize, out: &mut [Real], add: bool) {
    s.check();
    assert!(map.len() == s.n_cols && out.len() == s.n_rows * width, "sizes of a sparse product");
    if width == 0 {
        return;
    }
    let step = chunk_rows(width);
    out.par_chunks_mut(step * width).enumerate().for_each(|(chunk, out)| {
        for (i, out) in out.chunks_exact_mut(width).enumerate() {
            if !add {
                out.fill(0.0);
            }
            for (column, value) in s.entries(chunk * step + i) {
                if map[column] != NOWHERE {
                    let source = map[column] as usize;
                    add_row(value, &h[source * width..(source + 1) * width], out);
                }
            }
        }
    });
}

simd! {
    fn add_row[FMA](value: Real, x: &[Real], out: &mut [Real]) {
        for (o, &x) in out.iter_mut().zip(x) {
            *o = madd::<FMA>(value, x, *o);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::matmul;
    use super::super::testing::*;
    use super::*;

    #[test]
    fn equals_the_dense_product() {
        let mut numbers = Numbers::new(5);
        for width in [1, 3, 8, 20, 64, 100, 256, 333, 512] {
            let s = Owned::random(90, 70, 9, &mut numbers);
            let h = numbers.vec(70 * width);
            let start = numbers.vec(90 * width);
            let keep: Vec<bool> = (0..70).map(|_| numbers.below(3) > 0).collect();
            let skip: Vec<bool> = (0..90).map(|_| numbers.below(3) == 0).collect();
            for (keep, skip) in [(None, None), (Some(&keep[..]), None), (Some(&keep[..]), Some(&skip[..]))] {
                let mut dense = s.dense();
                for (i, row) in dense.chunks_exact_mut(70).enumerate() {
                    for (j, x) in row.iter_mut().enumerate() {
                        if keep.is_some_and(|k| !k[j]) || skip.is_some_and(|s| s[i]) {
                            *x = 0.0;
                        }
                    }
                }
                for add in [false, true] {
                    let (mut got, mut want) = (start.clone(), start.clone());
                    spmm_select(s.view(), keep, skip, &h, width, &mut got, add);
                    matmul::nn(90, 70, width, &dense, &h, &mut want, add);
                    assert_close(&got, &want, 1e-5);
                }
            }
        }
    }

    #[test]
    fn without_values_every_entry_is_one_and_empty_rows_are_zero() {
        let s = Sparse { n_rows: 3, n_cols: 2, offsets: &[0, 2, 2, 3], columns: &[0, 1, 1], values: None };
        let mut out = [9.0; 6];
        spmm(s, &[1.0, 2.0, 3.0, 4.0], 2, &mut out, false);
        assert_eq!(out, [4.0, 6.0, 0.0, 0.0, 3.0, 4.0]);
    }

    #[test]
    fn any_thread_count_gives_the_same_bytes() {
        let mut numbers = Numbers::new(6);
        let s = Owned::random(2000, 1500, 20, &mut numbers);
        let h = numbers.vec(1500 * 96);
        assert_same_at_any_thread_count(|| {
            let mut out = vec![0.0; 2000 * 96];
            spmm(s.view(), &h, 96, &mut out, false);
            out
        });
    }
}
