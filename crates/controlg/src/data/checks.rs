//! What every reader checks in the same way: ids, labels and splits.

use std::path::Path;

use super::{Labels, Split, table};
use crate::error::{Error, Result};

/// What is wrong with an id, in the words of an error: ids are written one a line.
pub(super) fn fault_of_id(id: &str) -> Option<String> {
    match id.find(table::is_line_break) {
        _ if id.is_empty() => Some("an empty id".to_owned()),
        Some(end) => Some(format!("an id of several lines, the first {}", table::quoted(&id[..end]))),
        None => None,
    }
}

/// Labels from one class number a node. Every class up to the largest must have a node: a gap is the mark of labels
/// that were cut off or numbered from 1.
pub(super) fn labels(path: &Path, place: &str, classes: Vec<u32>) -> Result<Labels> {
    let n_classes = classes.iter().max().map_or(0, |&largest| largest as usize + 1);
    // More classes than nodes leave a gap among the first ones already.
    let mut seen = vec![false; n_classes.min(classes.len() + 1)];
    for &class in &classes {
        if let Some(slot) = seen.get_mut(class as usize) {
            *slot = true;
        }
    }
    match seen.iter().position(|&seen| !seen) {
        None => Ok(Labels::numbered(classes)),
        Some(gap) => {
            let found = format!("no node of class {gap} but one of class {}", n_classes - 1);
            Err(Error::input(path, place, found, "classes 0, 1, 2, … without a gap"))
        }
    }
}

/// A split from three masks, each with one entry a node; nodes in no mask belong to no part.
pub(super) fn split_of_masks(
    path: &Path,
    protocol: &str,
    index: usize,
    masks: [&[bool]; 3],
    n_nodes: usize,
) -> Result<Split> {
    for (part, mask) in ["train", "val", "test"].into_iter().zip(masks) {
        if mask.len() != n_nodes {
            let place = format!("{part} mask of split {index}");
            let expected = format!("{n_nodes}, one for each node");
            return Err(Error::input(path, place, format_args!("{} entries", mask.len()), expected));
        }
    }
    let nodes = |mask: &[bool]| (0..n_nodes as u32).filter(|&node| mask[node as usize]).collect();
    split_of_lists(path, protocol, index, masks.map(nodes), n_nodes)
}

/// A split from three lists of nodes.
pub(super) fn split_of_lists(
    path: &Path,
    protocol: &str,
    index: usize,
    parts: [Vec<u32>; 3],
    n_nodes: usize,
) -> Result<Split> {
    let expected = "disjoint parts of the nodes";
    Split::new(protocol, index, parts, n_nodes)
        .map_err(|found| Error::input(path, format_args!("split {index}"), found, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_names_the_missing_class() {
        let error = labels(Path::new("y"), "", vec![0, 2, 2]).unwrap_err().to_string();
        assert!(error.contains("no node of class 1 but one of class 2"), "{error}");
        let error = labels(Path::new("y"), "", vec![0, u32::MAX - 1]).unwrap_err().to_string();
        assert!(error.contains("no node of class 1"), "{error}");
        assert_eq!(labels(Path::new("y"), "", vec![1, 0]).unwrap().n_classes(), 2);
    }
}
