//! Training with a method that mixes the gradients of all objectives in every step.

mod lookahead;
mod step;
#[cfg(test)]
mod tests;
mod weight_search;

pub(super) use step::Mixing;
pub(super) use weight_search::search_weights;
