//! Binary cross-entropy of pairs scored by dot products: loss and gradient in one pass over the graph of the pairs.
//!
//! Every pair is scored twice, once at each node, so that the row of the partner is still in the L1 cache when it is added to
//! the gradient. That is cheaper than reading it from memory again.

use super::loss::{Averaging, sigmoid, softplus};
use super::pairs::PairGraph;
use super::parallel::{SharedSlice, sum_chunks};
use super::rows::fold_lanes;
use super::simd::{madd, prefetch, prefetch_early};
use crate::Real;

/// The mean of −log σ(z_u·z_v) over the first `n_positive` pairs and −log(1 − σ(z_u·z_v)) over the others; `dz` receives the
/// gradient.
pub fn link_loss(
    graph: &PairGraph,
    z: &[Real],
    width: usize,
    n_positive: usize,
    mean: Averaging,
    dz: &mut [Real],
) -> f64 {
    const NODES: usize = 32;
    let (n_nodes, n_pairs) = (graph.offsets.len() - 1, graph.pairs.len() / 2);
    assert!(z.len() == n_nodes * width && dz.len() == z.len(), "{n_nodes} rows of {width}");
    assert!(n_positive <= n_pairs, "at most {n_pairs} positive pairs");
    let shares = mean.shares(n_positive, n_pairs);
    let shared = SharedSlice::new(dz);
    let mut total = [0.0; 2];
    sum_chunks(n_nodes.div_ceil(NODES), &mut total, |chunk, partial| {
        for node in chunk * NODES..n_nodes.min((chunk + 1) * NODES) {
            // SAFETY: each node belongs to one chunk.
            let dz = unsafe { shared.slice(node * width, width) };
            node_terms(graph, node, z, width, n_positive, shares.map(|share| share as Real), dz, partial);
        }
    });
    total[0] * shares[0] + total[1] * shares[1]
}

/// Partners that are scored together, so that the row of the node is read once and its gradient written once for all of them.
const GROUP: usize = 4;

simd! {
    with avx512
    /// The gradient of one row. Adds the loss of its positive and of its negative pairs to `partial`.
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
        let row = |node: usize| &z[node * width..(node + 1) * width];
        let own = row(node);
        let end = graph.offsets[node + 1];
        // ln(1 + a) + ln(1 + b) + … is one logarithm of a product, whose factors are at most 2.
        let mut factors = [1.0; 2];
        for at in (graph.offsets[node]..end).step_by(GROUP) {
            // Prefetch the rows of the next groups, beyond the end of this node too: the next group into L1, the one after it
            // into L2.
            for ahead in at + GROUP..at + 2 * GROUP {
                if let Some(&next) = graph.partners.get(ahead) {
                    prefetch(z, next as usize * width, width);
                }
                if let Some(&next) = graph.partners.get(ahead + GROUP) {
                    prefetch_early(z, next as usize * width, width);
                }
            }
            let count = GROUP.min(end - at);
            // An incomplete group is padded with the node itself, with weight 0.
            let partners: [usize; GROUP] =
                std::array::from_fn(|i| if i < count { graph.partners[at + i] as usize } else { node });
            let others = partners.map(row);
            let dots = group_dots::<FMA>(own, others);
            let mut gradients = [0.0; GROUP];
            for i in 0..count {
                let (side, sign) = if (graph.pairs[at + i] as usize) < n_positive { (0, -1.0) } else { (1, 1.0) };
                let x = sign * dots[i];
                let (sigmoid, small) = sigmoid::<FMA>(x);
                gradients[i] = sign * shares[side] * sigmoid;
                // Every pair is visited at both nodes, but its term counts once. A pair (u, u) is visited twice at u.
                if partners[i] > node {
                    partial[side] += f64::from(x.max(0.0));
                    factors[side] *= 1.0 + f64::from(small);
                } else if partners[i] == node {
                    partial[side] += 0.5 * softplus(x, small);
                }
            }
            for side in 0..2 {
                if factors[side] > 1e300 {
                    partial[side] += std::mem::replace(&mut factors[side], 1.0).ln();
                }
            }
            let [a, b, c, d] = others;
            for ((((dz, &a), &b), &c), &d) in dz.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                let sum = madd::<FMA>(gradients[1], b, madd::<FMA>(gradients[0], a, *dz));
                *dz = madd::<FMA>(gradients[3], d, madd::<FMA>(gradients[2], c, sum));
            }
        }
        partial.iter_mut().zip(factors).for_each(|(partial, factor)| *partial += factor.ln());
    }
}

/// The dot products of one row with four others, in 16 accumulators each. Separate variables keep them in registers.
#[inline(always)]
fn group_dots<const FMA: bool>(own: &[Real], others: [&[Real]; GROUP]) -> [Real; GROUP] {
    const LANES: usize = 16;
    let [mut a, mut b, mut c, mut d] = [[0.0; LANES]; GROUP];
    // Arrays of constant length vectorize reliably; slices do not.
    let (own_lanes, own_rest) = own.as_chunks::<LANES>();
    let [xs, ys, zs, ws] = others.map(|other| other.as_chunks::<LANES>().0);
    for ((((own, x), y), z), w) in own_lanes.iter().zip(xs).zip(ys).zip(zs).zip(ws) {
        a = add_products::<FMA, LANES>(own, x, a);
        b = add_products::<FMA, LANES>(own, y, b);
        c = add_products::<FMA, LANES>(own, z, c);
        d = add_products::<FMA, LANES>(own, w, d);
    }
    let sums = [fold_lanes(&a), fold_lanes(&b), fold_lanes(&c), fold_lanes(&d)];
    std::array::from_fn(|i| {
        let rest = own_rest.iter().zip(&others[i][own.len() - own_rest.len()..]);
        rest.fold(sums[i], |sum, (&x, &y)| madd::<FMA>(x, y, sum))
    })
}

/// sums + x ⊙ y.
#[inline(always)]
fn add_products<const FMA: bool, const N: usize>(x: &[Real; N], y: &[Real; N], sums: [Real; N]) -> [Real; N] {
    std::array::from_fn(|i| madd::<FMA>(x[i], y[i], sums[i]))
}

#[cfg(test)]
mod tests {
    use super::super::loss::bce_with_logits;
    use super::super::pairs::pair_dot;
    use super::super::testing::*;
    use super::*;

    #[test]
    fn equals_separate_scores_loss_and_gradient() {
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
        for mean in [Averaging::Joint, Averaging::Separate] {
            let want = bce_with_logits(&scores, positive, mean, &mut d);
            let (mut want_dz, mut dz) = (vec![0.0; n * width], vec![7.0; n * width]);
            graph.backward(&z, width, &d, &mut want_dz, false);
            let value = link_loss(&graph, &z, width, positive, mean, &mut dz);
            assert!((value - want).abs() < 1e-6 * want.abs(), "{value} {want}");
            assert_close(&dz, &want_dz, 1e-5);
        }
        assert_same_at_any_thread_count(|| {
            let mut dz = vec![0.0; n * width];
            let value = link_loss(&graph, &z, width, positive, Averaging::Joint, &mut dz);
            dz.push(value as Real);
            dz
        });
    }

    #[test]
    fn no_pairs_cost_nothing() {
        let mut graph = PairGraph::default();
        graph.rebuild(2, &[], &[]);
        let mut dz = [5.0; 4];
        assert!(link_loss(&graph, &[1.0; 4], 2, 0, Averaging::Separate, &mut dz).abs() <= 0.0);
        assert!(dz.iter().all(|d| d.abs() <= 0.0));
    }
}
