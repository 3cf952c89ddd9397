//! Writing a data set as a folder of plain tables (see `data/folder`); one with types as tables per type and relation
//! (`typed/write.rs`).
//!
//! Reading the folder back gives the same graph, labels and splits. The folder appears complete or not at all.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::atomic_folder::{AtomicFolder, check_new_or_empty, writing};
use super::folder::{FEATURE_NAMES, NO_LABEL};
use super::{Dataset, Labels, Split, arrays, table, typed};
use crate::error::{Error, Result};
use crate::graph::{Features, Graph, Ids};

/// Refuses a graph with node types, which the binary format has not.
pub(super) fn refuse_types(dataset: &Dataset) -> Result<()> {
    match dataset.graph.relations() {
        Some(relations) => {
            let found = format!("a graph with {}", relations.schema());
            Err(Error::value(&dataset.name, found, "a graph without node types and relations"))
        }
        None => Ok(()),
    }
}

/// Writes a data set into a new or empty folder.
pub fn to_folder(dataset: &Dataset, out: &Path) -> Result<()> {
    if let Some(relations) = dataset.graph.relations() {
        return typed::write::to_folder(dataset, relations, out);
    }
    check_new_or_empty(out)?;
    check_cells("id", (0..dataset.graph.n_nodes()).map(|node| dataset.graph.ids().get(node)))?;
    let folder = AtomicFolder::create(out)?;
    let graph = &dataset.graph;
    write_ids(graph.ids(), &folder.path("ids.txt"))?;
    write_edges(graph, &folder.path("edges.csv"))?;
    match graph.features() {
        // Not written: loading computes them from the edges again.
        _ if graph.has_features_from_edges() => {}
        Features::Sparse(csr) => arrays::write_csr_npz(&folder.path("features.npz"), csr)?,
        Features::Dense(dense) => {
            arrays::write_npy(&folder.path("features.npy"), dense.n_rows(), dense.n_cols(), dense.data())?;
        }
    }
    if let Some(names) = graph.feature_names() {
        write_lines(names.iter().map(|name| Cow::Borrowed(name.as_str())), &folder.path(FEATURE_NAMES))?;
    }
    if let Some(labels) = &dataset.labels {
        write_labels(graph.ids(), labels, &folder)?;
    }
    if !dataset.splits.is_empty() {
        write_splits(graph.ids(), &dataset.splits, &folder.path("splits.csv"))?;
    }
    folder.publish(out)
}

/// Checks that names fit into a file with one name per line.
pub(super) fn check_lines<'a>(what: &str, names: impl Iterator<Item = Cow<'a, str>>) -> Result<()> {
    for name in names {
        if name.is_empty() || name.contains(['\n', '\r']) || name.starts_with('\u{feff}') {
            return Err(Error::value(
                what,
                format_args!("{name:?}"),
                "a name that fits on one line, is not empty and has no byte-order mark",
            ));
        }
    }
    Ok(())
}

/// Checks that names fit into such a file and into the cells of a table.
pub(super) fn check_cells<'a>(what: &str, names: impl Iterator<Item = Cow<'a, str>> + Clone) -> Result<()> {
    check_lines(what, names.clone())?;
    match names.into_iter().find(|name| table::trimmed(name) != name) {
        None => Ok(()),
        Some(name) => Err(Error::value(what, format_args!("{name:?}"), "a name without surrounding spaces")),
    }
}

fn write_ids(ids: &Ids, path: &Path) -> Result<()> {
    write_lines((0..ids.len()).map(|node| ids.get(node)), path)
}

fn write_edges(graph: &Graph, path: &Path) -> Result<()> {
    let weighted = graph.adjacency().values().is_some();
    write_table(path, |table| {
        table.write_record(if weighted { &["src", "dst", "weight"][..] } else { &["src", "dst"] })?;
        for node in 0..graph.n_nodes() {
            let id = graph.ids().get(node);
            for (other, weight) in graph.adjacency().entries(node).filter(|&(other, _)| other as usize > node)
            {
                table.write_field(id.as_bytes())?;
                table.write_field(graph.ids().get(other as usize).as_bytes())?;
                if weighted {
                    table.write_field(weight.to_string())?;
                }
                table.write_record(None::<&[u8]>)?;
            }
        }
        Ok(())
    })
}

fn write_labels(ids: &Ids, labels: &Labels, folder: &AtomicFolder) -> Result<()> {
    if !order_follows_from_names(labels) {
        let names = || labels.names().iter().map(|name| Cow::Borrowed(name.as_str()));
        check_cells("class", names())?;
        let distinct: std::collections::HashSet<_> = labels.names().iter().collect();
        if distinct.len() < labels.n_classes() {
            return Err(Error::value("classes", "two classes with the same name", "distinct class names"));
        }
        write_lines(names(), &folder.path("classes.txt"))?;
    }
    write_table(&folder.path("labels.csv"), |table| {
        table.write_record(["id", "label"])?;
        for node in 0..ids.len() {
            let label = labels.get(node).map_or("", |class| &labels.names()[class as usize]);
            table.write_record([ids.get(node).as_ref(), label])?;
        }
        Ok(())
    })
}

/// Whether reading the class names alone restores the class numbers, so that no `classes.txt` is needed.
fn order_follows_from_names(labels: &Labels) -> bool {
    let mut used = vec![false; labels.n_classes()];
    labels
        .classes()
        .iter()
        .filter(|&&class| class != Labels::NONE)
        .for_each(|&class| used[class as usize] = true);
    let names = labels.names();
    let numbered = names.iter().enumerate().all(|(class, name)| *name == class.to_string());
    let sorted =
        names.windows(2).all(|pair| pair[0] < pair[1]) && names.first().is_none_or(|name| !name.is_empty());
    let numbers = names.iter().all(|name| name.trim().parse::<i64>().is_ok());
    // Other names do not survive a round trip without a list of classes.
    let plain = names
        .iter()
        .all(|name| name != NO_LABEL && table::trimmed(name) == name && !name.contains(table::is_line_break));
    used.iter().all(|&used| used) && plain && (numbered || (sorted && !numbers))
}

pub(super) fn write_splits(ids: &Ids, splits: &[Split], path: &Path) -> Result<()> {
    let mut cells = vec![""; splits.len() * ids.len()];
    for (at, split) in splits.iter().enumerate() {
        for (part, nodes) in split.parts() {
            nodes.iter().for_each(|&node| cells[node as usize * splits.len() + at] = part);
        }
    }
    write_table(path, |table| {
        let names = splits.iter().map(|split| format!("{}:{}", split.protocol, split.index));
        table.write_record(std::iter::once("id".to_owned()).chain(names))?;
        for (node, cells) in cells.chunks(splits.len()).enumerate() {
            table.write_record(std::iter::once(ids.get(node).as_ref()).chain(cells.iter().copied()))?;
        }
        Ok(())
    })
}

fn write_lines<'a>(lines: impl Iterator<Item = Cow<'a, str>>, path: &Path) -> Result<()> {
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        for line in lines {
            writeln!(file, "{line}")?;
        }
        file.into_inner()?.sync_all()
    };
    write().map_err(|error| writing(path, error))
}

pub(super) fn write_table(
    path: &Path,
    rows: impl FnOnce(&mut csv::Writer<&File>) -> csv::Result<()>,
) -> Result<()> {
    let write = || {
        let file = File::create(path)?;
        let mut table = csv::Writer::from_writer(&file);
        rows(&mut table)?;
        table.flush()?;
        drop(table);
        file.sync_all()
    };
    write().map_err(|error| writing(path, error))
}
