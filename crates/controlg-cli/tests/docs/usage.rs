//! Training with an objective, an encoder and a coordinator of one's own.

use controlg::config::{Config, ObjectiveKind};
use controlg::{Graph, Result, TrainedModel};

use super::encoder::Linear;
use super::method::Shuffled;
use super::objective::Degree;

pub(crate) fn with_own_objective(graph: &Graph) -> Result<TrainedModel> {
    let config = Config::for_data("my graph")?.custom_objective("p_degree", Degree::default()).epochs(1).width(16);
    let model = controlg::pretrain(graph, &config)?;
    Ok(model)
}

pub(crate) fn with_own_everything(graph: &Graph) -> Result<TrainedModel> {
    let config = Config::for_data("my graph")?
        .objectives([ObjectiveKind::Link, ObjectiveKind::Decor])
        .custom_objective("p_degree", Degree::default())
        .custom_encoder("linear", Linear { width: 16 })
        .custom_coordinator("shuffled", |objectives| Shuffled::new(objectives.len(), 0))
        .epochs(1);
    controlg::pretrain(graph, &config)
}
