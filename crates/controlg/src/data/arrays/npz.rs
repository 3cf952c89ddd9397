//! The `.npz` format: a zip archive with one `.npy` an array.

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use super::npy::parse_within;
use super::{Array, CsrParts};
use crate::data::limits;
use crate::error::{Error, Result};
use crate::graph::Csr;

/// An open `.npz`. Arrays are unpacked when they are asked for, so one that cannot be read disturbs no other.
pub struct NpzFile {
    path: PathBuf,
    packed_bytes: u64,
    archive: ZipArchive<Cursor<Vec<u8>>>,
    names: Vec<String>,
}

impl NpzFile {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|error| Error::reading(path, error))?;
        NpzFile::from_bytes(bytes, path)
    }

    /// Opens an archive in memory; `path` says where it came from.
    pub fn from_bytes(bytes: Vec<u8>, path: &Path) -> Result<Self> {
        let packed_bytes = bytes.len() as u64;
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| unreadable(path, "", error))?;
        let mut names = Vec::with_capacity(archive.len());
        for name in archive.file_names() {
            let name = name.map_err(|error| unreadable(path, "", error))?;
            // Nothing is ever unpacked to disk; such a name is the mark of an archive that means harm.
            if name.starts_with(['/', '\\']) || name.split(['/', '\\']).any(|part| part == "..") {
                return Err(Error::input(
                    path,
                    "",
                    format_args!("a member '{name}'"),
                    "names inside the archive",
                ));
            }
            names.push(name.strip_suffix(".npy").unwrap_or(&name).to_owned());
        }
        Ok(NpzFile { path: path.to_owned(), packed_bytes, archive, names })
    }

    /// The names of the arrays, in the order of the archive.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether there is an array of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Reads one array.
    pub fn array(&mut self, name: &str) -> Result<Array> {
        let place = format!("array '{name}'");
        let index = self.names.iter().position(|known| known == name).ok_or_else(|| {
            let mut known = self.names.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
            if self.names.len() > 20 {
                known += ", …";
            }
            Error::input(&self.path, "", format_args!("the arrays {known}"), &place)
        })?;
        let limit = limits::expansion_limit(self.packed_bytes);
        let member = self.archive.by_index(index).map_err(|error| unreadable(&self.path, &place, error))?;
        let mut bytes = Vec::new();
        let taken = member.take(limit + 1).read_to_end(&mut bytes);
        taken.map_err(|error| Error::input(&self.path, &place, error, "a whole member"))?;
        if bytes.len() as u64 > limit {
            let found = format_args!("more than {limit} bytes unpacked");
            return Err(Error::input(&self.path, place, found, "at most that"));
        }
        parse_within(limit, &bytes, &self.path, name)
    }

    /// Reads the sparse matrix whose arrays have names with this prefix: none for SciPy's `save_npz`, `adj_` and
    /// `attr_` for gnn-benchmark.
    pub fn csr(&mut self, prefix: &str) -> Result<Csr> {
        let format = format!("{prefix}format");
        if self.contains(&format) {
            let format = self.array(&format)?;
            let words = format.to_texts()?;
            if words != ["csr"] {
                let found = format!("a sparse matrix in {} format", words.join(" "));
                return Err(format.error("", found, "csr, as SciPy's tocsr() makes it"));
            }
        }
        let shape = self.array(&format!("{prefix}shape"))?;
        let extents = shape.to_integers()?;
        let extent = |x: i64| usize::try_from(x).ok();
        let (n_rows, n_cols) = match extents[..] {
            [rows, columns] => extent(rows).zip(extent(columns)),
            _ => None,
        }
        .ok_or_else(|| shape.error("", format_args!("{extents:?}"), "rows and columns"))?;
        let (indptr, indices) =
            (self.array(&format!("{prefix}indptr"))?, self.array(&format!("{prefix}indices"))?);
        CsrParts { n_rows, n_cols, indptr, indices, data: self.array(&format!("{prefix}data"))? }.check()
    }
}

fn unreadable(path: &Path, place: &str, error: ZipError) -> Error {
    Error::input(path, place, error, "a whole .npz archive, its members stored or deflated")
}
