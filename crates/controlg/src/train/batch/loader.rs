//! Builds the mini-batches of a run, one step ahead.

use std::ops::Range;
use std::sync::Arc;

use super::cluster::ClusterSampler;
use super::neighbor::NeighborSampler;
use super::sampler::Sampler;
use crate::config::{BatchMode, Config};
use crate::error::Result;
use crate::graph::{Graph, Subgraph, SubgraphBuilder};

/// The mini-batches of all steps.
pub(in crate::train) struct BatchLoader<'g> {
    graph: &'g Graph,
    sampler: Box<dyn Sampler>,
    builder: SubgraphBuilder,
    current: Option<(u64, Arc<Subgraph>)>,
    next: Option<(u64, Result<Subgraph>)>,
}

impl<'g> BatchLoader<'g> {
    /// The mini-batches of a run with these settings; `None` for full-batch training.
    pub(in crate::train) fn new(graph: &'g Graph, config: &Config) -> Result<Option<Self>> {
        let nodes = config.train.batch_nodes;
        let sampler: Box<dyn Sampler> = match config.train.batch.on(graph.n_nodes()) {
            BatchMode::Auto | BatchMode::Full => return Ok(None),
            BatchMode::Cluster => Box::new(ClusterSampler::new(graph, nodes, config.seed)?),
            BatchMode::Neighbor => Box::new(NeighborSampler::new(graph, nodes, config)),
        };
        let builder = SubgraphBuilder::new(graph.n_nodes());
        Ok(Some(BatchLoader { graph, sampler, builder, current: None, next: None }))
    }

    /// A loader whose only mini-batch is this subgraph, at step 0, for shape passes.
    pub(in crate::train) fn constant(graph: &'g Graph, batch: Subgraph) -> Self {
        let sampler = Box::new(ConstantSampler(batch.nodes.clone()));
        let builder = SubgraphBuilder::new(graph.n_nodes());
        BatchLoader { graph, sampler, builder, current: Some((0, Arc::new(batch))), next: None }
    }

    /// The full graph.
    pub(in crate::train) fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// The mini-batch of a step, prefetched or built now.
    pub(in crate::train) fn batch(&mut self, step: u64) -> Result<Arc<Subgraph>> {
        if let Some((_, batch)) = self.current.as_ref().filter(|(of, _)| *of == step) {
            return Ok(batch.clone());
        }
        self.prefetch(step);
        let batch = match self.next.take() {
            Some((_, batch)) => Arc::new(batch?),
            None => unreachable!("just prefetched"),
        };
        self.current = Some((step, batch.clone()));
        Ok(batch)
    }

    /// Builds the mini-batch of a step, unless it is there already. [`BatchLoader::batch`] reports a failure.
    pub(in crate::train) fn prefetch(&mut self, step: u64) {
        if self.next.as_ref().is_none_or(|(of, _)| *of != step) {
            let nodes = self.sampler.nodes(self.graph, step);
            self.next = Some((step, self.builder.induced(self.graph, &nodes)));
        }
    }
}

/// The same nodes at every step.
struct ConstantSampler(Vec<u32>);

impl Sampler for ConstantSampler {
    fn nodes(&self, _: &Graph, _: u64) -> Vec<u32> {
        self.0.clone()
    }
}

/// The mini-batches of some steps of a run, to train on the same ones elsewhere. Empty for full-batch training.
pub fn sample_batches(graph: &Graph, config: &Config, steps: Range<u64>) -> Result<Vec<Subgraph>> {
    let Some(loader) = BatchLoader::new(graph, config)? else { return Ok(Vec::new()) };
    steps.map(|step| Subgraph::induced(graph, &loader.sampler.nodes(graph, step))).collect()
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
    fn a_batch_depends_on_the_seed_and_the_step_alone() {
        let graph = graph();
        for batch in ["cluster", "neighbor"] {
            let config = settings(batch);
            let mut loader = BatchLoader::new(&graph, &config).unwrap().unwrap();
            let mut prefetching = BatchLoader::new(&graph, &config).unwrap().unwrap();
            let nodes: Vec<Vec<u32>> = (0..9).map(|step| loader.batch(step).unwrap().nodes.clone()).collect();
            for step in [7u64, 2, 2, 8] {
                prefetching.prefetch(step);
                assert_eq!(prefetching.batch(step).unwrap().nodes, nodes[step as usize], "{batch} {step}");
                prefetching.prefetch(step + 1);
            }
            assert_ne!(nodes[0], nodes[1]);
            for batch_nodes in &nodes {
                assert!((150..=600).contains(&batch_nodes.len()), "{batch}: {} nodes", batch_nodes.len());
            }
        }
        assert!(BatchLoader::new(&graph, &settings("auto")).unwrap().is_none());
    }

    #[test]
    fn a_round_of_clusters_covers_nearly_every_node_and_none_twice() {
        let graph = graph();
        let mut loader = BatchLoader::new(&graph, &settings("cluster")).unwrap().unwrap();
        let mut seen = vec![0usize; graph.n_nodes()];
        // Sixty clusters, eight per step: seven steps per round.
        (7..14).for_each(|step| {
            loader.batch(step).unwrap().nodes.iter().for_each(|&node| seen[node as usize] += 1)
        });
        assert!(seen.iter().all(|&times| times <= 1));
        assert!(seen.iter().sum::<usize>() > 2600, "{}", seen.iter().sum::<usize>());
    }
}
