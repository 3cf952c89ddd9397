//! Parallel loops over chunks whose bounds never depend on the number of threads.

use super::helpers;
use super::scratch;
use rayon::prelude::*;

/// Elements per task: large enough to amortize the scheduling overhead, small enough for the L2 cache.
pub(crate) const CHUNK: usize = 1 << 14;

/// Rows of `cols` elements per chunk.
pub(crate) fn chunk_rows(cols: usize) -> usize {
    (CHUNK / cols.max(1)).max(1)
}

/// Calls `task(i)` for i in 0..n in parallel. A single task runs on the calling thread.
pub(crate) fn each(n: usize, task: impl Fn(usize) + Sync + Send) {
    match n {
        0 => {}
        1 => task(0),
        // On threads of a pool, such as those of parallel runs, rayon divides the work.
        _ if rayon::current_thread_index().is_none() && helpers::try_each(n, &task) => {}
        _ => (0..n).into_par_iter().with_max_len(1).for_each(task),
    }
}

/// Calls `work(start, chunk)` for chunks of `step` elements, in parallel. The last may be shorter.
pub(crate) fn each_chunk<T: Send>(out: &mut [T], step: usize, work: impl Fn(usize, &mut [T]) + Sync + Send) {
    let (len, shared) = (out.len(), SharedSlice::new(out));
    each(len.div_ceil(step), |chunk| {
        let start = chunk * step;
        // SAFETY: chunks do not overlap.
        work(start, unsafe { shared.slice(start, step.min(len - start)) });
    });
}

/// Sets `total` to the sum of the partial sums that `task(chunk, partial)` adds to a zeroed buffer, in the order of the
/// chunks.
pub(crate) fn sum_chunks(n: usize, total: &mut [f64], task: impl Fn(usize, &mut [f64]) + Sync + Send) {
    total.fill(0.0);
    if n <= 1 || total.is_empty() {
        (0..n).for_each(|chunk| task(chunk, total));
        return;
    }
    add_chunks(n, total, task);
}

/// [`sum_chunks`], added to `total`.
pub(crate) fn add_chunks(n: usize, total: &mut [f64], task: impl Fn(usize, &mut [f64]) + Sync + Send) {
    let width = total.len();
    scratch::with(n * width, |partials: &mut [f64]| {
        each_chunk(partials, width.max(1), |start, partial| {
            partial.fill(0.0);
            task(start / width, partial);
        });
        for partial in partials.chunks_exact(width.max(1)) {
            total.iter_mut().zip(partial).for_each(|(t, p)| *t += p);
        }
    });
}

/// A mutable slice shared by several tasks that write disjoint parts of it.
pub(crate) struct SharedSlice<T>(*mut T, usize);

// SAFETY: `slice` is the only access, and its callers guarantee that slices alive at the same time do not overlap.
unsafe impl<T: Send> Sync for SharedSlice<T> {}
// SAFETY: as above. The pointer comes from an exclusive borrow.
unsafe impl<T: Send> Send for SharedSlice<T> {}

impl<T> SharedSlice<T> {
    /// Borrows the slice for the tasks of one call.
    pub(crate) fn new(slice: &mut [T]) -> Self {
        SharedSlice(slice.as_mut_ptr(), slice.len())
    }

    /// The address of an element, for prefetching; it may lie outside of the slice.
    #[inline(always)]
    pub(crate) fn ptr(&self, at: usize) -> *const T {
        self.0.wrapping_add(at)
    }

    /// The `len` elements from `start`. Panics if they are not within the slice.
    ///
    /// # Safety
    /// Slices alive at the same time must not overlap, and none may outlive the borrowed slice.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub(crate) unsafe fn slice(&self, start: usize, len: usize) -> &mut [T] {
        assert!(start <= self.1 && len <= self.1 - start, "a range within the slice");
        // SAFETY: the range is within the slice (asserted above), and the caller guarantees exclusive access.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(start), len) }
    }
}
