//! An encoder with the heads of several objectives, and the two things that are done with it: a step, and a look.

pub(super) mod init;
pub(super) mod objective_step;
pub(super) mod prepared_graph;

use std::path::Path;
use std::sync::Arc;

use self::init::initial;
use self::objective_step::{ObjectiveStep, finite, token};
use self::prepared_graph::{PreparedGraph, TrainData};
use super::batch::BatchLoader;
use crate::Real;
use crate::config::Recompute;
use crate::coordinator::Reading;
use crate::encoder::{self, Encoder, Network, Pass};
use crate::error::{Error, Result};
use crate::graph::{Dense, EdgeDropper, EncoderInput, Graph, Subgraph};
use crate::kernels::reduce;
use crate::objective::{AugmentedView, AuxNetwork, LossInput, Objective, Purpose, ViewSpec};
use crate::rng::Stream;
use crate::tensor::{AdamW, Buffer, ColumnStats, Grads, OptimizerSettings, Params, Pool, Tape, Var};

/// The group of the encoder's parameters; objective k has group k + 1.
pub(super) const ENCODER: usize = 0;

/// An objective with its name.
pub struct NamedObjective {
    /// The name on the list of objectives.
    pub name: String,
    /// What it computes.
    pub objective: Box<dyn Objective>,
}

/// Everything that is trained on one graph.
pub struct Model<'g> {
    pub(super) ground: TrainData<'g>,
    /// What is sensed on; the whole graph where there is none.
    pub(super) probe: Option<PreparedGraph<'g>>,
    pub(super) encoder: Arc<dyn Encoder>,
    names: Vec<String>,
    /// Objectives whose views are the same are sensed together.
    views: Vec<ViewGroup>,
    /// For each objective the group of its second network; its own group where it has none.
    seconds: Vec<usize>,
    seed: u64,
    total_steps: u64,
    recompute: Recompute,
    pub(super) params: Params,
    /// One, or one for each objective where they do not share their moments.
    pub(super) optimizers: Vec<AdamW>,
    pub(super) grads: Grads,
    pub(super) pool: Pool,
    dropper: EdgeDropper,
}

/// Objectives that are shown the same.
struct ViewGroup {
    views: Vec<ViewSpec>,
    members: Vec<usize>,
}

/// What is needed to build a [`Model`].
pub struct ModelSpec {
    /// The network.
    pub encoder: Arc<dyn Encoder>,
    /// The objectives, prepared for the graph or not yet.
    pub tasks: Vec<NamedObjective>,
    /// How the optimizer moves.
    pub optimizer: OptimizerSettings,
    /// Whether each objective keeps its own moments of the encoder's gradient.
    pub per_task_moments: bool,
    /// Where every draw starts.
    pub seed: u64,
    /// Steps of the whole run.
    pub total_steps: u64,
    /// Whether a step encodes its views again for their gradient.
    pub recompute: Recompute,
}

impl<'g> Model<'g> {
    /// Prepares the objectives for the graph and initializes all parameters. Where a part of the graph is given as a
    /// probe, sensing looks at that alone.
    pub fn new(graph: &'g Graph, probe: Option<&'g Subgraph>, parts: ModelSpec) -> Result<Self> {
        Model::fed(graph, probe, None, parts)
    }

    /// The same with steps on parts of the graph where there is a feed of them. There is a probe then.
    pub(super) fn fed(
        graph: &'g Graph,
        probe: Option<&'g Subgraph>,
        feed: Option<BatchLoader<'g>>,
        parts: ModelSpec,
    ) -> Result<Self> {
        let ModelSpec { encoder, tasks, optimizer, per_task_moments, seed, total_steps, recompute } = parts;
        let (names, mut objectives): (Vec<String>, Vec<_>) =
            tasks.into_iter().map(|NamedObjective { name, objective }| (name, objective)).unzip();
        objectives.iter().try_for_each(|objective| objective.check(graph))?;
        match feed {
            None => objectives.iter_mut().try_for_each(|objective| objective.prepare(graph))?,
            Some(_) => {
                if let Some(at) = objectives.iter().position(|o| o.second() == Some(AuxNetwork::Trained)) {
                    let found = format!("{}, whose second network sees the whole graph", names[at]);
                    return Err(Error::value("train.batch", found, "full"));
                }
                objectives.iter_mut().try_for_each(|objective| objective.prepare_for_parts(graph))?;
            }
        }
        let probe = match probe {
            Some(part) => {
                let on_part =
                    objectives.iter().map(|objective| objective.on_part(part)).collect::<Result<_>>()?;
                Some(PreparedGraph::new(&part.graph, on_part))
            }
            None => None,
        };
        let (params, seconds) = initial(&*encoder, &names, &objectives, graph.n_features(), seed);
        let n_optimizers = if per_task_moments { names.len() } else { 1 };
        let optimizers = (0..n_optimizers).map(|_| AdamW::new(&params, optimizer)).collect();
        Ok(Model {
            views: group_views(&objectives),
            ground: match feed {
                None => TrainData::Full(PreparedGraph::new(graph, objectives)),
                Some(feed) => TrainData::Batches(feed, objectives),
            },
            probe,
            grads: Grads::new(&params),
            encoder,
            names,
            seconds,
            seed,
            total_steps,
            recompute,
            params,
            optimizers,
            pool: Pool::new(),
            dropper: EdgeDropper::new(),
        })
    }

    /// One step of the optimizer on one objective. Its draws depend on the seed, its name and the step alone.
    ///
    /// A loss or gradient that is not finite is an error, and nothing has moved.
    pub fn step(&mut self, task: usize, step: u64) -> Result<f64> {
        self.grads.reset();
        let value = self.differentiate(task, step)?;
        let optimizer = task.min(self.optimizers.len() - 1);
        self.optimizers[optimizer].step_at(step, &mut self.params, &mut self.grads);
        self.follow(task, step);
        Ok(value)
    }

    /// Lets a second network follow the encoder.
    fn follow(&mut self, task: usize, step: u64) {
        let Some(AuxNetwork::Ema { rate }) = self.ground.objectives()[task].second() else { return };
        let done = step as f64 / self.total_steps.max(1) as f64;
        let rate = rate * 0.5 * (1.0 + (std::f64::consts::PI * done.min(1.0)).cos());
        self.params.blend(self.seconds[task], ENCODER, 1.0 - rate);
    }

    /// The loss of one objective at a step, its gradient added to those of the encoder and of its head. Where steps see
    /// parts of the graph, the next one is cut out on another thread meanwhile.
    pub(super) fn differentiate(&mut self, task: usize, step: u64) -> Result<f64> {
        let lesson = ObjectiveStep {
            name: &self.names[task],
            task,
            second: self.seconds[task],
            step,
            seed: self.seed,
            encoder: &*self.encoder,
            params: &self.params,
            pool: &self.pool,
            recompute: self.recompute,
        };
        let (grads, dropper) = (&mut self.grads, &mut self.dropper);
        match &mut self.ground {
            TrainData::Full(scene) => lesson.differentiate(scene, &*scene.objectives[task], grads, dropper),
            TrainData::Batches(feed, objectives) => {
                let part = feed.part(step)?;
                let more = step + 1 < self.total_steps;
                rayon::in_place_scope(|scope| {
                    if more {
                        scope.spawn(|_| feed.prefetch(step + 1));
                    }
                    let objective = objectives[task].on_part(&part)?;
                    let scene = PreparedGraph::new(&part.graph, Vec::new());
                    lesson.differentiate(&scene, &*objective, grads, dropper)
                })
            }
        }
    }

    /// The losses of all objectives on their frozen samples. Nothing is changed.
    pub fn losses(&mut self, step: u64) -> Result<Vec<f64>> {
        Ok(self.look(step, false)?.loss)
    }

    /// Losses, Rayleigh quotients of the gradients at the representations, and the geometry of the gradients at the
    /// encoder's parameters, of all objectives on their frozen samples. Nothing is changed.
    ///
    /// Objectives with the same views share their forward passes: the five of the paper take four forward passes and
    /// seven backward.
    pub fn measure(&mut self, step: u64) -> Result<Reading> {
        let Measured { loss, rq, products } = self.look(step, true)?;
        Ok(Reading::from_products(loss, &products, rq))
    }

    /// Visits all objectives on their frozen samples, with or without their gradients.
    fn look(&mut self, step: u64, gradients: bool) -> Result<Measured> {
        let looked = self.look_at_all(step, gradients);
        self.clear_away();
        looked
    }

    /// Buffers of a large graph and those of its probe serve each other badly: only one kind is kept.
    fn clear_away(&self) {
        if self.probe.is_some() && matches!(self.ground, TrainData::Full(_)) {
            self.pool.trim();
        }
    }

    fn look_at_all(&mut self, step: u64, gradients: bool) -> Result<Measured> {
        self.clear_away();
        let k = self.names.len();
        let (mut losses, mut rq) = (vec![0.0; k], vec![0.0; k]);
        let mut at_encoder: Vec<Buffer<'_>> = (0..k).map(|_| self.pool.take(0)).collect();
        let PreparedGraph { graph, prepared, laplacian, objectives } =
            self.probe.as_ref().unwrap_or_else(|| self.ground.clean(None));
        for ViewGroup { views, members } in &self.views {
            let augmented: Vec<AugmentedView<'_>> = views
                .iter()
                .map(|spec| {
                    let mut stream = Stream::new(self.seed, "sense", "view", u64::from(spec.which));
                    objectives[members[0]].augment(spec, graph, prepared, &mut self.dropper, &mut stream)
                })
                .collect();
            let mut tape = if gradients {
                Tape::new(&self.params, &self.pool)
            } else {
                Tape::forward_only(&self.params, &self.pool)
            };
            let encoded: Vec<Var> = augmented
                .iter()
                .map(|augmented| {
                    let token = token(&mut tape, augmented, members[0]);
                    self.encoder.encode(
                        &mut tape,
                        ENCODER,
                        &augmented.view,
                        Pass { token, ..Pass::default() },
                    )
                })
                .collect();
            let z: Vec<Var> = encoded.iter().map(|&z| tape.cut(z)).collect();
            tape.hold_params();
            for &member in members {
                let (name, objective) = (&self.names[member], &objectives[member]);
                let mark = tape.mark();
                let loss = objective.loss(
                    &mut tape,
                    LossInput {
                        graph,
                        prepared,
                        group: member + 1,
                        encoder: &*self.encoder,
                        second: self.seconds[member],
                        augmented: &augmented,
                        z: &z,
                        stream: &mut Stream::new(self.seed, "sense", name, 0),
                        purpose: Purpose::Sensing,
                    },
                );
                losses[member] = finite(tape.scalar(loss), name, step)?;
                if !gradients {
                    tape.truncate(mark);
                    continue;
                }
                self.grads.reset();
                tape.backward_since(mark, loss, &mut self.grads);
                let at_z: Vec<Option<Buffer<'_>>> = z.iter().map(|&z| tape.take_gradient(z)).collect();
                let parts: Vec<&[Real]> = at_z.iter().filter_map(|part| part.as_deref()).collect();
                rq[member] = laplacian.rayleigh(&parts);
                for (&encoded, part) in encoded.iter().zip(at_z) {
                    if let Some(part) = part {
                        tape.backward_from(encoded, part, &mut self.grads);
                    }
                }
                at_encoder[member] = self.pool.copy(self.grads.group(ENCODER).unwrap_or_default());
            }
        }
        let mut products = vec![vec![0.0; k]; k];
        for a in 0..k {
            for b in a..k {
                products[a][b] = match at_encoder[a].len() == at_encoder[b].len() {
                    true => reduce::dot(&at_encoder[a], &at_encoder[b]),
                    // One of them did not reach the encoder.
                    false => 0.0,
                };
                products[b][a] = products[a][b];
            }
        }
        Ok(Measured { loss: losses, rq, products })
    }

    /// The clean graph as far as it is seen at once.
    pub(super) fn clean(&self) -> &PreparedGraph<'g> {
        self.ground.clean(self.probe.as_ref())
    }

    /// The representations of the whole graph, and the statistics of its batch norms. Where steps see parts of the
    /// graph, they are computed block by block, to the same bytes.
    pub fn embed(&self) -> Result<(Dense, Vec<ColumnStats>)> {
        let TrainData::Full(PreparedGraph { prepared, objectives, .. }) = &self.ground else {
            let mut data = Vec::new();
            let stats = self.embed_to(&std::env::temp_dir(), &mut |rows| {
                data.extend_from_slice(rows);
                Ok(())
            })?;
            return Ok((
                Dense::from_parts(data.len() / self.encoder.width(), self.encoder.width(), data),
                stats,
            ));
        };
        // What training held makes room for the result.
        self.pool.trim();
        let stats = encoder::statistics(&*self.encoder, &self.params, ENCODER, prepared, &self.pool);
        let z = encoder::embed_with(&*self.encoder, &self.params, ENCODER, prepared, &stats, &self.pool);
        // Several objectives share the encoder alone: only one that is trained by itself can add to it.
        let z = match &objectives[..] {
            [alone] => add_aux(z, &**alone, &*self.encoder, &self.params, self.seconds[0], prepared),
            _ => z,
        };
        Ok((z, stats))
    }

    /// [`Model::embed`] that hands over the representations some rows at a time, with what does not fit into memory put
    /// aside in a folder.
    pub(super) fn embed_to(
        &self,
        folder: &Path,
        rows: &mut dyn FnMut(&[Real]) -> Result<()>,
    ) -> Result<Vec<ColumnStats>> {
        match &self.ground {
            TrainData::Full(_) => {
                let (z, stats) = self.embed()?;
                rows(z.data())?;
                Ok(stats)
            }
            TrainData::Batches(feed, _) => {
                self.pool.trim();
                let network = Network { encoder: &*self.encoder, params: &self.params, group: ENCODER };
                encoder::embed_in_blocks(network, feed.graph(), None, folder, rows)
            }
        }
    }

    /// Columns of the representations.
    pub fn width(&self) -> usize {
        self.encoder.width()
    }

    /// The names of the objectives.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What is learned.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// What is learned, to be taken from a checkpoint.
    pub fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }

    /// The optimizers' states.
    pub fn optimizers(&self) -> &[AdamW] {
        &self.optimizers
    }

    /// The optimizers' states, to be taken from a checkpoint.
    pub fn optimizers_mut(&mut self) -> &mut [AdamW] {
        &mut self.optimizers
    }
}

/// What a look at all objectives has seen.
struct Measured {
    loss: Vec<f64>,
    rq: Vec<f64>,
    /// Inner products of the gradients at the encoder's parameters.
    products: Vec<Vec<f64>>,
}

/// The name of the second network of an objective.
pub(super) fn aux_name(objective: &str) -> String {
    format!("{objective}.second")
}

/// The representations with those of a second network added, where the objective has it so.
pub(super) fn add_aux(
    z: Dense,
    objective: &dyn Objective,
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    prepared: &EncoderInput<'_>,
) -> Dense {
    let Some(operator) = objective.added() else { return z };
    let view = prepared.whole().on(operator);
    let more = encoder::embed_view(encoder, params, group, &view, &Pool::new());
    let sum = z.data().iter().zip(more.data()).map(|(a, b)| a + b).collect();
    Dense::from_parts(z.n_rows(), z.n_cols(), sum)
}

fn group_views(objectives: &[Box<dyn Objective>]) -> Vec<ViewGroup> {
    let mut groups: Vec<ViewGroup> = Vec::new();
    for (task, objective) in objectives.iter().enumerate() {
        let views = objective.views();
        let shareable = !views.iter().any(ViewSpec::has_token);
        match groups.iter_mut().find(|group| shareable && group.views == views) {
            Some(group) => group.members.push(task),
            None => groups.push(ViewGroup { views, members: vec![task] }),
        }
    }
    groups
}
