//! Searches for fixed weights with short trial runs, before the first step of the real run.

use super::step::Mixing;
use crate::config::Config;
use crate::coordinator::{ActiveMethod, WeightSearch, cma};
use crate::error::{Error, Result};
use crate::eval::kmeans;
use crate::graph::{Dense, Features, Graph};
use crate::rng::Stream;
use crate::train::model::{Model, ModelSpec};

/// The weights whose trial run leaves the fewest edges between clusters.
pub(in crate::train) fn search_weights(
    graph: &Graph,
    config: &Config,
    trial: &WeightSearch,
) -> Result<Vec<f64>> {
    let mut search = cma::CmaEs::new(config.objectives.len(), trial.population);
    let mut best: Option<(f64, Vec<f64>)> = None;
    for generation in 0..trial.generations {
        let mut stream = Stream::new(config.seed, "trial", &config.method, generation);
        let mut scored = Vec::with_capacity(trial.population);
        for candidate in search.ask(trial.population, &mut stream) {
            scored.push((score(graph, config, trial, &candidate)?, candidate));
        }
        scored.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (lowest, first) = &scored[0];
        if best.as_ref().is_none_or(|(score, _)| lowest < score) {
            best = Some((*lowest, first.clone()));
        }
        search.tell(&scored.into_iter().map(|(_, candidate)| candidate).collect::<Vec<_>>());
    }
    best.map(|(_, weights)| weights)
        .ok_or_else(|| Error::value(format_args!("mix.{}.generations", config.method), 0, "at least 1"))
}

/// The share of edges between clusters after a run with these weights; 1, the worst score, if training fails.
pub(super) fn score(graph: &Graph, config: &Config, trial: &WeightSearch, weights: &[f64]) -> Result<f64> {
    let method = config.build_method()?;
    let mut model = Model::new(graph, None, ModelSpec::from_config(config, &method))?;
    let ActiveMethod::Mix(mut mixer) = method else {
        return Err(Error::value("method", &config.method, "a mixing method"));
    };
    mixer.set_weights(weights.to_vec());
    let mut mixing = Mixing::new(mixer, &model);
    for step in 0..trial.steps {
        if mixing.step(&mut model, step).is_err() {
            return Ok(1.0);
        }
    }
    between_clusters(graph, model.embed()?.0, trial.clusters)
}

fn between_clusters(graph: &Graph, z: Dense, clusters: usize) -> Result<f64> {
    // The same random state for every candidate: they differ only in their representations.
    let found = kmeans::cluster(&Features::Dense(z), clusters, 0, &kmeans::KMeansSettings::default())?;
    let between = graph
        .edges()
        .filter(|&(u, v)| found.assignments[u as usize] != found.assignments[v as usize])
        .count();
    Ok(between as f64 / graph.n_edges().max(1) as f64)
}
