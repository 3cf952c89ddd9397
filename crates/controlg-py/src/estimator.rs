//! Training, embedding, evaluation, and run folders.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

use controlg::auto::AutoFolder;
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
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::graph::{GivenSplit, PyGraph, names, split_of};
use crate::settings::{in_pool, table, to_exception};

/// How often Python may handle signals during training.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// A run as Python stores it: settings as TOML, record, model, embeddings, node ids if there are any, and whether it was
/// stopped before its last step.
type RunParts<'py> =
    (String, String, Bound<'py, PyBytes>, Bound<'py, PyArray2<f32>>, Option<Vec<String>>, bool);

/// The number of steps done and lines of the record as JSON.
type RecordLines = (u64, Vec<String>);

/// Whether to train on after a block.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    GoOn,
    /// End here and keep the model.
    Stop,
    /// End here; the model is not needed.
    Abandon,
}

/// All settings as JSON: name, default, range and description.
#[pyfunction]
pub(crate) fn settings() -> PyResult<String> {
    json(&controlg::config::documented().map_err(|error| to_exception(&error))?)
}

/// Checks the names and values of settings, each for itself.
#[pyfunction]
pub(crate) fn check(settings: &str) -> PyResult<()> {
    table(settings).and_then(controlg::config::check).map_err(|error| to_exception(&error))
}

/// Resolves settings: complete, checked, as JSON.
#[pyfunction]
pub(crate) fn resolve(settings: &str) -> PyResult<String> {
    let config = Config::from_table(table(settings).map_err(|error| to_exception(&error))?);
    json(&config.map_err(|error| to_exception(&error))?)
}

/// The settings of a run file as JSON.
#[pyfunction]
pub(crate) fn described(config: &str) -> PyResult<String> {
    json(&stored(config).map_err(|error| to_exception(&error))?)
}

/// Trains. Calls `watch(steps_done, total_steps, line)` for every line of the record and waits for its answer, so that
/// training stops at the same block in every run: `True` ends it after the current block. So does an interrupt, the
/// first time. Any other exception discards the training.
///
/// Returns the run, and whether an interrupt ended the training.
#[pyfunction]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    graph: &Bound<'py, PyGraph>,
    settings: &str,
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<(RunParts<'py>, bool)> {
    let graph = &graph.get().dataset.graph;
    let config = table(settings).and_then(Config::from_table).map_err(|error| to_exception(&error))?;
    let (watched, trained) = py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = channel::<RecordLines>();
            let (reply, answer) = channel::<Next>();
            let tells = watch.is_some();
            let config = &config;
            let trainer = scope.spawn(move || {
                let next = move |done: u64, records: &[Record]| {
                    if !tells {
                        return match answer.try_recv() {
                            Err(TryRecvError::Empty) => Next::GoOn,
                            Ok(next) => next,
                            Err(TryRecvError::Disconnected) => Next::Abandon,
                        };
                    }
                    let lines = records.iter().filter_map(|record| serde_json::to_string(record).ok());
                    let sent = send.send((done, lines.collect()));
                    sent.ok().and_then(|()| answer.recv().ok()).unwrap_or(Next::Abandon)
                };
                in_pool(threads, move || train(graph, config, next))
            });
            let mut listener =
                Listener { watch, reply: Some(reply), steps: config.total_steps(), interrupt: None };
            let watched = listener.listen(&receive);
            drop(listener.reply.take()); // a trainer that waits for an answer ends
            (watched.map(|()| listener.interrupt), trainer.join())
        })
    });
    let interrupt = watched?;
    match trained {
        Ok(Ok(Some(run))) => Ok((run_parts(py, run)?, interrupt.is_some())),
        Ok(Ok(None)) => Err(interrupt.unwrap_or_else(|| {
            to_exception(&Error::Failed("training was stopped before the first block".to_owned()))
        })),
        Ok(Err(error)) => Err(to_exception(&error)),
        Err(_) => Err(to_exception(&Error::Failed(
            "internal error (a bug in controlg); please report it".to_owned(),
        ))),
    }
}

/// Trains to the end or until `next` stops it. `None` if no block was trained, or the training was abandoned.
fn train(
    graph: &controlg::Graph,
    config: &Config,
    mut next: impl FnMut(u64, &[Record]) -> Next,
) -> Result<Option<TrainedModel>> {
    let input = Input::new(graph, config)?;
    let mut training = Training::new(&input, config)?;
    let mut buffer = RecordBuffer::default();
    buffer.append(&training.header())?;
    while let Some(records) = training.advance()? {
        records.iter().try_for_each(|record| buffer.append(record))?;
        match next(training.progress().steps, &records) {
            Next::GoOn => {}
            Next::Stop if training.progress().blocks > 0 => break,
            Next::Stop | Next::Abandon => return Ok(None),
        }
    }
    TrainedModel::from_training(&training, &input, buffer).map(Some)
}

/// Python's side of a training: passes lines to it and lets it handle signals.
struct Listener {
    watch: Option<Py<PyAny>>,
    reply: Option<Sender<Next>>,
    steps: u64,
    /// The first interrupt.
    interrupt: Option<PyErr>,
}

impl Listener {
    /// Listens until the training ends and its embeddings are computed.
    fn listen(&mut self, lines: &Receiver<RecordLines>) -> PyResult<()> {
        loop {
            let (heard, is_waiting) = match lines.recv_timeout(SIGNAL_INTERVAL) {
                Ok((done, lines)) => (Python::attach(|py| self.tell(py, done, lines)), true),
                Err(RecvTimeoutError::Timeout) => {
                    (Python::attach(|py| py.check_signals()).map(|()| Next::GoOn), false)
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            let next = match heard {
                Err(error) if self.interrupt.is_none() && is_interrupt(&error) => {
                    self.interrupt = Some(error);
                    Next::Stop
                }
                Ok(_) if self.interrupt.is_some() => Next::Stop,
                heard => heard?,
            };
            // A trainer that does not wait looks for an answer after each block.
            if (is_waiting || next != Next::GoOn)
                && let Some(reply) = &self.reply
            {
                let _ = reply.send(next); // fails only if training has ended
            }
        }
    }

    /// Calls `watch` for each line.
    fn tell(&self, py: Python<'_>, done: u64, lines: Vec<String>) -> PyResult<Next> {
        let mut next = Next::GoOn;
        for line in lines {
            py.check_signals()?;
            if let Some(watch) = &self.watch
                && watch.call1(py, (done, self.steps, line))?.is_truthy(py)?
            {
                next = Next::Stop;
            }
        }
        Ok(next)
    }
}

fn is_interrupt(error: &PyErr) -> bool {
    Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py))
}

/// Runs the search of `pretrain --auto` in a folder and returns the settings of the full run as JSON. Calls `say` with a line for
/// every short run. An interrupt ends the search after the current block.
#[pyfunction]
pub(crate) fn choose(
    py: Python<'_>,
    graph: &Bound<'_, PyGraph>,
    settings: &str,
    folder: PathBuf,
    threads: Option<usize>,
    say: Option<Py<PyAny>>,
) -> PyResult<String> {
    let graph = &graph.get().dataset.graph;
    let given = table(settings).map_err(|error| to_exception(&error))?;
    let stop = AtomicBool::new(false);
    let (heard, chosen) = py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = channel::<String>();
            let (stop, folder, given) = (&stop, &folder, &given);
            let searcher = scope.spawn(move || {
                in_pool(threads, || {
                    let search = AutoFolder::open(folder, given, false, false)?.stop_when(stop);
                    let _ = send.send(format!("auto: {}", search.search().describe()));
                    search.run(graph, |event| {
                        let _ = send.send(event.to_string()); // nobody may listen
                    })
                })
            });
            let heard = hear(&receive, say.as_ref());
            if heard.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            (heard, searcher.join())
        })
    });
    heard?;
    match chosen {
        Ok(config) => {
            // The table of a run file: complete settings, which take no presets.
            let text = config.and_then(|config| config.to_toml()).map_err(|error| to_exception(&error))?;
            let table: toml::Table = text
                .parse()
                .map_err(|error: toml::de::Error| to_exception(&Error::Failed(error.to_string())))?;
            json(&table)
        }
        Err(_) => Err(to_exception(&Error::Failed(
            "internal error (a bug in controlg); please report it".to_owned(),
        ))),
    }
}

/// Passes lines on until there are no more, and handles signals meanwhile.
fn hear(lines: &Receiver<String>, say: Option<&Py<PyAny>>) -> PyResult<()> {
    loop {
        let line = match lines.recv_timeout(SIGNAL_INTERVAL) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        Python::attach(|py| {
            py.check_signals()?;
            match (line, say) {
                (Some(line), Some(say)) => say.call1(py, (line,)).map(drop),
                _ => Ok(()),
            }
        })?;
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
    let embed = || train::embed_from_bytes(&stored(config)?, model, graph);
    let embeddings = py.detach(|| in_pool(threads, embed)).map_err(|error| to_exception(&error))?;
    array(py, embeddings)
}

/// Writes a run folder; with `overwrite`, in place of another run.
#[pyfunction]
pub(crate) fn save(
    folder: PathBuf,
    config: &str,
    record: String,
    model: Vec<u8>,
    embeddings: PyReadonlyArray2<'_, f32>,
    ids: Option<Vec<String>>,
    overwrite: bool,
) -> PyResult<()> {
    let write = || {
        let embeddings = rows(&embeddings)?;
        let ids = ids.map_or(Ids::Numbered(embeddings.n_rows()), Ids::from_names);
        let parts = TrainedModelParts { config: stored(config)?, record, model, embeddings, ids };
        let model = TrainedModel::from_parts(parts)?;
        if overwrite { model.save_over(&folder) } else { model.save(&folder) }
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
                        splits.into_iter().map(|split| split_of(split, n)).collect::<Result<_>>()?
                    }
                    (None, Some(data)) => select_splits(&data.name, &data.splits, &labels, protocol, seed)?,
                    (None, None) => select_splits("the graph", &[], &labels, protocol, seed)?,
                };
                let (probe, embedding) = (probe.0.parse()?, probe.1.parse()?);
                let settings = ProbeSettings { normalize: embedding, probe, ..ProbeSettings::default() };
                eval::evaluate_nc(&embeddings, &labels, &splits, &settings)
            }
            Task::Lp => eval::evaluate_lp(&embeddings, graph()?, &EdgeSplit::draw(graph()?, seed)?),
            Task::Cluster => {
                let graph = dataset.map(|dataset| &dataset.graph);
                eval::evaluate_cluster(&embeddings, &labels()?, graph)
            }
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
    let partial = run.is_partial();
    let TrainedModelParts { config, record, model, embeddings, ids } = run.into_parts();
    let config = config.to_toml().map_err(|error| to_exception(&error))?;
    Ok((config, record, PyBytes::new(py, &model), array(py, embeddings)?, names(&ids), partial))
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
fn stored(config: &str) -> Result<Config> {
    let table =
        config.parse().map_err(|error: toml::de::Error| Error::value("settings", error.message(), "TOML"))?;
    Config::from_table(table)
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| to_exception(&Error::Failed(error.to_string())))
}
