//! Short runs that find the fixed weights of a mix, before the first step of the real one.

use super::Mixing;
use crate::config::Config;
use crate::coordinator::{ActiveMethod, Trial, cma};
use crate::error::{Error, Result};
use crate::eval::kmeans;
use crate::graph::{Dense, Features, Graph};
use crate::rng::Stream;
use crate::train::Model;
use crate::train::training::parts;

/// The weights whose trial run left the fewest edges between clusters.
pub(in crate::train) fn weights(graph: &Graph, config: &Config, trial: &Trial) -> Result<Vec<f64>> {
    let mut search = cma::CmaEs::new(config.objectives.len(), trial.population);
    let mut best: Option<(f64, Vec<f64>)> = None;
    for generation in 0..trial.generations {
        let mut stream = Stream::new(config.seed, "trial", &config.method, generation);
        let mut judged = Vec::with_capacity(trial.population);
        for candidate in search.ask(trial.population, &mut stream) {
            judged.push((score(graph, config, trial, &candidate)?, candidate));
        }
        judged.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (lowest, first) = &judged[0];
        if best.as_ref().is_none_or(|(score, _)| lowest < score) {
            best = Some((*lowest, first.clone()));
        }
        search.tell(&judged.into_iter().map(|(_, candidate)| candidate).collect::<Vec<_>>());
    }
    best.map(|(_, weights)| weights)
        .ok_or_else(|| Error::value(format_args!("mix.{}.generations", config.method), 0, "at least 1"))
}

/// The share of edges between clusters after a run with these weights; the worst there is where training fails.
fn score(graph: &Graph, config: &Config, trial: &Trial, weights: &[f64]) -> Result<f64> {
    let decider = config.build_method()?;
    let mut model = Model::new(graph, None, parts(config, &decider)?)?;
    let ActiveMethod::Mix(mut mixer) = decider else {
        return Err(Error::value("method", &config.method, "one that mixes"));
    };
    mixer.found(weights.to_vec());
    let mut mixing = Mixing::new(mixer, &model);
    for step in 0..trial.steps {
        if mixing.step(&mut model, step).is_err() {
            return Ok(1.0);
        }
    }
    between_clusters(graph, model.embed()?.0, trial.clusters)
}

fn between_clusters(graph: &Graph, z: Dense, clusters: usize) -> Result<f64> {
    // The same random state for every candidate: they differ by their representations alone.
    let found = kmeans::cluster(&Features::Dense(z), clusters, 0, &kmeans::KMeansSettings::default())?;
    let between = graph.edges().filter(|&(u, v)| found.parts[u as usize] != found.parts[v as usize]).count();
    Ok(between as f64 / graph.n_edges().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn the_best_of_the_trial_is_at_least_as_good_as_its_first_generation() {
        let graph = crate::data::load("synthetic:nodes=80,features=20", &Default::default()).unwrap().graph;
        let mut table = Config::preset("synthetic");
        let set = ["method=autossl-es", "encoder.width=8", "objective.p_par.parts=3", "train.epochs=2"];
        set.iter().for_each(|assignment| config::set(&mut table, assignment).unwrap());
        let config = Config::from_table(table).unwrap();
        let trial = Trial { generations: 2, population: 3, steps: 4, clusters: 4 };
        let found = weights(&graph, &config, &trial).unwrap();
        assert_eq!(found, weights(&graph, &config, &trial).unwrap(), "the same every time");
        assert!(found.len() == 5 && found.iter().all(|weight| (0.0..=1.0).contains(weight)));
        let judge = |weights: &[f64]| score(&graph, &config, &trial, weights).unwrap();
        let first = cma::CmaEs::new(5, 3).ask(3, &mut Stream::new(config.seed, "trial", "autossl-es", 0));
        assert!(first.iter().all(|candidate| judge(&found) <= judge(candidate)));
    }
}
