//! Threads that help the calling thread with a parallel loop.
//!
//! A training step consists of about a hundred short loops. Handing each of them to rayon's threads costs two wake-ups, because
//! the calling thread is not one of them. Here the calling thread works itself, and helpers that wait for work spin for a
//! moment before they sleep, so that they are awake when the next loop starts.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

/// Rounds of spinning before a helper sleeps: about 0.1 ms on an idle CPU. A round ends with a yield, so that other threads of
/// a busy CPU are not delayed.
const ROUNDS: usize = 150;
const SPINS: usize = 40;

/// The loop that is running, on the stack of its caller; null between loops.
static CURRENT: AtomicPtr<Loop> = AtomicPtr::new(null_mut());
/// Number of loops so far.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Helpers that may be reading `CURRENT`.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
/// Whether a thread has a loop running.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
/// Helpers that sleep until the number of loops changes.
static ASLEEP: AtomicUsize = AtomicUsize::new(0);
static SLEEP: Mutex<()> = Mutex::new(());
static WAKE: Condvar = Condvar::new();

/// A loop over 0..n, whose indices are handed out one by one.
struct Loop {
    task: *const (dyn Fn(usize) + Sync),
    n: usize,
    next: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Loop {
    /// Runs tasks until none is left. After a panic, the remaining tasks are skipped.
    fn run(&self) {
        // SAFETY: the caller of `try_each` keeps the closure alive until no thread is in this function.
        let task = unsafe { &*self.task };
        let all = || {
            loop {
                let i = self.next.fetch_add(1, SeqCst);
                if i >= self.n {
                    return;
                }
                task(i);
            }
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(all)) {
            self.next.store(self.n, SeqCst);
            *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
    }
}

/// Calls `task(i)` for i in 0..n on this thread and the helpers. Returns `false` without calling it if another thread has the
/// helpers, or if there are none.
pub(super) fn try_each(n: usize, task: &(dyn Fn(usize) + Sync)) -> bool {
    if helpers() == 0 || IS_TAKEN.swap(true, SeqCst) {
        return false;
    }
    // SAFETY: only the lifetime changes. Below, this function waits until no helper uses the loop.
    let task =
        unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(task) };
    let job = Loop { task, n, next: AtomicUsize::new(0), panic: Mutex::new(None) };
    CURRENT.store((&raw const job).cast_mut(), SeqCst);
    COUNT.fetch_add(1, SeqCst);
    // A helper that falls asleep increments `ASLEEP` before it reads `COUNT`: one of the two threads sees the other.
    if ASLEEP.load(SeqCst) > 0 {
        drop(SLEEP.lock().unwrap_or_else(PoisonError::into_inner));
        WAKE.notify_all();
    }
    job.run();
    // A helper increments `ACTIVE` before it reads `CURRENT`: it either reads null or is seen here.
    CURRENT.store(null_mut(), SeqCst);
    let mut spins = 0;
    while ACTIVE.load(SeqCst) > 0 {
        pause(&mut spins);
    }
    IS_TAKEN.store(false, SeqCst);
    if let Some(panic) = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(panic);
    }
    true
}

/// The number of helpers: with the calling thread, as many as rayon has threads. The first call starts them.
fn helpers() -> usize {
    static STARTED: OnceLock<usize> = OnceLock::new();
    *STARTED.get_or_init(|| {
        let start =
            |_: &usize| std::thread::Builder::new().name("controlg helper".to_owned()).spawn(help).is_ok();
        (1..rayon::current_num_threads()).filter(start).count()
    })
}

fn help() {
    let mut seen = 0;
    loop {
        seen = next_loop(seen);
        ACTIVE.fetch_add(1, SeqCst);
        let current = CURRENT.load(SeqCst);
        if !current.is_null() {
            // SAFETY: `ACTIVE` was incremented before `CURRENT` was read, so the caller of `try_each` waits for this thread.
            unsafe { (*current).run() };
        }
        ACTIVE.fetch_sub(1, SeqCst);
    }
}

/// Waits until there have been other than `seen` loops, and returns their number.
fn next_loop(seen: usize) -> usize {
    let mut spins = 0;
    while spins < ROUNDS * SPINS {
        let count = COUNT.load(SeqCst);
        if count != seen {
            return count;
        }
        pause(&mut spins);
    }
    let mut guard = SLEEP.lock().unwrap_or_else(PoisonError::into_inner);
    ASLEEP.fetch_add(1, SeqCst);
    while COUNT.load(SeqCst) == seen {
        guard = WAKE.wait(guard).unwrap_or_else(PoisonError::into_inner);
    }
    ASLEEP.fetch_sub(1, SeqCst);
    COUNT.load(SeqCst)
}

/// Spins once, and yields after every few times.
fn pause(spins: &mut usize) {
    *spins += 1;
    if spins.is_multiple_of(SPINS) { std::thread::yield_now() } else { std::hint::spin_loop() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the loop as soon as no other test has the helpers. `None` if there are no helpers.
    fn run(n: usize, task: &(dyn Fn(usize) + Sync)) -> Option<()> {
        while helpers() > 0 {
            if try_each(n, task) {
                return Some(());
            }
            std::thread::yield_now();
        }
        None
    }

    fn add(sum: &AtomicUsize, x: usize) {
        sum.fetch_add(x, SeqCst);
    }

    #[test]
    fn every_task_runs_once() {
        for n in [0, 1, 2, 7, 1000] {
            for _ in 0..200 {
                let counts: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
                if run(n, &|i| add(&counts[i], 1)).is_some() {
                    assert!(counts.iter().all(|count| count.load(SeqCst) == 1));
                }
            }
        }
    }

    #[test]
    fn helpers_that_sleep_wake_up() {
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            let sum = AtomicUsize::new(0);
            if run(100, &|i| add(&sum, i)).is_some() {
                assert_eq!(sum.into_inner(), 4950);
            }
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_ends_the_loop() {
        let broken = || run(50, &|i| assert!(i != 20, "task {i}"));
        if helpers() > 0 {
            assert!(catch_unwind(broken).is_err());
            assert!(run(3, &|_| ()).is_some(), "the helpers are free again");
        }
    }

    #[test]
    fn loops_of_several_threads_and_loops_within_loops_are_complete() {
        use super::super::parallel::each;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let sum = AtomicUsize::new(0);
                        each(8, |_| each(8, |i| add(&sum, i)));
                        assert_eq!(sum.into_inner(), 8 * 28);
                    }
                });
            }
        });
    }
}
