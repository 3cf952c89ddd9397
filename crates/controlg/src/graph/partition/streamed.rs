//! Parts by one stream over the nodes: each joins the part where most of its neighbors are, the less so the fuller it
//! is (linear deterministic greedy; Stanton and Kliot, KDD 2012). A second stream lets every node choose again.
//!
//! Nodes come breadth first, so a part that is being filled grows as a ball; no draw is made.

use std::cmp::Ordering;

use crate::graph::Csr;

/// The part of each node. In the first stream parts hold exactly their share, in the second up to `imbalance` of it.
pub(super) fn partition(adjacency: &Csr, parts: usize, imbalance: f64) -> Vec<u32> {
    let n = adjacency.n_rows();
    let order = breadth_first(adjacency);
    let mut state =
        StreamState { part: vec![NONE; n], sizes: vec![0; parts], near: vec![0; parts], met: Vec::new() };
    // The first part with room; parts before it are full.
    let (share, mut open) = (n.div_ceil(parts), 0);
    for &node in &order {
        while open + 1 < parts && state.sizes[open] >= share {
            open += 1;
        }
        let to = state.best(adjacency.row(node as usize), share).unwrap_or(open);
        state.join(node, to);
    }
    let most = ((n as f64 / parts as f64) * imbalance).ceil() as usize;
    for &node in &order {
        let from = state.part[node as usize] as usize;
        state.sizes[from] -= 1;
        // Nobody leaves the last seat of a part.
        let to = if state.sizes[from] == 0 {
            from
        } else {
            state.best(adjacency.row(node as usize), most).unwrap_or(from)
        };
        state.join(node, to);
    }
    state.part
}

/// Not in a part yet.
const NONE: u32 = u32::MAX;

struct StreamState {
    part: Vec<u32>,
    sizes: Vec<usize>,
    /// Neighbors in each part of the node that is looked at, and the parts where there are any.
    near: Vec<u32>,
    met: Vec<u32>,
}

impl StreamState {
    fn join(&mut self, node: u32, to: usize) {
        self.part[node as usize] = to as u32;
        self.sizes[to] += 1;
    }

    /// The part with the most neighbors, weighed by the room that is left in it; none where no neighbor's part has
    /// any room.
    fn best(&mut self, neighbors: &[u32], room: usize) -> Option<usize> {
        for &other in neighbors {
            let part = self.part[other as usize];
            if part != NONE {
                if self.near[part as usize] == 0 {
                    self.met.push(part);
                }
                self.near[part as usize] += 1;
            }
        }
        let (mut best, mut most) = (None, 0.0);
        for part in self.met.drain(..) {
            let near = std::mem::take(&mut self.near[part as usize]);
            let left = 1.0 - self.sizes[part as usize] as f64 / room as f64;
            let score = f64::from(near) * left;
            // Of equals the part of the lowest number: the order in which neighbors stand does not count.
            let better = match score.total_cmp(&most) {
                Ordering::Greater => true,
                Ordering::Equal => best.is_some_and(|best| (part as usize) < best),
                Ordering::Less => false,
            };
            if better {
                (best, most) = (Some(part as usize), score);
            }
        }
        best
    }
}

fn breadth_first(adjacency: &Csr) -> Vec<u32> {
    let n = adjacency.n_rows();
    let (mut seen, mut order) = (vec![false; n], Vec::with_capacity(n));
    for start in 0..n {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut at = order.len();
        order.push(start as u32);
        while at < order.len() {
            for &next in adjacency.row(order[at] as usize) {
                if !std::mem::replace(&mut seen[next as usize], true) {
                    order.push(next);
                }
            }
            at += 1;
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::EdgeList;

    #[test]
    fn parts_of_a_grid_are_balanced_and_cut_far_fewer_edges_than_chance() {
        let side = 60u32;
        let at = |x: u32, y: u32| x * side + y;
        let across = (0..side - 1).flat_map(|x| (0..side).map(move |y| (at(x, y), at(x + 1, y))));
        let along = (0..side).flat_map(|x| (0..side - 1).map(move |y| (at(x, y), at(x, y + 1))));
        let pairs: Vec<(u32, u32)> = across.chain(along).collect();
        // A few nodes stand alone.
        let adjacency = EdgeList { pairs: pairs.clone(), weights: None }.into_adjacency(3605).unwrap().0;
        let part = partition(&adjacency, 12, 1.05);
        let mut sizes = [0usize; 12];
        part.iter().for_each(|&part| sizes[part as usize] += 1);
        assert!(sizes.iter().all(|&size| (150..=316).contains(&size)), "{sizes:?}");
        let cut = pairs.iter().filter(|(u, v)| part[*u as usize] != part[*v as usize]).count();
        // By chance eleven of twelve edges would be cut.
        assert!(4 * cut < pairs.len(), "{cut} of {}", pairs.len());
    }
}
