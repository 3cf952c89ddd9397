//! Training steps reuse their buffers: the heap does not grow, and after the first steps nothing is allocated whose size
//! depends on the graph.

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
// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        TOTAL.fetch_add(layout.size(), Relaxed);
        LARGEST.fetch_max(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One matrix of a network of width 48 on these nodes is 192,000 bytes in f32.
const NODES: usize = 1000;
const MATRIX: usize = NODES * 48 * size_of::<controlg::Real>();

#[test]
fn steps_reuse_their_memory() {
    let graph = random_graph(NODES, 300);
    let mut runs = ["gcn", "gat"].map(|kind| (kind, Run::new(&graph, kind)));
    // Five losses take turns, so five steps make one round.
    let rounds =
        |run: &mut Run<'_>, count: usize| (0..5 * count).for_each(|_| assert!(run.step().is_finite()));
    for (kind, run) in &mut runs {
        rounds(run, 3);
        let live = [0, 9, 9, 9].map(|count| {
            rounds(run, count);
            LIVE.load(Relaxed)
        });
        // A leak grows in every interval. A thread allocates its working memory once, with its first product, which may come
        // late on a busy machine.
        let grows = live.windows(2).all(|pair| pair[1] > pair[0] + 4096);
        assert!(!grows, "{kind}: live bytes after rounds 3, 12, 21 and 30: {live:?}");
        let once = rayon::current_num_threads() << 22;
        assert!(live[3] <= live[0] + once, "{kind}: {live:?}, where {once} suffice for all threads");
    }
    // The gemm crate allocates working memory in every call. Count the allocations of this crate without it.
    simd::force_plain();
    for (kind, run) in &mut runs {
        rounds(run, 1);
        LARGEST.store(0, Relaxed);
        TOTAL.store(0, Relaxed);
        rounds(run, 1);
        let (largest, total) = (LARGEST.load(Relaxed), TOTAL.load(Relaxed));
        // What remains are the lists of nodes, pairs and columns that the test draws for each step.
        assert!(largest < MATRIX / 4, "{kind}: an allocation of {largest} bytes");
        assert!(total < 2 * MATRIX, "{kind}: {total} bytes allocated in five steps");
    }
}
