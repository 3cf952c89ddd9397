//! Floating-point operations of the parts of a run, counted from shapes.

use super::held_out::ADAM;
use super::sense::Measurement;
use super::{ENCODER, Model};
use crate::error::Result;

/// Floating-point operations of the parts of a run.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::train) struct PartOperations {
    /// A step on each objective, with the optimizer.
    pub(in crate::train) step: Vec<f64>,
    /// The gradients of all objectives in one step.
    pub(in crate::train) gradients: f64,
    /// The optimizer's step on all parameters.
    pub(in crate::train) optimizer: f64,
    /// One pass over the parameters of the encoder with a multiplication and an addition for each.
    pub(in crate::train) encoder_product: f64,
    /// Measuring the losses.
    pub(in crate::train) losses: f64,
    /// Measuring the losses on held-out samples; 0 if there are none.
    pub(in crate::train) held_out: f64,
    /// Sensing, without and with held-out samples.
    pub(in crate::train) sensing: f64,
    pub(in crate::train) sensing_held_out: f64,
    /// Computing the representations of the unaugmented graph.
    pub(in crate::train) representations: f64,
}

impl Model<'_> {
    /// Counts the operations of a run with this model, which must be [shape-only](Model::shape_only). With mini-batches, steps
    /// are those on the first one.
    pub(in crate::train) fn part_operations(&mut self) -> Result<PartOperations> {
        let parameters = |model: &Self, group: usize| model.params.groups()[group].data().len();
        let mut gradients = Vec::new();
        for task in 0..self.names.len() {
            gradients.push(self.counted(|model| {
                model.grads.reset();
                model.differentiate(task, 0, false).map(drop)
            })?);
        }
        let with_optimizer = |(task, gradient): (usize, &f64)| {
            let groups = std::iter::once(ENCODER).chain(self.own_groups(task));
            gradient + groups.map(|group| (ADAM * parameters(self, group)) as f64).sum::<f64>()
        };
        let step = gradients.iter().enumerate().map(with_optimizer).collect();
        let all: usize = (0..self.params.groups().len()).map(|group| parameters(self, group)).sum();
        let holds_out = self.holds_out;
        let mut measured = |measurement: Measurement| match measurement {
            Measurement::HeldOutLosses | Measurement::Transfer if !holds_out => Ok(0.0),
            _ => self.counted(|model| model.measure_all(0, measurement).map(drop)),
        };
        let losses = measured(Measurement::Losses)?;
        let held_out = measured(Measurement::HeldOutLosses)?;
        let sensing = measured(Measurement::Gradients)?;
        let sensing_held_out = measured(Measurement::Transfer)?;
        let representations = self.counted(|model| {
            model.clean_pass(&model.pool, false);
            Ok(())
        })?;
        Ok(PartOperations {
            step,
            gradients: gradients.iter().sum(),
            optimizer: (ADAM * all) as f64,
            encoder_product: (2 * parameters(self, ENCODER)) as f64,
            losses,
            held_out,
            sensing,
            sensing_held_out,
            representations,
        })
    }

    /// The operations of some work.
    fn counted(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<f64> {
        let before = self.pool.flops();
        work(self)?;
        Ok((self.pool.flops() - before) as f64)
    }
}
