//! Graph partitioning: parts of about equal size with few edges between them, by METIS (multilevel k-way).
//!
//! METIS keeps a copy of the graph for each of its levels. Graphs with more than [`METIS_UP_TO`] adjacency entries are
//! partitioned by streaming instead (`streamed.rs`), which needs only a few numbers per node.

mod streamed;

use std::sync::Mutex;

use super::{Adjacency, Csr};
use crate::error::{Error, Result};

/// The largest number of adjacency entries (twice the number of edges) that is given to METIS.
pub const METIS_UP_TO: usize = 1 << 25;

/// The part (0..parts) of each node. METIS minimizes the number of edges between parts and keeps the size of each part below
/// `imbalance` times the mean. Isolated nodes, which do not affect the cut, fill the smallest parts.
///
/// Deterministic for the same graph, number of parts and seed.
///
/// # Errors
/// If `parts` is 0 or larger than the number of nodes, or if METIS fails.
pub fn partition(adjacency: &Adjacency, parts: usize, imbalance: f64, seed: i32) -> Result<Vec<u32>> {
    let n = adjacency.n_rows();
    if parts == 0 || parts > n {
        let expected = format!("1 to {n}, the number of nodes");
        return Err(Error::value("parts", parts, expected));
    }
    if adjacency.n_entries() > METIS_UP_TO {
        return Ok(streamed::partition(adjacency, parts, imbalance));
    }
    let connected: Vec<u32> =
        (0..n as u32).filter(|&node| !adjacency.row(node as usize).is_empty()).collect();
    let mut part = vec![u32::MAX; n];
    if parts == 1 || connected.len() <= parts {
        // Nothing to optimize; METIS needs at least as many nodes as parts.
        connected.iter().enumerate().for_each(|(i, &node)| part[node as usize] = (i % parts) as u32);
    } else {
        let found = kway(adjacency, &connected, parts, imbalance, seed)?;
        connected.iter().zip(found).for_each(|(&node, found)| part[node as usize] = found as u32);
    }
    let mut sizes = vec![0usize; parts];
    part.iter().filter(|&&p| p != u32::MAX).for_each(|&p| sizes[p as usize] += 1);
    for slot in part.iter_mut().filter(|p| **p == u32::MAX) {
        let smallest = (0..parts).min_by_key(|&p| sizes[p]).unwrap_or(0);
        sizes[smallest] += 1;
        *slot = smallest as u32;
    }
    Ok(part)
}

/// METIS uses one random number generator per process, so concurrent calls would not be deterministic.
static METIS_LOCK: Mutex<()> = Mutex::new(());

fn kway(adjacency: &Csr, nodes: &[u32], parts: usize, imbalance: f64, seed: i32) -> Result<Vec<metis::Idx>> {
    let failed =
        |why: &dyn std::fmt::Display| Error::Failed(format!("METIS failed to partition the graph: {why}"));
    let index =
        |x: usize| metis::Idx::try_from(x).map_err(|_| failed(&"more than 2³¹ − 1 adjacency entries"));
    let mut index_of = vec![0; adjacency.n_rows()];
    for (i, &node) in nodes.iter().enumerate() {
        index_of[node as usize] = index(i)?;
    }
    let (mut offsets, mut neighbors) = (vec![0], Vec::with_capacity(adjacency.n_entries()));
    for &node in nodes {
        neighbors.extend(adjacency.row(node as usize).iter().map(|&other| index_of[other as usize]));
        offsets.push(index(neighbors.len())?);
    }
    let graph = metis::Graph::new(1, index(parts)?, &offsets, &neighbors).map_err(|error| failed(&error))?;
    // METIS takes the allowed imbalance above the mean in thousandths.
    let tolerance = ((imbalance - 1.0) * 1000.0).round() as metis::Idx;
    let mut found = vec![0; nodes.len()];
    let _guard = METIS_LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    graph
        .set_option(metis::option::Seed(seed))
        .set_option(metis::option::UFactor(tolerance.max(1)))
        .part_kway(&mut found)
        .map_err(|error| failed(&error))?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::EdgeList;

    /// A chain of cliques of ten nodes, connected by single edges, and some isolated nodes.
    fn cliques(count: u32, isolated: usize) -> Adjacency {
        let mut pairs = Vec::new();
        for c in 0..count {
            let nodes = c * 10..c * 10 + 10;
            pairs.extend(nodes.clone().flat_map(|u| (u + 1..c * 10 + 10).map(move |v| (u, v))));
            if c > 0 {
                pairs.push((c * 10 - 1, c * 10));
            }
        }
        EdgeList { pairs, weights: None }.into_adjacency(count as usize * 10 + isolated).unwrap().0
    }

    #[test]
    fn cliques_stay_together_and_isolated_nodes_balance_the_parts() {
        let adjacency = cliques(8, 4);
        let part = partition(&adjacency, 4, 1.03, 0).unwrap();
        assert_eq!(part, partition(&adjacency, 4, 1.03, 0).unwrap());
        for clique in part[..80].chunks(10) {
            assert!(clique.iter().all(|p| p == &clique[0]), "{part:?}");
        }
        let mut sizes = [0; 4];
        part.iter().for_each(|&p| sizes[p as usize] += 1);
        assert_eq!(sizes, [21; 4]);
    }

    /// Training batches depend on the partition, so it must not change with the version or build options of METIS,
    /// which draws from the C library's generator.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn the_partition_of_a_grid_is_pinned() {
        let side = 30;
        let right = (0..side * side).filter(|u| u % side + 1 < side).map(|u| (u, u + 1));
        let down = (0..side * (side - 1)).map(|u| (u, u + side));
        let pairs = right.chain(down).collect();
        let adjacency = EdgeList { pairs, weights: None }.into_adjacency((side * side) as usize).unwrap().0;
        let part = partition(&adjacency, 9, 1.03, 0).unwrap();
        let fnv = |hash: u64, &p: &u32| (hash ^ u64::from(p)).wrapping_mul(0x0100_0000_01b3);
        assert_eq!(part.iter().fold(0xcbf2_9ce4_8422_2325, fnv), 0xdaee_80d8_41d2_2698);
    }

    #[test]
    fn more_parts_than_nodes_are_an_error_and_few_connected_nodes_are_not() {
        let message = partition(&cliques(1, 0), 11, 1.03, 0).unwrap_err().to_string();
        assert_eq!(message, "parts: found 11, expected 1 to 10, the number of nodes");
        let pair = EdgeList { pairs: vec![(0, 1)], weights: None }.into_adjacency(6).unwrap().0;
        let mut part = partition(&pair, 6, 1.03, 0).unwrap();
        part.sort_unstable();
        assert_eq!(part, [0, 1, 2, 3, 4, 5]);
    }
}
