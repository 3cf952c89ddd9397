//! How much memory reading a file may take.
//!
//! Uncompressed files are read into memory as they are. A compressed file may expand to at most [`EXPANSION_BASE`] +
//! [`EXPANSION_FACTOR`] × its size. Sizes declared in headers are subject to the same limit.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};
use crate::files;

/// Bytes that any compressed file may expand to.
pub const EXPANSION_BASE: u64 = 256 << 20;
/// Bytes beyond the base per compressed byte.
pub const EXPANSION_FACTOR: u64 = 100;

/// The maximum uncompressed size of a file with this compressed size.
pub fn expansion_limit(compressed_bytes: u64) -> u64 {
    EXPANSION_BASE.saturating_add(compressed_bytes.saturating_mul(EXPANSION_FACTOR))
}

/// Reads a file; decompresses it if it starts with gzip's magic bytes.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let bytes = files::read(path)?;
    if bytes.starts_with(&[0x1f, 0x8b]) { gunzip(path, &bytes) } else { Ok(bytes) }
}

/// Reads a UTF-8 text file; decompresses it if it is gzipped.
pub fn read_text(path: &Path) -> Result<String> {
    let mut bytes = read_bytes(path)?;
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3); // the byte-order mark that spreadsheets write
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|&&b| b == b'\n').count() + 1;
        Error::input(path, format_args!("line {line}"), "bytes that are not UTF-8", "UTF-8 text")
    })
}

/// The first bytes of a file, to recognize its format; fewer if the file is shorter, none if it cannot be read.
pub fn first_bytes(path: &Path, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(file) = files::open(path) {
        // An unreadable file matches no format; loading it reports the error.
        let _ = file.take(count as u64).read_to_end(&mut bytes);
    }
    bytes
}

fn gunzip(path: &Path, packed: &[u8]) -> Result<Vec<u8>> {
    let limit = expansion_limit(packed.len() as u64);
    let mut plain = Vec::new();
    MultiGzDecoder::new(packed).take(limit + 1).read_to_end(&mut plain).map_err(|error| {
        Error::input(path, format_args!("uncompressed byte {}", plain.len()), error, "a valid gzip file")
    })?;
    if plain.len() as u64 > limit {
        return Err(Error::input(path, "", format_args!("more than {limit} uncompressed bytes"), "fewer"));
    }
    Ok(plain)
}
