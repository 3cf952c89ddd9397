//! Writing a data set as a folder of plain tables, the project's own layout.
//!
//! The folder appears whole or not at all: it is written beside its place under another name, pressed to the disk
//! and then renamed. Reading it back gives the same graph, labels and splits.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::folder::NO_LABEL;
use super::{Dataset, Labels, Split, arrays, table};
use crate::error::{Error, Result};
use crate::graph::{Features, Graph, Ids};

/// Writes a data set into a folder that does not exist yet, or is empty.
pub fn to_folder(dataset: &Dataset, out: &Path) -> Result<()> {
    check_place(out)?;
    check_cells("id", (0..dataset.graph.n_nodes()).map(|node| dataset.graph.ids().get(node)))?;
    let draft = Draft::beside(out)?;
    let graph = &dataset.graph;
    write_ids(graph.ids(), &draft.path("ids.txt"))?;
    write_edges(graph, &draft.path("edges.csv"))?;
    match graph.features() {
        // They are made again of the edges, whichever these then are.
        _ if graph.has_features_from_edges() => {}
        Features::Sparse(csr) => arrays::write_csr_npz(&draft.path("features.npz"), csr)?,
        Features::Dense(dense) => {
            arrays::write_npy(&draft.path("features.npy"), dense.n_rows(), dense.n_cols(), dense.data())?;
        }
    }
    if let Some(labels) = &dataset.labels {
        write_labels(graph.ids(), labels, &draft)?;
    }
    if !dataset.splits.is_empty() {
        write_splits(graph.ids(), &dataset.splits, &draft.path("splits.csv"))?;
    }
    draft.publish(out)
}

pub(super) fn check_place(out: &Path) -> Result<()> {
    if out.file_name().is_none() {
        return Err(Error::input(out, "", "a folder that cannot be made", "the path of a new folder"));
    }
    match fs::read_dir(out).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(Error::input(out, "", "a folder with files in it", "a new or empty folder")),
        Ok(false) => Ok(()),
        Err(_) if out.exists() => Err(Error::input(out, "", "a file", "a new or empty folder")),
        Err(_) => Ok(()),
    }
}

/// Names that can stand in a file with one a line.
pub(super) fn check_lines<'a>(what: &str, names: impl Iterator<Item = Cow<'a, str>>) -> Result<()> {
    for name in names {
        if name.is_empty() || name.contains(['\n', '\r']) || name.starts_with('\u{feff}') {
            return Err(Error::value(
                what,
                format_args!("{name:?}"),
                "a name that fits a line of text, not empty and without a byte-order mark",
            ));
        }
    }
    Ok(())
}

/// Names that can stand in such a file and in a table.
fn check_cells<'a>(what: &str, names: impl Iterator<Item = Cow<'a, str>> + Clone) -> Result<()> {
    check_lines(what, names.clone())?;
    match names.into_iter().find(|name| table::trimmed(name) != name) {
        None => Ok(()),
        Some(name) => Err(Error::value(what, format_args!("{name:?}"), "a name without spaces around it")),
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

fn write_labels(ids: &Ids, labels: &Labels, draft: &Draft) -> Result<()> {
    if !order_is_evident(labels) {
        let names = || labels.names().iter().map(|name| Cow::Borrowed(name.as_str()));
        check_cells("class", names())?;
        let distinct: std::collections::HashSet<_> = labels.names().iter().collect();
        if distinct.len() < labels.n_classes() {
            return Err(Error::value("classes", "two of the same name", "a name of its own for each class"));
        }
        write_lines(names(), &draft.path("classes.txt"))?;
    }
    write_table(&draft.path("labels.csv"), |table| {
        table.write_record(["id", "label"])?;
        for node in 0..ids.len() {
            let label = labels.get(node).map_or("", |class| &labels.names()[class as usize]);
            table.write_record([ids.get(node).as_ref(), label])?;
        }
        Ok(())
    })
}

/// Whether the classes would be numbered the same way if only their names were known.
fn order_is_evident(labels: &Labels) -> bool {
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
    // Other names are not read back as they are: a list of classes is needed, or they cannot be written.
    let plain = names
        .iter()
        .all(|name| name != NO_LABEL && table::trimmed(name) == name && !name.contains(table::is_line_break));
    used.iter().all(|&used| used) && plain && (numbered || (sorted && !numbers))
}

fn write_splits(ids: &Ids, splits: &[Split], path: &Path) -> Result<()> {
    let mut cells = vec![""; splits.len() * ids.len()];
    for (at, split) in splits.iter().enumerate() {
        for (word, nodes) in split.parts() {
            nodes.iter().for_each(|&node| cells[node as usize * splits.len() + at] = word);
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

fn write_table(path: &Path, rows: impl FnOnce(&mut csv::Writer<&File>) -> csv::Result<()>) -> Result<()> {
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

fn writing(path: &Path, error: std::io::Error) -> Error {
    Error::io(format_args!("writing {}", path.display()), error)
}

/// A folder in the making; removed again unless it is published.
pub(super) struct Draft(PathBuf);

impl Draft {
    pub(super) fn beside(out: &Path) -> Result<Draft> {
        let parent = match out.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        let draft = Draft(parent.join(format!(".{name}.part-{}", std::process::id())));
        fs::create_dir_all(parent)
            .and_then(|()| fs::create_dir(&draft.0))
            .map_err(|error| writing(&draft.0, error))?;
        Ok(draft)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn publish(self, out: &Path) -> Result<()> {
        let publish = || {
            sync_folder(&self.0)?;
            if out.exists() {
                fs::remove_dir(out)?; // empty, as was checked; a folder that has been filled since stays
            }
            fs::rename(&self.0, out)?;
            self.0.parent().map_or(Ok(()), sync_folder)
        };
        publish().map_err(|error| writing(out, error))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // not there any more once it is published
    }
}

/// Presses a folder's list of names to the disk, where the system can do that.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
