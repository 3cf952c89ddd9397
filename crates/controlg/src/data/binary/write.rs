//! Writing the binary format.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::hashes::{BinaryHashes, BlockHasher, HASHES};
use super::{
    BinaryFileInfo, BinaryHeader, COLUMNS, DENSE, FORMAT_TAG, HEADER, IDS, OFFSETS, SPARSE, WEIGHTS,
};
use crate::Real;
use crate::data::Dataset;
use crate::data::atomic_folder::{AtomicFolder, check_new_or_empty};
use crate::data::convert::{check_lines, refuse_types};
use crate::data::folder::FEATURE_NAMES;
use crate::error::{Error, Result};
use crate::files::hex;
use crate::graph::{Csr, Features, Ids};

/// Writes a graph into a new or empty folder.
pub fn to_binary(dataset: &Dataset, out: &Path) -> Result<()> {
    refuse_types(dataset)?;
    let graph = &dataset.graph;
    let mut writer = BinaryWriter::new(out, graph.n_features(), dataset.notes.clone())?;
    writer.header.features_from_edges = graph.has_features_from_edges();
    writer.adjacency(graph.adjacency())?;
    writer.ids(graph.ids())?;
    writer.feature_names(graph.feature_names())?;
    match graph.features() {
        Features::Dense(dense) => {
            writer.dense(|to| write_numbers(to, dense.data().iter().map(|&x| f32_bytes(x))))?;
        }
        Features::Sparse(csr) => writer.sparse(csr)?,
    }
    writer.publish(out)
}

/// Writes a binary folder array by array. The folder appears when it is complete ([`BinaryWriter::publish`]).
pub struct BinaryWriter {
    folder: AtomicFolder,
    header: BinaryHeader,
    blocks: BTreeMap<String, Vec<String>>,
}

impl BinaryWriter {
    /// Starts a folder for a graph with `features` features per node.
    pub fn new(out: &Path, features: usize, notes: Vec<String>) -> Result<BinaryWriter> {
        check_new_or_empty(out)?;
        Ok(BinaryWriter {
            folder: AtomicFolder::create(out)?,
            header: BinaryHeader {
                format: FORMAT_TAG.to_owned(),
                nodes: 0,
                entries: 0,
                features,
                features_from_edges: false,
                notes,
                files: BTreeMap::new(),
            },
            blocks: BTreeMap::new(),
        })
    }

    /// Writes the edges.
    pub fn adjacency(&mut self, csr: &Csr) -> Result<()> {
        (self.header.nodes, self.header.entries) = (csr.n_rows(), csr.n_entries());
        self.file(OFFSETS, |to| write_numbers(to, csr.offsets().iter().map(|&x| (x as u64).to_le_bytes())))?;
        self.file(COLUMNS, |to| write_numbers(to, csr.columns().iter().map(|x| x.to_le_bytes())))?;
        match csr.values() {
            Some(values) => self.file(WEIGHTS, |to| write_numbers(to, values.iter().map(|&x| f32_bytes(x)))),
            None => Ok(()),
        }
    }

    /// Writes the node ids.
    pub fn ids(&mut self, ids: &Ids) -> Result<()> {
        let Ids::Named(names) = ids else { return Ok(()) };
        check_lines("id", names.iter().map(|name| name.as_str().into()))?;
        self.file(IDS, |to| names.iter().try_for_each(|name| writeln!(to, "{name}")))
    }

    /// Writes the names of the feature columns.
    pub fn feature_names(&mut self, names: Option<&[String]>) -> Result<()> {
        let Some(names) = names else { return Ok(()) };
        self.file(FEATURE_NAMES, |to| names.iter().try_for_each(|name| writeln!(to, "{name}")))
    }

    /// Writes dense features. `rows` writes little-endian f32 values in row-major order.
    pub fn dense(&mut self, rows: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        self.file(DENSE, rows)
    }

    /// Writes sparse features.
    pub fn sparse(&mut self, csr: &Csr) -> Result<()> {
        let [offsets, columns, values] = SPARSE;
        self.file(offsets, |to| write_numbers(to, csr.offsets().iter().map(|&x| (x as u64).to_le_bytes())))?;
        self.file(columns, |to| write_numbers(to, csr.columns().iter().map(|x| x.to_le_bytes())))?;
        let ones = csr.values().is_none().then(|| std::iter::repeat_n(1.0, csr.n_entries()));
        let all = csr.values().unwrap_or_default().iter().copied().chain(ones.into_iter().flatten());
        self.file(values, |to| write_numbers(to, all.map(f32_bytes)))
    }

    /// Writes the header and moves the folder to `out`.
    pub fn publish(self, out: &Path) -> Result<()> {
        let text =
            serde_json::to_string_pretty(&self.header).map_err(|error| Error::Failed(error.to_string()))?;
        let path = self.folder.path(HEADER);
        std::fs::write(&path, text + "\n")
            .map_err(|error| Error::io(format_args!("writing {}", path.display()), error))?;
        BinaryHashes::new(&path, self.blocks)?.write(&self.folder.path(HASHES))?;
        self.folder.publish(out)
    }

    fn file(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let path = self.folder.path(name);
        let run = || -> io::Result<(BinaryFileInfo, Option<Vec<String>>)> {
            let mut to = HashingWriter {
                to: BufWriter::with_capacity(1 << 20, File::create(&path)?),
                hash: Sha256::new(),
                blocks: (name == DENSE || SPARSE[1..].contains(&name)).then(BlockHasher::default),
                bytes: 0,
            };
            write(&mut to)?;
            let blocks = to.blocks.map(BlockHasher::finish);
            let info = BinaryFileInfo { bytes: to.bytes, sha256: hex(to.hash.finalize()) };
            to.to.into_inner()?.sync_all()?;
            Ok((info, blocks))
        };
        let (info, blocks) =
            run().map_err(|error| Error::io(format_args!("writing {}", path.display()), error))?;
        self.header.files.insert(name.to_owned(), info);
        self.blocks.extend(blocks.map(|blocks| (name.to_owned(), blocks)));
        Ok(())
    }
}

/// Counts and hashes the bytes that pass through.
struct HashingWriter<W> {
    to: W,
    hash: Sha256,
    blocks: Option<BlockHasher>,
    bytes: u64,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.blocks.iter_mut().for_each(|blocks| blocks.update(&bytes[..written]));
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes numbers in blocks, because hashing a few bytes at a time is slow.
fn write_numbers<const N: usize>(
    to: &mut dyn Write,
    numbers: impl Iterator<Item = [u8; N]>,
) -> io::Result<()> {
    let mut block = Vec::with_capacity(1 << 16);
    for number in numbers {
        block.extend_from_slice(&number);
        if block.len() >= 1 << 16 {
            to.write_all(&block)?;
            block.clear();
        }
    }
    to.write_all(&block)
}

#[allow(clippy::unnecessary_cast)] // needed if Real is f64
fn f32_bytes(x: Real) -> [u8; 4] {
    (x as f32).to_le_bytes()
}
