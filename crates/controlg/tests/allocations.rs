//! A training step gives back what it takes: the heap does not grow, and nothing as large as the graph is allocated
//! once the first steps are over.

mod common;
#[path = "common/training.rs"]
mod training;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use controlg::kernels::simd;
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

/// One matrix of a network of width 48 on these nodes is 192,000 bytes in f32.
const NODES: usize = 1000;
const MATRIX: usize = NODES * 48 * size_of::<controlg::Real>();

#[test]
fn the_heap_does_not_grow_and_steps_allocate_little() {
    let graph = random_graph(NODES, 300);
    let mut runs = ["gcn", "gat"].map(|kind| (kind, Run::new(&graph, kind)));
    // Five losses take turns, so a round of five is what a step is in a run with one.
    let rounds =
        |run: &mut Run<'_>, count: usize| (0..5 * count).for_each(|_| assert!(run.step().is_finite()));
    for (kind, run) in &mut runs {
        rounds(run, 3);
        let live = [0, 9, 9, 9].map(|count| {
            rounds(run, count);
            LIVE.load(Relaxed)
        });
        // What leaks grows all the time. A thread takes its working memory once, with its first product, and on a busy
        // machine that may come late.
        let grows = live.windows(2).all(|pair| pair[1] > pair[0] + 4096);
        assert!(!grows, "{kind}: bytes that are live after rounds 3, 12, 21 and 30: {live:?}");
        let once = rayon::current_num_threads() << 22;
        assert!(live[3] <= live[0] + once, "{kind}: {live:?}, and {once} are enough for all threads");
    }
    // The library behind the wide dense products allocates its own working memory at each call, so what the engine
    // itself allocates is counted without it.
    simd::force_plain();
    for (kind, run) in &mut runs {
        rounds(run, 1);
        LARGEST.store(0, Relaxed);
        TOTAL.store(0, Relaxed);
        rounds(run, 1);
        let (largest, total) = (LARGEST.load(Relaxed), TOTAL.load(Relaxed));
        // What is left are the lists of nodes, pairs and columns that the run itself draws for each step.
        assert!(largest < MATRIX / 4, "{kind}: an allocation of {largest} bytes");
        assert!(total < 2 * MATRIX, "{kind}: {total} bytes allocated in five steps");
    }
}
