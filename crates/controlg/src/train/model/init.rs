//! The initial state of a model: network, objectives and parameters.
//!
//! It depends on the settings and on the number of features, types and relations, not on the graph.

use std::sync::Arc;

use super::aux_network::aux_name;
use crate::config::{Config, Recompute};
use crate::coordinator::{ActiveMethod, RelationWeights};
use crate::encoder::{Encoder, InputDims};
use crate::objective::{HeadDims, Objective};
use crate::rng::Stream;
use crate::tensor::{OptimizerSettings, Params, Precision};

/// An objective with its name.
pub struct NamedObjective {
    /// The name in records, shares and reports. It also names the objective's random streams and parameters.
    pub name: String,
    /// The objective.
    pub objective: Box<dyn Objective>,
}

/// What a [`super::Model`] is built from.
pub struct ModelSpec {
    /// The network.
    pub encoder: Arc<dyn Encoder>,
    /// The objectives. [`super::Model::new`] prepares them for the graph.
    pub objectives: Vec<NamedObjective>,
    /// Learning rate, weight decay and so on.
    pub optimizer: OptimizerSettings,
    /// Whether each objective keeps its own optimizer moments for the encoder.
    pub per_task_moments: bool,
    /// Random seed.
    pub seed: u64,
    /// Steps of the whole run.
    pub total_steps: u64,
    /// Whether steps recompute activations in the backward pass.
    pub recompute: Recompute,
    /// Share of the samples of each objective that is held out; 0 for none.
    pub held_out: f64,
    /// The precision of the dense products of training steps.
    pub precision: Precision,
    /// The weights of relations.
    pub relation_weights: RelationWeights,
}

impl ModelSpec {
    /// The encoder, the objectives and the optimizer that the settings name.
    pub(in crate::train) fn from_config(config: &Config, method: &ActiveMethod) -> ModelSpec {
        ModelSpec {
            encoder: config.encoder.shared(),
            objectives: clone_objectives(config),
            optimizer: config.train.optimizer(),
            // Mixing methods share one optimizer state.
            per_task_moments: config.train.per_task_moments && matches!(method, ActiveMethod::Schedule(_)),
            seed: config.seed,
            total_steps: config.total_steps(),
            recompute: config.train.recompute,
            held_out: config.sense.held_out,
            precision: config.train.precision.factors(),
            relation_weights: config.sense.relation_weights,
        }
    }
}

/// The network, the objectives and all parameters at the start of a run.
pub(in crate::train) struct InitialModel {
    pub(in crate::train) encoder: Arc<dyn Encoder>,
    pub(in crate::train) objectives: Vec<Box<dyn Objective>>,
    pub(in crate::train) params: Params,
}

impl InitialModel {
    pub(in crate::train) fn new(config: &Config, input: InputDims) -> InitialModel {
        let encoder = config.encoder.shared();
        let objectives: Vec<Box<dyn Objective>> =
            clone_objectives(config).into_iter().map(|named| named.objective).collect();
        let (params, _) = initial_params(&*encoder, &config.objectives, &objectives, input, config.seed);
        InitialModel { encoder, objectives, params }
    }
}

/// The objectives of a run, not prepared for a graph yet.
fn clone_objectives(config: &Config) -> Vec<NamedObjective> {
    let clone =
        |name: &String| NamedObjective { name: name.clone(), objective: config.objective[name].clone_box() };
    config.objectives.iter().map(clone).collect()
}

/// All parameters at the start of a run, and for each objective the group of its auxiliary network (the group of its
/// head if it has none).
pub(in crate::train) fn initial_params(
    encoder: &dyn Encoder,
    names: &[String],
    objectives: &[Box<dyn Objective>],
    input: InputDims,
    seed: u64,
) -> (Params, Vec<usize>) {
    let mut params = Params::new();
    let group = params.add_group("encoder");
    encoder.init_for(input, &mut params, group, &mut Stream::new(seed, "init", "encoder", 0));
    let dims =
        HeadDims { n_features: input.n_features, width: encoder.width(), n_relations: input.n_relations };
    let mut aux_groups = Vec::with_capacity(names.len());
    for (name, objective) in names.iter().zip(objectives) {
        let group = params.add_group(name);
        objective.init_head(dims, &mut params, group, &mut Stream::new(seed, "init", name, 0));
        aux_groups.push(group);
    }
    for (task, objective) in objectives.iter().enumerate() {
        if objective.aux_network().is_some() {
            let name = aux_name(&names[task]);
            aux_groups[task] = params.add_group(&name);
            let mut stream = Stream::new(seed, "init", &name, 0);
            encoder.init_for(input, &mut params, aux_groups[task], &mut stream);
        }
    }
    (params, aux_groups)
}
