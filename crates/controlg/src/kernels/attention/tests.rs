//! Tests of the attention kernels against the definition.

use super::*;
use crate::kernels::testing::*;

/// A symmetric pattern with self-loops; the last node has no other entry.
fn pattern(n: usize, numbers: &mut Numbers) -> OwnedCsr {
    let mut rows: Vec<Vec<u32>> = (0..n as u32).map(|i| vec![i]).collect();
    for _ in 0..2 * n {
        let (u, v) = (numbers.below(n - 1), numbers.below(n - 1));
        rows[u].push(v as u32);
        rows[v].push(u as u32);
    }
    let mut owned = OwnedCsr { n_rows: n, n_cols: n, offsets: vec![0], columns: vec![], values: vec![] };
    for row in &mut rows {
        row.sort_unstable();
        row.dedup();
        owned.columns.extend_from_slice(row);
        owned.offsets.push(owned.columns.len());
    }
    owned.values = vec![1.0; owned.columns.len()];
    owned
}

fn reference(layer: AttentionInput<'_>, h: &[Real], a_src: &[Real], a_dst: &[Real]) -> Vec<Real> {
    let (heads, width) = (layer.heads, layer.width);
    let at = |i: usize, k: usize, j: usize| f64::from(h[(i * heads + k) * width + j]);
    let score = |a: &[Real], i, k| (0..width).map(|j| f64::from(a[k * width + j]) * at(i, k, j)).sum::<f64>();
    let mut out = Vec::new();
    for i in 0..layer.pattern.n_rows {
        for k in 0..heads {
            let e = |j: usize| {
                let e = score(a_src, j, k) + score(a_dst, i, k);
                (if e > 0.0 { e } else { f64::from(layer.slope) * e }).exp()
            };
            let columns: Vec<usize> = layer.pattern.entries(i).map(|(c, _)| c).collect();
            let sum: f64 = columns.iter().map(|&j| e(j)).sum();
            for j in 0..width {
                let first = layer.pattern.offsets[i];
                let factor = |place: usize| f64::from(layer.factor((first + place) * heads + k));
                let terms = columns.iter().enumerate().map(|(p, &c)| factor(p) * e(c) / sum * at(c, k, j));
                out.push(terms.sum::<f64>() as Real);
            }
        }
    }
    out
}

#[test]
fn forward_and_gradients_equal_the_definition() {
    let mut numbers = Numbers::new(24);
    let (n, heads, width) = (14, 3, 5);
    let graph = pattern(n, &mut numbers);
    let reverse = reverse_entries(graph.view());
    let (h, a_src, a_dst) = (numbers.vec(n * 15), numbers.vec(15), numbers.vec(15));
    let weights = numbers.vec(n * 15);
    let factors = numbers.vec(graph.columns.len() * heads);
    for factors in [None, Some(&factors[..])] {
        let layer = AttentionInput {
            pattern: graph.view(),
            reverse: &reverse,
            heads,
            width,
            a_src: &a_src,
            a_dst: &a_dst,
            slope: 0.2,
            factors,
        };
        let run = || {
            let entries = graph.columns.len() * heads;
            let (mut alpha, mut pre, mut out) = (vec![0.0; entries], vec![0.0; entries], vec![0.0; n * 15]);
            forward(layer, &h, &mut alpha, &mut pre, &mut out);
            let (mut dh, mut ds, mut dd) = (vec![0.0; n * 15], vec![0.0; 15], vec![0.0; 15]);
            backward(layer, &h, &alpha, &pre, &weights, &mut dh, &mut ds, &mut dd);
            [out, dh, ds, dd]
        };
        let [out, dh, ds, dd] = run();
        assert_close(&out, &reference(layer, &h, &a_src, &a_dst), 1e-5);
        let value = |h: &[Real], a: &[Real], b: &[Real]| {
            reference(layer, h, a, b)
                .iter()
                .zip(&weights)
                .map(|(&o, &w)| f64::from(o) * f64::from(w))
                .sum::<f64>()
        };
        if cfg!(feature = "f64") {
            // The large steps that f32 needs would cross the kink of the leaky ReLU.
            assert_gradient(&h, &dh, |h| value(h, &a_src, &a_dst));
            assert_gradient(&a_src, &ds, |a| value(&h, a, &a_dst));
            assert_gradient(&a_dst, &dd, |a| value(&h, &a_src, a));
        }
    }
}

#[test]
fn any_thread_count_gives_the_same_bytes() {
    let mut numbers = Numbers::new(25);
    let (n, heads, width) = (700, 4, 16);
    let graph = pattern(n, &mut numbers);
    let reverse = reverse_entries(graph.view());
    let (h, a_src, a_dst, d) = (numbers.vec(n * 64), numbers.vec(64), numbers.vec(64), numbers.vec(n * 64));
    let layer = AttentionInput {
        pattern: graph.view(),
        reverse: &reverse,
        heads,
        width,
        a_src: &a_src,
        a_dst: &a_dst,
        slope: 0.2,
        factors: None,
    };
    assert_same_at_any_thread_count(|| {
        let entries = graph.columns.len() * heads;
        let (mut alpha, mut pre, mut out) = (vec![0.0; entries], vec![0.0; entries], vec![0.0; n * 64]);
        forward(layer, &h, &mut alpha, &mut pre, &mut out);
        let (mut dh, mut ds, mut dd) = (vec![0.0; n * 64], vec![0.0; 64], vec![0.0; 64]);
        backward(layer, &h, &alpha, &pre, &d, &mut dh, &mut ds, &mut dd);
        [out, dh, ds, dd].concat()
    });
}
