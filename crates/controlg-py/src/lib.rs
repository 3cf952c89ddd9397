//! `controlg._core`: the library as Python calls it. Everything that could be said in Python is said there
//! (`python/controlg`); here arrays become graphs, settings become tables, errors become exceptions.

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
    module.add_class::<graph::Graph>()?;
    module.add_class::<scheduler::RecordedScheduler>()?;
    module.add_function(wrap_pyfunction!(estimator::resolve, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::described, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::fit, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::embed, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::save, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::load, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(estimator::compared, module)?)?;
    module.add_function(wrap_pyfunction!(scheduler::audit, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    Ok(())
}

/// The program `controlg`.
#[pyfunction]
fn main(py: Python<'_>, typed: Vec<OsString>, again: Vec<OsString>) -> u8 {
    py.detach(|| controlg_cli::main(typed, again))
}
