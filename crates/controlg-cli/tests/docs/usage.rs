//! Training with an encoder and a coordinator of one's own.

use controlg::{Config, Graph, Result, TrainedModel};

use super::encoder::Linear;
use super::method::Shuffled;

pub(crate) fn train_with_own_parts(graph: &Graph) -> Result<TrainedModel> {
    let config = Config::for_data("my graph")?
        .custom_encoder("linear", Linear { width: 16 })
        .custom_coordinator("shuffled", |objectives| Shuffled::new(objectives.len(), 0))
        .epochs(1);
    controlg::pretrain(graph, &config)
}
