//! Named matrices with a few words about them in one `.safetensors` file, the same bytes for the same content.
//!
//! The crate reads and checks these files; it writes the words in no fixed order, so the page that writes is ours.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};

use crate::Real;
use crate::data::limits;
use crate::error::{Error, Result};
use crate::files;
use crate::tensor::Params;

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tensors {
    /// Words about the whole.
    pub(super) words: BTreeMap<String, String>,
    parts: BTreeMap<String, Part>,
}

#[derive(Clone, Debug, PartialEq)]
struct Part {
    kind: &'static str,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// Number types by their names in the format.
const REAL: &str = if size_of::<Real>() == 4 { "F32" } else { DOUBLE };
const DOUBLE: &str = "F64";
const BYTES: &str = "U8";

impl Tensors {
    /// Adds a matrix.
    pub(super) fn add(&mut self, name: String, shape: &[usize], values: &[Real]) {
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.parts.insert(name, Part { kind: REAL, shape: shape.to_vec(), bytes });
    }

    /// Adds numbers of double precision.
    pub(super) fn add_doubles(&mut self, name: String, values: &[f64]) {
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.parts.insert(name, Part { kind: DOUBLE, shape: vec![values.len()], bytes });
    }

    /// Adds bytes that mean something to their owner only.
    pub(super) fn add_bytes(&mut self, name: String, bytes: Vec<u8>) {
        self.parts.insert(name, Part { kind: BYTES, shape: vec![bytes.len()], bytes });
    }

    /// Adds all parameters, `group/matrix`.
    pub(super) fn add_params(&mut self, params: &Params) {
        for group in params.groups() {
            for entry in group.entries() {
                let name = format!("{}/{}", group.name(), entry.name);
                self.add(name, &[entry.rows, entry.cols], &group.data()[entry.span()]);
            }
        }
    }

    /// The values of a matrix of this many elements.
    pub(super) fn values(&self, path: &Path, name: &str, len: usize) -> Result<Vec<Real>> {
        let bytes = self.part(path, name, REAL, len * size_of::<Real>())?;
        Ok(bytes.chunks_exact(size_of::<Real>()).map(|raw| Real::from_le_bytes(raw.try_into().expect("a number"))).collect())
    }

    /// Numbers of double precision.
    pub(super) fn doubles(&self, path: &Path, name: &str, len: usize) -> Result<Vec<f64>> {
        let bytes = self.part(path, name, DOUBLE, len * 8)?;
        Ok(bytes.chunks_exact(8).map(|raw| f64::from_le_bytes(raw.try_into().expect("a number"))).collect())
    }

    /// Bytes.
    pub(super) fn bytes(&self, path: &Path, name: &str) -> Result<&[u8]> {
        match self.parts.get(name) {
            Some(part) if part.kind == BYTES => Ok(&part.bytes),
            _ => Err(Error::input(path, name, "nothing", "bytes of that name")),
        }
    }

    /// Fills the parameters of one group with those of the same names.
    pub(super) fn fill(&self, path: &Path, params: &mut Params, group: usize) -> Result<()> {
        let (name, entries) = {
            let group = &params.groups()[group];
            (group.name().to_owned(), group.entries().to_vec())
        };
        for entry in entries {
            let values = self.values(path, &format!("{name}/{}", entry.name), entry.rows * entry.cols)?;
            params.group_mut(group).data_mut()[entry.span()].copy_from_slice(&values);
        }
        Ok(())
    }

    /// Visits everything in the order of the names.
    pub(super) fn each_part(&self, mut visit: impl FnMut(&str, &[u8])) {
        self.parts.iter().for_each(|(name, part)| visit(name, &part.bytes));
    }

    /// How many elements something of that name has.
    pub(super) fn len_of(&self, name: &str) -> Option<usize> {
        self.parts.get(name).map(|part| part.shape.iter().product())
    }

    /// Whether there is something of that name.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.parts.contains_key(name)
    }

    fn part(&self, path: &Path, name: &str, kind: &str, length: usize) -> Result<&[u8]> {
        match self.parts.get(name) {
            Some(part) if part.kind == kind && part.bytes.len() == length => Ok(&part.bytes),
            Some(part) => {
                let found = format!("{} bytes of shape {:?}", part.bytes.len(), part.shape);
                Err(Error::input(path, name, found, format_args!("{length} bytes")))
            }
            None => Err(Error::input(path, name, "nothing", "a matrix of that name")),
        }
    }

    /// Writes the file, whole or not at all.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let mut header = serde_json::Map::new();
        header.insert("__metadata__".to_owned(), json!(self.words));
        let mut at = 0;
        for (name, part) in &self.parts {
            let end = at + part.bytes.len();
            header.insert(name.clone(), json!({ "dtype": part.kind, "shape": part.shape, "data_offsets": [at, end] }));
            at = end;
        }
        let mut header = Value::Object(header).to_string();
        // The data starts at a multiple of eight bytes.
        while !header.len().is_multiple_of(8) {
            header.push(' ');
        }
        files::whole(path, |beside| {
            let write = || -> std::io::Result<()> {
                let mut file = BufWriter::new(File::create(beside)?);
                file.write_all(&(header.len() as u64).to_le_bytes())?;
                file.write_all(header.as_bytes())?;
                self.parts.values().try_for_each(|part| file.write_all(&part.bytes))?;
                file.flush()
            };
            write().map_err(|error| Error::io(format_args!("writing {}", path.display()), error))
        })
    }

    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Tensors> {
        let bytes = limits::read_bytes(path)?;
        let wrong = |error: safetensors::SafeTensorError| Error::input(path, "", error, "a safetensors file");
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(wrong)?;
        let file = SafeTensors::deserialize(&bytes).map_err(wrong)?;
        let mut tensors = Tensors {
            words: header.metadata().clone().unwrap_or_default().into_iter().collect(),
            parts: BTreeMap::new(),
        };
        for (name, view) in file.iter() {
            let kind = match view.dtype() {
                Dtype::F32 => "F32",
                Dtype::F64 => DOUBLE,
                Dtype::U8 => BYTES,
                other => return Err(Error::input(path, name, format_args!("{other:?}"), "F32, F64 or U8")),
            };
            let part = Part { kind, shape: view.shape().to_vec(), bytes: view.data().to_vec() };
            tensors.parts.insert(name.to_owned(), part);
        }
        Ok(tensors)
    }
}
