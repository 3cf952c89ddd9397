//! Train, validation and test splits of nodes and edges.
//!
//! A [`Split`] either comes with the files or is drawn at random, determined by protocol and seed. Publish its
//! [`Split::hash`] beside a score, so that others can check that they use the same nodes.

mod by_relation;
mod edges;
mod protocol;
mod random;
mod select;

pub use edges::EdgeSplit;
pub use protocol::{PROTOCOLS, Protocol};
pub use random::{per_class_20, per_class_40, per_class_60, random_10_10_80, shchur_20_30};
pub use select::{DEFAULT_PROTOCOL, select_splits};

use sha2::{Digest, Sha256};

/// A split of the nodes into train, validation and test sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The protocol; see [`PROTOCOLS`].
    pub protocol: String,
    /// The index among the splits of this protocol: a number from the files, or the seed of a random split.
    pub index: usize,
    /// Training nodes, ascending.
    pub train: Vec<u32>,
    /// Validation nodes, ascending.
    pub val: Vec<u32>,
    /// Test nodes, ascending.
    pub test: Vec<u32>,
}

impl Split {
    /// Creates a split. Sorts the parts and checks that they are disjoint sets of nodes below `n_nodes`. The error
    /// says what is wrong; the caller adds the file.
    pub fn new(
        protocol: &str,
        index: usize,
        [mut train, mut val, mut test]: [Vec<u32>; 3],
        n_nodes: usize,
    ) -> Result<Split, String> {
        let mut part_of = vec![""; n_nodes];
        for (part, nodes) in [("train", &mut train), ("val", &mut val), ("test", &mut test)] {
            nodes.sort_unstable();
            for &node in nodes.iter() {
                match part_of.get_mut(node as usize) {
                    None => return Err(format!("node {node} in {part}, but the graph has {n_nodes} nodes")),
                    Some(slot) if slot.is_empty() => *slot = part,
                    Some(slot) if *slot == part => return Err(format!("node {node} twice in {part}")),
                    Some(slot) => return Err(format!("node {node} in both {slot} and {part}")),
                }
            }
        }
        Ok(Split { protocol: protocol.to_owned(), index, train, val, test })
    }

    /// The three parts with their names.
    pub fn parts(&self) -> [(&'static str, &[u32]); 3] {
        [("train", &self.train), ("val", &self.val), ("test", &self.test)]
    }

    /// SHA-256 of the protocol and the nodes of each part, in hexadecimal.
    ///
    /// The hashed text: the protocol on the first line, then one line for each of `train`, `val` and `test` with the
    /// name of the part and its nodes in ascending order, separated by single spaces. Every line ends with `\n`.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{}\n", self.protocol));
        for (part, nodes) in self.parts() {
            hash_line(&mut hash, part, nodes.iter());
        }
        hex(hash)
    }
}

fn hash_line(hash: &mut Sha256, part: &str, items: impl Iterator<Item = impl std::fmt::Display>) {
    hash.update(part);
    for item in items {
        hash.update(format!(" {item}"));
    }
    hash.update("\n");
}

fn hex(hash: Sha256) -> String {
    crate::files::hex(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_must_be_disjoint_sets_of_nodes_of_the_graph() {
        let split =
            |train: &[u32], test: &[u32]| Split::new("own", 0, [train.to_vec(), vec![], test.to_vec()], 3);
        assert_eq!(split(&[2, 0], &[1]).unwrap().train, [0, 2]);
        assert_eq!(split(&[0, 0], &[]).unwrap_err(), "node 0 twice in train");
        assert_eq!(split(&[0], &[0]).unwrap_err(), "node 0 in both train and test");
        assert_eq!(split(&[3], &[]).unwrap_err(), "node 3 in train, but the graph has 3 nodes");
    }

    #[test]
    fn the_hash_covers_the_documented_text() {
        let split = Split::new("own", 0, [vec![2, 0], vec![], vec![1]], 3).unwrap();
        let text = "own\ntrain 0 2\nval\ntest 1\n";
        assert_eq!(split.hash(), hex(Sha256::new_with_prefix(text)));
    }
}
