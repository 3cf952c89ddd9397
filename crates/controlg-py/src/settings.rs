//! Conversion of settings and errors, and the thread pool.

use std::panic::{AssertUnwindSafe, catch_unwind};

use controlg::{Error, Result};
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};

/// The exception for an error, with the text that the command prints.
pub(crate) fn to_exception(error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Input { .. } | Error::Unknown { .. } | Error::Check { .. } => PyValueError::new_err(text),
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Failed(_) | Error::OnRank { .. } => PyRuntimeError::new_err(text),
        Error::Interrupted(_) => PyKeyboardInterrupt::new_err(text),
    }
}

/// A table of settings from a JSON object; dots in keys separate tables.
pub(crate) fn table(json: &str) -> Result<toml::Table> {
    let wrong =
        |error: &dyn std::fmt::Display| Error::value("settings", error, "numbers, strings, lists and tables");
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

/// Runs a function in a thread pool, with all cores by default, and turns a panic into an error.
///
/// The pool lives for this call only: the threads of a global pool would not exist in a process that Python forked.
pub(crate) fn in_pool<T: Send>(
    threads: Option<usize>,
    function: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let guarded = || {
        let done = catch_unwind(AssertUnwindSafe(function));
        done.unwrap_or_else(|_| {
            Err(Error::Failed("internal error (a bug in controlg); please report it".to_owned()))
        })
    };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or_default()) // 0: all cores
        .build()
        .map_err(|error| Error::Failed(format!("cannot start threads: {error}")))?
        .install(guarded)
}
