//! Wiki-CS: a single file `data.json`.
//!
//! ```text
//! features      n rows of numbers
//! labels        n classes
//! links         n lists of neighbors
//! train_masks   20 masks of n booleans
//! val_masks     20 masks of n booleans
//! test_mask     one mask of n booleans, shared by all splits
//! ```
//!
//! `stopping_masks`, a second validation set for early stopping, is not used.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{FeatureSource, Format, RawDataset, checks, limits};
use crate::Real;
use crate::error::{Error, Result};
use crate::graph::{Dense, EdgeList, Features, Ids};

/// The format.
pub(super) const FORMAT: Format =
    Format { name: "wiki-cs", summary: "data.json of Wiki-CS, or a folder with it", recognize, read };

const FILE: &str = "data.json";
const SOURCE: &str = "https://raw.githubusercontent.com/pmernyei/wiki-cs-dataset/master/dataset/data.json";

/// The keys of `data.json` that are used.
#[derive(Deserialize)]
struct WikiCsJson {
    features: Vec<Vec<Real>>,
    labels: Vec<u32>,
    links: Vec<Vec<u32>>,
    train_masks: Vec<Vec<bool>>,
    val_masks: Vec<Vec<bool>>,
    test_mask: Vec<bool>,
}

fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(FILE) } else { path.to_owned() }
}

fn recognize(path: &Path) -> bool {
    let file = file_of(path);
    file.extension().is_some_and(|extension| extension == "json")
        && limits::first_bytes(&file, 64).trim_ascii_start().starts_with(b"{")
}

fn read(path: &Path, _: FeatureSource) -> Result<RawDataset> {
    let path = file_of(path);
    if !path.exists() {
        let expected = format!("a file; download it from {SOURCE}");
        return Err(Error::input(&path, "", "no such file", expected));
    }
    parse(&path, &limits::read_bytes(&path)?)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<RawDataset> {
    let data: WikiCsJson = serde_json::from_slice(bytes).map_err(|error| bad_json(path, &error))?;
    let n = data.features.len();
    if n == 0 {
        return Err(Error::input(path, "features", "no nodes", "at least one node"));
    }
    let check_length = |key: &str, found: usize| {
        if found == n {
            return Ok(());
        }
        let expected = format!("{n}, the number of feature rows");
        Err(Error::input(path, key, format_args!("{found} entries"), expected))
    };
    check_length("labels", data.labels.len())?;
    check_length("links", data.links.len())?;
    if data.train_masks.len() != data.val_masks.len() {
        let found = format!("{} masks", data.val_masks.len());
        let expected = format!("{}, the number of train_masks", data.train_masks.len());
        return Err(Error::input(path, "val_masks", found, expected));
    }
    let split = |(index, (train, val)): (usize, (&Vec<bool>, &Vec<bool>))| {
        checks::split_of_masks(path, "wikics-20", index, [train, val, &data.test_mask], n)
    };
    let splits =
        data.train_masks.iter().zip(&data.val_masks).enumerate().map(split).collect::<Result<_>>()?;
    Ok(RawDataset {
        edges: EdgeList { pairs: pairs(path, &data.links)?, weights: None },
        features: Some(Features::Dense(dense(path, &data.features)?)),
        feature_names: None,
        ids: Ids::Numbered(n),
        labels: Some(checks::labels(path, "labels", data.labels)?),
        splits,
        notes: vec![],
        types: None,
    })
}

fn pairs(path: &Path, links: &[Vec<u32>]) -> Result<Vec<(u32, u32)>> {
    let n = links.len();
    let mut pairs = Vec::with_capacity(links.iter().map(Vec::len).sum());
    for (node, neighbors) in links.iter().enumerate() {
        for &neighbor in neighbors {
            if neighbor as usize >= n {
                let place = format!("links of node {node}");
                return Err(Error::input(path, place, neighbor, format_args!("a node in 0..{n}")));
            }
            pairs.push((node as u32, neighbor));
        }
    }
    Ok(pairs)
}

fn dense(path: &Path, rows: &[Vec<Real>]) -> Result<Dense> {
    let width = rows[0].len();
    if width == 0 {
        return Err(Error::input(path, "features of node 0", "no features", "at least one"));
    }
    for (node, row) in rows.iter().enumerate() {
        let place = format!("features of node {node}");
        if row.len() != width {
            let expected = format!("{width}, as for node 0");
            return Err(Error::input(path, place, format_args!("{} numbers", row.len()), expected));
        }
        if let Some(column) = row.iter().position(|x| !x.is_finite()) {
            let place = format!("{place}, column {column}");
            return Err(Error::input(path, place, row[column], "a finite number"));
        }
    }
    Ok(Dense::from_parts(rows.len(), width, rows.concat()))
}

fn bad_json(path: &Path, error: &serde_json::Error) -> Error {
    let place = format!("line {}, column {}", error.line(), error.column());
    let message = error.to_string();
    let found = message.split(" at line ").next().unwrap_or(&message);
    Error::input(path, place, found, "the features, labels, links and masks of Wiki-CS")
}
