//! Dirichlet energy: how much a signal on the nodes varies along the edges.

use super::CsrView;
use super::parallel::sum_chunks;
use crate::Real;

/// Rows per task.
const ROWS: usize = 256;

/// (Σ_{i<j} A_ij·‖s_i·h_i − s_j·h_j‖², ‖H‖²) for a symmetric A, a scale s_i per node, and H (n × width).
///
/// With s = 1/√degree, the quotient of the two is the Rayleigh quotient of the normalized Laplacian; isolated nodes add nothing
/// to the numerator. Sums are in f64, because the signals are gradients far below 1.
pub fn dirichlet_energy(adjacency: CsrView<'_>, scale: &[f64], h: &[Real], width: usize) -> (f64, f64) {
    let n = adjacency.n_rows;
    assert!(scale.len() == n && h.len() == n * width, "one scale and one row per node");
    let mut total = [0.0; 2];
    sum_chunks(n.div_ceil(ROWS), &mut total, |chunk, partial| {
        for i in chunk * ROWS..n.min((chunk + 1) * ROWS) {
            let own = &h[i * width..(i + 1) * width];
            partial[1] += square(own);
            for at in adjacency.offsets[i]..adjacency.offsets[i + 1] {
                let j = adjacency.columns[at] as usize;
                if j > i {
                    let weight = adjacency.values.map_or(1.0, |values| f64::from(values[at]));
                    let other = &h[j * width..(j + 1) * width];
                    partial[0] += weight * distance(own, scale[i], other, scale[j]);
                }
            }
        }
    });
    (total[0], total[1])
}

const LANES: usize = 16;

simd! {
    fn distance[FMA](x: &[Real], a: f64, y: &[Real], b: f64) -> f64 {
        let mut lanes = [0.0f64; LANES];
        let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
        let rest = xs.remainder().iter().zip(ys.remainder());
        let tail: f64 = rest.map(|(&x, &y)| (a * f64::from(x) - b * f64::from(y)).powi(2)).sum();
        for (x, y) in xs.zip(ys) {
            for j in 0..LANES {
                let change = a * f64::from(x[j]) - b * f64::from(y[j]);
                lanes[j] += change * change;
            }
        }
        tail + lanes.iter().sum::<f64>()
    }
}

simd! {
    fn square[FMA](x: &[Real]) -> f64 {
        let mut lanes = [0.0f64; LANES];
        let xs = x.chunks_exact(LANES);
        let tail: f64 = xs.remainder().iter().map(|&x| f64::from(x).powi(2)).sum();
        for x in xs {
            for j in 0..LANES {
                lanes[j] += f64::from(x[j]) * f64::from(x[j]);
            }
        }
        tail + lanes.iter().sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn the_edge_form_equals_the_matrix_form() {
        // A path of four nodes and an isolated one.
        let (offsets, columns) = (vec![0, 1, 3, 5, 6, 6], vec![1u32, 0, 2, 1, 3, 2]);
        let adjacency = CsrView { n_rows: 5, n_cols: 5, offsets: &offsets, columns: &columns, values: None };
        let degrees = [1.0f64, 2.0, 2.0, 1.0, 0.0];
        let scale = degrees.map(|d| if d > 0.0 { 1.0 / d.sqrt() } else { 0.0 });
        let width = 19;
        let h = Numbers::new(4).vec(5 * width);
        let at = |i: usize, c: usize| f64::from(h[i * width + c]);
        let mut expected = 0.0;
        for c in 0..width {
            for i in 0..4 {
                expected += at(i, c) * at(i, c);
                for &j in &columns[offsets[i]..offsets[i + 1]] {
                    expected -= scale[i] * scale[j as usize] * at(i, c) * at(j as usize, c);
                }
            }
        }
        let (found, norm) = dirichlet_energy(adjacency, &scale, &h, width);
        assert!((found - expected).abs() < 1e-6 * expected, "{found} {expected}");
        let squares: f64 = h.iter().map(|&x| f64::from(x).powi(2)).sum();
        assert!((norm - squares).abs() < 1e-9 * squares);
    }
}
