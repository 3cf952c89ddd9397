//! Writes arrays for NumPy and SciPy: `.npy` in float32, and `.npz` for CSR matrices.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::Real;
use crate::error::{Error, Result};
use crate::graph::Csr;

/// Writes a row-major matrix as float32 `.npy`.
///
/// # Panics
/// If `data` does not have `rows` × `columns` elements.
pub fn write_npy(path: &Path, rows: usize, columns: usize, data: &[Real]) -> Result<()> {
    let mut npy = NpyWriter::new(path, rows, columns)?;
    npy.append(data)?;
    npy.finish()
}

/// Writes a row-major matrix as float32 `.npy` incrementally.
pub struct NpyWriter {
    path: PathBuf,
    file: BufWriter<File>,
    /// Elements still to be written.
    left: usize,
}

impl NpyWriter {
    /// Creates the file for a matrix of this shape.
    pub fn new(path: &Path, rows: usize, columns: usize) -> Result<Self> {
        let open = || -> std::io::Result<_> {
            let mut file = BufWriter::new(File::create(path)?);
            write_header(&mut file, "<f4", &format!("({rows}, {columns})"))?;
            Ok(file)
        };
        let file = open().map_err(|error| writing(path, error))?;
        Ok(NpyWriter { path: path.to_owned(), file, left: rows * columns })
    }

    /// Appends rows.
    ///
    /// # Panics
    /// If there are more rows than the shape has.
    pub fn append(&mut self, rows: &[Real]) -> Result<()> {
        assert!(rows.len() <= self.left, "{} elements, but only {} are left", rows.len(), self.left);
        self.left -= rows.len();
        write_elements(&mut self.file, rows.iter().map(|&x| f32_bytes(x)))
            .map_err(|error| writing(&self.path, error))
    }

    /// Completes the file and syncs it to disk.
    ///
    /// # Panics
    /// If rows are missing.
    pub fn finish(self) -> Result<()> {
        assert_eq!(self.left, 0, "elements are missing");
        let NpyWriter { path, file, .. } = self;
        let sync = || file.into_inner()?.sync_all();
        sync().map_err(|error: std::io::Error| writing(&path, error))
    }
}

fn writing(path: &Path, error: std::io::Error) -> Error {
    Error::io(format_args!("writing {}", path.display()), error)
}

/// Writes a CSR matrix like SciPy's `save_npz`: `format`, `shape`, `data`, `indices` and `indptr`, deflated.
pub fn write_csr_npz(path: &Path, matrix: &Csr) -> Result<()> {
    let write = || -> std::io::Result<()> {
        // No time stamp: equal matrices give equal bytes.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        let options = options.last_modified_time(zip::DateTime::default()).large_file(true);
        let mut archive = ZipWriter::new(BufWriter::new(File::create(path)?));
        let n_entries = matrix.n_entries();

        archive.start_file("indices.npy", options)?;
        write_header(&mut archive, "<i8", &format!("({n_entries},)"))?;
        write_elements(&mut archive, matrix.columns().iter().map(|&x| u64::from(x).to_le_bytes()))?;

        archive.start_file("indptr.npy", options)?;
        write_header(&mut archive, "<i8", &format!("({},)", matrix.n_rows() + 1))?;
        write_elements(&mut archive, matrix.offsets().iter().map(|&x| (x as u64).to_le_bytes()))?;

        archive.start_file("format.npy", options)?;
        write_header(&mut archive, "|S3", "()")?;
        archive.write_all(b"csr")?;

        archive.start_file("shape.npy", options)?;
        write_header(&mut archive, "<i8", "(2,)")?;
        let shape = [matrix.n_rows(), matrix.n_cols()];
        write_elements(&mut archive, shape.iter().map(|&x| (x as u64).to_le_bytes()))?;

        archive.start_file("data.npy", options)?;
        write_header(&mut archive, "<f4", &format!("({n_entries},)"))?;
        match matrix.values() {
            Some(values) => write_elements(&mut archive, values.iter().map(|&x| f32_bytes(x)))?,
            None => write_elements(&mut archive, (0..n_entries).map(|_| 1f32.to_le_bytes()))?,
        }
        archive.finish()?.into_inner()?.sync_all()
    };
    write().map_err(|error| Error::io(format_args!("writing {}", path.display()), error))
}

#[allow(clippy::unnecessary_cast)] // needed if Real is f64
fn f32_bytes(x: Real) -> [u8; 4] {
    (x as f32).to_le_bytes()
}

/// Writes the header, padded as NumPy requires: the elements start at a multiple of 64 bytes.
fn write_header(to: &mut impl Write, dtype: &str, shape: &str) -> std::io::Result<()> {
    let mut text = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
    let unpadded = 10 + text.len() + 1;
    text += &" ".repeat(unpadded.next_multiple_of(64) - unpadded);
    text.push('\n');
    to.write_all(b"\x93NUMPY\x01\x00")?;
    to.write_all(&(text.len() as u16).to_le_bytes())?;
    to.write_all(text.as_bytes())
}

/// Writes elements in blocks, because compressing a few bytes at a time is slow.
fn write_elements<const N: usize>(
    to: &mut impl Write,
    elements: impl Iterator<Item = [u8; N]>,
) -> std::io::Result<()> {
    let mut block = Vec::with_capacity(1 << 16);
    for element in elements {
        block.extend_from_slice(&element);
        if block.len() >= 1 << 16 {
            to.write_all(&block)?;
            block.clear();
        }
    }
    to.write_all(&block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::arrays::{NpzFile, read_npy};

    #[test]
    fn written_arrays_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        write_npy(&path, 2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, -0.5]).unwrap();
        let array = read_npy(&path).unwrap();
        assert_eq!(array.shape, [2, 3]);
        assert_eq!(array.to_reals().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, -0.5]);

        let path = folder.path().join("a.npz");
        for values in [None, Some(vec![0.5, 2.0, -3.0])] {
            let matrix = Csr::from_parts(4, vec![0, 2, 2, 3], vec![0, 3, 1], values);
            write_csr_npz(&path, &matrix).unwrap();
            assert_eq!(NpzFile::open(&path).unwrap().csr("").unwrap(), matrix);
        }
    }
}
