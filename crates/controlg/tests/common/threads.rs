//! Ranks that are threads of this process.
#![allow(unreachable_pub)] // a module of several test files

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use controlg::collective::Collective;
use controlg::{Error, Result};

/// One of several threads.
pub struct ThreadRank {
    rank: usize,
    shared: Arc<Shared>,
    /// The number of the next operation.
    next: AtomicU64,
    /// The operation at which the rank fails, to test how the others end.
    pub dies_at: AtomicU64,
    /// Bytes handed to other ranks; those of a broadcast count once for each.
    pub sent: AtomicU64,
}

struct Shared {
    size: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    operations: HashMap<u64, Operation>,
    gone: Vec<usize>,
}

/// An operation that some ranks have not finished.
struct Operation {
    /// What each rank gave to it.
    given: Vec<Option<Vec<u8>>>,
    finished: usize,
}

/// `size` ranks, for one thread each.
pub fn ranks(size: usize) -> Vec<ThreadRank> {
    let shared = Arc::new(Shared { size, state: Mutex::default(), changed: Condvar::new() });
    let rank = |rank| ThreadRank {
        rank,
        shared: shared.clone(),
        next: AtomicU64::new(0),
        dies_at: AtomicU64::new(u64::MAX),
        sent: AtomicU64::new(0),
    };
    (0..size).map(rank).collect()
}

impl ThreadRank {
    /// Gives bytes to the next operation and waits for those of some ranks.
    fn exchange(&self, bytes: &[u8], wanted: &[usize]) -> Result<Vec<Vec<u8>>> {
        let operation = self.next.fetch_add(1, Ordering::Relaxed);
        if operation >= self.dies_at.load(Ordering::Relaxed) {
            return Err(Error::Failed("killed".to_owned()));
        }
        let mut state = self.shared.state.lock().unwrap();
        let size = self.shared.size;
        let started = || Operation { given: vec![None; size], finished: 0 };
        state.operations.entry(operation).or_insert_with(started).given[self.rank] = Some(bytes.to_vec());
        self.shared.changed.notify_all();
        loop {
            let given = &state.operations[&operation].given;
            let Some(missing) = wanted.iter().find(|&&rank| given[rank].is_none()) else { break };
            if state.gone.contains(missing) {
                return Err(Error::Failed(format!("rank {missing} is gone")));
            }
            state = self.shared.changed.wait(state).unwrap();
        }
        let Operation { given, finished } = state.operations.get_mut(&operation).unwrap();
        let found = wanted.iter().map(|&rank| given[rank].clone().unwrap()).collect();
        *finished += 1;
        if *finished == size {
            state.operations.remove(&operation);
        }
        Ok(found)
    }

    fn count(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for ThreadRank {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap().gone.push(self.rank);
        self.shared.changed.notify_all();
    }
}

impl Collective for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.size
    }

    fn gather(&self, root: usize, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let all: Vec<usize> = (0..self.size()).collect();
        if self.rank == root {
            return self.exchange(bytes, &all);
        }
        self.count(bytes.len());
        self.exchange(bytes, &[])
    }

    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        if self.rank == root {
            self.count(bytes.len() * (self.size() - 1));
            return self.exchange(bytes, &[]).map(drop);
        }
        *bytes = self.exchange(&[], &[root])?.remove(0);
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        let all: Vec<usize> = (0..self.size()).collect();
        self.exchange(&[], &all).map(drop)
    }
}
