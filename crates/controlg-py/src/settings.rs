//! Settings on their way in, errors on their way out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use controlg::{Error, Result};
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};

/// The exception for an error, in the words that the program prints.
pub(crate) fn raised(error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Input { .. } | Error::Unknown { .. } | Error::Check { .. } => PyValueError::new_err(text),
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Failed(_) => PyRuntimeError::new_err(text),
    }
}

/// A table of settings from a JSON object, whose keys may have dots.
pub(crate) fn table(json: &str) -> Result<toml::Table> {
    let wrong =
        |error: &dyn std::fmt::Display| Error::value("settings", error, "numbers, text, lists and tables");
    let given: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(json).map_err(|error| wrong(&error))?;
    let mut table = toml::Table::new();
    for (key, value) in given {
        let value = toml::Value::try_from(value).map_err(|error| wrong(&error))?;
        let nested = key
            .rsplit('.')
            .fold(value, |inner, name| toml::Value::Table([(name.to_owned(), inner)].into_iter().collect()));
        if let toml::Value::Table(nested) = nested {
            controlg::config::merge(&mut table, nested);
        }
    }
    Ok(table)
}

/// Does the work with this many threads, all cores when none are named, and keeps a mistake of ours from ending Python.
///
/// The threads are its own and end with it: those of a shared pool would be missing in a process that Python forked.
pub(crate) fn work<T: Send>(threads: Option<usize>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let guarded = || {
        let done = catch_unwind(AssertUnwindSafe(work));
        done.unwrap_or_else(|_| {
            Err(Error::Failed("a mistake in controlg itself; please report it".to_owned()))
        })
    };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or_default()) // 0 stands for all cores
        .build()
        .map_err(|error| Error::Failed(format!("cannot start threads: {error}")))?
        .install(guarded)
}
