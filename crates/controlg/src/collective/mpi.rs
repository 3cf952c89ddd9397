//! The ranks that `mpirun` or `srun` start.

use ::mpi::Threading;
use ::mpi::environment::Universe;
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::*;

use super::Collective;
use crate::error::{Error, Result};

/// Bytes per message: MPI counts the elements of a message in 32 bits.
const MESSAGE: usize = 1 << 30;

/// All ranks of an MPI program. MPI ends when it is dropped.
///
/// MPI itself ends all ranks when one of them is gone; [`MpiWorld::abort`] does that after an error.
pub struct MpiWorld {
    rank: usize,
    size: usize,
    _universe: Universe,
}

impl MpiWorld {
    /// Starts MPI. Fails if it was started before in this process.
    pub fn start() -> Result<MpiWorld> {
        let (universe, _) = ::mpi::initialize_with_threading(Threading::Serialized)
            .ok_or_else(|| Error::Failed("MPI was already started in this process".to_owned()))?;
        let world = universe.world();
        Ok(MpiWorld { rank: world.rank() as usize, size: world.size() as usize, _universe: universe })
    }

    /// Ends all ranks with an exit code.
    pub fn abort(&self, code: u8) -> ! {
        SimpleCommunicator::world().abort(code.into())
    }
}

impl Collective for MpiWorld {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn gather(&self, root: usize, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let world = SimpleCommunicator::world();
        if self.rank != root {
            let root = world.process_at_rank(root as i32);
            root.send(&(bytes.len() as u64));
            bytes.chunks(MESSAGE).for_each(|part| root.send(part));
            return Ok(Vec::new());
        }
        let receive = |rank: usize| {
            if rank == root {
                return bytes.to_vec();
            }
            let from = world.process_at_rank(rank as i32);
            let (len, _) = from.receive::<u64>();
            let mut all = vec![0; len as usize];
            for part in all.chunks_mut(MESSAGE) {
                from.receive_into(part);
            }
            all
        };
        Ok((0..self.size).map(receive).collect())
    }

    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let world = SimpleCommunicator::world();
        let root = world.process_at_rank(root as i32);
        let mut len = bytes.len() as u64;
        root.broadcast_into(&mut len);
        bytes.resize(len as usize, 0);
        bytes.chunks_mut(MESSAGE).for_each(|part| root.broadcast_into(part));
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        SimpleCommunicator::world().barrier();
        Ok(())
    }
}
