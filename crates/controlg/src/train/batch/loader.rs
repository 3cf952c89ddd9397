//! Builds the mini-batches of a run, one ahead.

use std::ops::Range;
use std::sync::Arc;

use super::cluster::ClusterSampler;
use super::neighbor::NeighborSampler;
use super::sampler::Sampler;
use crate::config::{BatchMode, Config};
use crate::error::Result;
use crate::graph::{Graph, Subgraph, SubgraphBuilder};

/// The mini-batches of all steps, numbered from 0. The shards of step s are `s * n_shards .. (s + 1) * n_shards`.
pub(in crate::train) struct BatchLoader<'g> {
    graph: &'g Graph,
    n_shards: usize,
    sampler: Box<dyn Sampler>,
    builder: SubgraphBuilder,
    current: Option<(u64, Arc<Subgraph>)>,
    next: Option<(u64, Result<Subgraph>)>,
}

impl<'g> BatchLoader<'g> {
    /// The mini-batches of a run with these settings; `None` for full-batch training.
    pub(in crate::train) fn new(graph: &'g Graph, config: &Config) -> Result<Option<Self>> {
        let (nodes, n_shards) = (config.train.batch_nodes, config.train.shards_on(graph.n_nodes())?);
        let sampler: Box<dyn Sampler> = match config.train.batch.on(graph.n_nodes()) {
            BatchMode::Auto | BatchMode::Full => return Ok(None),
            BatchMode::Cluster => Box::new(ClusterSampler::new(graph, nodes, config.seed)?),
            BatchMode::Neighbor => Box::new(NeighborSampler::new(graph, nodes, config)),
        };
        let builder = SubgraphBuilder::new(graph.n_nodes());
        Ok(Some(BatchLoader { graph, n_shards, sampler, builder, current: None, next: None }))
    }

    /// A loader whose only mini-batch is this subgraph, with number 0, for shape passes.
    pub(in crate::train) fn constant(graph: &'g Graph, batch: Subgraph) -> Self {
        let sampler = Box::new(ConstantSampler(batch.nodes.clone()));
        let builder = SubgraphBuilder::new(graph.n_nodes());
        BatchLoader { graph, n_shards: 1, sampler, builder, current: Some((0, Arc::new(batch))), next: None }
    }

    /// The full graph.
    pub(in crate::train) fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Mini-batches per step.
    pub(in crate::train) fn n_shards(&self) -> usize {
        self.n_shards
    }

    /// A mini-batch, prefetched or built now.
    pub(in crate::train) fn batch(&mut self, number: u64) -> Result<Arc<Subgraph>> {
        if let Some((_, batch)) = self.current.as_ref().filter(|(of, _)| *of == number) {
            return Ok(batch.clone());
        }
        self.prefetch(number);
        let batch = match self.next.take() {
            Some((_, batch)) => Arc::new(batch?),
            None => unreachable!("just prefetched"),
        };
        self.current = Some((number, batch.clone()));
        Ok(batch)
    }

    /// Builds a mini-batch, unless it is there already. [`BatchLoader::batch`] reports a failure.
    pub(in crate::train) fn prefetch(&mut self, number: u64) {
        if self.next.as_ref().is_none_or(|(of, _)| *of != number) {
            let nodes = self.sampler.nodes(self.graph, number);
            self.next = Some((number, self.builder.induced(self.graph, &nodes)));
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
    let shards = loader.n_shards as u64;
    let numbers = steps.start * shards..steps.end * shards;
    numbers.map(|number| Subgraph::induced(graph, &loader.sampler.nodes(graph, number))).collect()
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
