//! L-BFGS with an ask-and-tell interface (Nocedal and Wright, Numerical Optimization, algorithms 7.4 and 7.5).
//!
//! The caller evaluates value and gradient, so several minimizations over the same data can share each pass over it.
//!
//! The line search is designed for smooth convex functions with rounding noise: it uses slopes, which stay accurate when
//! differences of values do not, and only forbids the value to increase.

use std::collections::VecDeque;

/// Stopping criteria and memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LbfgsSettings {
    /// Number of stored curvature pairs.
    pub memory: usize,
    /// Maximum number of iterations.
    pub max_iterations: usize,
    /// Converged when the largest absolute gradient component is below this.
    pub tolerance: f64,
}

impl Default for LbfgsSettings {
    fn default() -> Self {
        LbfgsSettings { memory: 10, max_iterations: 300, tolerance: 1e-5 }
    }
}

/// Why a minimization stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LbfgsOutcome {
    /// The gradient is below the tolerance.
    Converged,
    /// The iteration limit was reached.
    Exhausted,
    /// No step decreases the value beyond rounding noise.
    Stalled,
}

/// State of one minimization.
#[derive(Clone, Debug)]
pub struct Lbfgs {
    settings: LbfgsSettings,
    /// Best point so far, with its value and gradient.
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    memory: VecDeque<CurvaturePair>,
    search: LineSearch,
    trial: Vec<f64>,
    iterations: usize,
    outcome: Option<LbfgsOutcome>,
}

/// A step and the change of the gradient along it.
#[derive(Clone, Debug)]
struct CurvaturePair {
    step: Vec<f64>,
    gradient: Vec<f64>,
    /// 1 / (step · gradient)
    scale: f64,
}

/// State of a line search.
#[derive(Clone, Debug, Default)]
struct LineSearch {
    direction: Vec<f64>,
    /// Slope at the start of the line; negative.
    slope: f64,
    step: f64,
    /// Longest step known to be too short, with its slope.
    low: (f64, f64),
    /// Shortest step known to be too long, with its slope.
    high: Option<(f64, f64)>,
    tries: usize,
}

/// Wolfe curvature constant: a slope of at most this fraction of the initial one is accepted.
const CURVATURE: f64 = 0.9;
/// Relative rounding noise of the value.
const NOISE: f64 = 1e-7;
/// Maximum number of steps tried along one line.
const MAX_TRIES: usize = 25;

impl Lbfgs {
    /// Starts a minimization.
    pub fn new(start: Vec<f64>, settings: LbfgsSettings) -> Self {
        Lbfgs {
            settings,
            point: start.clone(),
            value: f64::INFINITY,
            gradient: Vec::new(),
            memory: VecDeque::with_capacity(settings.memory),
            search: LineSearch::default(),
            trial: start,
            iterations: 0,
            outcome: None,
        }
    }

    /// The point to evaluate next; `None` when finished.
    pub fn ask(&self) -> Option<&[f64]> {
        self.outcome.is_none().then_some(&self.trial[..])
    }

    /// Passes in value and gradient at the point returned by [`ask`](Lbfgs::ask).
    pub fn tell(&mut self, value: f64, gradient: Vec<f64>) {
        debug_assert_eq!(gradient.len(), self.point.len());
        if self.gradient.is_empty() {
            self.value = value;
            self.gradient = gradient;
            return self.begin_line();
        }
        let slope = dot(&gradient, &self.search.direction);
        let first = self.search.slope;
        let increased = value.is_nan() || value > self.value + NOISE * self.value.abs();
        if increased || slope > -CURVATURE * first {
            self.search.high = Some((self.search.step, if increased { f64::NAN } else { slope }));
        } else if slope < CURVATURE * first {
            self.search.low = (self.search.step, slope);
        } else {
            return self.accept(value, gradient);
        }
        self.search.tries += 1;
        if self.search.tries == MAX_TRIES {
            // On an almost linear function a step that is too short still makes progress.
            return if increased {
                self.outcome = Some(LbfgsOutcome::Stalled)
            } else {
                self.accept(value, gradient)
            };
        }
        self.search.step = self.search.next_step();
        self.place_trial();
    }

    /// Why it stopped; `None` while running.
    pub fn outcome(&self) -> Option<LbfgsOutcome> {
        self.outcome
    }

    /// Number of iterations.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// The best point found.
    pub fn into_point(self) -> Vec<f64> {
        self.point
    }

    fn accept(&mut self, value: f64, gradient: Vec<f64>) {
        let step: Vec<f64> = self.trial.iter().zip(&self.point).map(|(new, old)| new - old).collect();
        let change: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(new, old)| new - old).collect();
        let curvature = dot(&step, &change);
        // Skip pairs without positive curvature; on convex functions they are rounding noise.
        if curvature > f64::EPSILON * dot(&change, &change) {
            if self.memory.len() == self.settings.memory {
                self.memory.pop_front();
            }
            self.memory.push_back(CurvaturePair { step, gradient: change, scale: 1.0 / curvature });
        }
        std::mem::swap(&mut self.point, &mut self.trial);
        self.value = value;
        self.gradient = gradient;
        self.iterations += 1;
        self.begin_line();
    }

    /// Checks the stopping criteria and starts the next line search.
    fn begin_line(&mut self) {
        let largest = self.gradient.iter().fold(0.0f64, |most, g| most.max(g.abs()));
        if largest < self.settings.tolerance {
            self.outcome = Some(LbfgsOutcome::Converged);
        } else if self.iterations >= self.settings.max_iterations {
            self.outcome = Some(LbfgsOutcome::Exhausted);
        } else if !self.value.is_finite() || !largest.is_finite() {
            self.outcome = Some(LbfgsOutcome::Stalled);
        }
        if self.outcome.is_some() {
            return;
        }
        let mut direction = self.two_loop_recursion();
        let mut slope = dot(&direction, &self.gradient);
        if slope >= 0.0 || slope.is_nan() {
            self.memory.clear();
            direction = self.gradient.iter().map(|g| -g).collect();
            slope = dot(&direction, &self.gradient);
        }
        // Without curvature information the first step has length 1.
        let step = if self.memory.is_empty() { 1.0 / (-slope).sqrt() } else { 1.0 };
        self.search = LineSearch { direction, slope, step, low: (0.0, slope), high: None, tries: 0 };
        self.place_trial();
    }

    fn place_trial(&mut self) {
        let LineSearch { direction, step, .. } = &self.search;
        for ((trial, point), direction) in self.trial.iter_mut().zip(&self.point).zip(direction) {
            *trial = point + step * direction;
        }
    }

    /// −H·gradient with the L-BFGS inverse Hessian H (two-loop recursion).
    fn two_loop_recursion(&self) -> Vec<f64> {
        let mut direction: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let mut shares = Vec::with_capacity(self.memory.len());
        for change in self.memory.iter().rev() {
            let share = change.scale * dot(&change.step, &direction);
            add(-share, &change.gradient, &mut direction);
            shares.push(share);
        }
        if let Some(last) = self.memory.back() {
            let size = 1.0 / (last.scale * dot(&last.gradient, &last.gradient));
            direction.iter_mut().for_each(|d| *d *= size);
        }
        for (change, share) in self.memory.iter().zip(shares.into_iter().rev()) {
            let rest = share - change.scale * dot(&change.gradient, &direction);
            add(rest, &change.step, &mut direction);
        }
        direction
    }
}

impl LineSearch {
    /// Zero of the slope by linear interpolation within the bracket, away from its ends; extrapolates without a bracket.
    fn next_step(&self) -> f64 {
        let (low, slope_low) = self.low;
        match self.high {
            Some((high, slope_high)) => {
                let width = high - low;
                let share = if slope_high > 0.0 { slope_low / (slope_low - slope_high) } else { 0.5 };
                low + width * share.clamp(0.1, 0.9)
            }
            None => {
                let gained = self.slope - slope_low; // negative if the function is convex along the line
                let flat = if gained < 0.0 { low * self.slope / gained } else { f64::INFINITY };
                flat.clamp(2.0 * low, 10.0 * low)
            }
        }
    }
}

/// Dot product in eight partial sums, which vectorizes and always sums in the same order.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in xs.zip(ys) {
        for i in 0..8 {
            sums[i] += x[i] * y[i];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// y += factor·x
fn add(factor: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimize(mut fit: Lbfgs, function: impl Fn(&[f64]) -> (f64, Vec<f64>)) -> (Lbfgs, usize) {
        let mut evaluations = 0;
        while let Some(point) = fit.ask() {
            let (value, gradient) = function(point);
            fit.tell(value, gradient);
            evaluations += 1;
        }
        (fit, evaluations)
    }

    #[test]
    fn minimizes_an_ill_conditioned_quadratic() {
        // ½ Σ c_i (x_i − i)² with curvatures from 1 to 10³.
        let curvature = |i: usize| 10f64.powf(3.0 * i as f64 / 49.0);
        let function = |x: &[f64]| {
            let away = x.iter().enumerate().map(|(i, x)| (curvature(i), x - i as f64));
            (away.clone().map(|(c, a)| 0.5 * c * a * a).sum(), away.map(|(c, a)| c * a).collect())
        };
        let (fit, evaluations) = minimize(Lbfgs::new(vec![0.0; 50], LbfgsSettings::default()), function);
        assert_eq!(fit.outcome(), Some(LbfgsOutcome::Converged));
        assert!(
            evaluations < 2 * fit.iterations() + 5,
            "{evaluations} evaluations, {} steps",
            fit.iterations()
        );
        assert!(fit.into_point().iter().enumerate().all(|(i, x)| (x - i as f64).abs() < 1e-4));
    }

    #[test]
    fn minimizes_a_logistic_function() {
        // Σ log(1 + e^(x_i)) − s_i x_i: flat far away, its minimum at logit(s_i).
        let shares = [0.1, 0.5, 0.999];
        let function = |x: &[f64]| {
            let value = x.iter().zip(shares).map(|(x, s)| x.exp().ln_1p() - s * x).sum();
            (value, x.iter().zip(shares).map(|(x, s)| 1.0 / (1.0 + (-x).exp()) - s).collect())
        };
        let (fit, _) = minimize(Lbfgs::new(vec![0.0; 3], LbfgsSettings::default()), function);
        for (x, s) in fit.into_point().iter().zip(shares) {
            assert!((1.0 / (1.0 + (-x).exp()) - s).abs() < 1e-5);
        }
    }

    #[test]
    fn stops_at_rounding_noise_and_on_nan() {
        let settings = LbfgsSettings { tolerance: 0.0, ..LbfgsSettings::default() };
        let (fit, evaluations) =
            minimize(Lbfgs::new(vec![3.0], settings), |x| (x[0] * x[0], vec![2.0 * x[0]]));
        assert!(evaluations < 400 && fit.into_point()[0].abs() < 1e-6);
        let (fit, _) = minimize(Lbfgs::new(vec![1.0], settings), |_| (f64::NAN, vec![f64::NAN]));
        assert_eq!(fit.outcome(), Some(LbfgsOutcome::Stalled));
    }
}
