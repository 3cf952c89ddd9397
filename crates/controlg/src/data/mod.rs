//! Data sets: graphs loaded by name or from a path, with their labels and splits.
//!
//! [`load`] looks a name up in the [`catalog`]. It recognizes a path by its content: the first format in [`FORMATS`]
//! that accepts the path reads it. Loading never executes anything stored in a file, and memory use stays
//! proportional to the size of the file ([`limits`]).

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

mod atomic_folder;
mod checks;
mod folder;
mod geom_gcn;
mod gnn_benchmark;
mod heterophilous;
mod not_found;
mod ogb;
mod planetoid;
mod source_files;
mod table;
mod text;
mod typed;
mod wikics;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::files::{self, hex};
use crate::graph::{EdgeCounts, EdgeList, Features, Graph, Ids, name_problem};

pub use folder::read_embeddings;
pub use source_files::SourceFiles;
pub use split::{EdgeSplit, PROTOCOLS, Split, select_splits};
pub use typed::{RawNodeType, RawRelation, RawTypes};

/// A graph with its labels and splits.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The name in the catalog, or the path of the files.
    pub name: String,
    /// The format of the files: a name in [`FORMATS`], `binary`, `synthetic` or `arrays`.
    pub format: &'static str,
    /// The graph. Pretraining sees nothing else.
    pub graph: Graph,
    /// Node classes, for evaluation only.
    pub labels: Option<Labels>,
    /// The splits stored with the files, for evaluation only.
    pub splits: Vec<Split>,
    /// Self-loops and duplicates among the edges of the files.
    pub edge_counts: EdgeCounts,
    /// What was dropped from each relation; empty for a homogeneous graph.
    pub relation_counts: Vec<EdgeCounts>,
    /// Remarks about loading: unlabeled nodes, computed features, ….
    pub notes: Vec<String>,
}

impl Dataset {
    /// SHA-256 of everything a score depends on (graph, labels, splits), in hexadecimal.
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

/// The class of each node. Not part of [`Graph`], so that pretraining cannot see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    classes: Vec<u32>,
    names: Vec<String>,
}

impl Labels {
    /// Marks a node without a label.
    pub const NONE: u32 = u32::MAX;

    /// Creates labels from one class per node, an index into `names` or [`Labels::NONE`].
    ///
    /// # Panics
    /// If a class has no name.
    pub fn new(classes: Vec<u32>, names: Vec<String>) -> Self {
        assert!(
            classes.iter().all(|&c| c == Self::NONE || (c as usize) < names.len()),
            "every class has a name"
        );
        Labels { classes, names }
    }

    /// Creates labels with classes named 0, 1, 2, ….
    pub fn numbered(classes: Vec<u32>) -> Self {
        let n_classes = classes.iter().filter(|&&c| c != Self::NONE).max().map_or(0, |&c| c + 1);
        Labels::new(classes, (0..n_classes).map(|c| c.to_string()).collect())
    }

    /// The class of each node, or [`Labels::NONE`].
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// The class of a node; `None` if it has no label.
    pub fn get(&self, node: usize) -> Option<u32> {
        Some(self.classes[node]).filter(|&class| class != Self::NONE)
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.names.len()
    }

    /// The class names.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// The content of a data set's files, before the edges are made undirected and deduplicated.
#[derive(Debug)]
pub struct RawDataset {
    /// Edges as stored; every endpoint is below the number of ids.
    pub edges: EdgeList,
    /// Node features, if the files have any.
    pub features: Option<Features>,
    /// The names of the feature columns, if the files have any.
    pub feature_names: Option<Vec<String>>,
    /// Node ids.
    pub ids: Ids,
    /// Labels, if the files have any.
    pub labels: Option<Labels>,
    /// Splits, if the files have any.
    pub splits: Vec<Split>,
    /// Remarks for the user.
    pub notes: Vec<String>,
    /// Node types and relations with their features and edges; `edges` and `features` are then empty.
    pub types: Option<RawTypes>,
}

/// Where node features come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureSource {
    /// Read from the files; structural if the files have none.
    #[default]
    Given,
    /// Computed from the edges alone, whatever the files hold.
    Structural,
}

impl FeatureSource {
    /// The names of all variants, as in run files and on the command line.
    pub const NAMES: [&str; 2] = ["given", "structural"];

    /// The name in run files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            FeatureSource::Given => "given",
            FeatureSource::Structural => "structural",
        }
    }
}

impl FromStr for FeatureSource {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "given" => Ok(FeatureSource::Given),
            "structural" => Ok(FeatureSource::Structural),
            _ => Err(Error::unknown("source of features", name, Self::NAMES)),
        }
    }
}

/// Options of [`load`].
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The folder that holds data sets by name. Default: `$CONTROLG_DATA`, else the user's cache folder.
    pub data_dir: Option<PathBuf>,
    /// A copy of the data set's folder or file, which is read instead.
    pub copy: Option<PathBuf>,
    /// Where node features come from.
    pub features: FeatureSource,
    /// Keep the direction of edges: a relation within one type gets a forward and a reverse direction.
    pub directed: bool,
    /// Keep the features of a [`binary`] folder on disk and read rows on demand.
    pub stay_on_disk: bool,
}

/// A file format for data sets.
pub struct Format {
    /// The name that `data info` prints.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Whether a path holds this format. Looks at file names and first bytes only.
    pub recognize: fn(&Path) -> bool,
    /// Reads the files.
    pub read: fn(&Path, FeatureSource) -> Result<RawDataset>,
}

/// All formats that [`load_path`] tries, in this order, after [`binary`].
pub const FORMATS: &[Format] = &[
    // Before folder, which takes any table of edges.
    folder::typed::FORMAT,
    folder::FORMAT,
    folder::graphstorm::FORMAT,
    typed::heco::FORMAT,
    typed::magnn::FORMAT,
    planetoid::FORMAT,
    geom_gcn::FORMAT,
    wikics::FORMAT,
    // Before gnn-benchmark, which takes any archive.
    heterophilous::FORMAT,
    gnn_benchmark::FORMAT,
    ogb::FORMAT,
];

/// Loads a data set by its name (`cora`, `synthetic:nodes=1000`) or from a path.
pub fn load(name_or_path: &str, options: &LoadOptions) -> Result<Dataset> {
    if let Some(settings) = synthetic::settings_of(name_or_path) {
        if options.directed {
            return Err(Error::value("directed", name_or_path, "a graph whose edges have a direction"));
        }
        return synthetic::dataset(name_or_path, &settings?, options.features);
    }
    let path = options.copy.as_deref().unwrap_or(Path::new(name_or_path));
    match catalog::find(name_or_path) {
        Some(known) => known.load(options),
        None if binary::recognize(path) => binary::load(path, options),
        None if path.symlink_metadata().is_ok() => load_files(path, options),
        None => Err(not_found::no_data(name_or_path)),
    }
}

/// Loads a data set from a path. The format is recognized by content.
pub fn load_path(path: &Path, features: FeatureSource) -> Result<Dataset> {
    let options = LoadOptions { features, ..LoadOptions::default() };
    if binary::recognize(path) { binary::load(path, &options) } else { load_files(path, &options) }
}

fn load_files(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    if !path.is_dir() {
        files::check_regular(path)?;
    }
    let format = FORMATS.iter().find(|format| (format.recognize)(path));
    let format = format.ok_or_else(|| not_found::no_format(path))?;
    let raw = (format.read)(path, options.features)?;
    let raw = if options.directed { raw.directed() } else { raw };
    assemble(path.display().to_string(), format.name, raw, options.features)
}

/// Builds a data set from file content: makes the edges undirected, drops self-loops, merges duplicates, and computes
/// structural features if there are none or `source` asks for them.
pub fn assemble(
    name: String,
    format: &'static str,
    raw: RawDataset,
    source: FeatureSource,
) -> Result<Dataset> {
    if raw.types.is_some() {
        return typed::assemble(name, format, raw, source);
    }
    let RawDataset { edges, features, feature_names, ids, labels, splits, mut notes, types: _ } = raw;
    let (adjacency, edge_counts) = edges.into_adjacency(ids.len())?;
    notes.extend(weight_notes(edge_counts));
    let graph = match (source, features) {
        (FeatureSource::Given, Some(features)) => {
            let graph = Graph::new(adjacency, features, ids)?;
            named(graph, feature_names, &mut notes)?
        }
        (source, _) => {
            let why = if source == FeatureSource::Given { " (none are given)" } else { "" };
            notes.push(format!("features are structural, computed from the edges alone{why}"));
            Graph::structural(adjacency, ids)?
        }
    };
    Ok(Dataset { name, format, graph, labels, splits, edge_counts, relation_counts: Vec::new(), notes })
}

/// What became of the weights of edges that were listed more than once.
fn weight_notes(counts: EdgeCounts) -> impl Iterator<Item = String> {
    let summed = match counts.summed {
        0 => None,
        1 => Some("1 duplicate edge was merged and the weights summed".to_owned()),
        count => Some(format!("{count} duplicate edges were merged and their weights summed")),
    };
    let averaged = match counts.averaged {
        0 => None,
        1 => Some("1 edge has different weights in the two directions and gets the mean".to_owned()),
        count => Some(format!("{count} edges have different weights in the two directions and get the mean")),
    };
    summed.into_iter().chain(averaged)
}

/// A graph with the names of its feature columns. Names that cannot identify the columns are left out, with a note.
fn named(graph: Graph, names: Option<Vec<String>>, notes: &mut Vec<String>) -> Result<Graph> {
    let Some(names) = names else { return Ok(graph) };
    match name_problem(&names, graph.n_features()) {
        Some(found) => {
            notes.push(format!("feature names are ignored: found {found}"));
            Ok(graph)
        }
        None => graph.with_feature_names(names),
    }
}
