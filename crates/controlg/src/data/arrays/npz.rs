//! The `.npz` format: a zip archive with one `.npy` per array.

use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use super::npy::parse_within;
use super::{Array, CsrParts};
use crate::data::limits;
use crate::error::{Error, Result};
use crate::files;
use crate::graph::Csr;

/// An open `.npz`. Arrays are decompressed on demand, so an unreadable one does not affect the others.
pub struct NpzFile {
    path: PathBuf,
    packed_bytes: u64,
    archive: ZipArchive<Cursor<Vec<u8>>>,
    names: Vec<String>,
}

impl NpzFile {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = files::read(path)?;
        NpzFile::from_bytes(bytes, path)
    }

    /// Opens an archive in memory. Errors refer to `path`.
    pub fn from_bytes(bytes: Vec<u8>, path: &Path) -> Result<Self> {
        let packed_bytes = bytes.len() as u64;
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| unreadable(path, "", error))?;
        let mut names = Vec::with_capacity(archive.len());
        for name in archive.file_names() {
            let name = name.map_err(|error| unreadable(path, "", error))?;
            // Nothing is extracted to disk, but such a name indicates a malicious archive.
            if name.starts_with(['/', '\\']) || name.split(['/', '\\']).any(|part| part == "..") {
                return Err(Error::input(
                    path,
                    "",
                    format_args!("a member '{name}'"),
                    "relative names without '..'",
                ));
            }
            names.push(name.strip_suffix(".npy").unwrap_or(&name).to_owned());
        }
        Ok(NpzFile { path: path.to_owned(), packed_bytes, archive, names })
    }

    /// The names of the arrays, in archive order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether there is an array with this name.
    pub fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Reads an array.
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
        taken.map_err(|error| Error::input(&self.path, &place, error, "a valid member"))?;
        if bytes.len() as u64 > limit {
            let found = format_args!("more than {limit} uncompressed bytes");
            return Err(Error::input(&self.path, place, found, "fewer"));
        }
        parse_within(limit, &bytes, &self.path, name)
    }

    /// Reads a CSR matrix from arrays with this prefix: empty for SciPy's `save_npz`, `adj_` and `attr_` for
    /// gnn-benchmark.
    pub fn csr(&mut self, prefix: &str) -> Result<Csr> {
        let format = format!("{prefix}format");
        if self.contains(&format) {
            let format = self.array(&format)?;
            let names = format.to_texts()?;
            if names != ["csr"] {
                let found = format!("a sparse matrix in {} format", names.join(" "));
                return Err(format.error("", found, "csr; convert it with tocsr()"));
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

/// The path of the archive: the path itself, or the only `.npz` in the folder.
pub(in crate::data) fn single_npz(path: &Path) -> Option<PathBuf> {
    let is_archive = |path: &Path| path.extension().is_some_and(|extension| extension == "npz");
    if !path.is_dir() {
        return is_archive(path).then(|| path.to_owned());
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut archives = entries.map(|entry| entry.path()).filter(|path| is_archive(path));
    archives.next().filter(|_| archives.next().is_none())
}

/// The names of the arrays in a file, without reading it whole; none if it is no archive.
pub(in crate::data) fn member_names(path: &Path) -> Vec<String> {
    let archive = files::open(path).ok().and_then(|file| ZipArchive::new(BufReader::new(file)).ok());
    let Some(archive) = archive else { return Vec::new() };
    let names = archive.file_names().flatten();
    names.map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_owned()).collect()
}

fn unreadable(path: &Path, place: &str, error: ZipError) -> Error {
    Error::input(path, place, error, "a valid .npz archive with stored or deflated members")
}
