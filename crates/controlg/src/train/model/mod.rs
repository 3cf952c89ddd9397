//! An encoder with the heads of several objectives: training steps and sensing.

mod aux_network;
pub(super) mod data;
mod embed;
mod forward;
mod held_out;
pub(super) mod init;
mod operations;
mod relations;
mod sense;
mod shape_pass;
mod shards;
mod step;

use std::sync::Arc;

pub(super) use self::aux_network::{add_aux, aux_name};
pub use self::embed::EmbedStats;
pub(super) use self::forward::{ENCODER, head_group};
pub use self::init::{ModelSpec, NamedObjective};
pub(super) use self::operations::PartOperations;
pub(super) use self::shape_pass::ExtraPasses;

use self::data::{PreparedGraph, TrainData};
use self::forward::{ForwardContext, ObjectivePass};
use self::init::initial_params;
use self::relations::{check_operator, relation_lines};
use self::sense::{Measured, Measurement, Sensor, ViewGroup, group_views};
use self::shards::ShardSums;
use self::step::{BatchPosition, StepSettings};
use super::batch::BatchLoader;
use crate::collective::Ranks;
use crate::config::Recompute;
use crate::coordinator::{HeldOutReading, Reading};
use crate::encoder::{Encoder, InputDims};
use crate::error::{Error, Result};
use crate::graph::{EdgeDropper, Graph, Subgraph};
use crate::kernels::scratch;
use crate::objective::{AuxNetwork, Objective, Purpose};
use crate::tensor::{AdamW, Grads, Params, Pool, Precision};
use crate::trace::RelationLine;

/// A model in training on one graph.
pub struct Model<'g> {
    pub(super) data: TrainData<'g>,
    /// The subgraph used for sensing; the full graph if there is none.
    pub(super) probe: Option<PreparedGraph<'g>>,
    pub(super) encoder: Arc<dyn Encoder>,
    names: Vec<String>,
    view_groups: Vec<ViewGroup>,
    /// For each objective the parameter group of its auxiliary network; its head's group if it has none.
    aux_groups: Vec<usize>,
    seed: u64,
    total_steps: u64,
    recompute: Recompute,
    precision: Precision,
    pub(super) params: Params,
    /// One, or one per objective if they do not share their moments.
    pub(super) optimizers: Vec<AdamW>,
    pub(super) grads: Grads,
    pub(super) pool: Pool,
    dropper: EdgeDropper,
    /// The processes that share the work.
    ranks: Ranks<'g>,
    shard_sums: ShardSums,
    /// Nodes of the largest mini-batch so far.
    largest_batch: usize,
    /// Whether the objectives hold samples out.
    holds_out: bool,
    /// The relations of the graph with their weights.
    relations: Vec<RelationLine>,
    /// Cost of a step on each objective; empty until it is needed.
    step_costs: Vec<f64>,
}

impl<'g> Model<'g> {
    /// Prepares the objectives for the graph and initializes all parameters. With a probe, sensing uses that subgraph
    /// instead of the full graph.
    pub fn new(graph: &'g Graph, probe: Option<&'g Subgraph>, spec: ModelSpec) -> Result<Self> {
        Model::build(graph, probe, None, spec, false)
    }

    /// [`Model::new`] with mini-batches from a loader, which requires a probe.
    pub(super) fn with_loader(
        graph: &'g Graph,
        probe: Option<&'g Subgraph>,
        loader: Option<BatchLoader<'g>>,
        spec: ModelSpec,
    ) -> Result<Self> {
        Model::build(graph, probe, loader, spec, false)
    }

    fn build(
        graph: &'g Graph,
        probe: Option<&'g Subgraph>,
        loader: Option<BatchLoader<'g>>,
        spec: ModelSpec,
        shape_only: bool,
    ) -> Result<Self> {
        let ModelSpec {
            encoder,
            objectives,
            optimizer,
            per_task_moments,
            seed,
            total_steps,
            recompute,
            held_out: share,
            precision,
            relation_weights,
        } = spec;
        let (names, mut objectives): (Vec<String>, Vec<_>) =
            objectives.into_iter().map(|NamedObjective { name, objective }| (name, objective)).unzip();
        if shape_only {
            shape_pass::prepare(&mut objectives, graph)?;
        } else {
            prepare(&names, &mut objectives, graph, loader.is_some())?;
        }
        held_out::hold_out(&names, &mut objectives, graph, share, seed)?;
        let operator = encoder.operator();
        check_operator(operator, &names, &objectives, graph)?;
        let probe = match probe {
            Some(probe) => {
                let on_probe =
                    objectives.iter().map(|objective| objective.on_batch(probe)).collect::<Result<_>>()?;
                let probe = PreparedGraph::new(&probe.graph, operator, on_probe, shape_only);
                held_out::check_probe(&names, &probe, share)?;
                Some(probe)
            }
            None => None,
        };
        let (params, aux_groups) = initial_params(&*encoder, &names, &objectives, InputDims::of(graph), seed);
        let n_optimizers = if per_task_moments { names.len() } else { 1 };
        let optimizers = (0..n_optimizers).map(|_| AdamW::new(&params, optimizer)).collect();
        Ok(Model {
            view_groups: group_views(&objectives),
            data: match loader {
                None => TrainData::Full(PreparedGraph::new(graph, operator, objectives, shape_only)),
                Some(loader) => TrainData::Batches(loader, objectives),
            },
            probe,
            grads: Grads::new(&params),
            encoder,
            names,
            aux_groups,
            seed,
            total_steps,
            recompute,
            precision,
            params,
            optimizers,
            pool: if shape_only { Pool::shape_only() } else { Pool::new() },
            dropper: match shape_only {
                true => EdgeDropper::shape_only(operator),
                false => EdgeDropper::new(operator),
            },
            ranks: Ranks::alone(),
            shard_sums: ShardSums::default(),
            largest_batch: 0,
            holds_out: share > 0.0,
            relations: relation_lines(graph, relation_weights),
            step_costs: Vec::new(),
        })
    }

    /// Shares the work with other ranks, which have the same model and call the same functions.
    pub(super) fn on_ranks(self, ranks: Ranks<'g>) -> Self {
        Model { ranks, ..self }
    }

    /// The ranks that share the work.
    pub(super) fn ranks(&self) -> Ranks<'g> {
        self.ranks
    }

    /// One optimizer step on one objective. Its random draws depend only on the seed, the objective's name and the step.
    ///
    /// A loss or gradient that is not finite is an error and leaves the parameters unchanged.
    pub fn step(&mut self, task: usize, step: u64) -> Result<f64> {
        self.grads.reset();
        let value = self.differentiate(task, step, false)?;
        let optimizer = task.min(self.optimizers.len() - 1);
        self.optimizers[optimizer].step_at(step, &mut self.params, &mut self.grads);
        self.update_ema(task, step);
        Ok(value)
    }

    /// The parameter groups that only one objective trains: its head and, if it has one, its auxiliary network.
    pub(super) fn own_groups(&self, task: usize) -> impl Iterator<Item = usize> + use<> {
        let (head, aux) = (head_group(task), self.aux_groups[task]);
        std::iter::once(head).chain((aux != head).then_some(aux))
    }

    /// Moves an auxiliary network that is an exponential moving average of the encoder, after a step on its objective.
    pub(super) fn update_ema(&mut self, task: usize, step: u64) {
        let Some(AuxNetwork::Ema { rate }) = self.data.objectives()[task].aux_network() else { return };
        let done = step as f64 / self.total_steps.max(1) as f64;
        let rate = rate * 0.5 * (1.0 + (std::f64::consts::PI * done.min(1.0)).cos());
        self.params.blend(self.aux_groups[task], ENCODER, 1.0 - rate);
    }

    /// The loss of one objective at a step; adds its gradient to those of the encoder and of its head. `more` tells whether
    /// another objective follows at this step.
    pub(super) fn differentiate(&mut self, task: usize, step: u64, more: bool) -> Result<f64> {
        match self.data.n_shards() {
            1 => self.differentiate_batch(task, BatchPosition { step, number: step }, step + 1),
            n_shards => self.differentiate_shards(task, step, n_shards, more),
        }
    }

    /// [`Model::differentiate`] on the full graph or on a mini-batch. Another thread prepares the mini-batch `next` meanwhile.
    fn differentiate_batch(&mut self, task: usize, at: BatchPosition, next: u64) -> Result<f64> {
        let context = ForwardContext {
            encoder: &*self.encoder,
            params: &self.params,
            pool: &self.pool,
            names: &self.names,
            aux_groups: &self.aux_groups,
            seed: self.seed,
        };
        let purpose = Purpose::Training;
        let how = StepSettings { recompute: self.recompute, precision: self.precision };
        let (grads, dropper) = (&mut self.grads, &mut self.dropper);
        match &mut self.data {
            TrainData::Full(data) => {
                let pass = ObjectivePass { context, task, objective: &*data.objectives[task], data, purpose };
                step::differentiate(pass, at, how, grads, dropper)
            }
            TrainData::Batches(loader, objectives) => {
                let batch = loader.batch(at.number)?;
                // Buffers that are too small now would stay unused.
                if batch.nodes.len() > self.largest_batch {
                    self.largest_batch = batch.nodes.len();
                    self.pool.trim();
                }
                let is_needed = next / (loader.n_shards() as u64) < self.total_steps;
                rayon::in_place_scope(|scope| {
                    if is_needed {
                        scope.spawn(|_| loader.prefetch(next));
                    }
                    let objective = objectives[task].on_batch(&batch)?;
                    let (operator, shape_only) = (context.encoder.operator(), context.pool.is_shape_only());
                    let data = &PreparedGraph::new(&batch.graph, operator, Vec::new(), shape_only);
                    let pass = ObjectivePass { context, task, objective: &*objective, data, purpose };
                    step::differentiate(pass, at, how, grads, dropper)
                })
            }
        }
    }

    /// The losses of all objectives on their fixed sensing samples. Changes nothing.
    pub fn losses(&mut self, step: u64) -> Result<Vec<f64>> {
        Ok(self.measure_all(step, Measurement::Losses)?.loss)
    }

    /// The losses of all objectives on what they hold out; `None` if they do not. Changes nothing.
    pub fn held_out_losses(&mut self, step: u64) -> Result<Option<Vec<f64>>> {
        if !self.holds_out {
            return Ok(None);
        }
        Ok(Some(self.measure_all(step, Measurement::HeldOutLosses)?.held_out_loss))
    }

    /// Senses all objectives on their fixed samples: losses, Rayleigh quotients of the gradients at the
    /// representations, and norms and cosines of the gradients at the encoder's parameters. Changes nothing.
    ///
    /// Objectives with the same views share their forward passes: the five of the paper take five forward and seven
    /// backward passes.
    pub fn measure(&mut self, step: u64) -> Result<Reading> {
        let Measured { loss, rq, rq_relation, products, .. } =
            self.measure_all(step, Measurement::Gradients)?;
        Ok(Reading { rq_relation, ..Reading::from_products(loss, &products, rq) })
    }

    /// [`Model::measure`] with measurements on the held-out samples: the gradients of the losses there against what a step on
    /// each objective moves the encoder by. Takes twice as many backward passes.
    ///
    /// # Panics
    /// If the objectives do not hold samples out.
    pub fn measure_with_held_out(&mut self, step: u64) -> Result<Reading> {
        assert!(self.holds_out, "objectives that hold samples out");
        if self.step_costs.is_empty() {
            self.step_costs = self.step_costs()?;
        }
        let measured = self.measure_all(step, Measurement::Transfer)?;
        let Measured { loss, rq, rq_relation, products, held_out_loss, transfer } = measured;
        let held_out = HeldOutReading { loss: held_out_loss, transfer, cost: self.step_costs.clone() };
        let held_out = Some(held_out);
        Ok(Reading { held_out, rq_relation, ..Reading::from_products(loss, &products, rq) })
    }

    /// The parts that forward passes read.
    fn context(&self) -> ForwardContext<'_> {
        ForwardContext {
            encoder: &*self.encoder,
            params: &self.params,
            pool: &self.pool,
            names: &self.names,
            aux_groups: &self.aux_groups,
            seed: self.seed,
        }
    }

    fn measure_all(&mut self, step: u64, measurement: Measurement) -> Result<Measured> {
        self.trim_pool();
        let sensor = Sensor {
            context: ForwardContext {
                encoder: &*self.encoder,
                params: &self.params,
                pool: &self.pool,
                names: &self.names,
                aux_groups: &self.aux_groups,
                seed: self.seed,
            },
            data: self.probe.as_ref().unwrap_or_else(|| self.data.clean(None)),
            groups: &self.view_groups,
            relations: &self.relations,
            optimizers: &self.optimizers,
            step,
            measurement,
            ranks: self.ranks,
        };
        let measured = sensor.measure_all(&mut self.grads, &mut self.dropper);
        self.trim_pool();
        measured
    }

    /// Returns the buffers of training to the system.
    fn free_buffers(&self) {
        self.pool.trim();
        scratch::release();
    }

    /// Full-batch steps and sensing on a probe use buffers of different sizes: only those of one kind are kept.
    fn trim_pool(&self) {
        if self.probe.is_some() && matches!(self.data, TrainData::Full(_)) {
            self.pool.trim();
        }
    }

    /// The unaugmented graph: the full graph, or the probe if training uses mini-batches.
    pub(super) fn clean(&self) -> &PreparedGraph<'g> {
        self.data.clean(self.probe.as_ref())
    }

    /// The relations of the graph with their weights; none for a homogeneous graph.
    pub fn relation_lines(&self) -> Vec<RelationLine> {
        self.relations.clone()
    }

    /// The names of the objectives.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// All parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// All parameters, to restore them from a checkpoint.
    pub fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }

    /// The optimizer states.
    pub fn optimizers(&self) -> &[AdamW] {
        &self.optimizers
    }

    /// The optimizer states, to restore them from a checkpoint.
    pub fn optimizers_mut(&mut self) -> &mut [AdamW] {
        &mut self.optimizers
    }
}

/// Checks that the objectives can be computed on the graph and prepares them for it, or for mini-batches of it.
fn prepare(
    names: &[String],
    objectives: &mut [Box<dyn Objective>],
    graph: &Graph,
    batches: bool,
) -> Result<()> {
    objectives.iter().try_for_each(|objective| objective.check(graph))?;
    if !batches {
        return objectives.iter_mut().try_for_each(|objective| objective.prepare(graph));
    }
    if let Some(at) = objectives.iter().position(|o| o.aux_network() == Some(AuxNetwork::Trained)) {
        let found = format!("{}, whose auxiliary network needs the full graph", names[at]);
        return Err(Error::value("train.batch", found, "full"));
    }
    objectives.iter_mut().try_for_each(|objective| objective.prepare_for_batches(graph))
}
