//! Training, embedding, evaluation, and run folders.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use controlg::compare::{self, JsonlStore, ResultCell};
use controlg::config::Config;
use controlg::data::memory;
use controlg::data::{EdgeSplit, select_splits};
use controlg::eval::{self, ProbeSettings, Task};
use controlg::graph::{Dense, Features, Ids};
use controlg::trace::{Record, RecordBuffer};
use controlg::train::{self, Input, TrainedModel, TrainedModelParts, Training};
use controlg::{Error, Result};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::graph::{PyGraph, names};
use crate::settings::{in_pool, table, to_exception};

/// How often Python may handle signals during training.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// A run as Python stores it: settings as TOML, record, model, embeddings, node ids if there are any.
type RunParts<'py> = (String, String, Bound<'py, PyBytes>, Bound<'py, PyArray2<f32>>, Option<Vec<String>>);

/// The number of steps done and a line of the record as JSON.
type RecordLine = (u64, String);

/// Resolves settings: complete, checked, as JSON.
#[pyfunction]
pub(crate) fn resolve(settings: &str) -> PyResult<String> {
    let config = Config::from_table(table(settings).map_err(|error| to_exception(&error))?);
    json(&config.map_err(|error| to_exception(&error))?)
}

/// The settings of a run file as JSON.
#[pyfunction]
pub(crate) fn described(config: &str) -> PyResult<String> {
    json(&settings(config).map_err(|error| to_exception(&error))?)
}

/// Trains. Calls `watch(steps_done, total_steps, line)` for every line of the record; an exception in it or a signal
/// stops the training after the current block.
#[pyfunction]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    graph: &Bound<'py, PyGraph>,
    settings: &str,
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<RunParts<'py>> {
    let graph = &graph.get().dataset.graph;
    let config = table(settings).and_then(Config::from_table).map_err(|error| to_exception(&error))?;
    let stop = AtomicBool::new(false);
    let (watched, trained) = py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = channel::<RecordLine>();
            let tell = watch.is_some().then_some(send.clone());
            let (config, stop) = (&config, &stop);
            let trainer = scope.spawn(move || {
                let _open = send; // dropped when training ends or fails
                in_pool(threads, || {
                    train(graph, config, stop, |done, record| {
                        if let Some(tell) = &tell
                            && let Ok(line) = serde_json::to_string(record)
                        {
                            let _ = tell.send((done, line)); // the receiver is gone: training is about to stop
                        }
                    })
                })
            });
            let watched = listen(&receive, watch.as_ref(), config.total_steps());
            stop.store(watched.is_err(), Ordering::Relaxed);
            (watched, trainer.join())
        })
    });
    watched?;
    match trained {
        Ok(Ok(Some(run))) => run_parts(py, run),
        Ok(Ok(None)) => Err(to_exception(&Error::Failed("training was stopped".to_owned()))),
        Ok(Err(error)) => Err(to_exception(&error)),
        Err(_) => Err(to_exception(&Error::Failed(
            "internal error (a bug in controlg); please report it".to_owned(),
        ))),
    }
}

/// Trains to the end or until `stop` is set.
fn train(
    graph: &controlg::Graph,
    config: &Config,
    stop: &AtomicBool,
    tell: impl Fn(u64, &Record),
) -> Result<Option<TrainedModel>> {
    let input = Input::new(graph, config)?;
    let mut training = Training::new(&input, config)?;
    let mut buffer = RecordBuffer::default();
    buffer.append(&training.header())?;
    while let Some(records) = training.advance()? {
        for record in &records {
            buffer.append(record)?;
            tell(training.progress().steps, record);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
    TrainedModel::from_training(&training, &input, buffer).map(Some)
}

/// Passes lines to Python and lets it handle signals until training ends.
fn listen(lines: &Receiver<RecordLine>, watch: Option<&Py<PyAny>>, steps: u64) -> PyResult<()> {
    loop {
        match (lines.recv_timeout(SIGNAL_INTERVAL), watch) {
            (Ok((done, line)), Some(watch)) => Python::attach(|py| {
                py.check_signals()?;
                watch.call1(py, (done, steps, line)).map(|_| ())
            })?,
            (Err(RecvTimeoutError::Disconnected), _) => return Ok(()),
            _ => Python::attach(|py| py.check_signals())?,
        }
    }
}

/// Embeds a graph with a trained model.
#[pyfunction]
pub(crate) fn embed<'py>(
    py: Python<'py>,
    config: &str,
    model: &[u8],
    graph: &Bound<'py, PyGraph>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let graph = &graph.get().dataset.graph;
    let embed = || train::embed_from_bytes(&settings(config)?, model, graph);
    let embeddings = py.detach(|| in_pool(threads, embed)).map_err(|error| to_exception(&error))?;
    array(py, embeddings)
}

/// Writes a run folder.
#[pyfunction]
pub(crate) fn save(
    folder: PathBuf,
    config: &str,
    record: String,
    model: Vec<u8>,
    embeddings: PyReadonlyArray2<'_, f32>,
    ids: Option<Vec<String>>,
) -> PyResult<()> {
    let write = || {
        let embeddings = rows(&embeddings)?;
        let ids = ids.map_or(Ids::Numbered(embeddings.n_rows()), Ids::from_names);
        let parts = TrainedModelParts { config: settings(config)?, record, model, embeddings, ids };
        TrainedModel::from_parts(parts)?.save(&folder)
    };
    write().map_err(|error| to_exception(&error))
}

/// Reads a run folder.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, folder: PathBuf) -> PyResult<RunParts<'_>> {
    let run =
        py.detach(|| in_pool(None, || TrainedModel::load(&folder))).map_err(|error| to_exception(&error))?;
    run_parts(py, run)
}

/// A split from Python: protocol, index, and the train, validation and test nodes.
type GivenSplit = (String, usize, Vec<i64>, Vec<i64>, Vec<i64>);

/// Evaluates embeddings; returns the score as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // one per part of the protocol
pub(crate) fn evaluate(
    py: Python<'_>,
    task: &str,
    embeddings: PyReadonlyArray2<'_, f32>,
    labels: Option<Vec<i64>>,
    splits: Option<Vec<GivenSplit>>,
    protocol: Option<&str>,
    seed: u64,
    probe: (String, String),
    graph: Option<Bound<'_, PyGraph>>,
    threads: Option<usize>,
) -> PyResult<String> {
    let embeddings = Features::Dense(rows(&embeddings).map_err(|error| to_exception(&error))?);
    let dataset = graph.as_ref().map(|graph| &graph.get().dataset);
    let evaluate = || {
        let graph = || match dataset {
            Some(dataset) => Ok(&dataset.graph),
            None => Err(Error::value("graph", "nothing", "the graph of the embeddings")),
        };
        let labels =
            || memory::labels(labels.as_deref().ok_or_else(|| Error::value("labels", "nothing", "labels"))?);
        match task.parse::<Task>()? {
            Task::Nc => {
                let labels = labels()?;
                let n = labels.classes().len();
                let splits = match (splits, dataset) {
                    (Some(splits), _) => {
                        let split = |(protocol, index, train, val, test): GivenSplit| {
                            memory::split(&protocol, index, [train, val, test], n)
                        };
                        splits.into_iter().map(split).collect::<Result<_>>()?
                    }
                    (None, Some(data)) => select_splits(&data.name, &data.splits, &labels, protocol, seed)?,
                    (None, None) => select_splits("the graph", &[], &labels, protocol, seed)?,
                };
                let (probe, embedding) = (probe.0.parse()?, probe.1.parse()?);
                let settings = ProbeSettings { normalize: embedding, probe, ..ProbeSettings::default() };
                eval::evaluate_nc(&embeddings, &labels, &splits, &settings)
            }
            Task::Lp => eval::evaluate_lp(&embeddings, graph()?, &EdgeSplit::draw(graph()?, seed)?),
            Task::Cluster => eval::evaluate_cluster(&embeddings, &labels()?, graph()?),
        }
    };
    let score = py.detach(|| in_pool(threads, evaluate)).map_err(|error| to_exception(&error))?;
    json(&score)
}

/// The results of a comparison folder as JSON.
#[pyfunction]
pub(crate) fn compared(folder: PathBuf) -> PyResult<String> {
    let cells = || {
        let results = JsonlStore::<ResultCell>::read(&folder, "results")?;
        compare::Manifest::read(&folder)?.cells(&results)
    };
    json(&cells().map_err(|error| to_exception(&error))?)
}

fn run_parts(py: Python<'_>, run: TrainedModel) -> PyResult<RunParts<'_>> {
    let TrainedModelParts { config, record, model, embeddings, ids } = run.into_parts();
    let config = config.to_toml().map_err(|error| to_exception(&error))?;
    Ok((config, record, PyBytes::new(py, &model), array(py, embeddings)?, names(&ids)))
}

/// Moves rows to NumPy without a copy.
fn array(py: Python<'_>, rows: Dense) -> PyResult<Bound<'_, PyArray2<f32>>> {
    let shape = [rows.n_rows(), rows.n_cols()];
    PyArray1::from_vec(py, rows.into_data()).reshape(shape)
}

/// Rows from NumPy; there must be at least one row and one column.
fn rows(array: &PyReadonlyArray2<'_, f32>) -> Result<Dense> {
    let array = array.as_array();
    match (array.nrows(), array.ncols()) {
        (n, width) if n > 0 && width > 0 => Dense::new(n, width, array.iter().copied().collect()),
        (n, width) => {
            let found = format!("{n} × {width} elements");
            Err(Error::value("embeddings", found, "at least one row and one column"))
        }
    }
}

/// Parses stored settings.
fn settings(config: &str) -> Result<Config> {
    let table =
        config.parse().map_err(|error: toml::de::Error| Error::value("settings", error.message(), "TOML"))?;
    Config::from_table(table)
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| to_exception(&Error::Failed(error.to_string())))
}
