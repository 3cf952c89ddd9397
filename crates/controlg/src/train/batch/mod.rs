//! What a step sees of a graph that is too large to be seen whole: a part of it, drawn anew for each step.
//!
//! A step's part follows from the seed and the number of the step alone, so a run can go on after any step and comes to
//! the same bytes at any number of threads. While one step is trained the next part is cut out on another thread.
//!
//! What is lost, compared with the whole graph: an edge that leads out of the part is not there in that step, so sums
//! over neighbors, and the degrees that scale them, are those of the part; losses that tell nodes apart draw their
//! negatives within the part; batch norms use the part's statistics. With `parts` each node is seen equally often on average.
//! With `neighbors` nodes of many neighbors are seen more often, roughly in proportion to their degree.

mod cluster;
mod neighbor;

use std::ops::Range;
use std::sync::Arc;

use crate::config::{BatchMode, Config};
use crate::error::Result;
use crate::graph::{Graph, Subgraph, SubgraphBuilder};

/// Says which nodes a step sees.
trait Sampler: Send + Sync {
    /// The nodes of a step, in any order; repetitions count once.
    fn nodes(&self, graph: &Graph, step: u64) -> Vec<u32>;
}

/// The parts of all steps, one after the other.
pub(super) struct BatchLoader<'g> {
    graph: &'g Graph,
    sampler: Box<dyn Sampler>,
    places: SubgraphBuilder,
    now: Option<(u64, Arc<Subgraph>)>,
    ahead: Option<(u64, Result<Subgraph>)>,
}

impl<'g> BatchLoader<'g> {
    /// The parts of a run with these settings; `None` where its steps see the whole graph.
    pub(super) fn new(graph: &'g Graph, config: &Config) -> Result<Option<Self>> {
        let nodes = config.train.batch_nodes;
        let sampler: Box<dyn Sampler> = match config.train.batch.on(graph.n_nodes()) {
            BatchMode::Auto | BatchMode::Full => return Ok(None),
            BatchMode::Cluster => Box::new(cluster::ClusterSampler::new(graph, nodes, config.seed)?),
            BatchMode::Neighbor => Box::new(neighbor::NeighborSampler::new(nodes, config)),
        };
        let places = SubgraphBuilder::new(graph.n_nodes());
        Ok(Some(BatchLoader { graph, sampler, places, now: None, ahead: None }))
    }

    /// The whole graph.
    pub(super) fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// The part of a step: the one that was cut out ahead where there is one.
    pub(super) fn part(&mut self, step: u64) -> Result<Arc<Subgraph>> {
        if let Some((_, part)) = self.now.as_ref().filter(|(of, _)| *of == step) {
            return Ok(part.clone());
        }
        self.prefetch(step);
        let part = match self.ahead.take() {
            Some((_, part)) => Arc::new(part?),
            None => unreachable!("it was just looked for"),
        };
        self.now = Some((step, part.clone()));
        Ok(part)
    }

    /// Cuts out the part of a step that will come, unless that is done. What goes wrong is said when it is asked for.
    pub(super) fn prefetch(&mut self, step: u64) {
        if self.ahead.as_ref().is_none_or(|(of, _)| *of != step) {
            let nodes = self.sampler.nodes(self.graph, step);
            self.ahead = Some((step, self.places.induced(self.graph, &nodes)));
        }
    }
}

/// The parts of the graph that some steps of a run see, for those who want to train on the same elsewhere; none where its
/// steps see the whole graph.
pub fn parts_of_steps(graph: &Graph, config: &Config, steps: Range<u64>) -> Result<Vec<Subgraph>> {
    let Some(feed) = BatchLoader::new(graph, config)? else { return Ok(Vec::new()) };
    steps.map(|step| Subgraph::induced(graph, &feed.sampler.nodes(graph, step))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn graph() -> Graph {
        crate::data::load("synthetic:nodes=3000,degree=6", &Default::default()).unwrap().graph
    }

    fn settings(batch: &str) -> Config {
        let mut table = Config::preset("any");
        for set in [&format!("train.batch={batch}"), "train.batch_nodes=400", "train.fanout=3"] {
            config::set(&mut table, set).unwrap();
        }
        Config::from_table(table).unwrap()
    }

    #[test]
    fn a_steps_part_follows_from_the_seed_and_the_step_alone() {
        let graph = graph();
        for batch in ["parts", "neighbors"] {
            let config = settings(batch);
            let mut forwards = BatchLoader::new(&graph, &config).unwrap().unwrap();
            let mut ahead = BatchLoader::new(&graph, &config).unwrap().unwrap();
            let nodes: Vec<Vec<u32>> =
                (0..9).map(|step| forwards.part(step).unwrap().nodes.clone()).collect();
            for step in [7u64, 2, 2, 8] {
                ahead.prefetch(step);
                assert_eq!(ahead.part(step).unwrap().nodes, nodes[step as usize], "{batch} {step}");
                ahead.prefetch(step + 1);
            }
            assert_ne!(nodes[0], nodes[1]);
            for part in &nodes {
                assert!((150..=600).contains(&part.len()), "{batch}: {} nodes", part.len());
            }
        }
        assert!(BatchLoader::new(&graph, &settings("auto")).unwrap().is_none());
    }

    #[test]
    fn a_round_of_parts_shows_nearly_every_node_and_none_twice() {
        let graph = graph();
        let mut feed = BatchLoader::new(&graph, &settings("parts")).unwrap().unwrap();
        let mut seen = vec![0usize; graph.n_nodes()];
        // Sixty parts, eight in a step: seven steps a round.
        (7..14).for_each(|step| {
            feed.part(step).unwrap().nodes.iter().for_each(|&node| seen[node as usize] += 1)
        });
        assert!(seen.iter().all(|&times| times <= 1));
        assert!(seen.iter().sum::<usize>() > 2600, "{}", seen.iter().sum::<usize>());
    }
}
