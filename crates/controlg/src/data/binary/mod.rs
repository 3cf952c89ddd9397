//! The binary format: a graph as plain arrays in files. Features can stay on disk and be read row by row.
//!
//! ```text
//! graph.json               sizes of the graph; size and SHA-256 of every file below
//! adjacency.offsets.u64    n + 1 offsets into the columns (CSR, both directions of every edge)
//! adjacency.columns.u32    neighbors of each node, ascending
//! adjacency.weights.f32    edge weights; absent if the edges have none
//! features.f32             dense features, n × width, row-major; or sparse features in the three files below
//! features.offsets.u64     n + 1 offsets into the columns
//! features.columns.u32     columns of the non-zero values of each row
//! features.values.f32      the non-zero values
//! ids.txt                  one node id per line; absent if the ids are 0, 1, 2, …
//! hashes.json              SHA-256 of graph.json and of every megabyte of the features
//! feature_names.txt        the name of each feature column, one per line; absent if they have none
//! ```
//!
//! All numbers are little-endian. Labels and splits are not included: they stay in the original data set, which
//! evaluation reads.
//!
//! Loading reads and checks the adjacency. It only opens the features ([`crate::graph::StoredFeatures`]), whose blocks are
//! checked when they are read first. Folders of older versions have no `hashes.json`: their features are checked whole.

mod hashes;
mod read;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(super) use read::load;
pub use write::{BinaryWriter, to_binary};

const HEADER: &str = "graph.json";
/// The value of `format` in the header. Kept from version 0.1: stored in files.
const FORMAT_TAG: &str = "controlg mapped 1";
/// The name of the format in `data info`.
pub(super) const NAME: &str = "binary";
/// One-line description.
pub(super) const SUMMARY: &str =
    "a binary folder (graph.json, adjacency.offsets.u64, …, written by `data convert --to binary`)";

const OFFSETS: &str = "adjacency.offsets.u64";
const COLUMNS: &str = "adjacency.columns.u32";
const WEIGHTS: &str = "adjacency.weights.f32";
const DENSE: &str = "features.f32";
const SPARSE: [&str; 3] = ["features.offsets.u64", "features.columns.u32", "features.values.f32"];
const IDS: &str = "ids.txt";

/// The content of `graph.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BinaryHeader {
    format: String,
    nodes: usize,
    /// Entries of the adjacency matrix, two per edge.
    entries: usize,
    /// Feature width.
    features: usize,
    /// Whether the features were computed from the edges.
    #[serde(default)]
    features_from_edges: bool,
    /// Remarks for the user.
    notes: Vec<String>,
    files: BTreeMap<String, BinaryFileInfo>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BinaryFileInfo {
    bytes: u64,
    sha256: String,
}

/// Whether a path holds this format.
pub(super) fn recognize(path: &Path) -> bool {
    path.join(HEADER).is_file() && path.join(OFFSETS).is_file()
}
