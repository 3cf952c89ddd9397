//! How much of what a node's features say do its neighbors say too? The answer weights features against smoothed features,
//! without labels.
//!
//! The model: the features of a node are a signal of variance s² plus independent noise, and the signals of nodes k edges apart
//! have correlation λᵏ. λ is r in some directions of the signal and −r in the others, c on average relative to r: c is 1 if
//! neighbors are alike, and near 0 if the neighbors of a class are of another one, which says as much about a node as its own
//! class would. Then two features of an edge's ends have covariance c·r·s², and those of two neighbors of a node r²s². With
//! few edges or weak features, both are uncertain; so is s², which shows in the correlations between columns. Together they give
//! a posterior of r, c and s².
//!
//! A linear filter W keeps the share a² = (Σ_u W_vu λ^dist(v,u))² of the signal and the share n = Σ_u W_vu² of the noise. Its
//! ratio is E[a²] / (n + κ), where κ is the noise that no smoothing removes: on homophilous graphs smoothing averages noise
//! away; where neighbors share nothing, it loses the signal. The weak signals of features that are mostly noise need smoothing
//! more than strong ones do, so κ falls with s².

mod filters;
mod moments;

use self::filters::{FilterShares, filters};
use self::moments::FeatureMoments;
use super::Graph;
use crate::error::Result;

/// The weights of a node's features and of smoothed features, relative to the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HopWeights {
    /// The node's own features X.
    pub(crate) own: f64,
    /// The mean over the neighbors without the node itself, P·X.
    pub(crate) mean: f64,
    /// One step of a graph convolution, Â·X.
    pub(crate) once: f64,
    /// Two steps of a graph convolution, Â²·X.
    pub(crate) twice: f64,
}

/// The posterior of λ, as its moments E[λᵏ] over directions, and of the signal.
#[derive(Clone, Copy, Debug)]
struct Posterior {
    /// E[λᵏ] for k from 0 to 4.
    lambda: [f64; 5],
    /// The geometric mean of s².
    signal: f64,
}

// The constants from here to SHARPNESS were set by validation accuracy on several graphs (results/README.md, search).

/// The share of noise that smoothing never removes from strong signals, κ.
const FLOOR: f64 = 0.1;
/// The variance of a signal direction, relative to the noise in it, at which κ is half of [`FLOOR`].
const WEAK: f64 = 0.5;
/// Mean and standard deviation of the prior of c·r.
const PRIOR: (f64, f64) = (0.5, 0.5);
/// The prior of each c between −1 and 1, relative to that of c = ±1: of directions that differ in sign.
const MIXED: f64 = 0.05;
/// Relative error of the covariances under the model: the signals of real graphs are not equally correlated everywhere.
const TOLERANCE: f64 = 0.2;
/// Standard deviation of the logarithm of the signal around what the correlations between columns say.
const SIGNAL_SPREAD: f64 = 1.0;
/// The number of signal directions that the correlations between columns are explained by.
const DIRECTIONS: f64 = 10.0;
/// The weight of a filter is this power of its ratio.
const SHARPNESS: f64 = 1.5;

impl HopWeights {
    /// The weights for a graph. Features that no node differs in, and graphs without edges, keep to the features alone.
    pub(crate) fn of(graph: &Graph) -> Result<HopWeights> {
        let Some(moments) = FeatureMoments::of(graph)? else {
            return Ok(HopWeights { own: 1.0, mean: 0.0, once: 0.0, twice: 0.0 });
        };
        let posterior = Posterior::of(&moments);
        let strength = posterior.signal * moments.columns as f64 / DIRECTIONS;
        let floor = FLOOR * strength / (strength + WEAK);
        let ratio = |filter: &FilterShares| filter.signal(&posterior.lambda) / (filter.noise + floor);
        let [mean, once, twice] = filters(graph.adjacency()).map(|filter| ratio(&filter));
        let ratios = [1.0 / (1.0 + floor), mean, once, twice];
        let best = ratios.into_iter().fold(0.0, f64::max);
        let [own, mean, once, twice] = ratios.map(|ratio| (ratio / best).powf(SHARPNESS));
        Ok(HopWeights { own, mean, once, twice })
    }

    /// Bytes that [`HopWeights::of`] needs.
    pub(crate) fn bytes(graph: &Graph) -> usize {
        FeatureMoments::bytes(graph) + 9 * graph.n_nodes() * size_of::<f64>()
    }
}

impl Posterior {
    /// Sums over a grid of r, c and s².
    fn of(moments: &FeatureMoments) -> Posterior {
        // Log-likelihood of a covariance.
        let term = |(found, error): (f64, f64), expected: f64| {
            -0.5 * (found - expected).powi(2) / (error.powi(2) + (TOLERANCE * found).powi(2))
        };
        let normal = |deviations: f64| -0.5 * deviations.powi(2);
        let mut points = Vec::new();
        for (r, c) in signs() {
            let prior = normal((c * r - PRIOR.0) / PRIOR.1) + if c.abs() < 1.0 { MIXED.ln() } else { 0.0 };
            for spread in (-80..=80).map(|at| f64::from(at) / 20.0) {
                let signal = moments.signal * f64::exp(SIGNAL_SPREAD * spread);
                let edge = term(moments.edge, c * r * signal);
                let two_hops = term(moments.two_hops, r * r * signal);
                points.push((r, c, signal.ln(), prior + normal(spread) + edge + two_hops));
            }
        }
        let best = points.iter().fold(f64::NEG_INFINITY, |best, point| best.max(point.3));
        let (mut total, mut lambda, mut log_signal) = (0.0, [0.0; 5], 0.0);
        for (r, c, log, likelihood) in points {
            let weight = f64::exp(likelihood - best);
            total += weight;
            log_signal += weight * log;
            // λᵏ is rᵏ in every direction if k is even, and c·rᵏ on average if k is odd.
            for (sum, power) in lambda.iter_mut().zip(0..) {
                *sum += weight * r.powi(power) * if power % 2 == 0 { 1.0 } else { c };
            }
        }
        Posterior { lambda: lambda.map(|sum| sum / total), signal: f64::exp(log_signal / total) }
    }
}

/// A grid of r and c.
fn signs() -> impl Iterator<Item = (f64, f64)> {
    (0..=50).flat_map(|r| (-4..=4).map(move |c| (f64::from(r) / 50.0, f64::from(c) / 4.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Real;
    use crate::data;
    use crate::graph::Features;
    use crate::rng::Stream;

    fn weights(name: &str) -> HopWeights {
        HopWeights::of(&data::load(name, &data::LoadOptions::default()).unwrap().graph).unwrap()
    }

    #[test]
    fn homophilous_graphs_prefer_smoothing_and_heterophilous_ones_the_features() {
        let similar = weights("synthetic:nodes=1500,features=300,homophily=0.9");
        assert!(similar.twice > 0.9 && similar.own < 0.5 * similar.twice, "{similar:?}");
        let unrelated = weights("synthetic:nodes=1500,features=300,homophily=0.15");
        assert!(unrelated.own > 0.99 && unrelated.mean < 0.03, "{unrelated:?}");
    }

    #[test]
    fn neighbors_of_another_class_count_if_it_is_always_the_same() {
        let paired = weights("synthetic:nodes=1500,features=300,homophily=0.8,paired=1");
        let alone = weights("synthetic:nodes=1500,features=300,homophily=0.14");
        assert!(paired.mean > 0.4 && alone.mean < 0.1, "{paired:?} {alone:?}");
    }

    #[test]
    fn precise_covariances_give_lambda_and_imprecise_ones_the_prior() {
        let moments = |edge, two_hops| FeatureMoments { edge, two_hops, signal: 0.01, columns: 100 };
        let mean = |moments: FeatureMoments| Posterior::of(&moments).lambda[1];
        let precise = mean(moments((0.006, 1e-6), (0.0036, 1e-6)));
        assert!((precise - 0.6).abs() < 0.1, "{precise}");
        let opposed = mean(moments((-0.006, 1e-6), (0.0036, 1e-6)));
        assert!((opposed + 0.6).abs() < 0.15, "{opposed}");
        let mixed = Posterior::of(&moments((0.0, 1e-6), (0.0036, 1e-6)));
        assert!(mixed.lambda[1].abs() < 0.05 && (mixed.lambda[2] - 0.36).abs() < 0.1, "{:?}", mixed.lambda);
        let unknown = mean(moments((0.0, 1.0), (0.0, f64::INFINITY)));
        assert!((0.3..0.5).contains(&unknown), "the prior between −1 and 1: {unknown}");
    }

    #[test]
    fn features_without_structure_leave_it_open() {
        let mut stream = Stream::new(5, "test", "hop signal", 0);
        let (n, d) = (500, 200);
        let edges: Vec<(u32, u32)> = (0..1000)
            .map(|_| (stream.below(n) as u32, stream.below(n) as u32))
            .filter(|(u, v)| u != v)
            .collect();
        let data = (0..n * d).map(|_| stream.normal() as Real).collect();
        let graph = Graph::from_edges(n, &edges, Features::dense(n, d, data).unwrap()).unwrap();
        let weights = HopWeights::of(&graph).unwrap();
        // Features with structure would settle it: their neighbors share nothing.
        assert!(weights.own > 0.3 && weights.twice > 0.9, "{weights:?}");
    }

    #[test]
    fn graphs_without_edges_or_without_features_that_differ_keep_the_features() {
        let alone = HopWeights { own: 1.0, mean: 0.0, once: 0.0, twice: 0.0 };
        assert_eq!(weights("synthetic:nodes=50,features=20,degree=0"), alone);
        let same = Features::dense(4, 2, vec![1.0; 8]).unwrap();
        let graph = Graph::from_edges(4, &[(0, 1), (1, 2)], same).unwrap();
        assert_eq!(HopWeights::of(&graph).unwrap(), alone);
    }
}
