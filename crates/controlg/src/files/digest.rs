//! SHA-256 of files.

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{hex, open};
use crate::error::{Error, Result};

/// SHA-256 of a file in hexadecimal.
pub fn sha256(path: &Path) -> Result<String> {
    let mut file = open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(hash.finalize())),
            Ok(n) => hash.update(&buffer[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::reading(path, error)),
        }
    }
}
