use std::sync::{Arc, Mutex};

use super::lookahead::{Clusters, disagreement};
use super::step::Mixing;
use super::weight_search::{score, search_weights};
use crate::Real;
use crate::config::{self, Config};
use crate::coordinator::{
    ClusterVariance, Lookahead, MixWeights, Mixer, MixerInput, WeightBounds, WeightSearch, cma,
};
use crate::graph::Graph;
use crate::rng::Stream;
use crate::train::{Input, Training};

fn small_graph() -> Graph {
    crate::data::load("synthetic:nodes=60,features=20", &Default::default()).unwrap().graph
}

#[test]
fn the_gradient_at_the_representations_matches_finite_differences() {
    let graph = small_graph();
    let (n, width) = (graph.n_nodes(), 3);
    let mut stream = Stream::new(1, "test", "", 0);
    let z: Vec<Real> = (0..n * width).map(|_| stream.normal() as Real).collect();
    let centers: Vec<Vec<f64>> = (0..4).map(|_| (0..width).map(|_| stream.normal()).collect()).collect();
    let (_, found) = disagreement(&graph, &z, width, &centers, 2.0);
    // Small enough that few pairs change sign, large enough for single precision.
    let step: Real = 1.0 / 512.0;
    for at in (0..n * width).step_by(7) {
        let moved = |sign: Real| {
            let mut z = z.clone();
            z[at] += sign * step;
            disagreement(&graph, &z, width, &centers, 2.0).0
        };
        let expected = (moved(1.0) - moved(-1.0)) / f64::from(2.0 * step);
        let gap = (f64::from(found[at]) - expected).abs();
        assert!(gap < 2e-3 * expected.abs().max(1e-3), "{}: {} against {expected}", at, found[at]);
    }
}

#[test]
fn the_median_square_is_that_of_sorted_distances_to_the_means() {
    // Two clusters on a line, around 0 and 101; squared distances 1, 0, 1 and 4, 1, 9.
    let z: Vec<Real> = [-1.0, 0.0, 1.0, 99.0, 100.0, 104.0].to_vec();
    let clusters = Clusters::of(&z, 1, &Lookahead { clusters: 2, ..AHEAD }).unwrap();
    let mut centers = clusters.centers.concat();
    centers.sort_by(f64::total_cmp);
    assert_eq!(centers, [0.0, 101.0]);
    assert!((clusters.median_square(&z) - 1.0).abs() < 1e-12, "of 0, 1, 1, 1, 4 and 9");
}

/// A mixer with fixed weights that stores the derivatives it learns.
struct FixedWeights {
    weights: Vec<f64>,
    learned: Arc<Mutex<Vec<f64>>>,
}

const AHEAD: Lookahead = Lookahead { clusters: 3, starts: 2, variance: ClusterVariance::Absolute(0.5) };
const STEPS: u64 = 4;

impl Mixer for FixedWeights {
    fn mix(&mut self, _: &MixerInput<'_>) -> MixWeights {
        MixWeights { encoder: self.weights.clone(), heads: vec![1.0; self.weights.len()] }
    }

    fn lookahead(&self, step: u64) -> Option<Lookahead> {
        (step + 1 == STEPS).then_some(AHEAD)
    }

    fn update(&mut self, slopes: &[f64]) {
        *self.learned.lock().unwrap() = slopes.to_vec();
    }

    fn weight_bounds(&self) -> WeightBounds {
        WeightBounds { min: 0.0, max: 1.0, sum: None }
    }
}

/// The representations after a few steps, the last one with the weights `last`, and the derivatives learned there.
fn after(graph: &Graph, last: &[f64]) -> (Vec<Real>, Vec<f64>) {
    let mut table = Config::preset("any");
    for set in [
        "encoder.width=6",
        "encoder.norm=none",
        "train.lr=0.02", // larger values amplify rounding differences between instruction sets
        "objectives=p_link,p_recon,p_decor",
        "method=uniform",
    ] {
        config::set(&mut table, set).unwrap();
    }
    let config = Config::from_table(table).unwrap();
    let input = Input::new(graph, &config).unwrap();
    let mut training = Training::new(&input, &config).unwrap();
    let learned = Arc::new(Mutex::new(Vec::new()));
    let given = |weights: &[f64]| FixedWeights { weights: weights.to_vec(), learned: learned.clone() };
    let mut mixing = Mixing::new(Box::new(given(&[0.4, 0.3, 0.3])), training.model());
    for step in 0..STEPS {
        if step + 1 == STEPS {
            mixing.mixer = Box::new(given(last));
        }
        mixing.step(training.model_mut(), step).unwrap();
    }
    let z = training.model().embed().unwrap().0.data().to_vec();
    let slopes = learned.lock().unwrap().clone();
    (z, slopes)
}

#[test]
fn lookahead_slopes_match_finite_differences_through_an_adam_step() {
    let graph = small_graph();
    let base = [0.4, 0.3, 0.3];
    let (z, found) = after(&graph, &base);
    let centers = Clusters::of(&z, 6, &AHEAD).unwrap().centers;
    let step = 0.02;
    let expected: Vec<f64> = (0..3)
        .map(|k| {
            let moved = |sign: f64| {
                let mut weights = base;
                weights[k] += sign * step;
                disagreement(&graph, &after(&graph, &weights).0, 6, &centers, 0.5).0
            };
            (moved(1.0) - moved(-1.0)) / (2.0 * step)
        })
        .collect();
    let largest = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 0.05 * largest, "{found} against {expected} of {largest}");
    }
}

#[test]
fn the_search_is_deterministic_and_no_worse_than_its_first_generation() {
    let graph = crate::data::load("synthetic:nodes=80,features=20", &Default::default()).unwrap().graph;
    let mut table = Config::preset("synthetic");
    let set = ["method=autossl-es", "encoder.width=8", "objective.p_par.parts=3", "train.epochs=2"];
    set.iter().for_each(|assignment| config::set(&mut table, assignment).unwrap());
    let config = Config::from_table(table).unwrap();
    let trial = WeightSearch { generations: 2, population: 3, steps: 4, clusters: 4 };
    let found = search_weights(&graph, &config, &trial).unwrap();
    assert_eq!(found, search_weights(&graph, &config, &trial).unwrap(), "deterministic");
    assert!(found.len() == 5 && found.iter().all(|weight| (0.0..=1.0).contains(weight)));
    let score_of = |weights: &[f64]| score(&graph, &config, &trial, weights).unwrap();
    let first = cma::CmaEs::new(5, 3).ask(3, &mut Stream::new(config.seed, "trial", "autossl-es", 0));
    assert!(first.iter().all(|candidate| score_of(&found) <= score_of(candidate)));
}
