//! Scores of nodes against a summary of their graph, for DGI and MVGRL.
//!
//! s = σ(mean_v h_v), score of node v = h_vᵀ·W·s + b. Scores should be high for the graph itself and low for
//! a corrupted one.

use crate::rng::Stream;
use crate::tensor::{Activation, Averaging, Init, Params, Tape, Var};

/// Adds the discriminator to an empty group: W (h×h) and b.
pub(super) fn init(width: usize, params: &mut Params, group: usize, stream: &mut Stream) {
    // The authors' initialization: Xavier's bound for a 1×h×h tensor, which gives initial scores close to zero.
    let bound = (6.0 / (width * (width + 1)) as f64).sqrt();
    params.add(group, "weight", (width, width), Init::Uniform(bound), stream);
    params.add(group, "bias", (1, 1), Init::Constant(0.0), stream);
}

/// The summary s of a graph, 1×h.
pub(super) fn summary(tape: &mut Tape<'_>, h: Var) -> Var {
    let mean = tape.mean_of_rows(h);
    tape.activate(mean, None, Activation::Sigmoid)
}

/// The mean binary cross-entropy of the scores of H (n×h) with a summary.
pub(super) fn cross_entropy(
    tape: &mut Tape<'_>,
    discriminator: &[Var],
    h: Var,
    summary: Var,
    positive: bool,
) -> Var {
    let direction = tape.matmul_transposed(discriminator[0], summary);
    let scores = tape.linear(h, direction, Some(discriminator[1]), Activation::Identity);
    let n_positive = if positive { tape.shape(h).0 } else { 0 };
    tape.binary_cross_entropy(scores, n_positive, Averaging::Joint)
}
