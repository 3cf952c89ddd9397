//! Buffers that are used again: a step takes what the last one gave back, so after the first steps on an objective nothing
//! is allocated that grows with the graph. Only very large buffers make room for each other when another objective needs
//! other sizes: the peak is then that of one objective, not of all their sizes together.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use crate::Real;
use crate::kernels::memory::prefer_large_pages;
use crate::kernels::pairs::PairGraph;

/// Bytes of a cache line. Rows that start at one are read and written by whole lines.
const LINE: usize = 64;

/// Bytes from which on a buffer is large. The system takes such a one back as soon as it is freed.
pub(crate) const LARGE: usize = 64 << 20;

/// A store of idle buffers. Dropping a [`Buffer`] puts it back.
#[derive(Debug, Default)]
pub struct Pool {
    reals: Shelf<Real>,
    ids: Shelf<u32>,
    sizes: Shelf<usize>,
    marks: Shelf<bool>,
    pair_graphs: RefCell<Vec<PairGraph>>,
}

/// A number type that the pool keeps buffers of.
pub trait Pooled: Copy + Default + 'static {
    #[doc(hidden)]
    fn shelf(pool: &Pool) -> &Shelf<Self>;
}

/// The idle buffers of one number type, by capacity.
#[derive(Debug)]
pub struct Shelf<T>(RefCell<BTreeMap<usize, Vec<Vec<T>>>>);

/// A slice on loan from a [`Pool`].
#[derive(Debug)]
pub struct Buffer<'a, T: Pooled = Real> {
    /// As long as its size class and a cache line; the buffer's own part starts at a line.
    data: Vec<T>,
    start: usize,
    len: usize,
    pool: &'a Pool,
}

/// A [`PairGraph`] on loan from a [`Pool`].
pub(super) struct PairGraphLoan<'a> {
    graph: PairGraph,
    pool: &'a Pool,
}

impl Pool {
    /// An empty pool.
    pub fn new() -> Self {
        Pool::default()
    }

    /// A buffer whose content is left over from its last use: for results that are written in full.
    pub fn take<T: Pooled>(&self, len: usize) -> Buffer<'_, T> {
        let class = size_class(len);
        let shelf = T::shelf(self);
        let idle = shelf.pop(class);
        if idle.is_none() && class * size_of::<T>() >= LARGE {
            shelf.make_room();
        }
        // A fresh vector of zeros comes from the system untouched, so the unused end of a class costs no memory.
        let data = idle.unwrap_or_else(|| {
            let mut fresh = vec![T::default(); class + LINE / size_of::<T>()];
            prefer_large_pages(&mut fresh);
            fresh
        });
        let start = data.as_ptr().align_offset(LINE);
        Buffer { data, start, len, pool: self }
    }

    /// A buffer of zeros.
    pub fn zeros<T: Pooled>(&self, len: usize) -> Buffer<'_, T> {
        let mut buffer = self.take(len);
        buffer.fill(T::default());
        buffer
    }

    /// A buffer with a copy of the slice.
    pub fn copy<T: Pooled>(&self, from: &[T]) -> Buffer<'_, T> {
        let mut buffer = self.take(from.len());
        buffer.copy_from_slice(from);
        buffer
    }

    /// The memory of a graph of pairs, to be rebuilt.
    pub(super) fn pair_graph(&self) -> PairGraphLoan<'_> {
        PairGraphLoan { graph: self.pair_graphs.borrow_mut().pop().unwrap_or_default(), pool: self }
    }

    /// Bytes of the buffers that are idle now.
    pub fn idle_bytes(&self) -> usize {
        self.reals.bytes() + self.ids.bytes() + self.sizes.bytes() + self.marks.bytes()
    }

    /// Gives all idle buffers back to the system.
    pub fn trim(&self) {
        self.reals.0.borrow_mut().clear();
        self.ids.0.borrow_mut().clear();
        self.sizes.0.borrow_mut().clear();
        self.marks.0.borrow_mut().clear();
        self.pair_graphs.borrow_mut().clear();
    }
}

/// The capacity that serves `len`: eight classes an octave, so lengths that vary a little from step to step (a
/// graph with other edges dropped) find each other's buffers.
pub(crate) fn size_class(len: usize) -> usize {
    let step = (len.next_power_of_two() / 16).max(16);
    len.div_ceil(step).max(1) * step
}

impl<T> Shelf<T> {
    /// An idle buffer of this class, or the smallest that is not more than twice as large; a quarter larger, where what
    /// lies unused would be much.
    fn pop(&self, class: usize) -> Option<Vec<T>> {
        let mut shelf = self.0.borrow_mut();
        let most = if class * size_of::<T>() < LARGE { 2 * class } else { class + class / 4 };
        shelf.range_mut(class..=most).find_map(|(_, idle)| idle.pop())
    }

    /// Gives idle buffers of a megabyte and more back to the system.
    fn make_room(&self) {
        self.0.borrow_mut().split_off(&((1 << 20) / size_of::<T>()));
    }

    fn bytes(&self) -> usize {
        self.0.borrow().iter().map(|(class, idle)| class * idle.len() * size_of::<T>()).sum()
    }
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Shelf(RefCell::default())
    }
}

impl Pooled for Real {
    fn shelf(pool: &Pool) -> &Shelf<Self> {
        &pool.reals
    }
}

impl Pooled for u32 {
    fn shelf(pool: &Pool) -> &Shelf<Self> {
        &pool.ids
    }
}

impl Pooled for usize {
    fn shelf(pool: &Pool) -> &Shelf<Self> {
        &pool.sizes
    }
}

impl Pooled for bool {
    fn shelf(pool: &Pool) -> &Shelf<Self> {
        &pool.marks
    }
}

impl<T: Pooled> Deref for Buffer<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.data[self.start..][..self.len]
    }
}

impl<T: Pooled> DerefMut for Buffer<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data[self.start..][..self.len]
    }
}

impl<T: Pooled> Drop for Buffer<'_, T> {
    fn drop(&mut self) {
        let data = std::mem::take(&mut self.data);
        let class = data.len() - LINE / size_of::<T>();
        T::shelf(self.pool).0.borrow_mut().entry(class).or_default().push(data);
    }
}

impl Deref for PairGraphLoan<'_> {
    type Target = PairGraph;

    fn deref(&self) -> &PairGraph {
        &self.graph
    }
}

impl DerefMut for PairGraphLoan<'_> {
    fn deref_mut(&mut self) -> &mut PairGraph {
        &mut self.graph
    }
}

impl Drop for PairGraphLoan<'_> {
    fn drop(&mut self) {
        self.pool.pair_graphs.borrow_mut().push(std::mem::take(&mut self.graph));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_buffer_serves_the_next_request_of_its_class() {
        let pool = Pool::new();
        let first = pool.take::<Real>(1000);
        let address = first.as_ptr();
        drop(first);
        let second = pool.take::<Real>(998);
        assert_eq!(second.as_ptr(), address);
        assert_eq!(second.len(), 998);
        assert_eq!(address as usize % LINE, 0);
        assert_eq!(pool.idle_bytes(), 0);
        drop(second);
        assert!(pool.idle_bytes() >= 1000 * size_of::<Real>());
        pool.trim();
        assert_eq!(pool.idle_bytes(), 0);
    }

    #[test]
    fn large_buffers_make_room_for_each_other() {
        let (pool, large) = (Pool::new(), LARGE / size_of::<Real>());
        let hold = |lens: &[usize]| {
            let held: Vec<Buffer<'_>> = lens.iter().map(|&len| pool.take(len)).collect();
            drop(held);
            pool.idle_bytes() / size_of::<Real>()
        };
        let small = hold(&[10]);
        assert_eq!(hold(&[large, large]), small + 2 * size_class(large));
        // Both give way to one that neither can serve; small ones stay, and so does what fits.
        let larger = 2 * large;
        assert_eq!(hold(&[larger]), small + size_class(larger));
        assert_eq!(hold(&[10, larger - 100]), small + size_class(larger));
    }

    #[test]
    fn classes_hold_their_length_and_waste_an_eighth_at_most() {
        for len in [0, 1, 15, 16, 17, 1000, 4097, 1 << 20, (1 << 20) + 1] {
            let class = size_class(len);
            assert!(class >= len && class <= len + len / 8 + 16, "{len}: {class}");
        }
    }
}
