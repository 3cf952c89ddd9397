//! A training step gives back what it takes: the heap does not grow, and nothing as large as the graph is allocated
//! once the first steps are over.

mod common;
#[path = "common/training.rs"]
mod training;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use training::{Run, random_graph};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);
static TOTAL: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)] // an allocator cannot be written without
// SAFETY: everything is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        TOTAL.fetch_add(layout.size(), Relaxed);
        LARGEST.fetch_max(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A network of this width on this many nodes: one matrix of them is 384,000 bytes in f32.
const NODES: usize = 2000;
const MATRIX: usize = NODES * 48 * size_of::<controlg::Real>();

#[test]
fn the_heap_does_not_grow_and_steps_allocate_little() {
    let graph = random_graph(NODES, 300);
    for kind in ["gcn", "gat"] {
        let mut run = Run::new(&graph, kind);
        let round = |run: &mut Run<'_>| (0..5).for_each(|_| drop(run.step()));
        // Five losses take turns, so a round of five is what a step is in a run with one.
        (0..3).for_each(|_| round(&mut run));
        let early = LIVE.load(Relaxed);
        (3..29).for_each(|_| round(&mut run));
        LARGEST.store(0, Relaxed);
        TOTAL.store(0, Relaxed);
        round(&mut run);
        let (largest, total) = (LARGEST.load(Relaxed), TOTAL.load(Relaxed));
        let late = LIVE.load(Relaxed);
        assert!(late <= early + 4096, "{kind}: {early} bytes are live after round 3, {late} after round 30");
        // What is left are the lists of nodes, pairs and columns that this test itself draws for each step.
        assert!(largest < MATRIX / 4, "{kind}: an allocation of {largest} bytes");
        assert!(total < 2 * MATRIX, "{kind}: {total} bytes allocated in five steps");
    }
}
