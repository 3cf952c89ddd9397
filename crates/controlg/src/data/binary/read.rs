//! Reading the binary format.

use std::collections::HashSet;
use std::io::{BufReader, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::hashes::BinaryHashes;
use super::{
    BinaryFileInfo, BinaryHeader, COLUMNS, DENSE, FORMAT_TAG, HEADER, IDS, NAME, OFFSETS, SPARSE, WEIGHTS,
};
use crate::Real;
use crate::data::folder::FEATURE_NAMES;
use crate::data::{Dataset, FeatureSource, LoadOptions, limits};
use crate::error::{Error, Result};
use crate::files::{self, hex};
use crate::graph::{Adjacency, BlockHash, Csr, EdgeCounts, Graph, Ids, StoredFeatures, name_problem};

/// Loads a binary folder. Features stay on disk if the options ask for it.
pub(in crate::data) fn load(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    if options.directed {
        return Err(Error::input(
            path,
            "",
            "undirected edges",
            "edges with a direction, for directed = true",
        ));
    }
    let header = BinaryHeader::read(path)?;
    let adjacency = header.adjacency(path)?;
    let ids = header.ids(path)?;
    let hashes = BinaryHashes::read(path)?;
    let mut notes = header.notes.clone();
    let graph = match options.features {
        FeatureSource::Structural => {
            notes.push("features are structural, computed from the edges alone".to_owned());
            Graph::structural(adjacency, ids)?
        }
        FeatureSource::Given => {
            let graph = Graph::stored(adjacency, header.features(path, hashes.as_ref())?, ids)?;
            let graph = graph.with_features_from_edges(header.features_from_edges);
            let graph = match header.feature_names(path)? {
                Some(names) => graph.with_feature_names(names)?,
                None => graph,
            };
            if options.stay_on_disk { graph } else { graph.resident()? }
        }
    };
    Ok(Dataset {
        name: path.display().to_string(),
        format: NAME,
        graph,
        labels: None,
        splits: Vec::new(),
        edge_counts: EdgeCounts::default(),
        relation_counts: Vec::new(),
        notes,
    })
}

impl BinaryHeader {
    fn read(folder: &Path) -> Result<BinaryHeader> {
        let file = folder.join(HEADER);
        let header: BinaryHeader = serde_json::from_str(&limits::read_text(&file)?).map_err(|error| {
            let place = format!("line {}", error.line());
            Error::input(&file, place, error, "the header of a binary folder")
        })?;
        if header.format != FORMAT_TAG {
            let found = format!("'{}'", header.format);
            return Err(Error::input(&file, "format", found, format_args!("'{FORMAT_TAG}'")));
        }
        if header.nodes == 0 || header.nodes >= u32::MAX as usize || header.features == 0 {
            let found = format!("{} nodes with {} features", header.nodes, header.features);
            let expected = "at least one node and one feature, and fewer than 2³² − 1 nodes";
            return Err(Error::input(&file, "nodes", found, expected));
        }
        Ok(header)
    }

    fn adjacency(&self, folder: &Path) -> Result<Adjacency> {
        let offsets: Vec<usize> = self.offsets(folder, OFFSETS)?;
        let end = offsets[self.nodes];
        if end != self.entries {
            let expected = format!("{}, the number of entries in {HEADER}", self.entries);
            return Err(Error::input(&folder.join(OFFSETS), "last offset", end, expected));
        }
        let columns = self.numbers(folder, COLUMNS, self.entries, u32::from_le_bytes)?;
        let values = if self.files.contains_key(WEIGHTS) {
            Some(self.numbers(folder, WEIGHTS, self.entries, |b| Real::from(f32::from_le_bytes(b)))?)
        } else {
            None
        };
        if let Some(at) = values.iter().flatten().position(|x| !(*x > 0.0 && x.is_finite())) {
            let found = values.iter().flatten().nth(at).copied().unwrap_or_default();
            let place = format!("element {at}");
            return Err(Error::input(&folder.join(WEIGHTS), place, found, "a positive weight"));
        }
        check_symmetric(&folder.join(COLUMNS), &offsets, &columns)?;
        let is_weighted = values.is_some();
        let csr = Csr::from_parts(self.nodes, offsets, columns, values);
        if !is_weighted {
            return Ok(Adjacency::new_unchecked(csr));
        }
        // Weights must be symmetric too.
        Adjacency::new(csr).map_err(|error| match error {
            Error::Input { place, found, expected, .. } => {
                Error::input(&folder.join(WEIGHTS), place, found, expected)
            }
            error => error,
        })
    }

    fn features(&self, folder: &Path, hashes: Option<&BinaryHashes>) -> Result<StoredFeatures> {
        if let Some(info) = self.files.get(DENSE) {
            let path = folder.join(DENSE);
            let dense = StoredFeatures::dense(&path, self.nodes, self.features, info.sha256.clone())?;
            return Ok(match self.blocks(folder, DENSE, hashes)? {
                Some(blocks) => dense.with_block_hashes(blocks, Vec::new()),
                None => dense,
            });
        }
        let [offsets, columns, values] = SPARSE;
        let offsets: Vec<u64> = self.offsets(folder, offsets)?;
        let infos = SPARSE.iter().map(|name| self.info(folder, name)).collect::<Result<Vec<_>>>()?;
        let identity = infos.iter().map(|info| info.sha256.as_str()).collect::<Vec<_>>().join(" ");
        let [columns_path, values_path] = [columns, values].map(|name| folder.join(name));
        let sparse = StoredFeatures::sparse(self.features, offsets, &columns_path, &values_path, identity)?;
        Ok(match (self.blocks(folder, values, hashes)?, self.blocks(folder, columns, hashes)?) {
            (Some(values), Some(columns)) => sparse.with_block_hashes(values, columns),
            _ => sparse,
        })
    }

    /// What the header says about a file.
    fn info(&self, folder: &Path, name: &str) -> Result<&BinaryFileInfo> {
        let missing =
            || Error::input(&folder.join(HEADER), "files", format_args!("no {name}"), "its size and hash");
        self.files.get(name).ok_or_else(missing)
    }

    /// The hashes of a file's blocks. Without them, checks the whole file.
    fn blocks(
        &self,
        folder: &Path,
        name: &str,
        hashes: Option<&BinaryHashes>,
    ) -> Result<Option<Vec<BlockHash>>> {
        let info = self.info(folder, name)?;
        if let Some(hashes) = hashes {
            return hashes.blocks(folder, name, info.bytes).map(Some);
        }
        let path = folder.join(name);
        if files::sha256(&path)? == info.sha256 { Ok(None) } else { Err(different_hash(&path)) }
    }

    fn ids(&self, folder: &Path) -> Result<Ids> {
        let Some(info) = self.files.get(IDS) else {
            return Ok(Ids::Numbered(self.nodes));
        };
        let path = folder.join(IDS);
        let names = self.lines(folder, IDS, info.bytes)?;
        if names.len() != self.nodes {
            let expected = format!("{}, one per node", self.nodes);
            return Err(Error::input(&path, "", format_args!("{} lines", names.len()), expected));
        }
        let mut seen = HashSet::with_capacity(names.len());
        if let Some(at) = names.iter().position(|name| !seen.insert(name)) {
            let (place, found) = (format!("line {}", at + 1), format!("duplicate id {:?}", names[at]));
            return Err(Error::input(&path, place, found, "each id once"));
        }
        Ok(Ids::from_names(names))
    }

    fn feature_names(&self, folder: &Path) -> Result<Option<Vec<String>>> {
        let Some(info) = self.files.get(FEATURE_NAMES) else { return Ok(None) };
        let names = self.lines(folder, FEATURE_NAMES, info.bytes)?;
        match name_problem(&names, self.features) {
            Some(found) => {
                let expected = format!("{} distinct names, one per line", self.features);
                Err(Error::input(&folder.join(FEATURE_NAMES), "", found, expected))
            }
            None => Ok(Some(names)),
        }
    }

    /// The lines of a text file.
    fn lines(&self, folder: &Path, name: &str, bytes: u64) -> Result<Vec<String>> {
        let bytes = self.numbers(folder, name, bytes as usize, |[byte]: [u8; 1]| byte)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::input(&folder.join(name), "", "bytes that are not UTF-8", "UTF-8 text"))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The start of each row, ascending from 0.
    fn offsets<T: TryFrom<u64> + PartialOrd + Default>(&self, folder: &Path, name: &str) -> Result<Vec<T>> {
        let number = |b| T::try_from(u64::from_le_bytes(b)).ok();
        let read = self.numbers(folder, name, self.nodes + 1, number)?;
        let all: Option<Vec<T>> = read.into_iter().collect();
        all.filter(|all| all.first() == Some(&T::default()) && all.is_sorted()).ok_or_else(|| {
            Error::input(&folder.join(name), "", "descending offsets", "offsets that ascend from 0")
        })
    }

    /// All numbers of a file. Its size and hash must match the header.
    fn numbers<T, const N: usize>(
        &self,
        folder: &Path,
        name: &str,
        count: usize,
        number: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>> {
        let path = folder.join(name);
        let info = self.info(folder, name)?;
        let file = files::open(&path)?;
        let size = file.metadata().map_err(|error| Error::reading(&path, error))?.len();
        // Checked before the memory is allocated.
        if Some(size) != (count as u64).checked_mul(N as u64) || size != info.bytes {
            let expected = match N {
                1 => format!("{}, the size in {HEADER}", info.bytes),
                _ => format!("{} ({count} numbers of {N} bytes)", count as u128 * N as u128),
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
            all.extend(
                block[..now].chunks_exact(N).map(|b| number(b.try_into().expect("chunks of N bytes"))),
            );
            left -= now;
        }
        if hex(hash.finalize()) != info.sha256 {
            return Err(different_hash(&path));
        }
        Ok(all)
    }
}

fn different_hash(path: &Path) -> Error {
    Error::input(path, "", "a different SHA-256", format_args!("the one in {HEADER}"))
}

/// Checks that rows ascend and have no self-loop, and that every entry (u, v) has its (v, u).
///
/// Rows are visited in order, so the entries that point back to a row must come up in order too: one cursor per row
/// is enough.
fn check_symmetric(path: &Path, offsets: &[usize], columns: &[u32]) -> Result<()> {
    let n = offsets.len() - 1;
    let mut next = offsets.to_vec();
    for row in 0..n {
        let span = &columns[offsets[row]..offsets[row + 1]];
        let ascends = span.windows(2).all(|pair| pair[0] < pair[1]);
        let has_reverse = |&other: &u32| {
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
        if !ascends || !span.iter().all(has_reverse) {
            let found = "columns that are not a symmetric adjacency";
            let expected = "ascending columns without self-loops, every edge in both directions";
            return Err(Error::input(path, format_args!("row {row}"), found, expected));
        }
    }
    Ok(())
}
