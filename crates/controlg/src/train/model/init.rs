//! What a run starts with, before it has seen more of a graph than its features' number.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::objective_step::recomputes;
use super::{NamedObjective, aux_name};
use crate::Real;
use crate::config::{Config, Recompute};
use crate::encoder::Encoder;
use crate::error::Result;
use crate::graph::Graph;
use crate::objective::{HeadDims, Objective};
use crate::rng::Stream;
use crate::tensor::{LARGE, Params, size_class};

/// The network, the objectives, and all parameters.
pub(in crate::train) struct InitialModel {
    pub(in crate::train) encoder: Arc<dyn Encoder>,
    pub(in crate::train) objectives: Vec<Box<dyn Objective>>,
    pub(in crate::train) params: Params,
}

impl InitialModel {
    pub(in crate::train) fn new(config: &Config, n_features: usize) -> Result<InitialModel> {
        let encoder = config.encoder.shared();
        let objectives: Vec<Box<dyn Objective>> =
            tasks(config).into_iter().map(|task| task.objective).collect();
        let (params, _) = initial(&*encoder, &config.objectives, &objectives, n_features, config.seed);
        Ok(InitialModel { encoder, objectives, params })
    }
}

/// The objectives of a run, not prepared yet.
pub(in crate::train) fn tasks(config: &Config) -> Vec<NamedObjective> {
    let task =
        |name: &String| NamedObjective { name: name.clone(), objective: config.objective[name].clone_box() };
    config.objectives.iter().map(task).collect()
}

/// All parameters at the start of a run; and for each objective the group of its second network, its own where it has
/// none.
pub(in crate::train) fn initial(
    encoder: &dyn Encoder,
    names: &[String],
    objectives: &[Box<dyn Objective>],
    n_features: usize,
    seed: u64,
) -> (Params, Vec<usize>) {
    let mut params = Params::new();
    let group = params.add_group("encoder");
    encoder.init(n_features, &mut params, group, &mut Stream::new(seed, "init", "encoder", 0));
    let sizes = HeadDims { n_features, width: encoder.width() };
    for (name, objective) in names.iter().zip(objectives) {
        let group = params.add_group(name);
        objective.init(sizes, &mut params, group, &mut Stream::new(seed, "init", name, 0));
    }
    let mut seconds: Vec<usize> = (0..names.len()).map(|task| task + 1).collect();
    for (task, objective) in objectives.iter().enumerate() {
        if objective.second().is_some() {
            let name = aux_name(&names[task]);
            seconds[task] = params.add_group(&name);
            let mut stream = Stream::new(seed, "init", &name, 0);
            encoder.init(n_features, &mut params, seconds[task], &mut stream);
        }
    }
    (params, seconds)
}

/// Bytes of what a pass on a graph and its way back hold at once. Buffers of one size serve all objectives, one after
/// the other, so each size counts as often as where it is needed most; large ones make room for each other, so of them
/// the most that are there at once count.
pub(in crate::train) fn pass_bytes(
    encoder: &dyn Encoder,
    objectives: &[Box<dyn Objective>],
    graph: &Graph,
    recompute: Recompute,
) -> usize {
    let width = encoder.width();
    let representations = graph.n_nodes() * width;
    let kept = encoder.kept_per_node().div_ceil(width);
    let mut phases: Vec<Vec<(usize, usize)>> = Vec::new();
    for objective in objectives {
        let views = objective.views().len();
        let mut head = objective.buffers(graph, width);
        if recomputes(recompute, encoder, objective.as_ref(), graph.n_nodes()) {
            // The head, with representations and their gradients; then what one view keeps, with all gradients and one
            // on its way.
            head.push((representations, 2 * views));
            phases.push(vec![(representations, kept + views + 1)]);
        } else {
            // What all views keep, and three buffers through which the gradient travels.
            head.push((representations, views * kept + 3));
        }
        phases.push(head);
    }
    let (mut most, mut most_large) = (BTreeMap::new(), 0);
    for phase in phases {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        let mut large = 0;
        for (len, count) in phase {
            match len * size_of::<Real>() < LARGE {
                true => *counts.entry(size_class(len)).or_default() += count,
                // The unused end of a class is never touched.
                false => large += len * count,
            }
        }
        most_large = large.max(most_large);
        for (class, count) in counts {
            let most: &mut usize = most.entry(class).or_default();
            *most = count.max(*most);
        }
    }
    let small: usize = most.iter().map(|(class, count)| class * count).sum();
    (small + most_large) * size_of::<Real>()
}
