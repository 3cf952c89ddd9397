//! Graphs from files, by name or by path, and the labels and splits that belong to them.
//!
//! A name is looked up in the [`catalog`]; a path is recognized by its content, by the first format on the
//! list [`FORMATS`] that knows it. Nothing in a file is ever executed, and no file makes us allocate out of
//! proportion to its size ([`limits`]).

pub mod arrays;
pub mod binary;
pub mod catalog;
pub mod convert;
pub mod fetch;
pub mod info;
pub mod limits;
pub mod memory;
pub mod pickle;
pub mod split;
pub mod synthetic;

mod checks;
mod folder;
mod geom_gcn;
mod gnn_benchmark;
mod ogb;
mod planetoid;
mod table;
mod text;
mod wikics;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::files::hex;
use crate::graph::{EdgeCounts, EdgeList, Features, Graph, Ids};

pub use folder::read_embeddings;
pub use split::{EdgeSplit, PROTOCOLS, Split};

/// A graph and what belongs to it.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The catalog's name, or the path it was read from.
    pub name: String,
    /// The name of its format, from [`FORMATS`].
    pub format: &'static str,
    /// What pretraining sees.
    pub graph: Graph,
    /// The classes of the nodes, for evaluation only.
    pub labels: Option<Labels>,
    /// The splits that came with the files, for evaluation only.
    pub splits: Vec<Split>,
    /// What was dropped from the edges as they stood in the files.
    pub tally: EdgeCounts,
    /// What a user should know about how this graph was read: nodes without a label, features made up, ….
    pub notes: Vec<String>,
}

impl Dataset {
    /// SHA-256 over all that a score depends on: graph, labels and splits, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.graph.fingerprint());
        if let Some(labels) = &self.labels {
            labels.classes.iter().for_each(|class| hash.update(class.to_le_bytes()));
        }
        self.splits.iter().for_each(|split| hash.update(split.hash()));
        hex(hash.finalize())
    }
}

/// The class of each node. Kept apart from [`Graph`], so that pretraining cannot see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    classes: Vec<u32>,
    names: Vec<String>,
}

impl Labels {
    /// The class of a node that has none.
    pub const NONE: u32 = u32::MAX;

    /// One class a node, each below the number of class names or [`Labels::NONE`].
    ///
    /// # Panics
    /// When a class has no name: loaders check what they read before they come here.
    pub fn new(classes: Vec<u32>, names: Vec<String>) -> Self {
        assert!(
            classes.iter().all(|&c| c == Self::NONE || (c as usize) < names.len()),
            "every class has a name"
        );
        Labels { classes, names }
    }

    /// Classes called 0, 1, 2, ….
    pub fn numbered(classes: Vec<u32>) -> Self {
        let n_classes = classes.iter().filter(|&&c| c != Self::NONE).max().map_or(0, |&c| c + 1);
        Labels::new(classes, (0..n_classes).map(|c| c.to_string()).collect())
    }

    /// The class of each node, or [`Labels::NONE`].
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// The class of a node.
    pub fn get(&self, node: usize) -> Option<u32> {
        Some(self.classes[node]).filter(|&class| class != Self::NONE)
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.names.len()
    }

    /// The classes' own names.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// What a reader found in the files, before the edges are made simple and undirected.
#[derive(Debug)]
pub struct RawDataset {
    /// Edges as they stand, ends below the number of ids.
    pub edges: EdgeList,
    /// Features, when the files have any.
    pub features: Option<Features>,
    /// The nodes' names.
    pub ids: Ids,
    /// Labels, when the files have any.
    pub labels: Option<Labels>,
    /// Splits, when the files have any.
    pub splits: Vec<Split>,
    /// What a user should know.
    pub notes: Vec<String>,
}

/// Where node features come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureSource {
    /// The files; structural ones when the format allows a graph without features.
    #[default]
    Given,
    /// Made from the edges alone, whatever the files hold.
    Structural,
}

/// How to read a data set.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The folder in which names are looked up; else `$CONTROLG_DATA`, else the user's cache folder.
    pub data_dir: Option<PathBuf>,
    /// Where node features come from.
    pub features: FeatureSource,
    /// Whether the features of a mapped folder stay in their file, for those who can do with some rows at a time.
    pub stay_on_disk: bool,
}

/// One layout of files on disk.
pub struct Format {
    /// Its name in `data info`.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Whether a path holds this layout, judged by names and first bytes only.
    pub recognize: fn(&Path) -> bool,
    /// Reads it.
    pub read: fn(&Path, FeatureSource) -> Result<RawDataset>,
}

/// Every layout that can be read, in the order in which a path is tried.
pub const FORMATS: &[Format] = &[
    folder::FORMAT,
    planetoid::FORMAT,
    geom_gcn::FORMAT,
    wikics::FORMAT,
    gnn_benchmark::FORMAT,
    ogb::FORMAT,
];

/// Loads a data set by its name (`cora`, `synthetic:nodes=1000`) or from a path.
pub fn load(name_or_path: &str, options: &LoadOptions) -> Result<Dataset> {
    if let Some(settings) = synthetic::settings_of(name_or_path) {
        return synthetic::dataset(name_or_path, &settings?, options.features);
    }
    match catalog::find(name_or_path) {
        Some(known) => known.load(options),
        None if binary::recognize(Path::new(name_or_path)) => binary::load(Path::new(name_or_path), options),
        None if Path::new(name_or_path).exists() => load_path(Path::new(name_or_path), options.features),
        None if name_or_path.contains(['/', '\\', '.']) => Err(Error::input(
            Path::new(name_or_path),
            "",
            "no such file or folder",
            "a graph's folder or file",
        )),
        None => Err(Error::unknown("data set", name_or_path, catalog::names())),
    }
}

/// Loads a data set from a path, recognizing its format by content.
pub fn load_path(path: &Path, features: FeatureSource) -> Result<Dataset> {
    if binary::recognize(path) {
        return binary::load(path, &LoadOptions { features, ..LoadOptions::default() });
    }
    let format = FORMATS.iter().find(|format| (format.recognize)(path)).ok_or_else(|| {
        let known: Vec<_> = FORMATS.iter().map(|format| format.summary).chain([binary::SUMMARY]).collect();
        Error::input(path, "", "no layout that is known", known.join("; or "))
    })?;
    assemble(path.display().to_string(), format.name, (format.read)(path, features)?, features)
}

/// Makes a data set of what a reader found: simple undirected edges, and structural features where there are none.
pub fn assemble(
    name: String,
    format: &'static str,
    raw: RawDataset,
    source: FeatureSource,
) -> Result<Dataset> {
    let RawDataset { edges, features, ids, labels, splits, mut notes } = raw;
    let (adjacency, tally) = edges.into_adjacency(ids.len());
    let graph = match (source, features) {
        (FeatureSource::Given, Some(features)) => Graph::new(adjacency, features, ids)?,
        (source, _) => {
            let why = if source == FeatureSource::Given { " (none are given)" } else { "" };
            notes.push(format!("features are structural, made from the edges alone{why}"));
            Graph::structural(adjacency, ids)?
        }
    };
    Ok(Dataset { name, format, graph, labels, splits, tally, notes })
}
