//! The one list type behind every extension point.
//!
//! A list of entries feeds the parser, `controlg list`, the Python package, the report's legend and the suites
//! that test every implementation. To add one: write its file, export its `ENTRY`, name it in the list.

use crate::error::{Error, Result};
use crate::setting::Key;

/// One named way to build an implementation from its own table in the run file.
pub struct Entry<T: ?Sized> {
    /// The name users type.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Where it comes from; empty for our own.
    pub paper: &'static str,
    /// The settings of its table.
    pub keys: &'static [Key],
    /// What they are when nothing is said.
    pub defaults: fn() -> Result<toml::Table>,
    /// Checks the settings and builds it.
    pub build: fn(toml::Table) -> Result<Box<T>>,
}

/// What `controlg list` prints of an entry of any list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct EntrySummary {
    /// The name users type.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Where it comes from; `None` for our own.
    pub paper: Option<&'static str>,
}

impl<T: ?Sized> Entry<T> {
    /// What a listing shows of this entry.
    pub fn summary(&self) -> EntrySummary {
        let paper = (!self.paper.is_empty()).then_some(self.paper);
        EntrySummary { name: self.name, summary: self.summary, paper }
    }
}

/// The entry of that name, or an error that names the nearest one.
pub fn find<'a, T: ?Sized>(what: &'static str, list: &'a [Entry<T>], name: &str) -> Result<&'a Entry<T>> {
    list.iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| Error::unknown(what, name, list.iter().map(|entry| entry.name)))
}
