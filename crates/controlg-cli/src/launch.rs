//! How this process was started: alone, or by a launcher as one of several ranks.

use controlg::collective::{Collective, OneProcess};
use controlg::{Error, Result};

use crate::Exit;

/// Environment variables with the number of ranks, by launcher: Open MPI; MPICH, Intel MPI and Slurm with PMI.
const MPI_SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// The ranks of this process.
pub(crate) enum Launch {
    /// One process.
    Alone,
    /// A rank of an MPI program.
    #[cfg(feature = "mpi")]
    Mpi(controlg::collective::MpiWorld),
}

impl Launch {
    /// Finds out from the environment. More than one rank is an error if this build cannot talk to the others: each would
    /// run on its own.
    pub(crate) fn detect() -> Result<Launch> {
        let several = |name: &str| {
            let size = std::env::var(name).ok()?.parse::<usize>().ok()?;
            (size > 1).then_some(size)
        };
        if let Some(size) = MPI_SIZES.into_iter().find_map(several) {
            return Launch::mpi(size);
        }
        match several("WORLD_SIZE").filter(|_| std::env::var_os("TORCHELASTIC_RUN_ID").is_some()) {
            None => Ok(Launch::Alone),
            Some(size) => {
                let expected = "the Python package: torchrun … -m controlg pretrain …";
                Err(Error::value("torchrun", format!("{size} ranks of the program"), expected))
            }
        }
    }

    #[cfg(feature = "mpi")]
    fn mpi(_: usize) -> Result<Launch> {
        controlg::collective::MpiWorld::start().map(Launch::Mpi)
    }

    #[cfg(not(feature = "mpi"))]
    fn mpi(size: usize) -> Result<Launch> {
        let expected = "a build with MPI: cargo install controlg-cli --features mpi";
        Err(Error::value("mpirun", format!("{size} ranks of a build without MPI"), expected))
    }

    /// The ranks.
    pub(crate) fn collective(&self) -> &dyn Collective {
        match self {
            Launch::Alone => &OneProcess,
            #[cfg(feature = "mpi")]
            Launch::Mpi(world) => world,
        }
    }

    /// Ends this process's part; returns the exit code. If it alone failed, all ranks end, since some may wait for it.
    pub(crate) fn end(self, exit: Exit) -> u8 {
        match self {
            #[cfg(feature = "mpi")]
            Launch::Mpi(world) if !exit.by_all => world.abort(exit.code),
            _ => exit.code,
        }
    }
}
