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
//! `id`. Ids are compared as text, spaces included. A Parquet table of features has columns of numbers, or one
//! column of lists of equal length.
//!
//! **Which nodes there are, and their order:** `ids.txt` when it is there; else the ids of the table of features;
//! else the rows of an array of features, called 0, 1, 2, …; else the ids (or rows) of the labels; else the ids in
//! the edges, in the order in which they first appear, or in numeric order when all are whole numbers. An edge, a
//! label or a split of any other node is an error, and every node has features or none has.
//!
//! **Classes:** whole numbers from 0 without a gap are taken as they are (−1 is a node without a label); any other
//! labels are numbered in the sorted order of their names; `classes.txt` gives any other order.
//!
//! **Weights** are finite and above zero. Edges may be listed once or in both directions.

mod edges;
mod embeddings;
mod features;
mod labels;
mod nodes;
mod splits;

pub use embeddings::read_embeddings;

use std::path::{Path, PathBuf};

use self::labels::LabelFile;
use self::nodes::Nodes;
use super::table::{self, Table};
use super::{FeatureSource, Format, Raw};
use crate::error::{Error, Result};

/// This layout.
pub(super) const FORMAT: Format = Format {
    name: "folder",
    summary: "a folder with edges.csv, .tsv or .parquet (src,dst[,weight]), or such a file alone",
    recognise,
    read,
};

fn recognise(path: &Path) -> bool {
    if path.is_dir() {
        !candidates(path, "edges", &[]).is_empty()
    } else {
        table::is_table(path) && path.is_file()
    }
}

fn read(path: &Path, source: FeatureSource) -> Result<Raw> {
    let files = Files::of(path)?;
    let given = files.features.as_deref().map(|file| features::open(file, source)).transpose()?;
    let label_file = files.labels.as_deref().map(LabelFile::open).transpose()?;
    let edge_table = edges::open(&files.edges)?;
    let mut notes = unused_columns(&edge_table);

    let mut own_edges = None;
    let (names, origin) = if let Some(file) = &files.ids {
        (nodes::names_of_lines(file)?, file)
    } else if let (Some(given), Some(file)) = (&given, &files.features) {
        (given.ids()?, file)
    } else if let (Some(labels), Some(file)) = (&label_file, &files.labels) {
        (labels.ids()?, file)
    } else {
        let (ids, edges) = edges::with_their_nodes(&edge_table)?;
        own_edges = Some(edges);
        (ids, &files.edges)
    };
    let nodes = Nodes::new(&names, origin)?;
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
    Ok(Raw { edges, features, ids: names, labels, splits: splits.unwrap_or_default(), notes })
}

/// The files of a folder, by the part they play.
struct Files {
    edges: PathBuf,
    features: Option<PathBuf>,
    labels: Option<PathBuf>,
    splits: Option<PathBuf>,
    ids: Option<PathBuf>,
    classes: Option<PathBuf>,
}

impl Files {
    fn of(path: &Path) -> Result<Files> {
        if !path.is_dir() {
            let edges = path.to_owned();
            return Ok(Files { edges, features: None, labels: None, splits: None, ids: None, classes: None });
        }
        let list = |name: &str| Some(path.join(name)).filter(|file| file.exists());
        let edges = the_one(path, "edges", &[])?;
        Ok(Files {
            edges: edges
                .ok_or_else(|| Error::input(path, "", "no file edges.*", "edges.csv, .tsv or .parquet"))?,
            features: the_one(path, "features", &["npy", "npz"])?,
            labels: the_one(path, "labels", &["npy"])?,
            splits: the_one(path, "splits", &[])?,
            ids: list("ids.txt"),
            classes: list("classes.txt"),
        })
    }
}

/// The files in a folder that could play a part.
fn candidates(folder: &Path, part: &str, arrays: &[&str]) -> Vec<PathBuf> {
    let endings = table::ENDINGS.iter().chain(arrays);
    endings.map(|ending| folder.join(format!("{part}.{ending}"))).filter(|file| file.is_file()).collect()
}

fn the_one(folder: &Path, part: &str, arrays: &[&str]) -> Result<Option<PathBuf>> {
    let found = candidates(folder, part, arrays);
    if found.len() > 1 {
        let names: Vec<_> = found.iter().filter_map(|file| file.file_name()?.to_str()).collect();
        let expected = format_args!("one file for the {part}");
        return Err(Error::input(folder, "", names.join(" and "), expected));
    }
    Ok(found.into_iter().next())
}

fn unused_columns(table: &Table) -> Vec<String> {
    match table.unused() {
        [] => Vec::new(),
        unused => vec![format!("{}: not used: columns {}", table.path().display(), unused.join(", "))],
    }
}
