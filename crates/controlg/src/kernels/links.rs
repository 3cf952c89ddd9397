//! Binary cross-entropy of pairs scored by dot products: value and gradient in one pass over the graph of the pairs.
//!
//! Every pair is scored from both of its ends, so that the partner's row is still in the L1 cache when it is added
//! to the gradient. That is cheaper than reading it from afar a second time.

use super::loss::{Mean, sigmoid, softplus};
use super::pairs::PairGraph;
use super::parallel::{Shared, sum_chunks};
use super::rows::short_dot;
use super::simd::{madd, prefetch, prefetch_early};
use crate::Real;

/// −log σ(z_u·z_v) of the first `n_positive` pairs and −log(1 − σ(z_u·z_v)) of the others, averaged; `dz` receives
/// the gradient.
pub fn link_loss(
    graph: &PairGraph,
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
            // The rows that follow are on their way, beyond the end of this node's too: the next one into the L1 cache,
            // those after it into L2, which has room for more on their way.
            if let Some(&next) = graph.partners.get(at + 1) {
                prefetch(z, next as usize * width, width);
            }
            if let Some(&next) = graph.partners.get(at + 4) {
                prefetch_early(z, next as usize * width, width);
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

#[cfg(test)]
mod tests {
    use super::super::loss::bce_with_logits;
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
            let value = link_loss(&graph, &z, width, positive, mean, &mut dz);
            assert!((value - want).abs() < 1e-6 * want.abs(), "{value} {want}");
            assert_close(&dz, &want_dz, 1e-5);
        }
        assert_same_at_any_thread_count(|| {
            let mut dz = vec![0.0; n * width];
            let value = link_loss(&graph, &z, width, positive, Mean::Joint, &mut dz);
            dz.push(value as Real);
            dz
        });
    }

    #[test]
    fn no_pairs_cost_nothing() {
        let mut graph = PairGraph::default();
        graph.rebuild(2, &[], &[]);
        let mut dz = [5.0; 4];
        assert!(link_loss(&graph, &[1.0; 4], 2, 0, Mean::Separate, &mut dz).abs() <= 0.0);
        assert!(dz.iter().all(|d| d.abs() <= 0.0));
    }
}
