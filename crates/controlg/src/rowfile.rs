//! Files of fixed-size rows with random access: features on disk, spilled activations.
//!
//! Rows are read with positioned reads instead of a memory map: if the file is truncated during a run, a read returns an
//! error, while a map would kill the process with a signal. The page cache holds frequently read rows and does not count
//! as memory of this process.
//!
//! A file whose blocks have known hashes is verified as it is read: a block is hashed whole when it is read first.

mod verified;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use rayon::prelude::*;

use crate::Real;
use crate::error::{Error, Result};
use crate::files;

use self::verified::VerifiedBlocks;
pub use self::verified::{BLOCK_BYTES, BlockHash};

/// Rows per parallel read.
const ROWS_PER_READ: usize = 1024;

/// An existing file of rows.
#[derive(Debug)]
pub(crate) struct RowFile {
    path: PathBuf,
    file: File,
    /// Bytes per row.
    width: usize,
    rows: usize,
    modified: Option<SystemTime>,
    blocks: Option<VerifiedBlocks>,
}

impl RowFile {
    /// Opens a file of exactly `rows` rows of `width` bytes.
    pub(crate) fn open(path: &Path, rows: usize, width: usize) -> Result<RowFile> {
        let file = files::open(path)?;
        let metadata = file.metadata().map_err(|error| Error::reading(path, error))?;
        let expected = (rows as u64).saturating_mul(width as u64);
        if metadata.len() != expected {
            let (found, expected) =
                (format!("{} bytes", metadata.len()), format!("{expected}: {rows} rows of {width}"));
            return Err(Error::input(path, "", found, expected));
        }
        let modified = metadata.modified().ok();
        Ok(RowFile { path: path.to_owned(), file, width, rows, modified, blocks: None })
    }

    /// Verifies blocks by these hashes when they are read first.
    pub(crate) fn verify_by(&mut self, hashes: Vec<BlockHash>) {
        self.blocks = Some(VerifiedBlocks::new(hashes));
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads some rows. Consecutive rows are read at once.
    pub(crate) fn read(&self, rows: &[u32], out: &mut [u8]) -> Result<()> {
        let chunks =
            out.par_chunks_mut(ROWS_PER_READ * self.width.max(1)).zip(rows.par_chunks(ROWS_PER_READ));
        chunks.try_for_each(|(mut out, rows)| {
            for run in rows.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
                let (now, rest) = out.split_at_mut(run.len() * self.width);
                self.read_bytes(run[0] as u64 * self.width as u64, now)?;
                out = rest;
            }
            Ok(())
        })
    }

    /// Reads a range of rows.
    pub(crate) fn read_range(&self, rows: Range<u64>, out: &mut [u8]) -> Result<()> {
        self.read_bytes(rows.start * self.width as u64, out)
    }

    fn read_bytes(&self, at: u64, out: &mut [u8]) -> Result<()> {
        if let Some(blocks) = &self.blocks {
            let size = self.rows as u64 * self.width as u64;
            blocks.verify(&self.path, at..at + out.len() as u64, size, |at, block| {
                self.read_unverified(at, block)
            })?;
        }
        self.read_unverified(at, out)
    }

    fn read_unverified(&self, at: u64, out: &mut [u8]) -> Result<()> {
        read_at(&self.file, out, at).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => match self.check() {
                Err(changed) => changed,
                Ok(()) => Error::io(format_args!("reading {}", self.path.display()), error),
            },
            _ => Error::io(format_args!("reading {}", self.path.display()), error),
        })
    }

    /// Fails if the size or modification time of the file has changed since it was opened.
    pub(crate) fn check(&self) -> Result<()> {
        let metadata = std::fs::metadata(&self.path).map_err(|error| Error::reading(&self.path, error))?;
        let expected = self.rows as u64 * self.width as u64;
        let unchanged =
            "the file as it was at the start of the run; restore it and resume from the last checkpoint";
        if metadata.len() != expected {
            let found = format!("{} bytes instead of the {expected} when it was opened", metadata.len());
            return Err(Error::input(&self.path, "", found, unchanged));
        }
        if metadata.modified().ok() != self.modified {
            return Err(Error::input(
                &self.path,
                "",
                "a file that has changed since it was opened",
                unchanged,
            ));
        }
        Ok(())
    }
}

/// A temporary file of rows, written once in order and then read. Dropping it removes the file.
struct TempRows {
    path: PathBuf,
    file: BufWriter<File>,
    width: usize,
}

impl TempRows {
    /// Creates an empty file in a folder, for rows of `width` bytes.
    fn new(folder: &Path, name: &str, width: usize) -> Result<TempRows> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".{name}-{}-{count}.rows", std::process::id()));
            match OpenOptions::new().create_new(true).read(true).write(true).open(&path) {
                Ok(file) => {
                    return Ok(TempRows { path, file: BufWriter::with_capacity(1 << 20, file), width });
                }
                // Left by a killed process with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(writing(&path, error)),
            }
        }
    }

    /// Appends rows.
    pub(crate) fn append(&mut self, rows: &[u8]) -> Result<()> {
        self.file.write_all(rows).map_err(|error| writing(&self.path, error))
    }

    /// Flushes buffered rows; required before the first read.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.file.flush().map_err(|error| writing(&self.path, error))
    }

    /// Reads some rows.
    pub(crate) fn read(&self, rows: &[u32], out: &mut [u8]) -> Result<()> {
        let (file, width) = (self.file.get_ref(), self.width);
        let chunks = out.par_chunks_mut(ROWS_PER_READ * width.max(1)).zip(rows.par_chunks(ROWS_PER_READ));
        let read = chunks.try_for_each(|(mut out, rows)| {
            for run in rows.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
                let (now, rest) = out.split_at_mut(run.len() * width);
                read_at(file, now, run[0] as u64 * width as u64)?;
                out = rest;
            }
            Ok(())
        });
        read.map_err(|error| Error::io(format_args!("reading {}", self.path.display()), error))
    }
}

impl Drop for TempRows {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Numbers that are converted to or from bytes at a time.
const PIECE: usize = 1 << 19;

/// Receives the rows of a matrix in order, some at a time.
pub(crate) type RowSink<'s> = dyn FnMut(&[Real]) -> Result<()> + 's;

/// A matrix that is spilled to a temporary file row by row, then read.
pub(crate) struct SpilledMatrix {
    rows: TempRows,
    cols: usize,
}

impl SpilledMatrix {
    /// An empty matrix with a file in `folder`.
    pub(crate) fn new(folder: &Path, name: &str, cols: usize) -> Result<SpilledMatrix> {
        Ok(SpilledMatrix { rows: TempRows::new(folder, name, cols * size_of::<Real>())?, cols })
    }

    /// Appends rows.
    pub(crate) fn append(&mut self, rows: &[Real]) -> Result<()> {
        let mut bytes = Vec::with_capacity(size_of_val(rows).min(PIECE * size_of::<Real>()));
        for piece in rows.chunks(PIECE) {
            bytes.clear();
            bytes.extend(piece.iter().flat_map(|x| x.to_le_bytes()));
            self.rows.append(&bytes)?;
        }
        Ok(())
    }

    /// Ends writing.
    pub(crate) fn end(mut self) -> Result<SpilledMatrix> {
        self.rows.flush()?;
        Ok(self)
    }

    /// Number of columns.
    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    /// Reads some rows.
    pub(crate) fn read(&self, rows: &[u32]) -> Result<Vec<Real>> {
        let mut values = Vec::with_capacity(rows.len() * self.cols);
        let mut bytes = Vec::new();
        for piece in rows.chunks((PIECE / self.cols.max(1)).max(1)) {
            bytes.resize(piece.len() * self.cols * size_of::<Real>(), 0);
            self.rows.read(piece, &mut bytes)?;
            let real = |b: &[u8]| Real::from_le_bytes(b.try_into().expect("chunks of one number"));
            values.extend(bytes.chunks_exact(size_of::<Real>()).map(real));
        }
        Ok(values)
    }
}

fn writing(path: &Path, error: io::Error) -> Error {
    Error::io(format_args!("writing {}", path.display()), error)
}

#[cfg(unix)]
fn read_at(file: &File, out: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, at)
}

#[cfg(windows)]
fn read_at(file: &File, mut out: &mut [u8], mut at: u64) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                out = &mut out[read..];
                at += read as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_in_the_given_order_and_truncation_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        std::fs::write(&path, [1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let file = RowFile::open(&path, 4, 2).unwrap();
        let mut out = [0; 8];
        file.read(&[3, 0, 1, 1], &mut out).unwrap();
        assert_eq!(out, [7, 8, 1, 2, 3, 4, 3, 4]);
        assert!(RowFile::open(&path, 5, 2).unwrap_err().to_string().contains("found 8 bytes, expected 10"));

        OpenOptions::new().write(true).open(&path).unwrap().set_len(5).unwrap();
        let message = file.read(&[3], &mut out[..2]).unwrap_err().to_string();
        assert!(message.contains("5 bytes instead of the 8 when it was opened"), "{message}");
    }

    #[test]
    fn blocks_are_verified_when_they_are_read_first() {
        use sha2::{Digest, Sha256};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let mut bytes: Vec<u8> = (0..2 * BLOCK_BYTES + 6).map(|at| (at % 251) as u8).collect();
        let hashes: Vec<BlockHash> =
            bytes.chunks(BLOCK_BYTES).map(|block| Sha256::digest(block).into()).collect();
        let rows = bytes.len() / 2;
        let open = || {
            let mut file = RowFile::open(&path, rows, 2).unwrap();
            file.verify_by(hashes.clone());
            file
        };
        std::fs::write(&path, &bytes).unwrap();
        let mut out = vec![0; bytes.len()];
        open().read_range(0..rows as u64, &mut out).unwrap();
        assert_eq!(out, bytes);
        bytes[BLOCK_BYTES + 5] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let file = open();
        let mut row = [0; 2];
        file.read(&[0], &mut row).unwrap();
        file.read(&[rows as u32 - 1], &mut row).unwrap();
        let message = file.read(&[BLOCK_BYTES as u32 - 1], &mut row).unwrap_err().to_string();
        assert!(message.contains("bytes 1048576 to 2097152: found a different SHA-256"), "{message}");
        assert!(file.read_range(0..rows as u64, &mut out).is_err());
    }

    #[test]
    fn temporary_rows_are_read_back_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut spilled = TempRows::new(folder.path(), "test", 2).unwrap();
        spilled.append(&[1, 2, 3, 4]).unwrap();
        spilled.append(&[5, 6]).unwrap();
        spilled.flush().unwrap();
        let mut out = [0; 4];
        spilled.read(&[2, 0], &mut out).unwrap();
        assert_eq!(out, [5, 6, 1, 2]);
        drop(spilled);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
