//! The Open Graph Benchmark's node data: `raw/{edge,node-feat,node-label,num-node-list}.csv.gz` and
//! `split/SCHEME/{train,valid,test}.csv.gz`, without headers; line k is node k. Plain `.csv` is read as well.

use std::path::{Path, PathBuf};

use super::{FeatureSource, Format, RawDataset, Split, checks, limits, text};
use crate::error::{Error, Result};
use crate::graph::{EdgeList, Features, Ids};

/// This layout.
pub(super) const FORMAT: Format = Format {
    name: "ogb",
    summary: "an OGB folder (raw/edge.csv.gz, raw/node-label.csv.gz, …, split/SCHEME/train.csv.gz, …)",
    recognize: |path| table(path, "raw/edge").is_file() && table(path, "raw/node-label").is_file(),
    read,
};

/// The largest number of nodes: they are numbered with 32 bits, of which the last number is taken.
const MAX_NODES: usize = u32::MAX as usize - 1;

fn read(folder: &Path, source: FeatureSource) -> Result<RawDataset> {
    let label_file = table(folder, "raw/node-label");
    let classes = text::column(&label_file, &limits::read_bytes(&label_file)?, MAX_NODES, "a class")?;
    let n = classes.len();
    if n == 0 {
        return Err(Error::input(&label_file, "", "no nodes", "one class for each node"));
    }
    let n_file = table(folder, "raw/num-node-list");
    agree(&n_file, n, &format!("lines of {}", name_of(&label_file)))?;
    let edge_file = table(folder, "raw/edge");
    let pairs = parse_edges(&edge_file, &limits::read_bytes(&edge_file)?, n)?;
    let edge_count_file = table(folder, "raw/num-edge-list");
    if edge_count_file.exists() {
        agree(&edge_count_file, pairs.len(), &format!("lines of {}", name_of(&edge_file)))?;
    }
    Ok(RawDataset {
        edges: EdgeList { pairs, weights: None },
        features: read_features(folder, source, n)?,
        ids: Ids::Numbered(n),
        labels: Some(checks::labels(&label_file, "", classes)?),
        splits: read_splits(folder, n)?,
        notes: vec![],
    })
}

/// A table by its name without extension: the packed one, or the plain one where there is only that.
fn table(folder: &Path, name: &str) -> PathBuf {
    let (packed, plain) = (folder.join(format!("{name}.csv.gz")), folder.join(format!("{name}.csv")));
    if !packed.exists() && plain.exists() { plain } else { packed }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Checks a file that says in one number how many there are of something.
fn agree(path: &Path, count: usize, what: &str) -> Result<()> {
    let bytes = limits::read_bytes(path)?;
    let said = bytes.trim_ascii();
    match text::unsigned(said) {
        Some(number) if number as usize == count => Ok(()),
        _ => Err(Error::input(path, "", text::show(said), format_args!("{count}, the {what}"))),
    }
}

fn parse_edges(path: &Path, bytes: &[u8], n: usize) -> Result<Vec<(u32, u32)>> {
    let pair = |(line, row): (usize, &[u8])| {
        let comma = row.iter().position(|&byte| byte == b',');
        let Some((source, target)) = comma.map(|at| (&row[..at], &row[at + 1..])) else {
            let place = format_args!("line {line}");
            return Err(Error::input(path, place, text::show(row), "two nodes with a comma between"));
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
        let expected = "node features; those of ogbn-arxiv are the member arxiv/raw/node-feat.csv.gz of \
                        http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip, to be put there, and \
                        --features structural loads the graph without them";
        return Err(Error::input(&path, "", "a missing file", expected));
    }
    Ok(Some(Features::Dense(text::matrix(&path, &limits::read_bytes(&path)?, n)?)))
}

/// One split for each folder in `split/`, in the order of their names.
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
