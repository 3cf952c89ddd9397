//! Dot products of pairs of rows, and their backward pass as a sparse product over the graph of the pairs.

use super::CsrView;
use super::parallel::{SharedSlice, each, each_chunk};
use super::rows::{fold_lanes, short_dot};
use super::simd::{madd, prefetch};
use super::spmm::spmm;
use crate::Real;

/// Pairs per task.
const PAIRS: usize = 256;

/// `out[p] = z[us[p]] · z[vs[p]]`, without copying rows.
pub fn pair_dot(z: &[Real], width: usize, us: &[u32], vs: &[u32], out: &mut [Real]) {
    assert!(us.len() == out.len() && vs.len() == out.len());
    each_chunk(out, PAIRS, |start, out| {
        let pairs = start..start + out.len();
        dot_pairs(z, width, &us[pairs.clone()], &vs[pairs], out);
    });
}

simd! {
    fn dot_pairs[FMA](z: &[Real], width: usize, us: &[u32], vs: &[u32], out: &mut [Real]) {
        const PANEL: usize = 64;
        for (pair, out) in out.iter_mut().enumerate() {
            let (u, v) = (us[pair] as usize * width, vs[pair] as usize * width);
            let (a, b) = (&z[u..u + width], &z[v..v + width]);
            // Prefetch the same columns of the pair after the next.
            let ahead = (pair + 2).min(us.len() - 1);
            let (next_u, next_v) = (us[ahead] as usize * width, vs[ahead] as usize * width);
            let mut lanes = [0.0; 32];
            let whole = width / PANEL * PANEL;
            for at in (0..whole).step_by(PANEL) {
                prefetch(z, next_u + at, PANEL);
                prefetch(z, next_v + at, PANEL);
                for half in [at, at + 32] {
                    let (a, b) = (&a[half..half + 32], &b[half..half + 32]);
                    for j in 0..32 {
                        lanes[j] = madd::<FMA>(a[j], b[j], lanes[j]);
                    }
                }
            }
            *out = short_dot::<FMA>(&a[whole..], &b[whole..]) + fold_lanes(&lanes);
        }
    }
}

/// The pairs as a graph in CSR form: the partners of each node, and the index of the pair that each comes from. Every pair is
/// stored in both directions.
#[derive(Clone, Debug, Default)]
pub struct PairGraph {
    pub(super) offsets: Vec<usize>,
    pub(super) partners: Vec<u32>,
    pub(super) pairs: Vec<u32>,
    values: Vec<Real>,
}

impl PairGraph {
    /// Builds the graph of these pairs, reusing its memory.
    pub fn rebuild(&mut self, n_nodes: usize, us: &[u32], vs: &[u32]) {
        assert_eq!(us.len(), vs.len());
        assert!(us.iter().chain(vs).all(|&u| (u as usize) < n_nodes), "pairs of nodes below {n_nodes}");
        self.offsets.clear();
        self.offsets.resize(n_nodes + 2, 0);
        // Counting sort. Counts are shifted by two, so that after the prefix sum `offsets[u + 1]` is the next free slot of node
        // u, and after all entries are placed it is the end of node u.
        us.iter().chain(vs).for_each(|&u| self.offsets[u as usize + 2] += 1);
        for node in 2..self.offsets.len() {
            self.offsets[node] += self.offsets[node - 1];
        }
        self.partners.resize(2 * us.len(), 0);
        self.pairs.resize(2 * us.len(), 0);
        self.values.resize(2 * us.len(), 0.0);
        // Every task scans all pairs and places those of its own range of nodes.
        const TASKS: usize = 8;
        let slots = SharedSlice::new(&mut self.offsets[1..]);
        let (to_partners, to_pairs) =
            (SharedSlice::new(&mut self.partners), SharedSlice::new(&mut self.pairs));
        each(TASKS, |task| {
            let nodes = (n_nodes * task / TASKS) as u32..(n_nodes * (task + 1) / TASKS) as u32;
            for (pair, (&u, &v)) in us.iter().zip(vs).enumerate() {
                for (node, other) in [(u, v), (v, u)] {
                    if nodes.contains(&node) {
                        // SAFETY: tasks have disjoint ranges of nodes, and the slots of different nodes are disjoint.
                        unsafe {
                            let slot = &mut slots.slice(node as usize, 1)[0];
                            to_partners.slice(*slot, 1)[0] = other;
                            to_pairs.slice(*slot, 1)[0] = pair as u32;
                            *slot += 1;
                        }
                    }
                }
            }
        });
        self.offsets.truncate(n_nodes + 1);
    }

    /// The backward pass of [`pair_dot`]: `dz[u] = Σ d[p]·z[v]` over the pairs p = (u, v) of u. With `add`, the gradient is added to
    /// `dz`.
    pub fn backward(&mut self, z: &[Real], width: usize, d: &[Real], dz: &mut [Real], add: bool) {
        let n_nodes = self.offsets.len() - 1;
        assert_eq!(2 * d.len(), self.pairs.len(), "one gradient per pair");
        const STEP: usize = 1 << 13;
        let pairs = &self.pairs;
        each_chunk(&mut self.values, STEP, |start, values| {
            values.iter_mut().zip(&pairs[start..]).for_each(|(value, &pair)| *value = d[pair as usize]);
        });
        let graph = CsrView {
            n_rows: n_nodes,
            n_cols: n_nodes,
            offsets: &self.offsets,
            columns: &self.partners,
            values: Some(&self.values),
        };
        spmm(graph, z, width, dz, add);
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn scores_and_their_gradient() {
        let (n, width, pairs) = (30, 37, 900);
        let mut numbers = Numbers::new(15);
        let (z, d) = (numbers.vec(n * width), numbers.vec(pairs));
        // A pair of a node with itself is allowed, and node 29 has none.
        let us: Vec<u32> = (0..pairs).map(|_| numbers.below(n - 1) as u32).collect();
        let vs: Vec<u32> = (0..pairs).map(|_| numbers.below(n - 1) as u32).collect();
        let score = |z: &[Real]| {
            let mut out = vec![0.0; pairs];
            pair_dot(z, width, &us, &vs, &mut out);
            out
        };
        let want: Vec<Real> = (0..pairs)
            .map(|p| (0..width).map(|j| z[us[p] as usize * width + j] * z[vs[p] as usize * width + j]).sum())
            .collect();
        assert_close(&score(&z), &want, 1e-5);
        let mut graph = PairGraph::default();
        graph.rebuild(3, &[0, 1], &[2, 2]);
        graph.rebuild(n, &us, &vs);
        let mut dz = vec![0.0; n * width];
        graph.backward(&z, width, &d, &mut dz, false);
        assert!(dz[29 * width..].iter().all(|&x| x == 0.0));
        assert_gradient(&z, &dz, |z| {
            score(z).iter().zip(&d).map(|(&s, &d)| f64::from(s) * f64::from(d)).sum()
        });
        assert_same_at_any_thread_count(|| {
            let mut dz = vec![0.0; n * width];
            graph.clone().backward(&z, width, &d, &mut dz, false);
            dz.extend(score(&z));
            dz
        });
    }

    #[test]
    fn no_pairs_give_no_gradient() {
        let mut graph = PairGraph::default();
        graph.rebuild(2, &[], &[]);
        let mut dz = [5.0; 4];
        graph.backward(&[1.0; 4], 2, &[], &mut dz, false);
        assert_eq!(dz, [0.0; 4]);
    }
}
