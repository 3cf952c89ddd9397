//! Pretraining in memory.

use super::input::Input;
use super::trained_model::TrainedModel;
use super::training::Training;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::trace::{Record, RecordBuffer};

/// Pretrains an encoder on a graph.
///
/// `config` is a [`Config`] or the builder that [`Config::for_data`] returns. The graph passed here is used as it is;
/// the name in `config.data` only selects a preset and labels the record.
///
/// ```
/// use controlg::config::Config;
///
/// let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
/// let config = Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
/// let model = controlg::pretrain(&graph, &config)?;
/// assert_eq!(model.embeddings().n_cols(), 16);
/// # Ok::<(), controlg::Error>(())
/// ```
pub fn pretrain<C>(graph: &Graph, config: C) -> Result<TrainedModel>
where
    C: TryInto<Config>,
    Error: From<C::Error>,
{
    pretrain_with(graph, config, |_| {})
}

/// [`pretrain`] with a callback that gets every line of the record as it is made, for example to show progress.
///
/// ```
/// use controlg::config::Config;
/// use controlg::trace::Record;
///
/// let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
/// let config = Config::for_data("my graph")?.width(16).epochs(1).steps_per_epoch(30);
/// let mut schedule = Vec::new();
/// controlg::pretrain_with(&graph, &config, |line| {
///     if let Record::Block(block) = line {
///         schedule.push(block.task.clone());
///     }
/// })?;
/// assert!(schedule.iter().all(|objective| objective.starts_with("p_")));
/// # Ok::<(), controlg::Error>(())
/// ```
pub fn pretrain_with<C>(graph: &Graph, config: C, mut on_record: impl FnMut(&Record)) -> Result<TrainedModel>
where
    C: TryInto<Config>,
    Error: From<C::Error>,
{
    let config = config.try_into()?;
    let input = Input::new(graph, &config)?;
    let mut training = Training::new(&input, &config)?;
    let mut buffer = RecordBuffer::default();
    let mut append = |record: &Record| {
        on_record(record);
        buffer.append(record)
    };
    append(&training.header())?;
    while let Some(records) = training.advance()? {
        records.iter().try_for_each(&mut append)?;
    }
    TrainedModel::from_training(&training, &input, buffer)
}
