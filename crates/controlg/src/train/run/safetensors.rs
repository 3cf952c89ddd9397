//! Reads and writes `.safetensors` files with deterministic bytes.
//!
//! The `safetensors` crate reads and validates them. It writes metadata in no fixed order, so writing is done here.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Real;
use crate::data::limits;
use crate::error::{Error, Result};
use crate::files;
use crate::tensor::{AdamW, Params};

/// The content of a file: borrowed for writing, owned after reading.
#[derive(Default)]
pub(in crate::train) struct TensorFile<'t> {
    /// String metadata.
    pub(in crate::train) metadata: BTreeMap<String, String>,
    parts: BTreeMap<String, TensorPart<'t>>,
    is_sealed: bool,
}

struct TensorPart<'t> {
    kind: &'static str,
    shape: Vec<usize>,
    content: Content<'t>,
}

enum Content<'t> {
    Reals(&'t [Real]),
    Doubles(&'t [f64]),
    State(&'t AdamW),
    Read(Vec<u8>),
}

/// Data types by their names in the format.
const REAL: &str = if size_of::<Real>() == 4 { "F32" } else { DOUBLE };
const DOUBLE: &str = "F64";
const BYTES: &str = "U8";

/// Metadata key of the digest.
const DIGEST: &str = "digest";

impl Content<'_> {
    fn byte_len(&self) -> usize {
        match self {
            Content::Reals(values) => size_of_val(*values),
            Content::Doubles(values) => size_of_val(*values),
            Content::State(optimizer) => optimizer.byte_len(),
            Content::Read(bytes) => bytes.len(),
        }
    }

    fn write_to(&self, to: &mut impl Write) -> std::io::Result<()> {
        match self {
            Content::Reals(values) => values.iter().try_for_each(|x| to.write_all(&x.to_le_bytes())),
            Content::Doubles(values) => values.iter().try_for_each(|x| to.write_all(&x.to_le_bytes())),
            Content::State(optimizer) => optimizer.write_to(to),
            Content::Read(bytes) => to.write_all(bytes),
        }
    }
}

impl<'t> TensorFile<'t> {
    /// Adds a tensor.
    pub(in crate::train) fn add(&mut self, name: String, shape: &[usize], values: &'t [Real]) {
        self.parts
            .insert(name, TensorPart { kind: REAL, shape: shape.to_vec(), content: Content::Reals(values) });
    }

    /// Adds a double-precision vector.
    pub(in crate::train) fn add_doubles(&mut self, name: String, values: &'t [f64]) {
        let part = TensorPart { kind: DOUBLE, shape: vec![values.len()], content: Content::Doubles(values) };
        self.parts.insert(name, part);
    }

    /// Adds an optimizer state as opaque bytes.
    pub(in crate::train) fn add_state(&mut self, name: String, state: &'t AdamW) {
        let part = TensorPart { kind: BYTES, shape: vec![state.byte_len()], content: Content::State(state) };
        self.parts.insert(name, part);
    }

    /// Adds all parameters, named `group/matrix`.
    pub(in crate::train) fn add_params(&mut self, params: &'t Params) {
        for group in params.groups() {
            for entry in group.entries() {
                let name = format!("{}/{}", group.name(), entry.name);
                self.add(name, &[entry.rows, entry.cols], &group.data()[entry.span()]);
            }
        }
    }

    /// The values of a tensor with `len` elements.
    pub(in crate::train) fn values(&self, path: &Path, name: &str, len: usize) -> Result<Vec<Real>> {
        let bytes = self.part(path, name, REAL, len * size_of::<Real>())?;
        Ok(bytes
            .chunks_exact(size_of::<Real>())
            .map(|raw| Real::from_le_bytes(raw.try_into().expect("chunks of the exact size")))
            .collect())
    }

    /// The values of a double-precision vector.
    pub(in crate::train) fn doubles(&self, path: &Path, name: &str, len: usize) -> Result<Vec<f64>> {
        let bytes = self.part(path, name, DOUBLE, len * 8)?;
        Ok(bytes
            .chunks_exact(8)
            .map(|raw| f64::from_le_bytes(raw.try_into().expect("chunks of the exact size")))
            .collect())
    }

    /// Opaque bytes.
    pub(in crate::train) fn bytes(&self, path: &Path, name: &str) -> Result<&[u8]> {
        match self.parts.get(name) {
            Some(TensorPart { kind: BYTES, content: Content::Read(bytes), .. }) => Ok(bytes),
            _ => Err(Error::input(path, name, "nothing", "bytes of that name")),
        }
    }

    /// Fills the parameters of one group with the tensors of the same names.
    pub(in crate::train) fn fill(&self, path: &Path, params: &mut Params, group: usize) -> Result<()> {
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

    /// SHA-256 of metadata, names and content, in hexadecimal.
    fn digest(&self) -> Result<String> {
        let mut hash = Hasher(Sha256::new());
        let mut add = || -> std::io::Result<()> {
            for (name, text) in &self.metadata {
                writeln!(hash, "{name}={text}")?;
            }
            for (name, part) in &self.parts {
                writeln!(hash, "{name} {}", part.content.byte_len())?;
                let mut buffered = BufWriter::with_capacity(1 << 16, &mut hash);
                part.content.write_to(&mut buffered)?;
                buffered.flush()?;
            }
            Ok(())
        };
        add().map_err(|error| Error::io("hashing", error))?;
        Ok(files::hex(hash.0.finalize()))
    }

    /// Adds the digest, which reveals later changes. Call this last.
    pub(in crate::train) fn seal(&mut self) -> Result<()> {
        let digest = self.digest()?;
        self.metadata.insert(DIGEST.to_owned(), digest);
        Ok(())
    }

    /// Whether the file had a digest, as all have since version 0.2.
    pub(in crate::train) fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// The number of elements of a tensor, if there is one of that name.
    pub(in crate::train) fn len_of(&self, name: &str) -> Option<usize> {
        self.parts.get(name).map(|part| part.shape.iter().product())
    }

    /// Whether there is a tensor of that name.
    pub(in crate::train) fn contains(&self, name: &str) -> bool {
        self.parts.contains_key(name)
    }

    fn part(&self, path: &Path, name: &str, kind: &str, length: usize) -> Result<&[u8]> {
        match self.parts.get(name) {
            Some(TensorPart { kind: found, content: Content::Read(bytes), .. })
                if *found == kind && bytes.len() == length =>
            {
                Ok(bytes)
            }
            Some(part) => {
                let found =
                    format!("{} bytes of {}, shape {:?}", part.content.byte_len(), part.kind, part.shape);
                Err(Error::input(path, name, found, format_args!("{length} bytes of {kind}")))
            }
            None => Err(Error::input(path, name, "nothing", "a tensor of that name")),
        }
    }

    /// Writes the file atomically.
    pub(in crate::train) fn write(&self, path: &Path) -> Result<()> {
        files::atomic_write(path, |beside| {
            let write = || -> std::io::Result<()> {
                let mut file = BufWriter::new(File::create(beside)?);
                self.write_to(&mut file)?;
                file.flush()
            };
            write().map_err(|error| Error::io(format_args!("writing {}", path.display()), error))
        })
    }

    /// The bytes of the file.
    pub(in crate::train) fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes).map_err(|error| Error::io("serializing a model", error))?;
        Ok(bytes)
    }

    fn write_to(&self, to: &mut impl Write) -> std::io::Result<()> {
        let mut header = serde_json::Map::new();
        header.insert("__metadata__".to_owned(), json!(self.metadata));
        let mut at = 0;
        for (name, part) in &self.parts {
            let end = at + part.content.byte_len();
            header.insert(
                name.clone(),
                json!({ "dtype": part.kind, "shape": part.shape, "data_offsets": [at, end] }),
            );
            at = end;
        }
        let mut header = Value::Object(header).to_string();
        // The data is aligned to eight bytes.
        while !header.len().is_multiple_of(8) {
            header.push(' ');
        }
        to.write_all(&(header.len() as u64).to_le_bytes())?;
        to.write_all(header.as_bytes())?;
        self.parts.values().try_for_each(|part| part.content.write_to(to))
    }

    /// Reads a file.
    pub(in crate::train) fn read(path: &Path) -> Result<TensorFile<'static>> {
        TensorFile::parse(path, &limits::read_bytes(path)?)
    }

    /// Parses the bytes of a file and verifies its digest; `path` is its name in error messages.
    pub(in crate::train) fn parse(path: &Path, bytes: &[u8]) -> Result<TensorFile<'static>> {
        let wrong = |error: safetensors::SafeTensorError| Error::input(path, "", error, "a safetensors file");
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(wrong)?;
        let file = SafeTensors::deserialize(bytes).map_err(wrong)?;
        let mut tensors = TensorFile {
            metadata: header.metadata().clone().unwrap_or_default().into_iter().collect(),
            parts: BTreeMap::new(),
            is_sealed: false,
        };
        for (name, view) in file.iter() {
            let kind = match view.dtype() {
                Dtype::F32 => "F32",
                Dtype::F64 => DOUBLE,
                Dtype::U8 => BYTES,
                other => return Err(Error::input(path, name, format_args!("{other:?}"), "F32, F64 or U8")),
            };
            let content = Content::Read(view.data().to_vec());
            let part = TensorPart { kind, shape: view.shape().to_vec(), content };
            tensors.parts.insert(name.to_owned(), part);
        }
        if let Some(given) = tensors.metadata.remove(DIGEST) {
            if given != tensors.digest()? {
                return Err(Error::input(path, "", "a damaged file", "content that matches its digest"));
            }
            tensors.is_sealed = true;
        }
        Ok(tensors)
    }
}

/// Lets a hash be written to.
struct Hasher(Sha256);

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
