//! Streaming graph partitioning: linear deterministic greedy (LDG; Stanton and Kliot, KDD 2012).
//!
//! Nodes are visited in breadth-first order. Each joins the part with most of its neighbors, weighted by the free capacity of
//! the part. A second pass lets every node choose again. There is no randomness.

use std::cmp::Ordering;

use crate::graph::Csr;

/// The part of each node. In the first pass, parts have at most n/parts nodes (rounded up); in the second, at most `imbalance`
/// times that.
pub(super) fn partition(adjacency: &Csr, parts: usize, imbalance: f64) -> Vec<u32> {
    let n = adjacency.n_rows();
    let order = breadth_first(adjacency);
    let mut state = StreamState {
        part: vec![UNASSIGNED; n],
        sizes: vec![0; parts],
        neighbor_counts: vec![0; parts],
        touched: Vec::new(),
    };
    // The first part with free capacity.
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
        // A part never becomes empty.
        let to = if state.sizes[from] == 0 {
            from
        } else {
            state.best(adjacency.row(node as usize), most).unwrap_or(from)
        };
        state.join(node, to);
    }
    state.part
}

/// Not assigned yet.
const UNASSIGNED: u32 = u32::MAX;

struct StreamState {
    part: Vec<u32>,
    sizes: Vec<usize>,
    /// Number of neighbors of the current node in each part, and the parts with at least one.
    neighbor_counts: Vec<u32>,
    touched: Vec<u32>,
}

impl StreamState {
    fn join(&mut self, node: u32, to: usize) {
        self.part[node as usize] = to as u32;
        self.sizes[to] += 1;
    }

    /// The part with the largest number of neighbors times free capacity. `None` if no part with a neighbor has free capacity.
    fn best(&mut self, neighbors: &[u32], capacity: usize) -> Option<usize> {
        for &other in neighbors {
            let part = self.part[other as usize];
            if part != UNASSIGNED {
                if self.neighbor_counts[part as usize] == 0 {
                    self.touched.push(part);
                }
                self.neighbor_counts[part as usize] += 1;
            }
        }
        let (mut best, mut best_score) = (None, 0.0);
        for part in self.touched.drain(..) {
            let count = std::mem::take(&mut self.neighbor_counts[part as usize]);
            let free = 1.0 - self.sizes[part as usize] as f64 / capacity as f64;
            let score = f64::from(count) * free;
            // Ties go to the lowest part, so that the order of the neighbors does not matter.
            let better = match score.total_cmp(&best_score) {
                Ordering::Greater => true,
                Ordering::Equal => best.is_some_and(|best| (part as usize) < best),
                Ordering::Less => false,
            };
            if better {
                (best, best_score) = (Some(part as usize), score);
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
    fn parts_of_a_grid_are_balanced_and_cut_few_edges() {
        let side = 60u32;
        let at = |x: u32, y: u32| x * side + y;
        let across = (0..side - 1).flat_map(|x| (0..side).map(move |y| (at(x, y), at(x + 1, y))));
        let along = (0..side).flat_map(|x| (0..side - 1).map(move |y| (at(x, y), at(x, y + 1))));
        let pairs: Vec<(u32, u32)> = across.chain(along).collect();
        // Five nodes are isolated.
        let adjacency = EdgeList { pairs: pairs.clone(), weights: None }.into_adjacency(3605).unwrap().0;
        let part = partition(&adjacency, 12, 1.05);
        let mut sizes = [0usize; 12];
        part.iter().for_each(|&part| sizes[part as usize] += 1);
        assert!(sizes.iter().all(|&size| (150..=316).contains(&size)), "{sizes:?}");
        let cut = pairs.iter().filter(|(u, v)| part[*u as usize] != part[*v as usize]).count();
        // A random partition would cut eleven of twelve edges.
        assert!(4 * cut < pairs.len(), "{cut} of {}", pairs.len());
    }
}
