//! `controlg._core`: the compiled part of the Python package. It converts arrays to graphs, settings to tables and
//! errors to exceptions; everything else is Python code in `python/controlg`.

mod collective;
mod estimator;
mod graph;
mod scheduler;
mod settings;

use std::ffi::OsString;

use pyo3::prelude::*;

/// The compiled part of `controlg`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<graph::PyGraph>()?;
    module.add_class::<scheduler::PyScheduler>()?;
    module.add_function(wrap_pyfunction!(estimator::settings, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::check, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::resolve, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::described, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::fit, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::choose, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::embed, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::save, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::load, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::compared, module)?)?;
    module.add_function(wrap_pyfunction!(scheduler::audit, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    Ok(())
}

/// Runs the `controlg` command; `again` is how to start it as a subprocess. With `ranks`, this process is one of several.
#[pyfunction]
#[pyo3(signature = (typed, again, ranks=None))]
fn main(
    py: Python<'_>,
    typed: Vec<OsString>,
    again: Vec<OsString>,
    ranks: Option<Bound<'_, PyAny>>,
) -> PyResult<u8> {
    match ranks {
        None => Ok(py.detach(|| controlg_cli::main(typed, again))),
        Some(ranks) => {
            let ranks = collective::PyCollective::new(&ranks)?;
            Ok(py.detach(|| controlg_cli::main_on_ranks(typed, again, &ranks)))
        }
    }
}
