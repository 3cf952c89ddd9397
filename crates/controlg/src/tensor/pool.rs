//! A pool of reusable buffers.
//!
//! A step reuses the buffers that the step before it freed, so after the first steps nothing is allocated that grows with
//! the graph. Only very large buffers are returned to the system when another objective needs other sizes: the peak is
//! then that of one objective, not the sum over all their sizes.
//!
//! A [shape-only](Pool::shape_only) pool hands out buffers that have a length but no storage. It applies the same rules
//! and keeps the same accounts, so a pass over shapes predicts the [peak](Pool::peak_bytes) of a real one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use crate::Real;
use crate::kernels::memory::prefer_large_pages;
use crate::kernels::pairs::PairGraph;
use crate::kernels::{rows, scratch};

/// Bytes of a cache line. Buffers start at a line boundary.
const LINE: usize = 64;

/// Buffers of at least this many bytes are large. The system takes them back as soon as they are freed.
const LARGE: usize = 64 << 20;

/// Allocations of at least this many bytes are always mapped from the system (the largest threshold of glibc).
const MAPPED: usize = 32 << 20;

/// A store of free buffers. Dropping a [`Buffer`] returns it to the pool.
#[derive(Debug, Default)]
pub struct Pool {
    shape_only: bool,
    reals: FreeList<Real>,
    ids: FreeList<u32>,
    sizes: FreeList<usize>,
    flags: FreeList<bool>,
    pair_graphs: RefCell<Vec<(PairGraph, usize)>>,
    usage: Usage,
    /// Floating-point operations, see [`Pool::flops`].
    flops: Cell<u64>,
}

/// Bytes in use by a pool, and the most there ever were.
#[derive(Debug, Default)]
struct Usage {
    /// Live and free buffers, as far as they have been written to.
    held: Cell<usize>,
    peak: Cell<usize>,
    /// The part of `held` that is live.
    live: Cell<usize>,
    /// The scratch buffers of kernels, the largest first.
    scratch: RefCell<Vec<usize>>,
}

impl Usage {
    fn grow(&self, bytes: usize) {
        self.held.set(self.held.get() + bytes);
        self.peak.set(self.peak.get().max(self.held.get()));
    }

    fn shrink(&self, bytes: usize) {
        self.held.set(self.held.get() - bytes);
    }
}

/// An element type that the pool has buffers of.
pub trait Pooled: Copy + Default + Send + Sync + 'static {
    #[doc(hidden)]
    fn free_list(pool: &Pool) -> &FreeList<Self>;
}

/// The free buffers of one element type, by capacity.
#[derive(Debug)]
pub struct FreeList<T>(RefCell<BTreeMap<usize, Vec<Storage<T>>>>);

/// The memory behind a buffer.
#[derive(Debug)]
struct Storage<T> {
    /// `class` elements and a cache line; empty in a shape-only pool.
    data: Vec<T>,
    class: usize,
    /// Elements that are backed by memory. What lies beyond was never written.
    touched: usize,
}

/// A slice borrowed from a [`Pool`]. In a shape-only pool the slice is empty, but [`Buffer::len`] is the length asked for.
#[derive(Debug)]
pub struct Buffer<'a, T: Pooled = Real> {
    storage: Storage<T>,
    /// The buffer's own part of the storage, which starts at a cache line.
    start: usize,
    end: usize,
    len: usize,
    pool: &'a Pool,
}

/// A [`PairGraph`] borrowed from a [`Pool`].
pub(super) struct PooledPairGraph<'a> {
    graph: PairGraph,
    bytes: usize,
    pool: &'a Pool,
}

impl Pool {
    /// An empty pool.
    pub fn new() -> Self {
        Pool::default()
    }

    /// An empty pool whose buffers have a length but no storage.
    pub fn shape_only() -> Self {
        Pool { shape_only: true, ..Pool::default() }
    }

    /// Whether buffers have no storage.
    pub fn is_shape_only(&self) -> bool {
        self.shape_only
    }

    /// A buffer with unspecified contents, for results that are written in full.
    pub fn take<T: Pooled>(&self, len: usize) -> Buffer<'_, T> {
        let class = size_class(len);
        let list = T::free_list(self);
        let mut storage = list.pop(class).unwrap_or_else(|| {
            if class * size_of::<T>() >= LARGE {
                self.usage.shrink(list.release_large());
            }
            self.allocate(class)
        });
        // The allocator clears recycled memory, so a buffer is touched in full unless it is mapped from the system.
        let touched = if class * size_of::<T>() < MAPPED { storage.class } else { len };
        if touched > storage.touched {
            self.usage.grow((touched - storage.touched) * size_of::<T>());
            storage.touched = touched;
        }
        self.usage.live.set(self.usage.live.get() + storage.touched * size_of::<T>());
        let (start, end) = if self.shape_only {
            (0, 0)
        } else {
            let start = storage.data.as_ptr().align_offset(LINE);
            (start, start + len)
        };
        Buffer { storage, start, end, len, pool: self }
    }

    fn allocate<T: Pooled>(&self, class: usize) -> Storage<T> {
        let mut data = Vec::new();
        if !self.shape_only {
            // Zeros come from the system untouched, so the unused end of a size class costs no memory.
            data = vec![T::default(); class + LINE / size_of::<T>()];
            prefer_large_pages(&mut data);
        }
        Storage { data, class, touched: 0 }
    }

    /// A buffer of zeros.
    pub fn zeros<T: Pooled>(&self, len: usize) -> Buffer<'_, T> {
        let mut buffer = self.take(len);
        rows::fill(T::default(), &mut buffer);
        buffer
    }

    /// A buffer with a copy of the slice. To copy another buffer, clone it.
    pub fn copy<T: Pooled>(&self, from: &[T]) -> Buffer<'_, T> {
        let mut buffer = self.take(from.len());
        if !self.shape_only {
            rows::copy(from, &mut buffer);
        }
        buffer
    }

    /// The graph of these pairs of the nodes 0..n.
    pub(super) fn pair_graph(&self, n: usize, us: &[u32], vs: &[u32]) -> PooledPairGraph<'_> {
        let (mut graph, mut bytes) = self.pair_graphs.borrow_mut().pop().unwrap_or_default();
        let needed = n * size_of::<usize>() + 2 * us.len() * (2 * size_of::<u32>() + size_of::<Real>());
        if needed > bytes {
            self.usage.grow(needed - bytes);
            bytes = needed;
        }
        if !self.shape_only {
            graph.rebuild(n, us, vs);
        }
        PooledPairGraph { graph, bytes, pool: self }
    }

    /// Records the bytes of the scratch buffers that a kernel uses at the same time. Kernels share them, so only the largest
    /// of each rank counts.
    pub(super) fn record_scratch(&self, mut buffers: Vec<usize>) {
        buffers.sort_unstable_by(|a, b| b.cmp(a));
        let mut held = self.usage.scratch.borrow_mut();
        let len = held.len().max(buffers.len());
        held.resize(len, 0);
        held.iter_mut().zip(buffers).for_each(|(held, bytes)| *held = (*held).max(bytes));
    }

    /// Bytes of the buffers that are free now.
    pub fn idle_bytes(&self) -> usize {
        self.usage.held.get() - self.usage.live.get()
    }

    /// Bytes of the buffers that are in use now.
    pub fn live_bytes(&self) -> usize {
        self.usage.live.get()
    }

    /// The most bytes that all buffers, in use or free, took at any one time.
    pub fn peak_bytes(&self) -> usize {
        self.usage.peak.get()
    }

    /// The scratch space of all kernels, in bytes. Only a shape-only pool knows it.
    pub fn scratch_bytes(&self) -> usize {
        self.usage.scratch.borrow().iter().map(|&bytes| scratch::resident_bytes(bytes)).sum()
    }

    /// Floating-point operations of everything that tapes on this pool have computed, or would have on a shape-only pool: forward
    /// passes, and each backward pass as far as it went.
    pub fn flops(&self) -> u64 {
        self.flops.get()
    }

    /// Counts operations.
    pub(crate) fn count_flops(&self, flops: u64) {
        self.flops.set(self.flops.get() + flops);
    }

    /// Returns all free buffers to the system.
    pub fn trim(&self) {
        self.reals.clear();
        self.ids.clear();
        self.sizes.clear();
        self.flags.clear();
        self.pair_graphs.borrow_mut().clear();
        self.usage.held.set(self.usage.live.get());
    }
}

/// The capacity that serves `len`. There are eight size classes per octave, so lengths that vary a little from step to
/// step (a graph with other edges dropped) share their buffers.
fn size_class(len: usize) -> usize {
    let step = (len.next_power_of_two() / 16).max(16);
    len.div_ceil(step).max(1) * step
}

impl<T> FreeList<T> {
    /// A free buffer of this class, or the smallest that is at most twice as large; for large buffers, at most a quarter
    /// larger.
    fn pop(&self, class: usize) -> Option<Storage<T>> {
        let mut list = self.0.borrow_mut();
        let most = if class * size_of::<T>() < LARGE { 2 * class } else { class + class / 4 };
        list.range_mut(class..=most).find_map(|(_, free)| free.pop())
    }

    fn push(&self, storage: Storage<T>) {
        self.0.borrow_mut().entry(storage.class).or_default().push(storage);
    }

    /// Returns free buffers of a megabyte and more to the system, and gives their bytes.
    fn release_large(&self) -> usize {
        let released = self.0.borrow_mut().split_off(&((1 << 20) / size_of::<T>()));
        released.values().flatten().map(|storage| storage.touched * size_of::<T>()).sum()
    }

    fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        FreeList(RefCell::default())
    }
}

impl Pooled for Real {
    fn free_list(pool: &Pool) -> &FreeList<Self> {
        &pool.reals
    }
}

impl Pooled for u32 {
    fn free_list(pool: &Pool) -> &FreeList<Self> {
        &pool.ids
    }
}

impl Pooled for usize {
    fn free_list(pool: &Pool) -> &FreeList<Self> {
        &pool.sizes
    }
}

impl Pooled for bool {
    fn free_list(pool: &Pool) -> &FreeList<Self> {
        &pool.flags
    }
}

impl<T: Pooled> Buffer<'_, T> {
    /// The number of elements, also where they have no storage.
    #[allow(clippy::len_without_is_empty)] // `is_empty` of the slice
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the elements have no storage.
    pub fn is_shape_only(&self) -> bool {
        self.pool.shape_only
    }
}

impl<T: Pooled> Clone for Buffer<'_, T> {
    fn clone(&self) -> Self {
        let mut copy = self.pool.take(self.len);
        rows::copy(self, &mut copy);
        copy
    }
}

impl<T: Pooled> Deref for Buffer<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.storage.data[self.start..self.end]
    }
}

impl<T: Pooled> DerefMut for Buffer<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.storage.data[self.start..self.end]
    }
}

impl<T: Pooled> Drop for Buffer<'_, T> {
    fn drop(&mut self) {
        let Storage { ref mut data, class, touched } = self.storage;
        let usage = &self.pool.usage;
        usage.live.set(usage.live.get() - touched * size_of::<T>());
        T::free_list(self.pool).push(Storage { data: std::mem::take(data), class, touched });
    }
}

impl Deref for PooledPairGraph<'_> {
    type Target = PairGraph;

    fn deref(&self) -> &PairGraph {
        &self.graph
    }
}

impl DerefMut for PooledPairGraph<'_> {
    fn deref_mut(&mut self) -> &mut PairGraph {
        &mut self.graph
    }
}

impl Drop for PooledPairGraph<'_> {
    fn drop(&mut self) {
        self.pool.pair_graphs.borrow_mut().push((std::mem::take(&mut self.graph), self.bytes));
    }
}

#[cfg(test)]
mod tests;
