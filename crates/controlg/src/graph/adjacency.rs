//! The adjacency matrix of an undirected graph, checked once so that kernels can rely on it.

use std::ops::{Deref, Range};
use std::sync::Arc;

use rayon::prelude::*;

use super::{Csr, Relations};
use crate::error::{Error, Result};

/// The adjacency matrix of a simple undirected graph, in CSR form.
///
/// The matrix is square and symmetric, values included. Each row is sorted, without duplicates and without a diagonal
/// entry (no self-loops). Values, if present, are positive, finite edge weights.
///
/// An `Adjacency` is proof of these properties: [`Adjacency::new`] checks them in every build, and functions that take
/// one do not check again. It dereferences to [`Csr`] for reading. To build one from an edge list, use
/// [`EdgeList::into_adjacency`](super::EdgeList::into_adjacency).
///
/// ```
/// use controlg::graph::{Adjacency, Csr};
///
/// // The path 0 – 1 – 2.
/// let csr = Csr::new(3, vec![0, 1, 3, 4], vec![1, 0, 2, 1], None)?;
/// let adjacency = Adjacency::new(csr)?;
/// assert_eq!(adjacency.row(1), [0, 2]);
///
/// // An edge that is stored in one direction only is an error.
/// let directed = Csr::new(2, vec![0, 1, 1], vec![1], None)?;
/// let message = Adjacency::new(directed).unwrap_err().to_string();
/// assert_eq!(message, "adjacency, row 0: found entry (0, 1) without its mirror, expected a symmetric matrix");
/// # Ok::<(), controlg::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Adjacency {
    csr: Csr,
    /// The relation of each entry, if the graph has types.
    relations: Option<Arc<Relations>>,
}

impl Adjacency {
    /// Checks a matrix, in parallel and in linear time.
    ///
    /// # Errors
    /// If the matrix is not square or not symmetric, if a row is not strictly ascending or has a diagonal entry, or if a
    /// weight is not a positive, finite number.
    pub fn new(csr: Csr) -> Result<Self> {
        check(&csr)?;
        Ok(Adjacency { csr, relations: None })
    }

    /// Wraps a matrix that is known to be the adjacency of a simple undirected graph.
    pub(crate) fn new_unchecked(csr: Csr) -> Self {
        debug_assert!(check(&csr).is_ok(), "{:?}", check(&csr).err());
        Adjacency { csr, relations: None }
    }

    /// The relation of each entry; `None` for a homogeneous graph.
    pub fn relations(&self) -> Option<&Relations> {
        self.relations.as_deref()
    }

    /// The same matrix with the relations of its entries.
    pub(super) fn with_relations(self, relations: Relations) -> Self {
        Adjacency { relations: Some(Arc::new(relations)), ..self }
    }

    /// A matrix with some of the entries of `whole`, with their relations.
    pub(super) fn with_relations_of(self, whole: &Adjacency) -> Self {
        match whole.relations() {
            Some(relations) => {
                let restricted = relations.restricted(whole, &self);
                self.with_relations(restricted)
            }
            None => self,
        }
    }

    /// The nodes that send messages along each direction of each relation: all nodes, once, in a homogeneous graph.
    pub fn senders(&self) -> Vec<Range<usize>> {
        self.relations().map_or_else(|| std::iter::once(0..self.csr.n_rows()).collect(), Relations::senders)
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        self.csr.memory_bytes() + self.relations().map_or(0, Relations::memory_bytes)
    }

    /// The matrix.
    pub fn as_csr(&self) -> &Csr {
        &self.csr
    }

    /// The matrix, by value.
    pub fn into_csr(self) -> Csr {
        self.csr
    }
}

impl Deref for Adjacency {
    type Target = Csr;

    fn deref(&self) -> &Csr {
        &self.csr
    }
}

fn check(csr: &Csr) -> Result<()> {
    let error = (0..csr.n_rows()).into_par_iter().find_map_first(|row| check_row(csr, row).err());
    error.map_or_else(|| check_symmetric("adjacency", csr), Err)
}

/// Checks that a matrix with sorted rows equals its transpose.
pub(super) fn check_symmetric(name: &str, csr: &Csr) -> Result<()> {
    if csr.n_rows() != csr.n_cols() {
        let found = format!("{} × {}", csr.n_rows(), csr.n_cols());
        return Err(Error::value(name, found, "a square matrix"));
    }
    let ranges = row_ranges(csr);
    ranges.into_par_iter().find_map_first(|rows| check_mirrors(name, csr, rows).err()).map_or(Ok(()), Err)
}

fn check_row(csr: &Csr, row: usize) -> Result<()> {
    let columns = csr.row(row);
    let place = || format!("adjacency, row {row}");
    if let Some(pair) = columns.windows(2).find(|pair| pair[0] >= pair[1]) {
        let found = format!("column {} after {}", pair[1], pair[0]);
        return Err(Error::value(place(), found, "strictly ascending columns"));
    }
    if columns.binary_search(&(row as u32)).is_ok() {
        return Err(Error::value(place(), "a self-loop", "no self-loops"));
    }
    match csr.entries(row).find(|(_, weight)| !(*weight > 0.0 && weight.is_finite())) {
        Some((column, weight)) => {
            let found = format!("weight {weight} to node {column}");
            Err(Error::value(place(), found, "positive, finite weights"))
        }
        None => Ok(()),
    }
}

/// Splits the rows into ranges with about the same number of entries. Each range needs one cursor per node, so there are
/// few ranges when the graph has few entries per node.
fn row_ranges(csr: &Csr) -> Vec<Range<usize>> {
    let (n, entries) = (csr.n_rows(), csr.n_entries());
    let count = (entries / (8 * n.max(1))).clamp(1, rayon::current_num_threads());
    let start = |range: usize| match range {
        0 => 0,
        _ if range == count => n,
        _ => csr.offsets()[..n].partition_point(|&offset| offset < entries / count * range),
    };
    (0..count).map(|range| start(range)..start(range + 1)).collect()
}

/// Checks that every entry (u, v) with u in `rows` has a mirror (v, u) with the same value.
///
/// Rows are visited in ascending order, so the mirrors in row v are met in ascending order too, and one cursor per row
/// finds them all without a search.
fn check_mirrors(name: &str, csr: &Csr, rows: Range<usize>) -> Result<()> {
    let mut cursor: Vec<u32> = if rows.start == 0 {
        vec![0; csr.n_rows()]
    } else {
        let first = |v: usize| csr.row(v).partition_point(|&u| (u as usize) < rows.start) as u32;
        (0..csr.n_rows()).map(first).collect()
    };
    let value = |at: usize| csr.values().map_or(1.0, |values| values[at]);
    for u in rows {
        for at in csr.offsets()[u]..csr.offsets()[u + 1] {
            let v = csr.columns()[at] as usize;
            let mirror = csr.offsets()[v] + cursor[v] as usize;
            let found = csr.columns()[mirror..csr.offsets()[v + 1]].first().map(|&u| u as usize);
            if found != Some(u) {
                let (from, to) = match found {
                    Some(other) if other < u => (v, other),
                    _ => (u, v),
                };
                let place = format_args!("{name}, row {from}");
                let found = format!("entry ({from}, {to}) without its mirror");
                return Err(Error::value(place, found, "a symmetric matrix"));
            }
            let (there, back) = (value(at), value(mirror));
            #[allow(clippy::float_cmp)] // both directions store the same number
            if there != back {
                let found = format!("{there} at ({u}, {v}), but {back} at ({v}, {u})");
                return Err(Error::value(format_args!("{name}, row {u}"), found, "a symmetric matrix"));
            }
            cursor[v] += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Real;
    use crate::graph::EdgeList;

    fn message(n_cols: usize, offsets: &[usize], columns: &[u32], weights: Option<&[Real]>) -> String {
        let csr = Csr::from_parts(n_cols, offsets.to_vec(), columns.to_vec(), weights.map(<[_]>::to_vec));
        Adjacency::new(csr).unwrap_err().to_string()
    }

    #[test]
    fn rejects_matrices_that_are_not_simple_undirected_graphs() {
        let expected = "found entry (1, 0) without its mirror, expected a symmetric matrix";
        assert_eq!(message(3, &[0, 0, 1, 1], &[0], None), format!("adjacency, row 1: {expected}"));
        assert_eq!(message(3, &[0, 0, 1], &[0], None), "adjacency: found 2 × 3, expected a square matrix");
        assert!(message(2, &[0, 1, 2], &[0, 1], None).contains("row 0: found a self-loop"));
        let unsorted = message(3, &[0, 2, 3, 4], &[2, 1, 0, 0], None);
        assert!(unsorted.contains("row 0: found column 1 after 2"), "{unsorted}");
        let twice = message(2, &[0, 2, 4], &[1, 1, 0, 0], None);
        assert!(twice.contains("found column 1 after 1"), "{twice}");
    }

    #[test]
    fn rejects_weights_that_are_asymmetric_or_not_positive() {
        let message = |a, b| message(2, &[0, 1, 2], &[1, 0], Some(&[a, b]));
        assert!(message(1.0, 2.0).contains("1 at (0, 1), but 2 at (1, 0)"));
        for bad in [0.0, -1.0, Real::NAN, Real::INFINITY] {
            assert!(message(bad, bad).contains("expected positive, finite weights"), "{bad}");
        }
    }

    /// A graph with enough entries per node to be checked in several ranges.
    #[test]
    fn finds_a_missing_reverse_edge_in_any_range() {
        let n = 60u32;
        let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))).collect();
        let (complete, _) = EdgeList { pairs, weights: None }.into_adjacency(n as usize).unwrap();
        assert!(Adjacency::new(complete.clone().into_csr()).is_ok());
        for (from, to) in [(0, 59), (31, 30), (59, 0), (58, 59), (17, 45)] {
            let all: Vec<u32> = (0..n).collect();
            let mut offsets = vec![0];
            let mut columns = Vec::new();
            for &row in &all {
                let kept = complete.row(row as usize).iter().filter(|&&v| (row, v) != (from, to));
                columns.extend(kept);
                offsets.push(columns.len());
            }
            let message = message(n as usize, &offsets, &columns, None);
            assert!(message.contains(&format!("entry ({to}, {from}) without its mirror")), "{message}");
        }
    }
}
