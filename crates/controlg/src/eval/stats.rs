//! Means, confidence intervals and paired differences over seeds.

use serde::{Deserialize, Serialize};

/// Mean of several values with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanInterval {
    /// Number of values.
    pub n: usize,
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation (n − 1); `None` for a single value.
    pub std: Option<f64>,
    /// Half-width of the 95 % t-interval of the mean; `None` for a single value.
    pub half_width: Option<f64>,
}

impl MeanInterval {
    /// Mean and interval of values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<MeanInterval> {
        if values.is_empty() {
            return None;
        }
        let n = values.len();
        let mean = mean(values);
        let std = sample_std(values);
        let half_width = std.map(|std| t_quantile(0.975, n - 1) * std / (n as f64).sqrt());
        Some(MeanInterval { n, mean, std, half_width })
    }

    /// Whether the interval excludes zero, i.e. whether a mean difference is significant.
    pub fn excludes_zero(&self) -> bool {
        self.half_width.is_some_and(|half| self.mean.abs() > half)
    }
}

/// Mean; 0 for empty input.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Sample standard deviation (n − 1); `None` for fewer than two values.
pub fn sample_std(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Differences a − b over the common seeds, ordered by seed.
pub fn paired_differences(a: &[(u64, f64)], b: &[(u64, f64)]) -> Vec<f64> {
    let mut pairs: Vec<(u64, f64)> = Vec::new();
    for &(seed, x) in a {
        let other = b.iter().find(|(known, _)| *known == seed);
        pairs.extend(other.map(|(_, y)| (seed, x - y)));
    }
    pairs.sort_by_key(|&(seed, _)| seed);
    pairs.into_iter().map(|(_, difference)| difference).collect()
}

/// Quantile of Student's t distribution with `df` degrees of freedom.
///
/// # Panics
/// If `df` is 0 or `probability` is not in 0.5..1.
pub fn t_quantile(probability: f64, df: usize) -> f64 {
    assert!(df > 0 && (0.5..1.0).contains(&probability), "t({probability}) with {df} degrees of freedom");
    let wanted = 2.0 * probability - 1.0;
    let mut high = 1.0;
    while t_within(high, df) < wanted {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if t_within(middle, df) < wanted { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// P(|T| ≤ t) for integer degrees of freedom, a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn t_within(t: f64, df: usize) -> f64 {
    let angle = (t / (df as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let odd = df % 2 == 1;
    // 1 + 1/2 cos² + 1·3/(2·4) cos⁴ + … for even, cos (1 + 2/3 cos² + 2·4/(3·5) cos⁴ + …) for odd.
    let (mut term, mut sum) = if odd { (cos, 0.0) } else { (1.0, 0.0) };
    let first = if odd { 1 } else { 0 };
    for k in (first..df.saturating_sub(1)).step_by(2) {
        sum += term;
        term *= (k + 1) as f64 / (k + 2) as f64 * cos * cos;
    }
    if odd { (angle + sin * sum) * std::f64::consts::FRAC_2_PI } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_published_tables() {
        let table = [(1, 12.706_204_736), (2, 4.302_652_730), (3, 3.182_446_305), (4, 2.776_445_105)];
        let more = [(5, 2.570_581_836), (9, 2.262_157_163), (19, 2.093_024_054), (30, 2.042_272_456)];
        for (df, want) in table.into_iter().chain(more).chain([(1000, 1.962_339_080)]) {
            assert!((t_quantile(0.975, df) - want).abs() < 1e-8, "{df}: {}", t_quantile(0.975, df));
        }
        assert!((t_quantile(0.95, 7) - 1.894_578_605).abs() < 1e-8);
    }

    #[test]
    fn interval_over_five_seeds() {
        let summary = MeanInterval::of(&[80.0, 81.0, 82.0, 83.0, 84.0]).unwrap();
        assert!((summary.mean - 82.0).abs() < 1e-12);
        let std = summary.std.unwrap();
        assert!((std - 2.5f64.sqrt()).abs() < 1e-12);
        assert!((summary.half_width.unwrap() / std - 1.241_664).abs() < 1e-6);
        assert!(summary.excludes_zero());
    }

    #[test]
    fn a_single_value_has_no_interval() {
        assert_eq!(
            MeanInterval::of(&[3.0]),
            Some(MeanInterval { n: 1, mean: 3.0, std: None, half_width: None })
        );
        assert_eq!(MeanInterval::of(&[]), None);
    }

    #[test]
    fn differences_are_paired_by_seed() {
        let a = [(3, 1.0), (0, 5.0), (7, 9.0)];
        assert_eq!(paired_differences(&a, &[(0, 4.0), (3, 3.0), (8, 0.0)]), [1.0, -2.0]);
    }
}
