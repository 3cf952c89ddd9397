//! NumPy's array files: `.npy`, `.npz` (stored or deflated), and the sparse matrices that SciPy and gnn-benchmark
//! keep in them.
//!
//! The header of a `.npy` is parsed here and not by a crate: the one at hand takes the header's length at its word
//! and allocates up to 4 GB for it. Here a member is first unpacked within [`super::limits`], then its header must
//! promise exactly the bytes that are there, so that no promise costs memory.

mod embeddings;
mod npy;
mod npz;
mod sparse;
mod write;

pub use embeddings::{ParquetEmbeddings, write_embeddings_parquet};
pub use npy::{parse_npy, read_npy};
pub use npz::NpzFile;
pub use write::{NpyWriter, write_csr_npz, write_npy};

pub(super) use npy::{DType, decode};
pub(super) use sparse::{CsrParts, MAX_SPARSE_WIDTH};

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::Real;
use crate::error::{Error, Result};

/// An array as it was read, in C order, and where it came from.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its extent in each dimension; empty for a single number.
    pub shape: Vec<usize>,
    /// Its elements, the last dimension running fastest.
    pub data: ArrayData,
    file: PathBuf,
    name: String,
}

/// The elements of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayData {
    /// Truth values.
    Bool(Vec<bool>),
    /// Whole numbers of any width.
    Int(Vec<i64>),
    /// Half and single precision.
    Float32(Vec<f32>),
    /// Double precision.
    Float64(Vec<f64>),
    /// Text, without the zeros that NumPy pads it with.
    Text(Vec<String>),
}

impl Array {
    /// An array of that name within a file; the name is empty where the file is the array.
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

    /// An input error about this array.
    pub fn error(&self, place: impl Display, found: impl Display, expected: impl Display) -> Error {
        let place = match (self.name.is_empty(), place.to_string()) {
            (true, place) => place,
            (false, place) if place.is_empty() => format!("array '{}'", self.name),
            (false, place) => format!("array '{}', {place}", self.name),
        };
        Error::input(&self.file, place, found, expected)
    }

    /// The extent when there is one dimension.
    pub fn one_dimension(&self) -> Result<usize> {
        match self.shape[..] {
            [n] => Ok(n),
            _ => Err(self.error("", self.shape_in_words(), "one dimension")),
        }
    }

    /// Rows and columns when there are two dimensions.
    pub fn two_dimensions(&self) -> Result<(usize, usize)> {
        match self.shape[..] {
            [rows, columns] => Ok((rows, columns)),
            _ => Err(self.error("", self.shape_in_words(), "two dimensions")),
        }
    }

    /// The elements as finite reals; whole numbers and truth values become reals.
    pub fn to_reals(&self) -> Result<Vec<Real>> {
        let reals: Vec<Real> = match &self.data {
            ArrayData::Bool(items) => items.iter().map(|&x| Real::from(u8::from(x))).collect(),
            ArrayData::Int(items) => items.iter().map(|&x| x as Real).collect(),
            ArrayData::Float32(items) => items.iter().map(|&x| Real::from(x)).collect(),
            ArrayData::Float64(items) => items.iter().map(|&x| x as Real).collect(),
            ArrayData::Text(_) => return Err(self.error("", "text", "numbers")),
        };
        match reals.iter().position(|x| !x.is_finite()) {
            None => Ok(reals),
            Some(at) => Err(self.error(self.place(at), reals[at], "a finite number")),
        }
    }

    /// The elements as whole numbers of any sign.
    pub fn to_integers(&self) -> Result<Vec<i64>> {
        match &self.data {
            ArrayData::Int(items) => Ok(items.clone()),
            ArrayData::Bool(items) => Ok(items.iter().map(|&x| i64::from(x)).collect()),
            ArrayData::Float32(_) | ArrayData::Float64(_) => Err(self.error("", "reals", "whole numbers")),
            ArrayData::Text(_) => Err(self.error("", "text", "whole numbers")),
        }
    }

    /// The elements as whole numbers below `limit`.
    pub fn to_indices(&self, limit: usize) -> Result<Vec<u32>> {
        let ArrayData::Int(items) = &self.data else {
            return Err(self.error("", self.kind(), "whole numbers"));
        };
        let index = |(at, &x): (usize, &i64)| match u32::try_from(x) {
            Ok(index) if (index as usize) < limit => Ok(index),
            _ => Err(self.error(self.place(at), x, format_args!("a number of 0..{limit}"))),
        };
        items.iter().enumerate().map(index).collect()
    }

    /// The elements as truth values: booleans, or whole numbers that are 0 or 1.
    pub fn to_mask(&self) -> Result<Vec<bool>> {
        match &self.data {
            ArrayData::Bool(items) => Ok(items.clone()),
            ArrayData::Int(items) => match items.iter().position(|&x| x != 0 && x != 1) {
                None => Ok(items.iter().map(|&x| x == 1).collect()),
                Some(at) => Err(self.error(self.place(at), items[at], "0 or 1")),
            },
            _ => Err(self.error("", self.kind(), "booleans, or whole numbers that are 0 or 1")),
        }
    }

    /// The elements as text.
    pub fn to_texts(&self) -> Result<&[String]> {
        match &self.data {
            ArrayData::Text(items) => Ok(items),
            _ => Err(self.error("", self.kind(), "text")),
        }
    }

    /// What kind of elements these are, in words.
    pub fn kind(&self) -> &'static str {
        match &self.data {
            ArrayData::Bool(_) => "booleans",
            ArrayData::Int(_) => "whole numbers",
            ArrayData::Float32(_) | ArrayData::Float64(_) => "reals",
            ArrayData::Text(_) => "text",
        }
    }

    /// The shape in words, such as `2 × 3 elements`.
    pub fn shape_in_words(&self) -> String {
        let extents: Vec<_> = self.shape.iter().map(usize::to_string).collect();
        if extents.is_empty() {
            "a single element".into()
        } else {
            format!("{} elements", extents.join(" × "))
        }
    }

    /// Where an element stands, in words: by row and column when there are two dimensions.
    pub fn place(&self, at: usize) -> String {
        match self.shape[..] {
            [_, columns] if columns > 0 => format!("row {}, column {}", at / columns, at % columns),
            _ => format!("element {at}"),
        }
    }
}
