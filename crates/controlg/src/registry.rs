//! The list type of all extension points: encoders, objectives, methods.
//!
//! A list of entries feeds the parser, `controlg list`, the Python package, the report and the test suites that run over
//! every implementation. To add an implementation, write its file, export its `ENTRY` and add that to the list.

use crate::error::{Error, Result};
use crate::setting::Key;

/// A named implementation, built from its table in the run file.
pub struct Entry<T: ?Sized> {
    /// The name users type.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The source; empty for our own.
    pub paper: &'static str,
    /// The settings of its table.
    pub keys: &'static [Key],
    /// Default settings.
    pub defaults: fn() -> Result<toml::Table>,
    /// Checks the settings and builds the implementation.
    pub build: fn(toml::Table) -> Result<Box<T>>,
}

/// An entry as `controlg list` prints it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct EntrySummary {
    /// The name users type.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The source; `None` for our own.
    pub paper: Option<&'static str>,
}

impl<T: ?Sized> Entry<T> {
    /// What a listing shows.
    pub fn summary(&self) -> EntrySummary {
        let paper = (!self.paper.is_empty()).then_some(self.paper);
        EntrySummary { name: self.name, summary: self.summary, paper }
    }
}

/// Finds an entry by name; the error suggests the nearest name.
pub fn find<'a, T: ?Sized>(what: &'static str, list: &'a [Entry<T>], name: &str) -> Result<&'a Entry<T>> {
    list.iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| Error::unknown(what, name, list.iter().map(|entry| entry.name)))
}
