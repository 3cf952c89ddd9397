//! Where the jobs of a comparison run: on this machine, or on a cluster (`--engine`).

use std::str::FromStr;

use controlg::{Error, Result};

use crate::args::CompareArgs;

/// A cluster's engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// A Slurm job array over shards.
    Slurm,
    /// Ray tasks: on the cluster at this address, or else on a local one.
    Ray(Option<String>),
}

impl FromStr for Engine {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once('=') {
            None if text == "slurm" => Ok(Engine::Slurm),
            None if text == "ray" => Ok(Engine::Ray(None)),
            Some(("ray", address)) if !address.is_empty() => Ok(Engine::Ray(Some(address.to_owned()))),
            _ => Err(Error::value("engine", format_args!("'{text}'"), "slurm, ray or ray=ADDRESS")),
        }
    }
}

/// Refuses options of Slurm without it.
pub(super) fn check_local(args: &CompareArgs) -> Result<()> {
    let of_slurm = [
        ("--array", args.array.is_some()),
        ("--sbatch", !args.sbatch.is_empty()),
        ("--dry-run", args.dry_run),
    ];
    if let Some((name, _)) = of_slurm.into_iter().find(|(_, given)| *given) {
        return Err(Error::value(name, "another engine than slurm", "--engine slurm"));
    }
    Ok(())
}
