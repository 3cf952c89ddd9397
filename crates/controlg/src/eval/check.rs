//! Validation of evaluation inputs.

use crate::data::{Labels, Split};
use crate::error::{Error, Result};
use crate::graph::Features;
use crate::kernels::reduce;

/// Checks that there is one row per node, that all values are finite and that the rows differ.
pub(super) fn embeddings(matrix: &Features, n_nodes: usize) -> Result<()> {
    if matrix.n_rows() != n_nodes {
        let found = format_args!("{} rows", matrix.n_rows());
        return Err(Error::value("embeddings", found, format_args!("{n_nodes}, one per node")));
    }
    let values = match matrix {
        Features::Dense(dense) => dense.data(),
        Features::Sparse(csr) => csr.values().unwrap_or_default(),
    };
    if !reduce::all_finite(values) {
        let at = values.iter().position(|x| !x.is_finite()).unwrap_or_default();
        let row = match matrix {
            Features::Dense(dense) => at / dense.n_cols(),
            Features::Sparse(csr) => csr.offsets().partition_point(|&offset| offset <= at) - 1,
        };
        return Err(Error::value(format_args!("embeddings, row {row}"), values[at], "finite numbers"));
    }
    if is_constant(matrix) {
        return Err(Error::value("embeddings", "the same row for every node", "rows that differ"));
    }
    Ok(())
}

/// Checks that a split has labeled nodes in each part, and training nodes of more than one class if validation and test
/// have others. A class without a training node is no error; see [`missing_classes`].
pub fn split(labels: &Labels, split: &Split) -> Result<()> {
    let place = format!("split {} of {}", split.index, split.protocol);
    for (part, nodes) in split.parts() {
        if nodes.is_empty() {
            return Err(Error::value(&place, format_args!("no {part} nodes"), "at least one"));
        }
        for &node in nodes {
            match labels.classes().get(node as usize) {
                None => {
                    let found = format_args!("node {node} in {part}");
                    return Err(Error::value(
                        &place,
                        found,
                        format_args!("nodes below {}", labels.classes().len()),
                    ));
                }
                Some(&Labels::NONE) => {
                    let found = format_args!("node {node} in {part} without a label");
                    return Err(Error::value(&place, found, "labeled nodes only"));
                }
                Some(_) => {}
            }
        }
    }
    let trained = trained_classes(labels, split);
    if trained.len() < 2 && !missing_classes(labels, split).is_empty() {
        let found = format_args!("training nodes of class '{}' only", labels.names()[trained[0] as usize]);
        return Err(Error::value(&place, found, "training nodes of at least two classes"));
    }
    Ok(())
}

/// The classes of the training nodes, ascending.
pub(super) fn trained_classes(labels: &Labels, split: &Split) -> Vec<u32> {
    distinct_classes(labels, &split.train)
}

/// The classes of validation and test nodes that have no training node, ascending. No model can predict them, so their
/// nodes count as missed. The split must pass [`split`].
pub fn missing_classes(labels: &Labels, split: &Split) -> Vec<u32> {
    let trained = trained_classes(labels, split);
    let mut others = distinct_classes(labels, &[&split.val[..], &split.test].concat());
    others.retain(|class| trained.binary_search(class).is_err());
    others
}

fn distinct_classes(labels: &Labels, nodes: &[u32]) -> Vec<u32> {
    let mut classes: Vec<u32> = nodes.iter().map(|&node| labels.classes()[node as usize]).collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// Whether all nodes have the same embedding.
fn is_constant(matrix: &Features) -> bool {
    match matrix {
        Features::Dense(dense) => dense.data().chunks_exact(dense.n_cols()).all(|row| row == dense.row(0)),
        Features::Sparse(csr) => {
            let first = matrix.row(0);
            (1..csr.n_rows()).all(|row| matrix.row(row) == first)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Real;
    use crate::graph::{Csr, Dense};

    fn message<T>(result: Result<T>) -> String {
        result.map(|_| ()).unwrap_err().to_string()
    }

    fn dense(values: [Real; 4]) -> Features {
        Features::Dense(Dense::from_parts(2, 2, values.to_vec()))
    }

    #[test]
    fn rejects_invalid_embeddings() {
        assert!(embeddings(&dense([0.0, 1.0, 1.0, 0.0]), 2).is_ok());
        let wrong = message(embeddings(&dense([0.0; 4]), 3));
        assert_eq!(wrong, "embeddings: found 2 rows, expected 3, one per node");
        let wrong = message(embeddings(&dense([1.0, 2.0, 1.0, 2.0]), 2));
        assert_eq!(wrong, "embeddings: found the same row for every node, expected rows that differ");
        let wrong = message(embeddings(&dense([1.0, 2.0, Real::NAN, 2.0]), 2));
        assert_eq!(wrong, "embeddings, row 1: found NaN, expected finite numbers");
        let sparse =
            |values| Features::Sparse(Csr::from_parts(3, vec![0, 1, 1, 2], vec![0, 2], Some(values)));
        let wrong = message(embeddings(&sparse(vec![1.0, Real::INFINITY]), 3));
        assert_eq!(wrong, "embeddings, row 2: found inf, expected finite numbers");
        assert!(embeddings(&sparse(vec![1.0, 1.0]), 3).is_ok());
    }

    #[test]
    fn rejects_invalid_splits() {
        let labels = Labels::new(vec![0, 1, 0, 1, Labels::NONE], vec!["a".into(), "b".into()]);
        let of = |train: &[u32], val: &[u32], test: &[u32]| {
            split(&labels, &Split::new("own", 3, [train, val, test].map(<[u32]>::to_vec), 6).unwrap())
        };
        assert!(of(&[0, 1], &[2], &[3]).is_ok());
        assert_eq!(
            message(of(&[0, 1], &[], &[3])),
            "split 3 of own: found no val nodes, expected at least one"
        );
        let wrong = message(of(&[0, 1], &[2], &[4]));
        assert_eq!(
            wrong,
            "split 3 of own: found node 4 in test without a label, expected labeled nodes only"
        );
        let wrong = message(of(&[0], &[2], &[3]));
        assert!(wrong.contains("found training nodes of class 'a' only"), "{wrong}");
        assert!(message(of(&[0, 1], &[2], &[5])).contains("nodes below 5"));
    }

    #[test]
    fn classes_without_training_nodes_are_named() {
        let names = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let labels = Labels::new(vec![0, 1, 0, 1, 2, 3], names);
        let of = |val: &[u32], test: &[u32]| {
            Split::new("own", 0, [vec![0, 1], val.to_vec(), test.to_vec()], 6).unwrap()
        };
        let (complete, two) = (of(&[2], &[3]), of(&[2, 5], &[3, 4]));
        assert!(missing_classes(&labels, &complete).is_empty());
        assert_eq!(missing_classes(&labels, &two), [2, 3]);
        assert!(split(&labels, &two).is_ok());
    }
}
