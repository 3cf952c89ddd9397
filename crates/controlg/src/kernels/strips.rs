//! Sparse times dense where the dense factor is larger than the caches: a strip of its columns is copied next to each
//! other, so that it stays in them while all rows of the product read from it.

use super::Sparse;
use super::parallel::{Shared, each};
use super::rowwise::activate_rows;
use super::scratch;
use super::simd::{madd, prefetch, prefetch_early};
use super::spmm::{Cuts, Tail, read_ahead, row_strips};
use crate::Real;
use std::ops::Range;

/// Columns of a strip: a row of it is two cache lines.
const COLUMNS: usize = 32;
/// Entries read ahead of the sum: as many as hide the way to the L3 cache.
const AHEAD: usize = 16;
/// The same where a strip is too large for the L2 caches: some entries on into L1, many on into L2, which takes more lines at
/// a time. Elsewhere the second fetch would cost more than it spares.
const SOON: usize = 8;
const EARLY: usize = 64;
/// Bytes of such a strip.
const FAR: usize = 4 << 20;
/// Entries of a task.
const ENTRIES: usize = 1 << 14;
/// Rows read ahead of the copy.
const COPY_AHEAD: usize = 32;

/// Copying costs a pass over `h`: rows must be read often, `h` be larger than what the caches serve well, and a
/// strip small enough to stay in them.
pub(super) fn pay(s: Sparse<'_>, width: usize) -> bool {
    let bytes = s.n_cols * width * size_of::<Real>();
    let strip = s.n_cols * COLUMNS * size_of::<Real>();
    width >= 2 * COLUMNS && bytes > 4 << 20 && strip < 24 << 20 && s.columns.len() >= 6 * s.n_cols
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
    scratch::with(s.n_cols * COLUMNS, |strip: &mut [Real]| {
        for first in (0..width).step_by(COLUMNS) {
            let columns = first..width.min(first + COLUMNS);
            copy(h, width, columns.clone(), strip);
            let strip = &strip[..s.n_cols * columns.len()];
            let sum = if size_of_val(strip) > FAR { sum_rows::<true> } else { sum_rows::<false> };
            each(cuts.count, |task| {
                let rows = cuts.rows(s, task);
                sum(s, rows.clone(), strip, width, columns.clone(), &shared, add);
                if let Some(tail) = tail {
                    finish_rows(rows, width, columns.clone(), &shared, tail);
                }
            });
        }
    });
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

simd! {
    /// The strip's columns of some rows of the product.
    fn sum_rows[FMA, const IS_FAR: bool](
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
            let ahead = match IS_FAR {
                true => [read_ahead::<SOON>(s, row, rows.end), read_ahead::<EARLY>(s, row, rows.end)],
                false => [read_ahead::<AHEAD>(s, row, rows.end), &[]],
            };
            match s.row(row) {
                (chosen, Some(values)) => sum_row::<FMA>(chosen, |e| values[e], ahead, strip, n, out, add),
                (chosen, None) => sum_row::<FMA>(chosen, |_| 1.0, ahead, strip, n, out, add),
            }
        }
    }
}

/// One row of it, with the entries to fetch for into L1 and into L2. The usual strip has a loop of its own, whose sums stay in
/// registers.
#[inline(always)]
fn sum_row<const FMA: bool>(
    chosen: &[u32],
    value: impl Fn(usize) -> Real + Copy,
    [soon, early]: [&[u32]; 2],
    strip: &[Real],
    columns: usize,
    out: &mut [Real],
    add: bool,
) {
    if columns != COLUMNS {
        return row_strips::<FMA>(chosen, value, soon, strip, columns, 0..columns, out, add);
    }
    let mut sums = [0.0; COLUMNS];
    if add {
        sums.copy_from_slice(out);
    }
    for (e, &column) in chosen.iter().enumerate() {
        if let Some(&next) = soon.get(e) {
            prefetch(strip, next as usize * COLUMNS, COLUMNS);
        }
        if let Some(&next) = early.get(e) {
            prefetch_early(strip, next as usize * COLUMNS, COLUMNS);
        }
        let (value, source) = (value(e), &strip[column as usize * COLUMNS..][..COLUMNS]);
        for j in 0..COLUMNS {
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
