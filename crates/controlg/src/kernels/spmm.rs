//! Sparse times dense: out = S·h, the product behind Â·H, X·W, Xᵀ·dH and the pairs' backward.
//!
//! A row's entries are summed in registers, a strip of columns at a time, and each result is written once. Where
//! rows of `h` are read often and `h` is larger than the caches, strips of it are copied first (`strips.rs`).

use super::CsrView;
use super::feature_dropout::FeatureDropout;
use super::parallel::{Shared, each};
use super::rowwise::{Act, activate};
use super::scratch;
use super::simd::{madd, prefetch};
use super::strips;
use crate::Real;
use std::ops::Range;

/// out(n_rows×width) = S · h(n_cols×width), added to `out` when `add` is set.
pub fn spmm(s: CsrView<'_>, h: &[Real], width: usize, out: &mut [Real], add: bool) {
    product(s, h, width, out, add, None);
}

/// out = act(S·h + bias): the tail is applied while a row is still in the cache.
pub fn spmm_bias_act(
    s: CsrView<'_>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    bias: Option<&[Real]>,
    act: Act,
    slope: Real,
) {
    assert!(bias.is_none_or(|bias| bias.len() == width));
    product(s, h, width, out, false, Some(SpmmEpilogue { bias, act, slope }));
}

/// Which entries of a sparse matrix take part in a product; all by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection<'a> {
    /// Those of the columns marked true.
    pub keep_cols: Option<&'a [bool]>,
    /// Not those of the rows marked true: such a row of the product is zero.
    pub skip_rows: Option<&'a [bool]>,
    /// Those that stay.
    pub thinned: Option<FeatureDropout>,
}

/// [`spmm`] with the selected entries of S.
pub fn spmm_select(
    s: CsrView<'_>,
    selection: Selection<'_>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    add: bool,
) {
    let Selection { keep_cols, skip_rows, thinned } = selection;
    assert!(keep_cols.is_none_or(|keep| keep.len() == s.n_cols));
    assert!(skip_rows.is_none_or(|skip| skip.len() == s.n_rows));
    if keep_cols.is_none() && skip_rows.is_none() && thinned.is_none() {
        return spmm(s, h, width, out, add);
    }
    let row = |i: usize| skip_rows.is_none_or(|skip| !skip[i]).then_some(i);
    let column = |i: usize, j: u32| {
        let kept = keep_cols.is_none_or(|keep| keep[j as usize]);
        (kept && thinned.is_none_or(|thinned| thinned.keeps(i, j as usize))).then_some(j)
    };
    with_chosen(s, s.n_rows, s.n_cols, row, column, |chosen| spmm(chosen, h, width, out, add));
}

/// In the map of [`spmm_mapped`]: a column that is left out.
pub const NOWHERE: u32 = u32::MAX;

/// `out[i]` = row `rows[i]` of S · h: the product for chosen rows.
pub fn spmm_rows(s: CsrView<'_>, rows: &[u32], h: &[Real], width: usize, out: &mut [Real], add: bool) {
    let row = |i: usize| Some(rows[i] as usize);
    with_chosen(s, rows.len(), s.n_cols, row, |_, j| Some(j), |chosen| spmm(chosen, h, width, out, add));
}

/// [`spmm`] whose column c reads row `map[c]` of `h`, or nothing where that is [`NOWHERE`].
pub fn spmm_mapped(s: CsrView<'_>, map: &[u32], h: &[Real], width: usize, out: &mut [Real], add: bool) {
    assert_eq!(map.len(), s.n_cols, "one place a column");
    let column = |_: usize, j: u32| Some(map[j as usize]).filter(|&to| to != NOWHERE);
    let n_source = h.len() / width.max(1);
    with_chosen(s, s.n_rows, n_source, Some, column, |chosen| spmm(chosen, h, width, out, add));
}

/// Columns of a strip that is summed in registers: eight of AVX2.
const STRIP: usize = 64;
/// Entries read ahead of the sum.
pub(crate) const AHEAD: usize = 4;

/// What follows the product in each row.
#[derive(Clone, Copy)]
pub(super) struct SpmmEpilogue<'a> {
    pub(super) bias: Option<&'a [Real]>,
    pub(super) act: Act,
    pub(super) slope: Real,
}

impl<'a> SpmmEpilogue<'a> {
    pub(super) fn new((bias, act, slope): (Option<&'a [Real]>, Act, Real)) -> Self {
        SpmmEpilogue { bias, act, slope }
    }

    /// The part that concerns some columns.
    pub(super) fn of(self, columns: Range<usize>) -> Self {
        SpmmEpilogue { bias: self.bias.map(|bias| &bias[columns]), ..self }
    }
}

pub(super) fn product(
    s: CsrView<'_>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    add: bool,
    tail: Option<SpmmEpilogue<'_>>,
) {
    s.check();
    assert!(h.len() == s.n_cols * width && out.len() == s.n_rows * width, "sizes of a sparse product");
    if width == 0 {
        return;
    }
    if strips::pay(s, width) {
        return strips::product(s, h, width, out, add, tail);
    }
    let cuts = Cuts::new(s, (1 << 17) / width);
    let shared = Shared::new(out);
    each(cuts.count, |task| {
        let rows = cuts.rows(s, task);
        // SAFETY: tasks have their own rows.
        let out = unsafe { shared.part(rows.start * width, rows.len() * width) };
        direct_rows(s, rows, h, width, out, add);
        if let Some(SpmmEpilogue { bias, act, slope }) = tail {
            activate(width, out, bias, act, slope);
        }
    });
}

/// Where the rows of S are cut into tasks: about the same number of entries each, from the shape alone.
#[derive(Clone, Copy)]
pub(super) struct Cuts {
    pub(super) count: usize,
    total: usize,
}

impl Cuts {
    /// Tasks of so many entries.
    pub(super) fn new(s: CsrView<'_>, entries: usize) -> Self {
        // A row costs something too, if only to write it.
        let total = s.columns.len() + s.n_rows;
        Cuts { count: total.div_ceil(entries.max(1)).clamp(1, s.n_rows.max(1)), total }
    }

    pub(super) fn rows(self, s: CsrView<'_>, task: usize) -> Range<usize> {
        let cut = |task: usize| {
            let work = self.total * task / self.count;
            // The first row before which at least this much work lies; offsets and row numbers both ascend.
            let (mut low, mut high) = (0, s.n_rows);
            while low < high {
                let middle = (low + high) / 2;
                if s.offsets[middle] + middle < work { low = middle + 1 } else { high = middle }
            }
            low
        };
        cut(task)..if task + 1 == self.count { s.n_rows } else { cut(task + 1) }
    }
}

simd! {
    fn direct_rows[FMA](
        s: CsrView<'_>,
        rows: Range<usize>,
        h: &[Real],
        width: usize,
        out: &mut [Real],
        add: bool,
    ) {
        for (row, out) in rows.clone().zip(out.chunks_exact_mut(width)) {
            let (columns, values) = s.row(row);
            let ahead = read_ahead::<AHEAD>(s, row, rows.end);
            match values {
                Some(values) => row_strips::<FMA>(columns, |e| values[e], ahead, h, width, 0..width, out, add),
                None => row_strips::<FMA>(columns, |_| 1.0, ahead, h, width, 0..width, out, add),
            }
        }
    }
}

/// The columns, `BY` entries on, to read ahead while a row is summed. Towards its end they belong to the rows that
/// follow.
#[inline(always)]
pub(crate) fn read_ahead<const BY: usize>(s: CsrView<'_>, row: usize, end: usize) -> &[u32] {
    let last = s.offsets[end];
    &s.columns[(s.offsets[row] + BY).min(last)..(s.offsets[row + 1] + BY).min(last)]
}

/// The columns in `range` of one row of the product, strip by strip: Σ value(e)·h[columns[e]]. `ahead` names rows of
/// `h` to fetch while the sum goes on.
#[inline(always)]
pub(crate) fn row_strips<const FMA: bool>(
    columns: &[u32],
    value: impl Fn(usize) -> Real + Copy,
    ahead: &[u32],
    h: &[Real],
    width: usize,
    range: Range<usize>,
    out: &mut [Real],
    add: bool,
) {
    let mut at = range.start;
    while range.end - at >= STRIP {
        strip::<FMA, STRIP>(columns, value, ahead, h, width, at, out, add);
        at += STRIP;
    }
    if range.end - at >= 32 {
        strip::<FMA, 32>(columns, value, ahead, h, width, at, out, add);
        at += 32;
    }
    if range.end - at >= 16 {
        strip::<FMA, 16>(columns, value, ahead, h, width, at, out, add);
        at += 16;
    }
    if range.end - at >= 8 {
        strip::<FMA, 8>(columns, value, ahead, h, width, at, out, add);
        at += 8;
    }
    while at < range.end {
        strip::<FMA, 1>(columns, value, &[], h, width, at, out, add);
        at += 1;
    }
}

/// N columns of one row of the product, from column `at` on.
#[inline(always)]
fn strip<const FMA: bool, const N: usize>(
    columns: &[u32],
    value: impl Fn(usize) -> Real,
    ahead: &[u32],
    h: &[Real],
    width: usize,
    at: usize,
    out: &mut [Real],
    add: bool,
) {
    let out = &mut out[at..at + N];
    let mut sums = [0.0; N];
    if add {
        sums.copy_from_slice(out);
    }
    for (e, &column) in columns.iter().enumerate() {
        if let Some(&next) = ahead.get(e) {
            prefetch(h, next as usize * width + at, N);
        }
        add_row::<FMA, N>(value(e), &h[column as usize * width + at..], &mut sums);
    }
    out.copy_from_slice(&sums);
}

#[inline(always)]
fn add_row<const FMA: bool, const N: usize>(value: Real, source: &[Real], sums: &mut [Real; N]) {
    let source = &source[..N];
    for j in 0..N {
        sums[j] = madd::<FMA>(value, source[j], sums[j]);
    }
}

/// Lends a matrix of the chosen entries: its row i is row `row(i)` of S, or empty, and its entries (i, j) move to another
/// column or are dropped by `column`.
fn with_chosen(
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
        let counts = Shared::new(&mut offsets[1..]);
        each(n_rows.div_ceil(ROWS), |task| {
            for i in task * ROWS..n_rows.min((task + 1) * ROWS) {
                // SAFETY: tasks have their own rows.
                unsafe {
                    counts.part(i, 1)[0] = source(i).0.iter().filter(|&&j| column(i, j).is_some()).count()
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
                let (to_columns, to_values) = (Shared::new(columns), Shared::new(values));
                each(n_rows.div_ceil(ROWS), |task| {
                    for i in task * ROWS..n_rows.min((task + 1) * ROWS) {
                        let (from, len) = (offsets[i], offsets[i + 1] - offsets[i]);
                        let (chosen, values) = source(i);
                        // SAFETY: tasks have their own rows, hence their own entries.
                        let to = unsafe { to_columns.part(from, len) };
                        to.iter_mut()
                            .zip(chosen.iter().filter_map(|&j| column(i, j)))
                            .for_each(|(to, j)| *to = j);
                        if let Some(values) = values {
                            // SAFETY: as above.
                            let to = unsafe { to_values.part(from, len) };
                            let kept = chosen.iter().zip(values).filter(|&(&j, _)| column(i, j).is_some());
                            to.iter_mut().zip(kept).for_each(|(to, (_, &value))| *to = value);
                        }
                    }
                });
                let values = s.values.map(|_| &*values);
                work(CsrView { n_rows, n_cols, offsets, columns, values });
            });
        });
    });
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::super::testing::*;
    use super::super::{matmul, rowwise};
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
            let thinned = Some(FeatureDropout::new(0.3, 5));
            for (keep, skip, thinned) in [
                (None, None, None),
                (Some(&keep[..]), None, None),
                (Some(&keep[..]), Some(&skip[..]), None),
                (None, None, thinned),
                (Some(&keep[..]), Some(&skip[..]), thinned),
            ] {
                let mut dense = s.dense();
                for (i, row) in dense.chunks_exact_mut(70).enumerate() {
                    for (j, x) in row.iter_mut().enumerate() {
                        let out = thinned.is_some_and(|t| !t.keeps(i, j));
                        if out || keep.is_some_and(|k| !k[j]) || skip.is_some_and(|s| s[i]) {
                            *x = 0.0;
                        }
                    }
                }
                for add in [false, true] {
                    let (mut got, mut want) = (start.clone(), start.clone());
                    let selection = Selection { keep_cols: keep, skip_rows: skip, thinned };
                    spmm_select(s.view(), selection, &h, width, &mut got, add);
                    matmul::nn(90, 70, width, &dense, &h, &mut want, add);
                    assert_close(&got, &want, 1e-5);
                }
            }
        }
    }

    #[test]
    fn copied_strips_give_the_same_product() {
        let mut numbers = Numbers::new(26);
        for width in [256, 300] {
            let s = Owned::random(2000, 4300, 40, &mut numbers);
            let transposed = s.transposed();
            let (h, d) = (numbers.vec(4300 * width), numbers.vec(2000 * width));
            // Both ways round: one of the two is packed.
            assert!(strips::pay(s.view(), width) != strips::pay(transposed.view(), 64));
            for (s, h) in [(s.view(), &h), (transposed.view(), &d)] {
                let start = numbers.vec(s.n_rows * width);
                let bias = numbers.vec(width);
                for add in [false, true] {
                    let (mut got, mut want) = (start.clone(), start.clone());
                    spmm(s, h, width, &mut got, add);
                    for (row, want) in want.chunks_exact_mut(width).enumerate() {
                        if !add {
                            want.fill(0.0);
                        }
                        for (column, value) in s.entries(row) {
                            (0..width).for_each(|j| want[j] += value * h[column * width + j]);
                        }
                    }
                    assert_close(&got, &want, 1e-5);
                    if !add {
                        spmm_bias_act(s, h, width, &mut got, Some(&bias), Act::Prelu, 0.25);
                        rowwise::bias_act_in_place(s.n_rows, width, &mut want, Some(&bias), Act::Prelu, 0.25);
                        assert_close(&got, &want, 1e-5);
                    }
                }
            }
        }
    }

    #[test]
    fn strips_larger_than_the_l2_cache_give_the_bytes_of_single_rows() {
        let mut numbers = Numbers::new(36);
        let (rows, cols, width) = (1500, 40_000, 64);
        let s = Owned::random(rows, cols, 200, &mut numbers);
        assert!(strips::pay(s.view(), width), "a product by strips");
        let h = numbers.vec(cols * width);
        let (mut by_strips, mut alone) = (vec![0.0; rows * width], vec![0.0; width]);
        spmm(s.view(), &h, width, &mut by_strips, false);
        for row in [0, 1, 700, rows - 1] {
            // One row is too little for strips.
            spmm_rows(s.view(), &[row as u32], &h, width, &mut alone, false);
            assert_eq!(alone, by_strips[row * width..][..width]);
        }
    }

    #[test]
    fn strips_in_parts_give_the_bytes_of_single_rows_however_threads_share_them() {
        let mut numbers = Numbers::new(37);
        let (rows, cols, width) = (1500, 15_000, 70);
        let s = Owned::random(rows, cols, 80, &mut numbers);
        assert!(strips::pay(s.view(), width), "a product by strips");
        let (h, bias) = (numbers.vec(cols * width), numbers.vec(width));
        let product = || {
            let mut out = vec![0.0; rows * width];
            spmm_bias_act(s.view(), &h, width, &mut out, Some(&bias), Act::Prelu, 0.25);
            out
        };
        // One or two threads have a strip each, four share each of the three.
        assert_same_at_any_thread_count(product);
        let by_strips = product();
        for row in [0, 1, 700, rows - 1] {
            let mut alone = vec![0.0; width];
            spmm_rows(s.view(), &[row as u32], &h, width, &mut alone, false);
            rowwise::bias_act_in_place(1, width, &mut alone, Some(&bias), Act::Prelu, 0.25);
            assert_eq!(alone, by_strips[row * width..][..width]);
        }
    }

    #[test]
    fn chosen_rows_and_renamed_columns() {
        let mut numbers = Numbers::new(27);
        let s = Owned::random(40, 30, 6, &mut numbers);
        let h = numbers.vec(30 * 5);
        let mut whole = vec![0.0; 40 * 5];
        spmm(s.view(), &h, 5, &mut whole, false);
        let rows = [7, 3, 3, 39];
        let mut some = vec![0.0; 4 * 5];
        spmm_rows(s.view(), &rows, &h, 5, &mut some, false);
        for (row, got) in rows.iter().zip(some.chunks(5)) {
            assert_eq!(got, &whole[*row as usize * 5..][..5]);
        }
        // Columns reversed, and the last ten nowhere.
        let map: Vec<u32> = (0..30).map(|j| if j < 20 { 19 - j } else { NOWHERE }).collect();
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
    fn without_values_every_entry_is_one_and_empty_rows_are_zero() {
        let s = CsrView { n_rows: 3, n_cols: 2, offsets: &[0, 2, 2, 3], columns: &[0, 1, 1], values: None };
        let mut out = [9.0; 6];
        spmm(s, &[1.0, 2.0, 3.0, 4.0], 2, &mut out, false);
        assert_eq!(out, [4.0, 6.0, 0.0, 0.0, 3.0, 4.0]);
        let second = Selection { keep_cols: Some(&[false, true]), ..Selection::default() };
        spmm_select(s, second, &[1.0, 2.0, 3.0, 4.0], 2, &mut out, false);
        assert_eq!(out, [3.0, 4.0, 0.0, 0.0, 3.0, 4.0]);
    }

    #[test]
    fn tasks_cover_all_rows_once() {
        let mut numbers = Numbers::new(28);
        let s = Owned::random(500, 50, 10, &mut numbers);
        for entries in [0, 1, 64, 100_000] {
            let cuts = Cuts::new(s.view(), entries);
            let mut next = 0;
            for task in 0..cuts.count {
                let rows = cuts.rows(s.view(), task);
                assert_eq!(rows.start, next);
                next = rows.end;
            }
            assert_eq!(next, 500);
        }
    }

    #[test]
    fn any_thread_count_gives_the_same_bytes() {
        let mut numbers = Numbers::new(6);
        let s = Owned::random(2000, 1500, 20, &mut numbers);
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
