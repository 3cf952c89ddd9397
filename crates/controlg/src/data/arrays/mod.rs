//! NumPy files: `.npy`, `.npz` (stored or deflated), and sparse matrices of SciPy and gnn-benchmark in them.
//!
//! Array data is decompressed within [`super::limits`], and the shape in the header must match the number of bytes, so
//! that a damaged header cannot cause a large allocation. Existing crates trust the header, which is why the `.npy`
//! header is parsed here.

mod embeddings;
mod npy;
mod npz;
mod sparse;
mod write;

pub(crate) use embeddings::ROW_GROUP;
pub use embeddings::{ParquetEmbeddings, is_own_parquet, write_embeddings_parquet};
pub use npy::{parse_npy, read_npy};
pub use npz::NpzFile;
pub use write::{NpyWriter, write_csr_npz, write_npy};

pub(super) use npy::{DType, decode};
pub(super) use npz::{member_names, single_npz};
pub(super) use sparse::{CsrParts, MAX_SPARSE_WIDTH};

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::Real;
use crate::error::{Error, Result};

/// An array in C order, and the file it comes from.
#[derive(Clone, Debug)]
pub struct Array {
    /// The size of each dimension; empty for a scalar.
    pub shape: Vec<usize>,
    /// The elements; the last dimension varies fastest.
    pub data: ArrayData,
    file: PathBuf,
    name: String,
}

/// The elements of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayData {
    /// Booleans.
    Bool(Vec<bool>),
    /// Integers of any width.
    Int(Vec<i64>),
    /// Half and single precision.
    Float32(Vec<f32>),
    /// Double precision.
    Float64(Vec<f64>),
    /// Strings, without NumPy's zero padding.
    Text(Vec<String>),
}

impl Array {
    /// Creates an array. `name` is its name in an archive, empty for a file with a single array.
    pub(super) fn new(shape: Vec<usize>, data: ArrayData, file: &Path, name: &str) -> Self {
        Array { shape, data, file: file.to_owned(), name: name.to_owned() }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match &self.data {
            ArrayData::Bool(items) => items.len(),
            ArrayData::Int(items) => items.len(),
            ArrayData::Float32(items) => items.len(),
            ArrayData::Float64(items) => items.len(),
            ArrayData::Text(items) => items.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An input error for this array.
    pub fn error(&self, place: impl Display, found: impl Display, expected: impl Display) -> Error {
        let place = match (self.name.is_empty(), place.to_string()) {
            (true, place) => place,
            (false, place) if place.is_empty() => format!("array '{}'", self.name),
            (false, place) => format!("array '{}', {place}", self.name),
        };
        Error::input(&self.file, place, found, expected)
    }

    /// The length of a one-dimensional array.
    pub fn one_dimension(&self) -> Result<usize> {
        match self.shape[..] {
            [n] => Ok(n),
            _ => Err(self.error("", self.describe_shape(), "one dimension")),
        }
    }

    /// Rows and columns of a two-dimensional array.
    pub fn two_dimensions(&self) -> Result<(usize, usize)> {
        match self.shape[..] {
            [rows, columns] => Ok((rows, columns)),
            _ => Err(self.error("", self.describe_shape(), "two dimensions")),
        }
    }

    /// The elements as finite numbers. Integers and booleans are converted.
    pub fn to_reals(&self) -> Result<Vec<Real>> {
        let reals: Vec<Real> = match &self.data {
            ArrayData::Bool(items) => items.iter().map(|&x| Real::from(u8::from(x))).collect(),
            ArrayData::Int(items) => items.iter().map(|&x| x as Real).collect(),
            ArrayData::Float32(items) => items.iter().map(|&x| Real::from(x)).collect(),
            ArrayData::Float64(items) => items.iter().map(|&x| x as Real).collect(),
            ArrayData::Text(_) => return Err(self.error("", "strings", "numbers")),
        };
        match reals.iter().position(|x| !x.is_finite()) {
            None => Ok(reals),
            Some(at) => Err(self.error(self.place(at), reals[at], "a finite number")),
        }
    }

    /// The elements as signed integers.
    pub fn to_integers(&self) -> Result<Vec<i64>> {
        match &self.data {
            ArrayData::Int(items) => Ok(items.clone()),
            ArrayData::Bool(items) => Ok(items.iter().map(|&x| i64::from(x)).collect()),
            ArrayData::Float32(_) | ArrayData::Float64(_) => Err(self.error("", "floats", "integers")),
            ArrayData::Text(_) => Err(self.error("", "strings", "integers")),
        }
    }

    /// The elements as integers in `0..limit`.
    pub fn to_indices(&self, limit: usize) -> Result<Vec<u32>> {
        let ArrayData::Int(items) = &self.data else {
            return Err(self.error("", self.kind(), "integers"));
        };
        let index = |(at, &x): (usize, &i64)| match u32::try_from(x) {
            Ok(index) if (index as usize) < limit => Ok(index),
            _ => Err(self.error(self.place(at), x, format_args!("a number in 0..{limit}"))),
        };
        items.iter().enumerate().map(index).collect()
    }

    /// The elements as booleans: a boolean array, or integers 0 and 1.
    pub fn to_mask(&self) -> Result<Vec<bool>> {
        match &self.data {
            ArrayData::Bool(items) => Ok(items.clone()),
            ArrayData::Int(items) => match items.iter().position(|&x| x != 0 && x != 1) {
                None => Ok(items.iter().map(|&x| x == 1).collect()),
                Some(at) => Err(self.error(self.place(at), items[at], "0 or 1")),
            },
            _ => Err(self.error("", self.kind(), "booleans, or integers 0 and 1")),
        }
    }

    /// The elements as strings.
    pub fn to_texts(&self) -> Result<&[String]> {
        match &self.data {
            ArrayData::Text(items) => Ok(items),
            _ => Err(self.error("", self.kind(), "strings")),
        }
    }

    /// The element type, for errors.
    pub fn kind(&self) -> &'static str {
        match &self.data {
            ArrayData::Bool(_) => "booleans",
            ArrayData::Int(_) => "integers",
            ArrayData::Float32(_) | ArrayData::Float64(_) => "floats",
            ArrayData::Text(_) => "strings",
        }
    }

    /// The shape for errors, such as `2 × 3 elements`.
    pub fn describe_shape(&self) -> String {
        let extents: Vec<_> = self.shape.iter().map(usize::to_string).collect();
        if extents.is_empty() {
            "a single element".into()
        } else {
            format!("{} elements", extents.join(" × "))
        }
    }

    /// The position of an element, for errors: row and column if there are two dimensions.
    pub fn place(&self, at: usize) -> String {
        match self.shape[..] {
            [_, columns] if columns > 0 => format!("row {}, column {}", at / columns, at % columns),
            _ => format!("element {at}"),
        }
    }
}
