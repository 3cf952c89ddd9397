//! Nearest neighbors in the embedding.

use crate::Real;
use crate::kernels::matmul;

/// Rows that are compared with all others at a time.
const ROWS: usize = 256;

/// For each of `n` rows of unit length, the `k` other rows with the largest cosine similarity, largest first.
pub(super) fn nearest(rows: &[Real], n: usize, k: usize) -> Vec<Vec<(usize, Real)>> {
    let width = rows.len() / n.max(1);
    let mut found = Vec::with_capacity(n);
    for (chunk, part) in rows.chunks((ROWS * width).max(1)).enumerate() {
        let height = part.len() / width.max(1);
        let mut cosines = vec![0.0; height * n];
        matmul::nt(height, width, n, part, rows, &mut cosines, false);
        for (at, cosines) in cosines.chunks(n).enumerate() {
            let own = chunk * ROWS + at;
            let mut others: Vec<usize> = (0..n).filter(|other| *other != own).collect();
            let by = |a: &usize, b: &usize| cosines[*b].total_cmp(&cosines[*a]).then(a.cmp(b));
            if others.len() > k {
                others.select_nth_unstable_by(k, by);
                others.truncate(k);
            }
            others.sort_unstable_by(by);
            found.push(others.into_iter().map(|other| (other, cosines[other])).collect());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_same_as_a_full_search() {
        // Points on a circle, more than one chunk of them: the nearest are those before and after.
        let n = 600;
        let angle = |at: usize| std::f64::consts::TAU * at as f64 / n as f64;
        let rows: Vec<Real> =
            (0..n).flat_map(|at| [angle(at).cos() as Real, angle(at).sin() as Real]).collect();
        let found = nearest(&rows, n, 2);
        assert_eq!(found.len(), n);
        for (at, near) in found.iter().enumerate() {
            let mut others: Vec<usize> = near.iter().map(|(other, _)| *other).collect();
            others.sort_unstable();
            let mut expected = vec![(at + 1) % n, (at + n - 1) % n];
            expected.sort_unstable();
            assert_eq!(others, expected);
            assert!(near.iter().all(|(_, cosine)| *cosine > 0.99));
        }
        assert_eq!(nearest(&[1.0, 0.0, 0.0, 1.0], 2, 8), [[(1, 0.0)], [(0, 0.0)]]);
    }
}
