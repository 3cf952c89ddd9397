//! The scheduler for a training loop in Python.

use std::path::PathBuf;

use controlg::Error;
use controlg::coordinator::SchedulerSettings;
use controlg::recorded_scheduler::RecordedScheduler;
use pyo3::prelude::*;

use crate::settings::{in_pool, table, to_exception};

/// A scheduler that keeps a record.
#[pyclass(name = "RecordedScheduler", module = "controlg._core")]
pub(crate) struct PyScheduler(RecordedScheduler);

#[pymethods]
impl PyScheduler {
    /// Creates a scheduler; `settings` is JSON.
    #[new]
    fn new(tasks: Vec<String>, settings: &str, record: Option<PathBuf>) -> PyResult<Self> {
        let settings = table(settings).and_then(SchedulerSettings::from_table);
        let scheduler =
            settings.and_then(|settings| RecordedScheduler::new(tasks, settings, record.as_deref()));
        scheduler.map(PyScheduler).map_err(|error| to_exception(&error))
    }

    /// Restores a saved scheduler.
    #[staticmethod]
    fn restore(saved: &str, record: Option<PathBuf>) -> PyResult<Self> {
        RecordedScheduler::restore(saved, record.as_deref())
            .map(PyScheduler)
            .map_err(|error| to_exception(&error))
    }

    /// The complete state as JSON.
    fn save(&self) -> PyResult<String> {
        self.0.save().map_err(|error| to_exception(&error))
    }

    /// Records the losses of a warm-up round.
    fn warm_up(&mut self, losses: Vec<f64>) -> PyResult<()> {
        self.0.warm_up(losses).map_err(|error| to_exception(&error))
    }

    /// Whether `sense` is due before the next block.
    fn due(&self) -> bool {
        self.0.due()
    }

    /// Updates the plan from measurements; returns the derived quantities as JSON.
    fn sense(&mut self, losses: Vec<f64>, gram: Vec<Vec<f64>>, rayleigh: Vec<f64>) -> PyResult<String> {
        let sensing = self.0.sense(losses, &gram, rayleigh).map_err(|error| to_exception(&error))?;
        serde_json::to_string(&sensing).map_err(|error| to_exception(&Error::Failed(error.to_string())))
    }

    /// The index of the objective of the next block.
    fn next(&mut self, steps: u64) -> PyResult<usize> {
        self.0.next(steps).map(|decision| decision.objective).map_err(|error| to_exception(&error))
    }

    /// The names of the objectives.
    #[getter]
    fn tasks(&self) -> Vec<String> {
        self.0.objectives().to_vec()
    }

    /// The planned shares.
    #[getter]
    fn shares(&self) -> Vec<f64> {
        self.0.shares().to_vec()
    }
}

/// Re-derives every decision of a record; returns the summary as JSON.
#[pyfunction]
pub(crate) fn audit(py: Python<'_>, run: PathBuf) -> PyResult<String> {
    let summary =
        py.detach(|| in_pool(None, || controlg::audit::audit(&run))).map_err(|error| to_exception(&error))?;
    serde_json::to_string(&summary).map_err(|error| to_exception(&Error::Failed(error.to_string())))
}
