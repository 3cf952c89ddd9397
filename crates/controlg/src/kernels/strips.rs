//! Sparse times dense where the dense factor is larger than the caches: a strip of its columns is copied next to each
//! other, so that it stays in them while all rows of the product read from it.

use super::CsrView;
use super::parallel::{Shared, each};
use super::rowwise::activate_rows;
use super::scratch;
use super::simd::{self, madd, prefetch, prefetch_early, prefetch_to_write};
use super::spmm::{Cuts, SpmmEpilogue, read_ahead};
use crate::Real;
use rayon::prelude::*;
use std::ops::Range;

/// Columns of a strip: a row of it is two cache lines.
pub(super) const COLUMNS: usize = 32;
/// Entries read ahead of the sum: as many as hide the way to the L3 cache.
const AHEAD: usize = 16;
/// The same where a strip is too large for the L2 caches: some entries on into L1, many on into L2, which takes more lines at
/// a time. Elsewhere the second fetch would cost more than it spares.
const SOON: usize = 8;
const EARLY: usize = 64;
/// Bytes of such a strip.
const FAR: usize = 4 << 20;
/// Bytes of a strip, or of a part of its rows, that an L2 cache holds beside all else that passes through it.
const NEAR: usize = 5 << 18;
/// Entries that a row must have in each part of a strip: parts cost a visit of every row.
const ENTRIES_IN_PART: usize = 16;
/// Entries of a task.
const ENTRIES: usize = 1 << 14;
/// Rows read ahead of the copy.
const COPY_AHEAD: usize = 32;
/// Rows of the result fetched ahead of being written.
const ROWS_AHEAD: usize = 8;

/// Copying costs a pass over `h`: rows must be read often, `h` be larger than what the caches serve well, and a
/// strip small enough to stay in them.
pub(super) fn pay(s: CsrView<'_>, width: usize) -> bool {
    let bytes = s.n_cols * width * size_of::<Real>();
    let strip = s.n_cols * COLUMNS * size_of::<Real>();
    width >= 2 * COLUMNS && bytes > 4 << 20 && strip < 24 << 20 && s.columns.len() >= 6 * s.n_cols
}

/// out = S·h, added to what is there when `add` is set, and then the tail.
///
/// Threads are fastest with a strip each, in a cache of their own. Where strips are fewer than threads, or too large for that,
/// all threads work on one strip after the other. Every sum is taken in the order of its entries, so the bytes are the same.
pub(super) fn product(
    s: CsrView<'_>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    add: bool,
    tail: Option<SpmmEpilogue<'_>>,
) {
    let out = &Shared::new(out);
    let out = StripOutput::whole(out, width, add, tail);
    if one_each(s, width) { apart(s, h, out) } else { together(s, h, out) }
}

/// Whether every thread has a strip for itself.
pub(super) fn one_each(s: CsrView<'_>, width: usize) -> bool {
    rayon::current_num_threads() <= width.div_ceil(COLUMNS) && s.n_cols * COLUMNS * size_of::<Real>() <= FAR
}

/// Where a product goes: some columns of rows of this width.
#[derive(Clone)]
pub(super) struct StripOutput<'a> {
    pub(super) out: &'a Shared<Real>,
    pub(super) width: usize,
    pub(super) columns: Range<usize>,
    pub(super) add: bool,
    pub(super) tail: Option<SpmmEpilogue<'a>>,
}

impl<'a> StripOutput<'a> {
    /// All columns of a matrix.
    pub(super) fn whole(
        out: &'a Shared<Real>,
        width: usize,
        add: bool,
        tail: Option<SpmmEpilogue<'a>>,
    ) -> Self {
        StripOutput { out, width, columns: 0..width, add, tail }
    }

    pub(super) fn strips(&self) -> usize {
        self.columns.len().div_ceil(COLUMNS)
    }

    /// One strip of it.
    pub(super) fn strip(&self, at: usize) -> Self {
        let columns = at * COLUMNS..self.columns.len().min((at + 1) * COLUMNS);
        let tail = self.tail.map(|tail| tail.of(columns.clone()));
        StripOutput { columns, tail, ..*self }
    }
}

/// All threads on one strip after the other.
fn together(s: CsrView<'_>, h: &[Real], out: StripOutput<'_>) {
    check_columns(s);
    let cuts = Cuts::new(s, ENTRIES);
    scratch::with(s.n_cols * COLUMNS, |strip: &mut [Real]| {
        for out in (0..out.strips()).map(|at| out.strip(at)) {
            copy(h, out.width, out.columns.clone(), strip);
            let strip = &strip[..s.n_cols * out.columns.len()];
            let sum = if size_of_val(strip) > FAR { sum_rows::<true> } else { sum_rows::<false> };
            each(cuts.count, |task| sum(s, cuts.rows(s, task), strip, &out));
        }
    });
}

/// A strip a task.
fn apart(s: CsrView<'_>, h: &[Real], out: StripOutput<'_>) {
    StripParts::with(s, |s| {
        each(out.strips(), |at| {
            let out = out.strip(at);
            s.sum_copied(h, out.width, out.columns.start, &out);
        });
    });
}

/// A sparse matrix whose columns are taken in parts that a cache holds the rows of.
pub(super) struct StripParts<'a> {
    s: CsrView<'a>,
    /// Columns of a part.
    step: usize,
    /// For each part but the first, where the entries of each row begin that belong to it.
    cuts: &'a [usize],
}

impl StripParts<'_> {
    pub(super) fn with<R>(s: CsrView<'_>, work: impl FnOnce(StripParts<'_>) -> R) -> R {
        check_columns(s);
        let wanted = (s.n_cols * COLUMNS * size_of::<Real>()).div_ceil(NEAR).max(1);
        let pays = s.columns.len() >= wanted * ENTRIES_IN_PART * s.n_rows;
        // Rows whose entries are not in order cannot be cut.
        let in_order = |row: usize| s.row(row).0.is_sorted();
        let count =
            if wanted > 1 && pays && (0..s.n_rows).into_par_iter().all(in_order) { wanted } else { 1 };
        let step = s.n_cols.div_ceil(count);
        scratch::with((count - 1) * s.n_rows, |cuts: &mut [usize]| {
            cuts.par_iter_mut().with_min_len(512).enumerate().for_each(|(at, cut)| {
                let (part, row) = (at / s.n_rows + 1, at % s.n_rows);
                *cut =
                    s.offsets[row] + s.row(row).0.partition_point(|&column| (column as usize) < part * step);
            });
            work(StripParts { s, step, cuts })
        })
    }

    /// Rows of the product.
    pub(super) fn n_rows(&self) -> usize {
        self.s.n_rows
    }

    fn count(&self) -> usize {
        self.cuts.len() / self.s.n_rows.max(1) + 1
    }

    /// The rows of the dense factor that a part reads.
    fn rows(&self, part: usize) -> Range<usize> {
        part * self.step..self.s.n_cols.min((part + 1) * self.step)
    }

    /// Where each row's entries begin that belong to a part, or to those after it.
    fn starts(&self, part: usize) -> &[usize] {
        let n = self.s.n_rows;
        match part {
            0 => &self.s.offsets[..n],
            _ if part == self.count() => &self.s.offsets[1..],
            _ => &self.cuts[(part - 1) * n..part * n],
        }
    }

    /// Adds what one part has, with its rows of the dense factor in `strip`.
    fn sum(&self, part: usize, strip: &[Real], out: &StripOutput<'_>) {
        let (rows, is_last) = (self.rows(part), part + 1 == self.count());
        let strip = &strip[..rows.len() * out.columns.len()];
        let out = StripOutput { add: out.add || part > 0, tail: out.tail.filter(|_| is_last), ..out.clone() };
        // Processors that have a matrix unit have L2 caches of 2 MB, which hold such a part: nothing is far.
        let is_held = simd::tiled() && size_of_val(strip) <= NEAR;
        let sum = if is_held { sum_part::<false> } else { sum_part::<true> };
        sum(self.s, [self.starts(part), self.starts(part + 1)], rows.start, strip, &out);
    }

    /// Adds all parts of a strip that lies in memory row after row.
    pub(super) fn sum_strip(&self, strip: &[Real], out: &StripOutput<'_>) {
        for part in 0..self.count() {
            self.sum(part, &strip[self.rows(part).start * out.columns.len()..], out);
        }
    }

    /// Adds all parts of one strip, whose columns of `h` begin at `first`.
    pub(super) fn sum_copied(&self, h: &[Real], width: usize, first: usize, out: &StripOutput<'_>) {
        let n = out.columns.len();
        scratch::with(self.step * n, |strip: &mut [Real]| {
            for part in 0..self.count() {
                let rows = self.rows(part);
                let strip = &mut strip[..rows.len() * n];
                copy_rows(h, width, first..first + n, rows.start, strip);
                self.sum(part, strip, out);
            }
        });
    }
}

fn copy(h: &[Real], width: usize, columns: Range<usize>, strip: &mut [Real]) {
    const ROWS: usize = 1024;
    let n = h.len() / width;
    let shared = Shared::new(strip);
    each(n.div_ceil(ROWS), |task| {
        let rows = task * ROWS..n.min((task + 1) * ROWS);
        // SAFETY: tasks have their own rows.
        let strip = unsafe { shared.part(rows.start * columns.len(), rows.len() * columns.len()) };
        copy_rows(h, width, columns.clone(), rows.start, strip);
    });
}

simd! {
    /// The strip's columns of the rows from `first`, as many as it holds. The usual strip's length is known to the compiler,
    /// which then calls nobody for a copy of two cache lines.
    fn copy_rows[FMA](h: &[Real], width: usize, columns: Range<usize>, first: usize, strip: &mut [Real]) {
        let n = columns.len();
        for (at, to) in strip.chunks_exact_mut(n).enumerate() {
            let start = (first + at) * width + columns.start;
            prefetch_early(h, start + COPY_AHEAD * width, n);
            match (<&mut [Real; COLUMNS]>::try_from(&mut *to), h[start..start + n].first_chunk()) {
                (Ok(to), Some(from)) => *to = *from,
                _ => to.copy_from_slice(&h[start..start + n]),
            }
        }
    }
}

/// Stops where an entry points past the last column: the sums read without looking.
fn check_columns(s: CsrView<'_>) {
    let largest = s.columns.par_chunks(1 << 15).filter_map(|columns| columns.iter().max()).max();
    assert!(largest.is_none_or(|&largest| (largest as usize) < s.n_cols), "entries within the columns");
}

simd! {
    with avx512
    /// The strip's columns of some rows of the product.
    fn sum_rows[FMA, const IS_FAR: bool](s: CsrView<'_>, rows: Range<usize>, strip: &[Real], target: &StripOutput<'_>) {
        for row in rows.clone() {
            // SAFETY: tasks have their own rows, and one strip follows the other.
            let out = unsafe { target.out.part(row * target.width + target.columns.start, target.columns.len()) };
            let ahead = match IS_FAR {
                true => [read_ahead::<SOON>(s, row, rows.end), read_ahead::<EARLY>(s, row, rows.end)],
                false => [read_ahead::<AHEAD>(s, row, rows.end), &[]],
            };
            let entries = s.offsets[row]..s.offsets[row + 1];
            sum_row::<FMA, true>(s, entries, ahead, 0, strip, out, target);
        }
    }
}

simd! {
    with avx512
    /// What the entries between two bounds of each row add to the strip's columns of the product; the strip holds the rows from
    /// `first` on.
    fn sum_part[FMA, const FETCH: bool](
        s: CsrView<'_>,
        bounds: [&[usize]; 2],
        first: usize,
        strip: &[Real],
        target: &StripOutput<'_>,
    ) {
        // Without parts one row's entries begin where those of the row before it end.
        let is_whole = strip.len() == s.n_cols * target.columns.len();
        for (row, (&from, &to)) in bounds[0].iter().zip(bounds[1]).enumerate() {
            let place = |row: usize| row * target.width + target.columns.start;
            // SAFETY: tasks have their own columns.
            let out = unsafe { target.out.part(place(row), target.columns.len()) };
            let end = if is_whole { s.columns.len() } else { to };
            let soon = if FETCH { &s.columns[(from + AHEAD).min(end)..end] } else { &[] };
            prefetch_to_write(target.out.place(place(row + ROWS_AHEAD)), target.columns.len());
            sum_row::<FMA, FETCH>(s, from..to, [soon, &[]], first, strip, out, target);
        }
    }
}

/// One row of it: the sum of some entries, of which the strip holds the rows from `first` on, with the entries to fetch for
/// into L1 and into L2. The usual strip has a loop of its own, whose sums stay in registers.
#[inline(always)]
fn sum_row<const FMA: bool, const FETCH: bool>(
    s: CsrView<'_>,
    entries: Range<usize>,
    ahead: [&[u32]; 2],
    first: usize,
    strip: &[Real],
    out: &mut [Real],
    target: &StripOutput<'_>,
) {
    let chosen = s.columns[entries.clone()].iter().map(|&column| column as usize - first);
    let (add, tail) = (target.add, target.tail);
    match s.values {
        Some(values) => {
            let entries = chosen.zip(values[entries].iter().copied());
            sum_of::<FMA, FETCH>(entries, ahead, first, strip, out, add, tail);
        }
        None => sum_of::<FMA, FETCH>(chosen.map(|row| (row, 1.0)), ahead, first, strip, out, add, tail),
    }
}

#[inline(always)]
fn sum_of<const FMA: bool, const FETCH: bool>(
    entries: impl Iterator<Item = (usize, Real)>,
    [soon, early]: [&[u32]; 2],
    first: usize,
    strip: &[Real],
    out: &mut [Real],
    add: bool,
    tail: Option<SpmmEpilogue<'_>>,
) {
    let Ok(out) = <&mut [Real; COLUMNS]>::try_from(&mut *out) else {
        return narrow_sum::<FMA>(entries, strip, out, add, tail);
    };
    let mut sums = if add { *out } else { [0.0; COLUMNS] };
    for (e, (row, value)) in entries.enumerate() {
        if FETCH {
            if let Some(&next) = soon.get(e) {
                prefetch(strip, (next as usize - first) * COLUMNS, COLUMNS);
            }
            if let Some(&next) = early.get(e) {
                prefetch_early(strip, (next as usize - first) * COLUMNS, COLUMNS);
            }
        }
        debug_assert!((row + 1) * COLUMNS <= strip.len());
        // SAFETY: the strip holds the rows of all columns (of a part), and `check_columns` has seen that no entry has another.
        let source = unsafe { &*strip.as_ptr().add(row * COLUMNS).cast::<[Real; COLUMNS]>() };
        for j in 0..COLUMNS {
            sums[j] = madd::<FMA>(value, source[j], sums[j]);
        }
    }
    // The tail works on memory; the sums themselves must not be asked for their address, or they leave the registers.
    *out = sums;
    if let Some(SpmmEpilogue { bias, act, slope }) = tail {
        activate_rows::<FMA>(COLUMNS, out, bias, act, slope);
    }
}

/// The same for the last strip where it has fewer columns.
#[inline(never)]
fn narrow_sum<const FMA: bool>(
    entries: impl Iterator<Item = (usize, Real)>,
    strip: &[Real],
    out: &mut [Real],
    add: bool,
    tail: Option<SpmmEpilogue<'_>>,
) {
    let n = out.len();
    if !add {
        out.fill(0.0);
    }
    for (row, value) in entries {
        let source = &strip[row * n..][..n];
        out.iter_mut().zip(source).for_each(|(out, &x)| *out = madd::<FMA>(value, x, *out));
    }
    if let Some(SpmmEpilogue { bias, act, slope }) = tail {
        activate_rows::<FMA>(n, out, bias, act, slope);
    }
}
