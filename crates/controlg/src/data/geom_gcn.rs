//! The text format of Geom-GCN.
//!
//! ```text
//! out1_graph_edges.txt          header, then source<TAB>target per line
//! out1_node_feature_label.txt   header, then id<TAB>features<TAB>label per line; features separated by commas
//! *_split_0.6_0.2_N.npz         train_mask, val_mask and test_mask of split N
//! ```
//!
//! Features are either a full 0/1 vector or a list of the indices that are 1; nothing in the file says which. The first
//! unambiguous row decides: a number above 1 means lists, a number that occurs twice in a row of zeros and ones means
//! vectors, because a list has no reason to repeat an index. If no row is unambiguous, the features are vectors if all
//! rows have the same length, else lists.

use std::path::{Path, PathBuf};

use super::arrays::{MAX_SPARSE_WIDTH, NpzFile};
use super::{FeatureSource, Format, RawDataset, Split, checks, limits, text};
use crate::error::{Error, Result};
use crate::graph::{Csr, EdgeList, Features, Ids};

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "geom-gcn",
    summary: "a Geom-GCN folder (out1_graph_edges.txt, out1_node_feature_label.txt)",
    recognize: |path| path.join(EDGES).is_file() && path.join(NODES).is_file(),
    read,
};

const EDGES: &str = "out1_graph_edges.txt";
const NODES: &str = "out1_node_feature_label.txt";

fn read(folder: &Path, _: FeatureSource) -> Result<RawDataset> {
    let path = folder.join(NODES);
    let nodes = read_nodes(&path, &limits::read_bytes(&path)?)?;
    let n = nodes.classes.len();
    let edges = folder.join(EDGES);
    let pairs = read_edges(&edges, &limits::read_bytes(&edges)?, n)?;
    let mut notes = Vec::new();
    if nodes.repeats > 0 {
        notes.push(format!("{} nodes list a feature index more than once; it counts once", nodes.repeats));
    }
    Ok(RawDataset {
        edges: EdgeList { pairs, weights: None },
        features: Some(Features::Sparse(nodes.features)),
        feature_names: None,
        ids: Ids::Numbered(n),
        labels: Some(checks::labels(&path, "", nodes.classes)?),
        splits: read_splits(folder, n)?,
        notes,
        types: None,
    })
}

/// The splits in a folder, sorted by number; none if there is no such folder or file.
pub(super) fn read_splits(folder: &Path, n_nodes: usize) -> Result<Vec<Split>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<(usize, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (_, number) = name.strip_suffix(".npz")?.split_once("_split_0.6_0.2_")?;
            Some((number.parse().ok()?, entry.path()))
        })
        .collect();
    files.sort();
    if let Some(twice) = files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let found = format!("a second file for split {}", twice[1].0);
        return Err(Error::input(&twice[1].1, "", found, "one file per split"));
    }
    files.iter().map(|(number, path)| read_split(path, *number, n_nodes)).collect()
}

fn read_split(path: &Path, number: usize, n_nodes: usize) -> Result<Split> {
    let mut file = NpzFile::open(path)?;
    let mut mask = |name: &str| file.array(name)?.to_mask();
    let (train, val, test) = (mask("train_mask")?, mask("val_mask")?, mask("test_mask")?);
    checks::split_of_masks(path, "geomgcn-10", number, [&train, &val, &test], n_nodes)
}

fn read_edges(path: &Path, bytes: &[u8], n: usize) -> Result<Vec<(u32, u32)>> {
    let pair = |(line, row): (usize, &[u8])| {
        let fields: Vec<&[u8]> = row.splitn(3, |&byte| byte == b'\t').collect();
        let [source, target] = fields[..] else {
            let place = format_args!("line {line}");
            return Err(Error::input(path, place, text::show(row), "two nodes separated by a tab"));
        };
        let node = |digits| text::below(path, line, digits, n, "a node");
        Ok((node(source)?, node(target)?))
    };
    text::lines(bytes).skip(1).map(pair).collect()
}

struct NodeLines {
    features: Csr,
    classes: Vec<u32>,
    /// Nodes that list an index more than once.
    repeats: usize,
}

/// A line of the file of nodes.
struct NodeLine<'a> {
    line: usize,
    features: &'a [u8],
    class: u32,
}

fn read_nodes(path: &Path, bytes: &[u8]) -> Result<NodeLines> {
    let rows = rows_by_id(path, bytes)?;
    let classes = rows.iter().map(|row| row.class).collect();
    let mut offsets = vec![0];
    let mut columns = Vec::new();
    if is_vectors(&rows) {
        let width = fields(rows[0].features).count();
        for row in &rows {
            read_vector(path, row, width, &mut columns)?;
            offsets.push(columns.len());
        }
        return Ok(NodeLines {
            features: Csr::from_parts(width, offsets, columns, None),
            classes,
            repeats: 0,
        });
    }
    let mut repeats = 0;
    for row in &rows {
        let mut indices = read_list(path, row)?;
        let named = indices.len();
        indices.sort_unstable();
        indices.dedup();
        repeats += usize::from(indices.len() < named);
        columns.append(&mut indices);
        offsets.push(columns.len());
    }
    let Some(&largest) = columns.iter().max() else {
        return Err(Error::input(path, "", "no features", "at least one index"));
    };
    Ok(NodeLines {
        features: Csr::from_parts(largest as usize + 1, offsets, columns, None),
        classes,
        repeats,
    })
}

/// The lines sorted by id. The ids must be 0..n.
fn rows_by_id<'a>(path: &Path, bytes: &'a [u8]) -> Result<Vec<NodeLine<'a>>> {
    let n = text::lines(bytes).count().saturating_sub(1);
    if n == 0 {
        return Err(Error::input(path, "", "no nodes", "a header and one line per node"));
    }
    let mut rows: Vec<Option<NodeLine>> = Vec::new();
    rows.resize_with(n, || None);
    for (line, row) in text::lines(bytes).skip(1) {
        let place = format_args!("line {line}");
        let fields: Vec<&[u8]> = row.splitn(4, |&byte| byte == b'\t').collect();
        let [id, features, class] = fields[..] else {
            let expected = "id, features and label separated by tabs";
            return Err(Error::input(path, place, text::show(row), expected));
        };
        let id = text::below(path, line, id, n, "an id")?;
        let class = text::below(path, line, class, u32::MAX as usize, "a label")?;
        let slot = &mut rows[id as usize];
        if slot.is_some() {
            return Err(Error::input(path, place, format_args!("duplicate node {id}"), "each node once"));
        }
        *slot = Some(NodeLine { line, features, class });
    }
    Ok(rows.into_iter().flatten().collect()) // n lines with n distinct ids below n: none is missing
}

fn fields(features: &[u8]) -> impl Iterator<Item = &[u8]> {
    features.split(|&byte| byte == b',')
}

/// Whether the features are full vectors rather than lists of indices; see the module docs.
fn is_vectors(rows: &[NodeLine]) -> bool {
    for row in rows {
        let mut seen = [0usize; 2];
        for field in fields(row.features) {
            match field {
                b"0" => seen[0] += 1,
                b"1" => seen[1] += 1,
                _ if text::unsigned(field).is_some() => return false,
                _ => {} // not a number: parsing the row reports it
            }
        }
        if seen[0] > 1 || seen[1] > 1 {
            return true;
        }
    }
    rows.iter().all(|row| fields(row.features).count() == fields(rows[0].features).count())
}

/// Appends the columns of a 0/1 vector that are 1.
fn read_vector(path: &Path, row: &NodeLine, width: usize, columns: &mut Vec<u32>) -> Result<()> {
    let mut count = 0;
    for field in fields(row.features) {
        match field {
            b"0" => {}
            b"1" => columns.push(count),
            _ => {
                let place = format_args!("line {}, feature {count}", row.line);
                return Err(Error::input(path, place, text::show(field), "0 or 1"));
            }
        }
        count += 1;
    }
    if count as usize != width {
        let place = format_args!("line {}", row.line);
        let expected = format!("{width}, as for node 0");
        return Err(Error::input(path, place, format_args!("{count} features"), expected));
    }
    Ok(())
}

fn read_list(path: &Path, row: &NodeLine) -> Result<Vec<u32>> {
    if row.features.is_empty() {
        return Ok(Vec::new());
    }
    fields(row.features)
        .map(|field| text::below(path, row.line, field, MAX_SPARSE_WIDTH, "an index"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(body: &str) -> Result<NodeLines> {
        read_nodes(Path::new("nodes"), format!("node_id\tfeature\tlabel\n{body}").as_bytes())
    }

    fn dense(nodes: &NodeLines) -> Vec<Vec<u32>> {
        (0..nodes.features.n_rows()).map(|row| nodes.features.row(row).to_vec()).collect()
    }

    #[test]
    fn vectors_and_lists_are_distinguished() {
        let vectors = nodes("0\t0,0,1\t0\n1\t1,1,0\t1\n").unwrap();
        assert_eq!((dense(&vectors), vectors.features.n_cols()), (vec![vec![2], vec![0, 1]], 3));
        let lists = nodes("1\t0\t1\n0\t4,0,2,4\t0\n2\t\t0").unwrap();
        assert_eq!((dense(&lists), lists.features.n_cols()), (vec![vec![0, 2, 4], vec![0], vec![]], 5));
        assert_eq!((lists.classes, lists.repeats), (vec![0, 1, 0], 1));
        // Ambiguous: rows of equal length are vectors, others lists.
        assert_eq!(dense(&nodes("0\t0,1\t0\n1\t1,0\t1\n").unwrap()), [[1], [0]]);
        assert_eq!(dense(&nodes("0\t0,1\t0\n1\t1\t1\n").unwrap()), [vec![0, 1], vec![1]]);
    }

    #[test]
    fn mixing_vectors_and_lists_is_an_error() {
        let message = |body| nodes(body).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message("0\t0,0,1\t0\n1\t0,7,1\t0").contains(":3: feature 1: found '7', expected 0 or 1"));
        assert!(message("0\t0,0,1\t0\n1\t0,1\t0").contains(":3: found 2 features, expected 3"));
    }
}
