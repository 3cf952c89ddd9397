//! Checksums of published files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::files::{self, hex};

/// The expected hash of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum<'a> {
    /// SHA-256, in hexadecimal.
    Sha256(&'a str),
    /// Git object id: the SHA-1 of `blob`, the length and the content.
    GitBlob(&'a str),
    /// Not known, so that the file has to be downloaded by hand.
    Unknown,
}

impl Checksum<'_> {
    /// The expected hash with its type.
    pub fn expected(&self) -> String {
        match self {
            Checksum::Sha256(hash) => format!("sha256 {hash}"),
            Checksum::GitBlob(hash) => format!("git blob {hash}"),
            Checksum::Unknown => "any content".to_owned(),
        }
    }

    /// The hash of a file, with its type.
    pub fn of(&self, path: &Path) -> io::Result<String> {
        let mut file = files::open(path).map_err(io::Error::other)?;
        Ok(match self {
            Checksum::Sha256(_) => {
                let mut hasher = Sha256::new();
                in_chunks(&mut file, |chunk| hasher.update(chunk))?;
                format!("sha256 {}", hex(hasher.finalize()))
            }
            Checksum::GitBlob(_) => {
                let mut hasher = Sha1::new();
                hasher.update(format!("blob {}\0", file.metadata()?.len()).as_bytes());
                in_chunks(&mut file, |chunk| hasher.update(chunk))?;
                format!("git blob {}", hex(hasher.finish()))
            }
            Checksum::Unknown => self.expected(),
        })
    }
}

fn in_chunks(file: &mut File, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut chunk = vec![0; 1 << 16];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(()),
            n => each(&chunk[..n]),
        }
    }
}

/// SHA-1 as in FIPS 180-4, as git uses it. Detects damage, not an attack.
struct Sha1 {
    state: [u32; 5],
    pending: Vec<u8>,
    bytes: u64,
}

impl Sha1 {
    fn new() -> Self {
        let state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
        Sha1 { state, pending: Vec::new(), bytes: 0 }
    }

    fn update(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.pending.extend_from_slice(bytes);
        let whole = self.pending.len() / 64 * 64;
        for block in self.pending[..whole].chunks_exact(64) {
            mix(&mut self.state, block);
        }
        self.pending.drain(..whole);
    }

    fn finish(mut self) -> [u8; 20] {
        let bits = self.bytes * 8;
        let zeros = (64 + 55 - self.pending.len()) % 64;
        let mut end = vec![0x80];
        end.resize(1 + zeros, 0);
        end.extend(bits.to_be_bytes());
        self.update(&end);
        let mut out = [0; 20];
        for (bytes, word) in out.chunks_exact_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        out
    }
}

fn mix(state: &mut [u32; 5], block: &[u8]) {
    let mut words = [0u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for t in 16..80 {
        words[t] = (words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (t, word) in words.into_iter().enumerate() {
        let (f, k) = match t / 20 {
            0 => ((b & c) | (!b & d), 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6u32),
        };
        let next = a.rotate_left(5).wrapping_add(f).wrapping_add(e).wrapping_add(k).wrapping_add(word);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
    }
    for (sum, part) in state.iter_mut().zip([a, b, c, d, e]) {
        *sum = sum.wrapping_add(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha1(pieces: &[&[u8]]) -> String {
        let mut hasher = Sha1::new();
        pieces.iter().for_each(|piece| hasher.update(piece));
        hex(hasher.finish())
    }

    #[test]
    fn sha1_matches_the_examples_of_the_standard() {
        assert_eq!(sha1(&[b"abc"]), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(sha1(&[]), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        let (long, split) = ([b'a'; 1000], [b'a'; 333]);
        assert_eq!(sha1(&[&long[..]; 1000]), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
        assert_eq!(sha1(&[&split, &split, &split, b"a"]), sha1(&[&long]));
    }

    #[test]
    fn git_blob_hashes_match_git() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hello\n").unwrap();
        let found = Checksum::GitBlob("").of(file.path()).unwrap();
        assert_eq!(found, "git blob ce013625030ba8dba906f756967f9e9ca394464a");
        let found = Checksum::Sha256("").of(file.path()).unwrap();
        assert_eq!(found, "sha256 5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
    }
}
