//! Loss and gradient of one objective at a training step.

use super::forward::{ENCODER, ObjectivePass, head_group};
use crate::config::Recompute;
use crate::error::Result;
use crate::graph::EdgeDropper;
use crate::kernels::reduce;
use crate::objective::AugmentedView;
use crate::rng::Stream;
use crate::tensor::{Buffer, Grads, Pool, Precision, Tape, Var};

/// How steps compute, without changing what they compute.
#[derive(Clone, Copy)]
pub(in crate::train) struct StepSettings {
    /// Whether activations are recomputed in the backward pass.
    pub(in crate::train) recompute: Recompute,
    /// The precision of dense products.
    pub(in crate::train) precision: Precision,
}

/// A mini-batch, or a full-graph step.
#[derive(Clone, Copy)]
pub(in crate::train) struct BatchPosition {
    /// The training step.
    pub(in crate::train) step: u64,
    /// The number of the mini-batch among those of all steps, which names its random streams.
    pub(in crate::train) number: u64,
}

/// The loss of an objective on a mini-batch; adds its gradient to `grads`.
pub(in crate::train) fn differentiate(
    pass: ObjectivePass<'_>,
    at: BatchPosition,
    how: StepSettings,
    grads: &mut Grads,
    dropper: &mut EdgeDropper,
) -> Result<f64> {
    // The views and the loss draw from one stream, in this order.
    let mut stream = Stream::new(pass.context.seed, "train", pass.name(), at.number);
    let views = pass.objective.views();
    let augmented: Vec<AugmentedView<'_>> =
        views.iter().map(|spec| pass.augment(spec, dropper, &mut stream)).collect();
    let value = if recomputes(how.recompute, pass, &augmented, at) {
        recomputing_backward(pass, &augmented, stream, at, how.precision, grads)?
    } else {
        backward(pass, &augmented, stream, at, how.precision, grads)?
    };
    let groups = [ENCODER, head_group(pass.task), pass.context.aux_groups[pass.task]];
    if groups.iter().filter_map(|&group| grads.group(group)).any(|g| !reduce::all_finite(g)) {
        return Err(pass.not_finite("the gradient", "infinite or NaN", at.step));
    }
    Ok(value)
}

/// On one tape, which saves the activations of all views for the backward pass.
fn backward(
    pass: ObjectivePass<'_>,
    augmented: &[AugmentedView<'_>],
    mut stream: Stream,
    at: BatchPosition,
    precision: Precision,
    grads: &mut Grads,
) -> Result<f64> {
    let mut tape = Tape::new(pass.context.params, pass.context.pool).with_precision(precision);
    let mut dropout = dropout_stream(pass, at);
    let z: Vec<Var> = augmented.iter().map(|view| pass.encode(&mut tape, view, Some(&mut dropout))).collect();
    let (loss, value) = pass.loss(&mut tape, augmented, &z, &mut stream, at.step)?;
    tape.backward_last(loss, grads);
    Ok(value)
}

/// Gradient checkpointing: keeps only the representations of each view and recomputes its activations in the backward
/// pass. All sums are taken in the order of [`backward`], so the gradient is the same to the last bit.
fn recomputing_backward(
    pass: ObjectivePass<'_>,
    augmented: &[AugmentedView<'_>],
    mut stream: Stream,
    at: BatchPosition,
    precision: Precision,
    grads: &mut Grads,
) -> Result<f64> {
    let (params, pool) = (pass.context.params, pass.context.pool);
    let mut dropout = dropout_stream(pass, at);
    let mut dropout_starts = Vec::new();
    let mut head = Tape::new(params, pool).with_precision(precision);
    let mut z = Vec::new();
    for view in augmented {
        dropout_starts.push(dropout.clone());
        let mut tape = Tape::forward_only(params, pool).with_precision(precision);
        let encoded = pass.encode(&mut tape, view, Some(&mut dropout));
        let (shape, values) = tape.into_value(encoded);
        z.push(head.leaf_from(shape, values));
    }
    let mark = head.mark();
    let (loss, value) = pass.loss(&mut head, augmented, &z, &mut stream, at.step)?;
    head.backward_since(mark, loss, grads);
    let mut z_grads: Vec<Option<Buffer<'_>>> = z.iter().map(|&z| head.take_gradient(z)).collect();
    drop(head);
    for ((view, dropout), z_grad) in augmented.iter().zip(&mut dropout_starts).zip(&mut z_grads).rev() {
        let Some(z_grad) = z_grad.take() else { continue };
        let mut tape = Tape::new(params, pool).with_precision(precision);
        let encoded = pass.encode(&mut tape, view, Some(dropout));
        tape.backward_last_from(encoded, z_grad, grads);
    }
    Ok(value)
}

fn dropout_stream(pass: ObjectivePass<'_>, at: BatchPosition) -> Stream {
    Stream::new(pass.context.seed, "train", "dropout", at.number)
}

/// Bytes of activations from which `auto` recomputes them.
const KEPT_UP_TO: usize = 512 << 20;

/// Whether a step recomputes the activations of its views in the backward pass.
fn recomputes(
    recompute: Recompute,
    pass: ObjectivePass<'_>,
    augmented: &[AugmentedView<'_>],
    at: BatchPosition,
) -> bool {
    match recompute {
        Recompute::Never => false,
        Recompute::Always => true,
        Recompute::Auto => activation_bytes(pass, augmented, at) > KEPT_UP_TO,
    }
}

/// Bytes of the activations that a tape would save for all views, from a pass over shapes.
fn activation_bytes(pass: ObjectivePass<'_>, augmented: &[AugmentedView<'_>], at: BatchPosition) -> usize {
    let pool = Pool::shape_only();
    let mut tape = Tape::new(pass.context.params, &pool);
    let mut dropout = dropout_stream(pass, at);
    for view in augmented {
        pass.encode(&mut tape, view, Some(&mut dropout));
    }
    pool.live_bytes()
}
