//! Checks of ids, labels and splits that all formats share.

use std::path::Path;

use super::{Labels, Split, table};
use crate::error::{Error, Result};

/// What is wrong with an id, for an error message: ids must fit on one line.
pub(super) fn id_problem(id: &str) -> Option<String> {
    match id.find(table::is_line_break) {
        _ if id.is_empty() => Some("an empty id".to_owned()),
        Some(end) => Some(format!("an id with a line break after {}", table::quoted(&id[..end]))),
        None => None,
    }
}

/// Labels from one class number per node. Every class up to the largest must have a node: a gap means that the file
/// was truncated or the classes are numbered from 1.
pub(super) fn labels(path: &Path, place: &str, classes: Vec<u32>) -> Result<Labels> {
    let n_classes = classes.iter().max().map_or(0, |&largest| largest as usize + 1);
    // With more classes than nodes, one of the first classes is already missing.
    let mut seen = vec![false; n_classes.min(classes.len() + 1)];
    for &class in &classes {
        if let Some(slot) = seen.get_mut(class as usize) {
            *slot = true;
        }
    }
    match seen.iter().position(|&seen| !seen) {
        None => Ok(Labels::numbered(classes)),
        Some(gap) => {
            let found = format!("a node of class {}, but none of class {gap}", n_classes - 1);
            Err(Error::input(path, place, found, "classes 0, 1, 2, … without a gap"))
        }
    }
}

/// A split from three masks with one entry per node. A node may be in none of them.
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
            let expected = format!("{n_nodes}, one per node");
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
    let expected = "disjoint sets of nodes";
    Split::new(protocol, index, parts, n_nodes)
        .map_err(|found| Error::input(path, format_args!("split {index}"), found, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_missing_class() {
        let error = labels(Path::new("y"), "", vec![0, 2, 2]).unwrap_err().to_string();
        assert!(error.contains("a node of class 2, but none of class 1"), "{error}");
        let error = labels(Path::new("y"), "", vec![0, u32::MAX - 1]).unwrap_err().to_string();
        assert!(error.contains("none of class 1"), "{error}");
        assert_eq!(labels(Path::new("y"), "", vec![1, 0]).unwrap().n_classes(), 2);
    }
}
