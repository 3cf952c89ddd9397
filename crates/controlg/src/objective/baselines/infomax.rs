//! Nodes against a summary of their graph, as DGI and MVGRL score them.
//!
//! s = σ(mean_v h_v), score of node v = h_vᵀ·W·s + b. Scores of the graph itself should be high, those of a corrupted
//! one low.

use crate::rng::Stream;
use crate::tensor::{Activation, Averaging, Init, Params, Tape, Var};

/// Adds the discriminator to an empty group: W (h×h) and b.
pub(super) fn init(width: usize, params: &mut Params, group: usize, stream: &mut Stream) {
    // As the authors have it: Xavier's bound for a tensor of 1×h×h, so that fresh scores are close to zero.
    let bound = (6.0 / (width * (width + 1)) as f64).sqrt();
    params.add(group, "weight", (width, width), Init::Uniform(bound), stream);
    params.add(group, "bias", (1, 1), Init::Constant(0.0), stream);
}

/// A graph's summary s, 1×h.
pub(super) fn summary(tape: &mut Tape<'_>, h: Var) -> Var {
    let mean = tape.mean_of_rows(h);
    tape.activate(mean, None, Activation::Sigmoid)
}

/// The mean cross-entropy of the scores of H (n×h) with a summary: high where `genuine`, else low.
pub(super) fn cross_entropy(
    tape: &mut Tape<'_>,
    discriminator: &[Var],
    h: Var,
    summary: Var,
    genuine: bool,
) -> Var {
    let direction = tape.matmul_transposed(discriminator[0], summary);
    let scores = tape.linear(h, direction, Some(discriminator[1]), Activation::Identity);
    let n_positive = if genuine { tape.shape(h).0 } else { 0 };
    tape.binary_cross_entropy(scores, n_positive, Averaging::Joint)
}
