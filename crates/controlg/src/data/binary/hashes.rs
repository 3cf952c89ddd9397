//! `hashes.json`: hashes that let features be checked block by block, as they are read.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::HEADER;
use crate::data::limits;
use crate::error::{Error, Result};
use crate::files::{self, hex};
use crate::graph::{BLOCK_BYTES, BlockHash};

pub(super) const HASHES: &str = "hashes.json";

/// The content of `hashes.json`. It is a file of its own, so that `graph.json` stays as it was.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BinaryHashes {
    /// SHA-256 of `graph.json`.
    header: String,
    /// Bytes of a block.
    block_bytes: usize,
    /// SHA-256 of each block of a file.
    blocks: BTreeMap<String, Vec<String>>,
}

impl BinaryHashes {
    pub(super) fn new(header: &Path, blocks: BTreeMap<String, Vec<String>>) -> Result<BinaryHashes> {
        Ok(BinaryHashes { header: files::sha256(header)?, block_bytes: BLOCK_BYTES, blocks })
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string(self).map_err(|error| Error::Failed(error.to_string()))?;
        std::fs::write(path, text + "\n")
            .map_err(|error| Error::io(format_args!("writing {}", path.display()), error))
    }

    /// Reads the hashes and checks the header; `None` if there are none, as in folders of older versions.
    pub(super) fn read(folder: &Path) -> Result<Option<BinaryHashes>> {
        let path = folder.join(HASHES);
        if !path.exists() {
            return Ok(None);
        }
        let hashes: BinaryHashes = serde_json::from_str(&limits::read_text(&path)?).map_err(|error| {
            Error::input(&path, format_args!("line {}", error.line()), error, "the hashes of a binary folder")
        })?;
        if hashes.block_bytes != BLOCK_BYTES {
            return Err(Error::input(&path, "block_bytes", hashes.block_bytes, BLOCK_BYTES));
        }
        if hashes.header != files::sha256(&folder.join(HEADER))? {
            let expected = format!("the one in {HASHES}");
            return Err(Error::input(&folder.join(HEADER), "", "a different SHA-256", expected));
        }
        Ok(Some(hashes))
    }

    /// The hashes of the blocks of a file with this many bytes.
    pub(super) fn blocks(&self, folder: &Path, name: &str, bytes: u64) -> Result<Vec<BlockHash>> {
        let texts = self.blocks.get(name).map(Vec::as_slice).unwrap_or_default();
        let expected = bytes.div_ceil(BLOCK_BYTES as u64);
        let hashes: Option<Vec<BlockHash>> = texts.iter().map(|text| block_hash(text)).collect();
        hashes.filter(|all| all.len() as u64 == expected).ok_or_else(|| {
            let found = format!("{} hashes of blocks", texts.len());
            Error::input(&folder.join(HASHES), name, found, format_args!("{expected} SHA-256"))
        })
    }
}

/// Parses a SHA-256 in hexadecimal.
fn block_hash(text: &str) -> Option<BlockHash> {
    let mut hash = BlockHash::default();
    if text.len() != 2 * hash.len() || !text.is_ascii() {
        return None;
    }
    for (byte, at) in hash.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(hash)
}

/// Hashes each block of the bytes that pass through.
#[derive(Default)]
pub(super) struct BlockHasher {
    hash: Sha256,
    filled: usize,
    done: Vec<String>,
}

impl BlockHasher {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.filled));
            self.hash.update(now);
            self.filled += now.len();
            bytes = rest;
            if self.filled == BLOCK_BYTES {
                self.done.push(hex(self.hash.finalize_reset()));
                self.filled = 0;
            }
        }
    }

    pub(super) fn finish(mut self) -> Vec<String> {
        if self.filled > 0 {
            self.done.push(hex(self.hash.finalize()));
        }
        self.done
    }
}
