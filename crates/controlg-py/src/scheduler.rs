//! The scheduler alone, for a loop in Python.

use std::path::PathBuf;

use controlg::coordinator::SchedulerSettings;
use controlg::{Error, recorded_scheduler};
use pyo3::prelude::*;

use crate::settings::{raised, table, work};

/// A scheduler in somebody's own loop.
#[pyclass(module = "controlg._core")]
pub(crate) struct RecordedScheduler(recorded_scheduler::RecordedScheduler);

#[pymethods]
impl RecordedScheduler {
    /// A scheduler of these tasks; settings as JSON.
    #[new]
    fn new(tasks: Vec<String>, settings: &str, record: Option<PathBuf>) -> PyResult<Self> {
        let settings = table(settings).and_then(SchedulerSettings::from_table);
        let own = settings.and_then(|settings| {
            recorded_scheduler::RecordedScheduler::new(tasks, settings, record.as_deref())
        });
        own.map(RecordedScheduler).map_err(|error| raised(&error))
    }

    /// One from what `save` gave.
    #[staticmethod]
    fn restore(saved: &str, record: Option<PathBuf>) -> PyResult<Self> {
        recorded_scheduler::RecordedScheduler::restore(saved, record.as_deref())
            .map(RecordedScheduler)
            .map_err(|error| raised(&error))
    }

    /// Everything it remembers, as JSON.
    fn save(&self) -> PyResult<String> {
        self.0.save().map_err(|error| raised(&error))
    }

    /// Takes the losses before training, or after a round of it.
    fn warm_up(&mut self, losses: Vec<f64>) -> PyResult<()> {
        self.0.warm_up(losses).map_err(|error| raised(&error))
    }

    /// Whether the next block wants a reading first.
    fn due(&self) -> bool {
        self.0.due()
    }

    /// Takes a reading; gives what was made of it as JSON.
    fn sense(&mut self, losses: Vec<f64>, gram: Vec<Vec<f64>>, rayleigh: Vec<f64>) -> PyResult<String> {
        let sensing = self.0.sense(losses, &gram, rayleigh).map_err(|error| raised(&error))?;
        serde_json::to_string(&sensing).map_err(|error| raised(&Error::Failed(error.to_string())))
    }

    /// The number of the task of the next block, which will have this many steps.
    fn next(&mut self, steps: u64) -> PyResult<usize> {
        self.0.next(steps).map(|decision| decision.task).map_err(|error| raised(&error))
    }

    /// The tasks' names.
    #[getter]
    fn tasks(&self) -> Vec<String> {
        self.0.tasks().to_vec()
    }

    /// The planned shares.
    #[getter]
    fn shares(&self) -> Vec<f64> {
        self.0.shares().to_vec()
    }
}

/// Derives every decision of a record again; gives the summary as JSON.
#[pyfunction]
pub(crate) fn audit(py: Python<'_>, run: PathBuf) -> PyResult<String> {
    let summary =
        py.detach(|| work(None, || controlg::audit::audit(&run))).map_err(|error| raised(&error))?;
    serde_json::to_string(&summary).map_err(|error| raised(&Error::Failed(error.to_string())))
}
