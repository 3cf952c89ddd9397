//! The one list type behind every extension point.
//!
//! A list of entries feeds the parser, `controlg list`, the Python package, the report's legend and the suites
//! that test every implementation. To add one: write its file, export its `ENTRY`, name it in the list.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// One named way to build an implementation from its own table in the run file.
pub struct Entry<T: ?Sized> {
    /// The name users type.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Where it comes from; empty for our own.
    pub paper: &'static str,
    /// Checks the settings and builds it.
    pub build: fn(toml::Table) -> Result<Box<T>>,
}

/// What `controlg list` prints of an entry of any list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// The name users type.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Where it comes from; `None` for our own.
    pub paper: Option<&'static str>,
}

impl<T: ?Sized> Entry<T> {
    /// What a listing shows of this entry.
    pub fn summary(&self) -> Summary {
        let paper = (!self.paper.is_empty()).then_some(self.paper);
        Summary { name: self.name, summary: self.summary, paper }
    }
}

/// The entry of that name, or an error that names the nearest one.
pub fn find<'a, T: ?Sized>(what: &'static str, list: &'a [Entry<T>], name: &str) -> Result<&'a Entry<T>> {
    list.iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| Error::unknown(what, name, list.iter().map(|entry| entry.name)))
}

/// Settings from a table of the run file: a key that is missing takes its default, one that is unknown is an error
/// that names the nearest. `place` is the table's name.
pub fn settings<T: Default + Serialize + DeserializeOwned>(place: &str, table: toml::Table) -> Result<T> {
    let defaults = toml::Table::try_from(T::default()).map_err(|error| Error::Failed(error.to_string()))?;
    if let Some(key) = table.keys().find(|key| !defaults.contains_key(*key)) {
        return Err(unknown(place, key, &defaults));
    }
    let mut merged = defaults.clone();
    for (key, value) in table {
        let checked = coerced(&defaults[&key], value);
        if std::mem::discriminant(&checked) != std::mem::discriminant(&defaults[&key]) {
            let expected = format!("{} like {}", kind(&defaults[&key]), defaults[&key]);
            return Err(Error::value(format_args!("{place}.{key}"), checked, expected));
        }
        // One key at a time, so that a value that does not parse is named.
        let mut alone = defaults.clone();
        alone.insert(key.clone(), checked.clone());
        if let Err(error) = T::deserialize(alone) {
            return Err(Error::value(format_args!("{place}.{key}"), checked, error.message()));
        }
        merged.insert(key, checked);
    }
    T::deserialize(merged).map_err(|error| Error::value(place, "settings that do not fit", error.message()))
}

fn unknown(place: &str, key: &str, known: &toml::Table) -> Error {
    // Names are compared without the table's, which would make all of them alike.
    let near = |known: &&String| strsim::jaro_winkler(key, known) > 0.8;
    match known.keys().find(near) {
        Some(_) => Error::unknown("setting", key, known.keys().map(String::as_str)),
        None => {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            Error::value(
                place,
                format_args!("an unknown setting '{key}'"),
                format_args!("one of {}", names.join(", ")),
            )
        }
    }
}

/// A whole number where a number with a fraction is meant is that number.
fn coerced(default: &toml::Value, value: toml::Value) -> toml::Value {
    match (default, value) {
        (toml::Value::Float(_), toml::Value::Integer(whole)) => toml::Value::Float(whole as f64),
        (_, value) => value,
    }
}

fn kind(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::String(_) => "text",
        toml::Value::Integer(_) => "a whole number",
        toml::Value::Float(_) => "a number",
        toml::Value::Boolean(_) => "true or false",
        toml::Value::Array(_) => "a list",
        toml::Value::Table(_) => "a table",
        toml::Value::Datetime(_) => "a date",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
    #[serde(default)]
    struct Both {
        width: usize,
        rate: f64,
    }

    fn parse(text: &str) -> Result<Both> {
        settings("encoder", text.parse().unwrap())
    }

    #[test]
    fn what_is_missing_takes_its_default_and_whole_numbers_are_numbers() {
        assert_eq!(parse("rate = 2").unwrap(), Both { width: 0, rate: 2.0 });
    }

    #[test]
    fn unknown_keys_and_wrong_values_are_named() {
        let message = |text| parse(text).unwrap_err().to_string();
        assert_eq!(message("widht = 2"), "unknown setting 'widht', did you mean 'width'?");
        assert_eq!(
            message("zzz = 2"),
            "encoder: found an unknown setting 'zzz', expected one of rate, width"
        );
        assert_eq!(message("width = 'a'"), "encoder.width: found \"a\", expected a whole number like 0");
        assert!(message("width = -1").starts_with("encoder.width: found -1, expected "));
    }
}
