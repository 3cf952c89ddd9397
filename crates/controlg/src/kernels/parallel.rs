//! Fixed chunks: how work is cut never depends on how many threads share it.

use super::scratch;
use rayon::prelude::*;

/// Elements a task works on: large enough to hide what a task costs, small enough to stay in the L2 cache.
pub(crate) const CHUNK: usize = 1 << 14;

/// Rows of `cols` elements that make a chunk.
pub(crate) fn chunk_rows(cols: usize) -> usize {
    (CHUNK / cols.max(1)).max(1)
}

/// Calls `task(0..n)` in parallel; a single one without going through the pool.
pub(crate) fn each(n: usize, task: impl Fn(usize) + Sync + Send) {
    match n {
        0 => {}
        1 => task(0),
        _ => (0..n).into_par_iter().with_max_len(1).for_each(task),
    }
}

/// Adds up what `task(chunk, partial)` leaves in its zeroed partial sums, in the order of the chunks.
pub(crate) fn sum_chunks(n: usize, total: &mut [f64], task: impl Fn(usize, &mut [f64]) + Sync + Send) {
    total.fill(0.0);
    if n <= 1 || total.is_empty() {
        (0..n).for_each(|chunk| task(chunk, total));
        return;
    }
    add_chunks(n, total, task);
}

/// [`sum_chunks`] on top of what earlier chunks came to.
pub(crate) fn add_chunks(n: usize, total: &mut [f64], task: impl Fn(usize, &mut [f64]) + Sync + Send) {
    let width = total.len();
    scratch::with(n * width, |partials: &mut [f64]| {
        partials.fill(0.0);
        let tasks = partials.par_chunks_mut(width.max(1)).with_max_len(1).enumerate();
        tasks.for_each(|(chunk, partial)| task(chunk, partial));
        for partial in partials.chunks_exact(width.max(1)) {
            total.iter_mut().zip(partial).for_each(|(t, p)| *t += p);
        }
    });
}

/// A slice that several tasks write to, each in its own part.
pub(crate) struct Shared<T>(*mut T, usize);

// SAFETY: only `part` gives access, and its caller promises that parts in use at once do not overlap.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above; the pointer comes from an exclusive borrow.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    /// Borrows the slice for the tasks of one call.
    pub(crate) fn new(slice: &mut [T]) -> Self {
        Shared(slice.as_mut_ptr(), slice.len())
    }

    /// Where an element lies, or would lie.
    #[inline(always)]
    pub(crate) fn place(&self, at: usize) -> *const T {
        self.0.wrapping_add(at)
    }

    /// The part of `len` elements from `start`.
    ///
    /// # Safety
    /// Parts alive at the same time must not overlap, and none may outlive the slice.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub(crate) unsafe fn part(&self, start: usize, len: usize) -> &mut [T] {
        assert!(start <= self.1 && len <= self.1 - start, "part within the slice");
        // SAFETY: within the slice by the check above, exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(start), len) }
    }
}
