//! The project's own layout: a folder of plain tables, or a single table of edges.
//!
//! ```text
//! edges.csv       src,dst[,weight]           one edge a line; ids are any text or number
//! features.csv    id,<any names>             numbers; or .npy, .npz (SciPy's sparse rows, or one array)
//! labels.csv      id,label                   any text or number; an empty cell is a node without a label
//! splits.csv      id,<protocol>[:<index>],…  cells train, val, test or empty; a column `split` is protocol `own`
//! ids.txt         one id a line, in the order of the rows
//! classes.txt     one class a line, in the order of their numbers
//! ```
//!
//! Only the edges are needed. A table is `.csv`, `.tsv`, either of them with `.gz`, or `.parquet`; two files for one
//! part are an error. Columns are found by name, `source` and `target` are as good as `src` and `dst`, and `nid` as
//! `id`. Ids are compared as text; spaces around them do not count, and they stand on one line. A Parquet table of
//! features has columns of numbers, or one column of lists of equal length.
//!
//! **Which nodes there are, and their order:** `ids.txt` when it is there; else the ids of the table of features;
//! else the rows of an array of features, called 0, 1, 2, …; else the rows of an array of labels; else the ids of a
//! table of labels when those of the edges are all among them; else the ids in the edges, in the order in which they
//! first appear, and then those that only the labels have, or all in numeric order when all are whole numbers. An
//! edge, a label or a split of any other node is an error, and every node has features or none has.
//!
//! **Classes:** whole numbers from 0 without a gap are taken as they are; any other labels are numbered in the sorted
//! order of their names; `classes.txt` gives any other order. An empty cell is a node without a label, and so is −1
//! unless `classes.txt` lists a class `-1`.
//!
//! **Weights** are finite and above zero. Edges may be listed once or in both directions.

mod edges;
mod embeddings;
mod features;
mod labels;
mod nodes;
mod splits;

pub use embeddings::read_embeddings;
pub(super) use labels::NO_LABEL;

use std::path::{Path, PathBuf};

use self::features::FeatureFile;
use self::labels::LabelFile;
use self::nodes::NodeTable;
use super::table::{self, Table};
use super::{FeatureSource, Format, RawDataset};
use crate::error::{Error, Result};
use crate::graph::{EdgeList, Ids};

/// This layout.
pub(super) const FORMAT: Format = Format {
    name: "folder",
    summary: "a folder with edges.csv, .tsv or .parquet (src,dst[,weight]), or such a file alone",
    recognize,
    read,
};

fn recognize(path: &Path) -> bool {
    if path.is_dir() {
        !candidates(path, "edges").is_empty()
    } else {
        table::is_table(path) && path.is_file()
    }
}

fn read(path: &Path, source: FeatureSource) -> Result<RawDataset> {
    let files = Files::of(path)?;
    let given = files.features.as_deref().map(|file| features::open(file, source)).transpose()?;
    let label_file = files.labels.as_deref().map(LabelFile::open).transpose()?;
    let edge_table = edges::open(&files.edges)?;
    let mut notes = files.unused.clone();
    notes.extend(unused_columns(&edge_table));
    if source == FeatureSource::Given {
        notes.extend(given.iter().filter_map(FeatureFile::table).flat_map(unused_columns));
    }

    let (names, origin, own_edges) = nodes_of(&files, given.as_ref(), label_file.as_ref(), &edge_table)?;
    let nodes = NodeTable::new(&names, &origin)?;
    let edges = own_edges.map_or_else(|| edges::between(&edge_table, &nodes), Ok)?;
    if edges.pairs.is_empty() {
        notes.push(format!("{} holds no edges", files.edges.display()));
    }
    let features = match (given, source) {
        (Some(given), FeatureSource::Given) => Some(given.of(&nodes)?),
        _ => None,
    };
    let labels = label_file.map(|file| file.labels(&nodes, files.classes.as_deref())).transpose()?;
    let splits = files.splits.as_deref().map(|file| splits::read(file, &nodes)).transpose()?;
    drop(nodes);
    Ok(RawDataset { edges, features, ids: names, labels, splits: splits.unwrap_or_default(), notes })
}

/// Which nodes there are, the file that says so, and the edges where they were read on the way.
fn nodes_of(
    files: &Files,
    given: Option<&FeatureFile>,
    label_file: Option<&LabelFile>,
    edge_table: &Table,
) -> Result<(Ids, PathBuf, Option<EdgeList>)> {
    if let Some(file) = &files.ids {
        return Ok((nodes::names_of_lines(file)?, file.clone(), None));
    }
    if let (Some(given), Some(file)) = (given, &files.features) {
        return Ok((given.ids()?, file.clone(), None));
    }
    let labeled = label_file.map_or(Ok(Ids::Numbered(0)), LabelFile::ids)?;
    if let (Some(LabelFile::Rows(_)), Some(file)) = (label_file, &files.labels) {
        return Ok((labeled, file.clone(), None));
    }
    let (ids, edges) = edges::with_their_nodes(edge_table, &labeled)?;
    match &files.labels {
        None if ids.is_empty() => {
            Err(Error::input(&files.edges, "", "no edges below the header", "at least one edge"))
        }
        None => Ok((ids, files.edges.clone(), Some(edges))),
        Some(file) if ids.len() == labeled.len() => Ok((labeled, file.clone(), None)),
        Some(file) => Ok((ids, either(&files.edges, file), Some(edges))),
    }
}

/// Two files as one in words: `edges.csv or labels.csv`.
fn either(one: &Path, other: &Path) -> PathBuf {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    one.with_file_name(format!("{} or {}", name(one), name(other)))
}

/// The files of a folder, by the part they play.
struct Files {
    edges: PathBuf,
    features: Option<PathBuf>,
    labels: Option<PathBuf>,
    splits: Option<PathBuf>,
    ids: Option<PathBuf>,
    classes: Option<PathBuf>,
    /// A note on each file that looks as if it played a part and does not.
    unused: Vec<String>,
}

impl Files {
    fn of(path: &Path) -> Result<Files> {
        if !path.is_dir() {
            return Ok(Files {
                edges: path.to_owned(),
                features: None,
                labels: None,
                splits: None,
                ids: None,
                classes: None,
                unused: Vec::new(),
            });
        }
        let [edges, features, labels, splits] = PARTS.map(|part| the_one(path, part));
        let (edges, features, labels, splits) = (edges?, features?, labels?, splits?);
        let taken: Vec<&PathBuf> = [&edges, &features, &labels, &splits].into_iter().flatten().collect();
        Ok(Files {
            unused: unused_files(path, &taken),
            edges: edges
                .ok_or_else(|| Error::input(path, "", "no file edges.*", "edges.csv, .tsv or .parquet"))?,
            features,
            labels,
            splits,
            ids: named(path, "ids.txt").into_iter().next(),
            classes: named(path, "classes.txt").into_iter().next(),
        })
    }
}

/// What a file can be for, by its name without the ending.
const PARTS: [&str; 4] = ["edges", "features", "labels", "splits"];

/// The endings that can be read for a part.
fn endings(part: &str) -> Vec<&'static str> {
    let arrays: &[&str] = match part {
        "features" => &["npy", "npz"],
        "labels" => &["npy"],
        _ => &[],
    };
    table::ENDINGS.iter().chain(arrays).copied().collect()
}

/// A file's last ending, in small letters.
fn ending(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// The files in a folder, by name.
fn files_in(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut files: Vec<_> =
        files.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect();
    files.sort();
    files
}

/// The files of that name, in capitals or not.
fn named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let files = files_in(folder).into_iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
    files.map(|(_, path)| path).collect()
}

/// The files in a folder that could play a part.
fn candidates(folder: &Path, part: &str) -> Vec<PathBuf> {
    endings(part).iter().flat_map(|ending| named(folder, &format!("{part}.{ending}"))).collect()
}

fn the_one(folder: &Path, part: &str) -> Result<Option<PathBuf>> {
    let found = candidates(folder, part);
    if found.len() > 1 {
        let names: Vec<_> = found.iter().filter_map(|file| file.file_name()?.to_str()).collect();
        let expected = format_args!("one file for the {part}");
        return Err(Error::input(folder, "", names.join(" and "), expected));
    }
    Ok(found.into_iter().next())
}

/// A note on each file that is named after a part and was not taken for it: `labels.txt`, `features.pt`.
fn unused_files(folder: &Path, taken: &[&PathBuf]) -> Vec<String> {
    let note = |(name, path): (String, PathBuf)| {
        let stem = name.split('.').next()?;
        let part = PARTS.iter().find(|part| stem.eq_ignore_ascii_case(part))?;
        let endings = endings(part).join(", .");
        let unused = !taken.contains(&&path);
        unused.then(|| format!("{}: not used: {part} are read from files .{endings}", path.display()))
    };
    files_in(folder).into_iter().filter_map(note).collect()
}

fn unused_columns(table: &Table) -> Vec<String> {
    match table.unused() {
        [] => Vec::new(),
        unused => vec![format!("{}: not used: columns {}", table.path().display(), unused.join(", "))],
    }
}
