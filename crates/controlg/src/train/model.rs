//! An encoder with the heads of several objectives, and the two things that are done with it: a step, and a look.

use crate::Real;
use crate::coordinator::Reading;
use crate::encoder::{self, Encoder, Pass};
use crate::error::{Error, Result};
use crate::graph::{Dense, EdgeDropper, Graph, Laplacian, Prepared};
use crate::kernels::reduce;
use crate::objective::{Objective, Purpose, Shown, Sight, Sizes, Step};
use crate::rng::Stream;
use crate::tensor::{AdamW, Buffer, ColumnStats, Grads, ParamId, Params, Pool, Settings, Tape, Var};

/// The group of the encoder's parameters; objective k has group k + 1.
const ENCODER: usize = 0;

/// An objective with its name.
pub struct Task {
    /// The name on the list of objectives.
    pub name: String,
    /// What it computes.
    pub objective: Box<dyn Objective>,
}

/// Everything that is trained on one graph.
pub struct Model<'g> {
    graph: &'g Graph,
    prepared: Prepared<'g>,
    laplacian: Laplacian<'g>,
    encoder: Box<dyn Encoder>,
    tasks: Vec<Task>,
    /// Objectives whose views are the same are sensed together.
    views: Vec<ViewGroup>,
    seed: u64,
    params: Params,
    /// One, or one for each objective where they do not share their moments.
    optimisers: Vec<AdamW>,
    grads: Grads,
    pool: Pool,
    dropper: EdgeDropper,
}

/// Objectives that are shown the same.
struct ViewGroup {
    sights: Vec<Sight>,
    members: Vec<usize>,
}

/// What is needed to build a [`Model`].
pub struct Parts {
    /// The network.
    pub encoder: Box<dyn Encoder>,
    /// The objectives, prepared for the graph or not yet.
    pub tasks: Vec<Task>,
    /// How the optimiser moves.
    pub optimiser: Settings,
    /// Whether each objective keeps its own moments of the encoder's gradient.
    pub per_task_moments: bool,
    /// Where every draw starts.
    pub seed: u64,
}

impl<'g> Model<'g> {
    /// Prepares the objectives for the graph and initialises all parameters.
    pub fn new(graph: &'g Graph, parts: Parts) -> Result<Self> {
        let Parts { encoder, mut tasks, optimiser, per_task_moments, seed } = parts;
        for task in &mut tasks {
            task.objective.check(graph)?;
        }
        for task in &mut tasks {
            task.objective.prepare(graph)?;
        }
        let mut params = Params::new();
        let group = params.add_group("encoder");
        encoder.init(graph.n_features(), &mut params, group, &mut Stream::new(seed, "init", "encoder", 0));
        let sizes = Sizes { n_features: graph.n_features(), width: encoder.width() };
        for Task { name, objective } in &tasks {
            let group = params.add_group(name);
            objective.init(sizes, &mut params, group, &mut Stream::new(seed, "init", name, 0));
        }
        let n_optimisers = if per_task_moments { tasks.len() } else { 1 };
        let optimisers = (0..n_optimisers).map(|_| AdamW::new(&params, optimiser)).collect();
        Ok(Model {
            graph,
            prepared: Prepared::new(graph),
            laplacian: Laplacian::new(graph.adjacency()),
            views: group_views(&tasks),
            grads: Grads::new(&params),
            encoder,
            tasks,
            seed,
            params,
            optimisers,
            pool: Pool::new(),
            dropper: EdgeDropper::new(),
        })
    }

    /// One step of the optimiser on one objective. Its draws depend on the seed, its name and the step alone.
    ///
    /// A loss that is not finite is an error, and nothing has moved.
    pub fn step(&mut self, task: usize, step: u64) -> Result<f64> {
        let Task { name, objective } = &self.tasks[task];
        let mut stream = Stream::new(self.seed, "train", name, step);
        let sights = objective.sights();
        let shown: Vec<Shown<'_>> = sights
            .iter()
            .map(|sight| sight.draw(self.graph, &self.prepared, &mut self.dropper, &mut stream))
            .collect();
        let mut tape = Tape::new(&self.params, &self.pool);
        let mut dropout = Stream::new(self.seed, "train", "dropout", step);
        let z: Vec<Var> = shown
            .iter()
            .map(|shown| {
                let token = token(&mut tape, shown, task);
                let pass = Pass { token, dropout: Some(&mut dropout), ..Pass::default() };
                self.encoder.encode(&mut tape, ENCODER, &shown.view, pass)
            })
            .collect();
        let loss = objective.loss(
            &mut tape,
            Step {
                graph: self.graph,
                prepared: &self.prepared,
                group: task + 1,
                shown: &shown,
                z: &z,
                stream: &mut stream,
                purpose: Purpose::Training,
            },
        );
        let value = finite(tape.scalar(loss), name, step)?;
        self.grads.reset();
        tape.backward_last(loss, &mut self.grads);
        let optimiser = task.min(self.optimisers.len() - 1);
        self.optimisers[optimiser].step(&mut self.params, &mut self.grads);
        Ok(value)
    }

    /// The losses of all objectives on their frozen samples. Nothing is changed.
    pub fn losses(&mut self, step: u64) -> Result<Vec<f64>> {
        let mut losses = vec![0.0; self.tasks.len()];
        self.look(step, false, |task, loss, _, _| losses[task] = loss)?;
        Ok(losses)
    }

    /// Losses, Rayleigh quotients of the gradients at the representations, and the geometry of the gradients at the
    /// encoder's parameters, of all objectives on their frozen samples. Nothing is changed.
    ///
    /// Objectives with the same views share their forward passes: the five of the paper take four forward passes and
    /// seven backward.
    pub fn measure(&mut self, step: u64) -> Result<Reading> {
        let k = self.tasks.len();
        let (mut losses, mut rq) = (vec![0.0; k], vec![0.0; k]);
        let mut gradients: Vec<Vec<Real>> = vec![Vec::new(); k];
        self.look(step, true, |task, loss, quotient, gradient| {
            losses[task] = loss;
            rq[task] = quotient;
            gradients[task] = gradient.to_vec();
        })?;
        let mut products = vec![vec![0.0; k]; k];
        for a in 0..k {
            for b in a..k {
                products[a][b] = reduce::dot(&gradients[a], &gradients[b]);
                products[b][a] = products[a][b];
            }
        }
        Ok(Reading::from_products(losses, &products, rq))
    }

    /// Visits all objectives on their frozen samples: loss, and where gradients are wanted the Rayleigh quotient of
    /// the gradient at the representations and the gradient at the encoder's parameters.
    fn look(&mut self, step: u64, gradients: bool, mut visit: impl FnMut(usize, f64, f64, &[Real])) -> Result<()> {
        for ViewGroup { sights, members } in &self.views {
            let shown: Vec<Shown<'_>> = sights
                .iter()
                .map(|sight| {
                    let mut stream = Stream::new(self.seed, "sense", "view", u64::from(sight.which));
                    sight.draw(self.graph, &self.prepared, &mut self.dropper, &mut stream)
                })
                .collect();
            let mut tape = if gradients {
                Tape::new(&self.params, &self.pool)
            } else {
                Tape::forward_only(&self.params, &self.pool)
            };
            let encoded: Vec<Var> = shown
                .iter()
                .map(|shown| {
                    let token = token(&mut tape, shown, members[0]);
                    self.encoder.encode(&mut tape, ENCODER, &shown.view, Pass { token, ..Pass::default() })
                })
                .collect();
            let z: Vec<Var> = encoded.iter().map(|&z| tape.cut(z)).collect();
            for &member in members {
                let Task { name, objective } = &self.tasks[member];
                let mark = tape.mark();
                let loss = objective.loss(
                    &mut tape,
                    Step {
                        graph: self.graph,
                        prepared: &self.prepared,
                        group: member + 1,
                        shown: &shown,
                        z: &z,
                        stream: &mut Stream::new(self.seed, "sense", name, 0),
                        purpose: Purpose::Sensing,
                    },
                );
                let value = finite(tape.scalar(loss), name, step)?;
                if !gradients {
                    visit(member, value, 0.0, &[]);
                    tape.truncate(mark);
                    continue;
                }
                self.grads.reset();
                tape.backward(loss, &mut self.grads);
                tape.truncate(mark);
                let at_z: Vec<Option<Buffer<'_>>> = z.iter().map(|&z| tape.take_gradient(z)).collect();
                let parts: Vec<&[Real]> = at_z.iter().filter_map(|part| part.as_deref()).collect();
                let quotient = self.laplacian.rayleigh(&parts);
                for (&encoded, part) in encoded.iter().zip(&at_z) {
                    if let Some(part) = part {
                        tape.backward_from(encoded, part, &mut self.grads);
                    }
                }
                let at_encoder = self.grads.group(ENCODER).unwrap_or_default();
                visit(member, value, quotient, at_encoder);
            }
        }
        Ok(())
    }

    /// The representations of the whole graph, and the statistics of its batch norms.
    pub fn embed(&self) -> (Dense, Vec<ColumnStats>) {
        let stats = encoder::statistics(&*self.encoder, &self.params, ENCODER, &self.prepared, &self.pool);
        let z = encoder::embed_with(&*self.encoder, &self.params, ENCODER, &self.prepared, &stats, &self.pool);
        (z, stats)
    }

    /// Bytes that were prepared of the graph for training.
    pub(super) fn prepared_bytes(&self) -> usize {
        self.prepared.memory_bytes()
    }

    /// Bytes of the values that the largest pass keeps, roughly: for each view and layer its output, what the norm
    /// keeps and a gradient on its way, and as much again for the heads.
    pub(super) fn pass_bytes(&self) -> usize {
        let values = self.graph.n_nodes() * self.encoder.width() * size_of::<Real>();
        let views = self.views.iter().map(|group| group.sights.len()).max().unwrap_or(1);
        views * 8 * values
    }

    /// The names of the objectives.
    pub fn names(&self) -> Vec<String> {
        self.tasks.iter().map(|task| task.name.clone()).collect()
    }

    /// What is learned.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// What is learned, to be taken from a checkpoint.
    pub fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }

    /// The optimisers' states.
    pub fn optimisers(&self) -> &[AdamW] {
        &self.optimisers
    }

    /// The optimisers' states, to be taken from a checkpoint.
    pub fn optimisers_mut(&mut self) -> &mut [AdamW] {
        &mut self.optimisers
    }
}

/// The token of an objective that hides nodes.
fn token(tape: &mut Tape<'_>, shown: &Shown<'_>, task: usize) -> Option<Var> {
    shown.hidden.is_some().then(|| tape.param(ParamId { group: task + 1, entry: 0 }))
}

fn group_views(tasks: &[Task]) -> Vec<ViewGroup> {
    let mut groups: Vec<ViewGroup> = Vec::new();
    for (task, Task { objective, .. }) in tasks.iter().enumerate() {
        let sights = objective.sights();
        let shareable = !sights.iter().any(Sight::has_token);
        match groups.iter_mut().find(|group| shareable && group.sights == sights) {
            Some(group) => group.members.push(task),
            None => groups.push(ViewGroup { sights, members: vec![task] }),
        }
    }
    groups
}

fn finite(loss: f64, name: &str, step: u64) -> Result<f64> {
    if loss.is_finite() {
        return Ok(loss);
    }
    Err(Error::Failed(format!(
        "the loss of {name} became {loss} at step {step}; a smaller train.lr or train.clip may help"
    )))
}
