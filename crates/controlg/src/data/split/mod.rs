//! Which nodes, or edges, train, choose and judge.
//!
//! A [`Split`] either came with the files or is drawn from (protocol, seed) alone. Its [`Split::hash`] can be
//! published beside a number, so that anybody can check that they used the same nodes.

mod edges;
mod protocol;
mod random;

pub use edges::EdgeSplit;
pub use protocol::{PROTOCOLS, Protocol};
pub use random::{random_10_10_80, shchur_20_30};

use sha2::{Digest, Sha256};

/// One split of the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The protocol it belongs to.
    pub protocol: String,
    /// Its number among the splits of that protocol: a file's number, or the seed of a random one.
    pub index: usize,
    /// Nodes a probe is fitted on, ascending.
    pub train: Vec<u32>,
    /// Nodes settings are chosen on, ascending.
    pub val: Vec<u32>,
    /// Nodes that judge, ascending.
    pub test: Vec<u32>,
}

impl Split {
    /// Sorts the parts and checks that they are lists of distinct nodes below `n_nodes`, none in two of them. The
    /// error says what was found; the caller knows the file it stands in.
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
                    None => return Err(format!("node {node} in {part} of a graph of {n_nodes} nodes")),
                    Some(slot) if slot.is_empty() => *slot = part,
                    Some(slot) if *slot == part => return Err(format!("node {node} twice in {part}")),
                    Some(slot) => return Err(format!("node {node} in both {slot} and {part}")),
                }
            }
        }
        Ok(Split { protocol: protocol.to_owned(), index, train, val, test })
    }

    /// The three parts, named.
    pub fn parts(&self) -> [(&'static str, &[u32]); 3] {
        [("train", &self.train), ("val", &self.val), ("test", &self.test)]
    }

    /// SHA-256 over the protocol and the nodes of each part, in hexadecimal.
    ///
    /// The text that is hashed: the protocol, then for each of `train`, `val`, `test` a line with the part's name
    /// and its nodes in ascending order, all separated by single spaces, every line ended by `\n`.
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
    fn parts_must_be_disjoint_lists_of_known_nodes() {
        let split =
            |train: &[u32], test: &[u32]| Split::new("own", 0, [train.to_vec(), vec![], test.to_vec()], 3);
        assert_eq!(split(&[2, 0], &[1]).unwrap().train, [0, 2]);
        assert_eq!(split(&[0, 0], &[]).unwrap_err(), "node 0 twice in train");
        assert_eq!(split(&[0], &[0]).unwrap_err(), "node 0 in both train and test");
        assert_eq!(split(&[3], &[]).unwrap_err(), "node 3 in train of a graph of 3 nodes");
    }

    #[test]
    fn the_hash_is_that_of_the_documented_text() {
        let split = Split::new("own", 0, [vec![2, 0], vec![], vec![1]], 3).unwrap();
        let text = "own\ntrain 0 2\nval\ntest 1\n";
        assert_eq!(split.hash(), hex(Sha256::new_with_prefix(text)));
    }
}
