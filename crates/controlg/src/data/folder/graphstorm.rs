//! GraphStorm's description of a graph: a JSON file that names tables of nodes and edges.
//!
//! ```text
//! {"nodes": [{"node_type": "paper", "node_id_col": "id", "format": {"name": "csv"}, "files": ["papers.csv"],
//!             "features": [{"feature_col": ["year", "pages"]}], "labels": [{"label_col": "venue", "task_type": "classification"}]}],
//!  "edges": [{"relation": ["author", "writes", "paper"], "source_id_col": "author", "dest_id_col": "paper",
//!             "format": {"name": "parquet"}, "files": ["writes-0.parquet", "writes-1.parquet"]}]}
//! ```
//!
//! Files are CSV or Parquet, relative to the JSON file. A node type has one file, a relation one or more. Features are numbers or
//! lists of numbers and are read as they are: a `transform` other than `no-op` is an error. At most one type has labels. Features
//! and labels of edges, and `split_pct`, are ignored with a note.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::table::{self, Table};
use super::super::{FeatureSource, Format, RawDataset, limits};
use super::edges::EdgeTable;
use super::features::FeatureFile;
use super::labels::LabelFile;
use super::nodes::{self, NodeTable};
use super::typed::{TypeTable, assemble_types, relation_between};
use crate::data::typed::RawNodeType;
use crate::error::{Error, Result};

/// The format.
pub(in crate::data) const FORMAT: Format = Format {
    name: "graphstorm",
    summary: "a GraphStorm description (.json with nodes and edges) of tables in CSV or Parquet",
    recognize: |path| {
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        is_json && path.is_file() && mentions_node_types(path)
    },
    read,
};

/// Bytes in which the name of a node type is expected.
const HEAD: usize = 1 << 16;

fn mentions_node_types(path: &Path) -> bool {
    let head = limits::first_bytes(path, HEAD);
    let name = b"\"node_type\"";
    head.windows(name.len()).any(|bytes| bytes == name)
}

#[derive(Deserialize)]
struct Description {
    nodes: Vec<Nodes>,
    edges: Vec<Edges>,
}

#[derive(Deserialize)]
struct Nodes {
    node_type: String,
    node_id_col: String,
    files: TableFiles,
    #[serde(default)]
    features: Vec<Feature>,
    #[serde(default)]
    labels: Vec<Label>,
}

#[derive(Deserialize)]
struct Edges {
    relation: [String; 3],
    source_id_col: String,
    dest_id_col: String,
    files: TableFiles,
    #[serde(default)]
    features: Vec<serde_json::Value>,
    #[serde(default)]
    labels: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TableFiles {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
struct Feature {
    feature_col: FeatureColumns,
    transform: Option<Transform>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FeatureColumns {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
struct Transform {
    name: String,
}

#[derive(Deserialize)]
struct Label {
    label_col: Option<String>,
    task_type: String,
    split_pct: Option<serde_json::Value>,
}

impl TableFiles {
    fn names(&self) -> Vec<&str> {
        match self {
            TableFiles::One(name) => vec![name],
            TableFiles::Several(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

impl Feature {
    fn columns(&self) -> Vec<&str> {
        match &self.feature_col {
            FeatureColumns::One(name) => vec![name],
            FeatureColumns::Several(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

fn read(path: &Path, source: FeatureSource) -> Result<RawDataset> {
    let text = limits::read_text(path)?;
    let Description { nodes, edges } = serde_json::from_str(&text)
        .map_err(|error| Error::input(path, "", error, "a GraphStorm description with nodes and edges"))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut notes = Vec::new();
    let types: Vec<TypeTable> = nodes
        .iter()
        .map(|nodes| read_nodes(path, folder, nodes, source, &mut notes))
        .collect::<Result<_>>()?;
    let mut relations = Vec::new();
    for Edges { relation, source_id_col, dest_id_col, files, features, labels } in &edges {
        if !features.is_empty() || !labels.is_empty() {
            notes.push(format!("{}: features and labels of edges are ignored", relation.join("-")));
        }
        let mut tables = Vec::new();
        for name in files.names() {
            let table = read_columns(&file_in(path, folder, name)?, &[source_id_col, dest_id_col])?;
            let new_names = [(&source_id_col[..], "src"), (dest_id_col, "dst")];
            tables.push(EdgeTable::of(table.renamed(&new_names)));
        }
        relations.push(relation_between(path, relation.each_ref().map(String::as_str), &tables, &types)?);
    }
    assemble_types(path, types, relations, None, notes)
}

fn read_nodes(
    path: &Path,
    folder: &Path,
    nodes: &Nodes,
    source: FeatureSource,
    notes: &mut Vec<String>,
) -> Result<TypeTable> {
    let Nodes { node_type, node_id_col, files, features, labels } = nodes;
    let [name] = files.names()[..] else {
        let found = format!("{} files of node type {node_type}", files.names().len());
        return Err(Error::input(path, "", found, "one file per node type"));
    };
    let file = file_in(path, folder, name)?;
    if let Some(transform) =
        features.iter().filter_map(|feature| feature.transform.as_ref()).find(|t| t.name != "no-op")
    {
        let found = format!("the transform {} of node type {node_type}", transform.name);
        return Err(Error::input(
            path,
            "",
            found,
            "features without a transform: ControlG normalizes them itself",
        ));
    }
    let mut columns = vec![&node_id_col[..]];
    columns.extend(features.iter().flat_map(Feature::columns));
    let table = read_columns(&file, &columns)?.renamed(&[(node_id_col, "id")]);
    let ids = nodes::ids_of_column(&table)?;
    let of_type = NodeTable::new(&ids, &file)?;
    let features = match (source, columns.len() > 1) {
        (FeatureSource::Given, true) => Some(FeatureFile::Table(table).into_features(&of_type)?),
        _ => None,
    };
    let label = labels.iter().find(|label| label.task_type == "classification").and_then(|label| {
        let column = label.label_col.as_deref()?;
        if label.split_pct.is_some() {
            notes.push(format!("{node_type}: split_pct is ignored; see `controlg list protocols`"));
        }
        Some(column)
    });
    let labels = match label {
        Some(column) => {
            let table = read_columns(&file, &[node_id_col, column])?;
            let table = table.renamed(&[(node_id_col, "id"), (column, "label")]);
            Some(LabelFile::Table(table).labels(&of_type, None)?)
        }
        None => None,
    };
    drop(of_type);
    let raw = RawNodeType { name: node_type.clone(), size: ids.len(), features };
    Ok(TypeTable { file, ids, raw, labels })
}

/// A file of the description, which must be a table below its folder or an absolute path.
fn file_in(path: &Path, folder: &Path, name: &str) -> Result<PathBuf> {
    let file = folder.join(name);
    if !table::is_table(&file) {
        return Err(Error::input(path, "", format_args!("the file {name}"), "a .csv, .tsv or .parquet"));
    }
    Ok(file)
}

/// The named columns of a table. A missing one is an error.
fn read_columns(file: &Path, columns: &[&str]) -> Result<Table> {
    let table = Table::read(file, |name| columns.contains(&name))?;
    columns.iter().try_for_each(|column| table.require(&[column]).map(drop))?;
    Ok(table)
}
