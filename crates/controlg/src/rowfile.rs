//! Files of rows of equal length, of which some are read at their places.
//!
//! Reads are positioned reads and not a memory map: a map of a file that is cut short under the run ends the process
//! with a signal, a read comes back short and says so. The system's cache keeps what is read often, and none of that
//! counts as memory of this process.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Rows that one task reads.
const TASK: usize = 1024;

/// A file of rows that somebody else wrote.
#[derive(Debug)]
pub(crate) struct RowFile {
    path: PathBuf,
    file: File,
    /// Bytes of a row.
    width: usize,
    rows: usize,
    modified: Option<SystemTime>,
}

impl RowFile {
    /// Opens a file that holds so many rows of so many bytes, and nothing else.
    pub(crate) fn open(path: &Path, rows: usize, width: usize) -> Result<RowFile> {
        let file = File::open(path).map_err(|error| Error::reading(path, error))?;
        let about = file.metadata().map_err(|error| Error::reading(path, error))?;
        let expected = (rows as u64).saturating_mul(width as u64);
        if about.len() != expected {
            let (found, expected) =
                (format!("{} bytes", about.len()), format!("{expected}: {rows} rows of {width}"));
            return Err(Error::input(path, "", found, expected));
        }
        Ok(RowFile { path: path.to_owned(), file, width, rows, modified: about.modified().ok() })
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of some rows, one after the other. Rows that follow each other are read at once.
    pub(crate) fn read(&self, rows: &[u32], out: &mut [u8]) -> Result<()> {
        let tasks = out.par_chunks_mut(TASK * self.width.max(1)).zip(rows.par_chunks(TASK));
        tasks.try_for_each(|(mut out, rows)| {
            for run in rows.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
                let (now, rest) = out.split_at_mut(run.len() * self.width);
                self.read_bytes(run[0] as u64 * self.width as u64, now)?;
                out = rest;
            }
            Ok(())
        })
    }

    /// The bytes of the rows of a range.
    pub(crate) fn read_range(&self, rows: Range<u64>, out: &mut [u8]) -> Result<()> {
        self.read_bytes(rows.start * self.width as u64, out)
    }

    fn read_bytes(&self, at: u64, out: &mut [u8]) -> Result<()> {
        read_at(&self.file, out, at).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => match self.check() {
                Err(changed) => changed,
                Ok(()) => Error::io(format_args!("reading {}", self.path.display()), error),
            },
            _ => Error::io(format_args!("reading {}", self.path.display()), error),
        })
    }

    /// Whether the file is still the one that was opened, by its size and the time of its last change.
    pub(crate) fn check(&self) -> Result<()> {
        let about = std::fs::metadata(&self.path).map_err(|error| Error::reading(&self.path, error))?;
        let expected = self.rows as u64 * self.width as u64;
        let unchanged =
            "the file that the run was started with, unchanged; the last checkpoint can be gone on from";
        if about.len() != expected {
            let found = format!("{} bytes, where {expected} were when it was opened", about.len());
            return Err(Error::input(&self.path, "", found, unchanged));
        }
        if about.modified().ok() != self.modified {
            return Err(Error::input(
                &self.path,
                "",
                "a file that was changed since it was opened",
                unchanged,
            ));
        }
        Ok(())
    }
}

/// Rows that a computation puts aside: written once from the first to the last, then read; gone with it.
pub(crate) struct TempRows {
    path: PathBuf,
    file: BufWriter<File>,
    width: usize,
}

impl TempRows {
    /// An empty one in a folder, of rows of so many bytes.
    pub(crate) fn new(folder: &Path, name: &str, width: usize) -> Result<TempRows> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".{name}-{}-{count}.rows", std::process::id()));
            match OpenOptions::new().create_new(true).read(true).write(true).open(&path) {
                Ok(file) => {
                    return Ok(TempRows { path, file: BufWriter::with_capacity(1 << 20, file), width });
                }
                // Left by a process of the same number that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(writing(&path, error)),
            }
        }
    }

    /// Writes the next rows.
    pub(crate) fn append(&mut self, rows: &[u8]) -> Result<()> {
        self.file.write_all(rows).map_err(|error| writing(&self.path, error))
    }

    /// Brings to the file what is still on its way there; to be called before the first read.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.file.flush().map_err(|error| writing(&self.path, error))
    }

    /// The bytes of some rows, one after the other.
    pub(crate) fn read(&self, rows: &[u32], out: &mut [u8]) -> Result<()> {
        let (file, width) = (self.file.get_ref(), self.width);
        let tasks = out.par_chunks_mut(TASK * width.max(1)).zip(rows.par_chunks(TASK));
        let read = tasks.try_for_each(|(mut out, rows)| {
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
    fn rows_come_in_the_order_asked_for_and_a_file_cut_short_is_named() {
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
        assert!(message.contains("5 bytes, where 8 were when it was opened"), "{message}");
    }

    #[test]
    fn what_is_put_aside_is_there_and_then_gone() {
        let folder = tempfile::tempdir().unwrap();
        let mut aside = TempRows::new(folder.path(), "test", 2).unwrap();
        aside.append(&[1, 2, 3, 4]).unwrap();
        aside.append(&[5, 6]).unwrap();
        aside.end().unwrap();
        let mut out = [0; 4];
        aside.read(&[2, 0], &mut out).unwrap();
        assert_eq!(out, [5, 6, 1, 2]);
        drop(aside);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
