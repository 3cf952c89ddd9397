//! How much of what a channel says do the other channels say too? The answer weights the channels of a node type, without labels.
//!
//! Two channels give two matrices of inner products between nodes. Their alignment is the correlation of these matrices, 0 on
//! average for channels that have nothing to do with each other: the Hilbert–Schmidt independence criterion in its unbiased form
//! (Song et al., JMLR 2012), normalized (Kornblith et al., Similarity of neural network representations revisited, ICML 2019). A
//! class shows in several channels, noise in one.

use crate::Real;
use crate::kernels::matmul;
use crate::rng::Stream;

/// Nodes whose inner products are compared.
pub(super) const NODES: usize = 1024;

/// Some of n nodes in ascending order, or all.
pub(super) fn sample(n: usize) -> Vec<usize> {
    if n <= NODES {
        return (0..n).collect();
    }
    let mut nodes = Stream::new(0, "readout", "alignment", 0).sample(n, NODES);
    nodes.sort_unstable();
    nodes.into_iter().map(|node| node as usize).collect()
}

/// The lengths of channels, relative to the longest, from their rows (all of unit length or zero) and widths. The inner products of
/// a channel count in those of the embedding by the square of its length, which is its mean alignment with the others.
pub(super) fn lengths(channels: &[(usize, Vec<Real>)]) -> Vec<f64> {
    let kernels: Vec<Vec<f64>> = channels.iter().map(|(width, rows)| centered(rows, *width)).collect();
    let mut alignments = vec![0.0; channels.len()];
    for a in 0..kernels.len() {
        for b in 0..a {
            let alignment: f64 = kernels[a].iter().zip(&kernels[b]).map(|(x, y)| x * y).sum();
            alignments[a] += alignment;
            alignments[b] += alignment;
        }
    }
    let best = alignments.iter().copied().fold(0.0, f64::max);
    // A channel alone, or channels that have nothing in common, stay as they are.
    let relative = |alignment: f64| if best > 0.0 { (alignment.max(0.0) / best).sqrt() } else { 1.0 };
    alignments.into_iter().map(relative).collect()
}

/// The inner products of rows off the diagonal, centered as the unbiased criterion needs it, with norm 1 unless they are zero.
fn centered(rows: &[Real], width: usize) -> Vec<f64> {
    let n = rows.len() / width;
    if n < 4 {
        return vec![0.0; n * n];
    }
    let mut products = vec![0.0; n * n];
    matmul::nt(n, width, n, rows, rows, &mut products, false);
    let mut kernel: Vec<f64> = products.into_iter().map(f64::from).collect();
    (0..n).for_each(|node| kernel[node * n + node] = 0.0);
    let sums: Vec<f64> = kernel.chunks_exact(n).map(|row| row.iter().sum::<f64>() / (n - 2) as f64).collect();
    let all = sums.iter().sum::<f64>() / (n - 1) as f64;
    for (u, row) in kernel.chunks_exact_mut(n).enumerate() {
        for (v, x) in row.iter_mut().enumerate() {
            *x = if u == v { 0.0 } else { *x - sums[u] - sums[v] + all };
        }
    }
    let norm = kernel.iter().map(|x| x * x).sum::<f64>().sqrt();
    // What rounding leaves of equal rows is no signal.
    let scale = if norm > 1e-4 * n as f64 { 1.0 / norm } else { 0.0 };
    kernel.iter_mut().for_each(|x| *x *= scale);
    kernel
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(rows: Vec<Vec<f64>>) -> Vec<Real> {
        let scaled = rows.into_iter().flat_map(|row| {
            let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            row.into_iter().map(move |x| (x / norm) as Real)
        });
        scaled.collect()
    }

    fn noise(n: usize, width: usize, name: &str) -> Vec<Vec<f64>> {
        let mut stream = Stream::new(4, "test", name, 0);
        (0..n).map(|_| (0..width).map(|_| stream.normal()).collect()).collect()
    }

    /// The definition: (tr(KL) + 1ᵀK1·1ᵀL1/((n−1)(n−2)) − 2·1ᵀKL1/(n−2)) / (n(n−3)) with zero diagonals.
    fn criterion(k: &[Vec<f64>], l: &[Vec<f64>]) -> f64 {
        let n = k.len();
        let (mut trace, mut both, mut sums) = (0.0, 0.0, (0.0, 0.0));
        for i in 0..n {
            for j in 0..n {
                trace += k[i][j] * l[j][i];
                sums = (sums.0 + k[i][j], sums.1 + l[i][j]);
                both += (0..n).map(|m| k[i][j] * l[j][m]).sum::<f64>();
            }
        }
        let m = n as f64;
        (trace + sums.0 * sums.1 / ((m - 1.0) * (m - 2.0)) - 2.0 * both / (m - 2.0)) / (m * (m - 3.0))
    }

    fn products(rows: &[Real], width: usize) -> Vec<Vec<f64>> {
        let rows: Vec<&[Real]> = rows.chunks_exact(width).collect();
        let dot = |a: &[Real], b: &[Real]| a.iter().zip(b).map(|(x, y)| f64::from(x * y)).sum::<f64>();
        let of = |u: usize, v: usize| if u == v { 0.0 } else { dot(rows[u], rows[v]) };
        (0..rows.len()).map(|u| (0..rows.len()).map(|v| of(u, v)).collect()).collect()
    }

    #[test]
    fn alignment_is_the_normalized_unbiased_criterion() {
        let (a, b) = (unit(noise(9, 3, "a")), unit(noise(9, 2, "b")));
        let (k, l) = (products(&a, 3), products(&b, 2));
        let expected = criterion(&k, &l) / (criterion(&k, &k) * criterion(&l, &l)).sqrt();
        let found: f64 = centered(&a, 3).iter().zip(centered(&b, 2)).map(|(x, y)| x * y).sum();
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }

    #[test]
    fn what_two_channels_share_counts_and_noise_does_not() {
        let n = 300;
        let class = |node: usize| if node.is_multiple_of(2) { 1.0 } else { -1.0 };
        let with_class = |name: &str| {
            let mut rows = noise(n, 10, name);
            rows.iter_mut().enumerate().for_each(|(node, row)| row[0] += 3.0 * class(node));
            (10, unit(rows))
        };
        let found = lengths(&[with_class("a"), with_class("b"), (10, unit(noise(n, 10, "c")))]);
        assert!(found[0] > 0.95 && found[1] > 0.95 && found[2] < 0.15, "{found:?}");
    }

    #[test]
    fn channels_without_anything_in_common_stay_as_they_are() {
        let same = (2, unit(vec![vec![1.0, 0.0]; 20]));
        assert_eq!(lengths(&[same.clone(), same.clone()]), [1.0, 1.0]);
        assert_eq!(lengths(&[(10, unit(noise(50, 10, "a")))]), [1.0]);
        assert_eq!(lengths(&[(1, vec![1.0; 2]), (1, vec![1.0; 2])]), [1.0, 1.0], "too few nodes");
    }

    #[test]
    fn large_types_are_sampled() {
        assert_eq!(sample(5), [0, 1, 2, 3, 4]);
        let nodes = sample(5000);
        assert!(nodes.len() == NODES && nodes.is_sorted() && nodes[NODES - 1] < 5000);
    }
}
