//! Sparse times dense where the dense factor is larger than the caches: a strip of its columns is copied next to each
//! other, so that it stays in them while all rows of the product read from it.

use super::Sparse;
use super::parallel::{Shared, each};
use super::rowwise::activate_rows;
use super::scratch;
use super::simd::{madd, prefetch};
use super::spmm::{Cuts, Tail, read_ahead, row_strips};
use crate::Real;
use std::ops::Range;

/// Columns of a strip, two cache lines a row; half as many where a strip would be too much for the cache.
const COLUMNS: usize = 32;
const FEWER: usize = 16;
/// Bytes of a strip that stay in the cache.
const STAYING: usize = 12 << 20;
/// Columns that are copied in one pass, so that a row is read in longer pieces.
const TOGETHER: usize = 128;
/// Entries read ahead of the sum: as many as hide the way to the L3 cache.
const AHEAD: usize = 16;
/// Entries of a task.
pub(super) const ENTRIES: usize = 1 << 14;
/// Rows read ahead of the copy.
const COPY_AHEAD: usize = 4;

/// Copying costs a pass over `h`: rows must be read often, `h` be larger than what the caches serve well, and a
/// strip small enough to stay in them.
pub(super) fn pay(s: Sparse<'_>, width: usize) -> bool {
    let bytes = s.n_cols * width * size_of::<Real>();
    let strip = s.n_cols * FEWER * size_of::<Real>();
    width >= 2 * COLUMNS && bytes > 4 << 20 && strip <= STAYING && s.columns.len() >= 6 * s.n_cols
}

/// out = S·h, added to what is there when `add` is set, and then the tail.
pub(super) fn product(
    s: Sparse<'_>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    add: bool,
    tail: Option<Tail<'_>>,
) {
    let cuts = Cuts::new(s, ENTRIES);
    let shared = Shared::new(out);
    let columns = if s.n_cols * COLUMNS * size_of::<Real>() <= STAYING { COLUMNS } else { FEWER };
    visit(h, width, columns, TOGETHER / columns, |columns, strip| {
        each(cuts.count, |task| {
            let rows = cuts.rows(s, task);
            sum_rows(s, rows.clone(), strip, width, columns.clone(), &shared, add);
            if let Some(tail) = tail {
                finish_rows(rows, width, columns.clone(), &shared, tail);
            }
        });
    });
}

/// Shows the matrix strip by strip: the columns of a strip, and their numbers row by row next to each other. So many
/// strips are copied in one pass.
pub(super) fn visit(
    h: &[Real],
    width: usize,
    columns: usize,
    together: usize,
    mut work: impl FnMut(Range<usize>, &[Real]),
) {
    let n = h.len() / width;
    scratch::with(n * (columns * together).min(width), |strips: &mut [Real]| {
        for first in (0..width).step_by(columns * together) {
            let part = first..width.min(first + columns * together);
            copy(h, width, part.clone(), columns, strips);
            for at in part.clone().step_by(columns) {
                let strip = at..part.end.min(at + columns);
                work(strip.clone(), &strips[(at - first) * n..][..n * strip.len()]);
            }
        }
    });
}

/// Copies the strips of a part of the columns, one behind the other.
fn copy(h: &[Real], width: usize, part: Range<usize>, columns: usize, strips: &mut [Real]) {
    const ROWS: usize = 256;
    let n = h.len() / width;
    let shared = Shared::new(strips);
    each(n.div_ceil(ROWS), |task| {
        for row in task * ROWS..n.min((task + 1) * ROWS) {
            prefetch(h, (row + COPY_AHEAD) * width + part.start, part.len());
            for at in part.clone().step_by(columns) {
                let strip = at..part.end.min(at + columns);
                // SAFETY: tasks have their own rows of every strip.
                let to = unsafe { shared.part((at - part.start) * n + row * strip.len(), strip.len()) };
                to.copy_from_slice(&h[row * width..][strip]);
            }
        }
    });
}

simd! {
    /// The strip's columns of some rows of the product.
    fn sum_rows[FMA](
        s: Sparse<'_>,
        rows: Range<usize>,
        strip: &[Real],
        width: usize,
        columns: Range<usize>,
        out: &Shared<Real>,
        add: bool,
    ) {
        let n = columns.len();
        for row in rows.clone() {
            // SAFETY: tasks have their own rows, and one strip follows the other.
            let out = unsafe { out.part(row * width + columns.start, n) };
            let ahead = read_ahead::<AHEAD>(s, row, rows.end);
            match s.row(row) {
                (chosen, Some(values)) => sum_row::<FMA>(chosen, |e| values[e], ahead, strip, n, out, add),
                (chosen, None) => sum_row::<FMA>(chosen, |_| 1.0, ahead, strip, n, out, add),
            }
        }
    }
}

/// One row of it. The usual strips have loops of their own, whose sums stay in registers.
#[inline(always)]
fn sum_row<const FMA: bool>(
    chosen: &[u32],
    value: impl Fn(usize) -> Real + Copy,
    ahead: &[u32],
    strip: &[Real],
    columns: usize,
    out: &mut [Real],
    add: bool,
) {
    match columns {
        COLUMNS => sum_columns::<FMA, COLUMNS>(chosen, value, ahead, strip, out, add),
        FEWER => sum_columns::<FMA, FEWER>(chosen, value, ahead, strip, out, add),
        _ => row_strips::<FMA>(chosen, value, ahead, strip, columns, 0..columns, out, add),
    }
}

#[inline(always)]
fn sum_columns<const FMA: bool, const N: usize>(
    chosen: &[u32],
    value: impl Fn(usize) -> Real + Copy,
    ahead: &[u32],
    strip: &[Real],
    out: &mut [Real],
    add: bool,
) {
    let mut sums = [0.0; N];
    if add {
        sums.copy_from_slice(out);
    }
    for (e, &column) in chosen.iter().enumerate() {
        if let Some(&next) = ahead.get(e) {
            prefetch(strip, next as usize * N, N);
        }
        let (value, source) = (value(e), &strip[column as usize * N..][..N]);
        for j in 0..N {
            sums[j] = madd::<FMA>(value, source[j], sums[j]);
        }
    }
    out.copy_from_slice(&sums);
}

simd! {
    /// The tail of what [`sum_rows`] has left in the cache.
    fn finish_rows[FMA](
        rows: Range<usize>,
        width: usize,
        columns: Range<usize>,
        out: &Shared<Real>,
        tail: Tail<'_>,
    ) {
        let bias = tail.bias.map(|bias| &bias[columns.clone()]);
        for row in rows {
            // SAFETY: as in the sum.
            let out = unsafe { out.part(row * width + columns.start, columns.len()) };
            activate_rows::<FMA>(columns.len(), out, bias, tail.act, tail.slope);
        }
    }
}
