//! Binary cross-entropy of pairs scored by dot products: value and gradient over the graph of the pairs.
//!
//! Where the rows fit the caches it is one pass: every pair is scored from both of its ends, so that the partner's row is
//! still in the L1 cache when it is added to the gradient. Else rows are read in strips of columns that do fit, once for
//! the scores and once for the gradient.

use super::loss::{Mean, bce_with_logits, sigmoid, softplus};
use super::pairs::PairGraph;
use super::parallel::{Shared, each, sum_chunks};
use super::rows::short_dot;
use super::simd::{madd, prefetch};
use super::spmm::Cuts;
use super::{scratch, strips};
use crate::Real;
use std::ops::Range;

/// −log σ(z_u·z_v) of the first `n_positive` pairs and −log(1 − σ(z_u·z_v)) of the others, averaged; `dz` receives
/// the gradient.
pub fn link_loss(
    graph: &mut PairGraph,
    z: &[Real],
    width: usize,
    n_positive: usize,
    mean: Mean,
    dz: &mut [Real],
) -> f64 {
    const NODES: usize = 32;
    let (n_nodes, n_pairs) = (graph.offsets.len() - 1, graph.pairs.len() / 2);
    assert!(z.len() == n_nodes * width && dz.len() == z.len(), "{n_nodes} rows of {width}");
    assert!(n_positive <= n_pairs, "positives among the {n_pairs} pairs");
    if strips::pay(graph.pattern(), width) {
        return by_strips(graph, z, width, n_positive, mean, dz);
    }
    let graph = &*graph;
    let shares = mean.shares(n_positive, n_pairs);
    let shared = Shared::new(dz);
    let mut total = [0.0; 2];
    sum_chunks(n_nodes.div_ceil(NODES), &mut total, |chunk, partial| {
        for node in chunk * NODES..n_nodes.min((chunk + 1) * NODES) {
            // SAFETY: each node belongs to one chunk.
            let dz = unsafe { shared.part(node * width, width) };
            node_terms(graph, node, z, width, n_positive, shares.map(|share| share as Real), dz, partial);
        }
    });
    total[0] * shares[0] + total[1] * shares[1]
}

simd! {
    /// The gradient of one row; `partial` gets the sums of the terms of positive and of negative pairs.
    fn node_terms[FMA](
        graph: &PairGraph,
        node: usize,
        z: &[Real],
        width: usize,
        n_positive: usize,
        shares: [Real; 2],
        dz: &mut [Real],
        partial: &mut [f64],
    ) {
        dz.fill(0.0);
        let own = &z[node * width..(node + 1) * width];
        let end = graph.offsets[node + 1];
        for at in graph.offsets[node]..end {
            // The rows after the next are on their way, beyond the end of this node's too.
            if let Some(&next) = graph.partners.get(at + 2) {
                prefetch(z, next as usize * width, width);
            }
            let partner = graph.partners[at] as usize;
            let other = &z[partner * width..(partner + 1) * width];
            let (side, sign) = if (graph.pairs[at] as usize) < n_positive { (0, -1.0) } else { (1, 1.0) };
            let x = sign * short_dot::<FMA>(own, other);
            let (sigmoid, small) = sigmoid::<FMA>(x);
            // A pair is met at both ends, one of a node with itself twice at the same: its term counts once.
            if partner >= node {
                partial[side] += softplus(x, small) * if partner == node { 0.5 } else { 1.0 };
            }
            let gradient = sign * shares[side] * sigmoid;
            for (dz, &other) in dz.iter_mut().zip(other) {
                *dz = madd::<FMA>(gradient, other, *dz);
            }
        }
    }
}

fn by_strips(
    graph: &mut PairGraph,
    z: &[Real],
    width: usize,
    n_positive: usize,
    mean: Mean,
    dz: &mut [Real],
) -> f64 {
    let n_pairs = graph.pairs.len() / 2;
    scratch::with(2 * n_pairs, |numbers: &mut [Real]| {
        let (logits, slopes) = numbers.split_at_mut(n_pairs);
        score(graph, z, width, logits);
        let value = bce_with_logits(logits, n_positive, mean, slopes);
        graph.backward(z, width, slopes, dz, false);
        value
    })
}

/// The dot products of all pairs, summed strip by strip.
fn score(graph: &PairGraph, z: &[Real], width: usize, logits: &mut [Real]) {
    /// Columns of a strip: half a kilobyte a row, which a dot product reads in one go.
    const COLUMNS: usize = 128;
    let pattern = graph.pattern();
    let cuts = Cuts::new(pattern, strips::ENTRIES);
    scratch::with(graph.pairs.len(), |sums: &mut [Real]| {
        sums.fill(0.0);
        let shared = Shared::new(sums);
        strips::visit(z, width, COLUMNS, 1, |columns, strip| {
            each(cuts.count, |task| {
                let nodes = cuts.rows(pattern, task);
                let entries = graph.offsets[nodes.start]..graph.offsets[nodes.end];
                // SAFETY: tasks have their own nodes, hence their own entries.
                let sums = unsafe { shared.part(entries.start, entries.len()) };
                score_nodes(graph, nodes, strip, columns.len(), sums);
            });
        });
        let (sums, shared) = (&*sums, Shared::new(logits));
        each(cuts.count, |task| {
            for node in cuts.rows(pattern, task) {
                for at in graph.offsets[node]..graph.offsets[node + 1] {
                    if graph.partners[at] as usize >= node {
                        // SAFETY: a pair has one smaller end, and each node belongs to one task.
                        unsafe { shared.part(graph.pairs[at] as usize, 1)[0] = sums[at] };
                    }
                }
            }
        });
    });
}

simd! {
    /// Adds a strip's part of the dot products, each pair at its smaller end alone.
    fn score_nodes[FMA](graph: &PairGraph, nodes: Range<usize>, strip: &[Real], columns: usize, sums: &mut [Real]) {
        const AHEAD: usize = 4;
        let (first, last) = (graph.offsets[nodes.start], graph.offsets[nodes.end]);
        for node in nodes {
            let own = &strip[node * columns..(node + 1) * columns];
            for at in graph.offsets[node]..graph.offsets[node + 1] {
                if at + AHEAD < last {
                    prefetch(strip, graph.partners[at + AHEAD] as usize * columns, columns);
                }
                let partner = graph.partners[at] as usize;
                if partner >= node {
                    sums[at - first] += short_dot::<FMA>(own, &strip[partner * columns..(partner + 1) * columns]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pairs::pair_dot;
    use super::super::testing::*;
    use super::*;

    #[test]
    fn equals_scores_loss_and_gradient_one_after_the_other() {
        let (n, width, pairs, positive) = (130, 45, 900, 400);
        let mut numbers = Numbers::new(35);
        let z = numbers.vec(n * width);
        // Pairs of a node with itself are allowed, and the last node has none.
        let us: Vec<u32> = (0..pairs).map(|_| numbers.below(n - 1) as u32).collect();
        let vs: Vec<u32> =
            (0..pairs).map(|i| if i % 50 == 0 { us[i] } else { numbers.below(n - 1) as u32 }).collect();
        let mut graph = PairGraph::default();
        graph.rebuild(n, &us, &vs);
        let (mut scores, mut d) = (vec![0.0; pairs], vec![0.0; pairs]);
        pair_dot(&z, width, &us, &vs, &mut scores);
        for mean in [Mean::Joint, Mean::Separate] {
            let want = bce_with_logits(&scores, positive, mean, &mut d);
            let (mut want_dz, mut dz) = (vec![0.0; n * width], vec![7.0; n * width]);
            graph.backward(&z, width, &d, &mut want_dz, false);
            let value = link_loss(&mut graph, &z, width, positive, mean, &mut dz);
            assert!((value - want).abs() < 1e-6 * want.abs(), "{value} {want}");
            assert_close(&dz, &want_dz, 1e-5);
        }
        assert_same_at_any_thread_count(|| {
            let mut dz = vec![0.0; n * width];
            let value = link_loss(&mut graph.clone(), &z, width, positive, Mean::Joint, &mut dz);
            dz.push(value as Real);
            dz
        });
    }

    #[test]
    fn strips_give_the_same_loss_and_gradient() {
        let (n, width, pairs, positive) = (120, 300, 900, 400);
        let mut numbers = Numbers::new(36);
        let z: Vec<Real> = numbers.vec(n * width).iter().map(|x| 0.1 * x).collect();
        let us: Vec<u32> = (0..pairs).map(|_| numbers.below(n - 1) as u32).collect();
        let vs: Vec<u32> =
            (0..pairs).map(|i| if i % 50 == 0 { us[i] } else { numbers.below(n - 1) as u32 }).collect();
        let mut graph = PairGraph::default();
        graph.rebuild(n, &us, &vs);
        let (mut want_dz, mut dz) = (vec![0.0; n * width], vec![7.0; n * width]);
        let want = link_loss(&mut graph, &z, width, positive, Mean::Separate, &mut want_dz);
        let value = by_strips(&mut graph, &z, width, positive, Mean::Separate, &mut dz);
        assert!((value - want).abs() < 1e-6 * want.abs(), "{value} {want}");
        assert_close(&dz, &want_dz, 1e-5);
        assert_same_at_any_thread_count(|| {
            let mut dz = vec![0.0; n * width];
            let value = by_strips(&mut graph.clone(), &z, width, positive, Mean::Joint, &mut dz);
            dz.push(value as Real);
            dz
        });
    }

    #[test]
    fn no_pairs_cost_nothing() {
        let mut graph = PairGraph::default();
        graph.rebuild(2, &[], &[]);
        let mut dz = [5.0; 4];
        assert!(link_loss(&mut graph, &[1.0; 4], 2, 0, Mean::Separate, &mut dz).abs() <= 0.0);
        assert!(dz.iter().all(|d| d.abs() <= 0.0));
    }
}
