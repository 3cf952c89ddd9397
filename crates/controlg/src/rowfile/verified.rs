//! Blocks of a file with known hashes.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// Bytes of a block; the last one of a file may be shorter.
pub const BLOCK_BYTES: usize = 1 << 20;

/// The SHA-256 of a block.
pub type BlockHash = [u8; 32];

/// The hashes of all blocks of a file, and which of them have been verified.
#[derive(Debug)]
pub(super) struct VerifiedBlocks {
    hashes: Vec<BlockHash>,
    verified: Vec<AtomicBool>,
}

impl VerifiedBlocks {
    pub(super) fn new(hashes: Vec<BlockHash>) -> VerifiedBlocks {
        let verified = hashes.iter().map(|_| AtomicBool::new(false)).collect();
        VerifiedBlocks { hashes, verified }
    }

    /// Verifies the blocks of a range of bytes that have not been verified yet. `read` reads bytes from a place of the file,
    /// which has `size` of them.
    pub(super) fn verify(
        &self,
        path: &Path,
        bytes: Range<u64>,
        size: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let length = BLOCK_BYTES as u64;
        let (first, last) = (bytes.start / length, (bytes.end - 1) / length);
        let mut block = Vec::new();
        for at in first..=last {
            let (hash, verified) = (&self.hashes[at as usize], &self.verified[at as usize]);
            if verified.load(Ordering::Relaxed) {
                continue;
            }
            let start = at * length;
            let end = size.min(start + length);
            block.resize((end - start) as usize, 0);
            read(start, &mut block)?;
            if *hash != <[u8; 32]>::from(Sha256::digest(&block)) {
                let place = format!("bytes {start} to {end}");
                let expected = "the one that was stored with the graph";
                return Err(Error::input(path, place, "a different SHA-256", expected));
            }
            verified.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}
