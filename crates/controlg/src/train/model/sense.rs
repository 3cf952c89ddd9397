//! Sensing: losses and gradient geometry of all objectives on fixed samples.

use super::data::PreparedGraph;
use super::forward::{ENCODER, ForwardContext, ObjectivePass};
use crate::Real;
use crate::error::Result;
use crate::graph::EdgeDropper;
use crate::kernels::reduce;
use crate::objective::{AugmentedView, Objective, Purpose, ViewSpec};
use crate::rng::Stream;
use crate::tensor::{Buffer, Grads, Tape, Var};

/// What one sensing measures.
pub(in crate::train) struct Measured {
    pub(in crate::train) loss: Vec<f64>,
    /// Rayleigh quotients of the gradients at the representations.
    pub(in crate::train) rq: Vec<f64>,
    /// Inner products of the gradients at the encoder's parameters.
    pub(in crate::train) products: Vec<Vec<f64>>,
}

/// Objectives with the same views, which share their forward passes.
pub(in crate::train) struct ViewGroup {
    views: Vec<ViewSpec>,
    members: Vec<usize>,
}

/// Groups objectives by their views.
pub(in crate::train) fn group_views(objectives: &[Box<dyn Objective>]) -> Vec<ViewGroup> {
    let mut groups: Vec<ViewGroup> = Vec::new();
    for (task, objective) in objectives.iter().enumerate() {
        let views = objective.views();
        let shareable = views.iter().all(ViewSpec::is_shareable);
        match groups.iter_mut().find(|group| shareable && group.views == views) {
            Some(group) => group.members.push(task),
            None => groups.push(ViewGroup { views, members: vec![task] }),
        }
    }
    groups
}

/// A sensing at a training step.
pub(in crate::train) struct Sensor<'m> {
    pub(in crate::train) context: ForwardContext<'m>,
    pub(in crate::train) data: &'m PreparedGraph<'m>,
    pub(in crate::train) groups: &'m [ViewGroup],
    pub(in crate::train) step: u64,
    /// Whether to compute gradients; without them only the losses are measured.
    pub(in crate::train) gradients: bool,
}

impl<'m> Sensor<'m> {
    /// Measures all objectives. `grads` is working memory.
    pub(in crate::train) fn measure_all(
        &self,
        grads: &mut Grads,
        dropper: &mut EdgeDropper,
    ) -> Result<Measured> {
        let k = self.context.names.len();
        let mut measured = Measured { loss: vec![0.0; k], rq: vec![0.0; k], products: Vec::new() };
        let mut encoder_grads: Vec<Buffer<'_>> = (0..k).map(|_| self.context.pool.take(0)).collect();
        for group in self.groups {
            self.measure_group(group, grads, dropper, &mut measured, &mut encoder_grads)?;
        }
        measured.products = inner_products(&encoder_grads);
        Ok(measured)
    }

    fn measure_group(
        &self,
        group: &ViewGroup,
        grads: &mut Grads,
        dropper: &mut EdgeDropper,
        measured: &mut Measured,
        encoder_grads: &mut [Buffer<'m>],
    ) -> Result<()> {
        let (seed, pool) = (self.context.seed, self.context.pool);
        let first = self.pass(group.members[0]);
        let augment = |spec: &ViewSpec| {
            let mut stream = Stream::new(seed, "sense", "view", u64::from(spec.index));
            first.augment(spec, dropper, &mut stream)
        };
        let augmented: Vec<AugmentedView<'_>> = group.views.iter().map(augment).collect();
        let mut tape = if self.gradients {
            Tape::new(self.context.params, pool)
        } else {
            Tape::forward_only(self.context.params, pool)
        };
        let encoded: Vec<Var> = augmented.iter().map(|view| first.encode(&mut tape, view, None)).collect();
        let z: Vec<Var> = encoded.iter().map(|&z| tape.detached_leaf(z)).collect();
        tape.freeze_params();
        for &member in &group.members {
            let pass = self.pass(member);
            let mark = tape.mark();
            let mut stream = Stream::new(seed, "sense", pass.name(), 0);
            let (loss, value) = pass.loss(&mut tape, &augmented, &z, &mut stream, self.step)?;
            measured.loss[member] = value;
            if !self.gradients {
                tape.truncate(mark);
                continue;
            }
            grads.reset();
            tape.backward_since(mark, loss, grads);
            let z_grads: Vec<Option<Buffer<'_>>> = z.iter().map(|&z| tape.take_gradient(z)).collect();
            let blocks: Vec<&[Real]> = z_grads.iter().filter_map(|grad| grad.as_deref()).collect();
            if !tape.is_shape_only() {
                measured.rq[member] = self.data.laplacian.rayleigh(&blocks);
            }
            for (&encoded, z_grad) in encoded.iter().zip(z_grads) {
                if let Some(z_grad) = z_grad {
                    tape.backward_from(encoded, z_grad, grads);
                }
            }
            encoder_grads[member] = pool.copy(grads.group(ENCODER).unwrap_or_default());
        }
        Ok(())
    }

    fn pass(&self, task: usize) -> ObjectivePass<'m> {
        ObjectivePass {
            context: self.context,
            task,
            objective: &*self.data.objectives[task],
            data: self.data,
            purpose: Purpose::Sensing,
        }
    }
}

/// The K × K inner products. A gradient that did not reach the encoder is empty and counts as zero.
fn inner_products(gradients: &[Buffer<'_>]) -> Vec<Vec<f64>> {
    let k = gradients.len();
    let mut products = vec![vec![0.0; k]; k];
    for a in 0..k {
        for b in a..k {
            if gradients[a].len() == gradients[b].len() {
                products[a][b] = reduce::dot(&gradients[a], &gradients[b]);
            }
            products[b][a] = products[a][b];
        }
    }
    products
}
