//! Auxiliary networks: a second network of the encoder's shape that some objectives need.

use crate::encoder::{self, Encoder};
use crate::graph::{Dense, EncoderInput};
use crate::objective::Objective;
use crate::tensor::{Params, Pool};

/// The name of the parameter group of an objective's auxiliary network. Part of the file format.
pub(in crate::train) fn aux_name(objective: &str) -> String {
    format!("{objective}.second")
}

/// Adds the representations of the auxiliary network, if the objective asks for it.
pub(in crate::train) fn add_aux(
    z: Dense,
    objective: &dyn Objective,
    encoder: &dyn Encoder,
    params: &Params,
    group: usize,
    prepared: &EncoderInput<'_>,
) -> Dense {
    let Some(operator) = objective.aux_operator() else { return z };
    let view = prepared.whole().on(operator);
    let aux = encoder::embed_view(encoder, params, group, &view, &Pool::new());
    let sum = z.data().iter().zip(aux.data()).map(|(a, b)| a + b).collect();
    Dense::from_parts(z.n_rows(), z.n_cols(), sum)
}
