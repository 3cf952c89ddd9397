//! Builds the adjacency of a simple undirected graph from an edge list.

use rayon::prelude::*;

use super::{Adjacency, Csr};
use crate::Real;
use crate::error::{Error, Result};

/// A raw edge list (COO format): directed or undirected, possibly with duplicates and self-loops.
///
/// ```
/// use controlg::graph::EdgeList;
///
/// let edges = EdgeList { pairs: vec![(0, 1), (1, 0), (1, 2), (2, 2)], weights: None };
/// let (adjacency, counts) = edges.into_adjacency(3)?;
/// assert_eq!(adjacency.row(1), [0, 2]);
/// assert_eq!(counts.self_loops, 1); // dropped
/// # Ok::<(), controlg::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct EdgeList {
    /// (source, target) of each edge.
    pub pairs: Vec<(u32, u32)>,
    /// One positive weight per edge; `None` if all weights are 1.
    pub weights: Option<Vec<Real>>,
}

/// What [`EdgeList::into_adjacency`] changed to make the graph simple and undirected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    /// Nodes with a self-loop. Self-loops are dropped.
    pub self_loops: usize,
    /// Edges with the same source and target as an earlier one, self-loops included. Duplicates are merged.
    pub duplicates: usize,
    /// Duplicates whose weight was added to that of an earlier edge; 0 without weights.
    pub summed: usize,
    /// Pairs with different weights in the two directions, which get the mean; 0 without weights.
    pub averaged: usize,
    /// Whether some pairs appear in both directions and others in one only. A list that holds every pair once, or
    /// every pair in both directions, already describes an undirected graph.
    pub directed: bool,
}

impl EdgeList {
    /// The adjacency of the undirected graph on nodes `0..n` with these edges. Self-loops are dropped, duplicates merged.
    ///
    /// The weights of duplicates, edges with the same source and target, are summed, as in a SciPy matrix. A pair that is
    /// listed in both directions is one undirected edge in its symmetric form: it gets the mean of the two directions, so
    /// a symmetric list keeps its weights.
    ///
    /// ```
    /// use controlg::graph::EdgeList;
    ///
    /// let edges = EdgeList { pairs: vec![(0, 1), (0, 1), (1, 2), (2, 1)], weights: Some(vec![1.0, 2.0, 5.0, 5.0]) };
    /// let (adjacency, counts) = edges.into_adjacency(3)?;
    /// assert_eq!(adjacency.entries(1).collect::<Vec<_>>(), [(0, 3.0), (2, 5.0)]);
    /// assert_eq!(counts.summed, 1);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a node id is not below `n`, if there is not one positive, finite weight per edge, or if a sum of weights is not
    /// finite.
    pub fn into_adjacency(self, n: usize) -> Result<(Adjacency, EdgeCounts)> {
        self.check(n)?;
        let (csr, counts) = match self.weights {
            None => {
                let entries = self.pairs.into_iter();
                let (rows, counts) = symmetric_rows(n, entries.map(|(u, v)| (u, v, ())));
                (Csr::from_parts(n, rows.0, rows.1, None), counts)
            }
            Some(weights) => {
                let entries = self.pairs.into_iter().zip(weights);
                let (rows, counts) = symmetric_rows(n, entries.map(|((u, v), w)| (u, v, w)));
                check_sums(&rows)?;
                (Csr::from_parts(n, rows.0, rows.1, Some(rows.2)), counts)
            }
        };
        Ok((Adjacency::new_unchecked(csr), counts))
    }

    fn check(&self, n: usize) -> Result<()> {
        if u32::try_from(n).is_err() {
            return Err(Error::value("graph", format_args!("{n} nodes"), "fewer than 2^32 nodes"));
        }
        let outside = |&(u, v): &(u32, u32)| u.max(v) as usize >= n;
        if let Some(at) = self.pairs.par_iter().position_first(outside) {
            let (u, v) = self.pairs[at];
            return Err(Error::value(
                format_args!("edge {at}"),
                format_args!("({u}, {v})"),
                format_args!("node ids below {n}"),
            ));
        }
        let Some(weights) = &self.weights else { return Ok(()) };
        if weights.len() != self.pairs.len() {
            let expected = format!("{}, one per edge", self.pairs.len());
            return Err(Error::value("edge weights", weights.len(), expected));
        }
        let bad = |weight: &Real| !(*weight > 0.0 && weight.is_finite());
        match weights.par_iter().position_first(bad) {
            Some(at) => {
                Err(Error::value(format_args!("edge {at}, weight"), weights[at], "a positive, finite number"))
            }
            None => Ok(()),
        }
    }
}

type AdjacencyRows<W> = (Vec<usize>, Vec<u32>, Vec<W>);

/// Checks that the sums of weights are finite.
fn check_sums((offsets, columns, weights): &AdjacencyRows<Real>) -> Result<()> {
    let Some(at) = weights.par_iter().position_first(|weight| !weight.is_finite()) else { return Ok(()) };
    let (u, v) = (offsets.partition_point(|&offset| offset <= at) - 1, columns[at]);
    Err(Error::value(format_args!("weights of edge ({u}, {v})"), weights[at], "a finite sum"))
}

/// The weight of an edge: a number, or nothing.
trait Weight: Copy + Send + Sync {
    const EXISTS: bool;
    fn plus(self, other: Self) -> Self;
    fn mean(self, other: Self) -> Self;
    fn differs(self, other: Self) -> bool;
}

impl Weight for () {
    const EXISTS: bool = false;
    fn plus(self, (): Self) {}
    fn mean(self, (): Self) {}
    fn differs(self, (): Self) -> bool {
        false
    }
}

impl Weight for Real {
    const EXISTS: bool = true;
    fn plus(self, other: Self) -> Self {
        self + other
    }
    fn mean(self, other: Self) -> Self {
        (self + other) / 2.0
    }
    fn differs(self, other: Self) -> bool {
        self.to_bits() != other.to_bits()
    }
}

/// An edge as seen from one of its nodes: the other node, whether the edge points here, and its weight.
#[derive(Clone, Copy)]
struct HalfEdge<W> {
    other: u32,
    reverse: bool,
    weight: W,
}

fn symmetric_rows<W: Weight>(
    n: usize,
    edges: impl Iterator<Item = (u32, u32, W)> + Clone,
) -> (AdjacencyRows<W>, EdgeCounts) {
    // A counting sort by row keeps the input order within a row, so both rows of an edge sum in the same order.
    let mut offsets = vec![0usize; n + 1];
    for (u, v, _) in edges.clone() {
        offsets[u as usize + 1] += 1;
        offsets[v as usize + 1] += 1;
    }
    for i in 0..n {
        offsets[i + 1] += offsets[i];
    }
    let mut next = offsets.clone();
    let mut half_edges: Vec<Option<HalfEdge<W>>> = vec![None; offsets[n]];
    for (u, v, weight) in edges {
        for (row, other, reverse) in [(u, v, false), (v, u, true)] {
            half_edges[next[row as usize]] = Some(HalfEdge { other, reverse, weight });
            next[row as usize] += 1;
        }
    }
    drop(next);

    let mut rows: Vec<&mut [Option<HalfEdge<W>>]> = Vec::with_capacity(n);
    let mut rest = &mut half_edges[..];
    for row in 0..n {
        let (head, tail) = rest.split_at_mut(offsets[row + 1] - offsets[row]);
        rows.push(head);
        rest = tail;
    }
    let row_counts: Vec<RowCount> =
        rows.par_iter_mut().enumerate().map(|(row, half_edges)| merge_row(row as u32, half_edges)).collect();
    drop(rows);

    let mut new_offsets = Vec::with_capacity(n + 1);
    new_offsets.push(0);
    let mut columns = Vec::with_capacity(row_counts.iter().map(|count| count.kept).sum());
    let mut weights = Vec::with_capacity(columns.capacity());
    for row in 0..n {
        for edge in half_edges[offsets[row]..][..row_counts[row].kept].iter().flatten() {
            columns.push(edge.other);
            weights.push(edge.weight);
        }
        new_offsets.push(columns.len());
    }
    let total = |pick: fn(&RowCount) -> usize| row_counts.iter().map(pick).sum::<usize>();
    let (both_ways, one_way) = (total(|c| c.both_ways), total(|c| c.one_way));
    let edge_counts = EdgeCounts {
        self_loops: total(|c| c.self_loop),
        duplicates: total(|c| c.duplicates),
        summed: total(|c| c.summed),
        averaged: total(|c| c.averaged),
        directed: both_ways > 0 && one_way > 0,
    };
    ((new_offsets, columns, weights), edge_counts)
}

#[derive(Clone, Copy, Default)]
struct RowCount {
    kept: usize,
    self_loop: usize,
    duplicates: usize,
    summed: usize,
    averaged: usize,
    both_ways: usize,
    one_way: usize,
}

/// Sorts a row, merges the half-edges to the same neighbor, and moves the result to the front of the row.
fn merge_row<W: Weight>(row: u32, half_edges: &mut [Option<HalfEdge<W>>]) -> RowCount {
    let key = |edge: &Option<HalfEdge<W>>| edge.map(|edge| (edge.other, edge.reverse));
    half_edges.sort_by_key(key); // stable: duplicates keep their input order
    let mut count = RowCount::default();
    let mut at = 0;
    while at < half_edges.len() {
        let Some(first) = half_edges[at] else { break };
        let len = half_edges[at..]
            .iter()
            .take_while(|edge| edge.is_some_and(|edge| edge.other == first.other))
            .count();
        let group = &half_edges[at..at + len];
        at += len;
        let forward = group.iter().take_while(|edge| edge.is_some_and(|edge| !edge.reverse)).count();
        // Both rows of a duplicate see it; only the forward side counts it.
        count.duplicates += forward.saturating_sub(1);
        if first.other == row {
            count.self_loop = 1;
            continue;
        }
        count.summed += if W::EXISTS { forward.saturating_sub(1) } else { 0 };
        let weight = match (sum(&group[..forward]), sum(&group[forward..])) {
            (Some(there), Some(back)) => {
                count.both_ways += 1;
                // Both rows see the pair; only the first counts it.
                count.averaged += usize::from(row < first.other && there.differs(back));
                there.mean(back)
            }
            (one, other) => {
                count.one_way += 1;
                one.or(other).unwrap_or(first.weight)
            }
        };
        half_edges[count.kept] = Some(HalfEdge { weight, ..first });
        count.kept += 1;
    }
    count
}

/// The sum of weights in input order.
fn sum<W: Weight>(half_edges: &[Option<HalfEdge<W>>]) -> Option<W> {
    half_edges.iter().flatten().map(|edge| edge.weight).reduce(W::plus)
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // the weights below are exact
mod tests {
    use super::*;

    fn build(n: usize, pairs: &[(u32, u32)]) -> (Adjacency, EdgeCounts) {
        EdgeList { pairs: pairs.to_vec(), weights: None }.into_adjacency(n).unwrap()
    }

    #[test]
    fn loops_and_duplicates_are_counted_and_dropped() {
        let (adjacency, counts) = build(4, &[(0, 1), (1, 0), (0, 1), (2, 2), (2, 2), (1, 2)]);
        assert_eq!(adjacency.n_entries() / 2, 2);
        assert_eq!(adjacency.row(3), &[] as &[u32]);
        assert_eq!(
            counts,
            EdgeCounts { self_loops: 1, duplicates: 2, directed: true, ..EdgeCounts::default() }
        );
    }

    #[test]
    fn a_list_of_single_pairs_or_of_double_pairs_is_undirected() {
        assert!(!build(3, &[(0, 1), (2, 1)]).1.directed);
        assert!(!build(3, &[(0, 1), (2, 1), (1, 2), (1, 0)]).1.directed);
    }

    #[test]
    fn weights_of_duplicates_are_summed_and_directions_get_the_mean() {
        let weighted = |pairs: &[(u32, u32)], weights: &[Real]| {
            let list = EdgeList { pairs: pairs.to_vec(), weights: Some(weights.to_vec()) };
            let (adjacency, counts) = list.into_adjacency(3).unwrap();
            let rows: Vec<Vec<_>> = (0..3).map(|row| adjacency.entries(row).collect()).collect();
            (rows, counts.summed, counts.averaged)
        };
        let (rows, summed, averaged) =
            weighted(&[(0, 1), (1, 2), (0, 1), (2, 2), (2, 2)], &[1.0, 5.0, 9.0, 1.0, 1.0]);
        assert_eq!(
            (rows, summed, averaged),
            (vec![vec![(1, 10.0)], vec![(0, 10.0), (2, 5.0)], vec![(1, 5.0)]], 1, 0)
        );
        // A symmetric list keeps its weights, also if each direction has duplicates.
        let (rows, summed, averaged) = weighted(&[(0, 1), (1, 0), (1, 0), (0, 1)], &[1.0, 1.0, 3.0, 3.0]);
        assert_eq!((rows, summed, averaged), (vec![vec![(1, 4.0)], vec![(0, 4.0)], vec![]], 2, 0));
        let (rows, summed, averaged) = weighted(&[(0, 1), (0, 1), (1, 0)], &[1.0, 2.0, 5.0]);
        assert_eq!((rows, summed, averaged), (vec![vec![(1, 4.0)], vec![(0, 4.0)], vec![]], 1, 1));
    }

    #[test]
    fn bad_ids_and_weights_are_errors() {
        let message = |pairs: &[(u32, u32)], weights: Option<&[Real]>| {
            let list = EdgeList { pairs: pairs.to_vec(), weights: weights.map(<[_]>::to_vec) };
            list.into_adjacency(3).unwrap_err().to_string()
        };
        assert_eq!(message(&[(0, 1), (1, 3)], None), "edge 1: found (1, 3), expected node ids below 3");
        assert_eq!(message(&[(0, 1)], Some(&[])), "edge weights: found 0, expected 1, one per edge");
        for bad in [0.0, -2.0, Real::NAN, Real::INFINITY] {
            let message = message(&[(0, 1), (1, 2)], Some(&[1.0, bad]));
            assert_eq!(message, format!("edge 1, weight: found {bad}, expected a positive, finite number"));
        }
        let message = message(&[(1, 2), (1, 2)], Some(&[Real::MAX, Real::MAX]));
        assert_eq!(message, "weights of edge (1, 2): found inf, expected a finite sum");
    }
}
