//! The raw files of the Open Graph Benchmark's node property prediction data sets.
//!
//! ```text
//! raw/edge.csv.gz              source,target per line
//! raw/node-feat.csv.gz         the features of one node per line
//! raw/node-label.csv.gz        one class per line
//! raw/num-node-list.csv.gz     the number of nodes
//! raw/num-edge-list.csv.gz     the number of edges (optional)
//! split/SCHEME/{train,valid,test}.csv.gz   one node per line
//! ```
//!
//! The tables have no headers; line k (from 0) belongs to node k. Uncompressed `.csv` files are accepted.

use std::path::{Path, PathBuf};

use super::{FeatureSource, Format, RawDataset, Split, checks, limits, text};
use crate::error::{Error, Result};
use crate::graph::{EdgeList, Features, Ids};

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "ogb",
    summary: "an OGB folder (raw/edge.csv.gz, raw/node-label.csv.gz, …, split/SCHEME/train.csv.gz, …)",
    recognize: |path| table(path, "raw/edge").is_file() && table(path, "raw/node-label").is_file(),
    read,
};

/// The maximum number of nodes: they are numbered with `u32`, and `u32::MAX` marks a missing label.
const MAX_NODES: usize = u32::MAX as usize - 1;

fn read(folder: &Path, source: FeatureSource) -> Result<RawDataset> {
    let label_file = table(folder, "raw/node-label");
    let classes = text::column(&label_file, &limits::read_bytes(&label_file)?, MAX_NODES, "a class")?;
    let n = classes.len();
    if n == 0 {
        return Err(Error::input(&label_file, "", "no nodes", "one class per node"));
    }
    let n_file = table(folder, "raw/num-node-list");
    check_count(&n_file, n, &format!("number of lines in {}", name_of(&label_file)))?;
    let edge_file = table(folder, "raw/edge");
    let pairs = parse_edges(&edge_file, &limits::read_bytes(&edge_file)?, n)?;
    let edge_count_file = table(folder, "raw/num-edge-list");
    if edge_count_file.exists() {
        check_count(&edge_count_file, pairs.len(), &format!("number of lines in {}", name_of(&edge_file)))?;
    }
    Ok(RawDataset {
        edges: EdgeList { pairs, weights: None },
        features: read_features(folder, source, n)?,
        feature_names: None,
        ids: Ids::Numbered(n),
        labels: Some(checks::labels(&label_file, "", classes)?),
        splits: read_splits(folder, n)?,
        notes: vec![],
        types: None,
    })
}

/// The path of a table: `.csv.gz`, or `.csv` if only that exists.
fn table(folder: &Path, name: &str) -> PathBuf {
    let (packed, plain) = (folder.join(format!("{name}.csv.gz")), folder.join(format!("{name}.csv")));
    if !packed.exists() && plain.exists() { plain } else { packed }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Checks a file that contains a single count.
fn check_count(path: &Path, count: usize, what: &str) -> Result<()> {
    let bytes = limits::read_bytes(path)?;
    let digits = bytes.trim_ascii();
    match text::unsigned(digits) {
        Some(number) if number as usize == count => Ok(()),
        _ => Err(Error::input(path, "", text::show(digits), format_args!("{count}, the {what}"))),
    }
}

fn parse_edges(path: &Path, bytes: &[u8], n: usize) -> Result<Vec<(u32, u32)>> {
    let pair = |(line, row): (usize, &[u8])| {
        let comma = row.iter().position(|&byte| byte == b',');
        let Some((source, target)) = comma.map(|at| (&row[..at], &row[at + 1..])) else {
            let place = format_args!("line {line}");
            return Err(Error::input(path, place, text::show(row), "two nodes separated by a comma"));
        };
        let node = |digits| text::below(path, line, digits, n, "a node");
        Ok((node(source)?, node(target)?))
    };
    text::lines(bytes).map(pair).collect()
}

fn read_features(folder: &Path, source: FeatureSource, n: usize) -> Result<Option<Features>> {
    if source == FeatureSource::Structural {
        return Ok(None);
    }
    let path = table(folder, "raw/node-feat");
    if !path.exists() {
        let expected = "node features; for ogbn-arxiv they are arxiv/raw/node-feat.csv.gz in \
                        http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip; or load the graph without them: \
                        --features structural";
        return Err(Error::input(&path, "", "no such file", expected));
    }
    Ok(Some(Features::Dense(text::matrix(&path, &limits::read_bytes(&path)?, n)?)))
}

/// One split per folder in `split/`, sorted by name.
fn read_splits(folder: &Path, n: usize) -> Result<Vec<Split>> {
    let entries = std::fs::read_dir(folder.join("split")).into_iter().flatten().flatten();
    let mut schemes: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    schemes.sort();
    let split = |scheme: &PathBuf| {
        let part = |name: &str| {
            let path = table(scheme, name);
            text::column(&path, &limits::read_bytes(&path)?, n, "a node")
        };
        let parts = [part("train")?, part("valid")?, part("test")?];
        checks::split_of_lists(scheme, &format!("ogb-{}", name_of(scheme)), 0, parts, n)
    };
    schemes.iter().map(split).collect()
}
