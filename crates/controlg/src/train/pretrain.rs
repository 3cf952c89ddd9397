//! Pretraining in memory.

use std::ops::ControlFlow;

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
    pretrain_until(graph, config, |record| {
        on_record(record);
        ControlFlow::Continue(())
    })
}

/// [`pretrain_with`] that the callback can end early. Training stops after the block, or the warm-up round, whose line
/// was answered with [`ControlFlow::Break`]; the model is that of this moment, and [`TrainedModel::is_partial`] tells.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use controlg::config::Config;
/// use controlg::trace::Record;
///
/// let graph = controlg::data::load("synthetic:nodes=200", &Default::default())?.graph;
/// let config = Config::for_data("my graph")?.width(16).epochs(4).steps_per_epoch(30);
/// let model = controlg::pretrain_until(&graph, &config, |line| match line {
///     Record::Block(block) if block.epoch == 2 => ControlFlow::Break(()),
///     _ => ControlFlow::Continue(()),
/// })?;
/// assert!(model.is_partial());
/// assert_eq!(model.embed(&graph)?, *model.embeddings());
/// # Ok::<(), controlg::Error>(())
/// ```
pub fn pretrain_until<C>(
    graph: &Graph,
    config: C,
    mut on_record: impl FnMut(&Record) -> ControlFlow<()>,
) -> Result<TrainedModel>
where
    C: TryInto<Config>,
    Error: From<C::Error>,
{
    let config = config.try_into()?;
    let input = Input::new(graph, &config)?;
    let mut training = Training::new(&input, &config)?;
    let mut buffer = RecordBuffer::default();
    let mut append = |record: &Record| {
        buffer.append(record)?;
        Ok::<bool, Error>(on_record(record).is_break())
    };
    let mut stop = append(&training.header())?;
    while !stop && let Some(records) = training.advance()? {
        // Every line of the unit is recorded, so that the record matches the model.
        for record in &records {
            stop |= append(record)?;
        }
    }
    TrainedModel::from_training(&training, &input, buffer)
}
