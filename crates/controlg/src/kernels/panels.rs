//! SpMM for a dense factor larger than the caches: a panel of its columns is packed into contiguous memory, where it stays
//! in the cache while all rows of the product read from it.

use super::CsrView;
use super::parallel::{SharedSlice, each, each_chunk};
use super::rowwise::activate_rows;
use super::scratch;
use super::simd::{self, madd, prefetch, prefetch_early, prefetch_to_write};
use super::spmm::{RowChunks, SpmmEpilogue, columns_ahead};
use crate::Real;
use rayon::prelude::*;
use std::ops::Range;

/// Columns of a panel: one of its rows fills two cache lines.
pub(super) const COLUMNS: usize = 32;
/// Prefetch distance in entries; enough to hide the latency of the L3 cache.
const PREFETCH_DISTANCE: usize = 16;
/// Prefetch distances for panels larger than the L2 cache: a short one into L1 and a long one into L2, which can have more
/// lines in flight. For smaller panels the second prefetch costs more than it saves.
const L1_DISTANCE: usize = 8;
const L2_DISTANCE: usize = 64;
/// Panels of more bytes than this get both prefetches.
const LARGE_PANEL: usize = 4 << 20;
/// Bytes of a panel, or of a block of its rows, that stay in an L2 cache during the product.
const L2_BLOCK: usize = 5 << 18;
/// Mean number of entries that a row of S must have in each column block, since every block visits every row.
const ENTRIES_PER_BLOCK: usize = 16;
/// Entries per task.
const ENTRIES: usize = 1 << 14;
/// Prefetch distance of packing, in rows.
const PACK_DISTANCE: usize = 32;
/// Prefetch distance of the result, in rows.
const OUTPUT_DISTANCE: usize = 8;

/// Whether packing panels is worth its pass over `h`: rows of `h` are read often, `h` does not fit into the caches, and a
/// panel does.
pub(super) fn is_profitable(s: CsrView<'_>, width: usize) -> bool {
    let bytes = s.n_cols * width * size_of::<Real>();
    let panel = s.n_cols * COLUMNS * size_of::<Real>();
    width >= 2 * COLUMNS && bytes > 4 << 20 && panel < 24 << 20 && s.columns.len() >= 6 * s.n_cols
}

/// out = S·h, then the epilogue. With `add`, the product is added to `out`.
///
/// Threads are fastest with one panel each, in their own L2 cache. If there are fewer panels than threads, or if panels are
/// too large, all threads share one panel after the other. Sums always follow the order of the entries, so both ways
/// give the same bytes.
pub(super) fn product(
    s: CsrView<'_>,
    h: &[Real],
    width: usize,
    out: &mut [Real],
    add: bool,
    epilogue: Option<SpmmEpilogue<'_>>,
) {
    let out = &SharedSlice::new(out);
    let out = PanelOutput::whole(out, width, add, epilogue);
    if panel_per_thread(s, width) { product_by_panel(s, h, out) } else { product_shared(s, h, out) }
}

/// Whether every thread gets its own panel.
pub(super) fn panel_per_thread(s: CsrView<'_>, width: usize) -> bool {
    rayon::current_num_threads() <= width.div_ceil(COLUMNS)
        && s.n_cols * COLUMNS * size_of::<Real>() <= LARGE_PANEL
}

/// Elements of the scratch buffers that [`product`] uses at the same time, apart from the row starts of blocks.
pub(super) fn scratch_lens(s: CsrView<'_>, width: usize) -> Vec<usize> {
    let panels = if panel_per_thread(s, width) { rayon::current_num_threads() } else { 1 };
    vec![s.n_cols * COLUMNS; panels]
}

/// The target of a product: a range of columns of a row-major matrix with rows of length `width`.
#[derive(Clone)]
pub(super) struct PanelOutput<'a> {
    pub(super) out: &'a SharedSlice<Real>,
    pub(super) width: usize,
    pub(super) columns: Range<usize>,
    pub(super) add: bool,
    pub(super) epilogue: Option<SpmmEpilogue<'a>>,
}

impl<'a> PanelOutput<'a> {
    /// All columns of a matrix.
    pub(super) fn whole(
        out: &'a SharedSlice<Real>,
        width: usize,
        add: bool,
        epilogue: Option<SpmmEpilogue<'a>>,
    ) -> Self {
        PanelOutput { out, width, columns: 0..width, add, epilogue }
    }

    pub(super) fn n_panels(&self) -> usize {
        self.columns.len().div_ceil(COLUMNS)
    }

    /// One of its panels.
    pub(super) fn panel(&self, at: usize) -> Self {
        let columns = at * COLUMNS..self.columns.len().min((at + 1) * COLUMNS);
        let epilogue = self.epilogue.map(|epilogue| epilogue.columns(columns.clone()));
        PanelOutput { columns, epilogue, ..*self }
    }
}

/// All threads share one panel after the other.
fn product_shared(s: CsrView<'_>, h: &[Real], out: PanelOutput<'_>) {
    check_columns(s);
    let chunks = RowChunks::new(s, ENTRIES);
    scratch::with(s.n_cols * COLUMNS, |panel: &mut [Real]| {
        for out in (0..out.n_panels()).map(|at| out.panel(at)) {
            pack(h, out.width, out.columns.clone(), panel);
            let panel = &panel[..s.n_cols * out.columns.len()];
            let sum = if size_of_val(panel) > LARGE_PANEL { sum_rows::<true> } else { sum_rows::<false> };
            each(chunks.count, |task| sum(s, chunks.rows(s, task), panel, &out));
        }
    });
}

/// One task per panel.
fn product_by_panel(s: CsrView<'_>, h: &[Real], out: PanelOutput<'_>) {
    BlockedCsr::with(s, |s| {
        each(out.n_panels(), |at| {
            let out = out.panel(at);
            s.multiply_packing(h, out.width, out.columns.start, &out);
        });
    });
}

/// A sparse matrix with its columns split into blocks, such that the panel rows of one block fit into the L2 cache.
pub(super) struct BlockedCsr<'a> {
    s: CsrView<'a>,
    /// Columns per block.
    step: usize,
    /// For each block but the first, the index of the first entry of each row in that block.
    starts: &'a [usize],
}

impl BlockedCsr<'_> {
    pub(super) fn with<R>(s: CsrView<'_>, work: impl FnOnce(BlockedCsr<'_>) -> R) -> R {
        check_columns(s);
        let wanted = (s.n_cols * COLUMNS * size_of::<Real>()).div_ceil(L2_BLOCK).max(1);
        let pays = s.columns.len() >= wanted * ENTRIES_PER_BLOCK * s.n_rows;
        // Only sorted rows can be split into blocks.
        let in_order = |row: usize| s.row(row).0.is_sorted();
        let count =
            if wanted > 1 && pays && (0..s.n_rows).into_par_iter().all(in_order) { wanted } else { 1 };
        let step = s.n_cols.div_ceil(count);
        scratch::with((count - 1) * s.n_rows, |starts: &mut [usize]| {
            each_chunk(starts, 1 << 12, |first, starts| {
                for (at, start) in (first..).zip(starts) {
                    let (block, row) = (at / s.n_rows + 1, at % s.n_rows);
                    let columns = s.row(row).0;
                    *start =
                        s.offsets[row] + columns.partition_point(|&column| (column as usize) < block * step);
                }
            });
            work(BlockedCsr { s, step, starts })
        })
    }

    /// Number of rows of the product.
    pub(super) fn n_rows(&self) -> usize {
        self.s.n_rows
    }

    fn count(&self) -> usize {
        self.starts.len() / self.s.n_rows.max(1) + 1
    }

    /// The rows of the dense factor that a block reads.
    fn rows(&self, block: usize) -> Range<usize> {
        block * self.step..self.s.n_cols.min((block + 1) * self.step)
    }

    /// The index of the first entry of each row in a block or a later one.
    fn starts(&self, block: usize) -> &[usize] {
        let n = self.s.n_rows;
        match block {
            0 => &self.s.offsets[..n],
            _ if block == self.count() => &self.s.offsets[1..],
            _ => &self.starts[(block - 1) * n..block * n],
        }
    }

    /// Multiplies one block with its rows of the dense factor, which are in `panel`.
    fn multiply_block(&self, block: usize, panel: &[Real], out: &PanelOutput<'_>) {
        let (rows, is_last) = (self.rows(block), block + 1 == self.count());
        let panel = &panel[..rows.len() * out.columns.len()];
        let out = PanelOutput {
            add: out.add || block > 0,
            epilogue: out.epilogue.filter(|_| is_last),
            ..out.clone()
        };
        // CPUs with AMX have 2 MB of L2 cache, which hold such a block: no prefetch is needed.
        let is_in_l2 = simd::has_amx() && size_of_val(panel) <= L2_BLOCK;
        let sum = if is_in_l2 { sum_block::<false> } else { sum_block::<true> };
        sum(self.s, [self.starts(block), self.starts(block + 1)], rows.start, panel, &out);
    }

    /// Multiplies with a panel that is already packed.
    pub(super) fn multiply(&self, panel: &[Real], out: &PanelOutput<'_>) {
        for block in 0..self.count() {
            self.multiply_block(block, &panel[self.rows(block).start * out.columns.len()..], out);
        }
    }

    /// Multiplies with the panel of `h` that starts at column `first`, packing it block by block.
    pub(super) fn multiply_packing(&self, h: &[Real], width: usize, first: usize, out: &PanelOutput<'_>) {
        let n = out.columns.len();
        scratch::with(self.step * n, |panel: &mut [Real]| {
            for block in 0..self.count() {
                let rows = self.rows(block);
                let panel = &mut panel[..rows.len() * n];
                pack_rows(h, width, first..first + n, rows.start, panel);
                self.multiply_block(block, panel, out);
            }
        });
    }
}

/// Packs a panel of `h` on all threads.
fn pack(h: &[Real], width: usize, columns: Range<usize>, panel: &mut [Real]) {
    const ROWS: usize = 1024;
    let n = h.len() / width;
    let shared = SharedSlice::new(panel);
    each(n.div_ceil(ROWS), |task| {
        let rows = task * ROWS..n.min((task + 1) * ROWS);
        // SAFETY: the row ranges of different tasks are disjoint.
        let panel = unsafe { shared.slice(rows.start * columns.len(), rows.len() * columns.len()) };
        pack_rows(h, width, columns.clone(), rows.start, panel);
    });
}

simd! {
    /// Packs the given columns of the rows from `first` on, as many as `panel` holds. A full panel row has a constant length,
    /// so that the compiler inlines the copy.
    fn pack_rows[FMA](h: &[Real], width: usize, columns: Range<usize>, first: usize, panel: &mut [Real]) {
        let n = columns.len();
        for (at, to) in panel.chunks_exact_mut(n).enumerate() {
            let start = (first + at) * width + columns.start;
            prefetch_early(h, start + PACK_DISTANCE * width, n);
            match (<&mut [Real; COLUMNS]>::try_from(&mut *to), h[start..start + n].first_chunk()) {
                (Ok(to), Some(from)) => *to = *from,
                _ => to.copy_from_slice(&h[start..start + n]),
            }
        }
    }
}

/// Panics if a column index is out of range: the micro-kernel below reads without bounds checks.
fn check_columns(s: CsrView<'_>) {
    const ENTRIES: usize = 1 << 15;
    each(s.columns.len().div_ceil(ENTRIES), |chunk| {
        let columns = &s.columns[chunk * ENTRIES..s.columns.len().min((chunk + 1) * ENTRIES)];
        let largest = columns.iter().max();
        assert!(largest.is_none_or(|&largest| (largest as usize) < s.n_cols), "column indices in range");
    });
}

simd! {
    with avx512
    /// One panel of a range of rows of the product.
    fn sum_rows[FMA, const IS_LARGE: bool](s: CsrView<'_>, rows: Range<usize>, panel: &[Real], target: &PanelOutput<'_>) {
        for row in rows.clone() {
            // SAFETY: the row ranges of different tasks are disjoint, and panels are computed one after the other.
            let out = unsafe { target.out.slice(row * target.width + target.columns.start, target.columns.len()) };
            let ahead = if IS_LARGE {
                [columns_ahead::<L1_DISTANCE>(s, row, rows.end), columns_ahead::<L2_DISTANCE>(s, row, rows.end)]
            } else {
                [columns_ahead::<PREFETCH_DISTANCE>(s, row, rows.end), &[]]
            };
            let entries = s.offsets[row]..s.offsets[row + 1];
            sum_row::<FMA, true>(s, entries, ahead, 0, panel, out, target);
        }
    }
}

simd! {
    with avx512
    /// Adds the entries of one column block to a panel of the product. `bounds` are the first entry and the end of the block
    /// in each row; `panel` holds the rows of the dense factor from `first` on.
    fn sum_block[FMA, const PREFETCH: bool](
        s: CsrView<'_>,
        bounds: [&[usize]; 2],
        first: usize,
        panel: &[Real],
        target: &PanelOutput<'_>,
    ) {
        // With a single block, the entries of consecutive rows are contiguous.
        let is_whole = panel.len() == s.n_cols * target.columns.len();
        for (row, (&from, &to)) in bounds[0].iter().zip(bounds[1]).enumerate() {
            let start = |row: usize| row * target.width + target.columns.start;
            // SAFETY: different tasks write disjoint ranges of columns.
            let out = unsafe { target.out.slice(start(row), target.columns.len()) };
            let end = if is_whole { s.columns.len() } else { to };
            let ahead = if PREFETCH { &s.columns[(from + PREFETCH_DISTANCE).min(end)..end] } else { &[] };
            prefetch_to_write(target.out.ptr(start(row + OUTPUT_DISTANCE)), target.columns.len());
            sum_row::<FMA, PREFETCH>(s, from..to, [ahead, &[]], first, panel, out, target);
        }
    }
}

/// One row of a panel: Σ value·panel[column − first] over the given entries. `ahead` lists the columns to prefetch into L1
/// and into L2.
#[inline(always)]
fn sum_row<const FMA: bool, const PREFETCH: bool>(
    s: CsrView<'_>,
    entries: Range<usize>,
    ahead: [&[u32]; 2],
    first: usize,
    panel: &[Real],
    out: &mut [Real],
    target: &PanelOutput<'_>,
) {
    let rows = s.columns[entries.clone()].iter().map(|&column| column as usize - first);
    let (add, epilogue) = (target.add, target.epilogue);
    match s.values {
        Some(values) => {
            let entries = rows.zip(values[entries].iter().copied());
            sum_of::<FMA, PREFETCH>(entries, ahead, first, panel, out, add, epilogue);
        }
        None => sum_of::<FMA, PREFETCH>(rows.map(|row| (row, 1.0)), ahead, first, panel, out, add, epilogue),
    }
}

/// The micro-kernel. A full panel has a constant width, so that its sums stay in registers.
#[inline(always)]
fn sum_of<const FMA: bool, const PREFETCH: bool>(
    entries: impl Iterator<Item = (usize, Real)>,
    [ahead_l1, ahead_l2]: [&[u32]; 2],
    first: usize,
    panel: &[Real],
    out: &mut [Real],
    add: bool,
    epilogue: Option<SpmmEpilogue<'_>>,
) {
    let Ok(out) = <&mut [Real; COLUMNS]>::try_from(&mut *out) else {
        return narrow_sum::<FMA>(entries, panel, out, add, epilogue);
    };
    let mut sums = if add { *out } else { [0.0; COLUMNS] };
    for (e, (row, value)) in entries.enumerate() {
        if PREFETCH {
            if let Some(&next) = ahead_l1.get(e) {
                prefetch(panel, (next as usize - first) * COLUMNS, COLUMNS);
            }
            if let Some(&next) = ahead_l2.get(e) {
                prefetch_early(panel, (next as usize - first) * COLUMNS, COLUMNS);
            }
        }
        debug_assert!((row + 1) * COLUMNS <= panel.len());
        // SAFETY: `panel` holds one row of COLUMNS numbers for every column of S (of the block), and `check_columns` has
        // verified that all column indices are in range.
        let source = unsafe { &*panel.as_ptr().add(row * COLUMNS).cast::<[Real; COLUMNS]>() };
        for j in 0..COLUMNS {
            sums[j] = madd::<FMA>(value, source[j], sums[j]);
        }
    }
    // The epilogue works on `out`: taking the address of `sums` would force them out of the registers.
    *out = sums;
    if let Some(SpmmEpilogue { bias, act, slope }) = epilogue {
        activate_rows::<FMA>(COLUMNS, out, bias, act, slope);
    }
}

/// The micro-kernel for a last panel with fewer columns.
#[inline(never)]
fn narrow_sum<const FMA: bool>(
    entries: impl Iterator<Item = (usize, Real)>,
    panel: &[Real],
    out: &mut [Real],
    add: bool,
    epilogue: Option<SpmmEpilogue<'_>>,
) {
    let n = out.len();
    if !add {
        out.fill(0.0);
    }
    for (row, value) in entries {
        let source = &panel[row * n..][..n];
        out.iter_mut().zip(source).for_each(|(out, &x)| *out = madd::<FMA>(value, x, *out));
    }
    if let Some(SpmmEpilogue { bias, act, slope }) = epilogue {
        activate_rows::<FMA>(n, out, bias, act, slope);
    }
}
