//! How much memory a file may make us take.
//!
//! Plain files are read whole, so their own size bounds what they take. A compressed file may expand to
//! [`EXPANSION_BASE`] + [`EXPANSION_FACTOR`] × its size; a header's promise is believed only up to that bound.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

/// What any compressed file may expand to, however small it is.
pub const EXPANSION_BASE: u64 = 256 << 20;
/// What a compressed file may expand to beyond the base, for each byte of it.
pub const EXPANSION_FACTOR: u64 = 100;

/// The most bytes a compressed file of this size may expand to.
pub fn expansion_limit(compressed_bytes: u64) -> u64 {
    EXPANSION_BASE.saturating_add(compressed_bytes.saturating_mul(EXPANSION_FACTOR))
}

/// Reads a whole file, unpacking it when it starts with gzip's magic bytes.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(|error| Error::reading(path, error))?;
    if bytes.starts_with(&[0x1f, 0x8b]) { gunzip(path, &bytes) } else { Ok(bytes) }
}

/// Reads a whole text file, unpacking it when it is gzipped.
pub fn read_text(path: &Path) -> Result<String> {
    let mut bytes = read_bytes(path)?;
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3); // a byte-order mark, as spreadsheets write it
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|&&b| b == b'\n').count() + 1;
        Error::input(path, format_args!("line {line}"), "bytes that are not UTF-8", "UTF-8 text")
    })
}

/// The first bytes of a file, for recognizing it; fewer when the file is shorter, none when it cannot be read.
pub fn first_bytes(path: &Path, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        // An unreadable file is recognized as nothing; the error comes when somebody tries to load it.
        let _ = file.take(count as u64).read_to_end(&mut bytes);
    }
    bytes
}

fn gunzip(path: &Path, packed: &[u8]) -> Result<Vec<u8>> {
    let limit = expansion_limit(packed.len() as u64);
    let mut plain = Vec::new();
    MultiGzDecoder::new(packed).take(limit + 1).read_to_end(&mut plain).map_err(|error| {
        Error::input(path, format_args!("byte {} unpacked", plain.len()), error, "a whole gzip file")
    })?;
    if plain.len() as u64 > limit {
        return Err(Error::input(path, "", format_args!("more than {limit} bytes unpacked"), "at most that"));
    }
    Ok(plain)
}
