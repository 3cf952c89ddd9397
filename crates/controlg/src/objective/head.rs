//! Projection heads.

use serde::{Deserialize, Serialize};

use crate::rng::Stream;
use crate::tensor::{Activation, Init, Params, Tape, Var};

/// The projection head of an objective that compares two views.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Head {
    /// relu(x·W₀ + b₀)·W₁ + b₁
    Mlp,
    /// x
    None,
}

impl Head {
    /// Adds its parameters to an empty group; `out` is the width of both its layers.
    pub(super) fn init(
        self,
        from: usize,
        out: usize,
        params: &mut Params,
        group: usize,
        stream: &mut Stream,
    ) {
        if self == Head::Mlp {
            params.add(group, "0.weight", (from, out), Init::XavierUniform, stream);
            params.add(group, "0.bias", (1, out), Init::Constant(0.0), stream);
            params.add(group, "1.weight", (out, out), Init::XavierUniform, stream);
            params.add(group, "1.bias", (1, out), Init::Constant(0.0), stream);
        }
    }

    /// Applies the head with the parameters of its group.
    pub(super) fn apply(self, tape: &mut Tape<'_>, params: &[Var], x: Var) -> Var {
        match self {
            Head::Mlp => {
                let hidden = tape.linear(x, params[0], Some(params[1]), Activation::Relu);
                tape.linear(hidden, params[2], Some(params[3]), Activation::Identity)
            }
            Head::None => x,
        }
    }
}
