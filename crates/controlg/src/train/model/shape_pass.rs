//! The peak memory of a step, from a pass over shapes without numbers.

use super::data::TrainData;
use super::sense::Measurement;
use super::{ENCODER, Model, ModelSpec};
use crate::Real;
use crate::config::EmbedSettings;
use crate::encoder::{Network, Pass, block_bytes};
use crate::error::Result;
use crate::graph::{EncoderInput, Graph, Subgraph};
use crate::objective::{AuxNetwork, Objective};
use crate::rng::Stream;
use crate::tensor::{Pool, Tape};
use crate::train::batch::BatchLoader;

/// Checks the objectives and prepares them for shape passes on a graph.
pub(super) fn prepare(objectives: &mut [Box<dyn Objective>], graph: &Graph) -> Result<()> {
    objectives.iter().try_for_each(|objective| objective.check(graph))?;
    objectives.iter_mut().try_for_each(|objective| objective.prepare_shapes(graph))
}

impl<'g> Model<'g> {
    /// A model for shape passes: its steps take and free the buffers of real steps but compute nothing.
    pub(in crate::train) fn shape_only(
        graph: &'g Graph,
        probe: Option<&'g Subgraph>,
        loader: Option<BatchLoader<'g>>,
        spec: ModelSpec,
    ) -> Result<Self> {
        // No step after the first, so that no mini-batch is prefetched.
        Model::build(graph, probe, loader, ModelSpec { total_steps: 1, ..spec }, true)
    }

    /// The peak bytes of buffers and kernel scratch space over the steps of a run: every objective in turn, before and
    /// after a sensing if the method senses.
    pub(in crate::train) fn peak_step_bytes(&mut self, passes: ExtraPasses) -> Result<usize> {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        let mut stream = Stream::new(self.seed, "estimate", "order", 0);
        for _ in 0..if passes.any_order { ORDERS.min(order.len().pow(2)) } else { 1 } {
            // The buffers of one objective serve the next, so what there is in the end depends on the first steps.
            self.pool.trim();
            if passes.senses {
                self.measure_all(0, Measurement::Losses)?;
            }
            for round in 0..2 {
                for &task in &order {
                    self.grads.reset();
                    self.differentiate(task, 0, false)?;
                }
                if passes.embeds {
                    self.clean_pass(&self.pool, passes.looks_ahead);
                }
                if passes.senses && round == 0 {
                    let transfer = passes.senses_held_out;
                    self.measure_all(
                        0,
                        if transfer { Measurement::Transfer } else { Measurement::Gradients },
                    )?;
                }
            }
            stream.shuffle(&mut order);
        }
        Ok(self.pool.peak_bytes() + self.pool.scratch_bytes())
    }

    /// Bytes for computing and writing the embeddings after the last step, where writing takes `writing` bytes.
    pub(in crate::train) fn embed_bytes(&self, settings: &EmbedSettings, writing: usize) -> usize {
        match &self.data {
            TrainData::Full(data) => {
                let pool = Pool::shape_only();
                let (rows, cols) = self.clean_pass(&pool, false);
                // If an objective is alone: the representations of both networks, and their sum.
                let results = match &data.objectives[..] {
                    [alone] if alone.aux_network() == Some(AuxNetwork::Trained) => 3,
                    _ => 1,
                };
                let result = rows * cols * size_of::<Real>();
                // The embeddings are written when they are complete and the buffers are free again.
                let readout = self.readout(data.graph, settings).bytes_in_memory();
                let computed = pool.peak_bytes() + pool.scratch_bytes() + results * result;
                computed.max(result + readout).max(result + writing)
            }
            TrainData::Batches(loader, _) if !self.encoder.embeds_in_blocks() => {
                let (graph, pool) = (loader.graph(), Pool::shape_only());
                let input = EncoderInput::shape_only(graph, self.encoder.operator());
                let mut tape = Tape::forward_only(&self.params, &pool);
                self.encoder.encode(&mut tape, ENCODER, &input.whole(), Pass::default());
                drop(tape);
                let operator = self.encoder.operator().n_entries(graph.adjacency());
                let prepared = input.memory_bytes() + 2 * operator * (size_of::<u32>() + size_of::<Real>());
                let result = graph.n_nodes() * self.encoder.width() * size_of::<Real>();
                let readout = self.readout(graph, settings).bytes_in_memory();
                let computed = pool.peak_bytes() + pool.scratch_bytes() + result + prepared;
                computed.max(result + readout).max(result + writing)
            }
            TrainData::Batches(loader, _) => {
                let network = Network { encoder: &*self.encoder, params: &self.params, group: ENCODER };
                // Rows are written as they come, by the last layer or by the readout.
                let (held, readout) = self.readout(loader.graph(), settings).bytes_in_blocks();
                let (made, written) = if settings.smooth == 0 { (writing, 0) } else { (0, writing) };
                (held + block_bytes(network, loader.graph(), made)).max(readout + written)
            }
        }
    }

    /// A pass over the unaugmented graph; returns the shape of the representations. `records` keeps everything for a
    /// backward pass.
    pub(super) fn clean_pass(&self, pool: &Pool, records: bool) -> (usize, usize) {
        let mut tape = match records {
            true => Tape::new(&self.params, pool),
            false => Tape::forward_only(&self.params, pool),
        };
        let z = self.encoder.encode(&mut tape, ENCODER, &self.clean().prepared.whole(), Pass::default());
        tape.shape(z)
    }
}

/// How many orders are tried of objectives that come in any order.
const ORDERS: usize = 12;

/// What a run does besides steps on one objective after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::train) struct ExtraPasses {
    /// Whether all objectives are sensed.
    pub(in crate::train) senses: bool,
    /// Whether they are sensed on held-out samples too.
    pub(in crate::train) senses_held_out: bool,
    /// Whether the objectives come in any order.
    pub(in crate::train) any_order: bool,
    /// Whether steps compute the representations of the unaugmented graph.
    pub(in crate::train) embeds: bool,
    /// Whether they are differentiated.
    pub(in crate::train) looks_ahead: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Config};
    use crate::graph::Features;
    use crate::objective;
    use crate::train::Input;

    /// The peak bytes of all buffers after real steps and after shape passes.
    fn peaks(graph: &Graph, set: &[&str]) -> [usize; 2] {
        let mut table = Config::preset("any");
        set.iter().for_each(|assignment| config::set(&mut table, assignment).unwrap());
        let config = Config::from_table(table).unwrap();
        let input = Input::new(graph, &config).unwrap();
        [false, true].map(|shape_only| {
            let spec = ModelSpec::from_config(&config, &config.build_method().unwrap());
            let mut model = Model::build(&input.graph, input.probe.as_ref(), None, spec, shape_only).unwrap();
            assert_eq!(model.pool.is_shape_only(), shape_only);
            let senses_held_out = config.senses_held_out();
            let passes = ExtraPasses { senses: true, senses_held_out, ..ExtraPasses::default() };
            model.peak_step_bytes(passes).unwrap();
            model.pool.peak_bytes()
        })
    }

    #[test]
    fn shape_passes_have_the_peak_of_real_steps() {
        let load = |name: &str| crate::data::load(name, &Default::default()).unwrap().graph;
        let sparse = load("synthetic:nodes=400,features=90,degree=6");
        let dense = Features::dense(400, 70, vec![0.5; 400 * 70]).unwrap();
        let dense = sparse.clone().with_features(dense).unwrap();
        let mut methods: Vec<&str> = objective::all().map(|entry| entry.name).collect();
        methods.extend(["controlg", "controlg-gain"]);
        for graph in [&sparse, &dense] {
            for method in &methods {
                for encoder in ["gcn", "sage", "gat"] {
                    for rest in [
                        ["encoder.norm=batch", "encoder.dropout=0", "train.recompute=auto"],
                        ["encoder.norm=layer", "encoder.dropout=0.3", "train.recompute=always"],
                        ["encoder.hidden=0", "encoder.jump=concat", "train.recompute=auto"],
                    ] {
                        let (method, kind) = (format!("method={method}"), format!("encoder.kind={encoder}"));
                        let mut set = vec![&method[..], &kind, "encoder.width=24", "normalize=none"];
                        set.extend(rest);
                        let [real, shapes] = peaks(graph, &set);
                        // Attention takes buffers of one number per edge. A shape pass draws no edges, and the number of
                        // entries of MVGRL's diffusion is estimated.
                        let gap = match encoder {
                            "gat" if method == "method=mvgrl" => real / 4,
                            "gat" => real / 20,
                            _ => 0,
                        };
                        assert!(real.abs_diff(shapes) <= gap, "{set:?}: {real} {shapes}");
                    }
                }
            }
        }
    }
}
