//! Your own graph: a folder of plain tables, or a single table of edges.
//!
//! ```text
//! edges.csv       src,dst[,weight]           one edge per line; ids are any text or number
//! features.csv    id,<any names>             numbers; or .npy, .npz (one array, or a SciPy sparse matrix)
//! labels.csv      id,label                   any text or number; empty cell: no label; or .npy
//! splits.csv      id,<protocol>[:<index>],…  train, val, test or empty; column `split` is protocol `own`
//! ids.txt         one node id per line, in row order
//! classes.txt     one class name per line, in class order
//! feature_names.txt   one column name per line, for features.npy or .npz
//! ```
//!
//! Only the edges are required. A table is `.csv`, `.tsv`, `.csv.gz`, `.tsv.gz` or `.parquet`; two files for the same
//! part are an error. Columns are found by name: `source` and `target` are synonyms of `src` and `dst`, `nid` of `id`.
//! Other common headers and separators are accepted with a note: `from,to` and the like, a first column without a name
//! (an index) as `id`, semicolons with decimal commas.
//! Ids are compared as text without surrounding spaces and must fit on one line. A Parquet table of features has
//! numeric columns, or one column of lists of equal length.
//!
//! **Nodes and their order** come from the first of these that exists:
//!
//! 1. `ids.txt`;
//! 2. the ids in the table of features;
//! 3. the rows of the feature array, numbered 0, 1, 2, …;
//! 4. the rows of the label array, numbered 0, 1, 2, …;
//! 5. the ids in the table of labels, if they include all ids in the edges, then those that only the splits have;
//! 6. the ids in the edges in order of appearance, then those that only the labels have, then those that only the
//!    splits have; in numeric order if all are integers.
//!
//! With 1 to 4, an edge, label or split of any other node is an error; with 5 and 6, ids without an edge become isolated
//! nodes, and a note names them. Either every node has features or none has.
//!
//! **Classes:** integers from 0 without a gap are kept as they are. Other labels are numbered in sorted order, or in
//! the order of `classes.txt`. An empty cell marks a node without a label; so does −1, unless `classes.txt` lists a
//! class `-1`.
//!
//! **Weights** are positive and finite. An edge may be listed once or in both directions; see
//! [`EdgeList::into_adjacency`] for duplicates.

mod edges;
mod embeddings;
mod features;
pub(super) mod graphstorm;
mod labels;
mod nodes;
mod one_table;
mod splits;
pub(super) mod typed;

pub use embeddings::read_embeddings;
pub(super) use labels::NO_LABEL;

use std::path::{Path, PathBuf};

use self::edges::EdgeTable;
use self::features::FeatureFile;
use self::labels::LabelFile;
use self::nodes::NodeTable;
use super::table::{self, Table};
use super::{FeatureSource, Format, RawDataset};
use crate::error::{Error, Result};
use crate::files::first_names;
use crate::graph::{EdgeList, Ids};

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "folder",
    summary: "a folder with edges.csv, .tsv or .parquet (src,dst[,weight]), or such a file alone",
    recognize,
    read,
};

fn recognize(path: &Path) -> bool {
    if path.is_dir() {
        !candidates(&entries_in(path), "edges").is_empty()
    } else {
        table::is_table(path) && path.is_file()
    }
}

fn read(path: &Path, source: FeatureSource) -> Result<RawDataset> {
    let files = FolderFiles::find(path)?;
    let given = files.features.as_deref().map(|file| features::open(file, source)).transpose()?;
    let label_file = files.labels.as_deref().map(LabelFile::open).transpose()?;
    let edge_table = EdgeTable::open(&files.edges)?;
    let split_table = files.splits.as_deref().map(splits::open).transpose()?;
    let mut notes = files.unused.clone();
    notes.extend(edge_table.notes());
    if source == FeatureSource::Given {
        notes.extend(given.iter().filter_map(FeatureFile::table).flat_map(Table::notes));
    }
    notes.extend(label_file.iter().filter_map(LabelFile::table).filter_map(Table::dialect_note));
    notes.extend(split_table.iter().filter_map(Table::dialect_note));

    let tables = (label_file.as_ref(), split_table.as_ref());
    let (names, origin, own_edges) = nodes_of(&files, given.as_ref(), tables, &edge_table, &mut notes)?;
    let nodes = NodeTable::new(&names, &origin)?;
    let edges = own_edges.map_or_else(|| edges::read(&edge_table, &nodes), Ok)?;
    if edges.pairs.is_empty() {
        notes.push(format!("{} has no edges", files.edges.display()));
    }
    let (feature_names, features) = match (given, source) {
        (Some(given), FeatureSource::Given) => {
            (given.column_names(files.feature_names.as_deref())?, Some(given.into_features(&nodes)?))
        }
        _ => (None, None),
    };
    let labels = label_file.map(|file| file.labels(&nodes, files.classes.as_deref())).transpose()?;
    let splits = split_table.map(|table| splits::read(&table, &nodes)).transpose()?;
    drop(nodes);
    let splits = splits.unwrap_or_default();
    Ok(RawDataset { edges, features, feature_names, ids: names, labels, splits, notes, types: None })
}

/// The nodes, the file that lists them, and the edges if they had to be read for that.
fn nodes_of(
    files: &FolderFiles,
    given: Option<&FeatureFile>,
    (label_file, split_table): (Option<&LabelFile>, Option<&Table>),
    edge_table: &EdgeTable,
    notes: &mut Vec<String>,
) -> Result<(Ids, PathBuf, Option<EdgeList>)> {
    if let Some(file) = &files.ids {
        return Ok((nodes::ids_of_lines(file)?, file.clone(), None));
    }
    if let (Some(given), Some(file)) = (given, &files.features) {
        return Ok((given.ids()?, file.clone(), None));
    }
    let labeled = label_file.map_or(Ok(Ids::Numbered(0)), LabelFile::ids)?;
    if let (Some(LabelFile::Rows(_)), Some(file)) = (label_file, &files.labels) {
        return Ok((labeled, file.clone(), None));
    }
    let split = split_table.map_or(Ok(Ids::Numbered(0)), splits::ids)?;
    let (ids, edges, lone) = edges::read_with_nodes(edge_table, &labeled, &split)?;
    for (file, lone) in [&files.labels, &files.splits].into_iter().zip(&lone) {
        if let (Some(file), false) = (file, lone.is_empty()) {
            let (file, count, names) = (file.display(), lone.len(), first_names(lone));
            notes.push(format!(
                "{file}: ids that occur in no edge become isolated nodes, {count} in all: {names}"
            ));
        }
    }
    let [_, lone_split] = lone;
    match &files.labels {
        None if edges.pairs.is_empty() => {
            Err(Error::input(&files.edges, "", "no edges after the header", "at least one edge"))
        }
        // The labels have all nodes of the edges: their order counts.
        Some(file) if ids.len() == labeled.len() + lone_split.len() => {
            let labeled = (0..labeled.len()).map(|node| labeled.get(node).into_owned());
            Ok((Ids::from_names(labeled.chain(lone_split).collect()), file.clone(), None))
        }
        _ => Ok((ids, files.edges.clone(), Some(edges))),
    }
}

/// The files of a folder by content.
struct FolderFiles {
    edges: PathBuf,
    features: Option<PathBuf>,
    labels: Option<PathBuf>,
    splits: Option<PathBuf>,
    ids: Option<PathBuf>,
    classes: Option<PathBuf>,
    feature_names: Option<PathBuf>,
    /// A note on each file that is not used despite its name.
    unused: Vec<String>,
}

impl FolderFiles {
    fn find(path: &Path) -> Result<FolderFiles> {
        if !path.is_dir() {
            return Ok(FolderFiles {
                edges: path.to_owned(),
                features: None,
                labels: None,
                splits: None,
                ids: None,
                classes: None,
                feature_names: None,
                unused: Vec::new(),
            });
        }
        let entries = entries_in(path);
        let [edges, features, labels, splits] = PARTS.map(|part| only_file(path, &entries, part));
        let (edges, features, labels, splits) = (edges?, features?, labels?, splits?);
        let taken: Vec<&PathBuf> = [&edges, &features, &labels, &splits].into_iter().flatten().collect();
        Ok(FolderFiles {
            unused: unused_files(&entries, &taken),
            edges: edges
                .ok_or_else(|| Error::input(path, "", "no edges file", "edges.csv, .tsv or .parquet"))?,
            features,
            labels,
            splits,
            ids: named(&entries, "ids.txt").into_iter().next(),
            classes: named(&entries, "classes.txt").into_iter().next(),
            feature_names: named(&entries, FEATURE_NAMES).into_iter().next(),
        })
    }
}

/// The names of the columns of a feature array, one per line.
pub(super) const FEATURE_NAMES: &str = "feature_names.txt";

/// The parts of a data set: file names without the extension.
const PARTS: [&str; 4] = ["edges", "features", "labels", "splits"];

/// The file extensions that can be read for a part.
fn extensions(part: &str) -> Vec<&'static str> {
    let arrays: &[&str] = match part {
        "features" => &["npy", "npz"],
        "labels" => &["npy"],
        _ => &[],
    };
    table::EXTENSIONS.iter().chain(arrays).copied().collect()
}

/// The last extension of a file, in lower case.
fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// What is in a folder, sorted by name. A folder with the name of a file counts: reading it reports what it is.
fn entries_in(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<_> =
        entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect();
    entries.sort();
    entries
}

/// The entries with this name, ignoring case.
fn named(entries: &[(String, PathBuf)], name: &str) -> Vec<PathBuf> {
    let same = entries.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
    same.map(|(_, path)| path.clone()).collect()
}

/// The entries that could hold a part.
fn candidates(entries: &[(String, PathBuf)], part: &str) -> Vec<PathBuf> {
    extensions(part).iter().flat_map(|extension| named(entries, &format!("{part}.{extension}"))).collect()
}

fn only_file(folder: &Path, entries: &[(String, PathBuf)], part: &str) -> Result<Option<PathBuf>> {
    let found = candidates(entries, part);
    if found.len() > 1 {
        let names: Vec<_> = found.iter().filter_map(|file| file.file_name()?.to_str()).collect();
        let expected = format_args!("one file for the {part}");
        return Err(Error::input(folder, "", names.join(" and "), expected));
    }
    Ok(found.into_iter().next())
}

/// A note on each file that is named after a part but cannot be read for it: `labels.txt`, `features.pt`.
fn unused_files(entries: &[(String, PathBuf)], taken: &[&PathBuf]) -> Vec<String> {
    let note = |(name, path): &(String, PathBuf)| {
        let stem = name.split('.').next()?;
        let part = PARTS.iter().find(|part| stem.eq_ignore_ascii_case(part))?;
        let extensions = extensions(part).join(", .");
        let unused = !taken.contains(&path) && !path.is_dir();
        unused.then(|| format!("{}: ignored; {part} are read from .{extensions}", path.display()))
    };
    entries.iter().filter_map(note).collect()
}
