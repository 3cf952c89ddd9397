//! A graph as it lies in memory, in files: features can stay there and be read row by row.
//!
//! A folder with `graph.json` (sizes, and size and SHA-256 of every file) and plain arrays, the lowest byte first:
//! `adjacency.offsets.u64`, `adjacency.columns.u32`, `adjacency.weights.f32` where edges have weights; either
//! `features.f32`, row by row, or the non-zero ones as `features.offsets.u64`, `features.columns.u32` and
//! `features.values.f32`; `ids.txt` unless nodes are called 0, 1, 2, …. Labels and splits are not in it: they stay with
//! the data set that it was made of, for evaluation.
//!
//! Loading reads and checks the adjacency. Features are opened only; see [`Stored`].

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::convert::{Draft, check_lines, check_place};
use super::{Dataset, FeatureSource, LoadOptions, limits};
use crate::Real;
use crate::error::{Error, Result};
use crate::files::hex;
use crate::graph::{Csr, EdgeCounts, Features, Graph, Ids, Stored, StoredLayout};

const HEADER: &str = "graph.json";
const FORMAT: &str = "controlg mapped 1";
/// The name of the layout in `data info`.
pub(super) const NAME: &str = "mapped";
/// One line on what it is.
pub(super) const SUMMARY: &str =
    "a mapped folder (graph.json, adjacency.offsets.u64, …, from `data convert --to mapped`)";

const OFFSETS: &str = "adjacency.offsets.u64";
const COLUMNS: &str = "adjacency.columns.u32";
const WEIGHTS: &str = "adjacency.weights.f32";
const DENSE: &str = "features.f32";
const SPARSE: [&str; 3] = ["features.offsets.u64", "features.columns.u32", "features.values.f32"];
const IDS: &str = "ids.txt";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BinaryHeader {
    format: String,
    nodes: usize,
    /// Stored ends of edges, two for each.
    entries: usize,
    features: usize,
    /// Whether the features were made of the edges.
    #[serde(default)]
    features_from_edges: bool,
    /// What a user should know about how the graph was made.
    notes: Vec<String>,
    files: BTreeMap<String, BinaryInfo>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BinaryInfo {
    bytes: u64,
    sha256: String,
}

/// Writes a graph into a folder that does not exist yet, or is empty.
pub fn to_mapped(dataset: &Dataset, out: &Path) -> Result<()> {
    let graph = &dataset.graph;
    let mut writer = BinaryWriter::new(out, graph.n_features(), dataset.notes.clone())?;
    writer.header.features_from_edges = graph.has_features_from_edges();
    writer.adjacency(graph.adjacency())?;
    writer.ids(graph.ids())?;
    match graph.features() {
        Features::Dense(dense) => writer.dense(|to| numbers(to, dense.data().iter().map(|&x| single(x))))?,
        Features::Sparse(csr) => writer.sparse(csr)?,
    }
    writer.publish(out)
}

/// A mapped folder in the making: it appears whole or not at all.
pub struct BinaryWriter {
    draft: Draft,
    header: BinaryHeader,
}

impl BinaryWriter {
    /// Of a graph with so many features a node.
    pub fn new(out: &Path, features: usize, notes: Vec<String>) -> Result<BinaryWriter> {
        check_place(out)?;
        let (format, files) = (FORMAT.to_owned(), BTreeMap::new());
        Ok(BinaryWriter {
            draft: Draft::beside(out)?,
            header: BinaryHeader {
                format,
                nodes: 0,
                entries: 0,
                features,
                features_from_edges: false,
                notes,
                files,
            },
        })
    }

    /// Writes the edges.
    pub fn adjacency(&mut self, csr: &Csr) -> Result<()> {
        (self.header.nodes, self.header.entries) = (csr.n_rows(), csr.n_entries());
        self.file(OFFSETS, |to| numbers(to, csr.offsets().iter().map(|&x| (x as u64).to_le_bytes())))?;
        self.file(COLUMNS, |to| numbers(to, csr.columns().iter().map(|x| x.to_le_bytes())))?;
        match csr.values() {
            Some(values) => self.file(WEIGHTS, |to| numbers(to, values.iter().map(|&x| single(x)))),
            None => Ok(()),
        }
    }

    /// Writes the nodes' names.
    pub fn ids(&mut self, ids: &Ids) -> Result<()> {
        let Ids::Named(names) = ids else { return Ok(()) };
        check_lines("id", names.iter().map(|name| name.as_str().into()))?;
        self.file(IDS, |to| names.iter().try_for_each(|name| writeln!(to, "{name}")))
    }

    /// Writes dense features: `rows` gives numbers of single precision, the lowest byte first, row by row.
    pub fn dense(&mut self, rows: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        self.file(DENSE, rows)
    }

    /// Writes sparse features.
    pub fn sparse(&mut self, csr: &Csr) -> Result<()> {
        self.file(SPARSE[0], |to| numbers(to, csr.offsets().iter().map(|&x| (x as u64).to_le_bytes())))?;
        self.file(SPARSE[1], |to| numbers(to, csr.columns().iter().map(|x| x.to_le_bytes())))?;
        let ones = csr.values().is_none().then(|| std::iter::repeat_n(1.0, csr.n_entries()));
        let values = csr.values().unwrap_or_default().iter().copied().chain(ones.into_iter().flatten());
        self.file(SPARSE[2], |to| numbers(to, values.map(single)))
    }

    /// Puts the folder in its place.
    pub fn publish(self, out: &Path) -> Result<()> {
        let text =
            serde_json::to_string_pretty(&self.header).map_err(|error| Error::Failed(error.to_string()))?;
        let path = self.draft.path(HEADER);
        std::fs::write(&path, text + "\n")
            .map_err(|error| Error::io(format_args!("writing {}", path.display()), error))?;
        self.draft.publish(out)
    }

    fn file(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let path = self.draft.path(name);
        let run = || -> io::Result<BinaryInfo> {
            let mut to = Hashed {
                to: BufWriter::with_capacity(1 << 20, File::create(&path)?),
                hash: Sha256::new(),
                bytes: 0,
            };
            write(&mut to)?;
            let about = BinaryInfo { bytes: to.bytes, sha256: hex(to.hash.finalize()) };
            to.to.into_inner()?.sync_all()?;
            Ok(about)
        };
        let about = run().map_err(|error| Error::io(format_args!("writing {}", path.display()), error))?;
        self.header.files.insert(name.to_owned(), about);
        Ok(())
    }
}

/// Counts and hashes what is written.
struct Hashed<W> {
    to: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Numbers in blocks: hashing a few bytes at a time would be slow.
fn numbers<const N: usize>(to: &mut dyn Write, all: impl Iterator<Item = [u8; N]>) -> io::Result<()> {
    let mut block = Vec::with_capacity(1 << 16);
    for number in all {
        block.extend_from_slice(&number);
        if block.len() >= 1 << 16 {
            to.write_all(&block)?;
            block.clear();
        }
    }
    to.write_all(&block)
}

#[allow(clippy::unnecessary_cast)] // necessary where Real is f64
fn single(x: Real) -> [u8; 4] {
    (x as f32).to_le_bytes()
}

/// Whether a path holds this layout.
pub(super) fn recognize(path: &Path) -> bool {
    path.join(HEADER).is_file() && path.join(OFFSETS).is_file()
}

/// Loads a mapped folder; features stay in their file where the options say so.
pub(super) fn load(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    let place = path.join(HEADER);
    let header: BinaryHeader = serde_json::from_str(&limits::read_text(&place)?).map_err(|error| {
        Error::input(&place, format_args!("line {}", error.line()), &error, "the header of a mapped folder")
    })?;
    if header.format != FORMAT {
        return Err(Error::input(
            &place,
            "format",
            format_args!("'{}'", header.format),
            format_args!("'{FORMAT}'"),
        ));
    }
    let n = header.nodes;
    if n == 0 || n >= u32::MAX as usize || header.features == 0 {
        let found = format!("{n} nodes with {} features", header.features);
        return Err(Error::input(
            &place,
            "nodes",
            found,
            "at least one node and one feature, and fewer than 2³² − 1 nodes",
        ));
    }
    let adjacency = header.adjacency(path)?;
    let ids = header.ids(path)?;
    let mut notes = header.notes.clone();
    let graph = match options.features {
        FeatureSource::Structural => {
            notes.push("features are structural, made from the edges alone".to_owned());
            Graph::structural(adjacency, ids)?
        }
        FeatureSource::Given => {
            let graph = Graph::stored(adjacency, header.stored(path)?, ids)?;
            let graph = graph.with_features_from_edges(header.features_from_edges);
            if options.stay_on_disk { graph } else { graph.resident()? }
        }
    };
    let name = path.display().to_string();
    Ok(Dataset {
        name,
        format: NAME,
        graph,
        labels: None,
        splits: Vec::new(),
        edge_counts: EdgeCounts::default(),
        notes,
    })
}

impl BinaryHeader {
    fn adjacency(&self, folder: &Path) -> Result<Csr> {
        let offsets: Vec<usize> = self.offsets(folder, OFFSETS, self.nodes)?;
        self.ends_at(folder, OFFSETS, offsets[self.nodes] as u64, self.entries)?;
        let columns = self.read(folder, COLUMNS, self.entries, u32::from_le_bytes)?;
        let values = match self.files.contains_key(WEIGHTS) {
            true => Some(self.read(folder, WEIGHTS, self.entries, |b| Real::from(f32::from_le_bytes(b)))?),
            false => None,
        };
        if let Some(at) = values.iter().flatten().position(|x| !(*x > 0.0 && x.is_finite())) {
            return Err(Error::input(
                &folder.join(WEIGHTS),
                format_args!("element {at}"),
                "no weight",
                "weights above 0",
            ));
        }
        check_symmetric(&folder.join(COLUMNS), &offsets, &columns)?;
        Ok(Csr::new(self.nodes, offsets, columns, values))
    }

    fn stored(&self, folder: &Path) -> Result<Stored> {
        if let Some(about) = self.files.get(DENSE) {
            let layout = StoredLayout::dense(&folder.join(DENSE), self.nodes, self.features)?;
            return Ok(Stored::new(self.nodes, self.features, layout, about.sha256.clone()));
        }
        let offsets: Vec<u64> = self.offsets(folder, SPARSE[0], self.nodes)?;
        let layout = StoredLayout::sparse(offsets, &folder.join(SPARSE[1]), &folder.join(SPARSE[2]))?;
        let hashes: Vec<&str> = SPARSE
            .iter()
            .filter_map(|name| self.files.get(*name))
            .map(|about| about.sha256.as_str())
            .collect();
        Ok(Stored::new(self.nodes, self.features, layout, hashes.join(" ")))
    }

    fn ids(&self, folder: &Path) -> Result<Ids> {
        if !self.files.contains_key(IDS) {
            return Ok(Ids::Numbered(self.nodes));
        }
        let path = folder.join(IDS);
        let bytes = self.read(folder, IDS, self.files[IDS].bytes as usize, |[byte]: [u8; 1]| byte)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::input(&path, "", "bytes that are not UTF-8", "UTF-8 text"))?;
        let names: Vec<String> = text.lines().map(str::to_owned).collect();
        if names.len() != self.nodes {
            return Err(Error::input(
                &path,
                "",
                format_args!("{} lines", names.len()),
                format_args!("{}, one a node", self.nodes),
            ));
        }
        let mut seen = HashSet::with_capacity(names.len());
        if let Some(at) = names.iter().position(|name| !seen.insert(name)) {
            let (place, found) = (format!("line {}", at + 1), format!("id {:?} again", names[at]));
            return Err(Error::input(&path, place, found, "each id once"));
        }
        Ok(Ids::from_names(names))
    }

    /// Where each row starts, ascending from zero.
    fn offsets<T: TryFrom<u64> + PartialOrd + Default>(
        &self,
        folder: &Path,
        name: &str,
        rows: usize,
    ) -> Result<Vec<T>> {
        let path = folder.join(name);
        let number = |b| T::try_from(u64::from_le_bytes(b)).ok();
        let read = self.read(folder, name, rows + 1, number)?;
        let all: Option<Vec<T>> = read.into_iter().collect();
        match all.filter(|all| all.first() == Some(&T::default()) && all.is_sorted()) {
            Some(all) => Ok(all),
            None => Err(Error::input(&path, "", "numbers that go down", "numbers that ascend from 0")),
        }
    }

    fn ends_at(&self, folder: &Path, name: &str, end: u64, entries: usize) -> Result<()> {
        match end == entries as u64 {
            true => Ok(()),
            false => Err(Error::input(
                &folder.join(name),
                "the last number",
                end,
                format_args!("{entries}, as {HEADER} says"),
            )),
        }
    }

    /// All numbers of a file, whose size and hash must be those of the header.
    fn read<T, const N: usize>(
        &self,
        folder: &Path,
        name: &str,
        count: usize,
        number: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>> {
        let path = folder.join(name);
        let missing = || Error::input(&folder.join(HEADER), "files", "nothing", format_args!("{name}"));
        let about = self.files.get(name).ok_or_else(missing)?;
        let file = File::open(&path).map_err(|error| Error::reading(&path, error))?;
        let size = file.metadata().map_err(|error| Error::reading(&path, error))?.len();
        // Nothing is allocated for what is not there.
        if Some(size) != (count as u64).checked_mul(N as u64) || size != about.bytes {
            let expected = match N {
                1 => format!("{}, as {HEADER} says", about.bytes),
                _ => format!("{}: {count} numbers of {N}", count as u128 * N as u128),
            };
            return Err(Error::input(&path, "", format_args!("{size} bytes"), expected));
        }
        let (mut all, mut hash) = (Vec::with_capacity(count), Sha256::new());
        let (mut from, mut block) = (BufReader::with_capacity(1 << 20, file), vec![0; N << 16]);
        let mut left = size as usize;
        while left > 0 {
            let now = left.min(block.len());
            from.read_exact(&mut block[..now]).map_err(|error| Error::reading(&path, error))?;
            hash.update(&block[..now]);
            let each =
                block[..now].chunks_exact(N).map(|b| number(b.try_into().expect("chunks of that length")));
            all.extend(each);
            left -= now;
        }
        if hex(hash.finalize()) != about.sha256 {
            return Err(Error::input(
                &path,
                "",
                "content with another hash",
                format_args!("that of {HEADER}"),
            ));
        }
        Ok(all)
    }
}

/// Rows that ascend, without loops, each entry (u, v) with its (v, u): as rows are visited in their order, the entries
/// that point back to a row are met in their order too.
fn check_symmetric(path: &Path, offsets: &[usize], columns: &[u32]) -> Result<()> {
    let n = offsets.len() - 1;
    let mut next = offsets.to_vec();
    for row in 0..n {
        let span = &columns[offsets[row]..offsets[row + 1]];
        let ascends = span.windows(2).all(|pair| pair[0] < pair[1]);
        let back = |&other: &u32| {
            let other = other as usize;
            if other >= n
                || other == row
                || next[other] >= offsets[other + 1]
                || columns[next[other]] as usize != row
            {
                return false;
            }
            next[other] += 1;
            true
        };
        if !ascends || !span.iter().all(back) {
            let expected = "ascending columns without loops, each edge from both ends";
            return Err(Error::input(path, format_args!("row {row}"), "other columns", expected));
        }
    }
    Ok(())
}
