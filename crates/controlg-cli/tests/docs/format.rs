//! A data format: adjacency lists, one line `node: neighbor neighbor …` per node.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use controlg::data::{self, Dataset, FeatureSource, RawDataset};
use controlg::graph::{EdgeList, Ids};
use controlg::{Error, Result};

/// Reads a graph from a file of adjacency lists. Features are computed from the edges.
pub(crate) fn read_adjacency_lists(path: &Path) -> Result<Dataset> {
    let text = fs::read_to_string(path)
        .map_err(|error| Error::io(format_args!("reading {}", path.display()), error))?;
    let mut names = Vec::new();
    let mut lists = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((name, neighbors)) = line.split_once(':') else {
            let place = format!("line {}", at + 1);
            return Err(Error::input(path, place, format_args!("{line:?}"), "node: neighbor neighbor …"));
        };
        names.push(name.trim().to_owned());
        lists.push((at + 1, neighbors));
    }
    let numbers: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    let mut pairs = Vec::new();
    for (node, (line, neighbors)) in (0..).zip(&lists) {
        for neighbor in neighbors.split_whitespace() {
            let Some(&number) = numbers.get(neighbor) else {
                return Err(Error::input(
                    path,
                    format_args!("line {line}"),
                    neighbor,
                    "a node with a line of its own",
                ));
            };
            pairs.push((node, number));
        }
    }
    let raw = RawDataset {
        edges: EdgeList { pairs, weights: None },
        features: None,
        feature_names: None,
        ids: Ids::from_names(names),
        labels: None,
        splits: vec![],
        notes: vec![],
        types: None,
    };
    // Makes edges undirected, drops duplicates and self loops, and computes structural features.
    data::assemble(path.display().to_string(), "adjacency-lists", raw, FeatureSource::Given)
}
