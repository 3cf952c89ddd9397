//! Checks that all ranks train the same model on the same graph.

use sha2::{Digest, Sha256};

use super::model_file::RunIdentity;
use crate::Real;
use crate::collective::Ranks;
use crate::config::{self, Config};
use crate::error::{Error, Result};
use crate::files::hex;
use crate::kernels::simd;
use crate::tensor::Params;

/// Fails on all ranks if one of them has another version, CPU, setting or graph than rank 0.
pub(super) fn check(ranks: Ranks<'_>, config: &Config, identity: &RunIdentity) -> Result<()> {
    if ranks.is_alone() {
        return Ok(());
    }
    let same = |name: &str, own: String| -> Result<()> {
        let first = ranks.decide(|| Ok(own.clone()))?;
        let expected = format!("{first}, as on rank 0");
        ranks.agree(if own == first { Ok(()) } else { Err(Error::value(name, own, expected)) })
    };
    same("version", env!("CARGO_PKG_VERSION").to_owned())?;
    same("CPU instructions (CONTROLG_SIMD)", simd::name().to_owned())?;
    let first = Config::from_table(ranks.decide(|| {
        let text = config.to_toml()?;
        text.parse::<toml::Table>().map_err(|error| Error::Failed(error.to_string()))
    })?)?;
    ranks.agree(match config::first_difference(&first, config)? {
        None => Ok(()),
        Some((key, first, own)) => Err(Error::value(key, own, format!("{first}, as on rank 0"))),
    })?;
    same("hash of the graph", identity.data.clone())
}

/// Fails on all ranks if one of them has other parameters than rank 0.
pub(super) fn check_parameters(ranks: Ranks<'_>, params: &Params) -> Result<()> {
    if ranks.is_alone() {
        return Ok(());
    }
    let mut hash = Sha256::new();
    for group in params.groups() {
        let bytes: Vec<u8> = group.data().iter().flat_map(|x: &Real| x.to_le_bytes()).collect();
        hash.update(bytes);
    }
    let own = hex(hash.finalize());
    let first = ranks.decide(|| Ok(own.clone()))?;
    let differs = || {
        let what = "the parameters differ from those of rank 0: the processes compute differently";
        Err(Error::Failed(what.to_owned()))
    };
    ranks.agree(if own == first { Ok(()) } else { differs() })
}
