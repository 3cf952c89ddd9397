//! Held-out samples of the objectives, the effect of steps on the losses there, and the cost of steps.

use super::Model;
use super::data::{PreparedGraph, TrainData};
use super::forward::{ENCODER, ForwardContext, ObjectivePass};
use crate::error::{Error, Result};
use crate::graph::{EdgeDropper, Graph};
use crate::kernels::reduce;
use crate::objective::{AugmentedView, Objective, Purpose};
use crate::rng::Stream;
use crate::tensor::{AdamW, Buffer, Pool, Tape, Var};

/// Lets every objective keep a share of its samples aside. Which ones depends on the seed and the objective's name.
pub(super) fn hold_out(
    names: &[String],
    objectives: &mut [Box<dyn Objective>],
    graph: &Graph,
    share: f64,
    seed: u64,
) -> Result<()> {
    if share <= 0.0 {
        return Ok(());
    }
    for (name, objective) in names.iter().zip(objectives) {
        objective.hold_out(graph, share, &mut Stream::new(seed, "held-out", name, 0))?;
        if objective.n_held_out() == 0 {
            let found = format!("{share} with objective {name}, which can hold out no samples");
            return Err(Error::value("sense.held_out", found, "0, or objectives that can"));
        }
    }
    Ok(())
}

/// Checks that there are held-out samples on the subgraph that is sensed.
pub(super) fn check_probe(names: &[String], probe: &PreparedGraph<'_>, share: f64) -> Result<()> {
    let without = probe.objectives.iter().position(|objective| objective.n_held_out() == 0);
    match without.filter(|_| share > 0.0) {
        None => Ok(()),
        Some(at) => {
            let found = format!(
                "{share}, which leaves no sample of {} on {} nodes",
                names[at],
                probe.graph.n_nodes()
            );
            Err(Error::value("sense.held_out", found, "a larger share, or more sense.probe_nodes"))
        }
    }
}

/// T_jk = ⟨g_j, P g_k⟩ with the held-out gradients g_j, the training gradients g_k and the learning rate times the
/// preconditioner P of the optimizer that steps on k. A gradient that did not reach the encoder is empty and counts as zero.
pub(super) fn transfer(
    held_out: &[Buffer<'_>],
    trained: &[Buffer<'_>],
    optimizers: &[AdamW],
    step: u64,
    pool: &Pool,
) -> Vec<Vec<f64>> {
    let k = trained.len();
    let mut products = vec![vec![0.0; k]; k];
    for (task, gradient) in trained.iter().enumerate() {
        let mut moved = pool.take(gradient.len());
        pool.count_flops((gradient.len() * (PRECONDITIONER + 2 * k)) as u64);
        if gradient.is_empty() || moved.is_shape_only() {
            continue;
        }
        optimizers[task.min(optimizers.len() - 1)].preconditioned(step, ENCODER, gradient, &mut moved);
        for (row, held_out) in products.iter_mut().zip(held_out) {
            if held_out.len() == moved.len() {
                row[task] = reduce::dot(held_out, &moved);
            }
        }
    }
    products
}

/// Operations of the optimizer per parameter.
pub(super) const ADAM: usize = 16;
/// Those of its preconditioner alone.
const PRECONDITIONER: usize = 8;

impl Model<'_> {
    /// Floating-point operations of a step on each objective, counted from shapes. With mini-batches: of a step on the
    /// subgraph that is sensed.
    pub(super) fn step_costs(&self) -> Result<Vec<f64>> {
        let data = match (&self.data, &self.probe) {
            (TrainData::Batches(..), Some(probe)) => probe,
            _ => self.data.clean(None),
        };
        // Stand-ins for operators without edges: the pass reads sizes only.
        let mut dropper = EdgeDropper::shape_only(self.encoder.operator());
        (0..self.names.len()).map(|task| self.step_cost(task, data, &mut dropper)).collect()
    }

    fn step_cost(&self, task: usize, data: &PreparedGraph<'_>, dropper: &mut EdgeDropper) -> Result<f64> {
        let shapes = Pool::shape_only();
        let context = ForwardContext { pool: &shapes, ..self.context() };
        let objective = &*data.objectives[task];
        let pass = ObjectivePass { context, task, objective, data, purpose: Purpose::Training };
        let mut stream = Stream::new(self.seed, "sense", "cost", 0);
        let views = objective.views();
        let augmented: Vec<AugmentedView<'_>> =
            views.iter().map(|spec| pass.augment(spec, dropper, &mut stream)).collect();
        let mut tape = Tape::new(&self.params, &shapes);
        let mut dropout = stream.clone();
        let z: Vec<Var> =
            augmented.iter().map(|view| pass.encode(&mut tape, view, Some(&mut dropout))).collect();
        pass.loss(&mut tape, &augmented, &z, &mut stream, 0)?;
        let groups = std::iter::once(ENCODER).chain(self.own_groups(task));
        let updated: usize = groups.map(|group| self.params.groups()[group].data().len()).sum();
        Ok((tape.flops() + (ADAM * updated) as u64) as f64)
    }
}
