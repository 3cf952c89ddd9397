//! CMA-ES, derivative-free minimization (Hansen, The CMA Evolution Strategy: A Tutorial, 2016), on the box \[0, 1\]ⁿ.
//! Candidates are clipped to the box, and the update uses the clipped ones.

use crate::rng::Stream;

/// Minimizes a score, generation by generation.
pub(crate) struct CmaEs {
    mean: Vec<f64>,
    sigma: f64,
    /// Covariance of the steps, n × n.
    covariance: Vec<Vec<f64>>,
    /// Evolution paths of the mean, for the step size and for the covariance.
    size_path: Vec<f64>,
    shape_path: Vec<f64>,
    generation: i32,
    rates: Rates,
}

/// The tutorial's constants for a dimension and population size.
struct Rates {
    /// Weights of the better half, best first; they sum to one.
    weights: Vec<f64>,
    effective: f64,
    size_path: f64,
    shape_path: f64,
    rank_one: f64,
    rank_mu: f64,
    damping: f64,
    /// The expected norm of a standard normal vector.
    length: f64,
}

impl CmaEs {
    /// Starts at the center of the box, with a step size of half its width.
    pub(crate) fn new(n: usize, population: usize) -> Self {
        let covariance = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        CmaEs {
            mean: vec![0.5; n],
            sigma: 0.5,
            covariance,
            size_path: vec![0.0; n],
            shape_path: vec![0.0; n],
            generation: 0,
            rates: Rates::new(n, population),
        }
    }

    /// Samples the candidates of the next generation.
    pub(crate) fn ask(&self, population: usize, stream: &mut Stream) -> Vec<Vec<f64>> {
        let (values, vectors) = eigen(&self.covariance);
        let candidate = |_| {
            let draws: Vec<f64> =
                values.iter().map(|value| value.max(0.0).sqrt() * stream.normal()).collect();
            let place = |i: usize| {
                let step: f64 = (0..draws.len()).map(|k| vectors[i][k] * draws[k]).sum();
                (self.mean[i] + self.sigma * step).clamp(0.0, 1.0)
            };
            (0..draws.len()).map(place).collect()
        };
        (0..population).map(candidate).collect()
    }

    /// Updates the distribution from a generation, ranked by ascending score.
    pub(crate) fn tell(&mut self, ranked: &[Vec<f64>]) {
        let (n, rates) = (self.mean.len(), &self.rates);
        self.generation += 1;
        let steps: Vec<Vec<f64>> = (ranked.iter())
            .map(|x| x.iter().zip(&self.mean).map(|(x, mean)| (x - mean) / self.sigma).collect())
            .collect();
        let mean_step: Vec<f64> =
            (0..n).map(|i| rates.weights.iter().zip(&steps).map(|(w, step)| w * step[i]).sum()).collect();
        (0..n).for_each(|i| self.mean[i] += self.sigma * mean_step[i]);

        let whitened = self.whitened(&mean_step);
        update_path(&mut self.size_path, &whitened, rates.size_path, rates.effective);
        let length = self.size_path.iter().map(|x| x * x).sum::<f64>().sqrt();
        let settled = 1.0 - (1.0 - rates.size_path).powi(2 * self.generation);
        // A long path means that the step size is still growing: the covariance path pauses.
        let settled_size = length / settled.sqrt() / rates.length < 1.4 + 2.0 / (n as f64 + 1.0);
        let onward = if settled_size { mean_step } else { vec![0.0; n] };
        update_path(&mut self.shape_path, &onward, rates.shape_path, rates.effective);

        let lost = if settled_size { 0.0 } else { rates.shape_path * (2.0 - rates.shape_path) };
        let kept = 1.0 - rates.rank_one - rates.rank_mu + rates.rank_one * lost;
        for i in 0..n {
            for j in 0..n {
                let mu: f64 = rates.weights.iter().zip(&steps).map(|(w, step)| w * step[i] * step[j]).sum();
                let one = self.shape_path[i] * self.shape_path[j];
                self.covariance[i][j] =
                    kept * self.covariance[i][j] + rates.rank_one * one + rates.rank_mu * mu;
            }
        }
        self.sigma *= (rates.size_path / rates.damping * (length / rates.length - 1.0)).exp();
    }

    /// C^(−1/2)·x.
    fn whitened(&self, x: &[f64]) -> Vec<f64> {
        let (values, vectors) = eigen(&self.covariance);
        let along = |k: usize| (0..x.len()).map(|i| vectors[i][k] * x[i]).sum::<f64>();
        let scaled: Vec<f64> = (0..x.len()).map(|k| along(k) / values[k].max(1e-20).sqrt()).collect();
        (0..x.len()).map(|i| (0..x.len()).map(|k| vectors[i][k] * scaled[k]).sum()).collect()
    }
}

impl Rates {
    fn new(dimension: usize, population: usize) -> Self {
        let n = dimension as f64;
        let parents = (population / 2).max(1);
        let raw: Vec<f64> =
            (1..=parents).map(|rank| (parents as f64 + 0.5).ln() - (rank as f64).ln()).collect();
        let total: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|weight| weight / total).collect();
        let effective = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        let size_path = (effective + 2.0) / (n + effective + 5.0);
        let rank_one = 2.0 / ((n + 1.3).powi(2) + effective);
        let rank_mu = 2.0 * (effective - 2.0 + 1.0 / effective) / ((n + 2.0).powi(2) + effective);
        Rates {
            size_path,
            shape_path: (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n),
            rank_one,
            rank_mu: rank_mu.clamp(0.0, 1.0 - rank_one),
            damping: 1.0 + 2.0 * (((effective - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + size_path,
            length: n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
            weights,
            effective,
        }
    }
}

/// Exponential smoothing of an evolution path.
fn update_path(path: &mut [f64], step: &[f64], rate: f64, effective: f64) {
    let onward = (rate * (2.0 - rate) * effective).sqrt();
    path.iter_mut().zip(step).for_each(|(path, step)| *path = (1.0 - rate) * *path + onward * step);
}

/// Eigenvalues and eigenvectors (as columns) of a small symmetric matrix, by Jacobi rotations.
fn eigen(matrix: &[Vec<f64>]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = matrix.len();
    let mut a = matrix.to_vec();
    let mut vectors: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    // Convergence is quadratic: far fewer sweeps are enough.
    for _ in 0..30 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
                }
                for k in 0..n {
                    (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                }
                for row in &mut vectors {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best candidate found.
    fn minimize(n: usize, generations: u64, score: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let mut search = CmaEs::new(n, 8);
        let mut best = vec![0.5; n];
        for generation in 0..generations {
            let mut found = search.ask(8, &mut Stream::new(3, "test", "", generation));
            assert!(found.iter().flatten().all(|x| (0.0..=1.0).contains(x)));
            found.sort_by(|a, b| score(a).total_cmp(&score(b)));
            if score(&found[0]) < score(&best) {
                best.clone_from(&found[0]);
            }
            search.tell(&found);
        }
        best
    }

    #[test]
    fn an_ill_conditioned_quadratic_is_minimized() {
        let target = [0.2, 0.7, 0.4, 0.9, 0.5];
        let score = |x: &[f64]| -> f64 {
            let d: Vec<f64> = x.iter().zip(target).map(|(x, t)| x - t).collect();
            (d[0] + d[1]).powi(2) * 100.0 + d.iter().map(|d| d * d).sum::<f64>()
        };
        let best = minimize(5, 100, score);
        assert!(best.iter().zip(target).all(|(x, t)| (x - t).abs() < 1e-3), "{best:?}");
    }

    #[test]
    fn a_minimum_at_a_corner_of_the_box_is_found() {
        let best = minimize(3, 60, |x| x[0] - x[1] + (x[2] - 0.5).powi(2));
        assert!(best[0] < 1e-6 && best[1] > 1.0 - 1e-6 && (best[2] - 0.5).abs() < 0.05, "{best:?}");
    }

    #[test]
    fn eigenvectors_satisfy_their_equation() {
        let matrix = vec![vec![4.0, 1.0, -2.0], vec![1.0, 2.0, 0.0], vec![-2.0, 0.0, 3.0]];
        let (values, vectors) = eigen(&matrix);
        for k in 0..3 {
            for i in 0..3 {
                let product: f64 = (0..3).map(|j| matrix[i][j] * vectors[j][k]).sum();
                assert!((product - values[k] * vectors[i][k]).abs() < 1e-12);
            }
        }
        assert!((values.iter().sum::<f64>() - 9.0).abs() < 1e-12);
    }
}
