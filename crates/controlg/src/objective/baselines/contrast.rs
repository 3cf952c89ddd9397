//! The contrastive loss of GRACE and GCA, with negatives from both views.
//!
//! p = elu(z·W₀ + b₀)·W₁ + b₁ of the first view, q of the second; per node
//! −log e^{cos(p_v, q_v)/τ} / (Σ_u e^{cos(p_v, q_u)/τ} + Σ_{u≠v} e^{cos(p_v, p_u)/τ}), both directions averaged.

use crate::objective::{HeadDims, LossInput};
use crate::rng::Stream;
use crate::tensor::{Activation, Contrast, Init, Params, Tape, Var};

/// Adds the projection head to an empty group; W₀: h×hidden, W₁: hidden×h.
pub(super) fn init(dims: HeadDims, hidden: usize, params: &mut Params, group: usize, stream: &mut Stream) {
    params.add(group, "0.weight", (dims.width, hidden), Init::XavierUniform, stream);
    params.add(group, "0.bias", (1, hidden), Init::Constant(0.0), stream);
    params.add(group, "1.weight", (hidden, dims.width), Init::XavierUniform, stream);
    params.add(group, "1.bias", (1, dims.width), Init::Constant(0.0), stream);
}

/// The loss between two views, over all nodes or over a fresh sample of `batch` nodes.
pub(super) fn loss(tape: &mut Tape<'_>, input: LossInput<'_, '_>, temperature: f64, batch: usize) -> Var {
    let n = input.graph.n_nodes();
    let nodes = (n > batch).then(|| input.stream.sample(n, batch));
    let head = tape.group(input.group);
    let [p, q] = [input.z[0], input.z[1]].map(|z| {
        let picked = match &nodes {
            Some(nodes) => tape.gather(z, nodes.clone()),
            None => z,
        };
        let hidden = tape.linear(picked, head[0], Some(head[1]), Activation::Elu);
        let projected = tape.linear(hidden, head[2], Some(head[3]), Activation::Identity);
        tape.normalize_rows(projected)
    });
    tape.info_nce(p, q, Contrast { temperature, intra_view: true, both_directions: true })
}
