//! Communication among the processes of one run, its *ranks*.
//!
//! [`Collective`] is all that a run needs of a cluster. [`OneProcess`] is a run without other ranks, `MpiWorld` (cargo feature
//! `mpi`) are the ranks that `mpirun` starts; the Python package has one for `torch.distributed`. [`Ranks`] adds what follows
//! from these operations.

#[cfg(feature = "mpi")]
mod mpi;
mod ranks;

#[cfg(feature = "mpi")]
pub use self::mpi::MpiWorld;
pub use self::ranks::Ranks;

use crate::error::Result;

/// The ranks of a run. All ranks call the same operations in the same order; an operation fails if another rank is gone.
pub trait Collective: Send + Sync {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Sends bytes to the rank `root`, which gets those of all ranks in the order of the ranks. The others get nothing.
    fn gather(&self, root: usize, bytes: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// Replaces the bytes of every rank by those of the rank `root`.
    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()>;

    /// Waits until all ranks are here.
    fn barrier(&self) -> Result<()>;
}

/// A run in one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneProcess;

impl Collective for OneProcess {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn gather(&self, _root: usize, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        Ok(vec![bytes.to_vec()])
    }

    fn broadcast(&self, _root: usize, _bytes: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        Ok(())
    }
}
