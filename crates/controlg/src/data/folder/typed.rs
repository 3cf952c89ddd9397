//! Your own graph with several node and edge types: a folder of tables per type and relation.
//!
//! ```text
//! nodes/TYPE.csv               id[,label],<any names>   one row per node; other columns are features, numbers
//! edges/SRC-RELATION-DST.csv   src,dst                  ids of the types SRC and DST
//! splits.csv                   id,<protocol>[:<index>],…  ids as TYPE:ID
//! ```
//!
//! One table `nodes.csv` with a column `type` may take the place of `nodes/`, and one table `edges.csv` with a column `relation` that
//! of `edges/` (`one_table.rs`).
//!
//! Tables are `.csv`, `.tsv`, `.csv.gz`, `.tsv.gz` or `.parquet`, as in a folder of a graph without types. At most one type has
//! labels. A type without features gets a learned embedding per node, or structural features if it is large
//! ([`ONE_HOT_UP_TO`](crate::graph::ONE_HOT_UP_TO)). Edges have no weights.

use std::path::{Path, PathBuf};

use super::super::table::{self, Table};
use super::super::typed::{RawNodeType, RawRelation, RawTypes};
use super::super::{FeatureSource, Format, Labels, RawDataset};
use super::features::FeatureFile;
use super::labels::LabelFile;
use super::nodes::{self, ID, NodeTable};
use super::{candidates, edges, entries_in, features, one_table, only_file, splits};
use crate::error::{Error, Result};
use crate::graph::{EdgeList, Ids};

/// The format.
pub(in crate::data) const FORMAT: Format = Format {
    name: "typed-folder",
    summary: "a folder with nodes/TYPE.csv and edges/SRC-RELATION-DST.csv (or .tsv, .parquet), or nodes.csv with a column type and \
              edges.csv with relation: several node and edge types",
    recognize,
    read,
};

/// Either part may be a folder of tables, or one table with a column for the type or relation.
fn recognize(path: &Path) -> bool {
    let [nodes, edges] = ["nodes", "edges"].map(|part| path.join(part).is_dir());
    let edge_table = !candidates(&entries_in(path), "edges").is_empty();
    if nodes && edges {
        return !edge_table;
    }
    let one = |part, column: &[&str]| one_table::has_column(path, part, column);
    match (nodes, edges) {
        (true, _) => one("edges", &one_table::RELATION),
        (_, true) => one("nodes", &one_table::TYPE),
        _ => one("nodes", &one_table::TYPE) && edge_table,
    }
}

/// A node type as read from its table.
pub(super) struct TypeTable {
    pub(super) file: PathBuf,
    pub(super) ids: Ids,
    pub(super) raw: RawNodeType,
    pub(super) labels: Option<Labels>,
}

fn read(path: &Path, source: FeatureSource) -> Result<RawDataset> {
    let mut notes = Vec::new();
    let entries = entries_in(path);
    let (origin, tables) = match only_file(path, &entries, "nodes")?.filter(|_| !path.join("nodes").is_dir())
    {
        Some(file) => (file.clone(), one_table::types(&file, source, &mut notes)?),
        None => {
            let folder = path.join("nodes");
            let tables = tables_in(&folder)?
                .into_iter()
                .map(|(name, file)| read_type(name, file, source, &mut notes))
                .collect::<Result<_>>()?;
            (folder, tables)
        }
    };
    let relations = match only_file(path, &entries, "edges")?.filter(|_| !path.join("edges").is_dir()) {
        Some(file) => one_table::relations(&file, &tables, &mut notes)?,
        None => tables_in(&path.join("edges"))?
            .into_iter()
            .map(|(name, file)| read_relation(&name, &file, &tables, &mut notes))
            .collect::<Result<_>>()?,
    };
    let splits = only_file(path, &entries, "splits")?;
    assemble_types(&origin, tables, relations, splits.as_deref(), notes)
}

/// The data set of node types and relations, with splits from a table. `origin` is where the node types are listed.
pub(super) fn assemble_types(
    origin: &Path,
    tables: Vec<TypeTable>,
    relations: Vec<RawRelation>,
    splits: Option<&Path>,
    notes: Vec<String>,
) -> Result<RawDataset> {
    let (ids, labels): (Vec<Ids>, Vec<Option<Labels>>) =
        tables.iter().map(|table| (table.ids.clone(), table.labels.clone())).unzip();
    let labeled: Vec<usize> = (0..labels.len()).filter(|&at| labels[at].is_some()).collect();
    if let [_, second, ..] = labeled[..] {
        let expected = format!("labels of one type; {} has some", tables[labeled[0]].raw.name);
        return Err(Error::input(&tables[second].file, "", "a column of labels", expected));
    }
    let types = RawTypes { types: tables.into_iter().map(|table| table.raw).collect(), relations };
    let ids = types.ids(ids);
    let splits = match splits {
        Some(file) => splits::read(&splits::open(file)?, &NodeTable::new(&ids, origin)?)?,
        None => Vec::new(),
    };
    let labels = labeled.first().and_then(|&at| Some(types.labels(at, labels[at].as_ref()?)));
    Ok(RawDataset {
        edges: EdgeList::default(),
        features: None,
        feature_names: None,
        ids,
        labels,
        splits,
        notes,
        types: Some(types),
    })
}

/// The tables in a folder with their names, sorted. Two tables with one name are an error.
fn tables_in(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut tables: Vec<(String, PathBuf)> = Vec::new();
    for (name, path) in entries_in(folder).into_iter().filter(|(_, path)| table::is_table(path)) {
        let stem = name.split('.').next().unwrap_or_default().to_owned();
        if tables.iter().any(|(known, _)| *known == stem) {
            return Err(Error::input(folder, "", format_args!("two tables named {stem}"), "one"));
        }
        tables.push((stem, path));
    }
    match tables.is_empty() {
        true => Err(Error::input(folder, "", "no tables", "at least one .csv, .tsv or .parquet")),
        false => Ok(tables),
    }
}

fn read_type(
    name: String,
    file: PathBuf,
    source: FeatureSource,
    notes: &mut Vec<String>,
) -> Result<TypeTable> {
    let is_label = |column: &str| table::is_one_of(column, &features::LABELS);
    let wanted = |column: &str| !table::is_index(column) && !is_label(column);
    let table = Table::read(&file, wanted)?;
    let ids = nodes::ids_of_column(&table)?;
    let has_labels = table.unused().iter().any(|column| is_label(column));
    let has_features = table.columns().iter().any(|column| !table::is_one_of(&column.name, &ID));
    notes.extend(table.dialect_note());
    let nodes = NodeTable::new(&ids, &file)?;
    let features = match (source, has_features) {
        (FeatureSource::Given, true) => Some(FeatureFile::Table(table).into_features(&nodes)?),
        _ => None,
    };
    let labels = has_labels.then(|| LabelFile::open(&file)?.labels(&nodes, None)).transpose()?;
    drop(nodes);
    Ok(TypeTable { raw: RawNodeType { name, size: ids.len(), features }, file, ids, labels })
}

fn read_relation(
    stem: &str,
    file: &Path,
    types: &[TypeTable],
    notes: &mut Vec<String>,
) -> Result<RawRelation> {
    let Some(ends) = name_and_ends(stem) else {
        return Err(Error::input(
            file,
            "",
            format_args!("the name {stem}"),
            "SRC-RELATION-DST, as in author-writes-paper",
        ));
    };
    let table = edges::EdgeTable::open(file)?;
    notes.extend(table.notes());
    relation_between(file, ends, &[table], types)
}

/// The parts of SRC-RELATION-DST.
pub(super) fn name_and_ends(text: &str) -> Option<[&str; 3]> {
    let (src, rest) = text.split_once('-')?;
    let (name, dst) = rest.rsplit_once('-')?;
    (!name.is_empty()).then_some([src, name, dst])
}

/// The relation with this name and the edges of all tables. `origin` is the file that names it.
pub(super) fn relation_between(
    origin: &Path,
    [src, name, dst]: [&str; 3],
    tables: &[edges::EdgeTable],
    types: &[TypeTable],
) -> Result<RawRelation> {
    let find = |end: &str| {
        let names = || types.iter().map(|table| &table.raw.name[..]).collect::<Vec<_>>().join(", ");
        let unknown = || {
            Error::input(origin, "", format_args!("the node type {end}"), format_args!("one of {}", names()))
        };
        types.iter().position(|table| table.raw.name == end).ok_or_else(unknown)
    };
    let (src, dst) = (find(src)?, find(dst)?);
    let of_type = |at: usize| NodeTable::of_type(&types[at].ids, &types[at].file, &types[at].raw.name);
    let [from, to] = [src, dst].map(of_type);
    let (from, to) = (from?, to?);
    let mut pairs = Vec::new();
    for table in tables {
        pairs.extend(edges::read_between(table, &from, &to)?);
    }
    Ok(RawRelation { src, name: name.to_owned(), dst, directed: false, pairs })
}
