//! Sparse-dense products with a subset of the entries of the sparse matrix: some rows, some columns, or entries kept by
//! dropout. The selected entries are copied to scratch memory, and the plain product does the rest.

use super::CsrView;
use super::feature_dropout::FeatureDropout;
use super::parallel::{SharedSlice, each};
use super::scratch;
use super::spmm::{self, spmm};
use crate::Real;

/// Which entries of a sparse matrix take part in a product; by default, all of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection<'a> {
    /// Entries in the columns marked `true`.
    pub keep_cols: Option<&'a [bool]>,
    /// Entries outside the rows marked `true`; these rows of the product are zero.
    pub skip_rows: Option<&'a [bool]>,
    /// Entries kept by dropout.
    pub dropout: Option<FeatureDropout>,
}

/// [`spmm`] with the selected entries of S only.
pub fn spmm_select(
    s: CsrView<'_>,
    selection: Selection<'_>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    add: bool,
) {
    let Selection { keep_cols, skip_rows, dropout } = selection;
    assert!(keep_cols.is_none_or(|keep| keep.len() == s.n_cols));
    assert!(skip_rows.is_none_or(|skip| skip.len() == s.n_rows));
    if keep_cols.is_none() && skip_rows.is_none() && dropout.is_none() {
        return spmm(s, h, width, out, add);
    }
    let row = |i: usize| skip_rows.is_none_or(|skip| !skip[i]).then_some(i);
    let column = |i: usize, j: u32| {
        let kept = keep_cols.is_none_or(|keep| keep[j as usize]);
        (kept && dropout.is_none_or(|dropout| dropout.keeps(i, j as usize))).then_some(j)
    };
    with_selected(s, s.n_rows, s.n_cols, row, column, |selected| spmm(selected, h, width, out, add));
}

/// Elements of the scratch buffers that [`spmm_select`] uses at the same time if it selects entries.
pub fn scratch_lens(s: CsrView<'_>, width: usize) -> Vec<usize> {
    let offsets = (s.n_rows + 1) * (size_of::<usize>() / size_of::<u32>());
    let mut lens = vec![s.columns.len(), s.columns.len(), offsets];
    lens.extend(spmm::scratch_lens(s, width));
    lens
}

/// A column without a row of `h` in the map of [`spmm_mapped`].
pub const UNMAPPED: u32 = u32::MAX;

/// Selected rows of the product: `out[i]` = row `rows[i]` of S·h.
pub fn spmm_rows(s: CsrView<'_>, rows: &[u32], h: &[Real], width: usize, out: &mut [Real], add: bool) {
    let row = |i: usize| Some(rows[i] as usize);
    with_selected(
        s,
        rows.len(),
        s.n_cols,
        row,
        |_, j| Some(j),
        |selected| spmm(selected, h, width, out, add),
    );
}

/// [`spmm`] with renamed columns: column c of S multiplies row `map[c]` of `h`, or nothing if that is [`UNMAPPED`].
pub fn spmm_mapped(s: CsrView<'_>, map: &[u32], h: &[Real], width: usize, out: &mut [Real], add: bool) {
    assert_eq!(map.len(), s.n_cols, "one row of h per column");
    let column = |_: usize, j: u32| Some(map[j as usize]).filter(|&to| to != UNMAPPED);
    let n_source = h.len() / width.max(1);
    with_selected(s, s.n_rows, n_source, Some, column, |selected| spmm(selected, h, width, out, add));
}

/// Builds a matrix of selected entries in scratch memory and passes it to `work`. Row i is row `row(i)` of S, or empty;
/// entry (i, j) moves to column `column(i, j)`, or is dropped.
fn with_selected(
    s: CsrView<'_>,
    n_rows: usize,
    n_cols: usize,
    row: impl Fn(usize) -> Option<usize> + Sync,
    column: impl Fn(usize, u32) -> Option<u32> + Sync,
    work: impl FnOnce(CsrView<'_>),
) {
    s.check();
    const ROWS: usize = 256;
    let source = |i: usize| row(i).map_or((&[][..], None), |row| s.row(row));
    scratch::with(n_rows + 1, |offsets: &mut [usize]| {
        offsets[0] = 0;
        let counts = SharedSlice::new(&mut offsets[1..]);
        each(n_rows.div_ceil(ROWS), |task| {
            for i in task * ROWS..n_rows.min((task + 1) * ROWS) {
                // SAFETY: each task writes the counts of its own rows.
                unsafe {
                    counts.slice(i, 1)[0] =
                        source(i).0.iter().map(|&j| usize::from(column(i, j).is_some())).sum()
                };
            }
        });
        for i in 0..n_rows {
            offsets[i + 1] += offsets[i];
        }
        let offsets = &*offsets;
        let entries = offsets[n_rows];
        scratch::with(entries, |columns: &mut [u32]| {
            scratch::with(if s.values.is_some() { entries } else { 0 }, |values: &mut [Real]| {
                let (to_columns, to_values) = (SharedSlice::new(columns), SharedSlice::new(values));
                each(n_rows.div_ceil(ROWS), |task| {
                    for i in task * ROWS..n_rows.min((task + 1) * ROWS) {
                        let (from, len) = (offsets[i], offsets[i + 1] - offsets[i]);
                        let (all_columns, values) = source(i);
                        // SAFETY: each task writes the entries of its own rows, and rows do not overlap.
                        let to = unsafe { to_columns.slice(from, len) };
                        // SAFETY: as for the columns.
                        let to_values = values.map(|_| unsafe { to_values.slice(from, len) });
                        let values = values.zip(to_values);
                        copy_selected(all_columns, values, |j| column(i, j), to);
                    }
                });
                let values = s.values.map(|_| &*values);
                work(CsrView { n_rows, n_cols, offsets, columns, values });
            });
        });
    });
}

/// Copies the selected entries of a row. Whether an entry is selected is hard to predict, so every entry is written, and the
/// place is moved on only if it is selected.
#[inline(always)]
fn copy_selected(
    columns: &[u32],
    values: Option<(&[Real], &mut [Real])>,
    column: impl Fn(u32) -> Option<u32>,
    to: &mut [u32],
) {
    if to.len() == columns.len() {
        to.iter_mut().zip(columns).for_each(|(to, &j)| *to = column(j).unwrap_or(j));
        if let Some((values, to)) = values {
            to.copy_from_slice(values);
        }
        return;
    }
    let mut place = 0;
    match values {
        None => {
            for &j in columns {
                let Some(to) = to.get_mut(place) else { return };
                let selected = column(j);
                *to = selected.unwrap_or(0);
                place += usize::from(selected.is_some());
            }
        }
        Some((values, to_values)) => {
            for (&j, &value) in columns.iter().zip(values) {
                let (Some(to), Some(to_value)) = (to.get_mut(place), to_values.get_mut(place)) else {
                    return;
                };
                let selected = column(j);
                (*to, *to_value) = (selected.unwrap_or(0), value);
                place += usize::from(selected.is_some());
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::super::matmul;
    use super::super::testing::*;
    use super::*;

    #[test]
    fn selected_entries_give_the_dense_product() {
        let mut numbers = Numbers::new(5);
        for width in [1, 3, 8, 20, 64, 100, 256, 333, 512] {
            let s = OwnedCsr::random(90, 70, 9, &mut numbers);
            let h = numbers.vec(70 * width);
            let start = numbers.vec(90 * width);
            let keep: Vec<bool> = (0..70).map(|_| numbers.below(3) > 0).collect();
            let skip: Vec<bool> = (0..90).map(|_| numbers.below(3) == 0).collect();
            let dropout = Some(FeatureDropout::new(0.3, 5));
            for (keep, skip, dropout) in [
                (None, None, None),
                (Some(&keep[..]), None, None),
                (Some(&keep[..]), Some(&skip[..]), None),
                (None, None, dropout),
                (Some(&keep[..]), Some(&skip[..]), dropout),
            ] {
                let mut dense = s.dense();
                for (i, row) in dense.chunks_exact_mut(70).enumerate() {
                    for (j, x) in row.iter_mut().enumerate() {
                        let dropped = dropout.is_some_and(|d| !d.keeps(i, j));
                        if dropped || keep.is_some_and(|k| !k[j]) || skip.is_some_and(|s| s[i]) {
                            *x = 0.0;
                        }
                    }
                }
                for add in [false, true] {
                    let (mut got, mut want) = (start.clone(), start.clone());
                    let selection = Selection { keep_cols: keep, skip_rows: skip, dropout };
                    spmm_select(s.view(), selection, &h, width, &mut got, add);
                    matmul::nn(90, 70, width, &dense, &h, &mut want, add);
                    assert_close(&got, &want, 1e-5);
                }
            }
        }
    }

    #[test]
    fn selected_rows_and_mapped_columns() {
        let mut numbers = Numbers::new(27);
        let s = OwnedCsr::random(40, 30, 6, &mut numbers);
        let h = numbers.vec(30 * 5);
        let mut whole = vec![0.0; 40 * 5];
        spmm(s.view(), &h, 5, &mut whole, false);
        let rows = [7, 3, 3, 39];
        let mut some = vec![0.0; 4 * 5];
        spmm_rows(s.view(), &rows, &h, 5, &mut some, false);
        for (row, got) in rows.iter().zip(some.chunks(5)) {
            assert_eq!(got, &whole[*row as usize * 5..][..5]);
        }
        // The first twenty columns reversed, the last ten unmapped.
        let map: Vec<u32> = (0..30).map(|j| if j < 20 { 19 - j } else { UNMAPPED }).collect();
        let keep: Vec<bool> = (0..30).map(|j| j < 20).collect();
        let mut reversed = vec![0.0; 20 * 5];
        (0..20).for_each(|j| reversed[(19 - j) * 5..(20 - j) * 5].copy_from_slice(&h[j * 5..(j + 1) * 5]));
        let (mut got, mut want) = (vec![0.0; 40 * 5], vec![0.0; 40 * 5]);
        spmm_mapped(s.view(), &map, &reversed, 5, &mut got, false);
        spmm_select(
            s.view(),
            Selection { keep_cols: Some(&keep), ..Selection::default() },
            &h,
            5,
            &mut want,
            false,
        );
        assert_eq!(got, want);
    }

    #[test]
    fn masked_columns_of_a_matrix_without_values() {
        let s = CsrView { n_rows: 3, n_cols: 2, offsets: &[0, 2, 2, 3], columns: &[0, 1, 1], values: None };
        let mut out = [9.0; 6];
        let second = Selection { keep_cols: Some(&[false, true]), ..Selection::default() };
        spmm_select(s, second, &[1.0, 2.0, 3.0, 4.0], 2, &mut out, false);
        assert_eq!(out, [3.0, 4.0, 0.0, 0.0, 3.0, 4.0]);
    }

    #[test]
    fn any_thread_count_gives_the_same_bytes() {
        let mut numbers = Numbers::new(6);
        let s = OwnedCsr::random(2000, 1500, 20, &mut numbers);
        let keep: Vec<bool> = (0..1500).map(|_| numbers.below(3) > 0).collect();
        let h = numbers.vec(1500 * 96);
        assert_same_at_any_thread_count(|| {
            let mut out = vec![0.0; 2000 * 96];
            spmm(s.view(), &h, 96, &mut out, false);
            spmm_select(
                s.view(),
                Selection { keep_cols: Some(&keep), ..Selection::default() },
                &h,
                96,
                &mut out,
                true,
            );
            out
        });
    }
}
