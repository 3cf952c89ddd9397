//! What the filters P, Â and Â² keep of a signal and of noise.

use rayon::prelude::*;

use crate::graph::Adjacency;

/// What a filter keeps of signal and noise, as means over nodes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FilterShares {
    /// a² as a polynomial in λ: the coefficients of λ⁰ to λ⁴.
    signal: [f64; 5],
    /// n.
    pub(super) noise: f64,
}

impl FilterShares {
    /// a² for powers of λ, or its expectation for their expectations.
    pub(super) fn signal(&self, powers: &[f64; 5]) -> f64 {
        self.signal.iter().zip(powers).map(|(coefficient, power)| coefficient * power).sum()
    }
}

/// The shares of the filters P, Â and Â². Edges count alike, whatever their weight. Walks of two steps are counted as if they
/// ended at different nodes.
pub(super) fn filters(adjacency: &Adjacency) -> [FilterShares; 3] {
    let n = adjacency.n_rows();
    let scale: Vec<f64> = (0..n).map(|v| 1.0 / (1.0 + adjacency.row(v).len() as f64)).collect();
    let sum_over =
        |v: usize, f: &dyn Fn(usize) -> f64| -> f64 { adjacency.row(v).iter().map(|&u| f(u as usize)).sum() };
    // Σ_w of 1/√d̃ and of 1/d̃ over the neighbors.
    let roots: Vec<f64> = (0..n).into_par_iter().map(|v| sum_over(v, &|u| scale[u].sqrt())).collect();
    let inverses: Vec<f64> = (0..n).into_par_iter().map(|v| sum_over(v, &|u| scale[u])).collect();
    // (c₀ + c₁λ + c₂λ²)²
    let squared = |[own, near, far]: [f64; 3]| {
        [own * own, 2.0 * own * near, near * near + 2.0 * own * far, 2.0 * near * far, far * far]
    };
    let of_node = |v: usize| {
        let (own, degree) = (scale[v], adjacency.row(v).len() as f64);
        let mean = match degree > 0.0 {
            true => FilterShares { signal: squared([0.0, 1.0, 0.0]), noise: 1.0 / degree },
            false => FilterShares::default(),
        };
        let once = FilterShares {
            signal: squared([own, own.sqrt() * roots[v], 0.0]),
            noise: own * own + own * inverses[v],
        };
        // Entries of Â²: at v itself, at its neighbors, and at nodes two steps away.
        let at_own = own * own + own * inverses[v];
        let near = |u: usize| (own + scale[u]) * (own * scale[u]).sqrt();
        let far = sum_over(v, &|u| own.sqrt() * scale[u] * (roots[u] - own.sqrt()));
        let twice = FilterShares {
            signal: squared([at_own, sum_over(v, &near), far]),
            noise: at_own * at_own
                + sum_over(v, &|u| near(u).powi(2))
                + sum_over(v, &|u| own * scale[u].powi(2) * (inverses[u] - own)),
        };
        [mean, once, twice]
    };
    let all: Vec<[FilterShares; 3]> = (0..n).into_par_iter().map(of_node).collect();
    let mut result = [FilterShares::default(); 3];
    for node in all {
        for (total, shares) in result.iter_mut().zip(node) {
            total.signal.iter_mut().zip(shares.signal).for_each(|(total, x)| *total += x / n as f64);
            total.noise += shares.noise / n as f64;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Real;
    use crate::graph::{Features, Graph};

    /// The filters' shares on a tree, where walks of two steps do end at different nodes, from explicit matrices.
    #[test]
    fn filters_equal_their_definitions_on_a_tree() {
        let edges = [(0, 1), (1, 2), (1, 3), (3, 4), (4, 5)];
        let features = Features::dense(6, 1, (0..6).map(|x| x as Real).collect()).unwrap();
        let graph = Graph::from_edges(6, &edges, features).unwrap();
        let mut hops = [[0i32; 6]; 6];
        for (u, row) in hops.iter_mut().enumerate() {
            let mut seen = vec![u];
            let mut distance = 0;
            while !seen.is_empty() {
                seen.iter().for_each(|&v| row[v] = distance);
                let next = seen.iter().flat_map(|&v| graph.neighbors(v)).map(|&v| v as usize);
                seen = next.filter(|&v| v != u && row[v] == 0).collect();
                distance += 1;
            }
        }
        let scale = |v: usize| (1.0 + graph.degree(v) as f64).powf(-0.5);
        let entry = |u: usize, v: usize| if hops[u][v] <= 1 { scale(u) * scale(v) } else { 0.0 };
        let squared = |u: usize, v: usize| (0..6).map(|w| entry(u, w) * entry(w, v)).sum::<f64>();
        let lambda: f64 = 0.7;
        let share = |matrix: &dyn Fn(usize, usize) -> f64| {
            let of = |u: usize| {
                let kept: f64 = (0..6).map(|v| matrix(u, v) * lambda.powi(hops[u][v])).sum();
                (kept * kept, (0..6).map(|v| matrix(u, v).powi(2)).sum::<f64>())
            };
            (0..6).map(of).fold((0.0, 0.0), |(a, b), (x, y)| (a + x / 6.0, b + y / 6.0))
        };
        let powers = [0, 1, 2, 3, 4].map(|power| lambda.powi(power));
        let found = filters(graph.adjacency());
        for (found, expected) in found[1..].iter().zip([share(&entry), share(&squared)]) {
            let (signal, noise) = (found.signal(&powers), found.noise);
            assert!(
                (signal - expected.0).abs() < 1e-12 && (noise - expected.1).abs() < 1e-12,
                "{found:?} {expected:?}"
            );
        }
    }
}
